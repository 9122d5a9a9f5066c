"""A Python program that makes a model again, from a clean prompt."""

import ast
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import PurePath
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

MODULES = (
    *("kernsemble.kernels", "kernsemble.svm", "kernsemble.boosting", "kernsemble.learners"),
    *("kernsemble.detection", "kernsemble.selection", "sklearn.model_selection"),
    *("sklearn.tree", "sklearn.linear_model", "sklearn.ensemble", "sklearn.metrics"),
)
INDENT = " " * 4


class UnwritableError(ValueError):
    """A value has no expression that makes it again."""


@dataclass(frozen=True)
class Origin:
    """Where the training table and the report come from.

    Attributes
    ----------
    target : str
        Name of the target, "" if it is not known.
    source : str
        Path of the training table, "" if it is not known.
    reading : str
        Lines of Python that define `X` and `y`; by default `source` is read with pandas.
    command : str
        Command line that wrote the report, "" if it was written from Python.
    """

    target: str = ""
    source: str = ""
    reading: str = ""
    command: str = ""


def model_program(model: Any, origin: Origin) -> str:
    """Return a program that reads the table, fits the model again, and saves it."""
    imports: set[str] = {"import kernsemble"}
    try:
        made = expression(model, imports)
    except UnwritableError as error:
        return f"# There is no program: {error}.\n"
    reading = _reading(model, origin, imports)
    return (
        f"{_import_lines(imports)}\n\n{reading}\n\nmodel = {made}\nmodel.fit(X, y)\n"
        'kernsemble.save(model, "model.skops")  # kernsemble.load("model.skops") reads it\n'
        "print(model.predict(X[:5]))\n"
    )


def _reading(model: Any, origin: Origin, imports: set[str]) -> str:
    if origin.reading:
        lines = origin.reading.strip().splitlines()
        found = {line for line in lines if line.startswith(("import ", "from "))}
        imports |= found
        return "\n".join(line for line in lines if line not in found).strip()
    if not origin.source or not origin.target:
        return (
            "# X and y are the training rows and targets: read them here. With\n"
            '# write_report(..., source="train.csv", target="y") these lines read the file.'
        )
    imports.add("import pandas as pd")
    path = PurePath(origin.source)
    is_parquet = path.suffix.lower() in (".parquet", ".pq")
    reader = "read_parquet" if is_parquet else "read_csv"
    names = getattr(model, "feature_names_in_", None)
    columns = (
        f"table.drop(columns={origin.target!r})" if names is None else f"table[{_listed(names)}]"
    )
    return f"table = pd.{reader}({origin.source!r})\nX = {columns}\ny = table[{origin.target!r}]"


def _listed(names: Any) -> str:
    items = [repr(str(name)) for name in names]
    joined = ", ".join(items)
    if len(joined) < 80:
        return f"[{joined}]"
    lines, line = [], ""
    for item in items:
        if line and len(line) + len(item) > 90:
            lines.append(line)
            line = ""
        line += f"{item}, "
    lines.append(line)
    inner = "\n".join(f"{INDENT}{each.rstrip()}" for each in lines)
    return f"[\n{inner}\n]"


def _import_lines(imports: set[str]) -> str:
    """Return the imports, those of one module together: libraries first, then this one."""
    plain = sorted(line for line in imports if line.startswith("import "))
    names: dict[str, set[str]] = {}
    for line in imports - set(plain):
        module, _, imported = line.removeprefix("from ").partition(" import ")
        names.setdefault(module, set()).update(imported.split(", "))
    lines = plain + [f"from {module} import {', '.join(sorted(names[module]))}" for module in names]
    lines.sort(key=lambda line: line.split()[1])
    own = [line for line in lines if line.split()[1].startswith("kernsemble")]
    others = [line for line in lines if line not in own]
    return "\n".join(others + [""] * bool(others) + own)


def expression(value: Any, imports: set[str]) -> str:
    """Return an expression that makes a value again, and add the imports that it needs.

    Raises
    ------
    UnwritableError
        If there is none, as for functions and random generators.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    if value is None or isinstance(value, (bool, int, float, str, bytes, range)):
        return repr(value)
    if isinstance(value, (list, tuple, Mapping, np.ndarray)):
        return _container(value, imports)
    is_estimator = isinstance(value, BaseEstimator)
    return _estimator(value, imports) if is_estimator else _from_repr(value, imports)


def _container(value: Any, imports: set[str]) -> str:
    if isinstance(value, np.ndarray):
        imports.add("import numpy as np")
        return f"np.array({expression(value.tolist(), imports)})"
    if isinstance(value, Mapping):
        pairs = (f"{expression(k, imports)}: {expression(v, imports)}" for k, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    inner = ", ".join(expression(each, imports) for each in value)
    if isinstance(value, list):
        return f"[{inner}]"
    return f"({inner},)" if len(value) == 1 else f"({inner})"


def _estimator(model: Any, imports: set[str]) -> str:
    """Return the call that makes an estimator, with the parameters that are not the default."""
    family = type(model)
    imports.add(f"from {_public_module(family)} import {family.__name__}")
    defaults = _defaults(family)
    changed = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if name not in defaults or not _is_same(value, defaults[name])
    }
    inner = [f"{name}={expression(value, imports)}" for name, value in changed.items()]
    if sum(map(len, inner)) < 70:
        return f"{family.__name__}({', '.join(inner)})"
    lines = ",\n".join(f"{INDENT}{each}" for each in inner)
    return f"{family.__name__}(\n{lines},\n)"


def _defaults(family: type) -> dict[str, Any]:
    found = signature(family).parameters.values()
    return {each.name: each.default for each in found if each.default is not each.empty}


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _public_module(family: type) -> str:
    """Return the shortest package that exports a class."""
    parts = family.__module__.split(".")
    for n in range(1, len(parts) + 1):
        name = ".".join(parts[:n])
        if getattr(importlib.import_module(name), family.__name__, None) is family:
            return name
    raise UnwritableError(f"{family.__name__} is defined within a function or a program")


def _from_repr(value: Any, imports: set[str]) -> str:
    """Return the text of a value, if it is an expression of known names, such as a kernel."""
    text = repr(value)
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise UnwritableError(f"{text} cannot be written as an expression") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            imports.add(_import_of(node.id, text))
    return text


def _import_of(name: str, text: str) -> str:
    if name == "np":
        return "import numpy as np"
    for module in ("numpy", *MODULES):
        found: ModuleType = importlib.import_module(module)
        if name in getattr(found, "__all__", ()):
            return f"from {module} import {name}"
    raise UnwritableError(f"{text} contains {name}, which is in no known module")

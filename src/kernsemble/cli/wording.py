"""Messages of the library in the words of the command line.

The library names parameters of Python; the command line has options. One table translates the
names, another one the phrases that contain neither.
"""

import re
from collections.abc import Callable

from kernsemble.cli.console import one_line
from kernsemble.exceptions import ArgumentError

__all__ = ["OPTIONS", "in_options", "kernel_in_words"]

OPTIONS = {
    "C": "C",
    "alpha": "alpha",
    "cache_size": "--memory",
    "criterion": "--criterion",
    "cv": "--folds",
    "kernel": "--kernel",
    "loss": "--loss",
    "max_iter": "--max-iter",
    "n_jobs": "--jobs",
    "n_pairs": "--pairs",
    "n_neighbors": "--neighbours",
    "n_universes": "--universes",
    "random_state": "--seed",
    "rare": "--rare",
    "scaling": "--scaling",
    "scoring": "--scoring",
    "solver": "--solver",
    "tol": "--tol",
}


def _loss_option(found: re.Match[str]) -> str:
    return f"use --loss {found[1].replace(' ', '_')}"


PHRASES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (  # in this order
    (r" of X\b", ""),
    (r" \(NaN\)", ""),
    (r"\bX has\b", "the table has"),
    (r"\bX contains\b", "the table contains"),
    (r"\by of the\b", "the target of the"),
    (r"\by (has|contains)\b", r"the target \1"),
    (r"^y:", "the target:"),
    (r"\bpass float32 rows to halve it", "use fewer rows"),
    (r"\b(fit|pass|use) fewer rows\b", "fit fewer rows with --max-rows"),
    (r", or fewer rows\b", ", or fewer rows with --max-rows"),
    (r", or free memory\b", ", or raise --memory"),
    (r"\buse the ([a-z]+(?: [a-z]+)?) loss\b", _loss_option),
    (r" rows of positive weight", " rows"),
    (r", or leave zero-weight rows out of the folds", ""),
    (r",? by sample_weight or class_weight", ""),
    (r"\bpass (more rows|rows)\b", r"use \1"),
    (r", or use numbers for alpha and threshold", ""),
    (r",? or use select=\('top', k\)", ""),
    (r"entropy_share = \S+ was not reached", "the searches did not converge"),
    (r": raise it, or lower mutation", ": raise --universes"),
    (r", scale the features or lower C", ", or use another --kernel or --scaling"),
    (r": use Category\(\)\.on\((.+?)\) there", r": use --drop \1, or --kernel stump"),
    (r", or Mixed\(kernel\), which has it for any kernel", ", or use --kernel auto"),
    (r"use Mixed\(.*\), or Stump\(\), .*", "use --kernel auto, stump or middle-stump"),
    (r", float32 input, or chunks, .*", ""),
    (r"\breduce n_(grids|slices), ", ""),
    (r"\bn_(grids|slices) = ", ""),
    (r"^y is\b", "the target is"),
    (r"use Stump\(\), MiddleStump\(\) or Category\(\)", "use --kernel stump or middle-stump"),
    (r" on this column$", ""),
    (r"^select = 'gap': ", ""),
    (r"\bscoring = make_scorer\(.*\) needs", "--scoring needs"),
    (r", or a function of the selected columns and y to be minimised", ""),
    (r"\buse the (exact|additive) solver\b", r"use --solver \1"),
    (r"by kernsemble\.save: .*", "by kernsemble fit: use a file that was"),
)
NAMES = "|".join(sorted(OPTIONS, key=len, reverse=True))
VALUE = r"""'[^']*'|"[^"]*"|[\w.+-]+\([^()]*\)|[\w.+-]*\w"""
SETTING = re.compile(rf"(?<![\w'.-])({NAMES})(?: = |=)({VALUE})")
BARE = re.compile(rf"(?<![\w'.-])({'|'.join(n for n in OPTIONS if '_' in n)}|tol|cv)\b(?!')")
PART = re.compile(r"([A-Z][A-Za-z]+)\(\)\.on\(\[[^\]]*\]\)")  # of a sum over columns
KERNEL = re.compile(r"\b([A-Z][A-Za-z]+)\(\)")


def in_options(message: object) -> str:
    """Return a message of the library in one line, with options in place of parameters.

    Examples
    --------
    >>> from kernsemble.cli.wording import in_options
    >>> in_options("solver = 'exact' does not support loss = 'logistic': use loss='hinge'")
    '--solver exact does not support --loss logistic: use --loss hinge'
    >>> in_options("the matrix takes 800 MB, and cache_size allows 100: raise cache_size")
    'the matrix takes 800 MB, and --memory allows 100: raise --memory'
    """
    if isinstance(message, ArgumentError):
        option = OPTIONS.get(message.argument, message.argument)
        text = f"{option} {_plain(message.value)}: {message.remedy}"
    else:
        text = one_line(message)
    for pattern, replacement in PHRASES:
        text = re.sub(pattern, replacement, text)
    text = SETTING.sub(_option, text)
    text = BARE.sub(lambda found: OPTIONS[found[1]], text)
    return KERNEL.sub(_kernel_name, text)


def kernel_in_words(kernel: str) -> str:
    """Return a kernel as text: its short name, its family, and its settings with three digits.

    Examples
    --------
    >>> from kernsemble.cli.wording import kernel_in_words
    >>> kernel_in_words("Mixed(Laplacian(gamma=0.30316))"), kernel_in_words("Stump()")
    ('laplacian (trees), gamma 0.303', 'stump')
    >>> kernel_in_words("Stump().on([0, 1]) + Category().on([2])")
    'stump + category'
    """
    from kernsemble.svm.model_selection.race import FAMILIES

    parts = [PART.fullmatch(each) for each in kernel.split(" + ")]
    names = [_kernel_names().get(each[1]) for each in parts if each is not None]
    if len(names) == len(parts) > 1 and None not in names:
        return " + ".join(map(str, names))
    inner = re.sub(r"^Mixed\((.*)\)$", r"\1", kernel)
    short = re.sub(r"\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.3g}", inner)
    found = re.fullmatch(r"([A-Z][A-Za-z]+)\(([^()]*)\)", short)
    if found is None or found[1] not in _kernel_names():
        return short
    name = _kernel_names()[found[1]]
    families = {kind.__name__: family for kind, family in FAMILIES.items()}
    family = families.get(found[1], name)
    about = name if family.startswith(name) else f"{name} ({family})"
    settings = found[2].replace("=", " ")
    return f"{about}, {settings}" if settings else about


def _option(found: re.Match[str]) -> str:
    name, value = OPTIONS[found[1]], found[2]
    return f"{name} = {value}" if not name.startswith("--") else f"{name} {_plain(value)}"


def _plain(value: object) -> str:
    """Return a value as it is typed: without quotes, kernels by name."""
    return KERNEL.sub(_kernel_name, str(value)).strip("'\"")


def _kernel_name(found: re.Match[str]) -> str:
    return _kernel_names().get(found[1], found[0])


def _kernel_names() -> dict[str, str]:
    """Return the short name of each class of kernels."""
    from kernsemble.kernels.registry import KERNELS

    return {make.__name__: name for name, make in KERNELS.items() if isinstance(make, type)}

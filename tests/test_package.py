"""The package as a whole: exports, imports and errors."""

import pickle
import subprocess
import sys
from copy import copy
from importlib import import_module
from inspect import (
    formatannotation,
    getdoc,
    getmembers,
    isclass,
    isfunction,
    ismodule,
    signature,
)
from pathlib import Path

import pytest
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator

import kernsemble
from kernsemble import exceptions
from kernsemble._arguments import check_positive
from kernsemble._jit import jit
from kernsemble._suggestions import suggest
from kernsemble._versions import versions
from kernsemble.persistence import UntrustedModelError

SUBPACKAGES = [name for name in kernsemble.__all__ if ismodule(getattr(kernsemble, name))]
PUBLIC = ["kernsemble", *(f"kernsemble.{name}" for name in SUBPACKAGES)]


@pytest.mark.parametrize("name", PUBLIC)
def test_exported_names_exist_and_are_sorted(name):
    module = import_module(name)
    names = getattr(module, "__all__", [])
    assert sorted(names) == list(names)
    assert all(hasattr(module, each) for each in names)
    assert getdoc(module)


@pytest.mark.parametrize("name", [name for name in PUBLIC[1:] if "exceptions" not in name])
def test_public_objects_have_docstrings_and_kernels_have_examples(name):
    module = import_module(name)
    for each in module.__all__:
        item = getattr(module, each)
        assert getdoc(item), each
        if name.endswith("kernels") and (isclass(item) or isfunction(item)) and each != "Kernel":
            assert ">>> " in getdoc(item), each


def test_a_source_tree_that_is_not_installed_can_be_imported(tmp_path):
    (tmp_path / "kernsemble").symlink_to(Path(kernsemble.__file__).parent)
    program = (
        "import sys; sys.path = [sys.argv[1], *(each for each in sys.path if 'site' not in each)];"
        "import kernsemble; print(kernsemble.__version__)"
    )
    command = [sys.executable, "-S", "-I", "-c", program, str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == "unknown\n"


def test_versions_are_shown_with_threads_memory_and_cache(capsys):
    kernsemble.show_versions()
    shown = capsys.readouterr().out
    for line in (f"kernsemble: {kernsemble.__version__}", "numpy: ", "threads of kernsemble: "):
        assert line in shown
    for name in ("System:", "python: ", "NUMBA_NUM_THREADS: ", "memory: ", "memory available: "):
        assert name in shown
    assert "Numba cache folder: " in shown
    assert "show_versions" in dir(kernsemble)


def test_versions_of_missing_packages_are_left_out():
    found = versions(("numpy", "no-such-package"))
    assert list(found) == ["python", "platform", "numpy"]


def test_unknown_attributes():
    assert "kernels" in dir(kernsemble)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kernsemble.nothing


def test_importing_kernsemble_does_not_import_numba_matplotlib_or_polars():
    heavy = "{'numba', 'llvmlite', 'matplotlib', 'polars'}"  # scikit-learn imports pandas itself
    code = (
        "import sys, kernsemble, kernsemble.kernels, kernsemble.datasets\n"
        "kernsemble.kernels.Stump() + kernsemble.kernels.Perceptron()\n"
        f"sys.exit(' '.join({heavy} & set(sys.modules)) or None)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@jit
def _double(x):
    return 2.0 * x


@jit
def _quadruple(x):
    return _double(_double(x))


def test_compiled_functions_call_each_other():
    assert _quadruple(2.0) == 8.0
    assert _quadruple.__name__ == "_quadruple"


ERRORS = [
    exceptions.ArgumentError("C", -1.0, "use a positive number"),
    exceptions.UnboundKernelError.of("k"),
    exceptions.ConditionalKernelError.of("k", "a test"),
    exceptions.NotNeutralError.of("k"),
    exceptions.UnknownDatasetError("name", "k", "list_datasets() returns all names"),
    UntrustedModelError(Path("model.skops"), ["builtins.print"]),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(
    "send", [lambda error: pickle.loads(pickle.dumps(error)), copy], ids=["pickle", "copy"]
)
def test_errors_keep_message_and_fields_when_pickled_and_copied(error, send):
    received = send(error)
    assert type(received) is type(error)
    assert str(received) == str(error)
    assert vars(received) == vars(error)


def test_an_argument_error_of_a_worker_process_keeps_its_fields():
    with pytest.raises(exceptions.ArgumentError, match=r"C = -1\.0: use a positive") as caught:
        Parallel(n_jobs=2)(delayed(check_positive)("C", each) for each in (1.0, -1.0))
    assert (caught.value.argument, caught.value.value) == ("C", -1.0)
    assert caught.value.remedy == "use a positive, finite number"


@pytest.mark.parametrize(
    ("name", "settings", "hint"),
    [
        ("stmp", {}, "did you mean 'stump'?"),
        ("stump", {"n": 2}, "did you mean 'stump' or 'stumps'?"),
        ("tree", {}, "use one of 'stump', 'stumps', '3'"),
        ("tree", {"otherwise": "see the list"}, "see the list"),
    ],
)
def test_suggestions_are_similar_names_else_all_names(name, settings, hint):
    assert suggest(name, ["stump", "stumps", 3], **settings) == hint


def test_suggestions_do_not_list_a_hundred_names():
    assert suggest("tree", range(100)).endswith("'11', …")


def public_objects():
    """Yield the name and the object of every public class and function, and of their methods."""
    for name in PUBLIC:
        module = import_module(name)
        for each in getattr(module, "__all__", []):
            item = getattr(module, each)
            if isclass(item) or isfunction(item):
                yield f"{name}.{each}", item
            if isclass(item):
                for method, function in getmembers(item, isfunction):
                    if not method.startswith("_") and function.__module__.startswith("kernsemble"):
                        yield f"{name}.{each}.{method}", function


def test_signatures_are_readable():
    for name, item in public_objects():
        try:
            parameters = signature(item).parameters.values()
        except ValueError:  # built-in classes
            continue
        for parameter in parameters:
            assert len(formatannotation(parameter.annotation)) < 160, f"{name}: {parameter.name}"


ESTIMATORS = [
    item
    for name, item in public_objects()
    if isclass(item) and issubclass(item, BaseEstimator) and item.__init__ is not object.__init__
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.__name__)
def test_every_parameter_is_described_where_it_is_used(estimator):
    text = getdoc(estimator)
    described, _ = text.split("Parameters\n----------\n")[1].split("Attributes\n----------\n")
    assert "as for `" not in text.lower()
    names = [
        name
        for line in described.splitlines()
        if line and not line.startswith(" ")
        for name in line.split(" : ")[0].split(", ")
    ]
    assert sorted(names) == sorted(set(signature(estimator).parameters))

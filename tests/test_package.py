"""The package as a whole: light to import, complete in what it exports."""

import pickle
import subprocess
import sys
from importlib import import_module
from inspect import getdoc, isclass, isfunction, ismodule

import pytest

import kernsemble
from kernsemble import exceptions
from kernsemble._jit import jit

SUBPACKAGES = [name for name in kernsemble.__all__ if ismodule(getattr(kernsemble, name))]
PUBLIC = ["kernsemble", *(f"kernsemble.{name}" for name in SUBPACKAGES)]


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_exported_exists_and_is_sorted(name):
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


def test_unknown_attributes():
    assert "kernels" in dir(kernsemble)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kernsemble.nothing


def test_importing_imports_neither_numba_nor_what_draws():
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


@pytest.mark.parametrize(
    "error",
    [
        exceptions.UnboundKernelError.of("k"),
        exceptions.ConditionalKernelError.of("k", "a test"),
        exceptions.NotNeutralError.of("k"),
        exceptions.UnknownDatasetError.of("k", []),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_the_way_from_a_worker(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)

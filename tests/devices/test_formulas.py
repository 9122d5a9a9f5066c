"""The formula of a kernel is what its tile function computes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.devices import NotOnDeviceError
from kernsemble.devices.formulas import Formula
from kernsemble.exceptions import UnboundKernelError
from kernsemble.kernels import (
    Category,
    Constant,
    DecisionTree,
    Exponential,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    MiddleStump,
    Mixed,
    Perceptron,
    Polynomial,
    Stump,
    StumpRegion,
    l1_distances,
    l2_distances,
)
from kernsemble.kernels.base import PointKernel
from kernsemble.kernels.symbols import SymbolicRows

KERNELS = {
    "stump": Stump(),
    "distinct": Stump("distinct", margin=0.2),
    "middle": MiddleStump(),
    "perceptron": Perceptron(),
    "category": Category(),
    "simplified": Stump().simplified + Perceptron().simplified,
    "laplacian": Laplacian(),
    "exponential": Exponential(0.4),
    "gaussian": Gaussian("spread"),
    "linear": Linear(),
    "polynomial": Polynomial(degree=3, offset=0.5),
    "constant": Constant(2.5),
    "region": StumpRegion(level=4),
    "tree": DecisionTree(gamma=0.01),
    "mixed": Mixed(Laplacian() + Gaussian(), categories=(1,)),
    "sum": 2.0 * Laplacian(0.5) + 0.5 * Gaussian(0.1) + Constant(3.0),
    "product": Stump().on([0, 1]) * Gaussian(0.3).on([2]) * Exponential().on([1, 2]),
    "and": (Stump() & Perceptron()) & Constant(1.5),
    "logic": Stump().logic * Perceptron().logic,
    "nested": 3.0 * ((Linear() + Constant()) * Laplacian()).on([0, 2]) + 0.1 * Stump(),
}
C_FUNCTIONS = {
    "exp_of": np.exp,
    "exp2_of": np.exp2,
    "expm1_of": np.expm1,
    "sqrt_of": np.sqrt,
    "power_of": np.power,
}


def sample(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 1] = rng.integers(0, 4, size=n)
    return X


def rows_of(name, X):
    return np.round(X) if name == "category" else X


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-4)])
@pytest.mark.parametrize("name", KERNELS)
def test_a_formula_has_the_values_of_its_kernel(name, dtype, tolerance):
    X, Y = rows_of(name, sample()), rows_of(name, sample(20, seed=1))
    kernel = KERNELS[name].bind(X)
    formula = Formula.from_kernel(kernel)
    (A, diagonal), (B, _) = formula.prepare(X, np.dtype(dtype)), formula.prepare(Y, np.dtype(dtype))
    expected = kernel(X, Y)
    largest = np.abs(expected).max()
    assert_allclose(formula.tile(A, B) / largest, expected / largest, atol=tolerance)
    assert_allclose(diagonal, kernel.diagonal(X), rtol=tolerance)
    assert all(matrix.dtype == dtype for matrix in A)


@pytest.mark.parametrize("name", KERNELS)
def test_the_text_in_c_has_the_values_of_the_formula(name):
    """Expressions of C without literals are expressions of Python."""
    X = rows_of(name, sample())
    formula = Formula.from_kernel(KERNELS[name].bind(X))
    A, _ = formula.prepare(X, np.dtype(np.float64))
    compared = {
        "l1": l1_distances,
        "squared l2": lambda rows: l2_distances(rows) ** 2,
        "dot": lambda rows: rows @ rows.T,
    }
    names = {
        f"d{place}": compared[measure](A[source])
        for place, (source, measure) in enumerate(formula.distances)
    }
    names |= {f"c{place}": value for place, value in enumerate(formula.constants)}
    found = eval(formula.text, C_FUNCTIONS, names)
    assert_allclose(found, formula.tile(A, A), rtol=1e-9, atol=1e-9)


def test_distances_that_parts_share_are_computed_once():
    X = sample()
    kernel = Laplacian(0.5) + Laplacian(2.0) * Gaussian(1.0) + Perceptron() + Laplacian(0.1).on([0])
    formula = Formula.from_kernel(kernel.bind(X))
    assert formula.distances == ((0, "l1"), (0, "squared l2"), (1, "l1"))
    stumps = Stump() + StumpRegion(level=3) * Stump()
    assert len(Formula.from_kernel(stumps.bind(X)).distances) == 1
    other = Stump() + Stump("empirical")
    assert len(Formula.from_kernel(other.bind(X)).distances) == 2


def test_a_rate_and_the_base_of_the_exponential_are_one_constant():
    formula = Formula.from_kernel(Laplacian(2.0).bind(sample()))
    assert formula.text == "exp2_of(d0 * c0)"
    assert formula.constants == (-2.0 * np.log2(np.e),)


def test_the_part_without_device_code_is_named():
    kernel = 2.0 * Laplacian() * (Stump() + HistogramIntersection().on([0]))
    with pytest.raises(NotOnDeviceError, match=r"^HistogramIntersection\(\).* has no device code"):
        Formula.from_kernel(kernel.bind(sample()))


@pytest.mark.parametrize(
    ("kernel", "value"),
    [(Laplacian(1.0), 1e39), (Gaussian(1.0), 1e19), (Linear(), 1e19), (Polynomial(4), 1e10)],
)
def test_values_beyond_single_precision_are_refused(kernel, value):
    X = np.array([[value, 0.0], [0.0, 1.0]])
    formula = Formula.from_kernel(kernel.bind(X))
    with pytest.raises(ValueError, match="outside the range of float32: scale the columns"):
        formula.prepare(X, np.dtype(np.float32))
    formula.prepare(X, np.dtype(np.float64))


def test_an_unbound_kernel_is_refused():
    with pytest.raises(UnboundKernelError):
        Formula.from_kernel(Stump())


class Rational(PointKernel):
    """A kernel of a user, who wrote its tile function for NumPy only."""

    def _tile(self, A, B):
        return A._distance(B)

    def _diagonal(self, A):
        return np.ones(len(A))


class Cosine(Rational):
    def _tile(self, A, B):
        return np.cos(SymbolicRows.compared_with(A, B, "l1"))


class Crossed(Rational):
    def _tile(self, A, B):
        return A.compared_with(SymbolicRows(A.source + 1), "l1")


@pytest.mark.parametrize("kernel", [Rational(), Cosine(), Crossed()])
def test_other_functions_have_no_device_code(kernel):
    with pytest.raises(NotOnDeviceError):
        Formula.from_kernel(kernel.bind(sample()))

r"""A kernel on rows as what products with it need: the matrix, a factor of it, or sorted slices.

=========  ====================  ==================  =========================
source     once                  a product           an expansion is on
=========  ====================  ==================  =========================
matrix     :math:`O(n^2 D)`      :math:`O(n^2)`      all rows
factor     :math:`O(n r (r+D))`  :math:`O(n r)`      r pivots, or all rows
slices     :math:`O(nS \log n)`  :math:`O(n S)`      all rows
=========  ====================  ==================  =========================

for n rows of D columns, a factor of rank r, and S slices. The factor is one of the rank asked for,
or, of a kernel so smooth on these rows that few pivots tell it, one that leaves nothing of note.
"""

from dataclasses import replace
from typing import Protocol

import numpy as np
from scipy import sparse

from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.kernels import Kernel
from kernsemble.kernels.slices import NoSlicesError, Slices, slices_of
from kernsemble.solvers.low_rank import LowRank, pivoted_cholesky
from kernsemble.solvers.products import DenseProducts, LowRankProducts, Products, SliceProducts
from kernsemble.svm.memory import Budget

FEWEST_ROWS = 500  # measured on 20 slices: with fewer a product with the matrix is as quick
ROWS_A_SLICE = 10  # a step along a slice takes as long as ten entries of the matrix, about
FEWEST_FACTORED = 1000  # rows, below which products with the matrix are quick
ROUNDING = 1e-9  # of the trace: what no factor need have
NOTHING_OF_NOTE = 1e-7  # of the trace: orders of rows change the vote of updates by more
PROMISING = 0.01  # of the trace: what a quarter of the pivots of a smooth kernel leave at most


class Source(Protocol):
    """A bound kernel on n training rows."""

    kernel: Kernel
    X: Rows

    @property
    def error(self) -> float:
        """The share of the kernel's trace that the source leaves out."""

    def among(self, rows: IntArray) -> Products:
        """Return the products of the kernel matrix between some rows."""

    def row(self, i: int) -> FloatArray:
        """Return row i of the kernel matrix itself."""

    def expansion(self, V: FloatArray) -> tuple[IntArray, FloatArray]:
        r"""Return where and with which coefficients to expand :math:`\sum_i V_{ki} K(x_i, x)`.

        The first are places of rows, the second of shape (len(V), number of places).
        """


class MatrixSource:
    """The matrix between all rows, in memory."""

    error = 0.0

    def __init__(self, kernel: Kernel, X: Rows) -> None:
        self.kernel, self.X, self.K = kernel, X, kernel(X)

    def among(self, rows: IntArray) -> Products:
        whole = len(rows) == len(self.K)
        return DenseProducts(self.K if whole else self.K[np.ix_(rows, rows)])

    def row(self, i: int) -> FloatArray:
        return self.K[i]

    def expansion(self, V: FloatArray) -> tuple[IntArray, FloatArray]:
        return np.arange(V.shape[1]), V


class SliceSource:
    """The sorted positions of rows in the slices that the kernel is the sum of."""

    error = 0.0

    def __init__(self, kernel: Kernel, X: Rows, slices: Slices) -> None:
        self.kernel, self.X, self.constant = kernel, X, slices.constant
        self.positions = _positions(slices, X)

    def among(self, rows: IntArray) -> Products:
        whole = len(rows) == len(self.positions)
        return SliceProducts(self.positions if whole else self.positions[rows], self.constant)

    def row(self, i: int) -> FloatArray:
        return self.kernel(self.X[[i]], self.X)[0]

    def expansion(self, V: FloatArray) -> tuple[IntArray, FloatArray]:
        return np.arange(V.shape[1]), V


class FactorSource:
    """A factor of low rank, on whose pivots expansions are."""

    def __init__(self, kernel: Kernel, X: Rows, factor: LowRank) -> None:
        self.kernel, self.X, self.factor = kernel, X, factor
        self.error = factor.error

    def among(self, rows: IntArray) -> Products:
        G = self.factor.G
        return LowRankProducts(G if len(rows) == len(G) else G[rows])

    def row(self, i: int) -> FloatArray:
        return self.kernel(self.X[[i]], self.X)[0]

    def expansion(self, V: FloatArray) -> tuple[IntArray, FloatArray]:
        return self.factor.pivots, self.factor.coefficients(V.T).T


class SmoothSource(FactorSource):
    """A factor that leaves nothing of note, so that expansions are on all rows and exact."""

    def expansion(self, V: FloatArray) -> tuple[IntArray, FloatArray]:
        return np.arange(V.shape[1]), V


def source_of(
    kernel: Kernel,
    X: Rows,
    weight: FloatArray,
    rank: int | None,
    budget: Budget,
    rng: np.random.Generator,
    n_machines: int = 1,
) -> Source:
    """Return a bound kernel on rows with weights in the form that suits it, within a budget.

    Several machines are on parts of the rows, of which a second matrix is made.
    """
    n = X.shape[0]
    if rank is not None:
        numbers = n * min(rank, n)
        budget.demand(
            numbers * X.dtype.itemsize, f"the factor of rank = {rank} takes", "lower rank"
        )
        return FactorSource(kernel, X, _factor(kernel, X, weight, rank, ROUNDING, rng))
    n_bytes = (1 if n_machines == 1 else 2) * n * n * X.dtype.itemsize
    slices = None if sparse.issparse(X) else _exact_slices(kernel)
    if slices is not None and (n >= _rows_worth_sorting(slices) or n_bytes > budget.n_bytes):
        return SliceSource(kernel, X, slices)
    factor = _smooth_factor(kernel, X, weight, budget) if n >= FEWEST_FACTORED else None
    if factor is not None:
        return SmoothSource(kernel, X, factor)
    budget.demand(
        n_bytes,
        f"the {n} x {n} kernel matrix takes",
        f"give a rank, such as rank={min(1000, n)}, for a factor of it",
    )
    return MatrixSource(kernel, X)


def _factor(
    kernel: Kernel, X: Rows, weight: FloatArray, rank: int, tol: float, rng: np.random.Generator
) -> LowRank:
    """Return a factor of random pivots, of which a row of weight w is as likely one as w rows.

    What is factored is the matrix with rows and columns times the roots of their weights.
    """
    roots = np.sqrt(weight).astype(X.dtype)
    factor = pivoted_cholesky(
        lambda rows: kernel(X[rows], X) * np.outer(roots[rows], roots),
        kernel.diagonal(X) * weight,
        rank=rank,
        tol=tol,
        method="random",
        rng=rng,
        dtype=X.dtype,
    )
    return replace(factor, G=factor.G / roots[:, np.newaxis])


def _smooth_factor(kernel: Kernel, X: Rows, weight: FloatArray, budget: Budget) -> LowRank | None:
    """Return a factor that stands for the matrix and is cheaper, None if that would be none."""
    n = X.shape[0]
    rank = min(n // 8, int(10 * np.sqrt(n)))
    if n * rank * X.dtype.itemsize > budget.n_bytes:
        return None
    for pivots, enough in ((rank // 4, PROMISING), (rank, NOTHING_OF_NOTE)):
        rng = np.random.default_rng(0)
        factor = _factor(kernel, X, weight, pivots, NOTHING_OF_NOTE, rng)
        if factor.error > enough:
            return None
    return factor


def _rows_worth_sorting(slices: Slices) -> int:
    """Return from how many rows on a walk along each slice is quicker than a product."""
    return max(FEWEST_ROWS, ROWS_A_SLICE * (slices.n_ordered + slices.n_unordered))


def _exact_slices(kernel: Kernel) -> Slices | None:
    """Return the slices of a kernel that is their sum, None if it is not, or is infinitely many."""
    try:
        slices = slices_of(kernel, n_slices=1, random_state=0)
    except NoSlicesError:
        return None
    return slices if slices.is_exact and slices.n_ordered + slices.n_unordered else None


def _positions(slices: Slices, X: Rows) -> FloatArray:
    """Return positions; a category is half its weight away from where the others are."""
    positions = [slices.positions(X).astype(np.float64)]
    for weight, codes in zip(slices.weights, slices.codes(X).T, strict=True):
        positions.append(0.5 * weight * (codes[:, np.newaxis] == np.unique(codes)))
    return np.hstack(positions)

r"""Products with a kernel matrix, from the matrix, a factor of it, or sorted slices.

=========  ====================  ==================  =========================
source     preparation           one product         rows of an expansion
=========  ====================  ==================  =========================
matrix     :math:`O(n^2 D)`      :math:`O(n^2)`      all rows
factor     :math:`O(n r (r+D))`  :math:`O(n r)`      r pivots, or all rows
slices     :math:`O(nS \log n)`  :math:`O(n S)`      all rows
=========  ====================  ==================  =========================

for n rows of D columns, a factor of rank r, and S slices. The factor has the requested rank or, if
the kernel is smooth on these rows, a small rank that leaves a negligible remainder.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import sparse

from kernsemble._memory import Budget
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.kernels import Kernel
from kernsemble.kernels.slices import NoSlicesError, Slices, slices_of
from kernsemble.solvers.kernel_products import (
    DenseProducts,
    LowRankProducts,
    Products,
    SliceProducts,
)
from kernsemble.solvers.low_rank import LowRank, pivoted_cholesky

ROUNDING = 1e-9  # share of the trace that no factor needs
NEGLIGIBLE = 1e-7  # share of the trace; the order of rows changes the ensemble by more
PROMISING = 0.01  # largest share of the trace left by a quarter of the pivots of a smooth kernel


@dataclass(frozen=True)
class CostModel:
    """The numbers of rows from which slices or a factor are faster than the matrix.

    Attributes
    ----------
    min_sliced_rows : int
        With fewer rows a product with the matrix is as fast; measured on 20 slices.
    rows_per_slice : int
        A step along a slice takes about as long as this many entries of the matrix.
    min_factored_rows : int
        With fewer rows no factor is tried.
    """

    min_sliced_rows: int = 500
    rows_per_slice: int = 10
    min_factored_rows: int = 1000

    def slices_pay(self, slices: Slices, n_rows: int) -> bool:
        """Return whether a walk along each slice is faster than a product with the matrix."""
        n_slices = slices.n_ordered + slices.n_unordered
        return n_rows >= max(self.min_sliced_rows, self.rows_per_slice * n_slices)


class KernelProducts(Protocol):
    """A bound kernel on n training rows."""

    kernel: Kernel
    X: Rows

    @property
    def error(self) -> float:
        """The share of the kernel's trace that is not represented."""

    def among(self, rows: IntArray) -> Products:
        """Return the products of the kernel matrix between some rows."""

    def row(self, i: int) -> FloatArray:
        """Return row i of the kernel matrix itself."""

    def expansion(self, V: FloatArray) -> tuple[IntArray, FloatArray]:
        r"""Return the rows and the coefficients of expansions of :math:`\sum_i V_{ki} K(x_i, x)`.

        The first are indices, the second has a row for each row of V.
        """


class MatrixProducts:
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


class SlicedProducts:
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


class FactorProducts:
    """A factor of low rank; expansions are on its pivots."""

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


class SmoothProducts(FactorProducts):
    """A factor with a negligible remainder; expansions are on all rows, and exact."""

    def expansion(self, V: FloatArray) -> tuple[IntArray, FloatArray]:
        return np.arange(V.shape[1]), V


def kernel_products(
    kernel: Kernel,
    X: Rows,
    weight: FloatArray,
    rank: int | None,
    budget: Budget,
    rng: np.random.Generator,
    n_machines: int,
    costs: CostModel,
) -> KernelProducts:
    """Return a bound kernel on weighted rows in the cheapest form, within a memory budget.

    Several machines are on parts of the rows, for which a second matrix is made.
    """
    n = X.shape[0]
    if rank is not None:
        numbers = n * min(rank, n)
        budget.check(numbers * X.dtype.itemsize, f"the factor of rank = {rank} takes", "lower rank")
        return FactorProducts(kernel, X, _factor(kernel, X, weight, rank, ROUNDING, rng))
    n_bytes = (1 if n_machines == 1 else 2) * n * n * X.dtype.itemsize
    slices = None if sparse.issparse(X) else _exact_slices(kernel)
    if slices is not None and (costs.slices_pay(slices, n) or n_bytes > budget.n_bytes):
        return SlicedProducts(kernel, X, slices)
    factor = _smooth_factor(kernel, X, weight, budget) if n >= costs.min_factored_rows else None
    if factor is not None:
        return SmoothProducts(kernel, X, factor)
    budget.check(
        n_bytes,
        f"the {n} x {n} kernel matrix takes",
        f"set a rank, such as rank={min(1000, n)}, to use a factor of it",
    )
    return MatrixProducts(kernel, X)


def _factor(
    kernel: Kernel, X: Rows, weight: FloatArray, rank: int, tol: float, rng: np.random.Generator
) -> LowRank:
    """Return a factor on random pivots; a row of weight w is drawn like w rows.

    The factored matrix has its rows and columns multiplied by the roots of their weights.
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
    """Return a factor that represents the matrix at less cost, None if there is none."""
    n = X.shape[0]
    rank = min(n // 8, int(10 * np.sqrt(n)))
    if n * rank * X.dtype.itemsize > budget.n_bytes:
        return None
    for pivots, enough in ((rank // 4, PROMISING), (rank, NEGLIGIBLE)):
        rng = np.random.default_rng(0)
        factor = _factor(kernel, X, weight, pivots, NEGLIGIBLE, rng)
        if factor.error > enough:
            return None
    return factor


def _exact_slices(kernel: Kernel) -> Slices | None:
    """Return the slices of a kernel that is a finite sum of them, None for other kernels."""
    try:
        slices = slices_of(kernel, n_slices=1, random_state=0)
    except NoSlicesError:
        return None
    return slices if slices.is_exact and slices.n_ordered + slices.n_unordered else None


def _positions(slices: Slices, X: Rows) -> FloatArray:
    """Return positions; a category is half its weight away from the others."""
    positions = [slices.positions(X).astype(np.float64)]
    for weight, codes in zip(slices.weights, slices.codes(X).T, strict=True):
        positions.append(0.5 * weight * (codes[:, np.newaxis] == np.unique(codes)))
    return np.hstack(positions)

r"""Random binning: the Laplacian kernel as the share of random grid cells of two rows.

A grid cuts every column into intervals of one width, the pitch :math:`\delta_d`, from a start that
is uniform in the first of them. Two values share an interval with probability
:math:`\max(0, 1 - |x_d - x'_d| / \delta_d)`, whose mean over :math:`\delta_d` from the Gamma law of
shape 2 and scale :math:`1/\gamma` is :math:`\exp(-\gamma |x_d - x'_d|)`. So two rows share a cell
with probability :math:`\exp(-\gamma \|x - x'\|_1)`, and

.. math:: K(x, x') \approx \kappa + w\, \tfrac1P |\{p : \mathrm{cell}_p(x) = \mathrm{cell}_p(x')\}|

with P grids (random binning, Rahimi and Recht 2007). Each cell is a box, the leaf of a tree.
"""

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.special import gammaincinv

from kernsemble._arguments import as_generator, check_count
from kernsemble._jit import jit
from kernsemble._threads import blocks, run
from kernsemble._typing import Array, ArrayLike, FloatArray, IntArray, Rows
from kernsemble._value_object import Value
from kernsemble.exceptions import UnboundKernelError
from kernsemble.kernels.algebra import OnColumns, Scaled
from kernsemble.kernels.base import Kernel
from kernsemble.kernels.columns import unwrapped
from kernsemble.kernels.gram import fill_gram
from kernsemble.kernels.radial import Laplacian
from kernsemble.kernels.regions import DecisionTree

ROWS_PER_TASK = 4_096
ROWS_FOR_ERROR = 256  # rows that the error is measured on
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


class NoCellsError(ValueError):
    """Error for a kernel that does not support random binning."""

    @classmethod
    def of(cls, kernel: Kernel) -> Self:
        """Return the error for a kernel."""
        return cls(
            f"{kernel} does not support random binning: use Laplacian() or DecisionTree(), or a "
            "multiple of them on any columns, or the kernel matrix, kernel(X)"
        )


def bin_rows(
    kernel: Kernel,
    X: ArrayLike,
    *,
    n_grids: int = 256,
    random_state: int | np.random.Generator | None = None,
) -> tuple["Grids", IntArray]:
    """Return random grids for a bound kernel, and the cells of rows.

    Parameters
    ----------
    kernel : Kernel
        Bound `Laplacian` or `DecisionTree`, or a multiple of one, on all or some columns.
    X : array-like, sparse matrix or DataFrame of shape (n, n_features)
        The sample.
    n_grids : int, default=256
        Number P of grids.
    random_state : int, numpy.random.Generator or None, default=None
        Random seed of the grids.

    Returns
    -------
    grids : Grids
    cells : int32 array of shape (n, n_grids)
        Cell of each row in each grid, numbered from 0 within the grid.

    Raises
    ------
    NoCellsError
        If the kernel does not support random binning.

    Notes
    -----
    Costs O(n P (D + log n)) time, threads over grids, and 8 bytes per occupied cell.

    Examples
    --------
    >>> from kernsemble.kernels import Laplacian
    >>> X = [[0.0], [1.0], [5.0]]
    >>> grids, cells = bin_rows(Laplacian(0.5).bind(X), X, n_grids=4096, random_state=0)
    >>> float((cells[0] == cells[1]).mean())
    0.61
    >>> grids.kernel(X)
    array([[1.  , 0.61, 0.08],
           [0.61, 1.  , 0.14],
           [0.08, 0.14, 1.  ]])
    """
    check_count("n_grids", n_grids)
    if kernel.n_features is None:
        raise UnboundKernelError.of(kernel)
    rng = as_generator(random_state)
    form, rows = _form(kernel), kernel._embed(X, "X")
    shape = n_grids, rows.shape[1]
    pitch, shift = _spread_grids(shape, form.gamma, rng)
    mixers = rng.integers(2**64, size=shape, dtype=np.uint64) | np.uint64(1)
    known, cells = _numbered(_columns(rows), 1.0 / pitch, shift, mixers)
    first = np.cumsum([0, *map(len, known)])
    grids = Grids(kernel, pitch, shift, mixers, np.concatenate(known), first, *form[1:], 0.0)
    some = rng.permutation(len(cells))[:ROWS_FOR_ERROR]
    return replace(grids, error=_error(grids, rows[some], cells[some])), cells


def has_cells(kernel: Kernel) -> bool:
    """Return whether `bin_rows` supports a kernel."""
    return isinstance(unwrapped(kernel)[1], (Laplacian, DecisionTree))


@dataclass(frozen=True, eq=False, repr=False)
class Grids(Value):
    r"""Random grids, and the cells that a sample occupies.

    A row x is in the cell of :math:`\lfloor x_d / \delta_{pd} + s_{pd} \rfloor` in grid p. Cells
    are stored as 64-bit hashes of these; two cells have equal ones with probability about
    :math:`2^{-64}`.

    Attributes
    ----------
    embedding : Kernel
        The kernel, whose embedding of rows is put into cells.
    pitch, shift, mixers : arrays of shape (P, D)
        :math:`\delta`, s in pitches, and the factors of the hashes.
    known : uint64 array
        Hashes of the occupied cells, increasing within each grid.
    first : array of shape (P + 1,)
        Index of the first cell of each grid.
    weight, constant : float
        w and :math:`\kappa`.
    error : float
        Root mean square error of the kernel over pairs of rows of the sample, relative to w,
        measured on 256 rows.
    """

    embedding: Kernel
    pitch: FloatArray
    shift: FloatArray
    mixers: IntArray
    known: IntArray
    first: IntArray
    weight: float
    constant: float
    error: float

    @property
    def n_grids(self) -> int:
        """The number P of grids."""
        return len(self.pitch)

    @property
    def n_cells(self) -> IntArray:
        """The number of occupied cells of each grid."""
        return np.diff(self.first)

    def cells(self, X: ArrayLike) -> IntArray:
        """Return the cells of rows, −1 for cells that are empty in the sample.

        An int32 array of shape (n, n_grids), computed by threads over blocks of rows.
        """
        rows, density = self.embedding._embed(X, "X"), 1.0 / self.pitch
        cells = np.empty((rows.shape[0], self.n_grids), dtype=np.int32)

        def work(span: slice) -> None:
            columns = _columns(rows[span])
            _find_all(
                columns, density, self.shift, self.mixers, self.known, self.first, cells[span]
            )

        run(work, blocks(len(cells), ROWS_PER_TASK))
        return cells

    def kernel(self, X: ArrayLike, Y: ArrayLike | None = None) -> FloatArray:
        """Return the approximate kernel, for pairs of which at least one row is in the sample."""
        return self._from_cells(self.cells(X), None if Y is None else self.cells(Y))

    def _from_cells(self, A: IntArray, B: IntArray | None = None) -> FloatArray:
        n_shared = np.empty((len(A), len(A if B is None else B)))
        fill_gram(_count_shared, A, B, n_shared)
        return self.constant + self.weight / self.n_grids * n_shared


class _LaplacianForm(NamedTuple):
    r"""A kernel :math:`\kappa + w \exp(-\gamma \|a - a'\|_1)` of embedded rows a, a'."""

    gamma: float
    weight: float
    constant: float


@singledispatch
def _form(kernel: Kernel) -> _LaplacianForm:
    raise NoCellsError.of(kernel)


@_form.register
def _form_of_laplacian(kernel: Laplacian) -> _LaplacianForm:
    assert kernel.rate is not None
    return _LaplacianForm(kernel.rate, 1.0, 0.0)


@_form.register
def _form_of_trees(kernel: DecisionTree) -> _LaplacianForm:
    return _LaplacianForm(
        kernel.gamma, float(np.exp(2.0 * kernel.gamma * kernel.stump.delta)), -1.0
    )


@_form.register
def _form_of_columns(kernel: OnColumns) -> _LaplacianForm:
    return _form(kernel.kernel)


@_form.register
def _form_of_multiple(kernel: Scaled) -> _LaplacianForm:
    gamma, weight, constant = _form(kernel.kernel)
    return _LaplacianForm(gamma, kernel.factor * weight, kernel.factor * constant)


def _spread_grids(
    shape: tuple[int, int], gamma: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return pitches and shifts that cover their joint law evenly in each column.

    In each column they are a golden-ratio lattice in the unit square, shifted and ordered at
    random. Each single grid follows the law, so shares are unbiased.
    """
    n_grids, n_features = shape
    order = rng.permuted(np.tile(np.arange(n_grids), (n_features, 1)), axis=1).T
    chance = (order / n_grids + rng.random(n_features)) % 1.0
    shift = (order * GOLDEN + rng.random(n_features)) % 1.0
    return gammaincinv(2.0, 1.0 - chance) / gamma, shift


def _columns(rows: Rows) -> FloatArray:
    dense = rows.toarray() if sparse.issparse(rows) else rows
    return np.ascontiguousarray(dense.T, dtype=np.float64)


def _numbered(
    columns: FloatArray, density: FloatArray, shift: FloatArray, mixers: IntArray
) -> tuple[list[Array], IntArray]:
    """Return the occupied cells of each grid, increasing, and the index of each row's cell."""
    n_grids, n = len(density), columns.shape[1]
    cells = np.empty((n_grids, n), dtype=np.int32).T  # contiguous in each grid

    def work(p: int) -> Array:
        mixed = _mix(columns, density[p], shift[p], mixers[p])
        known = np.unique(mixed)
        _find(known, mixed, cells[:, p])
        return known

    return run(work, range(n_grids)), cells


def _error(grids: Grids, rows: Rows, cells: IntArray) -> float:
    difference = grids._from_cells(cells) - fill_gram(grids.embedding._tile, rows)
    n_pairs = max(len(cells) * (len(cells) - 1), 1)
    return float(np.sqrt((difference**2).sum() / n_pairs)) / grids.weight  # 0 on the diagonal


@jit
def _find_all(
    columns: FloatArray,
    density: FloatArray,
    shift: FloatArray,
    mixers: IntArray,
    known: IntArray,
    first: IntArray,
    cells: IntArray,
) -> None:
    for p in range(len(density)):
        mixed = _mix(columns, density[p], shift[p], mixers[p])
        _find(known[first[p] : first[p + 1]], mixed, cells[:, p])


@jit
def _mix(columns: FloatArray, density: FloatArray, shift: FloatArray, mixers: IntArray) -> Array:
    """Return the hash of every row's cell: a random linear form of its intervals, then mixed.

    Hashes are uniform among 64-bit numbers, as `_find` expects.
    """
    mixed = np.zeros(columns.shape[1], dtype=np.uint64)
    for d in range(len(columns)):
        interval = np.floor(columns[d] * density[d] + shift[d]).astype(np.int64)
        mixed += mixers[d] * interval.view(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return mixed ^ (mixed >> np.uint64(32))


@jit
def _find(known: IntArray, mixed: IntArray, cells: IntArray) -> None:
    """Write the place of each number in an increasing list, −1 if it is not there.

    Numbers are uniform, so two interpolations and a few steps find the place.
    """
    last, numbers_per_cell = len(known) - 1, 2.0**64 / len(known)
    for i in range(len(mixed)):
        m = mixed[i]
        k = min(int(m / numbers_per_cell), last)
        ahead = (np.float64(m) - np.float64(known[k])) / numbers_per_cell
        k = min(max(k + int(ahead), 0), last)
        while k < last and known[k] < m:
            k += 1
        while k > 0 and known[k] > m:
            k -= 1
        cells[i] = k if known[k] == m else -1


@jit
def _count_shared(A: IntArray, B: IntArray) -> FloatArray:
    n_shared = np.empty((len(A), len(B)))
    for i in range(len(A)):
        is_known = A[i] >= 0
        for j in range(len(B)):
            n_shared[i, j] = np.sum((A[i] == B[j]) & is_known)
    return n_shared

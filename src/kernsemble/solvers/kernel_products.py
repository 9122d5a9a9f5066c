r"""Products of a kernel matrix with vectors, :math:`v \mapsto Kv`.

Gradient-based solvers only need these products. A dense matrix takes
:math:`O(n^2)`, a factor of rank r takes :math:`O(nr)`, and a sum of S one-dimensional distances
takes :math:`O(nS)`, exactly, on positions that were sorted once.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from kernsemble._jit import jit, jit_sums
from kernsemble._threads import blocks, run
from kernsemble._typing import FloatArray, IntArray

ROWS_PER_TASK = 2048  # independent of the number of threads, so that sums are the same
SLICES_PER_TASK = 4
ENTRIES_WORTH_THREADS = 500_000  # smallest number of entries for which threads are used

Result = TypeVar("Result")


class Products(Protocol):
    """A symmetric, positive semidefinite matrix K of n rows, given by its products."""

    @property
    def n(self) -> int:
        """The number of rows."""

    @property
    def largest(self) -> float:
        """The largest diagonal entry, an upper bound on the absolute value of all entries."""

    def times(self, v: FloatArray) -> FloatArray:
        """Return K v, in double precision."""


class DenseProducts:
    """Products of a matrix in memory, float32 or float64, in O(n²), from one half of it.

    That takes half the time of BLAS, whose threads also wait for each other on a loaded
    machine. A product of a float32 matrix is computed in single precision: half the time, and
    relative errors of about 1e-7 of the largest sums.
    """

    def __init__(self, K: FloatArray) -> None:
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"K has shape {K.shape}: pass a square kernel matrix")
        self.K, self.n = np.ascontiguousarray(K), len(K)
        self.largest = float(np.diagonal(K).max())

    def times(self, v: FloatArray) -> FloatArray:
        product = np.zeros(self.n, self.K.dtype)
        _add_symmetric_product(self.K, v.astype(self.K.dtype), product)
        return _double(product)


class LowRankProducts:
    """Products of K = G Gᵀ with a factor of shape (n, r), float32 or float64, in O(n r)."""

    def __init__(self, G: FloatArray) -> None:
        self.G, self.n = G, len(G)
        self.largest = float(np.einsum("ij,ij->i", G, G).max())
        self._columns = np.ascontiguousarray(G.T)
        self._tasks = blocks(self.n, ROWS_PER_TASK)

    def times(self, v: FloatArray) -> FloatArray:
        C, v, product = self._columns, v.astype(self.G.dtype), np.zeros(self.n, self.G.dtype)

        def inner(rows: slice) -> FloatArray:
            sums = np.zeros(len(C), C.dtype)
            _add_inner_products(C, v, rows.start, rows.stop, sums)
            return sums

        w = np.sum(_run(inner, self._tasks, C.size), axis=0)
        _run(
            lambda rows: _add_combination(C, w, rows.start, rows.stop, product),
            self._tasks,
            C.size,
        )
        return _double(product)


class SliceProducts:
    r"""Products of :math:`K(x, x') = \Delta - \sum_s |p_s(x) - p_s(x')|`, in O(n S).

    Along sorted positions :math:`\sum_j |p_i - p_j| v_j` rises, from one position to the next,
    by the gap times the sum of v up to there less that beyond; so a product is one pass per
    slice. A category has a slice for each of its values, with positions of half its weight there
    and zero elsewhere.

    Parameters
    ----------
    positions : array of shape (n, S)
        Positions of the rows in each slice.
    constant : float
        Constant :math:`\Delta`, large enough for K to be positive semidefinite.

    Notes
    -----
    Sorting takes O(S n log n) once; each position needs 12 bytes.
    """

    def __init__(self, positions: FloatArray, constant: float) -> None:
        self.n, n_slices = positions.shape
        self.largest = float(constant)
        self._order = np.empty((n_slices, self.n), dtype=np.int32)
        self._gaps = np.zeros((n_slices, self.n))  # distances to the next position; 0 for the last
        for s in range(n_slices):
            self._order[s] = np.argsort(positions[:, s], kind="stable")
            self._gaps[s, :-1] = np.diff(positions[self._order[s], s])
        self._tasks = blocks(n_slices, SLICES_PER_TASK)

    def times(self, v: FloatArray) -> FloatArray:
        v = np.ascontiguousarray(v, dtype=np.float64)

        def work(slices: slice) -> FloatArray:
            distances = np.zeros(self.n)
            _add_distances(self._order[slices], self._gaps[slices], v, distances)
            return distances

        product = np.full(self.n, self.largest * v.sum())
        for part in _run(work, self._tasks, self._order.size):
            product -= part
        return product


def _run(work: Callable[[slice], Result], tasks: list[slice], n_entries: int) -> list[Result]:
    """Return the results of tasks, with threads if there are enough entries."""
    return run(work, tasks) if n_entries >= ENTRIES_WORTH_THREADS else [*map(work, tasks)]


def _double(v: FloatArray) -> FloatArray:
    return v.astype(np.float64, copy=False)


@jit_sums
def _add_symmetric_product(K: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Add K v, from the entries on and left of the diagonal, four rows at a time."""
    n = len(v)
    whole = n - n % 4
    for i in range(0, whole, 4):
        p, q, r, s = v[i], v[i + 1], v[i + 2], v[i + 3]
        a, b, c, d = out[i], out[i + 1], out[i + 2], out[i + 3]
        for j in range(i):
            out[j] += K[i, j] * p + K[i + 1, j] * q + K[i + 2, j] * r + K[i + 3, j] * s
            a += K[i, j] * v[j]
            b += K[i + 1, j] * v[j]
            c += K[i + 2, j] * v[j]
            d += K[i + 3, j] * v[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
        _add_triangle(K, v, i, i, i + 4, out)
    _add_triangle(K, v, 0, whole, n, out)


@jit_sums
def _add_triangle(
    K: FloatArray, v: FloatArray, left: int, top: int, bottom: int, out: FloatArray
) -> None:
    """Add the products of the entries of some rows, from a column up to the diagonal."""
    for i in range(top, bottom):
        for j in range(left, i):
            out[i] += K[i, j] * v[j]
            out[j] += K[i, j] * v[i]
        out[i] += K[i, i] * v[i]


@jit_sums
def _add_inner_products(
    C: FloatArray, v: FloatArray, first: int, last: int, out: FloatArray
) -> None:
    """Add C v, over some columns."""
    part = v[first:last]
    for k in range(len(C)):
        row, total = C[k, first:last], out[k]
        for i in range(len(part)):
            total += row[i] * part[i]
        out[k] = total


@jit_sums
def _add_combination(C: FloatArray, w: FloatArray, first: int, last: int, out: FloatArray) -> None:
    """Add wᵀ C in some columns, four rows at a time."""
    part, whole = out[first:last], len(C) - len(C) % 4
    for k in range(0, whole, 4):
        a, b = C[k, first:last], C[k + 1, first:last]
        c, d = C[k + 2, first:last], C[k + 3, first:last]
        p, q, r, s = w[k], w[k + 1], w[k + 2], w[k + 3]
        for i in range(len(part)):
            part[i] += a[i] * p + b[i] * q + c[i] * r + d[i] * s
    for k in range(whole, len(C)):
        row = C[k, first:last]
        for i in range(len(part)):
            part[i] += row[i] * w[k]


@jit
def _add_distances(order: IntArray, gaps: FloatArray, v: FloatArray, out: FloatArray) -> None:
    r"""Add :math:`\sum_s \sum_j |p_{is} - p_{js}| v_j` to every entry."""
    n = len(v)
    total = v.sum()
    for s in range(order.shape[0]):
        below, distance = 0.0, 0.0
        for t in range(n):  # the sum of distances from the first position
            distance += gaps[s, t] * (total - below - v[order[s, t]])
            below += v[order[s, t]]
        below = 0.0
        for t in range(n):
            i = order[s, t]
            out[i] += distance
            below += v[i]
            distance += gaps[s, t] * (2.0 * below - total)

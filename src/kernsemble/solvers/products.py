r"""Products of a kernel matrix with vectors, :math:`v \mapsto Kv`, at what its kind costs.

Solvers by gradients need no more of a kernel than these products. A dense matrix takes
:math:`O(n^2)`, a factor of rank r takes :math:`O(nr)`, and a sum of S one-dimensional distances
takes :math:`O(nS)`, exactly, on positions that were sorted once.
"""

from typing import Protocol

import numpy as np
from scipy.linalg import get_blas_funcs

from kernsemble._jit import jit
from kernsemble._threads import blocks, run
from kernsemble._typing import FloatArray, IntArray

SLICES_A_TASK = 4  # whatever the number of threads, so that sums are the same
ENTRIES_WORTH_THREADS = 500_000


class Products(Protocol):
    """A symmetric, positive semidefinite matrix K of n rows, known by its products."""

    @property
    def n(self) -> int:
        """The number of rows."""

    @property
    def largest(self) -> float:
        """The largest diagonal entry, which no entry exceeds in size."""

    def times(self, v: FloatArray) -> FloatArray:
        """Return K v, in double precision."""


class DenseProducts:
    """Products of a matrix in memory, float32 or float64, in O(n²) by BLAS, which reads one half.

    A product of a float32 matrix is computed in single precision: half the time, and relative
    errors of about 1e-7 of the largest sums.
    """

    def __init__(self, K: FloatArray) -> None:
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"K has the shape {K.shape}: give a square kernel matrix")
        self.n = len(K)
        self.largest = float(np.diagonal(K).max())
        self._columns = np.ascontiguousarray(K).T
        self._multiply = get_blas_funcs("symv", (self._columns,))

    def times(self, v: FloatArray) -> FloatArray:
        return _double(self._multiply(1.0, self._columns, v))


class LowRankProducts:
    """Products of K = G Gᵀ with a factor of shape (n, r), float32 or float64, in O(n r)."""

    def __init__(self, G: FloatArray) -> None:
        self.G, self.n = G, len(G)
        self.largest = float(np.einsum("ij,ij->i", G, G).max())

    def times(self, v: FloatArray) -> FloatArray:
        return _double(self.G @ (self.G.T @ v.astype(self.G.dtype, copy=False)))


class SliceProducts:
    r"""Products of :math:`K(x, x') = \Delta - \sum_s |p_s(x) - p_s(x')|`, in O(n S).

    Along sorted positions :math:`\sum_j |p_i - p_j| v_j` rises, from one position to the next,
    by the gap times the sum of v up to there less that beyond; so a product is one walk a slice.
    A category is a slice for each of its values, positions being half its weight there and zero
    elsewhere.

    Parameters
    ----------
    positions : array of shape (n, S)
        The positions of the rows in each slice.
    constant : float
        The constant :math:`\Delta`, large enough for K to be positive semidefinite.

    Notes
    -----
    Sorting takes O(S n log n) once; 12 bytes are held for each position.
    """

    def __init__(self, positions: FloatArray, constant: float) -> None:
        self.n, n_slices = positions.shape
        self.largest = float(constant)
        self._order = np.empty((n_slices, self.n), dtype=np.int32)
        self._gaps = np.zeros((n_slices, self.n))  # to the next position; the last has none
        for s in range(n_slices):
            self._order[s] = np.argsort(positions[:, s], kind="stable")
            self._gaps[s, :-1] = np.diff(positions[self._order[s], s])
        self._tasks = blocks(n_slices, SLICES_A_TASK)

    def times(self, v: FloatArray) -> FloatArray:
        v = np.ascontiguousarray(v, dtype=np.float64)

        def work(slices: slice) -> FloatArray:
            distances = np.zeros(self.n)
            _add_distances(self._order[slices], self._gaps[slices], v, distances)
            return distances

        if self._order.size >= ENTRIES_WORTH_THREADS:
            parts = run(work, self._tasks)
        else:
            parts = [work(slices) for slices in self._tasks]
        product = np.full(self.n, self.largest * v.sum())
        for part in parts:
            product -= part
        return product


def _double(v: FloatArray) -> FloatArray:
    return v.astype(np.float64, copy=False)


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

"""Kernel matrices for solvers: in memory, with rows on demand, or by their products alone."""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray

PORTIONS = 16  # number of parts in which the rows of a full cache are computed

ComputeBlock: TypeAlias = Callable[[IntArray, IntArray], FloatArray]
ComputeSum: TypeAlias = Callable[[IntArray, FloatArray], FloatArray]


class WholeMatrix:
    """A symmetric matrix in memory, float32 or float64."""

    def __init__(self, K: FloatArray) -> None:
        self.K = K
        self.diagonal = np.ascontiguousarray(np.diagonal(K), dtype=np.float64)

    @cached_property
    def size(self) -> float:
        """The largest squared distance from the first row, 1 when all rows are equal."""
        return _size(self.diagonal, self.K[0])

    def block(self, rows: IntArray) -> FloatArray:
        """Return the matrix between some rows."""
        return self.K[np.ix_(rows, rows)]

    def among(self, rows: IntArray) -> Self:
        """Return the matrix between some rows as a `WholeMatrix`."""
        return type(self)(self.block(rows))

    def times(self, rows: IntArray, weight: FloatArray) -> FloatArray:
        """Return the weighted sum of some rows, in double precision."""
        total = np.zeros(len(self.K))
        _add_rows(self.K, rows, weight[rows], total)
        return total


class PartialMatrix(ABC):
    """A symmetric matrix that is not in memory, of which parts are computed.

    Attributes
    ----------
    diagonal : array of shape (n,)
        Diagonal of the matrix.
    n_kept : int
        Number of rows that can be used together without computing one of them twice.
    """

    diagonal: FloatArray
    n_kept: int

    @property
    @abstractmethod
    def size(self) -> float:
        """The largest squared distance from the first row, 1 when all rows are equal."""

    @abstractmethod
    def block(self, rows: IntArray) -> FloatArray:
        """Return the matrix between some rows."""

    @abstractmethod
    def among(self, rows: IntArray) -> "PartialMatrix":
        """Return the matrix between some rows, as another of its kind."""

    @abstractmethod
    def times(self, rows: IntArray, weight: FloatArray) -> FloatArray:
        """Return the weighted sum of some rows, in double precision."""


class Products(PartialMatrix):
    """A symmetric matrix whose blocks and products are computed anew, by a fast device.

    Parameters
    ----------
    compute : callable
        Function ``compute(i, j)`` that returns the matrix between rows i and columns j.
    add_up : callable
        Function ``add_up(rows, weight)`` that returns the sum of rows, each times its weight.
    diagonal : array of shape (n,)
        Diagonal of the matrix.
    """

    def __init__(self, compute: ComputeBlock, add_up: ComputeSum, diagonal: FloatArray) -> None:
        self._compute, self._add_up, self.diagonal = compute, add_up, diagonal
        self.n_kept = len(diagonal)

    @cached_property
    def size(self) -> float:
        first = np.zeros(1, dtype=np.intp)
        return _size(self.diagonal, self._compute(first, np.arange(len(self.diagonal)))[0])

    def block(self, rows: IntArray) -> FloatArray:
        return self._compute(rows, rows)

    def among(self, rows: IntArray) -> Self:
        return type(self)(
            lambda i, j: self._compute(rows[i], rows[j]),
            lambda some, weight: self._add_up(rows[some], weight)[rows],
            self.diagonal[rows],
        )

    def times(self, rows: IntArray, weight: FloatArray) -> FloatArray:
        if len(rows) == 0:
            return np.zeros(len(self.diagonal))
        return self._add_up(rows, weight[rows]).astype(np.float64)


class RowsOnDemand(PartialMatrix):
    """A symmetric matrix whose rows are computed on demand, with a cache of the latest.

    Parameters
    ----------
    compute : callable
        Function ``compute(i, j)`` that returns the matrix between rows i and columns j.
    diagonal : array of shape (n,)
        Diagonal of the matrix.
    n_kept : int
        Number of rows in the cache, at least two.
    columns : array of indices, optional
        Indices that `compute` is called with for the rows and columns; all by default.
    """

    def __init__(
        self,
        compute: ComputeBlock,
        diagonal: FloatArray,
        n_kept: int,
        columns: IntArray | None = None,
    ) -> None:
        self._compute, self.diagonal = compute, diagonal
        self._columns = np.arange(len(diagonal)) if columns is None else columns
        self.n_kept = min(max(n_kept, 2), len(diagonal))
        self._slots: OrderedDict[int, int] = OrderedDict()  # row -> slot, the latest used last
        self._unused = list(range(self.n_kept))

    @cached_property
    def _kept(self) -> FloatArray:
        dtype = self._compute(self._columns[:1], self._columns[:1]).dtype
        return np.empty((self.n_kept, len(self.diagonal)), dtype)

    @cached_property
    def size(self) -> float:
        return _size(self.diagonal, self._kept[self._slots_of(np.zeros(1, dtype=np.intp))[0]])

    def block(self, rows: IntArray) -> FloatArray:
        block = np.empty((len(rows), len(rows)), self._kept.dtype)
        first = 0
        for part in self._portions(rows):
            last = first + len(part)
            block[first:last] = self._kept[np.ix_(self._slots_of(part), rows)]
            first = last
        return block

    def release(self) -> None:
        """Release the memory of the cache."""
        self.__dict__.pop("_kept", None)
        self._slots.clear()
        self._unused = list(range(self.n_kept))

    def among(self, rows: IntArray) -> Self:
        """Return the matrix between some rows, with rows on demand in the memory of this one."""
        self.release()
        n_kept = self.n_kept * len(self.diagonal) // max(len(rows), 1)
        return type(self)(self._compute, self.diagonal[rows], n_kept, self._columns[rows])

    def times(self, rows: IntArray, weight: FloatArray) -> FloatArray:
        total = np.zeros(len(self.diagonal))
        for part in self._portions(rows):
            _add_rows(self._kept, self._slots_of(part), weight[part], total)
        return total

    def _portions(self, rows: IntArray) -> list[IntArray]:
        """Return rows in portions that fit into the cache."""
        return np.array_split(rows, range(self.n_kept, len(rows), self.n_kept))

    def _slots_of(self, rows: IntArray) -> IntArray:
        """Return the slots of rows, after computing missing rows in place of the oldest."""
        for row in rows:
            if row in self._slots:
                self._slots.move_to_end(row)
        missing = np.array([row for row in rows if row not in self._slots], dtype=np.intp)
        while len(self._unused) < len(missing):
            self._unused.append(self._slots.popitem(last=False)[1])
        height = max(self.n_kept // PORTIONS, 1)
        for start in range(0, len(missing), height):
            some = missing[start : start + height]
            slots = [self._unused.pop() for _ in some]
            self._kept[slots] = self._compute(self._columns[some], self._columns)
            self._slots.update(zip(some, slots, strict=True))
        return np.array([self._slots[row] for row in rows], dtype=np.intp)


Matrix: TypeAlias = WholeMatrix | PartialMatrix


def as_matrix(K: FloatArray | Matrix) -> Matrix:
    """Return an array as a `WholeMatrix`, and any other matrix unchanged."""
    return WholeMatrix(K) if isinstance(K, np.ndarray) else K


def _size(diagonal: FloatArray, first: FloatArray) -> float:
    """Return the largest squared distance from the first row, 1 when all rows are equal."""
    with np.errstate(over="ignore", invalid="ignore"):  # solvers refuse infinite sizes
        largest = float(np.max(diagonal + diagonal[0] - 2.0 * first))
    return 1.0 if largest <= 0.0 else largest


@jit
def _add_rows(K: FloatArray, rows: IntArray, weight: FloatArray, total: FloatArray) -> None:
    for i in range(len(rows)):
        for t in range(len(total)):
            total[t] += weight[i] * K[rows[i], t]

"""Equal rows, found by sums and hashes of their contents.

Groups of equal rows are sorted by a random sum of their entries, so that rounding errors of the
contents hardly change their order, and those with the same sum by a hash. Rows that are weighted
for a solver (`distinct_rows`) need only the hash, which also exists for sparse rows.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy import sparse

from kernsemble._threads import blocks
from kernsemble._typing import Array, BoolArray, FloatArray, IntArray, Rows

FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that a product determines its other factor
SHIFT = np.uint64(29)
HALF = np.uint64(32)
HASHED_NUMBERS = 1 << 15  # at a time, in a processor's cache


class EqualRows(NamedTuple):
    """The groups of equal rows, in an order that does not depend on that of the rows.

    Attributes
    ----------
    first : array of shape (n_groups,)
        Index of the first row of each group.
    group : array of shape (n,)
        Group of each row.
    """

    first: IntArray
    group: IntArray

    @classmethod
    def of(cls, *tables: FloatArray) -> Self:
        """Return the groups of rows that are equal in all tables, in O(n log n).

        Missing values are equal.
        """
        hashes = _hashes(tables)
        return cls._sorted(np.lexsort((hashes, _sums(tables))), hashes, tables)

    @classmethod
    def _sorted(cls, order: IntArray, hashes: Array, tables: tuple[Rows, ...]) -> Self:
        """Return the groups of equal rows, given an order in which these are neighbours."""
        is_new = np.ones(len(order), dtype=bool)
        is_new[1:] = hashes[order[1:]] != hashes[order[:-1]]
        tied = np.flatnonzero(~is_new)
        is_new[tied] = ~_are_equal(tables, order[tied], order[tied - 1])
        group = np.empty(len(order), dtype=np.intp)
        group[order] = np.cumsum(is_new) - 1
        return cls(order[is_new], group)

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of the values of each group."""
        return np.bincount(self.group, values, minlength=len(self.first)).astype(np.float64)


class DistinctRows(NamedTuple):
    """Rows of positive weight, no two of them equal.

    Attributes
    ----------
    rows : array of shape (n_distinct,)
        Index of each row among the given ones, the first of those equal to it.
    weight : array of shape (n_distinct,)
        The sum of the weights of the rows equal to it.
    n_given : int
        The number of given rows.
    """

    rows: IntArray
    weight: FloatArray
    n_given: int

    @property
    def are_as_given(self) -> bool:
        """Whether every given row is one of them, in the given order."""
        return len(self.rows) == self.n_given and bool((self.rows == np.arange(self.n_given)).all())

    def in_given_order(self) -> Self:
        """Return the rows in the order in which they were given."""
        order = np.argsort(self.rows)
        return self._replace(rows=self.rows[order], weight=self.weight[order])


def distinct_rows(weight: FloatArray, *tables: Rows) -> DistinctRows:
    """Return the rows that differ in some table, dense or CSR, with the sums of their weights.

    A row of integer weight gives the same arrays as its repetitions, in whatever order: the rows
    are then sorted by a hash of the first table, and of the next ones where that is equal. Rows of
    weight 1 that all differ keep their order.
    """
    present, n = np.flatnonzero(weight > 0.0), len(weight)
    some = tables if len(present) == n else tuple(each[present] for each in tables)
    some, weight = tuple(map(_without_zeros, some)), weight[present]
    each = [_hashes((table,)) for table in some]
    order, hashes = np.lexsort(each[::-1]), np.add.reduce(each)
    if (weight == 1.0).all() and (hashes[order[1:]] != hashes[order[:-1]]).all():
        return DistinctRows(present, weight, n)
    equal = EqualRows._sorted(order, hashes, some)
    return DistinctRows(present[equal.first], equal.sums(weight), n)


def _without_zeros(table: Rows) -> Rows:
    """Return a table; a CSR matrix in canonical form and without stored zeros."""
    if sparse.issparse(table):
        table = table.copy()
        table.sum_duplicates()
        table.eliminate_zeros()
    return table


def _hashes(tables: tuple[Rows, ...]) -> Array:
    r"""Return a hash of each row, :math:`\sum_j m_j(x_{ij})` with :math:`m_j(0) = 0`."""
    rng, hashes = np.random.default_rng(0), np.zeros(tables[0].shape[0], dtype=np.uint64)
    for table in tables:
        n, width = table.shape
        keys = rng.integers(2**63, size=width, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        if sparse.issparse(table):
            mixed = np.append(_mixed(table.data, keys[table.indices]), np.uint64(0))
            is_filled = np.diff(table.indptr) > 0
            hashes[is_filled] += np.add.reduceat(mixed, table.indptr[:-1][is_filled])
            continue
        for span in blocks(n, max(HASHED_NUMBERS // max(width, 1), 1)):
            hashes[span] += _mixed(table[span], keys).sum(axis=1, dtype=np.uint64)
    return hashes


def _mixed(numbers: FloatArray, keys: Array) -> Array:
    """Return the bits of numbers, mixed with the keys of their columns; 0 for zeros."""
    numbers = np.add(numbers, 0.0, dtype=np.float64)  # a copy without negative zeros
    numbers[np.isnan(numbers)] = np.nan  # with the same bits
    bits = numbers.view(np.uint64)
    bits ^= bits >> HALF
    bits *= keys
    bits ^= bits >> SHIFT
    bits *= FACTOR
    bits ^= bits >> HALF
    return bits


def _sums(tables: tuple[FloatArray, ...]) -> FloatArray:
    """Return a random sum of the entries of each row, in units of their columns."""
    rng = np.random.default_rng(0)
    sums = np.zeros(len(tables[0]))
    for column in (column for table in tables for column in table.T):
        number = column.astype(np.float64)
        is_missing = np.isnan(number)
        number[is_missing] = 0.0
        factor, at_missing = rng.normal(size=2)
        sums += factor * (number / (np.abs(number).max(initial=0.0) or 1.0))
        sums[is_missing] += at_missing
    return sums


def _are_equal(tables: tuple[Rows, ...], a: IntArray, b: IntArray) -> BoolArray:
    """Return whether each pair of rows is equal in all tables."""
    found = np.ones(len(a), dtype=bool)
    for table in tables:
        one, two = table[a], table[b]
        if sparse.issparse(table):
            found &= np.diff((one != two).tocsr().indptr) == 0
        else:
            found &= ((one == two) | (np.isnan(one) & np.isnan(two))).all(axis=1)
    return found

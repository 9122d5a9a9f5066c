"""Equal rows, found by sums and hashes of their contents.

Rows are sorted by a random sum of their entries, so that rounding errors of the contents hardly
change their order, and rows with the same sum by a hash.
"""

from typing import NamedTuple, Self

import numpy as np

from kernsemble._typing import Array, BoolArray, FloatArray, IntArray

FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that a product determines its other factor
SHIFT = np.uint64(29)


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
        sums, hashes = _sums_and_hashes(tables)
        order = np.lexsort((hashes, sums))
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


def _sums_and_hashes(tables: tuple[FloatArray, ...]) -> tuple[FloatArray, Array]:
    """Return a random sum of the entries of each row, in units of their columns, and a hash."""
    rng, n = np.random.default_rng(0), len(tables[0])
    sums, hashes = np.zeros(n), np.zeros(n, dtype=np.uint64)
    for column in (column for table in tables for column in table.T):
        number = column.astype(np.float64) + 0.0  # without negative zeros
        is_missing = np.isnan(number)
        number[is_missing] = np.nan  # with the same bits
        hashes ^= number.view(np.uint64)
        hashes *= FACTOR
        hashes ^= hashes >> SHIFT
        number[is_missing] = 0.0
        factor, at_missing = rng.normal(size=2)
        sums += factor * (number / (np.abs(number).max(initial=0.0) or 1.0))
        sums[is_missing] += at_missing
    return sums, hashes


def _are_equal(tables: tuple[FloatArray, ...], a: IntArray, b: IntArray) -> BoolArray:
    """Return whether each pair of rows is equal in all tables."""
    found = np.ones(len(a), dtype=bool)
    for table in tables:
        one, two = table[a], table[b]
        found &= ((one == two) | (np.isnan(one) & np.isnan(two))).all(axis=1)
    return found

"""Equal rows, which share all that is drawn at random, so that weights are repetitions."""

from typing import NamedTuple

import numpy as np

from kernsemble._typing import FloatArray, IntArray


class DistinctRows(NamedTuple):
    """One of each group of equal rows, in an order that does not depend on that of the rows.

    Attributes
    ----------
    first : array of shape (n_groups,)
        Index of a row of each group.
    group : array of shape (n,)
        Group of each row.
    """

    first: IntArray
    group: IntArray

    @classmethod
    def of(cls, *tables: FloatArray) -> "DistinctRows":
        """Return the groups of rows that are equal in all tables; missing values are equal."""
        table = np.nan_to_num(np.hstack(tables, dtype=np.float64), nan=np.inf)
        _, first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
        return cls(first, group.ravel())

    def sums(self, weight: FloatArray) -> FloatArray:
        """Return the sum of the weights of each group."""
        return np.bincount(self.group, weight, len(self.first)).astype(np.float64)

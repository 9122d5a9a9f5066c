"""Rows that trees are grown on, sorted once for any number of weights."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble._value import Value


@dataclass(frozen=True, eq=False, repr=False)
class SortedRows(Value):
    """Rows by column, and their order in each; missing values, NaN, come last.

    Both arrays have the shape (n_features, n).
    """

    columns: FloatArray
    order: IntArray

    @classmethod
    def of(cls, X: FloatArray) -> Self:
        """Sort rows by every column, in O(D n log n)."""
        columns = np.array(X.T, dtype=np.float64, order="C")
        return cls(columns, np.argsort(columns, axis=1, kind="stable").astype(np.int32))

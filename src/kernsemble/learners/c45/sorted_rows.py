"""Training rows sorted once, for trees with any weights."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import Value


@dataclass(frozen=True, eq=False, repr=False)
class SortedRows(Value):
    """Rows stored by column, and their order in each; missing values, NaN, come last.

    Both arrays have shape (n_features, n).
    """

    columns: FloatArray
    order: IntArray

    @classmethod
    def from_rows(cls, X: FloatArray) -> Self:
        """Sort rows by every column, in O(D n log n)."""
        columns = np.array(X.T, dtype=np.float64, order="C")
        return cls(columns, np.argsort(columns, axis=1, kind="stable").astype(np.int32))

"""Random samples of rows in blocks, which merge into a sample of all rows."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from kernsemble._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class RowSample:
    """A random sample of rows of positive weight: those with the smallest random priorities.

    Categories are codes among the labels of the survey.
    """

    X: FloatArray
    weight: FloatArray
    priority: FloatArray
    place: IntArray  # (n, 2): block and row

    @classmethod
    def of_block(
        cls, X: FloatArray, weight: FloatArray, block: int, seed: int, max_rows: int
    ) -> Self:
        """Return a sample of the rows of a block."""
        present = np.flatnonzero(weight > 0.0)
        priority = np.random.default_rng([seed, block]).random(len(present))
        place = np.column_stack([np.full(len(present), block), present])
        kept = _smallest(priority, max_rows)
        rows = present[kept]
        return cls(X[rows], weight[rows], priority[kept], place[kept])

    def merged(self, other: Self, max_rows: int) -> Self:
        """Return the sample of both blocks."""
        kept = _smallest(np.concatenate([self.priority, other.priority]), max_rows)
        n = len(self.priority)
        mine, theirs = kept[kept < n], kept[kept >= n] - n
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return type(self)(*(np.concatenate([x[mine], y[theirs]]) for x, y in pairs))

    def in_order(self) -> Self:
        """Return the rows in the order of the data."""
        order = np.lexsort(self.place.T[::-1])
        return type(self)(*(each[order] for each in vars(self).values()))


def _smallest(priority: FloatArray, n: int) -> IntArray:
    """Return the places of the n smallest numbers."""
    if len(priority) <= n:
        return np.arange(len(priority))
    return np.argpartition(priority, n)[:n]

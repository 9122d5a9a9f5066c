"""Random samples of the rows of large data."""

from typing import Any, NamedTuple, Self

import numpy as np

from kernsemble._typing import Array, IntArray
from kernsemble._validation import as_table

MAX_SCORED_ROWS = 100_000
MAX_DESCRIBED_ROWS = 20_000
MAX_DESCRIBED_NUMBERS = 20_000_000  # rows times columns times machines


class RowSample(NamedTuple):
    """Rows and targets: all of them or a random sample."""

    X: Any
    y: Array
    indices: IntArray  # indices of the rows in the data
    n_rows: int  # number of rows of the data

    @classmethod
    def draw(cls, X: Any, y: Any, max_rows: int, name: str = "X") -> Self:
        """Return all rows, or a random sample of `max_rows` of them in their order."""
        rows, targets = as_table(X, name), np.asarray(y)
        n = rows.shape[0]
        if targets.shape != (n,):
            raise ValueError(
                f"{name} has {n} rows and its targets have shape {targets.shape}: pass one target "
                "per row"
            )
        if n == 0:
            raise ValueError(f"{name} has no rows: pass at least one")
        indices = np.arange(n)
        if n > max_rows:
            indices = np.sort(np.random.default_rng(0).choice(n, max_rows, replace=False))
        taken = rows if len(indices) == n else rows_at(rows, indices)
        return cls(taken, targets[indices], indices, n)

    @classmethod
    def with_rows(cls, X: Any, y: Any, needed: IntArray, max_rows: int) -> Self:
        """Return a random sample that contains the needed rows, in their order."""
        rows, targets = as_table(X), np.asarray(y)
        drawn = np.random.default_rng(0).permutation(len(targets))[:max_rows]
        indices = np.union1d(needed, drawn)
        return cls(rows_at(rows, indices), targets[indices], indices, len(targets))

    @property
    def is_sampled(self) -> bool:
        """Whether rows were left out."""
        return len(self.indices) < self.n_rows


def rows_at(X: Any, indices: IntArray) -> Any:
    """Return rows of a pandas or polars table, an array or a sparse matrix."""
    return X.iloc[indices] if hasattr(X, "iloc") else X[indices]


def n_described_rows(n_columns: int, n_machines: int) -> int:
    """Return the number of rows that are described and plotted."""
    return int(np.clip(MAX_DESCRIBED_NUMBERS // (n_columns * n_machines), 200, MAX_DESCRIBED_ROWS))

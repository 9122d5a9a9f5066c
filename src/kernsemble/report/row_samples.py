"""Which rows of large data a report looks at."""

from typing import Any, NamedTuple, Self

import numpy as np

from kernsemble._typing import Array, IntArray
from kernsemble._validation import as_table

SCORED_ROWS = 100_000
DRAWN_ROWS = 20_000
DRAWN_NUMBERS = 20_000_000  # rows times columns


class RowSample(NamedTuple):
    """Rows and targets, all of them or some that were drawn at random."""

    X: Any
    y: Array
    places: IntArray  # of the rows among all
    n_rows: int  # of all

    @classmethod
    def draw(cls, X: Any, y: Any, most: int, name: str = "X") -> Self:
        """Return all rows if they are not more than `most`, else so many, in their order."""
        rows, targets = as_table(X, name), np.asarray(y)
        n = rows.shape[0]
        if targets.shape != (n,):
            raise ValueError(
                f"{name} has {n} rows and its targets the shape {targets.shape}: give a target for "
                "each row"
            )
        if n == 0:
            raise ValueError(f"{name} has no rows: give at least one")
        places = np.arange(n)
        if n > most:
            places = np.sort(np.random.default_rng(0).choice(n, most, replace=False))
        taken = rows if len(places) == n else rows_at(rows, places)
        return cls(taken, targets[places], places, n)

    @property
    def is_part(self) -> bool:
        """Whether rows were left out."""
        return len(self.places) < self.n_rows


def rows_at(X: Any, places: IntArray) -> Any:
    """Return rows of a table of pandas or polars, an array or a sparse matrix."""
    return X.iloc[places] if hasattr(X, "iloc") else X[places]


def most_rows(n_columns: int, n_machines: int) -> int:
    """Return how many rows are looked at column by column for each of several machines."""
    return int(np.clip(DRAWN_NUMBERS // (n_columns * n_machines), 200, DRAWN_ROWS))

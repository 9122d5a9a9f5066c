"""The levels of a column: ordered levels first, then loose ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import Value

MAX_LEVELS = 65_535


@dataclass(frozen=True, eq=False, repr=False)
class Levels(Value):
    """The levels of one column.

    Attributes
    ----------
    values : array of shape (n_ordered,)
        Values of the ordered levels, increasing; NaN for the ordered level of categories.
    cuts : array of shape (n_ordered - 1,)
        Upper ends of all ordered levels but the last.
    n_loose : int
        Number of levels outside the order: categories, or 1 for missing values.
    weight : array of shape (n_ordered + n_loose,)
        Weight of the rows of each level.
    distinct : array of shape (n_ordered,)
        Number of distinct values of each ordered level (in the rows used for quantiles).
    middle : int
        Median of the ordered levels.
    """

    values: FloatArray
    cuts: FloatArray
    n_loose: int
    weight: FloatArray
    distinct: IntArray
    middle: int

    @property
    def n_ordered(self) -> int:
        """The number of ordered levels."""
        return len(self.values)

    @property
    def n_levels(self) -> int:
        """The number of all levels."""
        return self.n_ordered + self.n_loose

    @property
    def holds_categories(self) -> bool:
        """Whether the column contains categories."""
        return bool(np.isnan(self.values[0]))

    @property
    def is_exact(self) -> bool:
        """Whether every ordered level has a single value."""
        return not self.holds_categories and int(self.distinct.max()) == 1

    @property
    def absent(self) -> int:
        """The level of missing values, or of unknown categories."""
        return self.n_ordered if self.holds_missing else self.middle

    @property
    def holds_missing(self) -> bool:
        """Whether there is a level of missing values."""
        return self.n_loose == 1 and not self.holds_categories


def code_type(levels: Sequence[Levels]) -> type[np.uint8 | np.uint16]:
    """Return the smallest integer type for the codes of all columns."""
    most = max(each.n_levels for each in levels)
    if most > MAX_LEVELS + 1:
        raise ValueError(
            f"a column has {most - 1:,} categories: merge some, to at most {MAX_LEVELS:,}"
        )
    return np.uint8 if most <= 256 else np.uint16

"""The levels of columns: ordered ones first, then loose ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble._value import Value

MOST_LEVELS = 65_535


@dataclass(frozen=True, eq=False)
class Levels(Value):
    """The levels of one column.

    Attributes
    ----------
    values : array of shape (n_ordered,)
        The values of the ordered levels, increasing; NaN for the one of categories.
    cuts : array of shape (n_ordered - 1,)
        A number belongs to the level that has as many cuts below the number as levels below it.
    n_loose : int
        The number of levels outside the order: categories, or 1 for missing values.
    weight : array of shape (n_ordered + n_loose,)
        The weight of the rows of each level.
    distinct : array of shape (n_ordered,)
        How many distinct values each ordered level holds (in the rows that tell quantiles).
    middle : int
        The median of the ordered levels.
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
        """Whether the column is one of categories."""
        return bool(np.isnan(self.values[0]))

    @property
    def is_exact(self) -> bool:
        """Whether every ordered level stands for one number."""
        return not self.holds_categories and int(self.distinct.max()) == 1

    @property
    def absent(self) -> int:
        """The level of missing values, or of unknown categories."""
        return self.n_ordered if self.holds_missing else self.middle

    @property
    def holds_missing(self) -> bool:
        """Whether a level is that of missing values."""
        return self.n_loose == 1 and not self.holds_categories


def code_type(levels: Sequence[Levels]) -> type[np.uint8 | np.uint16]:
    """Return the smallest type that holds the codes of all columns."""
    most = max(each.n_levels for each in levels)
    if most > MOST_LEVELS + 1:
        raise ValueError(f"a column has {most - 1:,} categories: at most {MOST_LEVELS:,} have room")
    return np.uint8 if most <= 256 else np.uint16

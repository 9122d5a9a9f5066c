"""Scalings as scales of single columns, and the columns that scaled rows depend on."""

from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.preprocessing import AnyScaling, FeatureScaling, LearnedScaling


@dataclass(frozen=True, eq=False)
class WeightedScaling:
    """A scaling whose coordinates are multiplied by a factor per column."""

    base: FeatureScaling
    factors: FloatArray

    def of_column(self, column: int) -> Self:
        """Return the scaling of rows that have this column only."""
        return replace(self, base=self.base.of_column(column), factors=self.factors[[column]])

    def bends(self, column: int) -> FloatArray:
        """Return the values of a column between which its scale is a straight line."""
        return self.base.bends(column)

    def restored(self, column: int, values: FloatArray) -> FloatArray:
        """Return the values of a column for scaled values."""
        factor = self.factors[column]
        scaled = values / factor if factor > 0.0 else np.zeros_like(values)
        return self.base.restored(column, scaled)

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the weighted coordinates of rows."""
        return np.asarray(self.base.transform(X) * self.factors)


ColumnScaling: TypeAlias = FeatureScaling | WeightedScaling


def as_column_scaling(scaling: AnyScaling) -> ColumnScaling | None:
    """Return a scaling that is piecewise linear in each column, None for any other."""
    if isinstance(scaling, FeatureScaling):
        return scaling
    if not isinstance(scaling, LearnedScaling) or not isinstance(scaling.base, FeatureScaling):
        return None
    if scaling.weights.ndim == 2:
        return None
    return WeightedScaling(scaling.base, scaling.unit * scaling.weights)


def column_of_coordinates(scaling: AnyScaling, coordinates: IntArray) -> IntArray | None:
    """Return the column that each coordinate depends on, −1 for none; None for directions."""
    columns = scaling.columns_of(coordinates)
    if not isinstance(scaling, LearnedScaling):
        return columns
    if scaling.weights.ndim == 2:
        return None
    return np.where(scaling.weights[coordinates] != 0.0, columns, -1)


def columns_of_directions(scaling: LearnedScaling) -> IntArray:
    """Return the columns that have a part in some learned direction."""
    return np.unique(scaling.columns_of(np.flatnonzero(scaling.weights.any(axis=1))))

"""Ranks of numbers, and indicators of categories and missing values, as coordinates.

Effects (`EffectScaling`) make coordinates of columns of any kind, but two categories with the same
effect become equal, whatever they mean together with other columns. Indicators keep them apart.
There are many of them, so they are best weighted by a learned measure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.preprocessing.scaling import FeatureScaling

FEWEST_ROWS = 20.0  # number of rows of a category below which it has no indicator
MIDDLE = 0.5  # rank of a missing number
MAX_INDICATORS = 32  # maximum number of indicators of a column


@dataclass(frozen=True, eq=False, repr=False)
class IndicatorScaling(Value):
    """Ranks of numbers from 0 to 1, then indicators of missing numbers and of categories.

    A missing number has the rank 1/2, a category without an indicator has only zeros. If there are
    neither numbers nor frequent categories, rare ones have indicators.

    Attributes
    ----------
    ranks : FeatureScaling
        The ranks of all columns.
    numbers, gaps : arrays
        The columns of numbers, and those of them with an indicator of missing values.
    low, span : arrays of shape (n_numbers,)
        The smallest rank and the range of ranks, which are mapped to [0, 1].
    categories, codes : arrays of shape (n_indicators,)
        The column and the code of each indicator of a category.
    """

    ranks: FeatureScaling
    numbers: IntArray
    gaps: IntArray
    low: FloatArray
    span: FloatArray
    categories: IntArray
    codes: IntArray

    kind = "indicators"
    accepts_categories = True  # and missing values

    @classmethod
    def from_rows(
        cls,
        X: FloatArray,
        weight: FloatArray,
        is_category: BoolArray,
        fewest: float = FEWEST_ROWS,
        most: int = MAX_INDICATORS,
    ) -> Self:
        """Return the scaling of weighted rows; columns of categories contain codes from 0.

        Weights count as repetitions; those that sum to less than the number of rows are shares.
        """
        X, weight = X[weight > 0.0], weight[weight > 0.0]
        counts = weight * max(len(weight) / (float(weight.sum()) or 1.0), 1.0)
        numbers = np.flatnonzero(~is_category)
        ranks = FeatureScaling.from_rows(X, "rank", weight)
        found = ranks.transform(X)[:, numbers]
        is_missing = np.isnan(found)
        ends = [np.where(is_missing, value, found) for value in (np.inf, -np.inf)]
        low, high = ends[0].min(axis=0, initial=np.inf), ends[1].max(axis=0, initial=-np.inf)
        is_known = low <= high
        low, high = np.where(is_known, low, 0.0), np.where(is_known, high, 1.0)
        columns = np.flatnonzero(is_category).tolist()
        places = _places(X, counts, columns, fewest, most)
        if len(numbers) == len(places) == 0:
            places = _places(X, counts, columns, 0.0, most) or [(columns[0], 0)]
        return cls(
            ranks,
            numbers,
            numbers[is_missing.any(axis=0)],
            low,
            np.where(high > low, high - low, 1.0),
            np.array([column for column, _ in places], dtype=np.intp),
            np.array([code for _, code in places], dtype=np.intp),
        )

    def columns_of(self, coordinates: IntArray) -> IntArray:
        """Return the column that each coordinate depends on."""
        columns = np.concatenate([self.numbers, self.gaps, self.categories])
        return np.asarray(columns[coordinates])

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the coordinates of rows."""
        positions = (self.ranks.transform(X)[:, self.numbers] - self.low) / self.span
        positions = np.where(np.isnan(positions), MIDDLE, positions)
        gaps = np.isnan(X[:, self.gaps])
        indicators = X[:, self.categories] == self.codes
        return np.hstack([positions, gaps, indicators])


def _places(
    X: FloatArray, weight: FloatArray, columns: Sequence[int], fewest: float, most: int
) -> list[tuple[int, int]]:
    """Return the column and the code of each indicator."""
    return [
        (column, code)
        for column in columns
        for code in _frequent(X[:, column], weight, fewest, most)
    ]


def _frequent(codes: FloatArray, weight: FloatArray, fewest: float, most: int) -> list[int]:
    """Return the codes with the largest weights, in ascending order."""
    is_known = ~np.isnan(codes) & (codes >= 0.0)
    sums = np.bincount(codes[is_known].astype(np.intp), weight[is_known])
    order = np.argsort(-sums, kind="stable")[:most]
    return np.sort(order[(sums[order] >= fewest) & (sums[order] > 0.0)]).tolist()

r"""The effect of a feature, averaged over rows: exact for additive terms and pairs of columns.

.. math:: \bar f_d(v) = g_d(v) + \tfrac1B \textstyle\sum_b h(b \text{ with } x_d = v)

with the additive terms :math:`g_d` and the terms h of several columns, over background rows b.
Pairs have an average that is computed from all rows, other terms one over a sample, with its error.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble._value_object import short_repr
from kernsemble.inspection.decomposition import Interaction
from kernsemble.inspection.pair_functions import PairFunction


class AverageEffect(NamedTuple):
    """The effect of a feature, relative to the mean over the background rows.

    Attributes
    ----------
    values : array of shape (n_points,)
        Values of the feature; codes of categories, NaN for missing values.
    effects : array of shape (n_points,)
        The average effect of each.
    standard_errors : array of shape (n_points,)
        Standard errors due to the sample of rows; zero if the effect is exact, NaN if there is
        only one row.
    additive : array of shape (n_points,)
        The part of the effect that is exact: that of the additive terms and of pairs of columns.
    """

    values: FloatArray
    effects: FloatArray
    standard_errors: FloatArray
    additive: FloatArray

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def is_exact(self) -> bool:
        """Whether the effect has no sampling error."""
        return not self.standard_errors.any()


def average_interactions(
    interactions: list[Interaction], column: int, values: FloatArray, background: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of some terms at each value of a column, and its standard error.

    Both are relative to the mean over the rows.
    """
    mine = [each for each in interactions if column in each.columns]
    found = np.zeros((len(values), len(background)))
    own = sum((each.values(background) for each in mine), np.zeros(len(background)))
    for place, value in enumerate(values if mine else ()):
        rows = background.copy()
        rows[:, column] = value
        found[place] = sum(each.values(rows) for each in mine) - own
    n = len(background)
    errors = found.std(axis=1, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(values), np.nan)
    return found.mean(axis=1), errors if mine else np.zeros(len(values))


def average_pairs(
    pairs: Sequence[PairFunction], column: int, values: FloatArray, background: FloatArray
) -> FloatArray:
    """Return the exact mean of functions of pairs at each value of a column.

    It is relative to the mean over the rows.
    """
    found = np.zeros(len(values))
    for pair in pairs:
        if column not in pair.columns:
            continue
        is_first = column == pair.first.column
        mine, other = (pair.first, pair.second)[:: 1 if is_first else -1]
        heights = pair.heights if is_first else pair.heights.T
        counts = np.bincount(other(background[:, other.column]), minlength=heights.shape[1])
        means = heights @ (counts / len(background))
        found += means[mine(values)] - pair(background).mean()
    return found


def grid_of(column: FloatArray, n_points: int) -> FloatArray:
    """Return at most n distinct values of a column, at equal shares of its rows, NaN last."""
    known = np.unique(column[~np.isnan(column)])
    if len(known) > n_points:
        known = np.unique(np.quantile(column[~np.isnan(column)], np.linspace(0.0, 1.0, n_points)))
    return np.append(known, np.nan) if np.isnan(column).any() else known

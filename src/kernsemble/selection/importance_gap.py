"""Selection of variables by their importances: the largest gap, and whether it may be noise."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import column_or_1d

from kernsemble._typing import BoolArray, FloatArray

NOISE = 1.645 * 0.5  # 95 % normal quantile times the largest standard deviation of a single vote


class Gap(NamedTuple):
    """The largest gap between importances in descending order.

    Attributes
    ----------
    n_above : int
        Number of variables above the gap.
    width : float
        Width of the gap.
    """

    n_above: int
    width: float


def by_importance(importances: FloatArray) -> np.ndarray:
    """Return the column indices in descending order of importance, ties in their original order."""
    return np.argsort(-importances, kind="stable")


def largest_gap(importances: FloatArray) -> Gap:
    """Return the largest gap, the first of ties.

    If there is none, because there is only one variable or all importances are equal, all variables
    are above it if a majority of universes selects them, else none.
    """
    importances = column_or_1d(importances, dtype=np.float64)
    if len(importances) == 0 or not ((importances >= 0.0) & (importances <= 1.0)).all():
        raise ValueError(
            f"importances = {importances!r}: pass one share between 0 and 1 per variable, such as "
            "selector.importances_"
        )
    descending = importances[by_importance(importances)]
    steps = descending[:-1] - descending[1:]
    if len(steps) == 0 or steps.max() <= 0.0:
        return Gap(len(descending) if descending[0] > 0.5 else 0, 0.0)
    place = int(np.argmax(np.round(steps, 12)))  # treats gaps that differ by rounding as ties
    return Gap(place + 1, float(steps[place]))


def noise_of_gap(n_universes: int) -> float:
    r"""Return :math:`0.8225 / \sqrt B`, below which a gap may be due to chance with B universes."""
    return float(NOISE / np.sqrt(n_universes))


def most_important(importances: FloatArray, n_columns: int) -> BoolArray:
    """Return a mask of the `n_columns` most important variables."""
    support = np.zeros(len(importances), dtype=bool)
    support[by_importance(importances)[:n_columns]] = True
    return support

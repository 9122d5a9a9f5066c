"""Which columns the votes of universes select."""

from typing import NamedTuple

import numpy as np

from kernsemble._typing import BoolArray, FloatArray

NOISE = 1.645 * 0.5  # standard errors of a share of votes: at most half, passed by chance in 5 %


class Gap(NamedTuple):
    """The largest step between importances in falling order.

    Attributes
    ----------
    n_above : int
        How many columns are above it.
    width : float
        How large it is.
    """

    n_above: int
    width: float


def by_importance(importances: FloatArray) -> np.ndarray:
    """Return the columns, the most important first, equal ones in the order they come in."""
    return np.argsort(-importances, kind="stable")


def largest_gap(importances: FloatArray) -> Gap:
    """Return the largest gap, the first of equal ones.

    Without any, since there is one column only or all are held equally often, all are above where
    a majority of universes holds them, and none elsewhere.
    """
    falling = importances[by_importance(importances)]
    steps = falling[:-1] - falling[1:]
    if len(steps) == 0 or steps.max() <= 0.0:
        return Gap(len(falling) if falling[0] > 0.5 else 0, 0.0)
    place = int(np.argmax(np.round(steps, 12)))  # shares of votes are equal beyond rounding
    return Gap(place + 1, float(steps[place]))


def noise_of_gap(n_universes: int) -> float:
    r"""Return :math:`0.8225 / \sqrt B`: a smaller gap between shares of B votes may be chance."""
    return float(NOISE / np.sqrt(n_universes))


def most_important(importances: FloatArray, n_columns: int) -> BoolArray:
    """Return a mask of so many columns."""
    support = np.zeros(len(importances), dtype=bool)
    support[by_importance(importances)[:n_columns]] = True
    return support

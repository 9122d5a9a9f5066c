"""Comparisons of methods over sets: ranks, win rates, paired differences, bootstrap intervals.

A loss is a matrix of one row per set and one column per method, the smaller the better. The
mask `failed` has the same shape. A method that failed on a set has the loss of always guessing
there, and comes last.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

N_DRAWS = 10_000
DECIMALS = 9  # losses that are equal up to rounding are ties


def ranks(loss: np.ndarray, failed: np.ndarray) -> np.ndarray:
    """Return the rank of each method on each set, from 1; ties share their mean rank."""
    if not len(loss):
        return np.empty_like(loss)
    return np.asarray(rankdata(_comparable(loss, failed), axis=1))


def win_rates(loss: np.ndarray, failed: np.ndarray) -> np.ndarray:
    """Return the share of sets on which the row's method beats the column's.

    A tie is half a win. The diagonal is NaN.
    """
    values = _comparable(loss, failed)
    ours, theirs = values[:, :, np.newaxis], values[:, np.newaxis, :]
    rates = ((ours < theirs) + 0.5 * (ours == theirs)).mean(axis=0)
    np.fill_diagonal(rates, np.nan)
    return rates


def mean_win_rate(loss: np.ndarray, failed: np.ndarray) -> np.ndarray:
    """Return the win rate of each method, averaged over the others."""
    n_methods = loss.shape[1]
    return np.nansum(win_rates(loss, failed), axis=1) / max(n_methods - 1, 1)


def _comparable(loss: np.ndarray, failed: np.ndarray) -> np.ndarray:
    return np.where(failed, np.inf, np.round(loss, DECIMALS))


class Difference(NamedTuple):
    """A rival's loss minus ours, over the sets.

    Parameters
    ----------
    mean : float
        Mean difference; positive if ours is better.
    low, high : float
        Ends of its bootstrap interval.
    won, tied, lost : int
        Number of sets on which ours is better, equal, worse.
    """

    mean: float
    low: float
    high: float
    won: int
    tied: int
    lost: int


def difference(
    loss: np.ndarray, failed: np.ndarray, ours: int, rival: int, sources: Sequence[str]
) -> Difference:
    """Return the paired difference between the columns `rival` and `ours`."""
    gain = loss[:, rival] - loss[:, ours]
    values = _comparable(loss, failed)
    won, lost = values[:, ours] < values[:, rival], values[:, ours] > values[:, rival]
    return Difference(
        float(gain.mean()),
        *bootstrap_interval(gain, sources),
        int(won.sum()),
        int((~won & ~lost).sum()),
        int(lost.sum()),
    )


def bootstrap_interval(
    values: np.ndarray,
    sources: Sequence[str],
    level: float = 0.95,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> tuple[float, float]:
    """Return a percentile interval of the mean, from draws of the sources of the sets.

    Sets of the same source are drawn together, since they share rows.
    """
    _, codes = np.unique(list(sources), return_inverse=True)
    sums, counts = np.bincount(codes, weights=values), np.bincount(codes)
    drawn = np.random.default_rng(seed).integers(len(sums), size=(n_draws, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)

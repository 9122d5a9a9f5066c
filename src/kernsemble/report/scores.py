"""Scores of what a model said, with intervals."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest, t
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from kernsemble._typing import Array, FloatArray
from kernsemble.report.outcomes import Outcomes

LEVEL = 0.95
N_RESAMPLES = 300
MOST_RESAMPLED = 5_000  # rows; with more, the interval is that of so many, made narrower


class Score(NamedTuple):
    """A score, and an interval that is to hold the true one in 95 of 100 cases."""

    name: str
    value: float
    low: float
    high: float
    method: str  # of the interval


def wilson(n_right: int, n: int) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    interval = binomtest(n_right, n).proportion_ci(LEVEL, method="wilson")
    return float(interval.low), float(interval.high)


def fold_score(name: str, scores: FloatArray, most: float = np.inf) -> Score:
    r"""Return the mean over k folds with the corrected t-interval of Nadeau and Bengio (2003).

    .. math:: \bar s \pm t_{k-1} \sqrt{(1/k + 1/(k-1))\, \hat\sigma^2}

    The term 1/(k-1), test rows over training rows, accounts for folds that share training rows.
    No score is above `most`.
    """
    k, mean = len(scores), float(np.mean(scores))
    if k < 2:
        return Score(name, mean, np.nan, np.nan, "one fold has none")
    spread = np.sqrt((1 / k + 1 / (k - 1)) * np.var(scores, ddof=1))
    width = float(t.ppf(0.5 + LEVEL / 2, k - 1) * spread)
    high = min(mean + width, most)
    return Score(name, mean, mean - width, high, f"corrected t over {k} folds")


def scores(outcomes: Outcomes) -> list[Score]:
    """Return what a model is worth on rows, by usual measures."""
    if outcomes.classes is None:
        return list(_of_numbers(outcomes.y, outcomes.predicted))
    return list(_of_classes(outcomes))


def _of_classes(outcomes: Outcomes) -> Iterator[Score]:
    y, predicted, classes = outcomes.y, outcomes.predicted, outcomes.classes
    assert classes is not None
    is_right = predicted == y
    yield Score("accuracy", float(is_right.mean()), *wilson(int(is_right.sum()), len(y)), "Wilson")
    yield _resampled("balanced accuracy", balanced_accuracy_score, y, predicted)
    if not outcomes.has_every_class:
        return
    if len(classes) == 2 and outcomes.values is not None:
        yield _resampled("ROC AUC", roc_auc_score, y == classes[1], outcomes.values[:, 1])
    if outcomes.probabilities is not None:
        P = outcomes.probabilities
        if len(classes) == 2:
            yield _resampled("Brier score", brier_score_loss, y == classes[1], P[:, 1])
        else:
            yield _resampled("ROC AUC, one vs rest", _one_versus_rest_area, y, P)
        codes = np.searchsorted(classes, y)
        yield _resampled("log loss", _log_loss(len(classes)), codes, P)


def _one_versus_rest_area(y: Array, P: FloatArray) -> float:
    return float(roc_auc_score(y, P, multi_class="ovr"))


def _log_loss(n_classes: int) -> Callable[..., float]:
    def loss(codes: Array, P: FloatArray) -> float:
        return float(log_loss(codes, P, labels=np.arange(n_classes)))

    return loss


def _of_numbers(y: Array, predicted: Array) -> Iterator[Score]:
    if len(y) > 1:
        yield _resampled("R²", r2_score, y, predicted)
    yield _resampled("mean absolute error", mean_absolute_error, y, predicted)
    yield _resampled("root mean squared error", root_mean_squared_error, y, predicted)


def _resampled(name: str, score: Callable[..., Any], y: Array, said: Array) -> Score:
    """Return a score with the interval in which it lies when rows are drawn again and again.

    Draws that lack a class are left out.
    """
    rng, n = np.random.default_rng(0), len(y)
    n_drawn, value = min(n, MOST_RESAMPLED), float(score(y, said))
    n_distinct = 1 if y.dtype.kind == "f" else len(np.unique(y))
    again = []
    for _ in range(N_RESAMPLES):
        rows = rng.integers(n, size=n_drawn)
        if n_distinct == 1 or len(np.unique(y[rows])) == n_distinct:
            again.append(float(score(y[rows], said[rows])))
    if len(again) < N_RESAMPLES // 2:
        return Score(name, value, np.nan, np.nan, "too few rows for an interval")
    ends = np.quantile(again, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    low, high = value + (ends - value) * np.sqrt(n_drawn / n)
    return Score(name, value, float(low), float(high), "rows resampled")

"""Scores of what a model said, with intervals."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest, rankdata, t

from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.inspection.predictions import Predictions

LEVEL = 0.95
N_RESAMPLES = 500
MAX_CLASSES = 20  # whose ROC curves are resampled
MAX_RESAMPLED = 5_000  # rows; with more, the interval is that of so many, made narrower


class Score(NamedTuple):
    """A score, and an interval that is to hold the true one in 95 of 100 cases."""

    name: str
    value: float
    low: float
    high: float
    method: str  # of the interval

    def __str__(self) -> str:
        if not np.isfinite(self.high - self.low):
            return f"{self.value:.4f}"
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


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
    high = min(mean + width, max(most, mean))
    return Score(name, mean, mean - width, high, f"corrected t over {k} folds")


def scores(predictions: Predictions) -> list[Score]:
    """Return what a model is worth on rows, by usual measures."""
    if predictions.classes is None:
        return list(_of_numbers(predictions.y, predictions.predicted))
    return list(_of_classes(predictions))


def _of_classes(predictions: Predictions) -> Iterator[Score]:
    y, predicted, classes = predictions.y, predictions.predicted, predictions.classes
    assert classes is not None
    is_right = predicted == y
    yield Score("accuracy", float(is_right.mean()), *wilson(int(is_right.sum()), len(y)), "Wilson")
    members = (y[:, np.newaxis] == np.unique(y)).astype(np.float64)
    columns = np.hstack([members, members * is_right[:, np.newaxis]])
    yield _resampled_means("balanced accuracy", columns, _balanced_accuracy)
    if not predictions.has_every_class:
        return
    codes, rows = np.searchsorted(classes, y), np.arange(len(y))
    if predictions.values is not None and len(classes) <= MAX_CLASSES:
        yield _resampled_area(codes, predictions.values)
    if predictions.probabilities is not None:
        P = predictions.probabilities
        if len(classes) == 2:
            yield _resampled_means("Brier score", ((P[:, 1] - codes) ** 2)[:, np.newaxis], _only)
        likelihood = np.clip(P[rows, codes], np.finfo(np.float64).eps, None)
        yield _resampled_means("log loss", -np.log(likelihood)[:, np.newaxis], _only)


def _of_numbers(y: FloatArray, predicted: FloatArray) -> Iterator[Score]:
    residual, centred = y - predicted, y - y.mean()
    if len(np.unique(y)) > 1:
        yield _resampled_means("R²", np.column_stack([residual**2, centred**2, centred]), _r2)
    yield _resampled_means("mean absolute error", np.abs(residual)[:, np.newaxis], _only)
    yield _resampled_means("root mean squared error", (residual**2)[:, np.newaxis], _root)


def _only(means: FloatArray) -> float:
    return float(means[0])


def _root(means: FloatArray) -> float:
    return float(np.sqrt(means[0]))


def _r2(means: FloatArray) -> float:
    variance = means[1] - means[2] ** 2
    return float(1.0 - means[0] / variance) if variance > 0.0 else np.nan


def _balanced_accuracy(means: FloatArray) -> float:
    shares, right = np.split(means, 2)
    return float((right[shares > 0.0] / shares[shares > 0.0]).mean())


def _resampled_means(name: str, columns: FloatArray, score: Callable[[FloatArray], float]) -> Score:
    """Return a score that is a function of means over rows."""
    return _resampled(name, lambda rows: score(columns[rows].mean(axis=0)), len(columns))


def _resampled_area(codes: IntArray, values: FloatArray) -> Score:
    """Return the area below the ROC curve, of several classes the mean of each against the rest."""
    n_classes = values.shape[1]
    judged = [1] if n_classes == 2 else list(range(n_classes))
    name = "ROC AUC" if n_classes == 2 else "ROC AUC, one vs rest"

    def area(rows: IntArray) -> float:
        return float(np.mean([_area(codes[rows] == k, values[rows, k]) for k in judged]))

    return _resampled(name, area, len(codes))


def _area(is_class: BoolArray, value: FloatArray) -> float:
    """Return the share of pairs, of one row of a class and one of the rest, in the right order."""
    m, n = int(is_class.sum()), int((~is_class).sum())
    if m == 0 or n == 0:
        return np.nan
    return (float(rankdata(value)[is_class].sum()) - 0.5 * m * (m + 1)) / (m * n)


def _resampled(name: str, score: Callable[[IntArray], float], n: int) -> Score:
    """Return a score with the interval in which it lies when rows are drawn again and again.

    Draws for which there is no score, since they lack a class, are left out.
    """
    rng, n_drawn, value = np.random.default_rng(0), min(n, MAX_RESAMPLED), score(np.arange(n))
    again = np.array([score(rng.integers(n, size=n_drawn)) for _ in range(N_RESAMPLES)])
    again = again[~np.isnan(again)]
    if len(again) < N_RESAMPLES // 2:
        return Score(name, value, np.nan, np.nan, "too few rows for an interval")
    ends = np.quantile(again, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    low, high = value + (ends - value) * np.sqrt(n_drawn / n)
    return Score(name, value, float(low), float(high), "rows resampled")

"""Scores of predictions, with confidence intervals."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest, rankdata, t

from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.inspection.predictions import Predictions

LEVEL = 0.95  # confidence level of the intervals
N_RESAMPLES = 500  # number of bootstrap resamples
MAX_CLASSES = 20  # maximum number of classes for the ROC AUC
MAX_RESAMPLED = 5_000  # maximum number of rows per resample


class Score(NamedTuple):
    """A score and its 95 % confidence interval."""

    name: str
    value: float
    low: float
    high: float
    method: str  # method of the interval

    def __str__(self) -> str:
        if not np.isfinite(self.high - self.low):
            return f"{self.value:.4f}"
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


def wilson(n_right: int, n: int) -> tuple[float, float]:
    """Return the Wilson interval of a proportion."""
    interval = binomtest(n_right, n).proportion_ci(LEVEL, method="wilson")
    return float(interval.low), float(interval.high)


def fold_score(name: str, scores: FloatArray, most: float = np.inf) -> Score:
    r"""Return the mean over k folds with the corrected t-interval of Nadeau and Bengio (2003).

    .. math:: \bar s \pm t_{k-1} \sqrt{(1/k + 1/(k-1))\, \hat\sigma^2}

    The term 1/(k-1), test rows over training rows, accounts for folds that share training rows.
    `most` is the largest possible score.
    """
    k, mean = len(scores), float(np.mean(scores))
    if k < 2:
        return Score(name, mean, np.nan, np.nan, "none: one fold only")
    spread = np.sqrt((1 / k + 1 / (k - 1)) * np.var(scores, ddof=1))
    width = float(t.ppf(0.5 + LEVEL / 2, k - 1) * spread)
    high = min(mean + width, max(most, mean))
    return Score(name, mean, mean - width, high, f"corrected t over {k} folds")


def scores(predictions: Predictions) -> list[Score]:
    """Return the usual scores of predictions: of a classifier or of a regressor."""
    if predictions.classes is None:
        return list(_regression_scores(predictions.y, predictions.predicted))
    return list(_classification_scores(predictions))


def _classification_scores(predictions: Predictions) -> Iterator[Score]:
    y, predicted, classes = predictions.y, predictions.predicted, predictions.classes
    assert classes is not None
    is_right = predicted == y
    yield Score("accuracy", float(is_right.mean()), *wilson(int(is_right.sum()), len(y)), "Wilson")
    members = (y[:, np.newaxis] == np.unique(y)).astype(np.float64)
    columns = np.hstack([members, members * is_right[:, np.newaxis]])
    yield _score_of_means("balanced accuracy", columns, _balanced_accuracy)
    if not predictions.has_every_class:
        return
    codes, rows = np.searchsorted(classes, y), np.arange(len(y))
    if predictions.values is not None and len(classes) <= MAX_CLASSES:
        yield _roc_auc(codes, predictions.values)
    if predictions.probabilities is not None:
        P = predictions.probabilities
        if len(classes) == 2:
            yield _score_of_means("Brier score", ((P[:, 1] - codes) ** 2)[:, np.newaxis], _first)
        likelihood = np.clip(P[rows, codes], np.finfo(np.float64).eps, None)
        yield _score_of_means("log loss", -np.log(likelihood)[:, np.newaxis], _first)


def _regression_scores(y: FloatArray, predicted: FloatArray) -> Iterator[Score]:
    residual, centred = y - predicted, y - y.mean()
    if len(np.unique(y)) > 1:
        yield _score_of_means("R²", np.column_stack([residual**2, centred**2, centred]), _r2)
    yield _score_of_means("mean absolute error", np.abs(residual)[:, np.newaxis], _first)
    yield _score_of_means("root mean squared error", (residual**2)[:, np.newaxis], _root)


def _first(means: FloatArray) -> float:
    return float(means[0])


def _root(means: FloatArray) -> float:
    return float(np.sqrt(means[0]))


def _r2(means: FloatArray) -> float:
    variance = means[1] - means[2] ** 2
    return float(1.0 - means[0] / variance) if variance > 0.0 else np.nan


def _balanced_accuracy(means: FloatArray) -> float:
    shares, right = np.split(means, 2)
    return float((right[shares > 0.0] / shares[shares > 0.0]).mean())


def _score_of_means(name: str, columns: FloatArray, score: Callable[[FloatArray], float]) -> Score:
    """Return a score that is a function of means over rows."""
    return _bootstrapped(name, lambda rows: score(columns[rows].mean(axis=0)), len(columns))


def _roc_auc(codes: IntArray, values: FloatArray) -> Score:
    """Return the ROC AUC; for more than two classes the mean of each class against the rest."""
    n_classes = values.shape[1]
    positive = [1] if n_classes == 2 else list(range(n_classes))
    name = "ROC AUC" if n_classes == 2 else "ROC AUC, one vs rest"

    def area(rows: IntArray) -> float:
        return float(np.mean([_area(codes[rows] == k, values[rows, k]) for k in positive]))

    return _bootstrapped(name, area, len(codes))


def _area(is_class: BoolArray, value: FloatArray) -> float:
    """Return the AUC: the share of pairs of a positive and a negative row in the right order."""
    m, n = int(is_class.sum()), int((~is_class).sum())
    if m == 0 or n == 0:
        return np.nan
    return (float(rankdata(value)[is_class].sum()) - 0.5 * m * (m + 1)) / (m * n)


def _bootstrapped(name: str, score: Callable[[IntArray], float], n: int) -> Score:
    """Return a score of rows, with a percentile interval from bootstrap samples of the rows.

    `score` is a function of row indices, NaN if the rows lack a class; such resamples are left
    out. Of many rows each resample takes `MAX_RESAMPLED`, and the interval is scaled by the square
    root of the sampling fraction.
    """
    rng, size, value = np.random.default_rng(0), min(n, MAX_RESAMPLED), score(np.arange(n))
    resamples = np.array([score(rng.integers(n, size=size)) for _ in range(N_RESAMPLES)])
    resamples = resamples[~np.isnan(resamples)]
    if len(resamples) < N_RESAMPLES // 2:
        return Score(name, value, np.nan, np.nan, "none: too few rows of a class")
    ends = np.quantile(resamples, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    low, high = value + (ends - value) * np.sqrt(size / n)
    return Score(name, value, float(low), float(high), "bootstrap")

"""Scores of predictions, with confidence intervals."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest, rankdata, t

from kernsemble._folds import corrected_standard_error
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.inspection.predictions import Predictions

LEVEL = 0.95  # confidence level of the intervals
N_RESAMPLES = 500  # number of bootstrap resamples
MAX_CLASSES = 20  # maximum number of classes for the ROC AUC
MAX_RESAMPLED = 5_000  # maximum number of rows per resample


class Score(NamedTuple):
    """A score and its 95 % confidence interval.

    Examples
    --------
    >>> from kernsemble.inspection.scores import Score
    >>> print(Score("accuracy", 0.80912, 0.79, 0.8284, "Wilson"))
    0.809 (95 % CI 0.790 to 0.828)
    """

    name: str
    value: float
    low: float
    high: float
    method: str  # method of the interval
    standard_error: float = np.nan  # of a mean over folds

    @property
    def interval(self) -> str:
        """The labelled confidence interval, "" if there is none."""
        if not np.isfinite(self.high - self.low):
            return ""
        return f"{100 * LEVEL:.0f} % CI {self.format(self.low)} to {self.format(self.high)}"

    def __str__(self) -> str:
        interval = self.interval
        return self.format(self.value) + (f" ({interval})" if interval else "")

    def format(self, value: float) -> str:
        """Return a value of this score as text, such as that of another model."""
        return format_score(value, has_unit=self.name.endswith("error"))


def format_score(value: float, has_unit: bool = False) -> str:
    """Return a score as text, with three digits after the point.

    Large numbers have one, and small numbers with a unit, such as errors, three significant digits.

    Examples
    --------
    >>> from kernsemble.inspection.scores import format_score
    >>> [format_score(value) for value in (0.80912, 12345.678, -0.0001)]
    ['0.809', '12,345.7', '0.000']
    >>> format_score(0.00001234, has_unit=True)
    '1.23e-05'
    """
    if abs(value) >= 1000.0:
        return f"{value:,.1f}"
    if has_unit and 0.0 < abs(value) < 0.0995:
        return f"{value:.3g}"
    return f"{value if abs(value) >= 0.0005 else 0.0:.3f}"


def wilson(n_right: int, n: int) -> tuple[float, float]:
    """Return the Wilson interval of a proportion."""
    interval = binomtest(n_right, n).proportion_ci(LEVEL, method="wilson")
    return float(interval.low), float(interval.high)


def fold_score(name: str, scores: FloatArray, most: float = np.inf) -> Score:
    r"""Return the mean over k folds with the corrected t-interval of Nadeau and Bengio (2003).

    .. math:: \bar s \pm t_{k-1}\, \mathrm{se}

    with the `corrected_standard_error`. `most` is the largest possible score.
    """
    k, mean = len(scores), float(np.mean(scores))
    if k < 2:
        return Score(name, mean, np.nan, np.nan, "none: one fold only")
    spread = corrected_standard_error(scores)
    width = float(t.ppf(0.5 + LEVEL / 2, k - 1) * spread)
    high = min(mean + width, max(most, mean))
    return Score(name, mean, mean - width, high, f"corrected t over {k} folds", spread)


def scores(predictions: Predictions, n_resamples: int = N_RESAMPLES) -> list[Score]:
    """Return the usual scores of predictions: of a classifier or of a regressor.

    `n_resamples` is the number of bootstrap resamples; without any only accuracies have intervals.
    """
    if predictions.classes is None:
        found = _regression_scores(predictions.y, predictions.predicted, n_resamples)
    else:
        found = _classification_scores(predictions, n_resamples)
    return list(found)


def _classification_scores(predictions: Predictions, n_resamples: int) -> Iterator[Score]:
    y, predicted, classes = predictions.y, predictions.predicted, predictions.classes
    assert classes is not None
    is_right = predicted == y
    yield Score("accuracy", float(is_right.mean()), *wilson(int(is_right.sum()), len(y)), "Wilson")
    members = (y[:, np.newaxis] == np.unique(y)).astype(np.float64)
    columns = np.hstack([members, members * is_right[:, np.newaxis]])
    yield _score_of_means("balanced accuracy", columns, _balanced_accuracy, n_resamples)
    if not predictions.has_every_class:
        return
    codes, rows = np.searchsorted(classes, y), np.arange(len(y))
    if predictions.values is not None and len(classes) <= MAX_CLASSES:
        yield _roc_auc(codes, predictions.values, n_resamples)
    if predictions.probabilities is not None:
        P = predictions.probabilities
        if len(classes) == 2:
            squares = ((P[:, 1] - codes) ** 2)[:, np.newaxis]
            yield _score_of_means("Brier score", squares, _first, n_resamples)
        likelihood = np.clip(P[rows, codes], np.finfo(np.float64).eps, None)
        yield _score_of_means("log loss", -np.log(likelihood)[:, np.newaxis], _first, n_resamples)


def _regression_scores(y: FloatArray, predicted: FloatArray, n_resamples: int) -> Iterator[Score]:
    residual, centred = y - predicted, y - y.mean()
    if len(np.unique(y)) > 1:
        columns = np.column_stack([residual**2, centred**2, centred])
        yield _score_of_means("R²", columns, _r2, n_resamples)
    absolute, squared = np.abs(residual)[:, np.newaxis], (residual**2)[:, np.newaxis]
    yield _score_of_means("mean absolute error", absolute, _first, n_resamples)
    yield _score_of_means("root mean squared error", squared, _root, n_resamples)


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


def _score_of_means(
    name: str, columns: FloatArray, score: Callable[[FloatArray], float], n_resamples: int
) -> Score:
    """Return a score that is a function of means over rows."""

    def of_rows(rows: IntArray) -> float:
        return score(columns[rows].mean(axis=0))

    return _bootstrapped(name, of_rows, len(columns), n_resamples)


def _roc_auc(codes: IntArray, values: FloatArray, n_resamples: int) -> Score:
    """Return the ROC AUC; for more than two classes the mean of each class against the rest."""
    n_classes = values.shape[1]
    positive = [1] if n_classes == 2 else list(range(n_classes))
    name = "ROC AUC" if n_classes == 2 else "ROC AUC, one vs rest"

    def area(rows: IntArray) -> float:
        return float(np.mean([_area(codes[rows] == k, values[rows, k]) for k in positive]))

    return _bootstrapped(name, area, len(codes), n_resamples)


def _area(is_class: BoolArray, value: FloatArray) -> float:
    """Return the AUC: the share of pairs of a positive and a negative row in the right order."""
    m, n = int(is_class.sum()), int((~is_class).sum())
    if m == 0 or n == 0:
        return np.nan
    return (float(rankdata(value)[is_class].sum()) - 0.5 * m * (m + 1)) / (m * n)


def _bootstrapped(name: str, score: Callable[[IntArray], float], n: int, n_resamples: int) -> Score:
    """Return a score of rows, with a percentile interval from bootstrap samples of the rows.

    `score` is a function of row indices, NaN if the rows lack a class; such resamples are left
    out. Of many rows each resample takes `MAX_RESAMPLED`, and the interval is scaled by the square
    root of the sampling fraction.
    """
    rng, size, value = np.random.default_rng(0), min(n, MAX_RESAMPLED), score(np.arange(n))
    resamples = np.array([score(rng.integers(n, size=size)) for _ in range(n_resamples)])
    resamples = resamples[~np.isnan(resamples)]
    if n_resamples == 0 or len(resamples) < n_resamples // 2:
        reason = "too few rows of a class" if n_resamples else "no resamples"
        return Score(name, value, np.nan, np.nan, f"none: {reason}")
    ends = np.quantile(resamples, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    low, high = value + (ends - value) * np.sqrt(size / n)
    return Score(name, value, float(low), float(high), "bootstrap")

"""Scores with intervals: over folds, and on rows that were set apart."""

from typing import Any, NamedTuple

import numpy as np

from kernsemble._typing import Array, FloatArray

__all__ = ["Score", "fold_score", "scores_on"]

LEVEL = 0.95
N_RESAMPLES = 500
MOST_RESAMPLED = 20_000  # rows; with more, the interval is that of so many, made narrower


class Score(NamedTuple):
    """A score, and an interval that is to hold the true one in 95 of 100 cases."""

    name: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if not np.isfinite(self.high - self.low):
            return f"{self.value:.4f}"
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


def fold_score(name: str, scores: FloatArray, most: float = 1.0) -> Score:
    r"""Return the mean over k folds with the corrected t-interval of Nadeau and Bengio (2003).

    .. math:: \bar s \pm t_{k-1} \sqrt{(1/k + 1/(k-1))\, \hat\sigma^2}

    The term 1/(k-1), test rows over training rows, accounts for folds that share training rows.
    """
    from scipy.stats import t

    k, mean = len(scores), float(np.mean(scores))
    if k < 2:
        return Score(name, mean, np.nan, np.nan)
    width = t.ppf(0.5 + LEVEL / 2, k - 1) * np.sqrt((1 / k + 1 / (k - 1)) * np.var(scores, ddof=1))
    return Score(name, mean, float(mean - width), float(min(mean + width, max(most, mean))))


def scores_on(model: Any, X: Any, y: Array, is_classifier: bool, seed: int) -> list[Score]:
    """Return the scores of a fitted model on rows that it does not know."""
    predicted = model.predict(X)
    if is_classifier:
        return _scores_of_classes(model, X, y, predicted)
    return _scores_of_numbers(y, predicted, np.random.default_rng(seed))


def _scores_of_classes(model: Any, X: Any, y: Array, predicted: Array) -> list[Score]:
    from scipy.stats import binomtest
    from sklearn.metrics import roc_auc_score

    is_right = predicted == y
    interval = binomtest(int(is_right.sum()), len(y)).proportion_ci(LEVEL, method="wilson")
    found = [Score("accuracy", float(is_right.mean()), float(interval.low), float(interval.high))]
    if len(model.classes_) == 2 and len(np.unique(y)) == 2 and np.isin(y, model.classes_).all():
        area = roc_auc_score(y == model.classes_[1], model.decision_function(X))
        found.append(Score("roc_auc", float(area), np.nan, np.nan))
    return found


def _scores_of_numbers(
    y: FloatArray, predicted: FloatArray, rng: np.random.Generator
) -> list[Score]:
    """Return R² and the mean absolute error, with intervals by resampling rows."""
    from sklearn.metrics import mean_absolute_error, r2_score

    found = []
    n_drawn = min(len(y), MOST_RESAMPLED)
    draws = [rng.integers(len(y), size=n_drawn) for _ in range(N_RESAMPLES)]
    for name, score in (("r2", r2_score), ("mean_absolute_error", mean_absolute_error)):
        value = float(score(y, predicted)) if len(y) > 1 else np.nan
        again = [score(y[rows], predicted[rows]) if n_drawn > 1 else np.nan for rows in draws]
        ends = np.quantile(again, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
        low, high = value + (ends - value) * np.sqrt(n_drawn / len(y))
        found.append(Score(name, value, float(low), float(high)))
    return found

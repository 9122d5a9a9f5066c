"""The choice among settings by their scores on the folds of a cross-validation."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin

from kernsemble._typing import FloatArray, IntArray, Rows

PAPERS_PENALTIES = tuple(2.0**power for power in range(-17, 4, 2))  # values of C to choose from


class Foreseen(ClassifierMixin, BaseEstimator, ABC):
    """What was said of the classes of held-out rows, in the form that scorers ask."""

    def __init__(self, classes: Any) -> None:
        self.classes_ = classes

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: ARG002
        return self

    @abstractmethod
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision values."""

    @abstractmethod
    def winners(self) -> IntArray:
        """Return the places of the classes that were said."""

    def predict(self, X: ArrayLike) -> Any:  # noqa: ARG002
        return self.classes_[self.winners()]


def share_right(
    foreseen: Foreseen, X: Rows, y: Any, sample_weight: FloatArray | None = None
) -> float:
    """Return scikit-learn's accuracy, without checks that take longer than small machines."""
    return float(np.average(foreseen.predict(X) == y, weights=sample_weight))


def as_grid(name: str, values: Any, check: Callable[[str, Any], None]) -> list[float]:
    """Return the numbers to choose from, each once, the smallest first."""
    if np.ndim(values) != 1 or len(values) == 0:
        raise ValueError(f"{name} = {values!r}: give a list of at least one number")
    for value in values:
        check(name, value)
    return sorted({float(value) for value in values})


def comparable_means(scores: FloatArray) -> FloatArray:
    """Return means over folds (last axis), those that are no numbers below any other."""
    means = scores.mean(axis=-1)
    return np.where(np.isnan(means), -np.inf, means)


def check_means(means: FloatArray, scoring: Any) -> None:
    """Demand a score that is a number for one setting at least."""
    if np.isneginf(means).all():
        raise ValueError(
            f"scoring = {scoring!r} is not a number for any setting: choose another score, or "
            "folds on which it is defined"
        )


def cross_validation_results(params: list[dict[str, Any]], scores: FloatArray) -> dict[str, Any]:
    """Return the scores of settings (rows) on folds (columns) in the form of GridSearchCV.

    There are no times: settings that are solved as one path have only one.
    """
    return {
        **{f"param_{name}": _masked([each[name] for each in params]) for name in params[0]},
        "params": params,
        **{f"split{fold}_test_score": column for fold, column in enumerate(scores.T)},
        "mean_test_score": scores.mean(axis=1),
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(-comparable_means(scores), method="min").astype(np.int32),
    }


def _masked(values: list[Any]) -> Any:
    """Return settings as GridSearchCV does: numbers as numbers, all else as objects."""
    dtype = np.float64 if all(isinstance(value, float) for value in values) else object
    masked = np.ma.MaskedArray(np.empty(len(values), dtype), mask=True)
    for place, value in enumerate(values):
        masked[place] = value  # which is no longer masked
    return masked

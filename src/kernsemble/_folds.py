"""Model selection: folds of a cross-validation, grids of settings, and their scores.

Functions shared by every estimator that selects settings itself (the classes ending in CV, and
`LagoClassifier`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold, check_cv

from kernsemble._typing import ArrayLike, FloatArray, IntArray, Rows
from kernsemble.exceptions import ArgumentError

N_CALIBRATION_FOLDS = 5
PAPERS_PENALTIES = tuple(2.0**power for power in range(-17, 4, 2))  # default grid of C


@dataclass(frozen=True, eq=False)
class FoldRows:
    """A fold: its held-out rows, and those of them that it is scored on."""

    held_out: IntArray
    tested: IntArray

    @property
    def places(self) -> IntArray:
        """Indices of the tested rows among those held out."""
        return np.searchsorted(self.held_out, self.tested)

    def kept(self, n: int) -> IntArray:
        """Return the training rows among `n` rows."""
        return np.delete(np.arange(n), self.held_out)


def read_splits(
    cv: Any,
    X: ArrayLike,
    y: Any,
    counts: FloatArray,
    is_classifier: bool,
    groups: ArrayLike | None = None,
) -> list[FoldRows]:
    """Return the folds of `cv`; each must train and test on rows of positive weight."""
    found = check_cv(cv, y, classifier=is_classifier).split(X, y, groups)
    splits = [_read(fold, train, test, len(counts)) for fold, (train, test) in enumerate(found)]
    if not splits:
        raise ValueError("cv has no folds: pass at least one pair of training and test rows")
    for fold, split in enumerate(splits):
        for rows, purpose in ((split.tested, "tests on"), (split.kept(len(counts)), "trains on")):
            if not counts[rows].any():
                raise ValueError(
                    f"cv: fold {fold} {purpose} no row of positive weight: use fewer folds, or "
                    "leave zero-weight rows out of the folds"
                )
    return splits


def is_partition(splits: Sequence[FoldRows]) -> bool:
    """Return whether no row is held out twice, and every held-out row is tested."""
    tested = np.concatenate([split.tested for split in splits])
    n_held_out = sum(len(split.held_out) for split in splits)
    return len(np.unique(tested)) == len(tested) == n_held_out


def fold_of_rows(splits: Sequence[FoldRows], n: int) -> IntArray | None:
    """Return the fold of each of n rows; one more for rows in none. None if folds overlap."""
    if not is_partition(splits):
        return None
    fold = np.full(n, len(splits))
    for number, split in enumerate(splits):
        fold[split.tested] = number
    return fold


def check_classes(
    splits: list[FoldRows], codes: IntArray, counts: FloatArray, classes: Any
) -> None:
    """Raise an error unless every fold has training rows of every class."""
    for fold, split in enumerate(splits):
        kept = split.kept(len(codes))
        totals = np.bincount(codes[kept], counts[kept], minlength=len(classes))
        for code in np.flatnonzero(totals == 0.0):
            n_rows = np.count_nonzero(counts[codes == code])
            raise ValueError(
                f"cv: fold {fold} has no training row of class {classes[code]!r}, which has "
                f"{n_rows} rows of positive weight: use fewer folds, pass more rows of it, or "
                "leave the class out"
            )


def calibration_folds(codes: IntArray, counts: FloatArray, classes: Any) -> list[FoldRows]:
    """Return stratified folds of the rows with positive weight: five, or one per row of a class.

    Rows of weight zero are in no fold.
    """
    present = np.flatnonzero(counts > 0.0)
    found, sizes = np.unique(codes[present], return_counts=True)
    if sizes.min() < 2:
        name = classes.tolist()[found[sizes.argmin()]]
        raise ValueError(
            f"calibration: class {name!r} has one row of positive weight, which cannot be held "
            "out: pass more rows of it, or use calibration=None"
        )
    folds = StratifiedKFold(min(N_CALIBRATION_FOLDS, int(sizes.min())))
    tested = [present[test] for _, test in folds.split(present, codes[present])]
    return [FoldRows(rows, rows) for rows in tested]


def _read(fold: int, train: Any, test: Any, n: int) -> FoldRows:
    trained, tested = np.arange(n)[train], np.arange(n)[test]
    times = np.bincount(trained, minlength=n)
    if times.max() > 1:
        raise ValueError(
            f"cv: fold {fold} trains on row {times.argmax()} {times.max()} times: include every "
            "row once, and use sample_weight to repeat it"
        )
    if times[tested].any():
        raise ValueError(
            f"cv: fold {fold} tests on row {tested[times[tested] > 0][0]}, which it trains on: "
            "use disjoint training and test rows"
        )
    return FoldRows(np.flatnonzero(times == 0), tested)


class HeldOutClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Held-out predictions of classes as a fitted classifier, which scorers expect."""

    def __init__(self, classes: Any) -> None:
        self.classes_ = classes

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: ARG002
        return self

    @abstractmethod
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision values."""

    @abstractmethod
    def winners(self) -> IntArray:
        """Return the indices of the predicted classes."""

    def predict(self, X: ArrayLike) -> Any:  # noqa: ARG002
        return self.classes_[self.winners()]


def share_right(
    held_out: HeldOutClassifier, X: Rows, y: Any, sample_weight: FloatArray | None = None
) -> float:
    """Return the accuracy without scikit-learn's checks, which take longer than small machines."""
    return float(np.average(held_out.predict(X) == y, weights=sample_weight))


def as_grid(name: str, values: Any, check: Callable[[str, Any], None]) -> list[float]:
    """Return the distinct numbers of a grid in ascending order."""
    if np.ndim(values) != 1 or len(values) == 0:
        raise ArgumentError(name, values, "use a list of at least one number")
    for value in values:
        check(name, value)
    return sorted({float(value) for value in values})


def comparable_means(scores: FloatArray) -> FloatArray:
    """Return means over folds (last axis), with -inf in place of NaN."""
    means = scores.mean(axis=-1)
    return np.where(np.isnan(means), -np.inf, means)


def check_means(means: FloatArray, scoring: Any) -> None:
    """Raise an error if no setting has a score."""
    if np.isneginf(means).all():
        raise ValueError(
            f"scoring = {scoring!r} is NaN for every setting: use another score, or "
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


def fold_scores(results: Mapping[str, Any]) -> FloatArray:
    """Return the scores of settings (rows) on folds (columns) from ``cv_results_``."""
    n_folds = sum(name.startswith("split") for name in results)
    return np.column_stack([results[f"split{fold}_test_score"] for fold in range(n_folds)])


def corrected_standard_error(scores: FloatArray) -> float:
    r"""Return the standard error of a mean over k folds, corrected by Nadeau and Bengio (2003).

    .. math:: \sqrt{(1/k + 1/(k-1))\, \hat\sigma^2}

    The term 1/(k-1), test rows over training rows, accounts for folds that share training rows.
    NaN for one fold.
    """
    k = len(scores)
    return float(np.sqrt((1 / k + 1 / (k - 1)) * np.var(scores, ddof=1))) if k > 1 else np.nan


def _masked(values: list[Any]) -> Any:
    """Return settings as GridSearchCV does: numbers as numbers, all else as objects."""
    dtype = np.float64 if all(isinstance(value, float) for value in values) else object
    masked = np.ma.MaskedArray(np.empty(len(values), dtype), mask=True)
    for place, value in enumerate(values):
        masked[place] = value  # assignment unmasks it
    return masked

"""The folds of a cross-validation, as bounds of zero can express them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import check_cv

from kernsemble._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Split:
    """A fold: the rows that it does not learn from, and those of them that it is judged by."""

    held_out: IntArray
    tested: IntArray

    @property
    def places(self) -> IntArray:
        """Where the tested rows are among those held out."""
        return np.searchsorted(self.held_out, self.tested)

    def kept(self, n: int) -> IntArray:
        """Return the rows of n that it learns from."""
        return np.delete(np.arange(n), self.held_out)


def read_splits(
    cv: Any, X: ArrayLike, y: Any, counts: FloatArray, is_classifier: bool
) -> list[Split]:
    """Return the folds that `cv` stands for, each with rows that count to learn and to test."""
    found = check_cv(cv, y, classifier=is_classifier).split(X, y)
    splits = [_read(fold, train, test, len(counts)) for fold, (train, test) in enumerate(found)]
    if not splits:
        raise ValueError("cv holds no fold: give at least one pair of training and test rows")
    for fold, split in enumerate(splits):
        for rows, purpose in ((split.tested, "tests"), (split.kept(len(counts)), "learns from")):
            if not counts[rows].any():
                raise ValueError(
                    f"cv: fold {fold} {purpose} no row that counts: use fewer folds, or give "
                    "rows of sample_weight zero no fold"
                )
    return splits


def check_classes(splits: list[Split], codes: IntArray, counts: FloatArray, classes: Any) -> None:
    """Demand rows of every class in every fold to learn from."""
    for fold, split in enumerate(splits):
        kept = split.kept(len(codes))
        totals = np.bincount(codes[kept], counts[kept], minlength=len(classes))
        for code in np.flatnonzero(totals == 0.0):
            n_rows = np.count_nonzero(counts[codes == code])
            raise ValueError(
                f"cv: fold {fold} has no row of class {classes[code]!r} to learn from, of the "
                f"{n_rows} that count: use fewer folds, give more rows of it, or leave the "
                "class out"
            )


def _read(fold: int, train: Any, test: Any, n: int) -> Split:
    learned, tested = np.arange(n)[train], np.arange(n)[test]
    times = np.bincount(learned, minlength=n)
    if times.max() > 1:
        raise ValueError(
            f"cv: fold {fold} learns from row {times.argmax()} {times.max()} times: give every "
            "row once, and repeat it by sample_weight"
        )
    if times[tested].any():
        raise ValueError(
            f"cv: fold {fold} tests row {tested[times[tested] > 0][0]}, which it learns from: "
            "give it rows of their own to test"
        )
    return Split(np.flatnonzero(times == 0), tested)

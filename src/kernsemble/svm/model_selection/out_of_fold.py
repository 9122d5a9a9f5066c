"""Out-of-fold predictions: every row predicted by machines that were fitted without it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernsemble._calibration_curves import CurveKind
from kernsemble._folds import FoldRows
from kernsemble._typing import Array, FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.svm.calibration import Calibration
from kernsemble.svm.multiclass import Reduction


@dataclass(frozen=True, eq=False, repr=False)
class OutOfFold(Value):
    """Predictions of training rows by machines that were fitted without them.

    The kernel, the scaling and C are those selected on the same folds, so that scores of these
    predictions are slightly optimistic.

    Attributes
    ----------
    rows : array of shape (n_tested,)
        Indices of the tested training rows, one fold after another. A row may occur several
        times, or not at all, if the folds of `cv` are such.
    folds : array of shape (n_tested,)
        Number of the fold that tested each row.
    predicted : array of shape (n_tested,)
        Predicted classes or numbers.
    values : array of shape (n_tested,) or (n_tested, n_classes), or None
        Decision values, one per class if there are more than two; None for numbers.
    probabilities : array of shape (n_tested, n_classes) or None
        Class probabilities, by calibration curves that were fitted to the other folds.
    """

    rows: IntArray
    folds: IntArray
    predicted: Array
    values: FloatArray | None = None
    probabilities: FloatArray | None = None

    def __repr__(self) -> str:
        n_folds = len(np.unique(self.folds))
        return f"<{type(self).__name__} of {len(self.rows):,} rows in {n_folds} folds>"

    @classmethod
    def of_numbers(cls, splits: Sequence[FoldRows], values: FloatArray) -> Self:
        """Return the predictions of a regression from the values of its machine (a column)."""
        return cls(*_tested(splits), values[:, 0])

    @classmethod
    def of_classes(
        cls,
        splits: Sequence[FoldRows],
        values: FloatArray,
        classes: Any,
        reduction: Reduction,
        probabilities: FloatArray | None,
    ) -> Self:
        """Return the predictions of a classification from the values of its machines (columns)."""
        predicted = classes[reduction.winners(values)]
        return cls(*_tested(splits), predicted, reduction.decisions(values), probabilities)


def cross_fitted_probabilities(
    kind: CurveKind,
    reduction: Reduction,
    splits: Sequence[FoldRows],
    values: FloatArray,
    codes: IntArray,
    weight: FloatArray,
) -> FloatArray:
    """Return the probabilities of tested rows by curves fitted to the rows of other folds.

    A fold without others has curves of its own rows.

    Parameters
    ----------
    kind, reduction
        The kind of the curves, and the classes on the two sides of each machine.
    splits : sequence of FoldRows
        The folds.
    values : array of shape (n_tested, n_machines)
        The decision values of the tested rows, one fold after another.
    codes, weight : arrays of shape (n_tested,)
        The class code and the weight of each tested row.
    """
    rows, folds = _tested(splits)
    found = np.empty((len(values), reduction.n_classes))
    for fold in range(len(splits)):
        is_mine = folds == fold
        is_other = ~np.isin(rows, splits[fold].tested)
        is_other = is_other if (weight[is_other] > 0.0).any() else is_mine
        curves = Calibration.from_held_out(
            kind, reduction, values[is_other], codes[is_other], weight[is_other]
        )
        found[is_mine] = curves.probabilities(values[is_mine])
    return found


def _tested(splits: Sequence[FoldRows]) -> tuple[IntArray, IntArray]:
    """Return the tested rows of all folds, and the fold of each."""
    sizes = [len(split.tested) for split in splits]
    return (
        np.concatenate([split.tested for split in splits]),
        np.repeat(np.arange(len(splits)), sizes),
    )

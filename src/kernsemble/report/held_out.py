"""Predictions of rows that the model was not fitted to: test rows, or out-of-fold rows."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from kernsemble._typing import Array, IntArray
from kernsemble._validation import as_table, read_classes
from kernsemble.inspection.predictions import Predictions, Where
from kernsemble.report.row_samples import RowSample, rows_at

N_FOLDS = 5  # number of folds of refits
MAX_REFIT_ROWS = 2_000  # maximum number of rows that models are fitted to again


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions on rows that the predicting machines were not fitted to.

    Attributes
    ----------
    predictions : Predictions
        The predictions; on training rows only if there is no other way.
    indices : array of shape (n,)
        Index of each row in its table: the test rows if given, else the training rows.
    n_rows : int
        Number of rows that could be scored.
    folds : array of shape (n,) or None
        Fold of each row, None for test rows and training rows.
    method : str
        Description of how the predictions were made, in a sentence.
    """

    predictions: Predictions
    indices: IntArray
    n_rows: int
    folds: IntArray | None
    method: str

    def at(self, places: IntArray) -> "HeldOut":
        """Return some of the predictions."""
        folds = None if self.folds is None else self.folds[places]
        some = _predictions_at(self.predictions, places)
        return replace(self, predictions=some, indices=self.indices[places], folds=folds)

    def sample(self, max_rows: int) -> "HeldOut":
        """Return all predictions, or a random sample of them in their order."""
        n = len(self.indices)
        if n <= max_rows:
            return self
        return self.at(np.sort(np.random.default_rng(0).choice(n, max_rows, replace=False)))


def held_out_predictions(
    model: Any,
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    max_rows: int = 100_000,
    max_refit_rows: int = MAX_REFIT_ROWS,
) -> HeldOut:
    """Return predictions of test rows if given, else out-of-fold predictions of training rows.

    A model without `out_of_fold_` is fitted again on folds of at most `max_refit_rows` rows. If
    that fails, the training rows are predicted.
    """
    if X_test is not None:
        sample = RowSample.draw(X_test, y_test, max_rows, "X_test")
        method = "The test rows took no part in fitting."
        return _of_sample(model, sample, "test rows", method)
    found = getattr(model, "out_of_fold_", None)
    y = np.asarray(y)
    if found is not None and len(found.rows) > 0 and found.rows.max() < len(y):
        return _out_of_fold(model, y).sample(max_rows)
    try:
        return _refitted(model, X, y, max_refit_rows)
    except ValueError as error:
        method = f"Out-of-fold predictions are not available: {error}."
        return _of_sample(model, RowSample.draw(X, y, max_rows), "training rows", method)


def _of_sample(model: Any, sample: RowSample, where: Where, method: str) -> HeldOut:
    predictions = Predictions.from_estimator(model, sample.X, sample.y, where)
    return HeldOut(predictions, sample.indices, sample.n_rows, None, method)


def _out_of_fold(model: Any, y: Array) -> HeldOut:
    found = model.out_of_fold_
    n_folds = len(np.unique(found.folds))
    return HeldOut(
        Predictions.from_out_of_fold(model, y),
        found.rows,
        len(found.rows),
        found.folds,
        f"Each row is predicted by a machine that was fitted without it, in {n_folds} folds. The "
        "settings were selected on the same folds, so the scores are slightly optimistic.",
    )


def _refitted(model: Any, X: Any, y: Array, max_rows: int) -> HeldOut:
    sample = RowSample.draw(X, y, max_rows)
    rows, targets = as_table(sample.X), sample.y
    splitter = _splitter(model, targets)
    folds, parts = np.empty(len(targets), dtype=np.intp), []
    for fold, (train, test) in enumerate(splitter.split(np.zeros(len(targets)), targets)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the fit to all rows, each was shown once
            refitted = clone(model).fit(rows_at(rows, train), targets[train])
        parts.append(
            Predictions.from_estimator(
                refitted, rows_at(rows, test), targets[test], "out-of-fold rows"
            )
        )
        folds[test] = fold
    together = _predictions_at(_joined(parts), np.argsort(np.argsort(folds, kind="stable")))
    fewer = (
        f"on a random sample of {len(targets):,} of the {sample.n_rows:,} rows, which makes the "
        "scores pessimistic"
    )
    method = (
        "Each row is predicted by a machine that was fitted without it: for this report the model "
        f"was fitted again on {splitter.n_splits} folds{f', {fewer}' if sample.is_sampled else ''}."
    )
    return HeldOut(together, sample.indices, sample.n_rows, folds, method)


def _splitter(model: Any, y: Array) -> Any:
    """Return folds in which every class has rows to fit and rows to test."""
    if not is_classifier(model):
        n_folds = min(N_FOLDS, len(y))
        if n_folds < 2:
            raise ValueError("there is only one row")
        return KFold(n_folds, shuffle=True, random_state=0)
    classes, codes = read_classes(y)
    counts = np.bincount(codes)
    if counts.min() < 2:
        raise ValueError(f"the class {classes[counts.argmin()]!s} has only one row")
    return StratifiedKFold(min(N_FOLDS, int(counts.min())), shuffle=True, random_state=0)


def _joined(parts: list[Predictions]) -> Predictions:
    """Return the predictions of all folds, one fold after another."""
    first = parts[0]

    def stacked(name: str) -> Any:
        arrays = [getattr(each, name) for each in parts]
        return None if arrays[0] is None else np.concatenate(arrays)

    return Predictions(
        first.where,
        stacked("y"),
        stacked("predicted"),
        first.classes,
        stacked("values"),
        stacked("probabilities"),
    )


def _predictions_at(predictions: Predictions, places: IntArray) -> Predictions:
    def some(array: Any) -> Any:
        return None if array is None else array[places]

    return replace(
        predictions,
        y=predictions.y[places],
        predicted=predictions.predicted[places],
        values=some(predictions.values),
        probabilities=some(predictions.probabilities),
    )

"""The numbers of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier

from kernsemble._typing import IntArray
from kernsemble.inspection import EnsembleView
from kernsemble.inspection.predictions import Predictions
from kernsemble.inspection.scores import Score, scores
from kernsemble.report.data_summary import DataSummary, data_summary
from kernsemble.report.machine_summary import (
    MAX_MACHINES,
    MAX_ROWS,
    MachineSummary,
    machine_labels,
    machine_summaries,
    mean_importances,
    notable_rows,
)
from kernsemble.report.model_settings import ModelSettings, model_settings
from kernsemble.report.roc_and_calibration import ClassifierCurves, classifier_curves
from kernsemble.report.row_samples import MAX_SCORED_ROWS, RowSample, n_described_rows
from kernsemble.report.selection_curve import SelectionCurve, cross_validated, selection_curve
from kernsemble.report.threshold import Thresholds, thresholds
from kernsemble.report.what_if import WhatIf, what_if


@dataclass(frozen=True, eq=False)
class Summary:
    """The numbers of a report about a fitted model.

    Attributes
    ----------
    model_name : str
        Class of the model.
    is_classifier : bool
        Whether the model is a classifier.
    data : DataSummary
        Summary of the training data.
    selection : SelectionCurve or None
        Scores of all settings, if the model was selected by cross-validation.
    cross_validated : Score or None
        Cross-validated score of the selected setting.
    predictions : Predictions
        Predictions on the test rows, or on the training rows without test rows.
    n_available : int
        Number of rows that could be scored; `predictions` are for a sample of them.
    scores : list of Score
        Scores of the predictions, with confidence intervals.
    curves : ClassifierCurves or None
        ROC, precision-recall and calibration curves of the predictions.
    machines : list of MachineSummary
        Importances, shape functions and contributions of each machine.
    n_machines : int
        Number of machines of the model.
    leaderboard : list of dict
        Rows of a table of other models, if one was given.
    settings : ModelSettings
        Settings that reproduce the model.
    thresholds : Thresholds or None
        Counts of the predictions at every threshold, for classifiers.
    what_if : WhatIf
        The model as data, if the page can evaluate it.
    """

    model_name: str
    is_classifier: bool
    data: DataSummary
    selection: SelectionCurve | None
    cross_validated: Score | None
    predictions: Predictions
    n_available: int
    scores: list[Score]
    curves: ClassifierCurves | None
    machines: list[MachineSummary]
    n_machines: int
    leaderboard: list[dict[str, Any]]
    settings: ModelSettings
    thresholds: Thresholds | None
    what_if: WhatIf

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        rows: Sequence[int] | None = None,
        leaderboard: Sequence[Mapping[str, Any]] | None = None,
        max_scored_rows: int = MAX_SCORED_ROWS,
    ) -> Self:
        """Return the summary of a model that was fitted to `X` and `y`.

        `max_scored_rows` is the maximum number of rows that are scored; the other parameters are
        those of `write_report`.
        """
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test belong together: pass both or neither")
        labels = machine_labels(model)
        shown = min(len(labels), MAX_MACHINES)
        background = RowSample.draw(X, y, n_described_rows(model.n_features_in_, shown))
        if X_test is None:
            scored = RowSample.draw(X, y, max_scored_rows)
            predictions = Predictions.from_estimator(model, scored.X, scored.y, "training rows")
        else:
            scored = RowSample.draw(X_test, y_test, max_scored_rows, "X_test")
            predictions = Predictions.from_estimator(model, scored.X, scored.y, "test rows")
        explained = notable_rows(predictions) if rows is None else _sample_indices(rows, scored)
        machines = machine_summaries(model, background, scored, predictions, explained)
        view = EnsembleView.from_estimator(model, background.X, 0)
        assert view.background is not None
        return cls(
            type(model).__name__,
            is_classifier(model),
            data_summary(model, y, background, view.background, view.feature_names),
            selection_curve(model),
            cross_validated(model),
            predictions,
            scored.n_rows,
            scores(predictions),
            classifier_curves(predictions),
            machines,
            len(labels),
            [dict(each) for each in leaderboard or ()],
            model_settings(model),
            thresholds(predictions),
            what_if(model, background, scored, explained, mean_importances(machines)),
        )

    @property
    def importances(self) -> dict[str, float]:
        """Mean importance of each feature over the machines, the largest first."""
        return mean_importances(self.machines)


def _sample_indices(rows: Sequence[int], scored: RowSample) -> IntArray:
    """Return the indices of rows of the data within the sample of scored rows."""
    indices = np.asarray(rows)
    is_wrong = indices.ndim != 1 or len(indices) == 0 or indices.dtype.kind not in "iu"
    if is_wrong or indices.min() < 0 or indices.max() >= scored.n_rows or len(indices) > MAX_ROWS:
        raise ValueError(
            f"rows = {rows!r}: pass between 1 and {MAX_ROWS} row indices, each below "
            f"{scored.n_rows}"
        )
    if scored.is_sampled:
        absent = np.setdiff1d(indices, scored.indices)
        if len(absent) > 0:
            raise ValueError(
                f"rows = {rows!r}: row {absent[0]} is not in the random sample of "
                f"{len(scored.indices):,} scored rows: pass fewer test rows that contain it"
            )
    return np.searchsorted(scored.indices, indices)

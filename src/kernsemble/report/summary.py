"""The numbers of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from kernsemble._typing import ArrayLike, IntArray
from kernsemble._value_object import short_repr
from kernsemble.inspection import EnsembleView, by_class
from kernsemble.inspection.predictions import Predictions
from kernsemble.inspection.scores import Score, scores
from kernsemble.inspection.value_unit import value_unit
from kernsemble.inspection.vote_members import MemberRow, vote_members
from kernsemble.report.data_summary import DataSummary, data_summary
from kernsemble.report.held_out import HeldOut, held_out_predictions
from kernsemble.report.machine_summary import (
    MAX_MACHINES,
    MAX_ROWS,
    MachineSummary,
    RowsToExplain,
    machine_labels,
    machine_summaries,
    mean_importances,
    notable_rows,
)
from kernsemble.report.model_settings import ModelSettings, Origin, model_settings
from kernsemble.report.plain_summary import plain_summary
from kernsemble.report.rivals import Comparison, compare_with_rivals
from kernsemble.report.roc_and_calibration import ClassifierCurves, classifier_curves
from kernsemble.report.row_samples import MAX_SCORED_ROWS, RowSample, n_described_rows
from kernsemble.report.selection_curve import SelectionCurve, cross_validated, selection_curve
from kernsemble.report.shape_bands import ShapeBands, shape_bands
from kernsemble.report.threshold import Thresholds, thresholds
from kernsemble.report.what_if import WhatIf, what_if

MAX_PICKABLE_ROWS = 500  # number of rows that the reader's choice is drawn from
MAX_TRAINING_ROWS = 20_000  # maximum number of rows of the scores on training rows


@dataclass(frozen=True, eq=False)
class Summary:
    """The numbers of a report about a fitted model.

    Attributes
    ----------
    model_name : str
        Class of the model.
    target : str
        Name of the target, "" if it is not known.
    is_classifier : bool
        Whether the model is a classifier.
    sentences : list of str
        Three sentences about the model in plain language.
    data : DataSummary
        Summary of the training data.
    selection : SelectionCurve or None
        Scores of all settings, if the model was selected by cross-validation.
    searched : str
        Description of the settings that "auto" compared, "" if there is none.
    members : list of MemberRow
        Members of the vote, the largest share first; empty if the model is no vote.
    cross_validated : Score or None
        Cross-validated score of the selected setting.
    held_out : HeldOut
        Predictions of the test rows, else out-of-fold predictions of the training rows, and how
        they were made.
    scores : list of Score
        Scores of these predictions, with confidence intervals.
    training : list of Score
        Scores on the training rows, for comparison.
    comparison : Comparison
        Scores of the model and of simple rivals on the same rows.
    curves : ClassifierCurves or None
        ROC, precision-recall and calibration curves of the predictions.
    machines : list of MachineSummary
        Importances, shape functions and contributions of each machine.
    n_machines : int
        Number of machines of the model, one per class if there are more than two.
    unit : str
        Unit of contributions: "log-odds", "decision value" or that of the target.
    bands : ShapeBands or None
        Refits that the standard errors of shape functions are from.
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
    target: str
    is_classifier: bool
    sentences: list[str]
    data: DataSummary
    selection: SelectionCurve | None
    searched: str
    members: list[MemberRow]
    cross_validated: Score | None
    held_out: HeldOut
    scores: list[Score]
    training: list[Score]
    comparison: Comparison
    curves: ClassifierCurves | None
    machines: list[MachineSummary]
    n_machines: int
    unit: str
    bands: ShapeBands | None
    leaderboard: list[dict[str, Any]]
    settings: ModelSettings
    thresholds: Thresholds | None
    what_if: WhatIf

    def __repr__(self) -> str:
        return short_repr(self)

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
        target: str | None = None,
        origin: Origin | None = None,
        max_scored_rows: int = MAX_SCORED_ROWS,
    ) -> Self:
        """Return the summary of a model that was fitted to `X` and `y`.

        `origin` describes the data and the command; `max_scored_rows` is the maximum number of
        rows that are scored; the other parameters are those of `write_report`.
        """
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test belong together: pass both or neither")
        name = str(getattr(y, "name", None) or "") if target is None else target
        labels = machine_labels(model)
        shown = min(len(labels), MAX_MACHINES)
        background = RowSample.draw(X, y, n_described_rows(model.n_features_in_, shown))
        held_out = held_out_predictions(model, X, y, X_test, y_test, max_scored_rows)
        predictions = held_out.predictions
        table, targets = (X, y) if X_test is None else (X_test, y_test)
        notable = held_out.indices[notable_rows(predictions)] if rows is None else rows
        indices = _checked_rows(notable, len(np.asarray(targets)))
        pickable = RowSample.with_rows(table, targets, indices, MAX_PICKABLE_ROWS)
        explained = np.searchsorted(pickable.indices, indices)
        chosen = RowsToExplain.from_sample(model, pickable, explained)
        view = EnsembleView.from_estimator(by_class(model), background.X, 0)
        assert view.background is not None
        bands = shape_bands(model, X, y, background.X) if view.is_additive else None
        machines = machine_summaries(model, background, chosen, bands)
        data = data_summary(model, y, background, view.background, view.feature_names)
        found = scores(predictions)
        comparison = compare_with_rivals(model, X, y, X_test, held_out)
        training = RowSample.draw(X, y, min(max_scored_rows, MAX_TRAINING_ROWS))
        on_training = Predictions.from_estimator(model, training.X, training.y, "training rows")
        return cls(
            type(model).__name__,
            name,
            is_classifier(model),
            plain_summary(
                name, data, predictions, found[0], comparison, mean_importances(machines)
            ),
            data,
            selection_curve(model),
            str(getattr(model, "search_summary_", "") or ""),
            vote_members(model),
            cross_validated(model),
            held_out,
            found,
            scores(on_training, 0),
            comparison,
            classifier_curves(predictions),
            machines,
            len(labels),
            value_unit(model, name),
            bands,
            [dict(each) for each in leaderboard or ()],
            model_settings(model, origin or Origin(target=name)),
            thresholds(predictions),
            what_if(model, background, pickable, explained, mean_importances(machines)),
        )

    @property
    def predictions(self) -> Predictions:
        """Predictions of the test rows, else out-of-fold predictions of the training rows."""
        return self.held_out.predictions

    @property
    def n_available(self) -> int:
        """Number of rows that could be scored; `predictions` are for a sample of them."""
        return self.held_out.n_rows

    @property
    def importances(self) -> dict[str, float]:
        """Mean importance of each feature over the machines, the largest first."""
        return mean_importances(self.machines)


def _checked_rows(rows: Sequence[int] | IntArray, n_rows: int) -> IntArray:
    """Return indices of rows to explain."""
    indices = np.asarray(rows)
    is_wrong = indices.ndim != 1 or len(indices) == 0 or indices.dtype.kind not in "iu"
    if is_wrong or indices.min() < 0 or indices.max() >= n_rows or len(indices) > MAX_ROWS:
        raise ValueError(
            f"rows = {rows!r}: pass between 1 and {MAX_ROWS} row indices, each below {n_rows}"
        )
    return indices

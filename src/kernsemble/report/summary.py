"""All that a report says, as plain numbers."""

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
from kernsemble.report.row_samples import SCORED_ROWS, RowSample, most_rows
from kernsemble.report.selection_curve import SelectionCurve, cross_validated, selection_curve


@dataclass(frozen=True, eq=False)
class Summary:
    """All that a report says of a fitted model, as plain numbers.

    Attributes
    ----------
    model_name : str
        The class of the model.
    is_classifier : bool
        Whether it tells classes.
    data : DataSummary
        The training rows.
    selection : SelectionCurve or None
        How settings fared, of a model that chose among several.
    cross_validated : Score or None
        The score of the chosen setting over its folds.
    predictions : Predictions
        What the model said of the test rows, or else of the training rows.
    n_asked : int
        How many rows there are of which `predictions` are some.
    scores : list of Score
        Scores of these, with intervals.
    curves : ClassifierCurves or None
        ROC, precision and recall, and calibration on these.
    machines : list of MachineSummary
        Importances, shape functions and contributions, machine by machine.
    n_machines : int
        How many machines the model has.
    leaderboard : list of dict
        Rows of a table of rivals, if one was given.
    settings : ModelSettings
        What is needed to make the model again.
    """

    model_name: str
    is_classifier: bool
    data: DataSummary
    selection: SelectionCurve | None
    cross_validated: Score | None
    predictions: Predictions
    n_asked: int
    scores: list[Score]
    curves: ClassifierCurves | None
    machines: list[MachineSummary]
    n_machines: int
    leaderboard: list[dict[str, Any]]
    settings: ModelSettings

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
    ) -> Self:
        """Return what is to be said of a model that was fitted on `X` and `y`.

        The parameters are those of `write_report`.
        """
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test belong together: give both, or none")
        labels = machine_labels(model)
        shown = min(len(labels), MAX_MACHINES)
        background = RowSample.draw(X, y, most_rows(model.n_features_in_, shown))
        if X_test is None:
            asked = RowSample.draw(X, y, SCORED_ROWS)
            predictions = Predictions.from_estimator(model, asked.X, asked.y, "training rows")
        else:
            asked = RowSample.draw(X_test, y_test, SCORED_ROWS, "X_test")
            predictions = Predictions.from_estimator(model, asked.X, asked.y, "test rows")
        chosen = notable_rows(predictions) if rows is None else _places(rows, asked)
        machines = machine_summaries(model, background, asked, predictions, chosen)
        view = EnsembleView.from_estimator(model, background.X, 0)
        assert view.background is not None
        return cls(
            type(model).__name__,
            is_classifier(model),
            data_summary(model, y, background, view.background, view.feature_names),
            selection_curve(model),
            cross_validated(model),
            predictions,
            asked.n_rows,
            scores(predictions),
            classifier_curves(predictions),
            machines,
            len(labels),
            [dict(each) for each in leaderboard or ()],
            model_settings(model),
        )

    @property
    def importances(self) -> dict[str, float]:
        """The mean share of each feature over the machines, the largest first."""
        return mean_importances(self.machines)


def _places(rows: Sequence[int], asked: RowSample) -> IntArray:
    """Return where rows that were chosen by place are among those that were asked of."""
    places = np.asarray(rows)
    is_wrong = places.ndim != 1 or len(places) == 0 or places.dtype.kind not in "iu"
    if is_wrong or places.min() < 0 or places.max() >= asked.n_rows or len(places) > MAX_ROWS:
        raise ValueError(
            f"rows = {rows!r}: give between 1 and {MAX_ROWS} places of rows, each below "
            f"{asked.n_rows}"
        )
    if asked.is_part:
        absent = np.setdiff1d(places, asked.places)
        if len(absent) > 0:
            raise ValueError(
                f"rows = {rows!r}: row {absent[0]} is not among the {len(asked.places):,} rows "
                "that were drawn of so many: give fewer rows that hold it as X_test"
            )
    return np.searchsorted(asked.places, places)

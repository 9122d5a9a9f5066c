"""Summary of each machine of a model: importances, feature plots and explained rows."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kernsemble._counts import readable
from kernsemble._model_cards import kernel_text
from kernsemble._typing import FloatArray, IntArray
from kernsemble.inspection import (
    EnsembleView,
    Explanation,
    Importances,
    PairFunction,
    by_class,
    feature_importances,
)
from kernsemble.inspection.class_machines import n_background
from kernsemble.inspection.fitted_models import FittedModel, column_categories, column_dates
from kernsemble.inspection.predictions import Predictions
from kernsemble.report.data_summary import category_name
from kernsemble.report.feature_plots import FeaturePlot, feature_plot, points_of
from kernsemble.report.readable_axis import date_text
from kernsemble.report.row_samples import RowSample, rows_at
from kernsemble.report.shape_bands import ShapeBands

MAX_MACHINES = 12  # maximum number of machines shown
MAX_PLOTS = 80  # maximum number of feature plots
MAX_PAIRS = 24  # maximum number of heat maps of pairs
MAX_BARS = 12  # maximum number of contributions shown per row
MAX_ROWS = 12  # maximum number of explained rows


class Contribution(NamedTuple):
    """Contribution of a feature, with its value, to the decision value of a row."""

    feature: str
    value: str
    contribution: float


class ExplainedRow(NamedTuple):
    """A row with the largest contributions to its decision value, and the sum of the others."""

    row_index: int
    true: str
    predicted: str
    decision: float
    intercept: float
    contributions: list[Contribution]
    n_others: int
    others: float


@dataclass(frozen=True, eq=False)
class MachineSummary:
    """Summary of one machine of a model.

    Attributes
    ----------
    label : str
        Class that the machine is for; of two classes both, the positive one first; or
        "prediction".
    is_additive : bool
        Whether the machine is a sum over features.
    interactions : list of str
        Terms that depend on several features.
    importances : dict
        Importance of each feature, the largest first.
    importance_errors : dict
        Standard error of each importance, zero if they are exact.
    importance_method, contribution_method : str
        Methods of the importances and of the contributions.
    features : list of FeaturePlot
        Plots of the most important features.
    pairs : list of PairFunction
        Functions of the most important pairs of features.
    rows : list of ExplainedRow
        Explained rows.
    """

    label: str
    is_additive: bool
    interactions: list[str]
    importances: dict[str, float]
    importance_errors: dict[str, float]
    importance_method: str
    contribution_method: str
    features: list[FeaturePlot]
    pairs: list[PairFunction]
    rows: list[ExplainedRow]


def machine_labels(model: Any) -> list[str]:
    """Return the labels of the machines of a model, one per class if there are several."""
    return by_class(model).labels


class RowsToExplain(NamedTuple):
    """Rows to explain, their indices in the data, and their true and predicted targets."""

    X: Any
    targets: list[tuple[int, str, str]]

    @classmethod
    def from_sample(cls, model: Any, sample: RowSample, places: IntArray) -> "RowsToExplain":
        """Return rows of a sample by place, predicted by the model."""
        rows = rows_at(sample.X, places)
        known = zip(sample.indices[places], sample.y[places], model.predict(rows), strict=True)
        return cls(
            rows, [(int(k), target_text(true), target_text(found)) for k, true, found in known]
        )


def target_text(target: Any) -> str:
    """Return a class or a number as text."""
    return readable(float(target)) if isinstance(target, (float, np.floating)) else str(target)


def machine_summaries(
    model: Any, background: RowSample, rows: RowsToExplain, bands: ShapeBands | None
) -> list[MachineSummary]:
    """Return the summaries of at most `MAX_MACHINES` machines.

    Shape functions are centred on `background`.
    """
    fitted = by_class(model)
    importances = feature_importances(model, background.X, MAX_MACHINES)
    return [
        _machine_summary(fitted, machine, background, rows, each, len(importances), bands)
        for machine, each in enumerate(importances.values())
    ]


def _machine_summary(
    model: FittedModel,
    machine: int,
    background: RowSample,
    rows: RowsToExplain,
    importances: Importances,
    n_machines: int,
    bands: ShapeBands | None,
) -> MachineSummary:
    view = EnsembleView.from_estimator(model, background.X, machine)
    data, n_columns = view.background, len(view.feature_names)
    assert data is not None
    n = n_background(n_columns, n_machines, model.n_kernel_values)
    settings: dict[str, Any] = {"n_background": n, "n_permutations": 2 * n}
    explained = None
    if not view.is_additive:
        step = max(1, len(background.y) // n)
        some = rows_at(background.X, np.arange(0, len(background.y), step)[:n])
        view = EnsembleView.from_estimator(model, some, machine)
        explained = view.explain(some, **settings)
    explanation = view.explain(rows.X, **settings)
    order = sorted(importances.shares, key=lambda name: -importances.shares[name])
    shown = order[: max(1, MAX_PLOTS // n_machines)]
    return MachineSummary(
        view.label,
        view.is_additive,
        [kernel_text(each) for each in view.interactions],
        {name: importances.shares[name] for name in order},
        importances.standard_errors,
        importances.method,
        explanation.method,
        _feature_plots(view, shown, data, explained, bands),
        view.pairs()[: max(1, MAX_PAIRS // n_machines)],
        [_explained_row(model.fitted, explanation, k, each) for k, each in enumerate(rows.targets)],
    )


def _feature_plots(
    view: EnsembleView,
    names: list[str],
    data: FloatArray,
    explained: Explanation | None,
    bands: ShapeBands | None,
) -> list[FeaturePlot]:
    known, found = column_categories(view.model.fitted), []
    for name in names:
        d = view.feature_names.index(name)
        points = None if explained is None else points_of(explained, d)
        error = None
        if bands is not None:
            error = partial(bands.standard_error, view.machine, name, known=known[d])
        found.append(
            feature_plot(
                name,
                view.shapes[name],
                view.densities[name],
                data[:, d],
                known[d],
                points,
                error,
                d in column_dates(view.model.fitted),
            )
        )
    return found


def _explained_row(
    model: Any, explanation: Explanation, k: int, targets: tuple[int, str, str]
) -> ExplainedRow:
    known, dates, mine = column_categories(model), column_dates(model), explanation.contributions[k]
    order = np.argsort(-np.abs(mine), kind="stable")
    shown, others = order[:MAX_BARS], order[MAX_BARS:]
    return ExplainedRow(
        *targets,
        float(explanation.values[k]),
        float(explanation.intercept),
        [
            Contribution(
                explanation.feature_names[d],
                _value_text(explanation.rows[k, d], known[d], d in dates),
                float(mine[d]),
            )
            for d in shown
        ],
        len(others),
        float(mine[others].sum()),
    )


def _value_text(value: float, known: tuple[Any, ...] | None, is_date: bool) -> str:
    if known is not None:
        return category_name(known, value)
    if np.isnan(value):
        return "missing"
    return date_text(value) if is_date else f"{value:.5g}"


def notable_rows(predictions: Predictions) -> IntArray:
    """Return the indices of notable rows: the most confident, the closest and the worst errors.

    For a regressor the smallest, median and largest predictions, and the largest residuals.
    """
    margins = predictions.margins
    if predictions.classes is None:
        order = np.argsort(predictions.predicted, kind="stable")
        residuals = np.argsort(-np.abs(predictions.y - predictions.predicted), kind="stable")
        found = [order[0], order[len(order) // 2], order[-1], *residuals[:2]]
    elif margins is None:
        found = list(range(min(len(predictions.y), 4)))
    else:
        found = [
            np.flatnonzero(predictions.y == each)[margins[predictions.y == each].argmax()]
            for each in np.unique(predictions.y)[:4]
        ]
        found += [np.abs(margins).argmin(), *np.argsort(margins, kind="stable")[:2]]
    return np.array(list(dict.fromkeys(map(int, found))), dtype=np.intp)


def mean_importances(machines: list[MachineSummary]) -> dict[str, float]:
    """Return the mean importance of each feature over machines, the largest first."""
    names = list(machines[0].importances)
    shares: FloatArray = np.array([[each.importances[name] for name in names] for each in machines])
    means = dict(zip(names, shares.mean(axis=0).tolist(), strict=True))
    return dict(sorted(means.items(), key=lambda item: -item[1]))

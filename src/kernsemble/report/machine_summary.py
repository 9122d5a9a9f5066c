"""Summary of each machine of a model: importances, feature plots and explained rows."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.inspection import EnsembleView, Explanation
from kernsemble.inspection.fitted_models import as_fitted_model, column_categories
from kernsemble.inspection.predictions import Predictions
from kernsemble.report.data_summary import category_name
from kernsemble.report.feature_plots import FeaturePlot, feature_plot, points_of
from kernsemble.report.row_samples import RowSample, rows_at

MAX_MACHINES = 12  # maximum number of machines shown
MAX_PLOTS = 80  # maximum number of feature plots
MAX_BARS = 12  # maximum number of contributions shown per row
MAX_ROWS = 12  # maximum number of explained rows
EVALUATIONS = 200_000  # approximate number of evaluations to explain interactions


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
        Classes that the machine separates, the positive one first; or "prediction".
    is_additive : bool
        Whether the machine is a sum over features.
    interactions : list of str
        Terms that depend on several features.
    importances : dict
        Importance of each feature, the largest first.
    importance_method, contribution_method : str
        Methods of the importances and of the contributions.
    features : list of FeaturePlot
        Plots of the most important features.
    rows : list of ExplainedRow
        Explained rows.
    """

    label: str
    is_additive: bool
    interactions: list[str]
    importances: dict[str, float]
    importance_method: str
    contribution_method: str
    features: list[FeaturePlot]
    rows: list[ExplainedRow]


def machine_labels(model: Any) -> list[str]:
    """Return the labels of the machines of a model."""
    return as_fitted_model(model).labels


def n_background(n_columns: int, n_machines: int) -> int:
    """Return the number of background rows for interactions that takes seconds."""
    affordable = np.sqrt(EVALUATIONS / (2.0 * n_columns * n_machines))
    return int(np.clip(affordable, 4, 40))


def machine_summaries(
    model: Any, background: RowSample, scored: RowSample, predictions: Predictions, rows: IntArray
) -> list[MachineSummary]:
    """Return the summaries of at most `MAX_MACHINES` machines.

    Shape functions are centred on `background`; `rows` are indices into `scored`.
    """
    n_machines = min(len(machine_labels(model)), MAX_MACHINES)
    explained = rows_at(scored.X, rows)
    return [
        _machine_summary(
            model, k, n_machines, background, explained, _targets(scored, predictions, rows)
        )
        for k in range(n_machines)
    ]


def _targets(
    scored: RowSample, predictions: Predictions, rows: IntArray
) -> list[tuple[int, str, str]]:
    return [
        (int(scored.indices[row]), _text(predictions.y[row]), _text(predictions.predicted[row]))
        for row in rows
    ]


def _text(target: Any) -> str:
    return f"{target:.5g}" if isinstance(target, (float, np.floating)) else str(target)


def _machine_summary(
    model: Any,
    machine: int,
    n_machines: int,
    background: RowSample,
    rows: Any,
    targets: list[tuple[int, str, str]],
) -> MachineSummary:
    view = EnsembleView.from_estimator(model, background.X, machine)
    data, n_columns = view.background, len(view.feature_names)
    assert data is not None
    n = n_background(n_columns, n_machines)
    settings: dict[str, Any] = {"n_background": n, "n_permutations": 2 * n}
    explained = None
    if not view.is_additive:
        step = max(1, len(background.y) // n)
        some = rows_at(background.X, np.arange(0, len(background.y), step)[:n])
        view = EnsembleView.from_estimator(model, some, machine)
        explained = view.explain(some, **settings)
    importances = view.importances(**settings)
    explanation = view.explain(rows, **settings)
    order = sorted(importances.shares, key=lambda name: -importances.shares[name])
    return MachineSummary(
        view.label,
        view.is_additive,
        view.interactions,
        {name: importances.shares[name] for name in order},
        importances.method,
        explanation.method,
        _feature_plots(view, order[: max(1, MAX_PLOTS // n_machines)], data, explained),
        [_explained_row(model, explanation, k, each) for k, each in enumerate(targets)],
    )


def _feature_plots(
    view: EnsembleView, names: list[str], data: FloatArray, explained: Explanation | None
) -> list[FeaturePlot]:
    known, found = column_categories(view.model.fitted), []
    for name in names:
        d = view.feature_names.index(name)
        points = None if explained is None else points_of(explained, d)
        found.append(
            feature_plot(
                name,
                view.shapes[name],
                view.densities[name],
                data[:, d],
                known[d],
                points,
            )
        )
    return found


def _explained_row(
    model: Any, explanation: Explanation, k: int, targets: tuple[int, str, str]
) -> ExplainedRow:
    known, mine = column_categories(model), explanation.contributions[k]
    order = np.argsort(-np.abs(mine), kind="stable")
    shown, others = order[:MAX_BARS], order[MAX_BARS:]
    return ExplainedRow(
        *targets,
        float(explanation.values[k]),
        float(explanation.intercept),
        [
            Contribution(
                explanation.feature_names[d],
                _value_text(explanation.rows[k, d], known[d]),
                float(mine[d]),
            )
            for d in shown
        ],
        len(others),
        float(mine[others].sum()),
    )


def _value_text(value: float, known: tuple[Any, ...] | None) -> str:
    if known is not None:
        return category_name(known, value)
    return "missing" if np.isnan(value) else f"{value:.5g}"


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

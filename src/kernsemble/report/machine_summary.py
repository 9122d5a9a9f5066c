"""What the machines of a model make of features and of chosen rows."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.inspection import EnsembleView, Explanation
from kernsemble.inspection.fitted_models import as_fitted_model
from kernsemble.inspection.predictions import Predictions
from kernsemble.report.data_summary import categories_of, category_name
from kernsemble.report.feature_plots import FeaturePlot, feature_plot, points_of
from kernsemble.report.row_samples import RowSample, rows_at

MAX_MACHINES = 12
MAX_PICTURES = 80
MAX_BARS = 12
MAX_ROWS = 12
EVALUATIONS = 200_000  # of a machine with interactions, to share these among features


class Contribution(NamedTuple):
    """What a feature with a value adds to the decision value of a row."""

    feature: str
    value: str
    contribution: float


class ExplainedRow(NamedTuple):
    """A row, and what features contribute to its decision value: the largest, and the rest."""

    place: int
    true: str
    predicted: str
    decision: float
    intercept: float
    contributions: list[Contribution]
    n_others: int
    others: float


@dataclass(frozen=True, eq=False)
class MachineSummary:
    """A machine of a model.

    Attributes
    ----------
    label : str
        What it decides: positive for the first.
    is_additive : bool
        Whether it is a sum over features; if not, `interactions` names what else there is.
    importances : dict
        The share of each feature, the largest first.
    importance_method, contribution_method : str
        How these and the contributions were found.
    features : list of FeaturePlot
        The most important features.
    rows : list of ExplainedRow
        The chosen rows.
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
    """Return what the machines of a model decide."""
    return as_fitted_model(model).labels


def n_background(n_columns: int, n_machines: int) -> int:
    """Return against how many rows interactions are told, so that it takes seconds."""
    affordable = np.sqrt(EVALUATIONS / (2.0 * n_columns * n_machines))
    return int(np.clip(affordable, 4, 40))


def machine_summaries(
    model: Any, background: RowSample, asked: RowSample, predictions: Predictions, rows: IntArray
) -> list[MachineSummary]:
    """Return what the machines say, at most twelve of them.

    Shape functions are centred on `background`, rows are places among those `asked` of.
    """
    n_machines = min(len(machine_labels(model)), MAX_MACHINES)
    chosen = rows_at(asked.X, rows)
    return [
        _machine_summary(model, k, n_machines, background, chosen, _said(asked, predictions, rows))
        for k in range(n_machines)
    ]


def _said(asked: RowSample, predictions: Predictions, rows: IntArray) -> list[tuple[int, str, str]]:
    return [
        (int(asked.places[row]), _text(predictions.y[row]), _text(predictions.predicted[row]))
        for row in rows
    ]


def _text(target: Any) -> str:
    return f"{target:.5g}" if isinstance(target, (float, np.floating)) else str(target)


def _machine_summary(
    model: Any,
    machine: int,
    n_machines: int,
    background: RowSample,
    chosen: Any,
    said: list[tuple[int, str, str]],
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
    explanation = view.explain(chosen, **settings)
    order = sorted(importances.shares, key=lambda name: -importances.shares[name])
    return MachineSummary(
        view.label,
        view.is_additive,
        view.interactions,
        {name: importances.shares[name] for name in order},
        importances.method,
        explanation.method,
        _pictures(view, order[: max(1, MAX_PICTURES // n_machines)], data, explained),
        [_explained_row(model, explanation, k, each) for k, each in enumerate(said)],
    )


def _pictures(
    view: EnsembleView, names: list[str], data: FloatArray, explained: Explanation | None
) -> list[FeaturePlot]:
    known, found = categories_of(view.model.fitted), []
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
    model: Any, explanation: Explanation, k: int, said: tuple[int, str, str]
) -> ExplainedRow:
    known, mine = categories_of(model), explanation.contributions[k]
    order = np.argsort(-np.abs(mine), kind="stable")
    shown, others = order[:MAX_BARS], order[MAX_BARS:]
    return ExplainedRow(
        *said,
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
    """Return rows worth a look: the surest, the closest call and the worst errors.

    Of numbers the smallest, middle and largest predictions, and the largest residuals.
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
    """Return the mean share of each feature over machines, the largest first."""
    names = list(machines[0].importances)
    shares: FloatArray = np.array([[each.importances[name] for name in names] for each in machines])
    means = dict(zip(names, shares.mean(axis=0).tolist(), strict=True))
    return dict(sorted(means.items(), key=lambda item: -item[1]))

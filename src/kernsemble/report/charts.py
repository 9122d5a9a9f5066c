"""The charts of a summary, and what the reader can choose in them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kernsemble.report.machine_summary import ExplainedRow, MachineSummary
from kernsemble.report.plotly_figures import (
    area_figure,
    calibration_figure,
    feature_figure,
    importance_figure,
    prediction_figure,
    residual_figure,
    row_figure,
    selection_figure,
)
from kernsemble.report.summary import Summary


@dataclass(frozen=True, eq=False)
class Chart:
    """Figures of one kind, of which the reader sees one at a time.

    Attributes
    ----------
    name : str
        A word that names it on the page.
    caption : str
        What it shows, in a sentence.
    figures : list
        Plotly figures, the last choice changing first.
    choices : dict
        What the reader chooses by, each with its options; empty for one figure.
    """

    name: str
    caption: str
    figures: list[Any]
    choices: dict[str, list[str]] = field(default_factory=dict)


def charts(summary: Summary) -> dict[str, Chart]:
    """Return the charts of a summary, by name."""
    return {chart.name: chart for chart in _charts(summary)}


def _charts(summary: Summary) -> Iterator[Chart]:
    where = summary.predictions.where
    if summary.selection is not None:
        curve = summary.selection
        yield Chart(
            "selection",
            f"Cross-validated {curve.measure} against {curve.parameter}, bars of one standard "
            f"error over {curve.n_folds} folds. The diamond is what was chosen.",
            [selection_figure(curve)],
        )
    if summary.curves is not None:
        yield Chart(
            "roc",
            f"ROC on the {where}: the share of a class that is found, against the share of others "
            "taken for it.",
            [area_figure(summary.curves.roc, "false alarms", "found", is_diagonal=True)],
        )
        yield Chart(
            "precision",
            f"Precision against recall on the {where}.",
            [area_figure(summary.curves.precision_recall, "recall", "precision")],
        )
        if summary.curves.calibration:
            yield Chart(
                "calibration",
                f"Calibration on the {where}: how often what was given a probability came true, "
                "with 95 % Wilson intervals. On the dotted line probabilities are right.",
                [calibration_figure(summary.curves.calibration)],
            )
    if not summary.is_classifier:
        yield Chart(
            "predictions",
            f"Observed against predicted numbers on the {where}. On the dotted line both agree.",
            [prediction_figure(summary.predictions)],
        )
        yield Chart(
            "residuals",
            f"Residuals, observed less predicted, on the {where}.",
            [residual_figure(summary.predictions)],
        )
    yield Chart(
        "importances",
        f"The most important features: {summary.machines[0].importance_method}"
        + (", mean over machines." if len(summary.machines) > 1 else "."),
        [importance_figure(summary.importances)],
    )
    yield from _machine_charts(summary.machines)


def _machine_charts(machines: list[MachineSummary]) -> Iterator[Chart]:
    by_machine = {"Machine": [each.label for each in machines]} if len(machines) > 1 else {}
    names = [picture.name for picture in machines[0].features]
    pictures = [{each.name: each for each in machine.features} for machine in machines]
    names = [name for name in names if all(name in each for each in pictures)]
    yield Chart(
        "shapes",
        _feature_caption(machines[0]),
        [feature_figure(each[name]) for each in pictures for name in names],
        {**by_machine, "Feature": names},
    )
    yield Chart(
        "contributions",
        "What each feature contributes to the decision value of a row, the largest first.",
        [row_figure(row, machine.label) for machine in machines for row in machine.rows],
        {**by_machine, "Row": [_row_name(row) for row in machines[0].rows]},
    )


def _feature_caption(machine: MachineSummary) -> str:
    if machine.is_additive:
        return (
            "What the machine adds for each value of a feature, at which thresholds its stumps "
            "vote, and where the data lie."
        )
    return "What a feature contributes to rows (dots) against its value, and where the data lie."


def _row_name(row: ExplainedRow) -> str:
    return f"row {row.place}: true {row.true}, predicted {row.predicted}"

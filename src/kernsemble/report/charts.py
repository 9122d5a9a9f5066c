"""The charts of a report: figures, captions and selectors."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kernsemble._value_object import short_repr
from kernsemble.report.feature_figure import feature_figure
from kernsemble.report.machine_summary import ExplainedRow, MachineSummary
from kernsemble.report.plotly_figures import (
    area_figure,
    calibration_figure,
    importance_figure,
    pair_figure,
    prediction_figure,
    residual_figure,
    row_figure,
    selection_figure,
    value_name,
)
from kernsemble.report.summary import Summary


@dataclass(frozen=True, eq=False)
class Chart:
    """Figures of one kind, of which the page shows one at a time.

    Attributes
    ----------
    name : str
        Name of the chart on the page.
    caption : str
        Caption, one sentence.
    figures : list
        Plotly figures, one for each combination of choices, the last choice varying fastest.
    choices : dict of str to list of str
        Choices of the reader, such as the feature, with their options; empty for one figure.
    """

    name: str
    caption: str
    figures: list[Any]
    choices: dict[str, list[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return short_repr(self)


def charts(summary: Summary) -> dict[str, Chart]:
    """Return the charts of a summary by name."""
    return {chart.name: chart for chart in _charts(summary)}


def _charts(summary: Summary) -> Iterator[Chart]:
    where = summary.predictions.where
    if summary.selection is not None:
        curve = summary.selection
        yield Chart(
            "selection",
            f"Cross-validated {curve.measure} by {curve.parameter}, with error bars of one "
            f"standard error over {curve.n_folds} folds. The diamond marks the selected value.",
            [selection_figure(curve)],
        )
    if summary.curves is not None:
        yield Chart(
            "roc",
            f"ROC curve on the {where}, with the area under the curve (AUC) in brackets. The "
            "dotted line is a random classifier.",
            [
                area_figure(
                    summary.curves.roc,
                    "false positive rate",
                    "true positive rate",
                    is_diagonal=True,
                )
            ],
        )
        yield Chart(
            "precision",
            f"Precision-recall curve on the {where}, with the average precision in brackets.",
            [
                area_figure(
                    summary.curves.precision_recall, "recall (true positive rate)", "precision"
                )
            ],
        )
        if summary.curves.calibration:
            yield Chart(
                "calibration",
                f"Calibration curve on the {where}: observed frequency by predicted probability, "
                "with 95 % Wilson intervals. On the dotted line the probabilities are perfectly "
                "calibrated.",
                [calibration_figure(summary.curves.calibration)],
            )
    if not summary.is_classifier:
        yield Chart(
            "predictions",
            f"Observed and predicted targets on the {where}. On the dotted line they are equal.",
            [prediction_figure(summary.predictions)],
        )
        yield Chart(
            "residuals",
            f"Distribution of the residuals (observed minus predicted) on the {where}.",
            [residual_figure(summary.predictions)],
        )
    yield _importance_chart(summary)
    yield from _machine_charts(summary)


def _importance_chart(summary: Summary) -> Chart:
    machines = summary.machines
    method = machines[0].importance_method
    is_exact = not any(any(each.importance_errors.values()) for each in machines)
    error = "" if is_exact else " Bars are ± one standard error of the sampled importances."
    if len(machines) == 1:
        only = machines[0]
        figures = [importance_figure(only.importances, only.importance_errors)]
        return Chart("importances", f"Feature importance: {method}.{error}", figures)
    figures = [importance_figure(summary.importances, {})]
    figures += [importance_figure(each.importances, each.importance_errors) for each in machines]
    labels = ["all classes (mean)", *(each.label for each in machines)]
    return Chart("importances", f"Feature importance: {method}.{error}", figures, {"Class": labels})


def _machine_charts(summary: Summary) -> Iterator[Chart]:
    machines, unit = summary.machines, summary.unit
    by_machine = {"Class": [each.label for each in machines]} if len(machines) > 1 else {}
    plots = [{each.name: each for each in machine.features} for machine in machines]
    names = [name for name in plots[0] if all(name in each for each in plots)]
    yield Chart(
        "shapes",
        _feature_caption(machines[0], unit, summary.bands is not None),
        [feature_figure(each[name], unit) for each in plots for name in names],
        {**by_machine, "Feature": names},
    )
    pairs = [{" × ".join(each.names): each for each in machine.pairs} for machine in machines]
    shown = [name for name in pairs[0] if all(name in each for each in pairs)]
    if shown:
        yield Chart(
            "pairs",
            f"Function of a pair of features: its contribution ({unit}) in each cell, which has "
            "mean zero over either feature.",
            [pair_figure(each[name], unit) for each in pairs for name in shown],
            {**by_machine, "Pair": shown},
        )
    yield Chart(
        "contributions",
        f"Contribution of each feature to the {value_name(machines[0], unit)} of a row, the "
        "largest first.",
        [row_figure(row, machine.label, unit) for machine in machines for row in machine.rows],
        {**by_machine, "Row": [_row_name(row) for row in machines[0].rows]},
    )


def _feature_caption(machine: MachineSummary, unit: str, has_bands: bool) -> str:
    if machine.is_additive:
        band = ", with a band of ± 2 standard errors" if has_bands else ""
        return (
            f"Shape function of a feature: its contribution ({unit}) by value{band}; weight of "
            "the stumps by threshold; and histogram of the data."
        )
    return (
        f"Contributions ({unit}) of a feature to rows (dots) by its value, and histogram of the "
        "data."
    )


def _row_name(row: ExplainedRow) -> str:
    return f"row {row.row_index + 1}: true {row.true}, predicted {row.predicted}"

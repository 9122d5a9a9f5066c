"""Plotly figures, without colours: the theme of the page sets them."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from kernsemble.inspection import PairFunction
from kernsemble.inspection.predictions import Predictions
from kernsemble.inspection.scores import format_score
from kernsemble.report.machine_summary import Contribution, ExplainedRow, MachineSummary
from kernsemble.report.plotly_support import go
from kernsemble.report.roc_and_calibration import AreaCurve, CalibrationCurve
from kernsemble.report.selection_curve import SelectionCurve

MAX_IMPORTANCES = 20  # maximum number of features in the plot of importances
MAX_POINTS = 1_500  # maximum number of points in a scatter plot
MAX_TICKS = 12  # maximum number of labels of an axis of a heat map
MAX_LABEL = 27  # maximum number of characters of an axis label
GREY = "#8a8a8a"  # visible on white and on black


def selection_figure(curve: SelectionCurve) -> Any:
    """Plot cross-validated scores along a grid."""
    figure = go.Figure()
    for line in curve.lines:
        figure.add_scatter(
            x=line.values,
            y=line.scores,
            error_y={"array": line.standard_errors, "thickness": 1, "width": 3},
            mode="lines+markers",
            name=short_label(line.name or curve.measure, 48),
        )
    figure.add_scatter(
        x=[curve.selected[0]],
        y=[curve.selected[1]],
        mode="markers",
        marker={"symbol": "diamond-open", "size": 16, "color": GREY, "line": {"width": 3}},
        name="selected",
    )
    low, high = min(curve.lines[0].values), max(curve.lines[0].values)
    spread = high / low if low > 0.0 else 1.0
    scale = {"type": "log", "dtick": 1 if spread < 1e6 else 2, "exponentformat": "power"}
    axis = {"title": {"text": escape(curve.parameter)}, **(scale if spread > 20 else {})}
    return figure.update_layout(
        xaxis=axis, yaxis={"title": {"text": escape(curve.measure)}}, showlegend=True, height=380
    )


def area_figure(
    curves: Sequence[AreaCurve], x_title: str, y_title: str, is_diagonal: bool = False
) -> Any:
    """Plot ROC or precision-recall curves."""
    figure = go.Figure()
    for each in curves:
        figure.add_scatter(
            x=each.x, y=each.y, mode="lines", name=f"{short_label(each.name)} ({each.area:.3f})"
        )
    if is_diagonal:
        figure.add_scatter(**_diagonal(0.0, 1.0))
    return figure.update_layout(
        xaxis={"title": {"text": x_title}, "range": [-0.02, 1.02]},
        yaxis={"title": {"text": y_title}, "range": [-0.02, 1.02]},
        showlegend=True,
        height=380,
    )


def calibration_figure(curves: Sequence[CalibrationCurve]) -> Any:
    """Plot calibration curves."""
    figure = go.Figure()
    for each in curves:
        share = np.array(each.share)
        figure.add_scatter(
            x=each.probability,
            y=each.share,
            error_y={
                "array": np.maximum(each.high - share, 0.0).tolist(),
                "arrayminus": np.maximum(share - each.low, 0.0).tolist(),
                "thickness": 1,
                "width": 3,
            },
            mode="lines+markers",
            name=short_label(each.name),
            customdata=each.n_rows,
            hovertemplate="probability %{x:.3f}, frequency %{y:.3f}, %{customdata} rows",
        )
    figure.add_scatter(**_diagonal(0.0, 1.0))
    return figure.update_layout(
        xaxis={"title": {"text": "predicted probability"}, "range": [-0.02, 1.02]},
        yaxis={"title": {"text": "observed frequency"}, "range": [-0.02, 1.02]},
        showlegend=True,
        height=380,
    )


def prediction_figure(predictions: Predictions) -> Any:
    """Plot observed against predicted targets, of at most `MAX_POINTS` rows."""
    step = max(1, -(-len(predictions.y) // MAX_POINTS))
    y, predicted = predictions.y[::step], predictions.predicted[::step]
    figure = go.Figure()
    ends = min(y.min(), predicted.min()), max(y.max(), predicted.max())
    figure.add_scatter(
        x=predicted.tolist(), y=y.tolist(), mode="markers", name="rows", marker={"opacity": 0.6}
    )
    figure.add_scatter(**_diagonal(*map(float, ends)))
    return figure.update_layout(
        xaxis={"title": {"text": "predicted"}},
        yaxis={"title": {"text": "observed"}},
        height=380,
        **without_legend(),
    )


def residual_figure(predictions: Predictions) -> Any:
    """Plot a histogram of the residuals."""
    counts, edges = np.histogram(predictions.y - predictions.predicted, bins=40)
    figure = go.Figure()
    figure.add_bar(**histogram_bars(edges.tolist(), counts.tolist()), name="rows")
    return figure.update_layout(
        xaxis={"title": {"text": "residual"}},
        yaxis={"title": {"text": "rows"}},
        height=380,
        **without_legend(),
    )


def importance_figure(importances: dict[str, float], errors: dict[str, float]) -> Any:
    """Plot the most important features, with standard errors unless they are zero."""
    names = list(importances)[:MAX_IMPORTANCES]
    spread = [errors.get(name, 0.0) for name in names]
    bars = {"error_x": {"array": spread, "thickness": 1, "width": 3}} if any(spread) else {}
    figure = go.Figure()
    figure.add_bar(
        x=[importances[name] for name in names],
        y=list(range(len(names))),
        orientation="h",
        text=[escape(name) for name in names],
        textposition="none",
        hovertemplate="%{text}: %{x:.1%}<extra></extra>",
        name="importance",
        **bars,
    )
    return figure.update_layout(
        xaxis={"title": {"text": "feature importance"}, "tickformat": ".0%"},
        yaxis=_names_axis(names),
        height=60 + 22 * len(names),
        **without_legend(),
    )


def pair_figure(pair: PairFunction, unit: str) -> Any:
    """Plot the function of a pair of features as a heat map."""
    first, second, heights = pair.present()
    limit = float(np.abs(heights).max()) or 1.0
    figure = go.Figure()
    figure.add_heatmap(
        z=heights.tolist(),
        zmin=-limit,
        zmax=limit,
        colorscale="RdBu",
        reversescale=True,
        colorbar={"title": {"text": escape(unit)}, "thickness": 12},
        customdata=[[f"{escape(a)}, {escape(b)}" for b in second] for a in first],
        hovertemplate="%{customdata}: %{z:+.4g}<extra></extra>",
        name="contribution",
    )
    axes = {
        axis: {
            "title": {"text": escape(name)},
            "tickmode": "array",
            "tickvals": list(range(0, len(labels), len(labels) // MAX_TICKS + 1)),
            "ticktext": [short_label(each) for each in labels[:: len(labels) // MAX_TICKS + 1]],
            "automargin": True,
        }
        for axis, name, labels in zip(("yaxis", "xaxis"), pair.names, (first, second), strict=True)
    }
    meta = {"note": f"Importance of the pair: {pair.share:.1%}."}
    return figure.update_layout(meta=meta, height=420, **axes, **without_legend())


def row_figure(row: ExplainedRow, label: str, unit: str) -> Any:
    """Plot the contributions of features to a row, coloured by sign."""
    bars = [
        (f"{each.feature} = {each.value}", _value_label(each), each.contribution)
        for each in row.contributions
    ]
    if row.n_others:
        bars.append(
            (f"{row.n_others} other features", f"{row.n_others} other features", row.others)
        )
    figure, sides = go.Figure(), _sides(label)
    for side, sign in zip(sides, (1, -1), strict=True):
        mine = [(k, name, phi) for k, (name, _, phi) in enumerate(bars) if np.sign(phi) == sign]
        figure.add_bar(
            x=[phi for _, _, phi in mine],
            y=[k for k, _, _ in mine],
            orientation="h",
            width=0.8,
            text=[escape(name) for _, name, _ in mine],
            textposition="none",
            hovertemplate="%{text}: %{x:+.4g}<extra></extra>",
            name=short_label(side, 40),
        )
    value = "prediction" if label == "prediction" else unit
    return figure.update_layout(
        meta={
            "note": f"The {value} {format_score(row.decision, has_unit=True)} is the base value "
            f"{format_score(row.intercept, has_unit=True)} plus the contributions."
        },
        xaxis={"title": {"text": f"contribution ({escape(unit)})"}, "zeroline": True},
        yaxis=_names_axis([label for _, label, _ in bars]),
        barmode="overlay",
        showlegend=True,
        height=150 + 24 * len(bars),
    )


def value_name(machine: MachineSummary, unit: str) -> str:
    """Return the name of the value that contributions add up to."""
    return "prediction" if machine.label == "prediction" else unit


def _value_label(each: Contribution) -> str:
    """Return the label of a feature and its value, shortening the name first."""
    value = each.value if len(each.value) <= MAX_LABEL // 2 else f"{each.value[: MAX_LABEL // 2]}…"
    room = MAX_LABEL - len(value) - 3
    name = each.feature if len(each.feature) <= room else f"{each.feature[: room - 1]}…"
    return f"{name} = {value}"


def _sides(label: str) -> tuple[str, str]:
    """Return the names of positive and negative contributions."""
    first, found, second = label.partition(" vs ")
    if not found and label == "prediction":
        return "increases the prediction", "decreases the prediction"
    if not found:
        return f"for {label}", f"against {label}"
    return f"for {first}", f"for {second}"


def _names_axis(names: Sequence[str]) -> dict[str, Any]:
    """Return an axis labelled by names, the first on top."""
    return {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": [short_label(name) for name in names],
        "range": [len(names) - 0.5, -0.5],
        "automargin": True,
    }


def without_legend() -> dict[str, Any]:
    """Return the margin of a figure without a legend."""
    return {"margin": {"t": 12}}


def histogram_bars(edges: list[float], counts: list[int]) -> dict[str, Any]:
    """Return the bars of a histogram, between its edges."""
    low, high = np.array(edges[:-1]), np.array(edges[1:])
    return {"x": (0.5 * (low + high)).tolist(), "y": counts, "width": (high - low).tolist()}


def _diagonal(low: float, high: float) -> dict[str, Any]:
    return {
        "x": [low, high],
        "y": [low, high],
        "mode": "lines",
        "line": {"dash": "dot", "color": GREY},
        "showlegend": False,
        "hoverinfo": "skip",
        "name": "reference",
    }


def short_label(name: str, longest: int = MAX_LABEL) -> str:
    """Return a shortened name, escaped because Plotly interprets HTML."""
    return escape(name if len(name) <= longest else f"{name[: longest - 1]}…", quote=False)

"""The figure of one feature: shape function, weight of the stumps, histogram, missing values."""

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np

from kernsemble.report.feature_plots import FeaturePlot
from kernsemble.report.plotly_figures import GREY, histogram_bars, short_label, without_legend
from kernsemble.report.plotly_support import make_subplots

BAND = "rgba(138, 138, 138, 0.28)"  # visible on white and on black
WIDTHS = [0.87, 0.13]  # of numbers, and of missing values

Panel = tuple[str, float, Callable[[Any, FeaturePlot, int], None]]


def feature_figure(plot: FeaturePlot, unit: str) -> Any:
    """Plot a feature in panels below each other, missing values in a panel at the right."""
    panels = _panels(plot, unit)
    heights = [share for _, share, _ in panels] or [1.0]
    has_missing = plot.missing is not None
    n_columns = 2 if has_missing else 1
    figure = make_subplots(
        rows=len(heights),
        cols=n_columns,
        shared_xaxes="columns",
        vertical_spacing=0.05,
        horizontal_spacing=0.02,
        row_heights=heights,
        column_widths=WIDTHS if has_missing else None,
    )
    for row, (title, _, add) in enumerate(panels, start=1):
        add(figure, plot, row)
        figure.update_yaxes(title_text=title, row=row, col=1)
    if has_missing:
        _add_missing(figure, plot, len(panels))
        _share_ranges(figure, plot, len(panels))
    _format_axis(figure, plot, len(heights))
    return figure.update_layout(height=520, bargap=0.0, showlegend=False, **without_legend())


def _panels(plot: FeaturePlot, unit: str) -> list[Panel]:
    panels: list[Panel] = []
    if plot.shape or plot.points_x:
        panels.append((f"contribution<br>({escape(unit)})", 0.55, _add_shape))
    if plot.densities:
        panels.append(("weight of<br>stumps", 0.25, _add_densities))
    if plot.thresholds:
        panels.append(("weight of<br>stumps", 0.25, _add_thresholds))
    if plot.counts:
        panels.append(("rows", 0.2, _add_data))
    return panels


def _format_axis(figure: Any, plot: FeaturePlot, last: int) -> None:
    name = short_label(plot.name, 60)
    if plot.categories is not None:
        ticks = list(range(len(plot.categories)))
        names = [short_label(each) for each in plot.categories]
        figure.update_xaxes(tickmode="array", tickvals=ticks, ticktext=names, col=1)
    elif plot.axis.kind == "log":
        figure.update_xaxes(type="log", col=1)
    elif plot.axis.kind in ("quantile", "date"):
        places, names = plot.axis.ticks
        figure.update_xaxes(tickmode="array", tickvals=places, ticktext=names, col=1)
    note = f" ({plot.axis.note})" if plot.axis.note else ""
    figure.update_xaxes(title_text=f"{name}{note}", row=last, col=1)


def _places(plot: FeaturePlot, x: list[float]) -> list[float]:
    return x if plot.categories is not None else plot.axis.place(np.array(x)).tolist()


def _values(plot: FeaturePlot, x: list[float]) -> dict[str, Any]:
    """Return the positions of values; on a quantile axis with the values themselves."""
    found: dict[str, Any] = {"x": _places(plot, x)}
    if plot.axis.kind == "quantile":
        found |= {"customdata": x, "hovertemplate": "%{customdata:.4g}: %{y:.4g}"}
        found["meta"] = "values"
    return found


def _add_shape(figure: Any, plot: FeaturePlot, row: int) -> None:
    place = {"row": row, "col": 1}
    if plot.categories is not None and plot.shape:
        errors = {"error_y": _error_bar(plot.errors)} if plot.errors else {}
        figure.add_bar(x=plot.x, y=plot.shape, width=0.8, name="contribution", **errors, **place)
    elif plot.shape:
        figure.add_scatter(
            **_values(plot, plot.x), y=plot.shape, mode="lines", name="contribution", **place
        )
        if plot.errors:
            _add_band(figure, plot, row)
    if plot.points_x:
        figure.add_scatter(
            **_values(plot, plot.points_x),
            y=plot.points_y,
            mode="markers",
            marker={"opacity": 0.7},
            name="rows",
            **place,
        )


def _add_band(figure: Any, plot: FeaturePlot, row: int) -> None:
    shape, width = np.array(plot.shape), 2.0 * np.array(plot.errors)
    figure.add_scatter(
        x=_places(plot, [*plot.x, *plot.x[::-1]]),
        y=[*(shape + width), *(shape - width)[::-1]],
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=BAND,
        hoverinfo="skip",
        name="± 2 standard errors",
        row=row,
        col=1,
    )


def _error_bar(errors: list[float]) -> dict[str, Any]:
    return {"array": [2.0 * each for each in errors], "thickness": 1, "width": 3, "color": GREY}


def _add_missing(figure: Any, plot: FeaturePlot, last: int) -> None:
    errors = {}
    if plot.missing_error is not None:
        errors = {"error_y": _error_bar([plot.missing_error])}
    figure.add_bar(x=[0], y=[plot.missing], width=0.6, name="missing value", **errors, row=1, col=2)
    if plot.counts:
        figure.add_bar(
            x=[0],
            y=[plot.n_missing],
            width=0.6,
            marker={"color": GREY},
            name="missing rows",
            row=last,
            col=2,
        )
    figure.update_xaxes(tickmode="array", tickvals=[0], ticktext=["missing"], col=2)
    figure.update_xaxes(range=[-0.6, 0.6], tickangle=0, col=2)


def _share_ranges(figure: Any, plot: FeaturePlot, last: int) -> None:
    """Give both columns of panels the same ranges."""
    width = 2.0 * np.array(plot.errors or [0.0])
    missing, error = plot.missing or 0.0, 2.0 * (plot.missing_error or 0.0)
    ends = [*(np.array(plot.shape) - width), *(np.array(plot.shape) + width)]
    ends += [missing - error, missing + error, 0.0, *plot.points_y]
    pad = 0.05 * (max(ends) - min(ends)) or 1.0
    ranges = {1: [min(ends) - pad, max(ends) + pad]}
    if plot.counts:
        ranges[last] = [0.0, 1.05 * max(*plot.counts, plot.n_missing)]
    for row in range(1, last + 1):
        figure.update_yaxes(showticklabels=False, row=row, col=2)
        if row in ranges:
            figure.update_yaxes(range=ranges[row], row=row)


def _add_densities(figure: Any, plot: FeaturePlot, row: int) -> None:
    for x, y in plot.densities:
        figure.add_scatter(
            **_values(plot, x),
            y=y,
            mode="lines",
            fill="tozeroy",
            name="weight of stumps per unit",
            row=row,
            col=1,
        )


def _add_thresholds(figure: Any, plot: FeaturePlot, row: int) -> None:
    for x, y in plot.thresholds:
        figure.add_scatter(
            **_values(plot, x),
            y=y,
            mode="markers",
            error_y={
                "array": [max(-each, 0.0) for each in y],
                "arrayminus": [max(each, 0.0) for each in y],
                "width": 0,
                "thickness": 2,
            },
            name="weight of stumps",
            row=row,
            col=1,
        )


def _add_data(figure: Any, plot: FeaturePlot, row: int) -> None:
    bars: dict[str, Any] = {"x": plot.x or list(range(len(plot.counts))), "y": plot.counts}
    if plot.categories is None:
        bars = histogram_bars(_places(plot, plot.edges), plot.counts)
    else:
        bars["width"] = 0.8
    figure.add_bar(**bars, marker={"color": GREY}, name="rows", row=row, col=1)

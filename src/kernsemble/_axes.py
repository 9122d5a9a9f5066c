"""Axes for Display objects; matplotlib is imported when one draws."""

from importlib import import_module
from typing import Any

import numpy as np

POSITIVE, NEGATIVE, NEUTRAL = "#2166ac", "#b2182b", "#666666"
PANELS_PER_ROW = 3


def pyplot() -> Any:
    """Return matplotlib's pyplot."""
    return _part_of_matplotlib("pyplot")


def panels_of_figure(n_rows: int, n_columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """Return a figure that pyplot does not manage, and an array of its panels."""
    figure = _part_of_matplotlib("figure").Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def _part_of_matplotlib(name: str) -> Any:
    try:
        return import_module(f"matplotlib.{name}")
    except ImportError as error:
        raise ImportError(
            "displays need matplotlib, which is not installed: pip install 'kernsemble[plot]'"
        ) from error


def one_axes(ax: Any) -> Any:
    """Return the given axes, or new ones."""
    return pyplot().subplots(layout="constrained")[1] if ax is None else ax


def several_axes(ax: Any, n: int) -> list[Any]:
    """Return axes for `n` panels: the given ones, or a new grid."""
    if ax is not None:
        given = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(given) < n:
            raise ValueError(f"ax has {len(given)} axes: pass {n}, one for each panel")
        return given[:n]
    n_columns = min(n, PANELS_PER_ROW)
    n_rows = -(-n // n_columns)
    size = (4.0 * n_columns, 3.0 * n_rows)
    figure, grid = pyplot().subplots(
        n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
    )
    for spare in grid.ravel()[n:]:
        figure.delaxes(spare)
    return list(grid.ravel()[:n])

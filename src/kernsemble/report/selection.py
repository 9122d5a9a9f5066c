"""How settings fared in the cross-validation that chose among them."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from kernsemble._model_selection import fold_scores
from kernsemble.inspection.scores import Score, fold_score

MOST_LINES = 8


class SelectionLine(NamedTuple):
    """The scores along a grid, all other settings being the same."""

    name: str
    values: list[float]
    scores: list[float]
    standard_errors: list[float]  # over the folds


class SelectionCurve(NamedTuple):
    """The scores of all settings, the best lines first, and what was chosen."""

    parameter: str
    measure: str
    is_error: bool  # whether less is better
    lines: list[SelectionLine]
    chosen: tuple[float, float]
    n_folds: int
    left_out: int  # lines


def measure_of(model: Any) -> str:
    """Return the name of the score by which a model chose."""
    asked = getattr(model, "scoring", None)
    if asked is None:
        return "accuracy" if is_classifier(model) else "R²"
    return asked.replace("_", " ") if isinstance(asked, str) else "the given score"


def cross_validated(model: Any) -> Score | None:
    """Return the score of what was chosen over its folds, None of models that do not choose."""
    if not hasattr(model, "cv_results_"):
        return None
    most = 1.0 if getattr(model, "scoring", None) is None else np.inf
    return fold_score(measure_of(model), fold_scores(model.cv_results_)[model.best_index_], most)


def selection_curve(model: Any) -> SelectionCurve | None:
    """Return error, or another score, along the grid of the largest choice of numbers."""
    params = getattr(model, "cv_results_", {}).get("params", [])
    parameter = _grid_parameter(params)
    if parameter is None:
        return None
    folds, measure = fold_scores(model.cv_results_), measure_of(model)
    is_error = measure == "accuracy"
    scores = 1.0 - folds if is_error else folds
    n_folds = scores.shape[1]
    means = scores.mean(axis=1)
    errors = scores.std(axis=1, ddof=min(1, n_folds - 1)) / np.sqrt(n_folds)
    groups: dict[str, list[int]] = {}
    for place, each in enumerate(params):
        others = {name: value for name, value in each.items() if name != parameter}
        groups.setdefault(_line_name(others, params), []).append(place)
    lines = []
    for name, places in groups.items():
        order = sorted(places, key=lambda place: params[place][parameter])
        grid = [float(params[place][parameter]) for place in order]
        lines.append(SelectionLine(name, grid, means[order].tolist(), errors[order].tolist()))
    lines.sort(key=lambda line: min(line.scores) if is_error else -max(line.scores))
    best = model.best_index_
    return SelectionCurve(
        parameter,
        "error" if is_error else measure,
        is_error,
        lines[:MOST_LINES],
        (float(params[best][parameter]), float(means[best])),
        n_folds,
        max(0, len(lines) - MOST_LINES),
    )


def _grid_parameter(params: list[dict[str, Any]]) -> str | None:
    """Return the setting that took the most numbers, if it took several."""
    sizes = {}
    for name in params[0] if params else ():
        values = [each[name] for each in params]
        if all(isinstance(each, (int, float, np.number)) for each in values):
            sizes[name] = len(set(values))
    largest = max(sizes, key=lambda name: sizes[name], default=None)
    return largest if largest is not None and sizes[largest] > 1 else None


def _line_name(others: dict[str, Any], params: list[dict[str, Any]]) -> str:
    """Return what tells a line from others: settings that differ among all."""
    differing = [
        f"{name}={value}"
        for name, value in others.items()
        if any(str(each[name]) != str(value) for each in params)
    ]
    return ", ".join(differing)

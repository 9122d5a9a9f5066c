"""Scores of all settings in the cross-validation of a model."""

from typing import Any, NamedTuple

import numpy as np

from kernsemble._folds import corrected_standard_error, fold_scores
from kernsemble._model_cards import measure_of, rounded
from kernsemble.inspection.scores import Score, fold_score

MAX_LINES = 8  # maximum number of lines plotted


class SelectionLine(NamedTuple):
    """Scores along the grid of one parameter, with all other settings fixed."""

    name: str
    values: list[float]
    scores: list[float]
    standard_errors: list[float]  # standard errors over the folds


class SelectionCurve(NamedTuple):
    """Scores of all settings, the best lines first, and the selected setting."""

    parameter: str
    measure: str
    is_error: bool  # whether lower is better
    lines: list[SelectionLine]
    selected: tuple[float, float]  # value of the parameter, and its score
    n_folds: int
    left_out: int  # number of lines not plotted


def cross_validated(model: Any) -> Score | None:
    """Return the cross-validated score of the selected setting, None without model selection."""
    if not hasattr(model, "cv_results_"):
        return None
    most = 1.0 if getattr(model, "scoring", None) is None else np.inf
    return fold_score(measure_of(model), fold_scores(model.cv_results_)[model.best_index_], most)


def selection_curve(model: Any) -> SelectionCurve | None:
    """Return the scores along the grid of the numeric parameter with the most values.

    None for a vote, whose candidates have one value of C each.
    """
    if hasattr(model, "members_"):
        return None
    params = getattr(model, "cv_results_", {}).get("params", [])
    parameter = _grid_parameter(params)
    if parameter is None:
        return None
    folds, measure = fold_scores(model.cv_results_), measure_of(model)
    is_error = measure == "accuracy"
    scores = 1.0 - folds if is_error else folds
    n_folds = scores.shape[1]
    means = scores.mean(axis=1)
    errors = np.nan_to_num([corrected_standard_error(each) for each in scores])
    groups: dict[str, list[int]] = {}
    for index, each in enumerate(params):
        others = {name: value for name, value in each.items() if name != parameter}
        groups.setdefault(_line_name(others, params), []).append(index)
    lines = []
    for name, indices in groups.items():
        order = sorted(indices, key=lambda index: params[index][parameter])
        grid = [float(params[index][parameter]) for index in order]
        lines.append(SelectionLine(name, grid, means[order].tolist(), errors[order].tolist()))
    lines.sort(key=lambda line: min(line.scores) if is_error else -max(line.scores))
    best = model.best_index_
    return SelectionCurve(
        parameter,
        "error" if is_error else measure,
        is_error,
        lines[:MAX_LINES],
        (float(params[best][parameter]), float(means[best])),
        n_folds,
        max(0, len(lines) - MAX_LINES),
    )


def _grid_parameter(params: list[dict[str, Any]]) -> str | None:
    """Return the numeric parameter with the most values, None if none has several."""
    sizes = {}
    for name in params[0] if params else ():
        values = [each[name] for each in params]
        if all(isinstance(each, (int, float, np.number)) for each in values):
            sizes[name] = len(set(values))
    largest = max(sizes, key=lambda name: sizes[name], default=None)
    return largest if largest is not None and sizes[largest] > 1 else None


def _line_name(others: dict[str, Any], params: list[dict[str, Any]]) -> str:
    """Return the name of a line: the settings that differ between lines, numbers with names."""
    differing = [
        f"{name} = {value:.4g}" if isinstance(value, float) else rounded(str(value))
        for name, value in others.items()
        if any(str(each[name]) != str(value) for each in params)
    ]
    return ", ".join(differing)

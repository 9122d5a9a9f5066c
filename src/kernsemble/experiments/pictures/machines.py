"""Figures of Lin and Li, of Lin's thesis, and of Tsang and Kwok."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from kernsemble._typing import ArrayLike
from kernsemble.datasets import make_twonorm
from kernsemble.experiments.methods import ESTIMATORS
from kernsemble.experiments.methods.nu_comparison import as_nu_comparison
from kernsemble.experiments.paper_data import N_TRAIN, draw
from kernsemble.experiments.records import Record
from kernsemble.inspection import (
    DecisionBoundaryDisplay,
    NuComparisonDisplay,
    TrainingCurves,
    TrainingCurvesDisplay,
)

WIDTH = 5.4  # inches; letters are then ten pixels high in a figure of 390 pixels
STEPPED = {"cancer": "ida_breast_cancer", "waveform": "ida_waveform"}
FULL_ADULT = "a9a"
NAMES = {"a1a": "adult1, 1,605 rows", FULL_ADULT: "adult, 32,561 rows"}
PUBLISHED_SECONDS = {"ν-SVM": 348.9, "ensemble": 3555.1}  # for full adult, at the best ν


def draw_plane(model: Any, X: ArrayLike, y: ArrayLike, ax: Any) -> Any:
    """Draw the decision boundary of a model on a plane, and the best line for twonorm."""
    display = DecisionBoundaryDisplay.from_estimator(model, X, y, grid_resolution=200, ax=ax)
    ax.axline((0.0, 0.0), slope=-1.0, color="black", linestyle=":")
    ax.get_legend().remove()
    ax.set_aspect("equal")
    return display


def _planes(methods: Sequence[str], n_columns: int = 2) -> Any:
    """Fit each method to twonorm in the plane, and draw it in a panel."""
    X, y = make_twonorm(N_TRAIN, n_features=2, random_state=0)
    n_rows = -(-len(methods) // n_columns)
    figure, panels = _panels(n_rows, n_columns, height=2.9)
    for panel, method in zip(panels, methods, strict=True):
        model = clone(ESTIMATORS[method])
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        draw_plane(model.fit(X, y), X, y, panel)
        panel.set_title(method)
    return figure


def boundaries_of_four(_: Sequence[Record]) -> Any:
    """Draw Figure 3 of Lin and Li: boundaries of infinite, finite and sparse votes of stumps."""
    return _planes(["SVM-Stump", "SVM-Mid", "AdaBoost-Stump", "LPBoost-Stump"])


def boundaries_of_two(_: Sequence[Record]) -> Any:
    """Draw Figure 5.1 of the thesis: SVM-Stump and AdaBoost-Stump, whose T is not given."""
    return _planes(["SVM-Stump", "AdaBoost-Stump T=100"])


def training_curves(_: Sequence[Record]) -> Any:
    """Draw Figure 1 of Tsang and Kwok: the objective by step, for adaptive and fixed rates."""
    figure, panels = _panels(len(STEPPED), 1, height=3.0)
    for panel, (name, data_name) in zip(panels, STEPPED.items(), strict=True):
        X, y, *_ = draw(data_name, 0)
        display = TrainingCurvesDisplay(TrainingCurves.from_data(X, y)).plot(panel)
        panel.get_legend().remove()
        panel.set_title(name)
    figure.legend(handles=display.lines_, loc="outside lower center", ncols=3)
    return figure


def nu_comparisons(records: Sequence[Record]) -> Any:
    """Draw Figure 2 of Tsang and Kwok: error and time against ν, in a row per data set."""
    figure, panels = _panels(max(1, len(records)), 2, height=2.8)
    labelled: dict[str, Any] = {}
    for record, pair in zip(records, np.reshape(panels, (-1, 2)), strict=False):
        NuComparisonDisplay(as_nu_comparison(record.values)).plot(pair)
        if record.cell.data == FULL_ADULT:
            _mark_published(pair[1])
        pair[0].set_title(NAMES.get(record.cell.data, record.cell.data))
        pair[0].get_legend().remove()
        for panel in pair:
            panel.set_xlim(0.0, 0.5)
            labelled |= {line.get_label(): line for line in panel.lines}
    figure.legend(handles=list(labelled.values()), loc="outside lower center", ncols=2)
    return figure


def _mark_published(ax: Any) -> None:
    for line, (name, seconds) in zip(list(ax.lines), PUBLISHED_SECONDS.items(), strict=True):
        label = f"{name}, published: {seconds:g} s"
        ax.axhline(seconds, color=line.get_color(), linestyle=":", label=label)


def _panels(n_rows: int, n_columns: int, height: float) -> tuple[Any, list[Any]]:
    """Return a figure that pyplot does not manage, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height * n_rows), layout="constrained")
    return figure, list(figure.subplots(n_rows, n_columns, squeeze=False).ravel())


MACHINE_PICTURES: dict[str, Callable[[Sequence[Record]], Any]] = {
    "boundaries of four": boundaries_of_four,
    "boundaries of two": boundaries_of_two,
    "training curves": training_curves,
    "nu comparisons": nu_comparisons,
}

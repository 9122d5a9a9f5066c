"""Plots of shape functions."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from kernsemble._axes import NEGATIVE, NEUTRAL, POSITIVE, several_axes
from kernsemble._typing import ArrayLike, FloatArray
from kernsemble.inspection.ensemble_view import EnsembleView
from kernsemble.inspection.shape_functions import Shape

MAX_PANELS = 6  # number of features plotted by default
MAX_MARKS = 500  # maximum number of marks in a rug plot


class ShapeDisplay:
    """Plot of shape functions, with a rug of the values of rows.

    Parameters
    ----------
    shapes : dict of Shape
        Shape function of each feature.
    values : dict of arrays, optional
        Values of the rows by feature, plotted as a rug.
    label : str, default="decision value"
        Label of the vertical axis.

    Attributes
    ----------
    axes_ : list of matplotlib axes
        Axes of the panels.
    figure_ : matplotlib figure
        Figure of the plot.
    lines_ : dict
        Line of each feature, or its bars for categories.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kernsemble.inspection import ShapeDisplay
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = InfiniteEnsembleClassifier().fit(X, y)
    >>> display = ShapeDisplay.from_estimator(model, X, features=["mean texture"])
    >>> display.axes_[0].get_xlabel()
    'mean texture'
    """

    def __init__(
        self,
        shapes: Mapping[str, Shape],
        values: Mapping[str, FloatArray] | None = None,
        label: str = "decision value",
    ) -> None:
        self.shapes = dict(shapes)
        self.values = {} if values is None else dict(values)
        self.label = label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        *,
        features: Sequence[str | int] | None = None,
        machine: int | str | None = None,
        ax: Any = None,
    ) -> Self:
        """Plot the shape functions of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            Additive model of the library.
        X : array-like or DataFrame of shape (n, n_features), optional
            Rows to centre on and to show, best the training rows.
        features : sequence of str or int, optional
            Features to plot; by default the six most important ones.
        machine : int or str, optional
            Index or label of the machine, required if there are several.
        ax : matplotlib axes or several, optional
            Axes to plot on, one per feature; new ones by default.

        Returns
        -------
        ShapeDisplay
        """
        view = EnsembleView.from_estimator(estimator, X, machine)
        if not view.decomposition.additive:
            raise ValueError(
                f"the machine {view.label!r} is not a sum over features ({view.interactions[0]}): "
                "use its contributions, EnsembleView.explain or ContributionDisplay"
            )
        names = selected_features(view, features)
        values = {}
        if view.background is not None:
            values = {name: view.background[:, view.feature_names.index(name)] for name in names}
        shapes = {name: view.shapes[name] for name in names}
        return cls(shapes, values, f"contribution to {view.label}").plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on the given axes, one per feature, or on new ones."""
        self.axes_ = several_axes(ax, len(self.shapes))
        self.figure_ = self.axes_[0].figure
        self.lines_: dict[str, Any] = {}
        for panel, (name, shape) in zip(self.axes_, self.shapes.items(), strict=True):
            values = self.values.get(name, np.empty(0))
            draw = _draw_categories if shape.is_category else _draw_function
            self.lines_[name] = draw(panel, shape, values[~np.isnan(values)])
            panel.axhline(0.0, color=NEUTRAL, linewidth=0.6)
            panel.set_xlabel(name)
        self.axes_[0].set_ylabel(self.label)
        return self


def _draw_function(panel: Any, shape: Shape, values: FloatArray) -> Any:
    ends = np.concatenate([shape.knots[:1], shape.knots[-1:], values])
    low, high = (ends.min(), ends.max()) if len(ends) > 0 else (0.0, 1.0)
    beyond = np.array([low, high])
    x = np.concatenate([[low], np.repeat(shape.knots, 2), [high]])
    y = np.column_stack([shape.left, shape.right]).ravel()
    (first, last) = shape(beyond)
    y = np.concatenate([[first], y, [last]])
    (line,) = panel.plot(x, y, color=POSITIVE)
    marks = values[:: max(len(values) // MAX_MARKS, 1)]
    if len(marks) > 0:
        across = panel.get_xaxis_transform()
        panel.vlines(marks, 0.0, 0.03, transform=across, color=NEUTRAL, linewidth=0.5, alpha=0.5)
    if np.isfinite(shape.missing) and shape.missing != 0.0:
        panel.axhline(shape.missing, color=NEGATIVE, linestyle=":", label="missing")
        panel.legend()
    return line


def _draw_categories(panel: Any, shape: Shape, values: FloatArray) -> Any:  # noqa: ARG001
    names = [str(name) for name in shape.table()["category"]]
    bars = panel.bar(np.arange(len(names)), shape.heights, color=POSITIVE)
    panel.set_xticks(np.arange(len(names)), names)
    return bars


def selected_features(view: EnsembleView, features: Sequence[str | int] | None) -> list[str]:
    """Return the names of the given features, by default of the most important ones."""
    if features is not None:
        return [view.feature_name(feature) for feature in features]
    sizes = view.decomposition.sizes(len(view.feature_names))
    largest = np.argsort(-sizes, kind="stable")[:MAX_PANELS]
    return [view.feature_names[d] for d in largest if sizes[d] > 0.0] or view.feature_names[:1]

"""Pictures of shape functions and of densities of stumps."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from kernsemble._axes import NEGATIVE, NEUTRAL, POSITIVE, one_axes, several_axes
from kernsemble._typing import FloatArray
from kernsemble.inspection.ensemble_view import EnsembleView
from kernsemble.inspection.fitted_models import VotingModel
from kernsemble.inspection.hypothesis_weights import HypothesisWeights
from kernsemble.inspection.shape_functions import Shape, StumpDensity

MAX_PANELS = 6  # unless features are named
MAX_MARKS = 500  # of a rug
MAX_BARS = 15


class ShapeDisplay:
    """Shape functions of features, with the values of rows below them.

    Parameters
    ----------
    shapes : dict of Shape
        The functions by feature.
    values : dict of arrays, optional
        The values of rows by feature, drawn as a rug.
    label : str, default="decision value"
        What the functions add up to.

    Attributes
    ----------
    axes_ : list of matplotlib axes
        The panels.
    figure_ : matplotlib figure
        The figure.
    lines_ : dict
        The line of each feature, or its bars for categories.

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
        """Draw the shape functions of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            An additive one.
        X : array-like or DataFrame of shape (n, n_features), optional
            The rows to centre on and to show, best the training rows.
        features : sequence of str or int, optional
            Which ones; the six that have the largest shares, unless given.
        machine : int or str, optional
            Which machine, if there are several.
        ax : matplotlib axes or several, optional
            Where to draw.

        Returns
        -------
        ShapeDisplay
        """
        view = EnsembleView.from_estimator(estimator, X, machine)
        if not view.decomposition.additive:
            raise ValueError(
                f"the machine {view.label!r} is no sum over features ({view.interactions[0]}): ask "
                "for its contributions, EnsembleView.explain or ContributionDisplay"
            )
        names = _chosen(view, features)
        values = {}
        if view.background is not None:
            values = {name: view.background[:, view.feature_names.index(name)] for name in names}
        shapes = {name: view.shapes[name] for name in names}
        return cls(shapes, values, f"contribution to {view.label}").plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on axes: new ones, or as many as there are features."""
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


class EnsembleDisplay:
    r"""The hypotheses of an ensemble: densities of stumps, or weights of other hypotheses.

    Thresholds where the density is positive vote for the first class above themselves.

    Parameters
    ----------
    densities : dict of lists of StumpDensity
        The densities by feature.
    hypotheses : HypothesisWeights or None, default=None
        The hypotheses of a boosted ensemble that are no stumps, instead.

    Attributes
    ----------
    axes_ : list of matplotlib axes
        The panels.
    figure_ : matplotlib figure
        The figure.
    lines_ : dict
        For each feature what was drawn, a line or stems for each density; or the bars.

    Examples
    --------
    >>> from kernsemble.datasets import make_twonorm
    >>> from kernsemble.inspection import EnsembleDisplay
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = make_twonorm(100, n_features=2, random_state=0)
    >>> display = EnsembleDisplay.from_estimator(InfiniteEnsembleClassifier().fit(X, y))
    >>> sorted(display.lines_)
    ['x0', 'x1']
    """

    def __init__(
        self,
        densities: Mapping[str, Sequence[StumpDensity]],
        hypotheses: HypothesisWeights | None = None,
    ) -> None:
        self.densities = {name: list(several) for name, several in densities.items()}
        self.hypotheses = hypotheses

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        features: Sequence[str | int] | None = None,
        machine: int | str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the ensemble of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            A model of stumps, or a boosted ensemble.
        features : sequence of str or int, optional
            Which ones; the six that have the largest shares, unless given.
        machine : int or str, optional
            Which machine, if there are several.
        ax : matplotlib axes or several, optional
            Where to draw.

        Returns
        -------
        EnsembleDisplay
        """
        view = EnsembleView.from_estimator(estimator, None, machine)
        if any(view.densities.values()):
            names = [name for name in _chosen(view, features) if view.densities[name]]
            return cls({name: view.densities[name] for name in names}).plot(ax)
        if isinstance(view.model, VotingModel):
            return cls({}, view.hypotheses()).plot(ax)
        raise ValueError(
            f"the machine {view.label!r} has no stumps: ask for its contributions, or for "
            "EnsembleView.perceptron_density"
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw on axes: new ones, or as many as there are features."""
        self.lines_: dict[str, Any] = {}
        if self.hypotheses is not None:
            self.axes_ = [one_axes(ax)]
            self.lines_["weight"] = _draw_weights(self.axes_[0], self.hypotheses)
        else:
            self.axes_ = several_axes(ax, len(self.densities))
            for panel, (name, several) in zip(self.axes_, self.densities.items(), strict=True):
                self.lines_[name] = [_draw_density(panel, density) for density in several]
                panel.axhline(0.0, color=NEUTRAL, linewidth=0.6)
                panel.set_xlabel(f"threshold on {name}")
            self.axes_[0].set_ylabel("density of stumps")
        self.figure_ = self.axes_[0].figure
        return self


def _draw_density(panel: Any, density: StumpDensity) -> Any:
    finite = np.isfinite(density.lower)
    lower, upper, height = density.lower[finite], density.upper[finite], density.density[finite]
    if (lower == upper).all():
        colours = np.where(height > 0.0, POSITIVE, NEGATIVE)
        return panel.vlines(lower, 0.0, height, colors=colours)
    x = np.column_stack([lower, upper]).ravel()
    y = np.repeat(height, 2)
    (line,) = panel.plot(x, y, color=POSITIVE, linewidth=1.0)
    panel.fill_between(x, 0.0, y, where=y >= 0.0, color=POSITIVE, alpha=0.2, linewidth=0.0)
    panel.fill_between(x, 0.0, y, where=y <= 0.0, color=NEGATIVE, alpha=0.2, linewidth=0.0)
    return line


def _draw_weights(panel: Any, hypotheses: HypothesisWeights) -> Any:
    places = np.arange(min(len(hypotheses.weights), MAX_BARS))
    bars = panel.barh(places, hypotheses.weights[: len(places)], color=POSITIVE)
    panel.set_yticks(places, hypotheses.texts[: len(places)])
    panel.invert_yaxis()
    panel.set_xlabel("weight")
    return bars


def _chosen(view: EnsembleView, features: Sequence[str | int] | None) -> list[str]:
    """Return the names of the features that are asked for."""
    if features is not None:
        return [view.feature_name(feature) for feature in features]
    sizes = np.zeros(len(view.feature_names))
    for piece in view.decomposition.additive:
        sizes[piece.column] += piece.size
    largest = np.argsort(-sizes, kind="stable")[:MAX_PANELS]
    return [view.feature_names[d] for d in largest if sizes[d] > 0.0] or view.feature_names[:1]

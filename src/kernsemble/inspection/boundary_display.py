"""Plots of decision boundaries over two features."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import is_regressor

from kernsemble._arguments import check_count
from kernsemble._axes import NEGATIVE, POSITIVE, one_axes, pyplot
from kernsemble._typing import Array, ArrayLike, FloatArray
from kernsemble.inspection.fitted_models import FittedModel, as_fitted_model

MARGIN = 0.05  # margin on each side, relative to the range of the rows


class DecisionBoundaryDisplay:
    """Plot of the decision function over two features, with the training rows.

    Parameters
    ----------
    first, second : arrays of shape (n, n)
        Coordinates of a grid, as returned by `numpy.meshgrid`.
    response : array of shape (n, n)
        Decision values on the grid; for more than two classes the indices of the predicted
        classes, for a regressor the predictions.
    points : array of shape (m, 2)
        Rows.
    targets : array of shape (m,)
        Indices of their classes, or their targets.
    classes : list or None
        Classes, None for a regressor.
    labels : tuple of two str
        Names of the features.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Axes and figure of the plot.
    surface_ : matplotlib contour set
        Filled contours of the response.
    boundary_ : matplotlib contour set or None
        Decision boundary, for two classes.
    points_ : list of matplotlib collections
        Rows, by class.

    Examples
    --------
    >>> from kernsemble.datasets import make_twonorm
    >>> from kernsemble.inspection import DecisionBoundaryDisplay
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = make_twonorm(100, n_features=2, random_state=0)
    >>> model = InfiniteEnsembleClassifier().fit(X, y)
    >>> display = DecisionBoundaryDisplay.from_estimator(model, X, y)
    >>> display.response.shape
    (100, 100)
    """

    def __init__(
        self,
        first: FloatArray,
        second: FloatArray,
        response: FloatArray,
        points: FloatArray,
        targets: Array,
        classes: list[Any] | None,
        labels: tuple[str, str] = ("x0", "x1"),
    ) -> None:
        self.first = first
        self.second = second
        self.response = response
        self.points = points
        self.targets = targets
        self.classes = classes
        self.labels = labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        features: Sequence[str | int] = (0, 1),
        grid_resolution: int = 100,
        ax: Any = None,
    ) -> Self:
        """Plot the decision function of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            Model of the library, fitted to numbers.
        X : array-like of shape (m, n_features)
            Training rows.
        y : array-like of shape (m,)
            Targets of the training rows.
        features : two of str or int, default=(0, 1)
            Features to plot; others are fixed at their medians.
        grid_resolution : int, default=100
            Number of grid points per feature.
        ax : matplotlib axes, optional
            Axes to plot on; new ones by default.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        check_count("grid_resolution", grid_resolution, 2)
        model = as_fitted_model(estimator)
        indices = [model.feature_index(feature) for feature in features]
        if len(indices) != 2 or indices[0] == indices[1]:
            raise ValueError(f"features = {features!r}: use two different features")
        rows = _numeric_rows(model, X)
        low, high = rows[:, indices].min(axis=0), rows[:, indices].max(axis=0)
        reach = MARGIN * (high - low)
        axes = np.linspace(low - reach, high + reach, grid_resolution).T
        first, second = np.meshgrid(*axes)
        grid = np.tile(np.median(rows, axis=0), (first.size, 1))
        grid[:, indices] = np.column_stack([first.ravel(), second.ravel()])
        response, classes = _response(estimator, _like(X, grid))
        targets = np.asarray(y)
        names = model.feature_names
        return cls(
            first,
            second,
            response.reshape(first.shape),
            rows[:, indices],
            targets if classes is None else np.searchsorted(classes, targets),
            classes,
            (names[indices[0]], names[indices[1]]),
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on the given axes or on new ones."""
        self.ax_ = one_axes(ax)
        self.figure_ = self.ax_.figure
        self.boundary_ = None
        if self.classes is None:
            self._draw_regression()
        elif len(self.classes) == 2:
            self._draw_two_classes()
        else:
            self._draw_classes()
        self.ax_.set(xlabel=self.labels[0], ylabel=self.labels[1])
        return self

    def _draw_regression(self) -> None:
        self.surface_ = self.ax_.contourf(self.first, self.second, self.response, 20)
        low, high = self.surface_.get_clim()
        norm = {"vmin": low, "vmax": high, "edgecolors": "white", "linewidths": 0.4, "s": 14}
        self.points_ = [self.ax_.scatter(*self.points.T, c=self.targets, **norm)]

    def _draw_two_classes(self) -> None:
        farthest = float(np.abs(self.response).max()) or 1.0
        levels = np.linspace(-farthest, farthest, 22)
        grid = self.first, self.second, self.response
        self.surface_ = self.ax_.contourf(*grid, levels, cmap="RdBu", alpha=0.6)
        if self.response.min() < 0.0 < self.response.max():
            self.boundary_ = self.ax_.contour(*grid, [0.0], colors="black")
        self._draw_points([NEGATIVE, POSITIVE])

    def _draw_classes(self) -> None:
        assert self.classes is not None
        n = len(self.classes)
        colours = pyplot().get_cmap("viridis")(np.linspace(0.0, 1.0, n))
        grid = self.first, self.second, self.response
        self.surface_ = self.ax_.contourf(*grid, np.arange(n + 1) - 0.5, colors=colours, alpha=0.35)
        self._draw_points(list(colours))

    def _draw_points(self, colours: list[Any]) -> None:
        assert self.classes is not None
        self.points_ = [
            self.ax_.scatter(
                *self.points[self.targets == k].T,
                color=[colour],
                edgecolors="white",
                linewidths=0.4,
                s=14,
                label=str(name),
            )
            for k, (name, colour) in enumerate(zip(self.classes, colours, strict=True))
        ]
        self.ax_.legend()


def _numeric_rows(model: FittedModel, X: ArrayLike) -> FloatArray:
    rows = model.encode(X)
    if getattr(model.fitted, "mixed_table_", None) is not None or np.isnan(rows).any():
        raise ValueError("X contains categories or missing values: pass numbers to plot a boundary")
    return rows


def _like(X: Any, grid: FloatArray) -> Any:
    """Return a grid as a table with the column names of `X`, if it has any."""
    if hasattr(X, "columns"):
        return type(X)(grid, **{"columns" if hasattr(X, "iloc") else "schema": list(X.columns)})
    return grid


def _response(estimator: Any, grid: Any) -> tuple[FloatArray, list[Any] | None]:
    if is_regressor(estimator):
        return estimator.predict(grid), None
    classes = estimator.classes_.tolist()
    if len(classes) == 2:
        return estimator.decision_function(grid), classes
    return np.searchsorted(estimator.classes_, estimator.predict(grid)).astype(float), classes

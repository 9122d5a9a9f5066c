"""Pictures of what a model decides on a plane, with the training rows."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_regressor

from kernsemble._arguments import check_count
from kernsemble._axes import NEGATIVE, POSITIVE, one_axes, pyplot
from kernsemble._typing import Array, FloatArray
from kernsemble.inspection.fitted_models import FittedModel, as_fitted_model

MARGIN = 0.05  # of the range of the rows, on each side


class DecisionBoundaryDisplay:
    """What a model decides over two features, and rows that it was fitted to.

    Parameters
    ----------
    first, second : arrays of shape (n, n)
        The coordinates of a grid, as of `numpy.meshgrid`.
    response : array of shape (n, n)
        The decision values there, of several classes the places of the classes, or the numbers
        that a regressor predicts.
    points : array of shape (m, 2)
        The rows.
    targets : array of shape (m,)
        The places of their classes, or their numbers.
    classes : list or None
        The classes, None for a regressor.
    labels : tuple of two str
        The names of the features.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where it was drawn.
    surface_ : matplotlib contour set
        The filled surface.
    boundary_ : matplotlib contour set or None
        The lines where classes meet.
    points_ : list of matplotlib collections
        The rows, class by class.

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
        """Draw what a fitted model decides.

        Parameters
        ----------
        estimator : fitted estimator
            Any model of the library, on numbers.
        X : array-like of shape (m, n_features)
            The training rows.
        y : array-like of shape (m,)
            Their classes or numbers.
        features : two of str or int, default=(0, 1)
            The features of the plane; others are held at their medians.
        grid_resolution : int, default=100
            How many values of each feature are asked.
        ax : matplotlib axes, optional
            Where to draw.

        Returns
        -------
        DecisionBoundaryDisplay
        """
        check_count("grid_resolution", grid_resolution, 2)
        model = as_fitted_model(estimator)
        places = [model.feature_index(feature) for feature in features]
        if len(places) != 2 or places[0] == places[1]:
            raise ValueError(f"features = {features!r}: give two different ones")
        rows = _numbers(model, X)
        low, high = rows[:, places].min(axis=0), rows[:, places].max(axis=0)
        reach = MARGIN * (high - low)
        axes = np.linspace(low - reach, high + reach, grid_resolution).T
        first, second = np.meshgrid(*axes)
        grid = np.tile(np.median(rows, axis=0), (first.size, 1))
        grid[:, places] = np.column_stack([first.ravel(), second.ravel()])
        response, classes = _response(estimator, _like(X, grid))
        targets = np.asarray(y)
        names = model.feature_names
        return cls(
            first,
            second,
            response.reshape(first.shape),
            rows[:, places],
            targets if classes is None else np.searchsorted(classes, targets),
            classes,
            (names[places[0]], names[places[1]]),
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on axes, new ones unless given."""
        self.ax_ = one_axes(ax)
        self.figure_ = self.ax_.figure
        self.boundary_ = None
        if self.classes is None:
            self._draw_numbers()
        elif len(self.classes) == 2:
            self._draw_sides()
        else:
            self._draw_classes()
        self.ax_.set(xlabel=self.labels[0], ylabel=self.labels[1])
        return self

    def _draw_numbers(self) -> None:
        self.surface_ = self.ax_.contourf(self.first, self.second, self.response, 20)
        low, high = self.surface_.get_clim()
        norm = {"vmin": low, "vmax": high, "edgecolors": "white", "linewidths": 0.4, "s": 14}
        self.points_ = [self.ax_.scatter(*self.points.T, c=self.targets, **norm)]

    def _draw_sides(self) -> None:
        farthest = float(np.abs(self.response).max()) or 1.0
        levels = np.linspace(-farthest, farthest, 22)
        place = self.first, self.second, self.response
        self.surface_ = self.ax_.contourf(*place, levels, cmap="RdBu", alpha=0.6)
        if self.response.min() < 0.0 < self.response.max():
            self.boundary_ = self.ax_.contour(*place, [0.0], colors="black")
        self._draw_points([NEGATIVE, POSITIVE])

    def _draw_classes(self) -> None:
        assert self.classes is not None
        n = len(self.classes)
        colours = pyplot().get_cmap("viridis")(np.linspace(0.0, 1.0, n))
        place = self.first, self.second, self.response
        self.surface_ = self.ax_.contourf(
            *place, np.arange(n + 1) - 0.5, colors=colours, alpha=0.35
        )
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


def _numbers(model: FittedModel, X: ArrayLike) -> FloatArray:
    rows = model.read(X)
    if getattr(model.fitted, "mixed_table_", None) is not None or np.isnan(rows).any():
        raise ValueError("a plane is drawn of numbers: X holds categories or missing values")
    return rows


def _like(X: Any, grid: FloatArray) -> Any:
    """Return a grid as a table with the columns of another, if that has names."""
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

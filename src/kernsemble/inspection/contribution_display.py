"""Plots of contributions to one row."""

from typing import Any, Self

import numpy as np

from kernsemble._arguments import check_count
from kernsemble._axes import NEGATIVE, NEUTRAL, POSITIVE, one_axes
from kernsemble._typing import ArrayLike
from kernsemble.inspection.ensemble_view import EnsembleView
from kernsemble.inspection.explanation import Explanation


class ContributionDisplay:
    """Plot of the contributions of features to one decision value, the largest first.

    Parameters
    ----------
    explanation : Explanation
        Contributions.
    row : int, default=0
        Index of the row of the explanation.
    max_features : int, default=10
        Maximum number of bars; the last one is the sum of all other features.
    label : str, default="decision value"
        Name of the value that the contributions add up to.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Axes and figure of the plot.
    bars_ : matplotlib bars
        Bar of each feature.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from kernsemble.inspection import ContributionDisplay
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = InfiniteEnsembleClassifier().fit(X, y)
    >>> display = ContributionDisplay.from_estimator(model, X, row=0)
    >>> len(display.bars_)
    10
    """

    def __init__(
        self,
        explanation: Explanation,
        row: int = 0,
        max_features: int = 10,
        label: str = "decision value",
    ) -> None:
        check_count("max_features", max_features, 2)
        self.explanation = explanation
        self.row = row
        self.max_features = max_features
        self.label = label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        row: int = 0,
        max_features: int = 10,
        machine: int | str | None = None,
        ax: Any = None,
        **settings: Any,
    ) -> Self:
        """Plot the contributions to one row of `X`, relative to all rows of `X`.

        Parameters
        ----------
        estimator : fitted estimator
            Any model of the library.
        X : array-like or DataFrame of shape (n, n_features)
            Background rows, including the one to explain.
        row : int, default=0
            Index of the row to explain.
        max_features : int, default=10
            Maximum number of bars.
        machine : int or str, optional
            Index or label of the machine, required if there are several.
        ax : matplotlib axes, optional
            Axes to plot on; new ones by default.
        **settings
            Settings of `EnsembleView.explain`.

        Returns
        -------
        ContributionDisplay
        """
        view = EnsembleView.from_estimator(estimator, X, machine)
        explanation = view.explain(_single_row(X, row), **settings)
        return cls(explanation, 0, max_features, view.label).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on the given axes or on new ones."""
        found, mine = self.explanation, self.explanation.row(self.row)
        names, sizes = list(mine), np.array(list(mine.values()))
        if len(names) > self.max_features:
            kept = self.max_features - 1
            names = [*names[:kept], f"{len(names) - kept} others"]
            sizes = np.append(sizes[:kept], sizes[kept:].sum())
        self.ax_ = one_axes(ax)
        self.figure_ = self.ax_.figure
        places = np.arange(len(names))
        colours = np.where(sizes > 0.0, POSITIVE, NEGATIVE)
        self.bars_ = self.ax_.barh(places, sizes, color=colours)
        self.ax_.set_yticks(places, names)
        self.ax_.invert_yaxis()
        self.ax_.axvline(0.0, color=NEUTRAL, linewidth=0.6)
        value = float(found.values[self.row])
        self.ax_.set_xlabel(f"contribution to {self.label}")
        self.ax_.set_title(f"intercept {found.intercept:.3g} + contributions = {value:.3g}")
        return self


def _single_row(X: Any, row: int) -> Any:
    """Return a table with one of the rows."""
    if hasattr(X, "iloc"):
        return X.iloc[[row]]
    return X[[row]] if hasattr(X, "shape") else [X[row]]

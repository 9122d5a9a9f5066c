"""Pictures of contributions to a row, and of margins."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from kernsemble._arguments import check_count
from kernsemble._axes import NEGATIVE, NEUTRAL, POSITIVE, one_axes
from kernsemble.inspection.ensemble_view import EnsembleView
from kernsemble.inspection.explanation import Explanation
from kernsemble.inspection.margins import Margins


class ContributionDisplay:
    """What features contribute to the decision value of one row, the largest first.

    Parameters
    ----------
    explanation : Explanation
        The contributions.
    row : int, default=0
        Of which of its rows.
    max_features : int, default=10
        At most so many bars; the last of them is the sum of all others.
    label : str, default="decision value"
        What they add up to.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where it was drawn.
    bars_ : matplotlib bars
        A bar a feature.

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
        """Draw the contributions to one row of `X`, against all rows of it.

        Parameters
        ----------
        estimator : fitted estimator
            Any model of the library.
        X : array-like or DataFrame of shape (n, n_features)
            The rows that contributions are told against, the one to explain among them.
        row : int, default=0
            The place of that one.
        max_features : int, default=10
            At most so many bars.
        machine : int or str, optional
            Which machine, if there are several.
        ax : matplotlib axes, optional
            Where to draw.
        **settings
            Those of `EnsembleView.explain`.

        Returns
        -------
        ContributionDisplay
        """
        view = EnsembleView.from_estimator(estimator, X, machine)
        explanation = view.explain(_only(X, row), **settings)
        return cls(explanation, 0, max_features, view.label).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on axes, new ones unless given."""
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


class MarginDisplay:
    """The shares of rows with at most each margin.

    Parameters
    ----------
    margins : dict of Margins
        The margins by the name of a line.
    normalised : bool, default=True
        Whether margins are divided by the norm of the ensemble.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where it was drawn.
    lines_ : dict
        The line of each name.

    Examples
    --------
    >>> from kernsemble.boosting import AdaBoostClassifier
    >>> from kernsemble.datasets import make_twonorm
    >>> from kernsemble.inspection import MarginDisplay
    >>> X, y = make_twonorm(100, random_state=0)
    >>> display = MarginDisplay.from_estimator(AdaBoostClassifier().fit(X, y), X, y)
    >>> display.ax_.get_ylabel()
    'share of rows with at most this margin'
    """

    def __init__(self, margins: Mapping[str, Margins], normalised: bool = True) -> None:
        self.margins = dict(margins)
        self.normalised = normalised

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        name: str | None = None,
        normalised: bool = True,
        machine: int | str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the margins of rows.

        Parameters
        ----------
        estimator : fitted classifier
            Any classifier of the library.
        X : array-like or DataFrame of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Their classes.
        name : str, optional
            The name of the line, that of the estimator's class unless given.
        normalised : bool, default=True
            Whether margins are divided by the norm of the ensemble.
        machine : int or str, optional
            Which machine, if there are several.
        ax : matplotlib axes, optional
            Where to draw, also beside the lines of other models.

        Returns
        -------
        MarginDisplay
        """
        margins = EnsembleView.from_estimator(estimator, None, machine).margins(X, y)
        line = type(estimator).__name__ if name is None else name
        return cls({line: margins}, normalised).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on axes, new ones unless given."""
        self.ax_ = one_axes(ax)
        self.figure_ = self.ax_.figure
        self.lines_: dict[str, Any] = {}
        for name, margins in self.margins.items():
            line = self.ax_.plot(*margins.distribution(self.normalised), label=name)
            self.lines_[name] = line[0]
        kinds = sorted({margins.norm_name for margins in self.margins.values()})
        label = f"margin / {' or '.join(kinds)}" if self.normalised else "margin"
        self.ax_.axvline(0.0, color=NEUTRAL, linewidth=0.6)
        self.ax_.set(xlabel=label, ylabel="share of rows with at most this margin")
        self.ax_.legend()
        return self


def _only(X: Any, row: int) -> Any:
    """Return one row of a table, as a table."""
    if hasattr(X, "iloc"):
        return X.iloc[[row]]
    return X[[row]] if hasattr(X, "shape") else [X[row]]

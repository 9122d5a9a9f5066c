"""Plots of margin distributions."""

from collections.abc import Mapping
from typing import Any, Self

from kernsemble._axes import NEUTRAL, one_axes
from kernsemble._typing import ArrayLike
from kernsemble.inspection.ensemble_view import EnsembleView
from kernsemble.inspection.margins import Margins


class MarginDisplay:
    """Plot of cumulative margin distributions.

    Parameters
    ----------
    margins : dict of Margins
        Margins by the name of each line.
    normalised : bool, default=True
        Whether to divide margins by the norm of the ensemble.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Axes and figure of the plot.
    lines_ : dict
        Line of each name.

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
        """Plot the margin distribution of a fitted classifier.

        Parameters
        ----------
        estimator : fitted classifier
            Classifier of the library.
        X : array-like or DataFrame of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Classes of the rows.
        name : str, optional
            Name of the line; by default the class of the estimator.
        normalised : bool, default=True
            Whether to divide margins by the norm of the ensemble.
        machine : int or str, optional
            Index or label of the machine, required if there are several.
        ax : matplotlib axes, optional
            Axes to plot on, possibly with the lines of other models; new ones by default.

        Returns
        -------
        MarginDisplay
        """
        margins = EnsembleView.from_estimator(estimator, None, machine).margins(X, y)
        line = type(estimator).__name__ if name is None else name
        return cls({line: margins}, normalised).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on the given axes or on new ones."""
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

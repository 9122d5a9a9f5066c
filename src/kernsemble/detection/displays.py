"""Plots of rankings; Matplotlib is imported when something is drawn."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kernsemble._axes import one_axes
from kernsemble._typing import ArrayLike
from kernsemble.detection.ranking import HitCurve, hit_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class HitCurveDisplay:
    """The hit curve: rare rows found among the n ranked first, against n.

    The best possible ranking and a random one are drawn with it. For precision and recall, use
    scikit-learn's `PrecisionRecallDisplay`.

    Parameters
    ----------
    curve : HitCurve
        The result of `hit_curve`.
    name : str or None, default=None
        Name in the legend.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        The axes and the figure.
    line_ : Line2D
        The curve.

    Examples
    --------
    >>> from kernsemble.detection import HitCurveDisplay
    >>> display = HitCurveDisplay.from_predictions([1, 0, 0, 1], [0.9, 0.5, 0.5, 0.1])
    >>> display.curve.n_hits
    array([0., 1., 1., 2.])
    """

    def __init__(self, curve: HitCurve, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        pos_label: Any = 1,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: "Axes | None" = None,
        **line: Any,
    ) -> Self:
        """Draw the hit curve of scores.

        Parameters
        ----------
        y_true, y_score, pos_label, sample_weight
            As for `hit_curve`.
        name : str or None, default=None
            Name in the legend.
        ax : Axes or None, default=None
            Axes to draw on; None: a new figure.
        **line
            Keyword arguments of Matplotlib's `plot` for the curve.

        Returns
        -------
        HitCurveDisplay
        """
        curve = hit_curve(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
        return cls(curve, name).plot(ax, **line)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        rare: Any = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: "Axes | None" = None,
        **line: Any,
    ) -> Self:
        """Draw the hit curve of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            A `LagoClassifier`, or any classifier of two classes with `decision_function` or
            `predict_proba`.
        X : array-like or DataFrame of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Their classes.
        rare : label or None, default=None
            The rare class; None: the first of the estimator's `rare_classes_`, else its second
            class.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows.
        name : str or None, default=None
            Name in the legend; None: the name of the estimator's class.
        ax : Axes or None, default=None
            Axes to draw on; None: a new figure.
        **line
            Keyword arguments of Matplotlib's `plot` for the curve.

        Returns
        -------
        HitCurveDisplay
        """
        if rare is None:
            rare = getattr(estimator, "rare_classes_", estimator.classes_[1:])[0]
        return cls.from_predictions(
            y,
            _scores_of_class(estimator, X, rare),
            pos_label=rare,
            sample_weight=sample_weight,
            name=type(estimator).__name__ if name is None else name,
            ax=ax,
            **line,
        )

    def plot(self, ax: "Axes | None" = None, **line: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : Axes or None, default=None
            Axes to draw on; None: a new figure.
        **line
            Keyword arguments of Matplotlib's `plot` for the curve.

        Returns
        -------
        self
        """
        ax = one_axes(ax)
        n, hits = self.curve.n_selected[-1], self.curve.n_hits[-1]
        if not ax.lines:
            ax.plot([0.0, hits, n], [0.0, hits, hits], color="0.7", linestyle=":", label="best")
            ax.plot([0.0, n], [0.0, hits], color="0.7", linestyle="--", label="random")
        (self.line_,) = ax.plot(*self.curve, **{"label": self.name, **line})
        ax.set(xlabel="number of top-ranked rows", ylabel="number of rare rows found")
        ax.legend(loc="lower right")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _scores_of_class(estimator: Any, X: ArrayLike, rare: Any) -> Any:
    """Return the decision values, or else the probabilities, of one class."""
    place = int(np.flatnonzero(estimator.classes_ == rare)[0])
    if hasattr(estimator, "decision_function"):
        decisions = estimator.decision_function(X)
        if decisions.ndim == 2:
            return decisions[:, place]
        return decisions if place == 1 else -decisions
    return estimator.predict_proba(X)[:, place]

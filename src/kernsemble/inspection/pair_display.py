"""Plots of functions of pairs of features."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from kernsemble._axes import several_axes
from kernsemble._typing import ArrayLike
from kernsemble.inspection.ensemble_view import EnsembleView
from kernsemble.inspection.pair_functions import PairFunction

MAX_PANELS = 6  # maximum number of pairs plotted by default
MAX_TICKS = 8  # maximum number of labels of an axis


class PairDisplay:
    """Heat maps of functions of pairs of features.

    Parameters
    ----------
    pairs : sequence of PairFunction
        The functions.
    label : str, default="decision value"
        Label of the colours.

    Attributes
    ----------
    axes_ : list of matplotlib axes
        Axes of the panels.
    figure_ : matplotlib figure
        Figure of the plot.
    images_ : list
        Image of each pair.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.inspection import PairDisplay
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = X[:, 0] * X[:, 1] > 0.0
    >>> model = InfiniteEnsembleClassifier(loss="logistic", n_pairs=1).fit(X, y)
    >>> display = PairDisplay.from_estimator(model)
    >>> display.axes_[0].get_xlabel(), display.axes_[0].get_ylabel()
    ('x1', 'x0')
    """

    def __init__(self, pairs: Sequence[PairFunction], label: str = "decision value") -> None:
        self.pairs, self.label = list(pairs), label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        *,
        n_pairs: int = MAX_PANELS,
        machine: int | str | None = None,
        ax: Any = None,
    ) -> Self:
        """Plot the most important pairs of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            Model with pairs of features.
        X : array-like or DataFrame of shape (n, n_features), optional
            Background rows of the view; functions of pairs do not depend on them.
        n_pairs : int, default=6
            Maximum number of pairs.
        machine : int or str, optional
            Index or label of the machine, required if there are several.
        ax : matplotlib axes or several, optional
            Axes to plot on, one per pair; new ones by default.

        Returns
        -------
        PairDisplay
        """
        view = EnsembleView.from_estimator(estimator, X, machine)
        pairs = view.pairs()[:n_pairs]
        if not pairs:
            raise ValueError(
                f"the machine {view.label!r} has no pairs of features: fit it with n_pairs"
            )
        return cls(pairs, f"contribution to {view.label}").plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on the given axes, one per pair, or on new ones."""
        self.axes_ = several_axes(ax, len(self.pairs))
        self.figure_ = self.axes_[0].figure
        self.images_ = [
            _draw(panel, pair) for panel, pair in zip(self.axes_, self.pairs, strict=True)
        ]
        for image, panel in zip(self.images_, self.axes_, strict=True):
            self.figure_.colorbar(image, ax=panel, label=self.label)
        return self


def _draw(panel: Any, pair: PairFunction) -> Any:
    first, second, heights = pair.present()
    limit = float(np.abs(heights).max()) or 1.0
    image = panel.imshow(
        heights, cmap="RdBu_r", vmin=-limit, vmax=limit, origin="lower", aspect="auto"
    )
    for axis, labels in ((panel.yaxis, first), (panel.xaxis, second)):
        places = np.unique(np.linspace(0, len(labels) - 1, MAX_TICKS).round().astype(int))
        axis.set_ticks(places, [labels[place] for place in places], fontsize="small")
    panel.tick_params(axis="x", rotation=45)
    panel.set_ylabel(pair.names[0])
    panel.set_xlabel(pair.names[1])
    return image

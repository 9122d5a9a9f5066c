"""Plots of the hypotheses of an ensemble."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from kernsemble._axes import NEGATIVE, NEUTRAL, POSITIVE, one_axes, several_axes
from kernsemble.inspection.ensemble_view import EnsembleView
from kernsemble.inspection.fitted_models import VotingModel
from kernsemble.inspection.hypothesis_weights import HypothesisWeights
from kernsemble.inspection.shape_display import selected_features
from kernsemble.inspection.shape_functions import StumpDensity

MAX_BARS = 15  # maximum number of hypotheses plotted


class EnsembleDisplay:
    r"""Plot of the hypotheses of an ensemble: stump densities, or weights of other hypotheses.

    Where the density is positive, stumps vote for the first class above their threshold.

    Parameters
    ----------
    densities : dict of lists of StumpDensity
        Stump densities of each feature.
    hypotheses : HypothesisWeights or None, default=None
        Hypotheses of a boosted ensemble without stumps, plotted instead.

    Attributes
    ----------
    axes_ : list of matplotlib axes
        Axes of the panels.
    figure_ : matplotlib figure
        Figure of the plot.
    lines_ : dict
        Lines or stems of the densities of each feature, or the bars of the weights.

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
        """Plot the ensemble of a fitted model.

        Parameters
        ----------
        estimator : fitted estimator
            Model with stumps, or boosted ensemble.
        features : sequence of str or int, optional
            Features to plot; by default the six most important ones.
        machine : int or str, optional
            Index or label of the machine, required if there are several.
        ax : matplotlib axes or several, optional
            Axes to plot on, one per feature; new ones by default.

        Returns
        -------
        EnsembleDisplay
        """
        view = EnsembleView.from_estimator(estimator, None, machine)
        if any(view.densities.values()):
            names = [name for name in selected_features(view, features) if view.densities[name]]
            return cls({name: view.densities[name] for name in names}).plot(ax)
        if isinstance(view.model, VotingModel):
            return cls({}, view.hypotheses()).plot(ax)
        raise ValueError(
            f"the machine {view.label!r} has no stumps: use its contributions, or "
            "EnsembleView.perceptron_density"
        )

    def plot(self, ax: Any = None) -> Self:
        """Plot on the given axes, one per feature, or on new ones."""
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

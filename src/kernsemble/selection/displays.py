"""Plots of variable importances and of universes; Matplotlib is imported when one is drawn."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kernsemble._axes import one_axes
from kernsemble._typing import BoolArray, FloatArray
from kernsemble.selection.importance_gap import by_importance, largest_gap

SELECTED, OTHER = "#2166ac", "#999999"


class ImportanceOrderDisplay:
    """The order plot: importances in descending order, and the largest gap between them.

    Parameters
    ----------
    importances : array of shape (p,)
        The fraction of universes that select each variable.
    names : sequence of str
        The names of the variables.
    support : boolean array of shape (p,)
        Mask of the selected variables.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure.

    Examples
    --------
    >>> from kernsemble.datasets import make_sparse_sum
    >>> from kernsemble.selection import ImportanceOrderDisplay, ParallelEvolutionSelector
    >>> selector = ParallelEvolutionSelector(random_state=0).fit(*make_sparse_sum(random_state=6))
    >>> display = ImportanceOrderDisplay.from_estimator(selector)
    >>> [label.get_text() for label in display.ax_.get_xticklabels()][:3]
    ['x1', 'x7', 'x4']
    """

    def __init__(self, importances: FloatArray, names: Sequence[str], support: BoolArray) -> None:
        self.importances, self.names, self.support = importances, names, support

    @classmethod
    def from_estimator(cls, selector: Any, *, n_columns: int = 30, ax: Any = None) -> Self:
        """Draw the `n_columns` largest importances of a fitted selector."""
        check_is_fitted(selector)
        display = cls(selector.importances_, _names(selector), selector.support_)
        return display.plot(n_columns=n_columns, ax=ax)

    def plot(self, *, n_columns: int = 30, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
        self.ax_ = one_axes(ax)
        self.figure_ = self.ax_.figure
        order = by_importance(self.importances)[:n_columns]
        places, descending = np.arange(len(order)), self.importances[order]
        colours = np.where(self.support[order], SELECTED, OTHER)
        self.ax_.vlines(places, 0.0, descending, colors=colours)
        self.ax_.scatter(places, descending, c=colours, zorder=3)
        n_above = largest_gap(self.importances).n_above
        if 0 < n_above < len(order):
            self.ax_.axvline(n_above - 0.5, color="black", linestyle=":", linewidth=1.0)
        self.ax_.set_xticks(places, [self.names[column] for column in order], rotation=90)
        self.ax_.set(ylim=(0.0, 1.05), ylabel="share of universes")
        return self


class UniversesDisplay:
    """The bubble plot: for each universe, a bubble at each variable of its best subset.

    Parameters
    ----------
    subsets : boolean array of shape (B, p)
        The best subset of each universe.
    names : sequence of str
        The names of the variables.
    support : boolean array of shape (p,)
        Mask of the selected variables.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure.

    Examples
    --------
    >>> from kernsemble.datasets import make_sparse_sum
    >>> from kernsemble.selection import ParallelEvolutionSelector, UniversesDisplay
    >>> selector = ParallelEvolutionSelector(random_state=0).fit(*make_sparse_sum(random_state=6))
    >>> UniversesDisplay.from_estimator(selector).ax_.get_xlabel()
    'universe'
    """

    def __init__(self, subsets: BoolArray, names: Sequence[str], support: BoolArray) -> None:
        self.subsets, self.names, self.support = subsets, names, support

    @classmethod
    def from_estimator(cls, selector: Any, *, n_columns: int = 30, ax: Any = None) -> Self:
        """Draw the universes of a fitted selector, for its `n_columns` most important variables."""
        check_is_fitted(selector)
        display = cls(selector.subsets_, _names(selector), selector.support_)
        return display.plot(n_columns=n_columns, ax=ax)

    def plot(self, *, n_columns: int = 30, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
        self.ax_ = one_axes(ax)
        self.figure_ = self.ax_.figure
        shown = np.sort(by_importance(self.subsets.mean(axis=0))[:n_columns])
        universes, places = np.nonzero(self.subsets[:, shown])
        colours = np.where(self.support[shown[places]], SELECTED, OTHER)
        self.ax_.scatter(universes + 1, places, s=30, c=colours)
        self.ax_.set_yticks(range(len(shown)), [self.names[column] for column in shown])
        self.ax_.set(xlabel="universe", xlim=(0.0, len(self.subsets) + 1.0))
        return self


def _names(selector: Any) -> Sequence[str]:
    names = getattr(selector, "feature_names_in_", None)
    if names is None:
        return [f"x{column}" for column in range(selector.n_features_in_)]
    return [str(name) for name in names]

r"""Functions of two columns: tables of the cells of their coarse levels.

A function g is pure: its mean over either column is zero with respect to the product of the
marginal distributions of the training rows. Relative to independent columns with these
distributions, the Shapley values of both columns are :math:`g/2` each, exactly.
"""

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.inspection.dataframes import as_frame
from kernsemble.svm.backends.tables.pairs import CoarseColumn

DIGITS = range(5, 18)  # numbers of digits of the ends of intervals; the first that suffices
OTHERS, UNKNOWN, MISSING = "other categories", "unknown", "missing"


@dataclass(frozen=True, eq=False, repr=False)
class PairSide(Value):
    """One of the two columns of a pair, and its coarse levels.

    Attributes
    ----------
    column : int
        Place of the column.
    labels : tuple of str
        Name of each level: an interval of numbers, or a category.
    weight : array of shape (n_levels,)
        Share of the training rows at each level.
    cuts : array
        Upper ends of all ordered levels but the last; none for categories.
    levels : array or None
        Level of each category; None for numbers.
    missing : int
        Level of missing numbers, or of unknown categories.
    """

    column: int
    labels: tuple[str, ...]
    weight: FloatArray
    cuts: FloatArray
    levels: IntArray | None
    missing: int

    @classmethod
    def from_column(cls, coarse: CoarseColumn, known: tuple[Any, ...] | None) -> Self:
        """Return the side of a fitted pair; `known` are the categories of its column."""
        weight = coarse.weight / (coarse.weight.sum() or 1.0)
        levels = coarse.levels
        if levels.holds_categories:
            groups = coarse.groups[1:]
            names = range(len(groups)) if known is None else known
            members: list[list[str]] = [[] for _ in range(coarse.n_groups)]
            for each, group in zip(names, groups.tolist(), strict=False):
                members[group].append(MISSING if each is None else str(each))
            labels = [each[0] if len(each) == 1 else OTHERS for each in members]
            labels[0] = UNKNOWN
            return cls(coarse.column, tuple(labels), weight, np.empty(0), groups, 0)
        labels = _interval_texts(levels.cuts) + [MISSING] * levels.n_loose
        return cls(coarse.column, tuple(labels), weight, levels.cuts, None, levels.absent)

    def __call__(self, values: FloatArray) -> IntArray:
        """Return the level of each value of the column, categories as codes."""
        is_missing = np.isnan(values)
        if self.levels is None:
            return np.where(is_missing, self.missing, np.searchsorted(self.cuts, values))
        is_known = ~is_missing & (values >= 0.0) & (values < len(self.levels))
        codes = np.where(is_known, values, 0.0).astype(np.intp)
        return np.where(is_known, np.append(self.levels, 0)[codes], self.missing)


def _interval_texts(cuts: FloatArray) -> list[str]:
    """Return the names of the intervals between cuts, with enough digits to differ."""
    for digits in DIGITS:
        texts = [f"{cut:.{digits}g}" for cut in cuts]
        if len(set(texts)) == len(texts):
            break
    if not texts:
        return ["any"]
    inner = [f"({low}, {high}]" for low, high in itertools.pairwise(texts)]
    return [f"≤ {texts[0]}", *inner, f"> {texts[-1]}"]


@dataclass(frozen=True, eq=False, repr=False)
class PairFunction(Value):
    """A function of two columns, constant in the cells of their levels.

    Attributes
    ----------
    first, second : PairSide
        The columns.
    heights : array of shape (n_first, n_second)
        The value in each cell.
    squared_norm : float
        Contribution to the squared norm of the machine.
    names : tuple of two str
        Names of the columns.
    share : float
        Share of the importance of all functions of the machine.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.inspection import EnsembleView
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X = np.random.default_rng(0).normal(size=(1_000, 3))
    >>> y = X[:, 0] * X[:, 1] > 0.0
    >>> model = InfiniteEnsembleClassifier(loss="logistic", n_pairs=1).fit(X, y)
    >>> (pair,) = EnsembleView.from_estimator(model).pairs()
    >>> pair.names
    ('x0', 'x1')
    >>> bool(pair.share > 0.9)
    True
    >>> pair(np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])) > 0.0
    array([ True, False])
    """

    first: PairSide
    second: PairSide
    heights: FloatArray
    squared_norm: float
    names: tuple[str, str] = ("", "")
    share: float = np.nan

    @property
    def columns(self) -> tuple[int, int]:
        """The places of both columns."""
        return self.first.column, self.second.column

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Return the function at rows, with categories as codes."""
        codes = [side(rows[:, side.column]) for side in (self.first, self.second)]
        return self.heights[codes[0], codes[1]]

    @cached_property
    def variance(self) -> float:
        """The variance over the training rows, if the columns were independent."""
        return float(self.first.weight @ self.heights**2 @ self.second.weight)

    def present(self) -> tuple[list[str], list[str], FloatArray]:
        """Return the names of the levels with training rows, and the values in their cells."""
        kept = [np.flatnonzero(side.weight > 0.0) for side in (self.first, self.second)]
        names = [
            [side.labels[k] for k in some]
            for side, some in zip((self.first, self.second), kept, strict=True)
        ]
        return names[0], names[1], self.heights[np.ix_(*kept)]

    def to_frame(self) -> Any:
        """Return a DataFrame of the values, levels of the first column as rows."""
        values = dict(zip(self.second.labels, self.heights.T, strict=True))
        return as_frame(values, index=list(self.first.labels))

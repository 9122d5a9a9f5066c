r"""Effects of an additive machine as coordinates: the scale on which a column votes.

An additive machine :math:`f(x) = b + \sum_d g_d(x_d)` of stumps and categories is fitted to the
targets, and :math:`g_d(x_d)` is the coordinate of column d. Two values of a column are as far
apart as their votes are different; numbers, categories and missing values become alike.

The machine adapts to the rows that it is fitted to, above all where a category has few of them.
So the coordinates of training rows are *cross-fitted*: each row gets the effects of a machine
that was fitted without its part of the rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.preprocessing.scaling import FeatureScaling
from kernsemble.solvers.additive import Tables, solve_additive, solve_additive_folds
from kernsemble.solvers.additive.levels import Levels
from kernsemble.solvers.additive.look_up import Evaluator
from kernsemble.solvers.additive.quantise import quantise
from kernsemble.solvers.equal_rows import EqualRows
from kernsemble.solvers.losses import Logistic, Smooth, Squared

N_PARTS = 5  # number of parts of the rows that are left out in turn
N_SELECTING = 2  # number of these parts whose loss selects C
STRENGTHS = tuple(4.0**power for power in range(-2, 7))  # values of C, per mean distance of rows
WEIGHT_OF_MISSING = 2.0  # weight of "the value is missing", as in the additive backend
TOL = 1e-3  # duality gap of the additive machines, relative to the objective


@dataclass(frozen=True, eq=False, repr=False)
class EffectScaling(Value):
    """The effect of each column as its coordinate; with several targets, of one after another.

    Attributes
    ----------
    levels : tuple of Levels
        The levels of each column.
    heights : tuple of arrays of shape (n_targets, n_levels)
        The effect of each column at its levels. At a number between two levels it is
        interpolated.
    unit : float
        Factor of all effects.
    """

    levels: tuple[Levels, ...]
    heights: tuple[FloatArray, ...]
    unit: float = 1.0

    kind = "effects"
    accepts_categories = True  # and missing values

    @property
    def n_per_column(self) -> int:
        """The number of coordinates of a column."""
        return len(self.heights[0])

    def columns_of(self, coordinates: IntArray) -> IntArray:
        """Return the column that each coordinate depends on."""
        return coordinates // self.n_per_column

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the coordinates of rows, of shape (n, n_features * n_targets)."""
        coordinates = np.zeros((len(self.levels), self.n_per_column, len(X)))
        for d, (levels, heights) in enumerate(zip(self.levels, self.heights, strict=True)):
            column = np.ascontiguousarray(X[:, [d]], dtype=np.float64)
            Evaluator.from_tables([levels], [heights]).add_to(coordinates[d], column)
        return np.ascontiguousarray(self.unit * coordinates.reshape(-1, len(X)).T)


@dataclass(frozen=True, eq=False)
class EffectLearner:
    """Training rows on which additive machines are fitted, all or some of them.

    Equal rows are merged, so that weights are repetitions.

    Attributes
    ----------
    levels : tuple of Levels
        The levels of each column.
    codes : array of shape (n_features, n)
        The level of every entry.
    weight : array of shape (n,)
        Weights of the rows.
    group : array of shape (n,)
        The merged row of each row; one more for rows without weight.
    tables : Tables
        The additive problem of the merged rows.
    losses : tuple of Smooth
        The loss of each target of the merged rows, at the selected C.
    parts : array of shape (n,)
        The part of each row, which is left out for its cross-fitted coordinates.
    """

    levels: tuple[Levels, ...]
    codes: IntArray
    weight: FloatArray
    group: IntArray
    tables: Tables
    losses: tuple[Smooth, ...]
    parts: IntArray

    @classmethod
    def from_rows(
        cls,
        X: FloatArray,
        weight: FloatArray,
        is_category: BoolArray,
        targets: FloatArray,
        parts: IntArray | None = None,
        seed: int = 0,
    ) -> Self:
        """Quantise rows, and select C by the loss of left-out rows.

        Parameters
        ----------
        X : array of shape (n, n_features)
            Rows; columns of categories contain codes from 0.
        weight : array of shape (n,)
            Weights of the rows.
        is_category : array of shape (n_features,)
            Whether each column contains categories.
        targets : array of shape (n, n_targets)
            Signs of classes, or numbers of mean 0 and standard deviation 1.
        parts : array of shape (n,), optional
            The part of each row, from 0, to leave out together; by default random parts, the same
            for equal rows.
        seed : int
            Random seed of the parts.
        """
        present = np.flatnonzero(weight > 0.0)
        known = () if parts is None else (parts[present, np.newaxis],)
        found = EqualRows.of(X[present], targets[present], *known)
        first, counts = present[found.first], found.sums(weight[present])
        group = np.full(len(X), len(first))
        group[present] = found.group
        part = _random_parts(len(first), seed) if parts is None else parts[first]
        levels, codes = quantise(X, is_category=is_category, weight=weight)
        merged = np.ascontiguousarray(codes[:, first])
        tables = _tables(X[first], counts, is_category, levels, merged)
        is_signs = bool((np.abs(targets) == 1.0).all())
        family = Logistic if is_signs else Squared
        losses = [family.from_targets(np.ascontiguousarray(y), counts) for y in targets[first].T]
        C = _best_strength(tables, losses, part, counts)
        all_parts = np.append(part, 0)[group] if parts is None else parts
        scaled = tuple(each.times(C) for each in losses)
        return cls(tuple(levels), codes, weight, group, tables, scaled, all_parts)

    def fit(self, rows: IntArray | None = None) -> tuple[EffectScaling, FloatArray]:
        """Return the effects in some rows, all by default, and their cross-fitted coordinates."""
        rows = np.arange(len(self.group)) if rows is None else rows
        whole = self._scaling(rows)
        coordinates = np.empty((len(rows), len(self.levels), whole.n_per_column))
        parts = self.parts[rows]
        for part in np.unique(parts):
            is_mine = parts == part
            if is_mine.all():
                codes = self.codes[:, rows]
                return whole, _at_codes(whole.heights, codes).reshape(len(rows), -1)
            others = self._scaling(rows[~is_mine])
            codes = self.codes[:, rows[is_mine]]
            coordinates[is_mine] = _at_codes(others.heights, codes)
        return whole, coordinates.reshape(len(rows), -1)

    def _scaling(self, rows: IntArray) -> EffectScaling:
        """Return the effects of machines that are fitted to some rows."""
        n = self.tables.n_rows
        kept, whole = (
            np.bincount(self.group[some], self.weight[some], n + 1)[:n]
            for some in (rows, slice(None))
        )
        fitted = [
            solve_additive(self.tables, loss.times(kept / whole), tol=TOL).tables
            for loss in self.losses
        ]
        return EffectScaling(self.levels, tuple(map(np.array, zip(*fitted, strict=True))))


def _tables(
    X: FloatArray,
    weight: FloatArray,
    is_category: BoolArray,
    levels: Sequence[Levels],
    codes: IntArray,
) -> Tables:
    """Return the tables of stumps on ranks and of categories."""
    scaling = FeatureScaling.from_rows(X, "rank", weight)
    measures, weights = [], []
    for d, each in enumerate(levels):
        if is_category[d]:
            measures.append(np.empty(0))
            weights.append(np.ones(each.n_loose))
            continue
        places = scaling.of_column(d).transform(each.values[:, np.newaxis])[:, 0]
        measures.append(np.maximum(np.diff(places), 0.0))
        weights.append(np.full(each.n_loose, WEIGHT_OF_MISSING))
    return Tables.from_measures(codes, measures, weights, [each.middle for each in levels])


def _random_parts(n: int, seed: int) -> IntArray:
    """Return random parts of equal size."""
    order, parts = np.random.default_rng(seed).permutation(n), np.empty(n, dtype=np.intp)
    parts[order] = np.arange(n) % N_PARTS
    return parts


def _best_strength(
    tables: Tables, losses: Sequence[Smooth], parts: IntArray, weight: FloatArray
) -> float:
    """Return the C with the smallest loss of left-out rows."""
    shares = weight / weight.sum()
    z = tables.edges_of(tables.sums(shares))
    distance = float(tables.scale @ z - z @ z)
    strengths = [each / distance if distance > 0.0 else each for each in STRENGTHS]
    held_out = [np.flatnonzero(parts == part) for part in np.unique(parts)]
    if len(held_out) < 2:
        return strengths[0]
    held_out = held_out[:N_SELECTING]
    total = np.zeros(len(strengths))
    for loss in losses:
        folds = solve_additive_folds(tables, loss, strengths, held_out, tol=10.0 * TOL)
        for rows, fold in zip(held_out, folds, strict=True):
            mine = loss.among(rows)
            total += [mine.value(values) for values in fold.decisions]
    return strengths[int(np.argmin(total))]


def _at_codes(heights: Sequence[FloatArray], codes: IntArray) -> FloatArray:
    """Return effects at codes, of shape (n, n_features, n_targets)."""
    return np.stack([each[:, mine].T for each, mine in zip(heights, codes, strict=True)], axis=1)

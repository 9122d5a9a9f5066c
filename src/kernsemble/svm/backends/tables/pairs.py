r"""Functions of two columns: tables of the two-way cells of their coarse levels.

A column of numbers is divided into at most 32 coarse levels, groups of its levels with about equal
weights; missing values have their own. Of categories the most frequent have their own level, and
the others share one. A category that was not in the training rows is at the root of its column, as
in the table of the column itself.

The prior of a pair is isotropic, as in `pair_tables`. Its kernel is scaled so that for independent
columns the mean distance of two rows is :math:`\tau`, the weight of the pair.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from kernsemble._threads import run
from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.solvers.additive import Tables
from kernsemble.solvers.additive.levels import Levels
from kernsemble.solvers.additive.look_up import encode
from kernsemble.solvers.additive.pair_tables import Axis, PairTable
from kernsemble.solvers.additive.quantise import grouped, grouped_weights, merged
from kernsemble.svm.backends.tables.blocks import Block, FittedBlock
from kernsemble.svm.backends.tables.slices import Slicing

MAX_LEVELS = 32  # maximum number of coarse levels of a column, at most 255
MAX_VARIANCES = 64  # maximum number of levels that the variances of a column are computed from
ROWS_PER_EVALUATION = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class CoarseColumn(Value):
    """The coarse levels of a column.

    Attributes
    ----------
    column : int
        The column.
    levels : Levels
        The coarse levels of a column of numbers, all levels of one of categories.
    groups : array of shape (n_levels,)
        The coarse level of each of these.
    functions : array of shape (n_coarse, n_coarse)
        Uncorrelated functions of coarse levels, with the squared norm 1 each, for the kernel with
        the mean distance 1.
    variances : array of shape (n_coarse,)
        Their variances over the training rows.
    """

    column: int
    levels: Levels
    groups: IntArray
    functions: FloatArray
    variances: FloatArray

    @property
    def axis(self) -> Axis:
        """The functions of coarse levels."""
        return Axis(self.functions, self.variances, not self.levels.holds_categories)

    @property
    def n_groups(self) -> int:
        """The number of coarse levels."""
        return len(self.functions)

    @property
    def weight(self) -> FloatArray:
        """The weight of the training rows at each coarse level."""
        return grouped_weights(self.groups, self.levels.weight)

    def groups_of(self, levels: Levels) -> IntArray:
        """Return the coarse level of each level of the training rows."""
        if levels.holds_categories:
            return self.groups
        ordered = np.searchsorted(self.levels.cuts, np.append(levels.cuts, np.inf))
        return np.concatenate([ordered, self.levels.n_ordered + np.arange(levels.n_loose)])


def coarse_columns(slicing: Slicing, max_levels: int = MAX_LEVELS) -> list[CoarseColumn]:
    """Return the coarse levels of all columns that have a table of their own."""
    places = slicing_places(slicing)
    measures, weights = slicing.measures()

    def coarse(column: int) -> CoarseColumn:
        k = places[column]
        levels = slicing.levels[k]
        groups, axis = _grouped_axis(levels, measures[k], weights[k], max_levels)
        V = axis.total_variance
        axis = axis.scaled(1.0 / V if V > 0.0 else 0.0)
        if not levels.holds_categories:
            levels = merged(levels, groups)
            groups = np.arange(levels.n_levels)
        return CoarseColumn(column, levels, groups, axis.functions, axis.variances)

    return run(coarse, list(places))


def slicing_places(slicing: Slicing) -> dict[int, int]:
    """Return the first slice of each column, by column."""
    found: dict[int, int] = {}
    for k, column in enumerate(slicing.views.columns_seen.tolist()):
        if column >= 0:
            found.setdefault(column, k)
    return found


def coarse_codes(slicing: Slicing, columns: Sequence[CoarseColumn]) -> IntArray:
    """Return the coarse level of every training row in each column, of shape (n_columns, n)."""
    places = slicing_places(slicing)
    codes = np.empty((len(columns), slicing.codes.shape[1]), dtype=np.uint8)

    def work(d: int) -> None:
        k = places[columns[d].column]
        codes[d] = columns[d].groups_of(slicing.levels[k]).astype(np.uint8)[slicing.codes[k]]

    run(work, range(len(columns)))
    return codes


def variances_of_slices(slicing: Slicing, max_levels: int = MAX_VARIANCES) -> list[FloatArray]:
    """Return the variances of the features of each slice, none for sampled directions.

    Those of many ordered levels are computed from coarse levels; those of categories are
    :math:`v p_k (1 - p_k)`, exact in their sum.
    """
    measures, weights = slicing.measures()
    columns = slicing.views.columns_seen

    def variances(k: int) -> FloatArray:
        levels = slicing.levels[k]
        if columns[k] < 0:
            return np.empty(0)
        if levels.holds_categories:
            p = levels.weight[1:] / (levels.weight.sum() or 1.0)
            return weights[k] * p * (1.0 - p)
        return _grouped_axis(levels, measures[k], weights[k], max_levels)[1].variances

    return run(variances, range(len(columns)))


def _grouped_axis(
    levels: Levels, measure: FloatArray, loose: FloatArray, max_levels: int
) -> tuple[IntArray, Axis]:
    """Return the coarse level of each level, and the functions of coarse levels."""
    if levels.holds_categories:
        groups = _groups_of_categories(levels.weight[1:], max_levels)
        measure = np.empty(0)
        loose = np.full(groups.max(), loose[0] if len(loose) > 0 else 1.0)
    else:
        m, weight = levels.n_ordered, levels.weight[: levels.n_ordered]
        ordered = grouped(weight, max_levels - len(loose))
        groups = np.concatenate([ordered, ordered[-1] + 1 + np.arange(len(loose))])
        mass = np.maximum(weight, np.finfo(np.float64).tiny)
        position = np.concatenate([[0.0], np.cumsum(measure)])[:m]
        means = np.bincount(ordered, mass * position) / np.bincount(ordered, mass)
        measure = np.maximum(np.diff(means), 0.0)
    one = Tables.from_measures(
        np.empty((1, 0), dtype=np.uint8), [measure], [loose], [int(groups[levels.middle])]
    )
    features = np.array([one.levels_of(e) for e in np.eye(one.n_levels)]).T
    return groups, Axis.from_features(features, grouped_weights(groups, levels.weight))


def _groups_of_categories(weight: FloatArray, max_levels: int) -> IntArray:
    """Return coarse levels of the root, 0, and of categories; rare ones share the last."""
    if len(weight) < max_levels:
        return np.arange(len(weight) + 1)
    groups = np.full(len(weight) + 1, max_levels - 1)
    groups[0] = 0
    frequent = np.sort(np.argsort(-weight, kind="stable")[: max_levels - 2])
    groups[1 + frequent] = np.arange(1, max_levels - 1)
    return groups


@dataclass(frozen=True, eq=False, repr=False)
class FittedPairs(FittedBlock):
    r"""The pairs of fitted machines.

    Attributes
    ----------
    columns : tuple of CoarseColumn
        The columns of all pairs.
    pairs : array of shape (n_pairs, 2)
        Indices of the columns of each pair among these.
    weights : array of shape (n_pairs,)
        The factor :math:`\tau` of the kernel of each pair.
    order : float
        The order q of the prior.
    heights : tuple of arrays of shape (n_machines, n_cells)
        The values of every machine in the cells of each pair, row by row.
    """

    columns: tuple[CoarseColumn, ...]
    pairs: IntArray
    weights: FloatArray
    order: float
    heights: tuple[FloatArray, ...]

    def __iter__(self) -> Iterator[tuple[CoarseColumn, CoarseColumn, FloatArray]]:
        """Yield both columns of each pair, and values of shape (n_machines, n_first, n_second)."""
        for (a, b), heights in zip(self.pairs.tolist(), self.heights, strict=True):
            first, second = self.columns[a], self.columns[b]
            yield first, second, heights.reshape(len(heights), first.n_groups, second.n_groups)

    def tables(self) -> list[PairTable]:
        """Return the tables of all pairs, with weight 1 each."""
        return pair_tables(self.columns, self.pairs, np.ones(len(self.pairs)), self.order)

    @property
    def column_pairs(self) -> list[tuple[int, int]]:
        return [(first.column, second.column) for first, second, _ in self]

    def codes(self, X: FloatArray) -> IntArray:
        """Return the coarse level of every row in each column, of shape (n_columns, n)."""
        some = X[:, [each.column for each in self.columns]]
        codes = encode(some, [each.levels for each in self.columns])
        return np.array(
            [each.groups[row] for each, row in zip(self.columns, codes, strict=True)]
        ).reshape(len(self.columns), len(X))

    def add_to(self, values: FloatArray, X: FloatArray) -> None:
        for start in range(0, len(X), ROWS_PER_EVALUATION):
            span = slice(start, start + ROWS_PER_EVALUATION)
            codes = self.codes(X[span])
            for (a, b), heights in zip(self.pairs.tolist(), self.heights, strict=True):
                values[:, span] += heights[:, codes[a] * self.columns[b].n_groups + codes[b]]


@dataclass(frozen=True, eq=False)
class PairBlock(Block):
    """Pairs of columns on training rows, with the arguments of `FittedPairs`."""

    columns: tuple[CoarseColumn, ...]
    indices: IntArray
    weights: FloatArray
    order: float

    @classmethod
    def from_codes(
        cls,
        columns: Sequence[CoarseColumn],
        codes: IntArray,
        indices: IntArray,
        weights: FloatArray,
        order: float,
    ) -> Self:
        """Return the pairs of columns, given the coarse level of every row in each."""
        used, places = np.unique(indices, return_inverse=True)
        some = tuple(columns[k] for k in used.tolist())
        return cls(cells(columns, codes, indices), some, places.reshape(-1, 2), weights, order)

    @property
    def error(self) -> float:
        return 0.0

    @property
    def roots(self) -> list[int]:
        return []

    def measures(self) -> tuple[list[FloatArray], list[FloatArray]]:
        return [], []

    @property
    def pairs(self) -> list[PairTable]:
        return pair_tables(self.columns, self.indices, self.weights, self.order)

    def fitted(self, heights: Sequence[FloatArray]) -> FittedPairs:
        return FittedPairs(self.columns, self.indices, self.weights, self.order, tuple(heights))


def pair_tables(
    columns: Sequence[CoarseColumn], indices: IntArray, weights: FloatArray, order: float
) -> list[PairTable]:
    """Return the tables of pairs of columns, with isotropic priors of these weights."""
    return [
        PairTable.isotropic(columns[a].axis, columns[b].axis, order).weighted(weight)
        for (a, b), weight in zip(indices.tolist(), weights, strict=True)
    ]


def cells(columns: Sequence[CoarseColumn], codes: IntArray, indices: IntArray) -> IntArray:
    """Return the cell of every row in each pair, of shape (n_pairs, n)."""
    found = np.empty((len(indices), codes.shape[1]), dtype=np.uint16)
    for row, (a, b) in zip(found, indices.tolist(), strict=True):
        np.multiply(codes[a], columns[b].n_groups, out=row, dtype=np.uint16)
        row += codes[b].astype(np.uint16)
    return found

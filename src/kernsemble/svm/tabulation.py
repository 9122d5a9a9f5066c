"""How rows are tabulated: a scaling and a kernel bound to them, and the codes of its slices.

A missing number counts as the median of its column, and there is one more hypothesis for such a
column, "it is missing", with the measure that categories have: a missing entry is at the distance 1
of the median.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.kernels import Kernel
from kernsemble.kernels.slice_parts import Categories, Coordinates, OrderedPart
from kernsemble.kernels.slices import NoSlicesError, Slices, slices_of
from kernsemble.solvers.additive import AdditiveSolution, Tables
from kernsemble.solvers.quantise import Levels, quantise
from kernsemble.svm.columns import holds_missing
from kernsemble.svm.problem import Problem
from kernsemble.svm.scaling import FeatureScaling, Kind
from kernsemble.svm.shapes import ShapeTables, Views

WEIGHT_OF_MISSING = 2.0  # of "is missing": half of it and its negation are at the distance 1


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that are to be tabulated, whatever kernel and scaling.

    `is_category` tells which columns hold categories, as whole numbers from 0.
    """

    X: FloatArray
    counts: FloatArray
    is_category: BoolArray
    max_levels: int
    n_slices: int
    seed: int

    @cached_property
    def columns(self) -> tuple[list[Levels], IntArray]:
        """The levels of all columns, and the codes of all entries."""
        return quantise(
            self.X, max_levels=self.max_levels, is_category=self.is_category, weight=self.counts
        )

    @cached_property
    def is_missing(self) -> BoolArray:
        """Which entries are missing, of shape (0, 0) where none is."""
        return np.isnan(self.X) if holds_missing(self.X) else np.zeros((0, 0), dtype=bool)

    @cached_property
    def filled(self) -> FloatArray:
        """The rows with the median of each column for what is missing."""
        if not self.is_missing.any():
            return self.X
        middles = np.array([each.values[each.middle] for each in self.columns[0]])
        return np.where(self.is_missing, middles.astype(self.X.dtype), self.X)


@dataclass(frozen=True, eq=False)
class Tabulation:
    """A scaling, a kernel bound to scaled rows, and the levels and codes of its slices."""

    scaling: FeatureScaling
    kernel: Kernel
    views: Views
    levels: list[Levels]
    tables: Tables

    @classmethod
    def of(cls, sample: Sample, kernel: Kernel, kind: Kind | None) -> "Tabulation":
        """Tabulate rows with a kernel on a scale."""
        scaling = FeatureScaling.of(sample.filled, kind, sample.counts).sparing(sample.is_category)
        bound = kernel.bind(scaling.transform(sample.filled), sample.counts)
        slices = _slices(bound, sample)
        views = Views(scaling, slices, sample.is_category)
        levels, codes = _levels(sample, views)
        measures, weights = _measures(views, levels)
        tables = Tables.of(codes, measures, weights, [each.middle for each in levels])
        return cls(scaling, bound, views, levels, tables)

    def inverse_mean_distance(self, counts: FloatArray) -> float:
        """Return 1 over the mean of (K_ii + K_jj)/2 − K_ij, rows counted by weight.

        The mean is the sum of the variances of the explicit features: s² F (1 − F), with F
        the share of the rows beyond an edge.
        """
        s = self.tables.scale
        z = self.tables.edges_of(self.tables.sums(counts / counts.sum()))  # s F
        distance = float(s @ z - z @ z)
        return 1.0 / distance if distance > 0.0 else 1.0

    def machines(
        self, solutions: Sequence[AdditiveSolution], problems: Sequence[Problem]
    ) -> ShapeTables:
        """Return the fitted machines, in the units of their targets."""
        scales = [problem.scale for problem in problems]
        heights = (
            np.array(
                [
                    scale.spread * each.tables[k]
                    for each, scale in zip(solutions, scales, strict=True)
                ]
            )
            for k in range(len(self.levels))
        )
        biases = [
            scale.restored(np.array(each.bias))
            for each, scale in zip(solutions, scales, strict=True)
        ]
        return ShapeTables(self.views, tuple(self.levels), tuple(heights), np.array(biases))


def has_slices(kernel: Kernel, n_features: int) -> bool | None:
    """Tell whether a kernel is a sum of slices of columns; None where they are sampled."""
    try:
        slices = slices_of(kernel.bind(np.zeros((1, n_features))), n_slices=1)
    except NoSlicesError:
        return False
    return True if slices.is_exact else None


def _slices(kernel: Kernel, sample: Sample) -> Slices:
    try:
        slices = slices_of(kernel, n_slices=sample.n_slices, random_state=sample.seed)
        if slices.n_ordered + slices.n_unordered == 0:
            raise NoSlicesError.of(kernel)
    except NoSlicesError as error:
        raise NoSlicesError(
            f"solver = 'additive' needs a kernel that is a sum over columns or directions, and "
            f"{error}; or give solver='exact'"
        ) from error
    return slices


def _levels(sample: Sample, views: Views) -> tuple[list[Levels], IntArray]:
    """Return levels and codes of all slices: those of the columns, or of other views."""
    found = []
    for part in views.parts:
        if views.sees_columns(part):
            levels, codes = sample.columns
            is_all = np.array_equal(part.columns, np.arange(len(levels)))
            found.append(
                ([levels[d] for d in part.columns], codes if is_all else codes[part.columns])
            )
            continue
        for block in views.blocks(part, sample.X):
            is_category = np.full(block.shape[1], isinstance(part, Categories))
            found.append(
                quantise(
                    block,
                    max_levels=sample.max_levels,
                    is_category=is_category,
                    weight=sample.counts,
                )
            )
    if len(found) == 1:
        return found[0]
    return [each for levels, _ in found for each in levels], np.concatenate(
        [codes for _, codes in found]
    )


def _measures(views: Views, levels: Sequence[Levels]) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the measures between the ordered levels of all slices, and the weights of others."""
    measures: list[FloatArray] = []
    weights: list[FloatArray] = []
    first = 0
    for part in views.parts:
        mine = levels[first : first + part.n_slices]
        first += part.n_slices
        if isinstance(part, Categories):
            measures += [np.empty(0)] * len(mine)
            weights += [np.full(each.n_loose, part.factor) for each in mine]
            continue
        assert isinstance(part, OrderedPart)
        values = [each.values for each in mine]
        if isinstance(part, Coordinates):
            values = _scaled(views.scaling, part.columns, values, len(views.is_category))
        positions = [part.position(k, each) for k, each in enumerate(values)]
        measures += [np.maximum(np.diff(each), 0.0) for each in positions]
        weights += [np.full(each.n_loose, WEIGHT_OF_MISSING * part.factor) for each in mine]
    return measures, weights


def _scaled(
    scaling: FeatureScaling, columns: IntArray, values: Sequence[FloatArray], n_features: int
) -> list[FloatArray]:
    """Return the values of some columns on their scales."""
    grid = np.zeros((max(map(len, values)), n_features))
    for column, each in zip(columns, values, strict=True):
        grid[: len(each), column] = each
    scaled = scaling.transform(grid)
    return [scaled[: len(each), column] for column, each in zip(columns, values, strict=True)]

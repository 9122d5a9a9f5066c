"""How rows are tabulated: a scaling and a kernel bound to them, and codes of its slices and cells.

A missing number counts as the median of its column, and there is one more hypothesis for such a
column, "it is missing", with the measure that categories have: a missing entry is at the distance 1
of the median.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Self

import numpy as np

from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.kernels import Kernel
from kernsemble.kernels.algebra import terms
from kernsemble.kernels.binning import has_cells
from kernsemble.kernels.slice_parts import Categories
from kernsemble.kernels.slices import NoSlicesError, slices_of
from kernsemble.preprocessing import FeatureScaling, ScalingKind
from kernsemble.solvers.additive import AdditiveSolution, Tables
from kernsemble.solvers.additive.levels import Levels
from kernsemble.solvers.additive.quantise import quantise
from kernsemble.svm.blocks import Block, FittedTables, stack
from kernsemble.svm.cells import Cells
from kernsemble.svm.columns import holds_missing
from kernsemble.svm.memory import Budget
from kernsemble.svm.problem import Problem
from kernsemble.svm.shapes import ShapeTables, Views

BYTES_A_CODE = 2  # by columns, and by rows


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that are to be tabulated, whatever kernel and scaling.

    `is_category` tells which columns hold categories, as whole numbers from 0.
    """

    X: FloatArray
    counts: FloatArray
    is_category: BoolArray
    max_levels: int
    n_slices: int | None
    n_grids: int
    seed: int
    budget: Budget

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
    """A scaling, a kernel bound to scaled rows, and the tables of its slices and cells."""

    scaling: FeatureScaling
    kernel: Kernel
    blocks: list[Block]
    tables: Tables

    @classmethod
    def of(cls, sample: Sample, kernel: Kernel, kind: ScalingKind | None) -> Self:
        """Tabulate rows with a kernel on a scale."""
        scaling = FeatureScaling.from_rows(sample.filled, kind, sample.counts).sparing(
            sample.is_category
        )
        rows = scaling.transform(sample.filled)
        bound = kernel.bind(rows, sample.counts)
        blocks = _blocks(bound, sample, scaling, rows)
        return cls(scaling, bound, blocks, stack(blocks))

    @property
    def error(self) -> float:
        """What sampled hypotheses leave of error, relative, in the worst block."""
        return max(block.error for block in self.blocks)

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
    ) -> FittedTables:
        """Return the fitted machines, in the units of their targets."""
        scales = [problem.scale for problem in problems]
        heights = [
            np.array([scale.spread * g for g, scale in zip(tables, scales, strict=True)])
            for tables in zip(*(each.tables for each in solutions), strict=True)
        ]
        biases = [
            scale.restored(np.array(each.bias))
            for each, scale in zip(solutions, scales, strict=True)
        ]
        ends = np.cumsum([len(block.codes) for block in self.blocks])
        fitted = [
            block.fitted(heights[end - len(block.codes) : end])
            for block, end in zip(self.blocks, ends, strict=True)
        ]
        return FittedTables(tuple(fitted), np.array(biases))


@dataclass(frozen=True, eq=False)
class Sliced(Block):
    """The slices of a kernel, and the levels of what they see: a table a slice."""

    views: Views
    levels: list[Levels]

    @classmethod
    def of(
        cls, kernel: Kernel, sample: Sample, scaling: FeatureScaling, rng: np.random.Generator
    ) -> Self:
        """Find the levels of rows in the slices of a bound kernel."""
        try:
            slices = slices_of(kernel, n_slices=sample.n_slices, random_state=rng)
        except NoSlicesError as error:
            raise _no_tables(error) from error
        n, n_directions = len(sample.X), int((slices.columns < 0).sum())
        sample.budget.demand(
            BYTES_A_CODE * n * n_directions,
            f"the codes of {n:,} rows in {n_directions:,} directions take",
            "give a smaller n_slices, fit fewer rows",
        )
        views = Views(scaling, slices, sample.is_category)
        levels, codes = _levels(sample, views)
        return cls(codes, views, levels)

    @property
    def error(self) -> float:
        return self.views.slices.error

    @property
    def roots(self) -> list[int]:
        return [each.middle for each in self.levels]

    def measures(self) -> tuple[list[FloatArray], list[FloatArray]]:
        return self.views.measures(self.levels)

    def fitted(self, heights: Sequence[FloatArray]) -> ShapeTables:
        return ShapeTables(self.views, tuple(self.levels), tuple(heights))


def has_tables(kernel: Kernel, n_features: int) -> bool | None:
    """Tell whether a kernel is a sum of slices and cells; None where some are sampled."""
    binned, others = _parted(kernel)
    row = np.zeros((1, n_features))
    try:
        is_exact = all(slices_of(each.bind(row), n_slices=1).is_exact for each in others)
    except NoSlicesError:
        return False
    return True if is_exact and not binned else None


def _blocks(
    kernel: Kernel, sample: Sample, scaling: FeatureScaling, rows: FloatArray
) -> list[Block]:
    """Return the tables of a kernel that is bound to scaled rows, of one kind after another."""
    binned, others = _parted(kernel)
    rng = np.random.default_rng(sample.seed)
    blocks: list[Block] = []
    if others:
        blocks.append(Sliced.of(reduce(add, others), sample, scaling, rng))
    blocks.extend(
        Cells.of(each, rows, scaling, sample.n_grids, rng, sample.budget) for each in binned
    )
    blocks = [block for block in blocks if len(block.codes) > 0]
    if not blocks:
        raise _no_tables(NoSlicesError.of(kernel))
    return blocks


def _parted(kernel: Kernel) -> tuple[list[Kernel], list[Kernel]]:
    """Return the terms of a kernel that have cells, and the others."""
    found = terms(kernel)
    binned = [term for term in found if has_cells(term)]
    return binned, [term for term in found if not has_cells(term)]


def _no_tables(error: NoSlicesError) -> NoSlicesError:
    return NoSlicesError(
        "solver = 'additive' takes sums over columns, directions and grids, those of Laplacian() "
        f"and DecisionTree(), and {error}; or give solver='exact'"
    )


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
    none = np.empty((0, len(sample.X)), dtype=np.uint8)  # as of a constant
    return (
        [each for levels, _ in found for each in levels],
        np.concatenate([none, *(codes for _, codes in found)]),
    )

r"""Machines that are sums of functions of one number: :math:`\sum_k g_k(u_k(x))`.

The :math:`u_k` are the views of the slices of a kernel: columns as they were given, projections
of scaled rows, or categories. Each :math:`g_k` is a table of levels of its view, so a machine
costs one look-up per slice and row, whatever the number of training rows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from kernsemble._memory import Budget
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.kernels.ensemble import MiddleStump
from kernsemble.kernels.slice_parts import (
    Categories,
    Coordinates,
    Directions,
    OrderedPart,
    Part,
)
from kernsemble.kernels.slices import Slices
from kernsemble.preprocessing import FeatureScaling
from kernsemble.solvers.additive.levels import Levels
from kernsemble.solvers.additive.look_up import Evaluator
from kernsemble.solvers.additive.quantise import quantise
from kernsemble.svm.backends.tables.blocks import Block, FittedBlock

MAX_VIEW_ENTRIES = 4_000_000  # maximum number of entries of new rows computed at a time
MAX_PROJECTIONS = 64  # maximum number of directions projected on at a time
MAX_PROJECTED = 8_000_000  # maximum number of their entries, if at least 4 directions fit
WEIGHT_OF_MISSING = (
    2.0  # weight of the hypothesis "is missing", which is at distance 1 from the median
)
BYTES_PER_CODE = 2  # bytes of both copies of a code: by columns and by rows
BYTES_PER_PROJECTION = 16  # bytes of a projection, and of the scaled rows beside it


def projections_at_once(n_rows: int) -> int:
    """Return the number of directions that rows are projected on at a time."""
    return int(np.clip(MAX_PROJECTED // max(n_rows, 1), 4, MAX_PROJECTIONS))


def bytes_of_directions(n_rows: int, n_directions: int) -> float:
    """Return the bytes of the codes of rows in directions, and of projections at a time."""
    width = min(projections_at_once(n_rows), n_directions)
    return float(n_rows) * (BYTES_PER_CODE * n_directions + BYTES_PER_PROJECTION * width)


@dataclass(frozen=True, eq=False, repr=False)
class Views(Value):
    """The numbers that slices look at in rows; coordinates need no scaling.

    Attributes
    ----------
    scaling : FeatureScaling
        The scale of the rows that the kernel is bound to.
    slices : Slices
        The slices of the kernel.
    is_category : array of shape (n_features,)
        Which columns already hold categories as whole numbers from 0, −1 for unknown ones.
    factors : array of shape (n_slices,) or None
        Learned factor of the measure of each slice; None if none were learned.
    """

    scaling: FeatureScaling
    slices: Slices
    is_category: BoolArray
    factors: FloatArray | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the slices, ordered ones first."""
        return (*self.slices.ordered, *self.slices.unordered)

    @property
    def n_slices(self) -> int:
        """The number of all slices."""
        return self.slices.n_ordered + self.slices.n_unordered

    @property
    def columns_seen(self) -> IntArray:
        """The column of each slice that looks at one as it is, −1 for others."""
        return np.concatenate(
            [
                part.columns if self.sees_columns(part) else np.full(part.n_slices, -1)
                for part in self.parts
            ]
        )

    @property
    def is_stepped(self) -> BoolArray:
        """Mask of the slices with finitely many thresholds, so that tables jump between levels."""
        steps = [isinstance(part.simple, MiddleStump) for part in self.parts]
        return np.repeat(np.array(steps, dtype=bool), [part.n_slices for part in self.parts])

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the views of rows, of shape (n, n_slices), which may be the rows themselves."""
        blocks = [block for part in self.parts for block in self.blocks(part, X)]
        return blocks[0] if len(blocks) == 1 else np.hstack(blocks)

    def blocks(self, part: Part, X: FloatArray) -> Iterator[FloatArray]:
        """Yield the views of rows in a part, a few slices at a time."""
        if self.sees_columns(part):
            is_all = np.array_equal(part.columns, np.arange(X.shape[1]))
            yield X if is_all else X[:, part.columns]
        elif isinstance(part, Categories):
            yield self._codes(part, X).astype(X.dtype)
        elif isinstance(part, Directions):
            scaled = self.scaling.transform(X)
            width = projections_at_once(len(X))
            for start in range(0, part.n_slices, width):
                some = part.directions[start : start + width]
                yield replace(part, directions=some).views(scaled)

    def _codes(self, part: Categories, X: FloatArray) -> IntArray:
        """Return categories that are numbers in the rows; a missing one comes after the others."""
        is_missing = np.isnan(X)
        codes = part.codes(self.scaling.transform(np.where(is_missing, 0.0, X)))
        n_known = [len(known) for known in part.simple.hypotheses.categories]
        return np.where(is_missing[:, part.columns], n_known, codes)

    def sees_columns(self, part: Part) -> bool:
        """Return whether the views of a part are columns as they are."""
        if isinstance(part, Categories):
            return bool(self.is_category[part.columns].all())
        return isinstance(part, Coordinates)

    def among(self, span: slice, slices: Slices) -> Self:
        """Return the views of some slices."""
        factors = None if self.factors is None else self.factors[span]
        return replace(self, slices=slices, factors=factors)

    def measures(self, levels: Sequence[Levels]) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return the measure between ordered levels of each slice, and the weights of others."""
        measures: list[FloatArray] = []
        weights: list[FloatArray] = []
        first = 0
        for part in self.parts:
            mine = levels[first : first + part.n_slices]
            first += part.n_slices
            if isinstance(part, Categories):
                measures += [np.empty(0)] * len(mine)
                weights += [np.full(each.n_loose, part.factor) for each in mine]
                continue
            assert isinstance(part, OrderedPart)
            measures += [np.maximum(np.diff(each), 0.0) for each in self._positions(part, mine)]
            weights += [np.full(each.n_loose, WEIGHT_OF_MISSING * part.factor) for each in mine]
        if self.factors is not None:
            measures = [f * each for f, each in zip(self.factors, measures, strict=True)]
            weights = [f * each for f, each in zip(self.factors, weights, strict=True)]
        return measures, weights

    def _positions(self, part: OrderedPart, levels: Sequence[Levels]) -> list[FloatArray]:
        """Return the positions of the levels of a part in its slices."""
        values = [each.values for each in levels]
        if isinstance(part, Coordinates):
            values = _scaled(self.scaling, part.columns, values, len(self.is_category))
        return [part.position(k, each) for k, each in enumerate(values)]


@dataclass(frozen=True, eq=False, repr=False)
class ShapeTables(FittedBlock):
    """The slices of fitted machines: a table of levels for each slice and machine.

    Attributes
    ----------
    views : Views
        The numbers that are looked up.
    levels : tuple of Levels
        The levels of each view.
    heights : tuple of arrays of shape (n_machines, n_levels)
        The value of each slice's function at each level. It is zero at the middle level, and
        for categories at the first one, which is that of unknown categories.
    """

    views: Views
    levels: tuple[Levels, ...]
    heights: tuple[FloatArray, ...]

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator.from_tables(self.levels, self.heights, self.views.is_stepped)

    def add_to(self, values: FloatArray, X: FloatArray) -> None:
        height = max(MAX_VIEW_ENTRIES // len(self.levels), 1)
        for start in range(0, len(X), height):
            span = slice(start, start + height)
            self._evaluator.add_to(values[:, span], self.views(X[span]))


@dataclass(frozen=True, eq=False)
class ColumnCoder:
    """The codes of tables of single columns, given those of all columns."""

    columns: IntArray

    def __call__(self, codes: IntArray) -> IntArray:
        is_all = np.array_equal(self.columns, np.arange(len(codes)))
        return codes if is_all else codes[self.columns]


@dataclass(frozen=True, eq=False)
class Slicing(Block):
    """The slices of a kernel on training rows, and the levels of their views."""

    views: Views
    levels: list[Levels]

    @classmethod
    def from_rows(
        cls,
        slices: Slices,
        X: FloatArray,
        weight: FloatArray,
        is_category: BoolArray,
        scaling: FeatureScaling,
        quantised_columns: Callable[[], tuple[list[Levels], IntArray]],
        max_levels: int,
        budget: Budget,
    ) -> Self:
        """Find the levels of rows in slices; those of whole columns are quantised already."""
        n_directions = int((slices.columns < 0).sum())
        budget.check(
            bytes_of_directions(len(X), n_directions),
            f"codes and projections of {len(X):,} rows in {n_directions:,} directions take",
            "reduce n_slices, fit fewer rows",
        )
        views = Views(scaling, slices, is_category)
        found = []
        for part in views.parts:
            if views.sees_columns(part):
                levels, codes = quantised_columns()
                is_all = np.array_equal(part.columns, np.arange(len(levels)))
                some = [levels[d] for d in part.columns]
                found.append((some, codes if is_all else codes[part.columns]))
                continue
            for block in views.blocks(part, X):
                is_loose = np.full(block.shape[1], isinstance(part, Categories))
                found.append(
                    quantise(block, max_levels=max_levels, is_category=is_loose, weight=weight)
                )
        levels, codes = _join_levels(found, len(X))
        return cls(codes, views, levels)

    @property
    def error(self) -> float:
        return self.views.slices.error

    @property
    def roots(self) -> list[int]:
        return [each.middle for each in self.levels]

    def measures(self) -> tuple[list[FloatArray], list[FloatArray]]:
        return self.views.measures(self.levels)

    def coder(self) -> Callable[[IntArray], IntArray]:
        if not all(map(self.views.sees_columns, self.views.parts)):
            return super().coder()
        return ColumnCoder(np.concatenate([part.columns for part in self.views.parts]))

    def fitted(self, heights: Sequence[FloatArray]) -> ShapeTables:
        return ShapeTables(self.views, tuple(self.levels), tuple(heights))


def _join_levels(
    found: list[tuple[list[Levels], IntArray]], n_rows: int
) -> tuple[list[Levels], IntArray]:
    """Return the levels and codes of all parts, one after another."""
    if len(found) == 1:
        return found[0]
    none = np.empty((0, n_rows), dtype=np.uint8)  # as of a constant
    return (
        [each for levels, _ in found for each in levels],
        np.concatenate([none, *(codes for _, codes in found)]),
    )


def _scaled(
    scaling: FeatureScaling, columns: IntArray, values: Sequence[FloatArray], n_features: int
) -> list[FloatArray]:
    """Return the values of some columns on their scales."""
    grid = np.zeros((max(map(len, values)), n_features))
    for column, each in zip(columns, values, strict=True):
        grid[: len(each), column] = each
    scaled = scaling.transform(grid)
    return [scaled[: len(each), column] for column, each in zip(columns, values, strict=True)]

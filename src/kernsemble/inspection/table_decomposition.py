r"""Decomposition of machines that were fitted on tables.

Between two levels a table rises by :math:`\Delta g = 2 S m`, where m is the measure of the
thresholds between them, which determines the density S of the stumps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.inspection.decomposition import AdditiveTerm, Decomposition, Interaction
from kernsemble.inspection.expansion_decomposition import columns_seen
from kernsemble.inspection.pair_functions import PairFunction, PairSide
from kernsemble.inspection.shape_functions import Shape, StumpDensity
from kernsemble.kernels import MiddleStump
from kernsemble.kernels.slice_parts import (
    Categories,
    Coordinates,
    Directions,
    OrderedPart,
    Part,
    seen_columns,
)
from kernsemble.kernels.slices import Slices
from kernsemble.preprocessing.scaling import FeatureScaling
from kernsemble.solvers.additive.levels import Levels
from kernsemble.svm.backends.tables.blocks import FittedBlock, FittedTables
from kernsemble.svm.backends.tables.cells import CellTables
from kernsemble.svm.backends.tables.pairs import FittedPairs
from kernsemble.svm.backends.tables.slices import ShapeTables

ColumnCategories = Sequence[tuple[Any, ...] | None]


class ColumnTable(NamedTuple):
    """The function of one slice of one machine at the levels of its column."""

    column: int
    levels: Levels
    heights: FloatArray
    measure: FloatArray  # measure of the thresholds between ordered levels
    unordered_weights: FloatArray  # weights of the unordered levels

    @property
    def mean(self) -> float:
        """Mean over the training rows, each at its level."""
        weight = self.levels.weight
        return float(weight @ self.heights / weight.sum())

    @property
    def variance(self) -> float:
        """Variance over the training rows, each at its level."""
        weight = self.levels.weight
        return float(weight @ (self.heights - self.mean) ** 2 / weight.sum())

    @property
    def unordered_norm(self) -> float:
        """Contribution of the unordered levels to the squared norm."""
        rises = self.heights[self.levels.n_ordered :]
        return float((rises**2 / self.unordered_weights).sum())


def decompose_tables(
    tables: FittedTables, machine: int, categories: ColumnCategories
) -> Decomposition:
    """Return the decomposition of a machine."""
    intercept = float(tables.intercept[machine])
    additive: list[AdditiveTerm] = []
    interactions: list[Interaction] = []
    pairs: list[PairFunction] = []
    has_learned_measure = False
    for block in tables.blocks:
        if isinstance(block, FittedPairs):
            pairs.extend(_pair_functions(block, machine, categories))
        elif isinstance(block, ShapeTables):
            has_learned_measure |= block.views.factors is not None
            for part, some in _parts(block):
                if isinstance(part, (Categories, Coordinates)):
                    for term, constant in _column_terms(part, some, machine, categories):
                        additive.append(term)
                        intercept += constant
                else:
                    interactions.append(_direction_interaction(part, some, machine))
        else:
            assert isinstance(block, CellTables)
            interactions.append(_cell_interaction(block, machine))
    return Decomposition(intercept, additive, interactions, 0.0, tuple(pairs), has_learned_measure)


def combined_tables(tables: FittedTables, weights: FloatArray) -> FittedTables:
    """Return machines that are linear combinations of others, with these weights as rows."""
    blocks = tuple(_combined(block, weights) for block in tables.blocks)
    return FittedTables(blocks, weights @ tables.intercept)


def _combined(block: FittedBlock, weights: FloatArray) -> FittedBlock:
    if isinstance(block, CellTables):
        return replace(block, heights=np.ascontiguousarray(weights @ block.heights))
    if isinstance(block, FittedPairs):
        return replace(block, heights=tuple(weights @ each for each in block.heights))
    assert isinstance(block, ShapeTables)
    heights = tuple(np.ascontiguousarray(weights @ each) for each in block.heights)
    return ShapeTables(block.views, block.levels, heights)


def direction_tables(tables: FittedTables) -> list[tuple[Directions, ShapeTables]]:
    """Return the sampled directions of perceptron kernels, with their tables."""
    return [
        (part, some)
        for block in tables.blocks
        if isinstance(block, ShapeTables)
        for part, some in _parts(block)
        if isinstance(part, Directions)
    ]


def _parts(block: ShapeTables) -> Iterator[tuple[Part, ShapeTables]]:
    """Yield the parts of slices, each with its tables."""
    first = 0
    for part in block.views.parts:
        span = slice(first, first + part.n_slices)
        first += part.n_slices
        slices = (
            Slices(unordered=(part,))
            if isinstance(part, Categories)
            else Slices(ordered=(part,) if isinstance(part, OrderedPart) else ())
        )
        views = block.views.among(span, slices)
        yield part, ShapeTables(views, block.levels[span], block.heights[span])


def _tables(part: Part, block: ShapeTables, machine: int) -> Iterator[ColumnTable]:
    measures, weights = block.views.measures(block.levels)
    for k, column in enumerate(part.columns.tolist()):
        heights = block.heights[k][machine]
        yield ColumnTable(column, block.levels[k], heights, measures[k], weights[k])


def _column_terms(
    part: Part, block: ShapeTables, machine: int, categories: ColumnCategories
) -> Iterator[tuple[AdditiveTerm, float]]:
    """Yield additive terms, and the constant that each adds to the intercept."""
    for k, table in enumerate(_tables(part, block, machine)):
        if isinstance(part, Categories):
            if block.views.sees_columns(part):
                yield _category_term(table, categories[table.column]), 0.0
            else:
                yield _number_category_term(table, part, k, block.views.scaling), 0.0
        else:
            yield _number_term(table, isinstance(part.simple, MiddleStump))


def _number_term(table: ColumnTable, is_stepped: bool) -> tuple[AdditiveTerm, float]:
    levels, g = table.levels, table.heights
    rises = np.diff(g[: levels.n_ordered])
    lower, upper = (
        (levels.cuts, levels.cuts) if is_stepped else (levels.values[:-1], levels.values[1:])
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        density = StumpDensity.from_intervals(
            lower, upper, table.measure, 0.5 * rises / table.measure
        )
    constant = float(g[0] + density.weight.sum())
    missing = float(g[levels.absent] - constant)
    shape = replace(density.shape(), missing=missing)
    size = density.squared_norm + table.unordered_norm
    mean = table.mean - constant
    return AdditiveTerm(table.column, shape, density, size, mean, table.variance), constant


def _category_term(table: ColumnTable, labels: tuple[Any, ...] | None) -> AdditiveTerm:
    heights = table.heights[1:]
    atoms = np.arange(float(len(heights)))
    names = None if labels is None else labels[: len(heights)]
    unknown = float(table.heights[0])
    shape = Shape(atoms=atoms, heights=heights, other=unknown, missing=unknown, labels=names)
    norm = table.unordered_norm
    return AdditiveTerm(table.column, shape, None, norm, table.mean, table.variance)


def _number_category_term(
    table: ColumnTable, part: Categories, k: int, scaling: FeatureScaling
) -> AdditiveTerm:
    known = np.asarray(part.simple.hypotheses.categories[k], dtype=np.float64)
    unknown, heights = float(table.heights[0]), table.heights[1:]
    shape = Shape(
        atoms=scaling.restored(table.column, known),
        heights=np.append(heights, np.full(len(known), unknown))[: len(known)],
        other=unknown,
        missing=float(heights[len(known)]) if len(heights) > len(known) else unknown,
    )
    norm = table.unordered_norm
    return AdditiveTerm(table.column, shape, None, norm, table.mean, table.variance)


def _pair_functions(
    block: FittedPairs, machine: int, categories: ColumnCategories
) -> Iterator[PairFunction]:
    for (first, second, heights), weight, table in zip(
        block, block.weights, block.tables(), strict=True
    ):
        sides = [PairSide.from_column(each, categories[each.column]) for each in (first, second)]
        mine = heights[machine]
        norm = table.squared_norm(mine) / weight if weight > 0.0 else 0.0
        yield PairFunction(sides[0], sides[1], mine, norm)


def _direction_interaction(part: Part, block: ShapeTables, machine: int) -> Interaction:
    mine = replace(block, heights=tuple(each[[machine]] for each in block.heights))
    measures, _ = block.views.measures(block.levels)

    def squared_norm() -> float:
        rises = [np.diff(each[machine]) for each in block.heights]
        return sum(
            0.5 * float((rise[m > 0.0] ** 2 / m[m > 0.0]).sum())
            for rise, m in zip(rises, measures, strict=True)
        )

    name = f"{part.kernel!r} in {part.n_slices} directions"
    columns = seen_columns(part.kernel)
    return Interaction(name, columns, partial(_values, mine), squared_norm)


def _cell_interaction(block: CellTables, machine: int) -> Interaction:
    mine, grids = replace(block, heights=block.heights[[machine]]), block.grids

    def squared_norm() -> float:
        return float((mine.heights**2).sum()) * grids.n_grids / grids.weight

    name = f"{grids.embedding!r} in {grids.n_grids} grids"
    return Interaction(name, columns_seen(grids.embedding), partial(_values, mine), squared_norm)


def _values(block: FittedBlock, rows: FloatArray) -> FloatArray:
    values = np.zeros((1, len(rows)))
    block.add_to(values, rows)
    return values[0]

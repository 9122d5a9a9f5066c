r"""Machines that were fitted on tables as sums over columns.

Between two levels a table rises by :math:`\Delta g = 2 S m`, m the measure of the thresholds
between them: so it tells the density S of the stumps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.inspection.expansions import columns_seen
from kernsemble.inspection.functions import Shape, StumpDensity
from kernsemble.inspection.pieces import Interaction, Piece, Pieces
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
from kernsemble.svm.blocks import FittedBlock, FittedTables
from kernsemble.svm.cells import CellTables
from kernsemble.svm.shapes import ShapeTables

Labels = Sequence[tuple[Any, ...] | None]


class Table(NamedTuple):
    """The function of one slice of one machine at the levels of its column."""

    column: int
    levels: Levels
    heights: FloatArray
    measure: FloatArray  # between ordered levels
    loose: FloatArray  # weights of the others

    @property
    def mean(self) -> float:
        """The mean over the training rows, each counted at its level."""
        weight = self.levels.weight
        return float(weight @ self.heights / weight.sum())

    @property
    def loose_norm(self) -> float:
        """The part of the norm of what is outside the order."""
        rises = self.heights[self.levels.n_ordered :]
        return float((rises**2 / self.loose).sum())


def pieces_of_tables(tables: FittedTables, machine: int, labels: Labels) -> Pieces:
    """Return what a machine is the sum of."""
    intercept = float(tables.intercept[machine])
    additive: list[Piece] = []
    interactions: list[Interaction] = []
    for block in tables.blocks:
        if isinstance(block, ShapeTables):
            for part, some in _parts(block):
                if isinstance(part, (Categories, Coordinates)):
                    for piece, constant in _of_columns(part, some, machine, labels):
                        additive.append(piece)
                        intercept += constant
                else:
                    interactions.append(_of_directions(part, some, machine))
        else:
            assert isinstance(block, CellTables)
            interactions.append(_of_cells(block, machine))
    return Pieces(intercept, additive, interactions)


def direction_tables(tables: FittedTables) -> list[tuple[Directions, ShapeTables]]:
    """Return the sampled directions of perceptrons, with their tables."""
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
        views = replace(block.views, slices=slices)
        yield part, ShapeTables(views, block.levels[span], block.heights[span])


def _tables(part: Part, block: ShapeTables, machine: int) -> Iterator[Table]:
    measures, weights = block.views.measures(block.levels)
    for k, column in enumerate(part.columns.tolist()):
        heights = block.heights[k][machine]
        yield Table(column, block.levels[k], heights, measures[k], weights[k])


def _of_columns(
    part: Part, block: ShapeTables, machine: int, labels: Labels
) -> Iterator[tuple[Piece, float]]:
    """Yield pieces, and what each leaves to the intercept."""
    for k, table in enumerate(_tables(part, block, machine)):
        if isinstance(part, Categories):
            if block.views.sees_columns(part):
                yield _of_codes(table, labels[table.column]), 0.0
            else:
                yield _of_numbers_as_categories(table, part, k, block.views.scaling), 0.0
        else:
            yield _of_numbers(table, isinstance(part.simple, MiddleStump))


def _of_numbers(table: Table, is_stepped: bool) -> tuple[Piece, float]:
    levels, g = table.levels, table.heights
    rises = np.diff(g[: levels.n_ordered])
    lower, upper = (
        (levels.cuts, levels.cuts) if is_stepped else (levels.values[:-1], levels.values[1:])
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        density = StumpDensity.of(lower, upper, table.measure, 0.5 * rises / table.measure)
    constant = float(g[0] + density.weight.sum())
    missing = float(g[levels.absent] - constant)
    shape = replace(density.shape(), missing=missing)
    size = density.squared_norm + table.loose_norm
    return Piece(table.column, shape, density, size, table.mean - constant), constant


def _of_codes(table: Table, labels: tuple[Any, ...] | None) -> Piece:
    heights = table.heights[1:]
    atoms = np.arange(float(len(heights)))
    names = None if labels is None else labels[: len(heights)]
    unknown = float(table.heights[0])
    shape = Shape(atoms=atoms, heights=heights, other=unknown, missing=unknown, labels=names)
    return Piece(table.column, shape, None, table.loose_norm, table.mean)


def _of_numbers_as_categories(
    table: Table, part: Categories, k: int, scaling: FeatureScaling
) -> Piece:
    known = np.asarray(part.simple.hypotheses.categories[k], dtype=np.float64)
    unknown, heights = float(table.heights[0]), table.heights[1:]
    shape = Shape(
        atoms=scaling.restored(table.column, known),
        heights=np.append(heights, np.full(len(known), unknown))[: len(known)],
        other=unknown,
        missing=float(heights[len(known)]) if len(heights) > len(known) else unknown,
    )
    return Piece(table.column, shape, None, table.loose_norm, table.mean)


def _of_directions(part: Part, block: ShapeTables, machine: int) -> Interaction:
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


def _of_cells(block: CellTables, machine: int) -> Interaction:
    mine, grids = replace(block, heights=block.heights[[machine]]), block.grids

    def squared_norm() -> float:
        return float((mine.heights**2).sum()) * grids.n_grids / grids.weight

    name = f"{grids.embedding!r} in {grids.n_grids} grids"
    return Interaction(name, columns_seen(grids.embedding), partial(_values, mine), squared_norm)


def _values(block: FittedBlock, rows: FloatArray) -> FloatArray:
    values = np.zeros((1, len(rows)))
    block.add_to(values, rows)
    return values[0]

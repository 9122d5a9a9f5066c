"""Rows in blocks, prepared for a kernel and a scaling, and the problems solved on them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive import AdditiveSolution, Tables
from kernsemble.solvers.additive.folds import solve_path_on_blocks
from kernsemble.solvers.additive.levels import Levels
from kernsemble.solvers.additive.row_blocks import (
    BlockRows,
    Engine,
    RowBlock,
    added,
    without_rows,
)
from kernsemble.solvers.additive.rows import MemoryRows
from kernsemble.solvers.interrupts import Watch
from kernsemble.solvers.losses import LOSSES, Kinked, Smooth
from kernsemble.svm.backends.base import Candidate, Machines, Solved, SolverSettings, solve_each
from kernsemble.svm.backends.tables.backend import PreparedTables, TablesWorkspace, max_iter
from kernsemble.svm.multiclass import Reduction
from kernsemble.svm.problem import TargetScale
from kernsemble.svm.streams.encoding import BlockContent, Coder


@dataclass(frozen=True, eq=False)
class BlockProblem:
    """The problem of one machine at C = 1, from which every block makes the loss of its rows.

    Attributes
    ----------
    loss : str
        Name of the loss.
    reduction, machine
        The classes on the two sides; None for regression.
    factors : array of shape (n_classes,), optional
        Factor of C for each class.
    scale : TargetScale
        The unit of the targets.
    epsilon : float
        Errors that are free, in units of the scale.
    """

    loss: str
    reduction: Reduction | None = None
    machine: int = 0
    factors: FloatArray | None = None
    scale: TargetScale = field(default_factory=TargetScale)
    epsilon: float = 0.0

    @property
    def penalty_unit(self) -> float:
        """The unit of C; see `Problem`."""
        return self.scale.spread if LOSSES[self.loss].degree == 1 else 1.0

    def of(self, content: BlockContent, held_out: int | None = None) -> Smooth | Kinked:
        """Return the loss of the rows of a block, all or without those of a fold."""
        weight = content.weights()
        if held_out is not None:
            weight = np.where(content.fold == held_out, 0.0, weight)
        loss: Any = LOSSES[self.loss]
        if self.reduction is None:
            return loss.from_targets(self.scale.standardise(content.y), weight, self.epsilon)
        signs = self.reduction.signs(content.y, self.machine).astype(np.float32)  # exact
        if self.factors is not None:
            weight = weight * self.factors[content.y]
        if (signs == 0.0).any():
            weight = weight * np.abs(signs)
        return loss.from_targets(signs, weight)


@dataclass(frozen=True, eq=False)
class MakeRows:
    """The rows of a problem, made by each block of its own."""

    tables: Tables
    coder: Coder
    problem: BlockProblem
    held_out: int | None = None

    def __call__(self, block: RowBlock) -> MemoryRows:
        tables = replace(self.tables, codes=self.coder(block.codes))
        return MemoryRows(tables, self.problem.of(block.content, self.held_out))


@dataclass(frozen=True, eq=False)
class JoinedCoder:
    """The codes of the tables of several kinds, one after another."""

    coders: tuple[Coder, ...]

    def __call__(self, codes: IntArray) -> IntArray:
        found = [coder(codes) for coder in self.coders]
        return found[0] if len(found) == 1 else np.concatenate(found)


def unchanged(codes: IntArray) -> IntArray:
    """Return the codes of blocks that store those of tables."""
    return codes


def weigh_levels(blocks: Sequence[RowBlock], tables: Tables, coder: Coder) -> FloatArray:
    """Return the weight of the rows of each level."""
    total = np.zeros(tables.n_levels)
    for block in blocks:
        codes, weights = coder(block.codes), block.content.weights()
        total += tables.sums(np.ascontiguousarray(weights), codes)
    return total


@dataclass(frozen=True, eq=False)
class PreparedBlocks(PreparedTables):
    """The tables of a kernel on rows in blocks; the rows of `tables` stay with the engine."""

    engine: Engine
    is_parallel: bool
    is_coded: bool

    @cached_property
    def coder(self) -> Coder:
        """The codes of tables for those of columns."""
        return JoinedCoder(tuple(block.coder() for block in self.blocks))

    @property
    def block_coder(self) -> Coder:
        """The codes of tables for those that blocks store."""
        return unchanged if self.is_coded else self.coder

    @cached_property
    def shares(self) -> FloatArray:
        total: Any = None
        for part in self.engine.ask(weigh_levels, self.tables, self.block_coder):
            total = added(total, part)
        return total / self.weight.sum()

    def rows(self, problem: BlockProblem, held_out: int | None = None) -> BlockRows:
        """Return the rows of a problem, without those of a fold."""
        loss = LOSSES[problem.loss]
        has_corners = issubclass(loss, Smooth) and loss.has_corners
        make = MakeRows(self.tables, self.block_coder, problem, held_out)
        return BlockRows(self.engine, self.tables, make, issubclass(loss, Kinked), has_corners)

    def solve(  # type: ignore[override]
        self,
        problems: Sequence[BlockProblem],
        C: float,
        settings: SolverSettings,
        last: Machines | None,
        task: Task,
    ) -> Solved:
        starts = self._starts(last if settings.warm_start else None, len(problems))

        def solve(place: int, watch: Watch) -> AdditiveSolution:
            problem = problems[place]
            rows = self.rows(problem)
            path = solve_path_on_blocks(
                rows,
                [C / problem.penalty_unit],
                tol=settings.tol,
                max_iter=max_iter(settings),
                start=starts[place],
                watch=watch,
            )
            (solution,) = path
            rows.close()
            return solution

        solutions, is_interrupted = solve_each(
            solve, len(problems), task, in_turn=not self.is_parallel
        )
        return self._solved(problems, solutions, settings, is_interrupted)  # type: ignore[arg-type]

    def solve_folds(self, *_: Any) -> NoReturn:
        raise NotImplementedError(
            "folds of blocks are solved by `kernsemble.svm.streams.selection`"
        )


@dataclass(frozen=True, eq=False)
class BlocksWorkspace(TablesWorkspace):
    """A sample of the rows, with the levels of all rows, which the engine has in blocks."""

    found: tuple[list[Levels], IntArray]
    engine: Engine
    total_weight: float
    is_parallel: bool
    is_coded: bool = False

    @cached_property
    def columns(self) -> tuple[list[Levels], IntArray]:
        return self.found

    def prepare(self, candidate: Candidate) -> PreparedBlocks:
        on_sample = super().prepare(candidate)
        return PreparedBlocks(
            on_sample.scaling,
            on_sample.kernel,
            np.array([self.total_weight]),
            on_sample.blocks,
            without_rows(on_sample.tables),
            self.engine,
            self.is_parallel,
            self.is_coded,
        )

r"""The additive backend: a kernel as a sum over columns, directions and grids, solved on tables.

Rows become codes of levels once, for every kernel, scaling, fold and C. A step costs O(n) per
table, so the cost of a fit grows linearly with the number of rows.

A missing number counts as the median of its column, and there is one more hypothesis for such a
column, "the value is missing", with the measure that categories have: a missing entry is at the
distance 1 of the median.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, Self

import numpy as np
from scipy import sparse

from kernsemble._memory import Budget
from kernsemble._progress import Task
from kernsemble._typing import BoolArray, FloatArray, IntArray, Rows
from kernsemble._value_object import Value
from kernsemble.kernels import Kernel
from kernsemble.kernels.slices import NoSlicesError, slices_of
from kernsemble.preprocessing import FeatureScaling
from kernsemble.preprocessing.supervised import is_learned
from kernsemble.solvers import Fold, Status
from kernsemble.solvers.additive import (
    AdditiveSolution,
    Tables,
    solve_additive,
    solve_additive_folds,
)
from kernsemble.solvers.additive.levels import Levels
from kernsemble.solvers.additive.quantise import quantise
from kernsemble.solvers.interrupts import Watch
from kernsemble.solvers.losses import Kinked, Loss, Smooth
from kernsemble.svm.backends.base import (
    Backend,
    Candidate,
    Machines,
    PreparedRows,
    Solved,
    SolverSettings,
    TrainingRows,
    Workload,
    Workspace,
    inverse_or_one,
    longest_run,
    solve_each,
)
from kernsemble.svm.backends.table_prior import TablePrior
from kernsemble.svm.backends.tables.blocks import Block, FittedTables, stack
from kernsemble.svm.backends.tables.cells import Cells
from kernsemble.svm.backends.tables.kernel_terms import no_tables, represents_exactly, split_terms
from kernsemble.svm.backends.tables.pair_search import blocks_with_pairs
from kernsemble.svm.backends.tables.priors import prior_of, with_prior
from kernsemble.svm.backends.tables.slices import Slicing
from kernsemble.svm.columns.missing_values import has_missing
from kernsemble.svm.problem import Problem

SMALLEST_UNIT = 1e-200  # smallest strength of a row that pairs are searched with
FEW = 0.5  # share of rows below which the codes of a problem are copied


@dataclass(frozen=True, eq=False, repr=False)
class Restart(Value):
    """The solutions of all machines, from which another fit can start; see `AdditiveSolution`."""

    z: FloatArray  # (n_machines, n_levels)
    bias: FloatArray
    beta: FloatArray  # (n_machines, n_rows)
    strength: FloatArray

    @classmethod
    def from_solutions(cls, solutions: Sequence[AdditiveSolution]) -> Self:
        """Return the arrays of all solutions."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.array([getattr(each, name) for each in solutions]) for name in names))

    def starts(self) -> list[AdditiveSolution]:
        """Return the start of each machine."""
        arrays = self.z, self.bias, self.beta, self.strength
        return [AdditiveSolution.to_start_from(*each) for each in zip(*arrays, strict=True)]


@dataclass(frozen=True, eq=False, repr=False)
class TableMachines(Machines):
    """Machines as tables of levels, with the error that sampled hypotheses leave."""

    tables: FittedTables
    sampling_error: float
    restart: Restart | None

    @property
    def supports_missing(self) -> bool:
        return True

    def values(self, X: Rows, budget: Budget) -> FloatArray:
        return self.tables.values(dense_rows(X, budget))

    def attributes(self) -> dict[str, Any]:
        return {
            "tables_": self.tables,
            "sampling_error_": self.sampling_error,
            "pairs_": self.tables.pairs,
        }


@dataclass(frozen=True, eq=False)
class PreparedTables(PreparedRows):
    """A scaling and a kernel bound to the rows, and the tables of its slices and cells."""

    scaling: FeatureScaling
    kernel: Kernel
    weight: FloatArray
    blocks: list[Block]
    tables: Tables

    @property
    def sampling_error(self) -> float:
        """The relative error that sampled hypotheses leave, in the worst block."""
        return max(block.error for block in self.blocks)

    def inverse_mean_distance(self) -> float:
        """Return 1 over the mean of (K_ii + K_jj)/2 − K_ij.

        That is the sum of the variances s² F (1 − F) of features, F the share beyond an edge.
        """
        s, z = self.tables.scale, self.tables.edges_of(self.shares)  # s F
        return inverse_or_one(float(s @ z - z @ z))

    @cached_property
    def shares(self) -> FloatArray:
        """The share of each level in the weight of all rows."""
        return self.tables.sums(self.weight / self.weight.sum())

    def solve(
        self,
        problems: Sequence[Problem],
        C: float,
        settings: SolverSettings,
        last: Machines | None,
        task: Task,
    ) -> Solved:
        if np.isinf(C):
            raise ValueError(
                "C = inf, a hard margin, is not supported by solver = 'additive': use 'exact'"
            )
        if settings.wants_pairs:
            return self._solve_with_pairs(problems, C, settings, last, task)
        starts = self._starts(last if settings.warm_start else None, len(problems))
        return self._solve_from(starts, problems, C, settings, task)

    def _solve_from(
        self,
        starts: Sequence[AdditiveSolution | None],
        problems: Sequence[Problem],
        C: float,
        settings: SolverSettings,
        task: Task,
    ) -> Solved:
        is_single = len(problems) == 1

        def solve(place: int, watch: Watch) -> AdditiveSolution:
            problem, tables, start = problems[place], self.tables, starts[place]
            rows = problem.rows
            if len(rows) < FEW * tables.n_rows and not settings.warm_start:
                if start is not None and len(start.beta) == tables.n_rows:
                    start = replace(start, beta=start.beta[rows])
                tables = replace(tables, codes=tables.codes_of(rows))
                problem = problem.among(rows)
            return solve_additive(
                replace(tables, has_threads=is_single),
                problem.loss.times(C / problem.penalty_unit),
                tol=settings.tol,
                max_iter=max_iter(settings),
                start=start,
                watch=watch,
            )

        solutions, is_interrupted = solve_each(solve, len(problems), task, in_turn=is_single)
        return self._solved(problems, solutions, settings, is_interrupted)

    def _solve_with_pairs(
        self,
        problems: Sequence[Problem],
        C: float,
        settings: SolverSettings,
        last: Machines | None,
        task: Task,
    ) -> Solved:
        """Search for pairs and fit all tables; an interrupted search returns none."""
        try:
            with task.part("pairs", len(problems) + 1):
                prepared, starts = self.with_pairs(problems, C, settings)
        except KeyboardInterrupt:
            few = replace(settings, max_iter=1)
            solved = self._solve_from([None] * len(problems), problems, C, few, task)
            statuses = (Status.INTERRUPTED,) * len(problems)
            return solved._replace(statuses=statuses, is_interrupted=True)
        if settings.warm_start and None not in (again := prepared._starts(last, len(problems))):
            starts = again
        return prepared._solve_from(starts, problems, C, settings, task)

    def with_pairs(
        self, problems: Sequence[Problem], C: float, settings: SolverSettings
    ) -> tuple[Self, Sequence[AdditiveSolution | None]]:
        """Return the rows with tables of pairs and learned weights, and starts of the machines."""
        units = [C / problem.penalty_unit for problem in problems]
        if not all(SMALLEST_UNIT <= unit < np.inf for unit in units):
            raise ValueError(
                "C in the unit of y exceeds the range that n_pairs computes with: use another C, "
                "or scale y"
            )
        losses = [problem.loss.times(unit) for problem, unit in zip(problems, units, strict=True)]
        blocks, starts = blocks_with_pairs(self.blocks, self.tables, losses, units, settings)
        return replace(self, blocks=blocks, tables=stack(blocks)), starts

    def learn_prior(
        self, problems: Sequence[Problem], C: float, settings: SolverSettings
    ) -> TablePrior:
        """Return learned weights and pairs; rows of weight zero have no influence."""
        return prior_of(self.with_pairs(problems, C, settings)[0].blocks)

    def _solved(
        self,
        problems: Sequence[Problem],
        solutions: Sequence[AdditiveSolution],
        settings: SolverSettings,
        is_interrupted: bool,
    ) -> Solved:
        gaps = [max(each.primal - each.dual, 0.0) for each in solutions]
        machines = TableMachines(
            self._fitted(solutions, problems),
            self.sampling_error,
            Restart.from_solutions(solutions) if settings.warm_start else None,
        )
        return Solved(
            machines,
            intercept=machines.tables.intercept,
            objective=_squared(problems, [-each.dual for each in solutions]),
            duality_gap=_squared(problems, gaps),
            n_iter=longest_run(solutions),
            statuses=tuple(each.status for each in solutions),
            is_interrupted=is_interrupted,
            shortfall=f"relative duality gap {max(each.gap for each in solutions):.2g}",
        )

    def _fitted(
        self, solutions: Sequence[AdditiveSolution], problems: Sequence[Problem]
    ) -> FittedTables:
        """Return the fitted tables, in the units of the targets."""
        scales = [problem.scale for problem in problems]
        heights = [
            np.array([scale.spread * g for g, scale in zip(tables, scales, strict=True)])
            for tables in zip(*(each.tables for each in solutions), strict=True)
        ]
        biases = [
            scale.restore(np.array(each.bias))
            for each, scale in zip(solutions, scales, strict=True)
        ]
        ends = np.cumsum([len(block.codes) for block in self.blocks])
        fitted = [
            block.fitted(heights[end - len(block.codes) : end])
            for block, end in zip(self.blocks, ends, strict=True)
        ]
        return FittedTables(tuple(fitted), np.array(biases))

    def _starts(
        self, last: Machines | None, n_machines: int
    ) -> Sequence[AdditiveSolution] | Sequence[None]:
        """Return the start of each machine, None if the last fit does not suit this one."""
        restart = last.restart if isinstance(last, TableMachines) else None
        shapes = (n_machines, self.tables.n_levels), (n_machines, self.tables.n_rows)
        if restart is None or (restart.z.shape, restart.beta.shape) != shapes:
            return [None] * n_machines
        return restart.starts()

    def solve_all_folds(
        self,
        problems: Sequence[Problem],
        Cs: Sequence[float],
        held_out: Sequence[IntArray],
        settings: SolverSettings,
        task: Task,
    ) -> list[list[Fold]]:
        """Return the folds of every problem; with pairs, which all share, one fold at a time."""
        if not settings.wants_pairs:
            return super().solve_all_folds(problems, Cs, held_out, settings, task)
        found = []
        for rows in held_out:
            present = np.ones(self.tables.n_rows)
            present[rows] = 0.0
            rest = [replace(each, loss=each.loss.times(present)) for each in problems]
            solutions = [self._solutions_with_pairs(rest, C, settings) for C in Cs]

            def decide(each: AdditiveSolution, rows: IntArray = rows) -> FloatArray:
                return each.decisions[rows]

            paths = zip(*solutions, strict=True)
            found.append([Fold.from_solutions(path, decide, None) for path in paths])
        for _ in problems:
            task.note("machine")
        return [list(folds) for folds in zip(*found, strict=True)]

    def _solutions_with_pairs(
        self, problems: Sequence[Problem], C: float, settings: SolverSettings
    ) -> list[AdditiveSolution]:
        prepared, starts = self.with_pairs(problems, C, settings)
        return [
            solve_additive(
                prepared.tables,
                problem.loss.times(C / problem.penalty_unit),
                tol=settings.tol,
                max_iter=max_iter(settings),
                start=start,
            )
            for problem, start in zip(problems, starts, strict=True)
        ]

    def solve_folds(
        self,
        problem: Problem,
        Cs: Sequence[float],
        held_out: Sequence[IntArray],
        settings: SolverSettings,
        on_solved: Callable[[], None],
    ) -> list[Fold]:
        return solve_additive_folds(
            self.tables,
            problem.loss,
            Cs,
            held_out,
            tol=settings.tol,
            max_iter=max_iter(settings),
            on_solved=on_solved,
        )


@dataclass(frozen=True, eq=False)
class TablesWorkspace(Workspace):
    """Training rows whose columns are quantised once, for any kernel and scaling."""

    X: FloatArray
    weight: FloatArray
    is_category: BoolArray
    settings: SolverSettings
    seed: int

    @cached_property
    def columns(self) -> tuple[list[Levels], IntArray]:
        """The levels of all columns, and the codes of all entries."""
        return quantise(
            self.X,
            max_levels=self.settings.max_levels,
            is_category=self.is_category,
            weight=self.weight,
        )

    @cached_property
    def filled(self) -> FloatArray:
        """The rows, with the median of its column in place of each missing value."""
        if not has_missing(self.X):
            return self.X
        medians = np.array([each.values[each.middle] for each in self.columns[0]])
        return np.where(np.isnan(self.X), medians.astype(self.X.dtype), self.X)

    def prepare(self, candidate: Candidate) -> PreparedTables:
        if is_learned(candidate.scaling):
            raise ValueError(
                f"scaling = {candidate.scaling!r} needs the kernel matrix: use solver='exact', or "
                "another scaling"
            )
        scaling = FeatureScaling.from_rows(self.filled, candidate.scaling, self.weight)
        scaling = scaling.sparing(self.is_category)
        rows = scaling.transform(self.filled)
        kernel = candidate.kernel.bind(rows, self.weight)
        blocks = self._blocks(kernel, scaling, rows)
        if candidate.prior is not None:
            blocks = with_prior(blocks, candidate.prior)
        return PreparedTables(scaling, kernel, self.weight, blocks, stack(blocks))

    def _blocks(self, kernel: Kernel, scaling: FeatureScaling, rows: FloatArray) -> list[Block]:
        """Return the tables of a kernel that is bound to scaled rows, slices before cells."""
        gridded, sliced = split_terms(kernel)
        rng = np.random.default_rng(self.seed)
        blocks: list[Block] = []
        if sliced:
            blocks.append(self._slicing(reduce(add, sliced), scaling, rng))
        n_grids, budget = self.settings.n_grids, self.settings.budget
        blocks.extend(
            Cells.from_rows(each, rows, scaling, n_grids, rng, budget) for each in gridded
        )
        blocks = [block for block in blocks if len(block.codes) > 0]
        if not blocks:
            raise no_tables(NoSlicesError.of(kernel))
        return blocks

    def _slicing(
        self, kernel: Kernel, scaling: FeatureScaling, rng: np.random.Generator
    ) -> Slicing:
        try:
            slices = slices_of(kernel, n_slices=self.settings.n_slices, random_state=rng)
        except NoSlicesError as error:
            raise no_tables(error) from error
        return Slicing.from_rows(
            slices,
            self.X,
            self.weight,
            self.is_category,
            scaling,
            lambda: self.columns,
            self.settings.max_levels,
            self.settings.budget,
        )


@dataclass(frozen=True)
class TablesBackend(Backend):
    """Backend on tables, for kernels that are sums over columns, directions or grids.

    Attributes
    ----------
    rows_worth_tables, rows_worth_sampling : int
        The numbers of rows up to which the kernel matrix is cheaper: for kernels that tables
        represent exactly, and for those whose directions or grids are sampled.
    """

    name = "additive"
    supports_pairs = True
    penalty_multiples = tuple(4.0**power for power in range(-2, 9))
    default_max_iter = 500  # Newton steps, or passes of coordinate descent
    rows_worth_tables: int = 3_000
    rows_worth_sampling: int = 10_000

    def supports(self, loss: type[Loss]) -> bool:
        return issubclass(loss, (Kinked, Smooth))

    def supports_missing(self, kernels: Sequence[Kernel]) -> bool:  # noqa: ARG002
        return True

    def cost(self, workload: Workload) -> float:
        n, n_features = workload.rows.X.shape
        if (
            workload.has_learned_scaling
            or workload.is_hard_margin
            or sparse.issparse(workload.rows.X)
        ):
            return np.inf
        if n <= self.rows_worth_tables and not workload.is_mixed:
            return float(self.rows_worth_tables) * n  # at least, whatever the kernels
        kinds = [represents_exactly(kernel, n_features) for kernel in workload.kernels]
        if False in kinds:
            return np.inf
        if None in kinds:
            return float(self.rows_worth_sampling) * n
        return 0.0 if workload.is_mixed else float(self.rows_worth_tables) * n

    def open(self, rows: TrainingRows, settings: SolverSettings) -> TablesWorkspace:
        X = dense_rows(rows.X, settings.budget)
        return TablesWorkspace(X, rows.weight, rows.is_category, settings, settings.draw_seed())


def dense_rows(X: Rows, budget: Budget) -> FloatArray:
    """Return rows as a dense array, if it is within the budget."""
    if not sparse.issparse(X):
        return X
    budget.check(
        X.shape[0] * X.shape[1] * X.dtype.itemsize,
        "X is sparse, and the dense array that solver = 'additive' needs takes",
        "use solver='exact', drop columns",
    )
    return X.toarray()


def _squared(problems: Sequence[Problem], values: Sequence[float]) -> FloatArray:
    """Return a number of each problem in the squared unit of its target."""
    pairs = zip(problems, values, strict=True)
    return np.array([problem.scale.squared(value) for problem, value in pairs])


def max_iter(settings: SolverSettings) -> int:
    """Return the maximum number of iterations of a machine."""
    assert settings.max_iter is not None  # `TablesBackend.default_max_iter` at least
    return settings.max_iter

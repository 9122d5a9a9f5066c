"""Machines that are fitted on tables: when they are, how they are solved and what is kept."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kernsemble._arguments import check_count
from kernsemble._progress import Task
from kernsemble._typing import FloatArray, Rows
from kernsemble.kernels import Kernel
from kernsemble.solvers import Status
from kernsemble.solvers.additive import AdditiveSolution, solve_additive
from kernsemble.solvers.interrupts import Watch
from kernsemble.svm.blocks import FittedTables
from kernsemble.svm.columns import Columns, holds_missing, knows_missing
from kernsemble.svm.losses import KINKED, Solver, loss_of, penalty_unit
from kernsemble.svm.memory import Budget
from kernsemble.svm.mixed import MixedTable
from kernsemble.svm.problem import Problem
from kernsemble.svm.solving import solve_each
from kernsemble.svm.tabulation import Sample, Tabulation, has_tables

CHEAP_ROWS = 3_000  # of a kernel matrix
CHEAP_ROWS_OF_SAMPLED = 10_000  # where the other solver has to sample hypotheses
MOST_STEPS = 500
NO_RACE = (
    "kernel = 'auto' races with the exact solver, numbers and the hinge loss: give kernels to "
    "choose from, such as ['stump', Stump(measure='distinct')]"
)
FEW = 0.5  # of all rows: worth a copy of their codes


class AdditiveMachine(BaseEstimator):
    """What a machine needs to be fitted on tables."""

    kernel: str | Kernel
    solver: Solver
    loss: Any
    max_levels: int
    n_slices: int | None
    n_grids: int
    tol: float
    max_iter: int | None
    cache_size: float | None
    warm_start: bool
    random_state: Any
    C_: float
    tables_: FittedTables
    mixed_table_: MixedTable | None
    n_features_in_: int

    def _check_tables(self) -> None:
        check_count("max_levels", self.max_levels, 2)
        if self.n_slices is not None:
            check_count("n_slices", self.n_slices)
        check_count("n_grids", self.n_grids)

    def _kernels(self) -> list[str | Kernel]:
        """Return the kernels that are asked for."""
        asked: Any = self.kernel
        return list(asked) if isinstance(asked, (list, tuple)) else [asked]

    @property
    def _takes_missing(self) -> bool:
        """Whether missing values have hypotheses, in whatever column."""
        return self.solver != "exact" and all(map(knows_missing, self._kernels()))

    @property
    def _columns(self) -> Columns:
        """The columns of the training rows."""
        table, names = self.mixed_table_, getattr(self, "feature_names_in_", None)
        return Columns(
            np.zeros(self.n_features_in_, dtype=bool) if table is None else table.is_category,
            None if names is None else tuple(names),
        )

    def _unbound_kernels(self) -> list[Kernel]:
        """Return the kernels that are asked for on the columns; those of a race see them all."""
        asked = ("stump" if _name(each) == "auto" else each for each in self._kernels())
        return [self._columns.kernel(each) for each in asked]

    def _choose_solver(self, X: Rows) -> Literal["exact", "additive"]:
        """Return the solver that is asked for, or the one that suits the rows."""
        if self.solver != "auto":
            return self.solver
        if self.loss not in KINKED or holds_missing(X):
            return "additive"
        n, n_features = X.shape
        is_mixed = self.mixed_table_ is not None  # later rows may miss values: not for a matrix
        needs_matrix = sparse.issparse(X) or getattr(self, "C", None) == np.inf
        is_small = n <= CHEAP_ROWS and not is_mixed
        if is_small or needs_matrix or "auto" in map(_name, self._kernels()):
            return "exact"
        kinds = [has_tables(kernel, n_features) for kernel in self._unbound_kernels()]
        is_cheap = n <= CHEAP_ROWS_OF_SAMPLED and None in kinds
        return "exact" if is_cheap or False in kinds else "additive"

    def _sample(self, X: Rows, counts: FloatArray) -> Sample:
        """Return rows as they are tabulated."""
        budget = Budget.of(self.cache_size)
        rows = dense_rows(X, budget)
        is_category = self._columns.is_category
        seed = check_random_state(self.random_state).randint(2**31)
        return Sample(
            rows, counts, is_category, self.max_levels, self.n_slices, self.n_grids, seed, budget
        )

    def _fit_tables(self, tabulation: Tabulation, problems: Sequence[Problem], task: Task) -> None:
        """Solve all problems, from where the last fit ended if it is to go on, and keep it."""
        if np.isinf(self.C_):
            raise ValueError("C = inf, a hard margin, is not for solver = 'additive': give 'exact'")
        is_single, starts = len(problems) == 1, self._starts(tabulation, len(problems))

        def solve(place: int, watch: Watch) -> AdditiveSolution:
            problem, tables = problems[place], tabulation.tables
            rows = problem.rows
            if len(rows) < FEW * tables.n_rows and not self.warm_start:
                tables = replace(tables, codes=tables.codes_of(rows))
                problem = problem.among(rows)
            return solve_additive(
                replace(tables, has_threads=is_single),
                loss_of(self.loss, problem).times(self.C_ / penalty_unit(self.loss, problem)),
                tol=self.tol,
                max_iter=step_limit(self.max_iter),
                start=starts[place],
                watch=watch,
            )

        solutions, is_interrupted = solve_each(solve, len(problems), task, in_turn=is_single)
        self._store_tables(tabulation, problems, solutions)
        if is_interrupted:
            raise KeyboardInterrupt(Status.INTERRUPTED.value)

    def _store_tables(
        self,
        tabulation: Tabulation,
        problems: Sequence[Problem],
        solutions: Sequence[AdditiveSolution],
    ) -> None:
        """Keep what the solutions say, and tell how they ended."""
        squares = np.array([problem.scale.spread**2 for problem in problems])
        self.tables_ = tabulation.machines(solutions, problems)
        self.intercept_ = self.tables_.intercept
        self.sampling_error_ = tabulation.error
        self.n_iter_ = max(max(each.n_iter for each in solutions), 1)
        self.objective_ = -squares * [each.dual for each in solutions]
        self.duality_gap_ = squares * [max(each.primal - each.dual, 0.0) for each in solutions]
        if self.warm_start:
            self._last = {
                name: np.array([getattr(each, name) for each in solutions])
                for name in ("z", "bias", "beta", "strength")
            }
        if any(each.status is Status.STOPPED for each in solutions):
            gap = max(each.gap for each in solutions)
            warnings.warn(
                f"max_iter = {step_limit(self.max_iter)} was reached at relative duality gap "
                f"{gap:.2g}, tol = {self.tol}: {Status.STOPPED.value}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _starts(
        self, tabulation: Tabulation, n_machines: int
    ) -> Sequence[AdditiveSolution] | Sequence[None]:
        """Return where each machine starts, None where this fit starts anew."""
        last = getattr(self, "_last", None)
        shapes = {
            "z": (n_machines, tabulation.tables.n_levels),
            "beta": (n_machines, tabulation.tables.n_rows),
        }
        if not self.warm_start or last is None:
            return [None] * n_machines
        if any(last[name].shape != shape for name, shape in shapes.items()):
            return [None] * n_machines
        return [
            AdditiveSolution.to_start_from(**{name: last[name][k] for name in last})
            for k in range(n_machines)
        ]


def step_limit(max_iter: int | None) -> int:
    """Return how many steps a machine on tables may take."""
    return MOST_STEPS if max_iter is None else max_iter


def _name(kernel: object) -> str | None:
    return kernel.lower().replace("_", "-") if isinstance(kernel, str) else None


def dense_rows(X: Rows, budget: Budget) -> FloatArray:
    """Return rows as an array, if it is within the budget."""
    if not sparse.issparse(X):
        return X
    budget.demand(
        X.shape[0] * X.shape[1] * X.dtype.itemsize,
        "X is sparse, and as the array that solver = 'additive' reads it takes",
        "use solver='exact', leave out columns",
    )
    return X.toarray()

r"""Backends: interchangeable ways to solve the problems of an estimator.

An estimator asks a backend for three things, one after another:

==================  =======================================================================
`Backend`           its cost for a workload, and a workspace for the training rows
`Workspace`         the rows prepared for a kernel and a scaling: a matrix, tables, …
`PreparedRows`      the unit of C, the solution of problems, of folds and paths of C
==================  =======================================================================

The result is a set of `Machines`, which predict and name the attributes that the estimator keeps.

To add a backend, write these four classes in a module or folder of their own, and register the
backend in `kernsemble.svm.backends`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from kernsemble._arguments import check_choice
from kernsemble._memory import Budget
from kernsemble._progress import Task
from kernsemble._threads import run
from kernsemble._typing import Array, BoolArray, FloatArray, IntArray, Rows
from kernsemble._value_object import Value
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import AnyKind, AnyScaling
from kernsemble.solvers import Fold, Status
from kernsemble.solvers.equal_rows import DistinctRows, distinct_rows
from kernsemble.solvers.interrupts import StopSignal, Watch
from kernsemble.solvers.losses import LOSSES, Loss
from kernsemble.svm.backends.table_prior import TablePrior
from kernsemble.svm.problem import Problem

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows and their weights; columns of categories hold integer codes from 0.

    Scalings are learned from `targets`, of shape (n, n_targets): signs of classes, or standardised
    numbers. `parts` are the folds of the rows, if these are a partition. `merged` is set if these
    rows are the distinct ones among the rows that were given.
    """

    X: Rows
    weight: FloatArray
    is_category: BoolArray
    targets: FloatArray | None = None
    parts: IntArray | None = None
    merged: DistinctRows | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.X.shape[0]

    @property
    def n_given(self) -> int:
        """The number of rows before equal ones were merged."""
        return self.n_rows if self.merged is None else self.merged.n_given

    @property
    def places(self) -> IntArray:
        """The index of each row among the given ones."""
        return np.arange(self.n_rows) if self.merged is None else self.merged.rows

    def distinct(self, labels: Array) -> "TrainingRows":
        """Return rows of positive weight that differ in features or label.

        Weights of equal rows add up.
        """
        found = distinct_rows(self.weight, self.X, labels[:, np.newaxis])
        if found.are_as_given:
            return self
        return replace(self.among(found.rows), weight=found.weight, merged=found)

    def among(self, rows: IntArray) -> "TrainingRows":
        """Return some of the rows."""
        targets = None if self.targets is None else self.targets[rows]
        parts = None if self.parts is None else self.parts[rows]
        return TrainingRows(self.X[rows], self.weight[rows], self.is_category, targets, parts)


@dataclass(frozen=True)
class Candidate:
    """A kernel, not bound to data, and the scaling of its features.

    Tables may have learned weights, and pairs of columns, from a prior.
    """

    kernel: Kernel
    scaling: AnyKind | None
    prior: TablePrior | None = None


@dataclass(frozen=True)
class SolverSettings:
    """The settings of an estimator that backends use."""

    tol: float
    max_iter: int | None
    budget: Budget
    warm_start: bool = False
    max_levels: int = 256
    n_slices: int | None = None
    n_grids: int = 512
    n_pairs: int | Literal["auto"] = 0
    pairs: tuple[tuple[int, int], ...] = ()  # columns of pairs that are taken in any case
    random_state: Any = 0
    dtype: type[np.floating[Any]] | None = None  # of kernel matrices, by default that of the rows

    @property
    def wants_pairs(self) -> bool:
        """Whether pairs of columns are to have tables."""
        return self.n_pairs != 0 or len(self.pairs) > 0

    def n_parts(self, n_machines: int) -> int:
        """Return the number of parts of the task of fitting machines."""
        return n_machines + self.wants_pairs

    def draw_seed(self) -> int:
        """Return a random seed; the random state is advanced only if one is drawn."""
        return int(check_random_state(self.random_state).randint(2**31))


@dataclass(frozen=True, eq=False)
class Workload:
    """The properties of a fit that the costs of backends depend on."""

    rows: TrainingRows
    kernels: Sequence[Kernel]
    loss: type[Loss]
    has_missing: bool = False
    is_mixed: bool = False  # rows to predict may have missing values even if none is in training
    is_hard_margin: bool = False
    has_learned_scaling: bool = False
    has_pairs: bool = False


class Machines(Value, ABC):
    """Fitted machines, one or several on the same rows."""

    @property
    @abstractmethod
    def supports_missing(self) -> bool:
        """Whether rows to predict may have missing values."""

    @property
    def scales_categories(self) -> bool:
        """Whether the scaling makes numbers of categories and missing values."""
        return False

    @abstractmethod
    def values(self, X: Rows, budget: Budget) -> FloatArray:
        """Return the decision value of every machine (columns) at every row."""

    @abstractmethod
    def attributes(self) -> dict[str, Any]:
        """Return the attributes that the estimator exposes, by name."""


class Solved(NamedTuple):
    """Fitted machines with the evidence of their optimality, an entry per machine."""

    machines: Machines
    intercept: FloatArray
    objective: FloatArray
    duality_gap: FloatArray
    n_iter: int
    statuses: tuple[Status, ...]
    is_interrupted: bool
    shortfall: str  # the distance from the optimum, for the warning of machines that stopped early


class PreparedRows(ABC):
    """Training rows prepared for one kernel and scaling.

    Attributes
    ----------
    scaling, kernel
        The scaling and the kernel, bound to the rows.
    """

    scaling: AnyScaling
    kernel: Kernel

    @abstractmethod
    def inverse_mean_distance(self) -> float:
        """Return 1 over the weighted mean of (K_ii + K_jj)/2 − K_ij, the unit of C."""

    @abstractmethod
    def solve(
        self,
        problems: Sequence[Problem],
        C: float,
        settings: SolverSettings,
        last: Machines | None,
        task: Task,
    ) -> Solved:
        """Solve all problems at one C, from the machines of the last fit if they are suitable."""

    @abstractmethod
    def solve_folds(
        self,
        problem: Problem,
        Cs: Sequence[float],
        held_out: Sequence[IntArray],
        settings: SolverSettings,
        on_solved: Callable[[], None],
    ) -> list[Fold]:
        """Return for each fold the decision values of its held-out rows, at every C."""

    def solve_all_folds(
        self,
        problems: Sequence[Problem],
        Cs: Sequence[float],
        held_out: Sequence[IntArray],
        settings: SolverSettings,
        task: Task,
    ) -> list[list[Fold]]:
        """Return the folds of every problem, one problem after another by default."""
        found = []
        for problem in problems:
            with task.part("machine", n_parts=len(Cs) * len(held_out)) as part:

                def note(part: Task = part) -> None:
                    part.note("problem")

                found.append(self.solve_folds(problem, Cs, held_out, settings, on_solved=note))
        return found

    def solve_with_fold(
        self,
        problems: Sequence[Problem],  # noqa: ARG002
        C: float,  # noqa: ARG002
        held_out: IntArray,  # noqa: ARG002
        task: Task,  # noqa: ARG002
    ) -> tuple[Solved, list[Fold]] | None:
        """Return the machines of all rows, and a fold of every problem, if together they cost less.

        None if they do not, which is the default.
        """
        return None


class Workspace(ABC):
    """Training rows, ready to be prepared for any kernel and scaling."""

    @abstractmethod
    def prepare(self, candidate: Candidate) -> PreparedRows:
        """Return the rows prepared for one candidate."""

    def map(
        self, candidates: Sequence[Candidate], function: Callable[[int, PreparedRows], Result]
    ) -> list[Result]:
        """Return ``function(place, prepared)`` for every candidate, in any order of work.

        Prepared rows are valid only within the call: a backend may reuse their memory.
        """
        return [function(place, self.prepare(each)) for place, each in enumerate(candidates)]


class Backend(ABC):
    """Base class of the solvers of an estimator's problems.

    Attributes
    ----------
    name : str
        The value of the estimators' `solver`.
    supports_any_kernel : bool
        Whether every kernel can be used, so that kernels can race.
    supports_pairs : bool
        Whether pairs of columns can have tables.
    penalty_multiples : tuple of float or None
        The default grid of C, in units of ``C="scale"``; None for the grid of the papers.
    default_max_iter : int or None
        The maximum number of iterations if the estimator sets none.
    """

    name: ClassVar[str]
    supports_any_kernel: ClassVar[bool] = False
    supports_pairs: ClassVar[bool] = False
    penalty_multiples: ClassVar[tuple[float, ...] | None] = None
    default_max_iter: ClassVar[int | None] = None

    @abstractmethod
    def supports(self, loss: type[Loss]) -> bool:
        """Return whether the backend can minimise a loss."""

    def supports_missing(self, kernels: Sequence[Kernel]) -> bool:  # noqa: ARG002
        """Return whether missing values can be treated with all of some kernels."""
        return False

    def max_rows(self, X: Rows, budget: Budget) -> float:  # noqa: ARG002
        """Return the number of rows like these that can be prepared within the budget."""
        return np.inf

    @abstractmethod
    def cost(self, workload: Workload) -> float:
        """Return the estimated cost in kernel evaluations, infinity if it cannot be solved.

        ``solver="auto"`` takes the cheapest backend.
        """

    @abstractmethod
    def open(self, rows: TrainingRows, settings: SolverSettings) -> Workspace:
        """Return a workspace for training rows."""


BACKENDS: dict[str, Backend] = {}  # by name, filled by `kernsemble.svm.backends`


def solver_names() -> tuple[str, ...]:
    """Return the values that estimators accept as `solver`."""
    return ("auto", *BACKENDS)


def check_solver(solver: str, loss: type[Loss]) -> None:
    """Check the name of a solver, and that it can minimise a loss."""
    check_choice("solver", solver, solver_names())
    if solver != "auto" and not BACKENDS[solver].supports(loss):
        supported = [
            name
            for name, each in LOSSES.items()
            if (each.task == loss.task or "both" in {each.task, loss.task})
            and BACKENDS[solver].supports(each)
        ]
        others = [each.name for each in BACKENDS.values() if each.supports(loss)]
        raise ValueError(
            f"solver = {solver!r} does not support loss = {loss.name!r}: use "
            f"loss={supported[0]!r}, or solver={others[0]!r}"
        )


def cheapest_backend(workload: Workload, backends: Sequence[Backend] | None = None) -> Backend:
    """Return the backend with the lowest estimated cost among those that support the workload."""
    able = [
        backend
        for backend in (BACKENDS.values() if backends is None else backends)
        if backend.supports(workload.loss)
        and (not workload.has_missing or backend.supports_missing(workload.kernels))
        and (not workload.has_pairs or backend.supports_pairs)
    ]
    if not able:
        missing = " with missing values" if workload.has_missing else ""
        raise ValueError(f"loss = {workload.loss.name!r}: no solver supports it{missing}")
    return able[int(np.argmin([backend.cost(workload) for backend in able]))]


class _HasStatus(Protocol):
    @property
    def status(self) -> Status:
        """The status of the run."""


Found = TypeVar("Found", bound=_HasStatus)


def solve_each(
    solve: Callable[[int, Watch], Found], n_machines: int, task: Task, in_turn: bool
) -> tuple[list[Found], bool]:
    """Return the result of ``solve(machine, watch)`` for each, and whether it was interrupted.

    After an interrupt `watch` raises KeyboardInterrupt in every machine, and solvers return the
    point they have reached. Machines share the threads unless they are to be solved in turn.
    """
    found: dict[int, Found] = {}
    stop = StopSignal(KeyboardInterrupt)

    def solve_one(machine: int) -> None:
        found[machine] = solve(machine, stop.watch)
        if found[machine].status is Status.INTERRUPTED:
            stop.set()

    def work(machine: int) -> None:
        with task.part("machine", machine):
            solve_one(machine)

    machines = range(n_machines)
    try:
        if in_turn:
            for machine in machines:
                work(machine)
        else:
            run(work, machines, on_error=stop.set, fewest=2)
    except KeyboardInterrupt:
        stop.set()
        for machine in machines:
            if machine not in found:
                solve_one(machine)
    return [found[machine] for machine in machines], stop.is_set


def longest_run(solutions: Sequence[Any]) -> int:
    """Return the number of iterations of the machine that took most, at least 1."""
    return max(1, *(each.n_iter for each in solutions))


def inverse_or_one(distance: float) -> float:
    """Return 1 over a mean distance, 1 for rows that are all equal up to the range of floats."""
    return 1.0 / distance if distance >= np.finfo(np.float64).tiny else 1.0

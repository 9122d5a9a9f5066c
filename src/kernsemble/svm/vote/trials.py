"""Cross-validation of the candidates of a vote, as far as the time allows."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event
from typing import Any, NamedTuple, TypeVar

import numpy as np

from kernsemble._folds import FoldRows
from kernsemble._progress import Task
from kernsemble._threads import at_most, n_threads, run
from kernsemble._typing import FloatArray, IntArray
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import AnyScaling
from kernsemble.preprocessing.supervised import accepts_categories, is_learned
from kernsemble.solvers import Fold
from kernsemble.solvers.ridge import NotDefiniteError
from kernsemble.svm.backends.base import (
    Backend,
    Machines,
    PreparedRows,
    Solved,
    SolverSettings,
    Workspace,
)
from kernsemble.svm.backends.local import LocalWorkspace
from kernsemble.svm.backends.prepared_matrix import SupportVectorMachines
from kernsemble.svm.backends.radial_parts import radial_part
from kernsemble.svm.model_selection.cross_validation import CrossValidation
from kernsemble.svm.problem import Problem
from kernsemble.svm.vote.portfolio import Entrant
from kernsemble.svm.vote.problem import VoteProblem

Item = TypeVar("Item")

MATRICES_OF_A_TRIAL = 3.0  # number of matrices of a thread: distances, a kernel and a factor
SINGLE_ROWS = 1_000  # number of rows above which finalists of classes are in single precision


class Clock:
    """The time that is left of a budget in seconds; None is no limit."""

    def __init__(self, budget: float | None, now: Callable[[], float] = time.perf_counter) -> None:
        self._now, self._start = now, now()
        self.budget = np.inf if budget is None else float(budget)

    @property
    def is_limited(self) -> bool:
        """Whether there is a budget."""
        return bool(np.isfinite(self.budget))

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._now() - self._start

    def has(self, seconds: float, share: float = 1.0) -> bool:
        """Return whether there are this many seconds left of a share of the budget."""
        return self.elapsed + seconds <= share * self.budget


class VoteBackends(NamedTuple):
    """The backends of a vote.

    Attributes
    ----------
    exact, local : Backend
        The backends of kernels, on matrices of all rows and on leaves.
    tables : Backend
        The backend of additive machines.
    exact_rows : float
        Number of rows above which kernels are solved on leaves.
    device : Backend or None
        The backend of kernels on matrices of more rows than `device_above`; None for `exact`.
    device_above : int
        Number of rows up to which copies to a device would take longer than the work.
    """

    exact: Backend
    local: Backend
    tables: Backend
    exact_rows: float
    device: Backend | None = None
    device_above: int = 0

    def uses_device(self, n_rows: int) -> bool:
        """Return whether kernels are solved on a device for a number of rows."""
        return self.device is not None and self.device_above < n_rows <= self.exact_rows

    def of_kernels(self, n_rows: int) -> Backend:
        """Return the backend of kernels for a number of rows."""
        if self.device is not None and self.uses_device(n_rows):
            return self.device
        return self.exact if n_rows <= self.exact_rows else self.local


class Fitted(NamedTuple):
    """Machines that are fitted to all rows, their kernel and scaling, and C."""

    kernel: Kernel
    scaling: AnyScaling
    machines: Machines
    C: float
    is_interrupted: bool = False


@dataclass(frozen=True, eq=False)
class Finalist:
    """A candidate at its best C.

    Attributes
    ----------
    entrant : Entrant
        The candidate.
    multiple : float
        Its best C as a value of the grid.
    C : float
        Its best C.
    values : array of shape (n_tested, n_values)
        The left-out values there, in the unit of the target.
    error : float
        The mean squared error, or the log-loss of an additive classifier.
    seconds : float
        Time of its cross-validation.
    base : array of shape (n_tested, n_values) or None
        The values of the additive machine that it corrects.
    fitted : Fitted or None
        The machines of all rows, where cross-validation fits them as well.
    """

    entrant: Entrant
    multiple: float
    C: float
    values: FloatArray
    error: float
    seconds: float
    base: FloatArray | None = None
    fitted: Fitted | None = None

    @property
    def corrected(self) -> FloatArray:
        """The left-out values, with those of the additive machine that they correct."""
        return self.values if self.base is None else self.base + self.values


@dataclass(frozen=True, eq=False)
class Trials:
    """The rows, the folds and the targets of trials, and the time that is left.

    Attributes
    ----------
    validation, problem, backends, clock
        The rows with their folds, the targets, the backends, and the time that is left.
    base : array of shape (n, n_values) or None
        Values of the additive machine at all rows, which corrections are added to.
    leaf_factor, n_partitions : float, int
        Number of rows of leaves, in units of the backend's, and the number of partitions.
    is_race : bool
        Whether these are the trials of a race, which is rough: classes are fitted in single
        precision, and kernels of one distance try values of C near the best one of another.
    opened : dict
        The workspaces of a race and of machines on leaves, so that scalings are learned once.
    """

    validation: CrossValidation
    problem: VoteProblem
    backends: VoteBackends
    clock: Clock
    base: FloatArray | None = None
    leaf_factor: float = 1.0
    n_partitions: int = 1
    is_race: bool = False
    opened: dict[tuple[bool, bool], Workspace] = field(default_factory=dict)

    def among(self, rows: IntArray, splits: Sequence[FoldRows]) -> "Trials":
        """Return the trials of some rows, with folds among them."""
        validation = self.validation.among(rows, list(splits), self.validation.settings.tol)
        problem = self.problem.among(rows)
        return replace(self, validation=validation, problem=problem, base=None, opened={})

    def on(self, splits: Sequence[FoldRows]) -> "Trials":
        """Return the trials with other folds."""
        return replace(self, validation=replace(self.validation, splits=list(splits)), opened={})

    def on_leaves(self, factor: float, n_partitions: int) -> "Trials":
        """Return the trials with leaves so many times as large, and with n partitions."""
        return replace(self, leaf_factor=factor, n_partitions=n_partitions)

    @property
    def is_local(self) -> bool:
        """Whether kernels are solved on leaves of the rows."""
        return self.validation.rows.n_rows > self.backends.exact_rows

    def run(
        self,
        candidates: Sequence[Entrant],
        task: Task,
        share: float = 1.0,
        cost_of_fit: float | None = None,
        before: Sequence[Finalist] = (),
    ) -> list[Finalist]:
        """Return the candidates at their best C, as many as the time allows, at least one.

        In the last trials there must be time left to fit them, and those found `before`, to all
        rows, which takes `cost_of_fit` times as long as a trial.
        """
        found: dict[int, Finalist] = {}
        has_started, stop = Event(), Event()
        if before:
            has_started.set()

        def evaluate(mine: list[int], place: int, prepared: PreparedRows) -> None:
            known = [*before, *found.values()]
            needed = _seconds_of(candidates[mine[place]], known)
            if cost_of_fit is not None:
                unfitted = sum(each.seconds for each in known if each.fitted is None)
                needed += (unfitted + needed) * cost_of_fit
            if stop.is_set() or (has_started.is_set() and not self.clock.has(needed, share)):
                return
            has_started.set()
            start, is_last = self.clock.elapsed, cost_of_fit is not None
            latest = next((found[k] for k in mine[:place][::-1] if k in found), None)
            trial = self._trial(candidates[mine[place]], prepared, task, is_last, latest)
            if trial is None:
                if not before:
                    has_started.clear()  # so that at least one is found
            else:
                found[mine[place]] = replace(trial, seconds=self.clock.elapsed - start)

        def work(mine: list[int]) -> None:
            some = [candidates[k].candidate for k in mine]
            self.workspace(candidates[mine[0]].is_additive).map(some, partial(evaluate, mine))

        self.side_by_side(work, _families(candidates, self.clock.is_limited), stop)
        return [found[k] for k in sorted(found)]

    def side_by_side(
        self, work: Callable[[Item], None], items: Sequence[Item], stop: Event | None = None
    ) -> None:
        """Call ``work(item)`` for all items, in as many threads as have memory for matrices.

        One after another on leaves, which share the threads themselves, and on a device.
        """
        rows, budget = self.validation.rows, self.validation.settings.budget
        if self.is_local or self.backends.uses_device(rows.n_rows):
            for item in items:
                work(item)
            return
        itemsize = np.dtype(self.settings(is_additive=False).dtype or rows.X.dtype).itemsize
        n_bytes = MATRICES_OF_A_TRIAL * itemsize * float(rows.n_rows) ** 2
        with at_most(max(min(n_threads(), int(budget.n_bytes / n_bytes)), 1)):
            run(work, items, on_error=None if stop is None else stop.set, fewest=2)

    def workspace(self, is_additive: bool, is_double: bool = False) -> Workspace:
        """Return a workspace for the rows."""
        rows = self.validation.rows
        backend = self.backends.tables if is_additive else self.backends.of_kernels(rows.n_rows)
        settings, key = self.settings(is_additive, is_double), (is_additive, is_double)
        if not (self.is_local or self.is_race):
            return backend.open(rows, settings)
        found = self.opened.setdefault(key, backend.open(rows, settings))
        if isinstance(found, LocalWorkspace):
            return found.divided(self.leaf_factor, self.n_partitions)
        return found

    def settings(self, is_additive: bool, is_double: bool = False) -> SolverSettings:
        """Return the settings of a backend: single precision where that is accurate enough."""
        if is_additive:
            most = self.backends.tables.default_max_iter
            return replace(self.validation.settings, max_iter=most)
        is_rough = self.is_race or len(self.problem.weight) > SINGLE_ROWS
        is_single = self.problem.is_classification and is_rough
        dtype = np.float32 if is_single and not is_double else None
        return replace(self.validation.settings, dtype=dtype)

    def problems_of(self, entrant: Entrant) -> list[Problem]:
        """Return the problems of a candidate."""
        if entrant.is_correction:
            assert self.base is not None
            return self.problem.corrections(self.base)
        return self.problem.additive if entrant.is_additive else self.problem.problems

    def _trial(
        self,
        entrant: Entrant,
        prepared: PreparedRows,
        task: Task,
        is_last: bool,
        latest: Finalist | None = None,
    ) -> Finalist | None:
        """Return a candidate at its best C; None if no C has a solution.

        In a race the search for C may begin near the best one of the latest kernel of its family.
        """
        grid, held_out = entrant.grid, [split.held_out for split in self.validation.splits]
        with task.part("candidate", n_parts=None) as part:
            if is_last and len(grid.values) == len(held_out) == 1:
                (C,) = grid.at(prepared)
                both = prepared.solve_with_fold(self.problems_of(entrant), C, held_out[0], part)
                if both is not None:
                    return self._finalist_of_all_rows(entrant, C, *both)
            near = None
            if self._starts_near(entrant, latest):
                assert latest is not None
                near = grid.values.index(latest.multiple)
            found = self._search(entrant, prepared, part, near)
        return min(found, key=_error, default=None)

    def _starts_near(self, entrant: Entrant, latest: Finalist | None) -> bool:
        """Return whether the search for C begins near the best one of another kernel.

        Not on learned scales, where every search computes the matrices of the folds.
        """
        can_start = latest is not None and latest.entrant.grid == entrant.grid
        return self.is_race and can_start and not is_learned(entrant.candidate.scaling)

    def _search(
        self, entrant: Entrant, prepared: PreparedRows, task: Task, near: int | None
    ) -> list[Finalist]:
        """Return a candidate at values of C, in increasing order.

        All of the grid, or those near a place: as far as the error falls, and one more.
        """
        problems, settings = self.problems_of(entrant), self.settings(entrant.is_additive)
        held_out = [split.held_out for split in self.validation.splits]
        Cs, found = entrant.grid.at(prepared), dict[int, Finalist]()
        places = [k for k in range(len(Cs)) if near is None or abs(k - near) <= 1]
        while places:
            mine = [Cs[k] for k in places]
            try:
                folds = prepared.solve_all_folds(problems, mine, held_out, settings, task)
            except NotDefiniteError:  # the largest C is too large for this precision
                Cs = Cs[: places[-1]]
                places = places[:-1] or [k for k in (len(Cs) - 1,) if k >= 0 and not found]
                continue
            values = np.concatenate(self.validation.tested_values(problems, folds), axis=1)
            for k, each in zip(places, values, strict=True):
                found[k] = self._finalist(entrant, entrant.grid.values[k], Cs[k], each)
            best = min(sorted(found), key=lambda k: found[k].error)
            places = [k for k in (best - 1, best + 1) if 0 <= k < len(Cs) and k not in found]
        return [found[k] for k in sorted(found)]

    def _finalist(
        self, entrant: Entrant, multiple: float, C: float, values: FloatArray
    ) -> Finalist:
        """Return a candidate at one C, given its left-out values."""
        tested, base = self.validation.tested, None
        if entrant.is_correction and self.base is not None:
            base = self.base[tested]
        are_log_odds = entrant.is_additive or entrant.is_correction
        corrected = values if base is None else base + values
        error = self.problem.error(corrected, tested, are_log_odds)
        return Finalist(entrant, multiple, C, values, error, 0.0, base)

    def _finalist_of_all_rows(
        self, entrant: Entrant, C: float, solved: Solved, folds: Sequence[Fold]
    ) -> Finalist:
        """Return a candidate at its only C, with the machines of all rows."""
        problems, machines = self.problems_of(entrant), solved.machines
        assert isinstance(machines, SupportVectorMachines)
        of_folds = self.validation.tested_values(problems, [[fold] for fold in folds])
        (values,) = np.concatenate(of_folds, axis=1)
        fitted = Fitted(machines.kernel, machines.scaling, machines, C)
        found = self._finalist(entrant, entrant.grid.values[0], C, values)
        return replace(found, fitted=fitted)


def _families(candidates: Sequence[Entrant], is_limited: bool = False) -> list[list[int]]:
    """Return the places of candidates that share tables, a learned scaling or distances.

    The longest work comes first, so that threads end together: additive machines, then the
    largest families, where what is learned counts as another kernel. If time is limited, the
    shortest comes first: kernels on given scales, then on learned ones.
    """
    found: dict[tuple[Any, ...], list[int]] = {}
    for place, each in enumerate(candidates):
        scaling, radial = each.candidate.scaling, radial_part(each.candidate.kernel)
        key: tuple[Any, ...] = scaling, None if is_learned(scaling) else type(radial)
        if each.is_additive or accepts_categories(scaling):
            key = (each.is_additive,)
        found.setdefault(key, []).append(place)

    def order(places: list[int]) -> tuple[int, int]:
        first = candidates[places[0]]
        if is_limited:
            return _kind(first), len(places)
        return not first.is_additive, -len(places) - is_learned(first.candidate.scaling)

    return sorted(found.values(), key=order)


def _kind(entrant: Entrant) -> int:
    """Return the kind of a candidate, which determines its time more than others."""
    return 2 if entrant.is_additive else int(is_learned(entrant.candidate.scaling))


def _seconds_of(entrant: Entrant, known: Sequence[Finalist]) -> float:
    """Return the longest time of candidates of the same kind, or of all if there is none."""
    alike = [each for each in known if _kind(each.entrant) == _kind(entrant)]
    return max((each.seconds for each in alike or known), default=0.0)


def _error(finalist: Finalist) -> float:
    return finalist.error

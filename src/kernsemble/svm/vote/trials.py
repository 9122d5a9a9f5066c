"""Cross-validation of the candidates of a vote, as far as the time allows."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from kernsemble._folds import FoldRows
from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.ridge import NotDefiniteError
from kernsemble.svm.backends.base import Backend, PreparedRows, SolverSettings, Workspace
from kernsemble.svm.model_selection.cross_validation import CrossValidation
from kernsemble.svm.vote.portfolio import Entrant
from kernsemble.svm.vote.problem import VoteProblem

SINGLE_ROWS = 1_000  # number of rows above which classes are fitted in single precision


class Clock:
    """The time that is left of a budget in seconds; None is no limit."""

    def __init__(self, budget: float | None, now: Callable[[], float] = time.perf_counter) -> None:
        self._now, self._start = now, now()
        self.budget = np.inf if budget is None else float(budget)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._now() - self._start

    def has(self, seconds: float, share: float = 1.0) -> bool:
        """Return whether there are this many seconds left of a share of the budget."""
        return self.elapsed + seconds <= share * self.budget


class VoteBackends(NamedTuple):
    """The backends of a vote: of kernels, and of the additive machine."""

    exact: Backend
    tables: Backend


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
    """

    entrant: Entrant
    multiple: float
    C: float
    values: FloatArray
    error: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Trials:
    """The rows, the folds and the targets of trials, and the time that is left."""

    validation: CrossValidation
    problem: VoteProblem
    backends: VoteBackends
    clock: Clock

    def among(self, rows: IntArray, splits: Sequence[FoldRows]) -> "Trials":
        """Return the trials of some rows, with folds among them."""
        validation = self.validation.among(rows, list(splits), self.validation.settings.tol)
        return replace(self, validation=validation, problem=self.problem.among(rows))

    def on(self, splits: Sequence[FoldRows]) -> "Trials":
        """Return the trials with other folds."""
        return replace(self, validation=replace(self.validation, splits=list(splits)))

    def run(
        self, candidates: Sequence[Entrant], task: Task, share: float = 1.0, is_last: bool = False
    ) -> list[Finalist]:
        """Return the candidates at their best C, as many as the time allows, at least one.

        In the last trials there must be time left to fit the candidates to all rows.
        """
        found: dict[int, Finalist] = {}

        def evaluate(mine: list[int], place: int, prepared: PreparedRows) -> None:
            needed = max((each.seconds for each in found.values()), default=0.0)
            if is_last:
                needed += (len(found) + 1) * needed * self._cost_of_fit
            if found and not self.clock.has(needed, share):
                return
            start, trial = self.clock.elapsed, self._trial(candidates[mine[place]], prepared, task)
            if trial is not None:
                found[mine[place]] = replace(trial, seconds=self.clock.elapsed - start)

        for is_additive in (False, True):
            mine = [k for k, each in enumerate(candidates) if each.is_additive == is_additive]
            if mine:
                some = [candidates[k].candidate for k in mine]
                self.workspace(is_additive).map(some, partial(evaluate, mine))
        return [found[k] for k in sorted(found)]

    def workspace(self, is_additive: bool, is_double: bool = False) -> Workspace:
        """Return a workspace for the rows."""
        backend = self.backends.tables if is_additive else self.backends.exact
        return backend.open(self.validation.rows, self.settings(is_additive, is_double))

    def settings(self, is_additive: bool, is_double: bool = False) -> SolverSettings:
        """Return the settings of a backend: single precision where that is accurate enough."""
        if is_additive:
            most = self.backends.tables.default_max_iter
            return replace(self.validation.settings, max_iter=most)
        is_single = self.problem.is_classification and len(self.problem.weight) > SINGLE_ROWS
        dtype = np.float32 if is_single and not is_double else None
        return replace(self.validation.settings, dtype=dtype)

    def _trial(self, entrant: Entrant, prepared: PreparedRows, task: Task) -> Finalist | None:
        """Return a candidate at its best C; None if no C has a solution."""
        is_additive, tested = entrant.is_additive, self.validation.tested
        problems = self.problem.problems_of(is_additive)
        held_out = [split.held_out for split in self.validation.splits]
        Cs, settings = entrant.grid.at(prepared), self.settings(is_additive)
        with task.part("candidate", n_parts=None) as part:
            while Cs:
                try:
                    folds = prepared.solve_all_folds(problems, Cs, held_out, settings, part)
                    break
                except NotDefiniteError:  # the largest C is too large for this precision
                    Cs = Cs[:-1]
        if not Cs:
            return None
        values = np.concatenate(self.validation.tested_values(problems, folds), axis=1)
        errors = [self.problem.error(each, tested, is_additive) for each in values]
        best = int(np.argmin(errors))
        multiple = entrant.grid.values[best]
        return Finalist(entrant, multiple, Cs[best], values[best], errors[best], 0.0)

    @property
    def _cost_of_fit(self) -> float:
        """The time of a fit to all rows, relative to a trial."""
        n = self.validation.rows.n_rows
        return 1.0 / sum((1.0 - len(each.held_out) / n) ** 2 for each in self.validation.splits)

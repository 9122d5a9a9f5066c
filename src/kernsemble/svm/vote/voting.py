r"""The vote of ``kernel="auto"``: a race of candidates, and the weights of those that remain.

1. Every candidate is cross-validated on at most a thousand rows in two halves. Those with a weight
   in the vote of all, and the best others, become finalists; a candidate is not dropped for an
   error that exceeds the smallest by less than two standard errors, while there are places.
2. Finalists are cross-validated on the folds of `cv`, on at most three thousand rows, and the
   weights of the vote minimise the loss of these left-out values. Small weights are dropped.
3. The members that remain are fitted to all rows.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kernsemble._counts import counted
from kernsemble._folds import FoldRows, cross_validation_results
from kernsemble._progress import Task
from kernsemble._threads import BLAS_THREADS
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.ridge import NotDefiniteError
from kernsemble.solvers.stacking import Stack, influence
from kernsemble.svm.backends.base import (
    Backend,
    PreparedRows,
    SolverSettings,
    TrainingRows,
    Workspace,
)
from kernsemble.svm.backends.prepared_matrix import SupportVectorMachines
from kernsemble.svm.model_selection.cross_validation import CrossValidation
from kernsemble.svm.model_selection.grid import PenaltyGrid
from kernsemble.svm.model_selection.race import joined_folds, sample_rows
from kernsemble.svm.model_selection.search_summary import SearchSummary, listed
from kernsemble.svm.problem import Problem
from kernsemble.svm.vote.machines import VoteMachines, VoteMember
from kernsemble.svm.vote.portfolio import Entrant

MAX_RACE_ROWS = 1_000  # number of rows of the race
MAX_SEARCH_ROWS = 3_000  # number of rows on which the weights are found
MAX_FINALISTS = 8
FINE_FACTORS = (0.5, 1.0, 2.0)  # values of C of a finalist, in units of its best one
SMALLEST_SHARE = 0.02  # of the vote, below which a member is dropped
ERRORS = 2.0  # number of standard errors within which candidates count as equal
RACE_SHARE = 0.4  # share of a time budget for the race
ROWS_WORTH_THREADS = 2_000  # number of rows of a matrix from which BLAS uses several threads
SINGLE_ROWS = 1_000  # number of rows above which classes are fitted in single precision


class VoteProblem(NamedTuple):
    """The targets of a vote.

    Attributes
    ----------
    problems, additive : list of Problem
        The problem of each value of the vote, with the squared loss, and for additive machines.
    targets : array of shape (n, n_values)
        Signs of classes, or numbers.
    codes : array of shape (n,) or None
        Class codes; None for numbers.
    weight : array of shape (n,)
        Weights of the rows.
    n_classes : int
        The number of classes, 0 for numbers.
    """

    problems: list[Problem]
    additive: list[Problem]
    targets: FloatArray
    codes: IntArray | None
    weight: FloatArray
    n_classes: int

    def among(self, rows: IntArray) -> "VoteProblem":
        """Return the problem of some rows."""
        return VoteProblem(
            [each.among(rows) for each in self.problems],
            [each.among(rows) for each in self.additive],
            self.targets[rows],
            None if self.codes is None else self.codes[rows],
            self.weight[rows],
            self.n_classes,
        )

    def stack(self, values: FloatArray, tested: IntArray) -> Stack:
        """Return the weights of members, given their left-out values at tested rows."""
        if self.codes is None:
            return Stack.squared(values, self.targets[tested], self.weight[tested])
        return Stack.logistic(values, self.codes[tested], self.weight[tested], self.n_classes)


class Clock:
    """The time that is left of a budget."""

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
class Vote:
    """The fitted vote, and the evidence for it.

    Attributes
    ----------
    machines : VoteMachines
        The machines.
    values : array of shape (n_tested, n_values)
        Left-out values, by weights that were found on the other folds.
    splits : sequence of FoldRows
        The folds.
    results : dict
        The scores of all finalists and of the vote, the last, as `GridSearchCV` has them.
    race_results : dict of lists
        Rows, kernel, scaling, best C and left-out error of every candidate in the race.
    """

    machines: VoteMachines
    values: FloatArray
    splits: Sequence[FoldRows]
    results: dict[str, Any]
    race_results: dict[str, list[Any]]
    summary: SearchSummary


@dataclass(frozen=True, eq=False)
class Voting:
    """A vote on training rows.

    Attributes
    ----------
    validation : CrossValidation
        The rows, their folds, and the score for `cv_results_`.
    problem : VoteProblem
        The targets.
    exact, tables : Backend
        Backends of kernels and of the additive machine.
    strata : array of shape (n,)
        Strata of samples, such as the classes.
    max_members : int
        Maximum number of members.
    clock : Clock
        The time that is left.
    """

    validation: CrossValidation
    problem: VoteProblem
    exact: Backend
    tables: Backend
    strata: IntArray
    max_members: int
    clock: Clock

    def run(
        self, candidates: Sequence[Entrant], rng: np.random.Generator, task: Task, refit: Task
    ) -> Vote:
        """Return the vote of candidates."""
        rows, splits = self.validation.rows, self.validation.splits
        n_race = self._most(MAX_RACE_ROWS)
        race = sample_rows(n_race, self.strata, rows.weight, splits, rng)
        halves = joined_folds(race.splits, 2)
        with BLAS_THREADS.at_most(1):
            raced = self._among(race.rows, halves)._cross_validate(candidates, task, RACE_SHARE)
        finalists = self._finalists(raced, race.rows, halves)
        search = sample_rows(self._most(MAX_SEARCH_ROWS), self.strata, rows.weight, splits, rng)
        inner = self._among(search.rows, search.splits)
        fine = [each.entrant.near(each.multiple, FINE_FACTORS) for each in finalists]
        with at_most_one_blas_thread(len(search.rows)):
            found = inner._cross_validate(fine, task, 1.0, reserve=rows.n_rows / len(search.rows))
        stack, members = inner._weights(found)
        with at_most_one_blas_thread(rows.n_rows):
            machines = self._fit(members, stack, refit)
        tested = np.concatenate([each.tested for each in search.splits])
        values = inner._left_out(members, tested)
        results = inner._results(found, members, stack, values)
        outer = [FoldRows(search.rows[s.held_out], search.rows[s.tested]) for s in search.splits]
        raced_results = _race_results(raced, len(race.rows))
        summary = _summary(candidates, raced, found, members, len(search.rows), rows.n_rows)
        return Vote(machines, values, outer, results, raced_results, summary)

    def _most(self, most: int) -> int:
        """Return the number of rows of a round: as many as fit into the budget."""
        X, budget = self.validation.rows.X, self.validation.settings.budget
        return int(min(most, self.exact.max_rows(X, budget), X.shape[0]))

    def _among(self, rows: IntArray, splits: Sequence[FoldRows]) -> "Voting":
        validation = self.validation.among(rows, list(splits), self.validation.settings.tol)
        return replace(
            self, validation=validation, problem=self.problem.among(rows), strata=self.strata[rows]
        )

    @property
    def _settings(self) -> SolverSettings:
        """The settings of the exact backend, in single precision where that is accurate enough."""
        is_single = self.problem.codes is not None and len(self.problem.weight) > SINGLE_ROWS
        return replace(self.validation.settings, dtype=np.float32 if is_single else None)

    def _workspace(self, is_additive: bool) -> Workspace:
        if is_additive:
            settings = replace(self.validation.settings, max_iter=self.tables.default_max_iter)
            return self.tables.open(self.validation.rows, settings)
        return self.exact.open(self.validation.rows, self._settings)

    # -- cross-validation

    def _cross_validate(
        self, candidates: Sequence[Entrant], task: Task, share: float, reserve: float = 0.0
    ) -> list[Finalist]:
        """Return the candidates at their best C, as many as the time allows, at least one."""
        found: dict[int, Finalist] = {}

        def evaluate(place: int, prepared: PreparedRows, mine: list[int]) -> None:
            needed = max((each.seconds for each in found.values()), default=0.0)
            needed += (len(found) + 1) * needed * reserve**3 / N_FITS if reserve else 0.0
            if found and not self.clock.has(needed, share):
                return
            start = self.clock.elapsed
            try:
                result = self._trial(candidates[mine[place]], prepared, task)
            except NotDefiniteError:
                return
            found[mine[place]] = replace(result, seconds=self.clock.elapsed - start)

        for is_additive in (False, True):
            mine = [k for k, each in enumerate(candidates) if each.is_additive == is_additive]
            if mine:
                self._workspace(is_additive).map(
                    [candidates[k].candidate for k in mine],
                    lambda place, prepared, mine=mine: evaluate(place, prepared, mine),
                )
        return [found[k] for k in sorted(found)]

    def _trial(self, entrant: Entrant, prepared: PreparedRows, task: Task) -> Finalist:
        """Return a candidate at its best C."""
        problems = self.problem.additive if entrant.is_additive else self.problem.problems
        held_out = [split.held_out for split in self.validation.splits]
        Cs = entrant.grid.at(prepared)
        settings = (
            self.validation.settings
            if not entrant.is_additive
            else replace(self.validation.settings, max_iter=self.tables.default_max_iter)
        )
        with task.part("candidate", n_parts=len(problems)) as part:
            folds = prepared.solve_all_folds(problems, Cs, held_out, settings, part)
        values = np.concatenate(self.validation.tested_values(problems, folds), axis=1)
        errors = [self._error(each, entrant.is_additive) for each in values]
        best = int(np.argmin(errors))
        return Finalist(
            entrant, entrant.grid.values[best], Cs[best], values[best], errors[best], 0.0
        )

    def _error(self, values: FloatArray, is_additive: bool) -> float:
        """Return the mean squared error of values, or the logistic loss of log-odds."""
        tested = self.validation.tested
        y, share = self.problem.targets[tested], self.problem.weight[tested]
        if is_additive and self.problem.codes is not None:
            losses = np.logaddexp(0.0, -y * values)
        else:
            losses = (y - values) ** 2
        error = float(share @ losses.sum(axis=1) / share.sum())
        return error if np.isfinite(error) else np.inf

    # -- selection and weights

    def _finalists(
        self, raced: Sequence[Finalist], rows: IntArray, splits: Sequence[FoldRows]
    ) -> list[Finalist]:
        """Return the candidates of the race that continue, the most useful first."""
        if len(raced) <= MAX_FINALISTS:
            return list(raced)
        tested = np.concatenate([split.tested for split in splits])
        problem, values = self.problem.among(rows), np.array([each.values for each in raced])
        shares = influence(problem.stack(values, tested), values)
        losses = ((problem.targets[tested] - values) ** 2).sum(axis=2)
        kernels = [k for k, each in enumerate(raced) if not each.entrant.is_additive]
        best = min(kernels, key=lambda k: raced[k].error)
        excess = losses - losses[best]
        mean = excess.mean(axis=1)
        error = excess.std(axis=1) / np.sqrt(len(tested))
        is_equal = mean <= ERRORS * error
        order = sorted(
            range(len(raced)),
            key=lambda k: (
                shares[k] < SMALLEST_SHARE,
                -shares[k] if shares[k] >= SMALLEST_SHARE else 0.0,
                not is_equal[k],
                mean[k],
            ),
        )
        return [raced[k] for k in order[:MAX_FINALISTS]]

    def _weights(self, found: Sequence[Finalist]) -> tuple[Stack, list[Finalist]]:
        """Return the members with substantial weights, and these weights."""
        members, tested = list(found), self.validation.tested
        while True:
            values = np.array([each.values for each in members])
            stack = self.problem.stack(values, tested)
            shares = influence(stack, values)
            if not shares.any():
                best = int(np.argmin([each.error for each in members]))
                shares = np.arange(len(members)) == best
            order = np.argsort(-shares, kind="stable")[: self.max_members]
            kept = sorted(k for k in order if shares[k] >= SMALLEST_SHARE)
            if len(kept) == len(members):
                return stack, members
            members = [members[k] for k in kept]

    def _left_out(self, members: Sequence[Finalist], tested: IntArray) -> FloatArray:
        """Return the values of the vote, by weights that were found on the other folds."""
        values = np.array([each.values for each in members])
        fold = np.repeat(
            np.arange(len(self.validation.splits)),
            [len(each.tested) for each in self.validation.splits],
        )
        found = np.empty(values.shape[1:])
        for number in range(len(self.validation.splits)):
            is_mine = fold == number
            is_other = ~np.isin(tested, tested[is_mine])
            used = is_other if self.problem.weight[tested[is_other]].any() else is_mine
            stack = self.problem.stack(values[:, used], tested[used])
            found[is_mine] = stack.of(values[:, is_mine])
        return found

    # -- machines

    def _fit(self, members: Sequence[Finalist], stack: Stack, task: Task) -> VoteMachines:
        """Fit the members to all rows."""
        rows: TrainingRows = self.validation.rows
        values = np.array([each.values for each in members])
        shares = influence(stack, values)
        fitted: dict[int, VoteMember] = {}
        bias = stack.bias.copy()
        for place, each in enumerate(members):
            is_additive = each.entrant.is_additive
            problems = self.problem.additive if is_additive else self.problem.problems
            workspace = self._workspace(is_additive)
            prepared = workspace.prepare(each.entrant.candidate)
            C = PenaltyGrid((each.multiple,), each.entrant.grid.is_relative).at(prepared)[0]
            settings = replace(
                self.validation.settings,
                max_iter=self.tables.default_max_iter if is_additive else None,
            )
            C *= problems[0].penalty_unit
            with task.part("member", place, len(problems)) as part:
                solved = prepared.solve(problems, C, settings, None, part)
            machines = solved.machines
            weight = float(stack.weights[place])
            if isinstance(machines, SupportVectorMachines):
                bias = bias + weight * machines.intercept
                machines = _without_rows(machines, rows.n_rows)
            fitted[place] = VoteMember(
                each.entrant.name,
                weight,
                float(shares[place]),
                prepared.kernel,
                prepared.scaling,
                C,
                machines,
            )
        return VoteMachines(tuple(fitted.values()), rows.X, bias)

    def _results(
        self,
        found: Sequence[Finalist],
        members: Sequence[Finalist],
        stack: Stack,
        values: FloatArray,
    ) -> dict[str, Any]:
        """Return the scores of finalists and of the vote on all folds."""
        weights = {id(each): float(w) for each, w in zip(members, stack.weights, strict=True)}
        tested, settings, scores = self.validation.tested, [], []
        for each in found:
            candidate = each.entrant.candidate
            settings.append(
                {
                    "kernel": candidate.kernel,
                    "scaling": candidate.scaling,
                    "C": each.C,
                    "weight": weights.get(id(each), 0.0),
                }
            )
            alone = each.values[np.newaxis]
            scores.append(self._scores(self.problem.stack(alone, tested).of(alone)))
        settings.append({"kernel": "vote", "scaling": None, "C": np.nan, "weight": 1.0})
        scores.append(self._scores(values))
        return cross_validation_results(settings, np.array(scores))

    def _scores(self, values: FloatArray) -> FloatArray:
        """Return the score of left-out values on every fold."""
        ends = np.cumsum([len(split.tested) for split in self.validation.splits])[:-1]
        by_fold = [part[np.newaxis] for part in np.split(values, ends)]
        return self.validation._scores(by_fold, 1)[0]


def at_most_one_blas_thread(n_rows: int) -> AbstractContextManager[None]:
    """Return a limit of one thread of BLAS for matrices that are too small for several."""
    return BLAS_THREADS.at_most(1) if n_rows < ROWS_WORTH_THREADS else nullcontext()


N_FITS = 3.0 * len(FINE_FACTORS)  # cost of a cross-validation, in fits to all rows of the search


def _without_rows(machines: SupportVectorMachines, n: int) -> SupportVectorMachines:
    """Return machines on all training rows, which they do not store."""
    coordinates = machines.coordinates
    if coordinates is not None and len(coordinates) < n:
        raise AssertionError("the coefficients of the squared loss are not zero")
    return replace(
        machines,
        support=np.arange(n),
        support_vectors=machines.support_vectors[:0],
        coefficients=machines.on_training_rows(),
    )


def _summary(
    candidates: Sequence[Entrant],
    raced: Sequence[Finalist],
    found: Sequence[Finalist],
    members: Sequence[Finalist],
    n_search: int,
    n_rows: int,
) -> SearchSummary:
    """Return one line about the candidates, the finalists and the members."""
    where = "all rows" if n_search == n_rows else f"a sample of {n_search:,} rows"
    kinds = listed(list(dict.fromkeys(each.name.partition(" ")[0] for each in candidates)))
    tried = (
        f"{len(raced)} settings ({kinds}), the best {len(found)} of them on {where}; "
        f"{counted(len(members), 'machine')} vote"
    )
    if len(raced) == len(candidates):
        return SearchSummary(tried)
    n_left = len(candidates) - len(raced)
    return SearchSummary(tried, counted(n_left, "setting"), "time_budget was reached: raise it")


def _race_results(raced: Sequence[Finalist], n_rows: int) -> dict[str, list[Any]]:
    return {
        "n_rows": [n_rows] * len(raced),
        "kernel": [each.entrant.candidate.kernel for each in raced],
        "scaling": [each.entrant.candidate.scaling for each in raced],
        "C": [each.C for each in raced],
        "left_out_error": [each.error for each in raced],
    }

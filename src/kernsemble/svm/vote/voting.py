r"""The vote of ``kernel="auto"``: a race of candidates, and the weights of those that remain.

1. Every candidate is cross-validated on at most a thousand rows in two halves. Those with a weight
   in the vote of all, and the best others, become finalists, as do the additive machine and, for
   categories, effects, which need more rows; a candidate is not dropped for an error that exceeds
   the smallest by less than two standard errors, while there are places.
2. Finalists are cross-validated with all rows on the folds of `cv`, from three thousand rows on
   fewer of them, and the weights of the vote minimise the loss of these left-out values. Small
   weights are dropped.
3. The members that remain are fitted to all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np

from kernsemble._folds import FoldRows
from kernsemble._progress import Task
from kernsemble._threads import BLAS_THREADS
from kernsemble._typing import FloatArray, IntArray
from kernsemble.preprocessing.supervised import accepts_categories, is_learned
from kernsemble.solvers.ridge import NotDefiniteError
from kernsemble.solvers.stacking import Stack, influence
from kernsemble.svm.backends.base import Workspace
from kernsemble.svm.backends.prepared_matrix import SupportVectorMachines
from kernsemble.svm.model_selection.grid import PenaltyGrid
from kernsemble.svm.model_selection.race import joined_folds, sample_rows
from kernsemble.svm.model_selection.search_summary import SearchSummary
from kernsemble.svm.vote.evidence import race_results, vote_results, vote_summary
from kernsemble.svm.vote.machines import VoteMachines, VoteMember
from kernsemble.svm.vote.portfolio import Entrant
from kernsemble.svm.vote.trials import Finalist, Fitted, Trials

MAX_RACE_ROWS = 1_000  # number of rows of the race
MAX_FINALISTS = 8
MAX_LONG_FINALISTS = 6  # the same from three thousand rows on, for time
FINE_FACTORS = (0.5, 1.0, 2.0)  # values of C of a finalist, in units of its best one
LAST_FACTORS = (1.0, 3.0)  # the same with all rows, for which larger values are often better
LONG_FACTORS = (2.0,)  # the same from three thousand rows on, for time
MOST_WORK = 5.0 * 2_400.0**3  # cube of the training rows of a fold, summed over all folds
N_PARTS = 5  # number of parts of a single fold
SMALLEST_SHARE = 0.02  # of the vote, below which a member is dropped
ERRORS = 2.0  # number of standard errors within which candidates count as equal
RACE_SHARE = 0.4  # share of a time budget for the race
LONG_ROWS = 3_000  # number of rows from which fewer finalists and values of C are tried
SMALLER = (1.0, 0.1, 0.01)  # factors of C in double precision, if a matrix is not definite


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
    summary : SearchSummary
        What was compared, in one line.
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
    trials : Trials
        The rows, their folds and targets, and the time that is left.
    strata : array of shape (n,)
        Strata of samples, such as the classes.
    max_members : int
        Maximum number of members.
    """

    trials: Trials
    strata: IntArray
    max_members: int

    def run(
        self, candidates: Sequence[Entrant], rng: np.random.Generator, task: Task, refit: Task
    ) -> Vote:
        """Return the vote of candidates."""
        with BLAS_THREADS.at_most(1):
            return self._run(candidates, rng, task, refit)

    def _run(
        self, candidates: Sequence[Entrant], rng: np.random.Generator, task: Task, refit: Task
    ) -> Vote:
        """Return the vote of candidates, with one thread of BLAS."""
        splits, n_rows = self.trials.validation.splits, self.trials.validation.rows.n_rows
        raced, finalists, n_raced = self._race(candidates, rng, task)
        last = self.trials.on(splits[: n_affordable_folds(n_rows, len(splits))])
        is_long = n_rows > LONG_ROWS
        factors = LONG_FACTORS if is_long else LAST_FACTORS
        finalists = finalists[: MAX_LONG_FINALISTS if is_long else MAX_FINALISTS]
        fine = [each.entrant.near(each.multiple, factors) for each in finalists]
        found = last.run(fine, task, is_last=True)
        stack, chosen = choose_members(last, found, self.max_members)
        stack, chosen, machines = self._fit(last, stack, chosen, refit)
        values = last.problem.scale.restore(left_out_values(last, chosen))
        weights = np.zeros(len(found))
        weights[[found.index(each) for each in chosen]] = stack.weights
        weights *= last.problem.scale.spread
        return Vote(
            machines,
            values,
            last.validation.splits,
            vote_results(last.validation, last.problem, found, weights.tolist(), values),
            race_results(raced, n_raced),
            vote_summary(
                candidates,
                len(raced),
                len(found),
                len(chosen),
                len(last.validation.splits),
                len(splits),
            ),
        )

    def _race(
        self, candidates: Sequence[Entrant], rng: np.random.Generator, task: Task
    ) -> tuple[list[Finalist], list[Finalist], int]:
        """Return all candidates on few rows, the finalists among them, and the number of rows."""
        validation = self.trials.validation
        rows, budget = validation.rows, validation.settings.budget
        most = self.trials.backends.exact.max_rows(rows.X, budget)
        n = int(min(MAX_RACE_ROWS, most, rows.n_rows))
        sample = sample_rows(n, self.strata, rows.weight, validation.splits, rng)
        track = self.trials.among(sample.rows, joined_folds(sample.splits, 2))
        raced = track.run(candidates, task, RACE_SHARE)
        finalists = choose_finalists(track, raced)
        fine = [each.entrant.near(each.multiple, FINE_FACTORS) for each in finalists]
        refined = {each.entrant.candidate: each for each in track.run(fine, task, RACE_SHARE)}
        finalists = [refined.get(each.entrant.candidate, each) for each in finalists]
        return raced, finalists, len(sample.rows)

    def _fit(
        self, last: Trials, stack: Stack, chosen: list[Finalist], task: Task
    ) -> tuple[Stack, list[Finalist], VoteMachines]:
        """Fit the members to all rows, the largest shares first, as many as the time allows."""
        weight = last.problem.weight[last.validation.tested]
        shares = influence(stack, np.array([each.values for each in chosen]), weight)
        fitted = {k: each.fitted for k, each in enumerate(chosen) if each.fitted is not None}
        seconds, has_started = [0.0], Event()
        if fitted:
            has_started.set()

        def fit(mine: list[int]) -> None:
            workspace = last.workspace(chosen[mine[0]].entrant.is_additive)
            for place in mine:
                if has_started.is_set() and not last.clock.has(max(seconds)):
                    return
                has_started.set()
                start = last.clock.elapsed
                with task.part("member", place, n_parts=None) as part:
                    found = _fit_member(last, chosen[place], workspace, part)
                seconds.append(last.clock.elapsed - start)
                fitted[place] = found

        order = [int(k) for k in np.argsort(-shares, kind="stable") if k not in fitted]
        last.side_by_side(fit, _by_learned_scaling(chosen, order))
        if len(fitted) < len(chosen):
            chosen = [chosen[place] for place in sorted(fitted)]
            values = np.array([each.values for each in chosen])
            stack = last.problem.stack(values, last.validation.tested)
            shares = influence(stack, values, weight)
        rows, bias, members = last.validation.rows, stack.bias.copy(), []
        scale = last.problem.scale
        for k, place in enumerate(sorted(fitted)):
            kernel, scaling, machines, C = fitted[place]
            weight = float(stack.weights[k])
            if isinstance(machines, SupportVectorMachines):
                bias = bias + weight * machines.intercept
                machines = _without_rows(machines, rows.n_rows)
            known = chosen[k].entrant.name, scale.spread * weight, float(shares[k])
            members.append(VoteMember(*known, kernel, scaling, C, machines))
        return (
            stack,
            chosen,
            VoteMachines(
                tuple(members),
                rows.X,
                scale.restore(bias),
                is_single=last.settings(False).dtype is not None,
            ),
        )


def choose_finalists(track: Trials, raced: Sequence[Finalist]) -> list[Finalist]:
    """Return the candidates of a race that continue.

    Those that need more rows than the race has come first: effects, and the best of each learned
    scaling unless it is clearly worse. Then those with a share of the vote of all, then those whose
    error may be the smallest, then the others.
    """
    if len(raced) <= MAX_FINALISTS:
        return list(raced)
    problem, tested = track.problem, track.validation.tested
    values, weight = np.array([each.values for each in raced]), problem.weight[tested]
    shares = influence(problem.stack(values, tested), values, weight)
    shares[shares < SMALLEST_SHARE] = 0.0
    losses = ((problem.targets[tested] - values) ** 2).sum(axis=2)
    kernels = [k for k, each in enumerate(raced) if not each.entrant.is_additive]
    excess = losses - losses[min(kernels, key=lambda k: raced[k].error)]
    share = weight / weight.sum()
    mean, n = excess @ share, max(weight.sum(), float(len(weight)))
    error = np.sqrt((excess - mean[:, np.newaxis]) ** 2 @ share / n)
    is_worse = mean > ERRORS * error
    is_first = [each.entrant.skips_race for each in raced]
    for kind in {each.entrant.candidate.scaling for each in raced}:
        mine = [k for k, each in enumerate(raced) if each.entrant.candidate.scaling == kind]
        best = min(mine, key=lambda k: mean[k])
        is_first[best] |= is_learned(kind) and not is_worse[best]
    order = sorted(
        range(len(raced)), key=lambda k: (not is_first[k], -shares[k], is_worse[k], mean[k])
    )
    return [raced[k] for k in order[:MAX_FINALISTS]]


def choose_members(
    last: Trials, found: Sequence[Finalist], max_members: int
) -> tuple[Stack, list[Finalist]]:
    """Return the weights of the vote, and the finalists with substantial ones."""
    chosen, tested = list(found), last.validation.tested
    while True:
        values = np.array([each.values for each in chosen])
        stack = last.problem.stack(values, tested)
        shares = influence(stack, values, last.problem.weight[tested])
        if not shares.any():
            best = int(np.argmin([each.error for each in chosen]))
            shares = (np.arange(len(chosen)) == best).astype(np.float64)
        order = np.argsort(-shares, kind="stable")[:max_members]
        kept = sorted(k for k in order if shares[k] >= SMALLEST_SHARE)
        if len(kept) == len(chosen):
            return stack, chosen
        chosen = [chosen[k] for k in kept]


def left_out_values(last: Trials, chosen: Sequence[Finalist]) -> FloatArray:
    """Return the values of the vote, by weights that were found on the other folds.

    A single fold is divided into parts.
    """
    problem, tested = last.problem, last.validation.tested
    values = np.array([each.values for each in chosen])
    sizes = [len(each.tested) for each in last.validation.splits]
    fold = np.repeat(np.arange(len(sizes)), sizes)
    fold = fold if len(sizes) > 1 else np.arange(len(tested)) % N_PARTS
    found = np.empty(values.shape[1:])
    for number in np.unique(fold):
        is_mine = fold == number
        is_other = ~np.isin(tested, tested[is_mine])
        used = is_other if problem.weight[tested[is_other]].any() else is_mine
        found[is_mine] = problem.stack(values[:, used], tested[used]).of(values[:, is_mine])
    return found


def n_affordable_folds(n_rows: int, n_folds: int) -> int:
    """Return the number of folds on which finalists are cross-validated."""
    work = (n_rows * (1.0 - 1.0 / max(n_folds, 2))) ** 3
    return int(np.clip(MOST_WORK / work, 1, n_folds))


def _by_learned_scaling(chosen: Sequence[Finalist], order: Sequence[int]) -> list[list[int]]:
    """Return places in the order given, those of one learned scaling, or of effects, together."""
    found: dict[Any, list[int]] = {}
    for place in order:
        scaling = chosen[place].entrant.candidate.scaling
        key = "effects" if accepts_categories(scaling) else scaling
        found.setdefault(key if is_learned(scaling) else place, []).append(place)
    return list(found.values())


def _fit_member(last: Trials, member: Finalist, workspace: Workspace, task: Task) -> Fitted:
    """Fit a member to all rows; if the matrix is not definite, in double precision, or smaller C.

    Left-out machines have fewer rows, so that their matrices may be definite where this is not.
    """
    is_additive = member.entrant.is_additive
    problems = last.problem.problems_of(is_additive)
    grid = PenaltyGrid((member.multiple,), member.entrant.grid.is_relative)
    for attempt, factor in enumerate((1.0, *SMALLER)):
        is_double = attempt > 0
        where = last.workspace(is_additive, is_double) if is_double else workspace
        prepared = where.prepare(member.entrant.candidate)
        C, settings = factor * grid.at(prepared)[0], last.settings(is_additive, is_double)
        try:
            solved = prepared.solve(problems, C, settings, None, task)
            return Fitted(prepared.kernel, prepared.scaling, solved.machines, C)
        except NotDefiniteError as error:
            failure = error
    raise failure


def _without_rows(machines: SupportVectorMachines, n: int) -> SupportVectorMachines:
    """Return machines on all n training rows, which they do not store."""
    coordinates = machines.coordinates
    if coordinates is not None:
        whole = np.zeros((n, coordinates.shape[1]), coordinates.dtype)
        whole[machines.support] = coordinates
        coordinates = whole
    return replace(
        machines,
        support=np.arange(n),
        support_vectors=machines.support_vectors[:0],
        coefficients=machines.on_training_rows(),
        coordinates=coordinates,
    )

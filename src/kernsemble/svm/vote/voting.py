r"""The vote of ``kernel="auto"``: a race of candidates, and the weights of those that remain.

1. Every candidate is cross-validated on at most a thousand rows in two halves, kernels of one
   distance at values of C near the best one of the kernel before. Those with a weight
   in the vote of all, and the best others, become finalists, as do the additive machine and, for
   categories, effects, which need more rows; a candidate is not dropped for an error that exceeds
   the smallest by less than two standard errors, while there are places.
2. Finalists are cross-validated with all rows on the folds of `cv`, from three thousand rows on
   fewer of them, and the weights of the vote minimise the loss of these left-out values. Small
   weights are dropped.
3. The members that remain are fitted to all rows.

Beyond the rows that kernel matrices serve, kernels are solved on leaves (`Effort`): finalists on
one fold of a bounded number of rows, and members on all rows, those with a large share of the vote
on more partitions. The best kernels are tried again on what the additive machine leaves
(`corrections`). The cost is linear in the number of rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernsemble._folds import FoldRows
from kernsemble._progress import Task
from kernsemble._threads import BLAS_THREADS
from kernsemble._typing import FloatArray, IntArray
from kernsemble.preprocessing.supervised import is_learned
from kernsemble.solvers import Status
from kernsemble.solvers.stacking import Stack, influence
from kernsemble.svm.model_selection.race import joined_folds, sample_rows
from kernsemble.svm.model_selection.search_summary import SearchSummary
from kernsemble.svm.vote.corrections import best_additive, corrections, has_additive, with_base
from kernsemble.svm.vote.effort import MAX_FINALISTS, TRIAL_PARTITIONS, Effort
from kernsemble.svm.vote.evidence import race_results, vote_results, vote_summary
from kernsemble.svm.vote.machines import VoteMachines
from kernsemble.svm.vote.pairs import can_have_pairs, with_pairs
from kernsemble.svm.vote.portfolio import Entrant
from kernsemble.svm.vote.refit import refit
from kernsemble.svm.vote.trials import Finalist, Trials

MAX_RACE_ROWS = 1_000  # number of rows of the race
FINE_FACTORS = (0.5, 1.0, 2.0)  # values of C of a finalist, in units of its best one
ROWS_IN_MEMORY = 0.5  # share of the rows of a matrix that fits into memory, for several of them
N_PARTS = 5  # number of parts of a single fold
SMALLEST_SHARE = 0.02  # of the vote, below which a member is dropped
ERRORS = 2.0  # number of standard errors within which candidates count as equal
COST_OF_PAIRS = 4.0  # time of learning pairs, in units of a trial without them
RACE_SHARE = 0.4  # share of a time budget for the race


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
    is_interrupted : bool
        Whether an interrupt left out members or partitions.
    """

    machines: VoteMachines
    values: FloatArray
    splits: Sequence[FoldRows]
    results: dict[str, Any]
    race_results: dict[str, list[Any]]
    summary: SearchSummary
    is_interrupted: bool

    def check_not_interrupted(self) -> None:
        """Pass on the interrupt that left out members or partitions."""
        if self.is_interrupted:
            raise KeyboardInterrupt(Status.INTERRUPTED.value)


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
    effort : Effort
        Numbers of rows, folds, finalists and values of C.
    """

    trials: Trials
    strata: IntArray
    max_members: int
    effort: Effort

    def run(
        self, candidates: Sequence[Entrant], rng: np.random.Generator, task: Task, refit_task: Task
    ) -> Vote:
        """Return the vote of candidates."""
        with BLAS_THREADS.at_most(1):
            return self._run(candidates, rng, task, refit_task)

    def _run(
        self, candidates: Sequence[Entrant], rng: np.random.Generator, task: Task, refit_task: Task
    ) -> Vote:
        """Return the vote of candidates, with one thread of BLAS."""
        raced, finalists, n_raced = self._race(candidates, rng, task)
        last, rows = self._last_trials(rng)
        finalists = finalists[: self.effort.n_finalists]
        fine = [each.entrant.near(each.multiple, self.effort.factors) for each in finalists]
        whole = self.trials
        found = last.run(fine, task, cost_of_fit=self._cost_of_fit(last))
        found = [*found, *self._with_pairs(last, found, task)]
        last, found = self._with_corrections(last, found, task)
        stack, chosen = choose_members(last, self._able(found), self.max_members)
        if any(each.entrant.is_correction for each in chosen):
            whole = with_base(whole, best_additive(found))
        fitted = refit(whole, last, stack, chosen, self.effort, refit_task)
        values = last.problem.scale.restore(left_out_values(last, fitted.chosen))
        weights = np.zeros(len(found))
        weights[[found.index(each) for each in fitted.chosen]] = fitted.stack.weights
        weights *= last.problem.scale.spread
        splits = last.validation.splits
        return Vote(
            fitted.machines,
            values,
            [FoldRows(rows[each.held_out], rows[each.tested]) for each in splits],
            vote_results(last.validation, last.problem, found, weights.tolist(), values),
            race_results(raced, n_raced),
            vote_summary(
                candidates,
                len(raced),
                found,
                len(fitted.chosen),
                len(splits),
                len(self.trials.validation.splits),
            ),
            fitted.is_interrupted,
        )

    def _with_pairs(self, last: Trials, found: list[Finalist], task: Task) -> list[Finalist]:
        """Return the additive machine with pairs of columns, on leaves if the time allows."""
        if not (self.effort.is_local and has_additive(found) and can_have_pairs(self.trials)):
            return []
        additive = best_additive(found)
        if not last.clock.has(COST_OF_PAIRS * additive.seconds):
            return []
        with_them = [with_pairs(last, additive)]
        return last.run(with_them, task, cost_of_fit=self._cost_of_fit(last), before=found)

    def _with_corrections(
        self, last: Trials, found: list[Finalist], task: Task
    ) -> tuple[Trials, list[Finalist]]:
        """Return finalists, on leaves with corrections of the additive machine of one value."""
        n_values = last.problem.targets.shape[1]
        if not self.effort.is_local or n_values > 1 or not has_additive(found):
            return last, found
        additive = best_additive(found)
        if not last.clock.has(additive.seconds):
            return last, found
        last = with_base(last, additive, additive.values)
        more = last.run(corrections(found), task, cost_of_fit=self._cost_of_fit(last), before=found)
        return last, [*found, *more]

    def _able(self, found: list[Finalist]) -> list[Finalist]:
        """Return the finalists that can be members: on leaves, one of the additive machines."""
        if not self.effort.is_local or not has_additive(found):
            return found
        additive = best_additive(found)
        return [each for each in found if not each.entrant.is_additive or each is additive]

    def _cost_of_fit(self, last: Trials) -> float:
        """Return the time of a fit to all rows, relative to a trial."""
        splits, n = last.validation.splits, last.validation.rows.n_rows
        kept = np.array([1.0 - len(each.held_out) / n for each in splits])
        if self.effort.is_local:
            return self.trials.validation.rows.n_rows / (n * float(kept.sum()))
        return 1.0 / float((kept**2).sum())

    def _last_trials(self, rng: np.random.Generator) -> tuple[Trials, IntArray]:
        """Return the trials of finalists, and their rows: all, or a sample of many."""
        validation, trials = self.trials.validation, self.trials
        if self.effort.is_local:
            trials = trials.on_leaves(self.effort.leaf_factor, TRIAL_PARTITIONS)
        splits, n = validation.splits[: self.effort.n_folds], validation.rows.n_rows
        if n <= self.effort.n_trial_rows:
            return trials.on(splits), np.arange(n)
        weight = validation.rows.weight
        sample = sample_rows(self.effort.n_trial_rows, self.strata, weight, splits, rng)
        return trials.among(sample.rows, sample.splits), sample.rows

    def _race(
        self, candidates: Sequence[Entrant], rng: np.random.Generator, task: Task
    ) -> tuple[list[Finalist], list[Finalist], int]:
        """Return all candidates on few rows, the finalists among them, and the number of rows."""
        validation = self.trials.validation
        rows, budget = validation.rows, validation.settings.budget
        most = self.trials.backends.exact.max_rows(rows.X, budget)
        if self.effort.is_local:
            most = min(ROWS_IN_MEMORY * most, self.trials.backends.exact_rows)
        n = int(min(MAX_RACE_ROWS, most, rows.n_rows))
        sample = sample_rows(n, self.strata, rows.weight, validation.splits, rng)
        track = self.trials.among(sample.rows, joined_folds(sample.splits, 2))
        track = replace(track, is_race=True)
        raced = track.run(candidates, task, RACE_SHARE)
        finalists = choose_finalists(track, raced)
        if self.effort.is_local:
            return raced, finalists, len(sample.rows)
        fine = [each.entrant.near(each.multiple, FINE_FACTORS) for each in finalists]
        refined = {each.entrant.candidate: each for each in track.run(fine, task, RACE_SHARE)}
        finalists = [refined.get(each.entrant.candidate, each) for each in finalists]
        return raced, finalists, len(sample.rows)


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

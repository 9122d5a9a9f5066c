"""The members of a vote, fitted to all rows."""

from collections.abc import Sequence
from dataclasses import replace
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from kernsemble._progress import Task
from kernsemble._typing import FloatArray, Rows
from kernsemble.preprocessing.supervised import accepts_categories, is_learned
from kernsemble.solvers.ridge import NotDefiniteError
from kernsemble.solvers.stacking import Stack, influence
from kernsemble.svm.backends.base import Workspace
from kernsemble.svm.backends.prepared_matrix import SupportVectorMachines
from kernsemble.svm.model_selection.grid import PenaltyGrid
from kernsemble.svm.vote.effort import Effort, n_partitions
from kernsemble.svm.vote.machines import VoteMachines, VoteMember
from kernsemble.svm.vote.trials import Finalist, Fitted, Trials

BACKGROUND_ROWS = 2_000  # number of rows that a vote of machines on leaves stores for views
SMALLER = (1.0, 0.1, 0.01)  # factors of C in double precision, if a matrix is not definite


class Refitted(NamedTuple):
    """The members of a vote that were fitted to all rows, as many as the time allowed."""

    stack: Stack
    chosen: list[Finalist]
    machines: VoteMachines
    is_interrupted: bool


def refit(
    whole: Trials,
    last: Trials,
    stack: Stack,
    chosen: list[Finalist],
    effort: Effort,
    task: Task,
) -> Refitted:
    """Fit the members of a vote to all rows, the largest shares first.

    An interrupt keeps the members that are fitted, if there are any.

    Parameters
    ----------
    whole, last : Trials
        All rows, and those of the last trials.
    stack : Stack
        The weights of the members.
    chosen : list of Finalist
        The members.
    effort : Effort
        The size of leaves.
    task : Task
        The part of the fit.
    """
    weight = last.problem.weight[last.validation.tested]
    shares = influence(stack, np.array([each.values for each in chosen]), weight)
    fitted = {k: each.fitted for k, each in enumerate(chosen) if each.fitted is not None}
    seconds, has_started = [0.0], Event()
    if fitted:
        has_started.set()
    tracks = _tracks(whole, chosen, shares, effort)

    def fit(mine: list[int]) -> None:
        workspace = tracks[mine[0]].workspace(chosen[mine[0]].entrant.is_additive)
        for place in mine:
            if has_started.is_set() and not whole.clock.has(max(seconds)):
                return
            has_started.set()
            start = whole.clock.elapsed
            if whole.is_local:  # a member has partitions of its own
                workspace = tracks[place].workspace(chosen[place].entrant.is_additive)
            with task.part("member", place, n_parts=None) as part:
                fitted[place] = _fit_member(tracks[place], chosen[place], workspace, part)
            seconds.append(whole.clock.elapsed - start)
            if fitted[place].is_interrupted:
                raise KeyboardInterrupt

    is_interrupted = False
    try:
        order = [int(k) for k in np.argsort(-shares, kind="stable") if k not in fitted]
        whole.side_by_side(fit, _by_learned_scaling(chosen, order))
    except KeyboardInterrupt:
        if not fitted:
            raise
        is_interrupted = True
    if len(fitted) < len(chosen):
        chosen = [chosen[place] for place in sorted(fitted)]
        values = np.array([each.values for each in chosen])
        stack = last.problem.stack(values, last.validation.tested)
        shares = influence(stack, values, weight)
    members = [fitted[place] for place in sorted(fitted)]
    machines = _machines(whole, stack, chosen, shares, members)
    return Refitted(stack, chosen, machines, is_interrupted)


def _tracks(
    whole: Trials, chosen: Sequence[Finalist], shares: FloatArray, effort: Effort
) -> list[Trials]:
    """Return the trials of each member: of more partitions for larger shares."""
    if not whole.is_local:
        return [whole] * len(chosen)
    local = [place for place, each in enumerate(chosen) if not each.entrant.is_additive]
    tracks = [whole] * len(chosen)
    for place, n in zip(local, n_partitions(shares[local]), strict=True):
        tracks[place] = whole.on_leaves(effort.leaf_factor, n)
    return tracks


def _by_learned_scaling(chosen: Sequence[Finalist], order: Sequence[int]) -> list[list[int]]:
    """Return places in the order given, those of one learned scaling, or of effects, together."""
    found: dict[Any, list[int]] = {}
    for place in order:
        scaling = chosen[place].entrant.candidate.scaling
        key = "effects" if accepts_categories(scaling) else scaling
        found.setdefault(key if is_learned(scaling) else place, []).append(place)
    return list(found.values())


def _machines(
    whole: Trials,
    stack: Stack,
    chosen: Sequence[Finalist],
    shares: FloatArray,
    fitted: Sequence[Fitted],
) -> VoteMachines:
    rows, scale, bias, members = whole.validation.rows, whole.problem.scale, stack.bias.copy(), []
    for k, (kernel, scaling, machines, C, _) in enumerate(fitted):
        weight = float(stack.weights[k])
        if isinstance(machines, SupportVectorMachines):
            bias = bias + weight * machines.intercept
            machines = _without_rows(machines, rows.n_rows)
        known = chosen[k].entrant.name, scale.spread * weight, float(shares[k])
        members.append(VoteMember(*known, kernel, scaling, C, machines))
    return VoteMachines(
        tuple(members),
        _background(rows.X, rows.weight) if whole.is_local else rows.X,
        scale.restore(bias),
        is_single=whole.settings(False).dtype is not None,
    )


def _background(X: Rows, weight: FloatArray) -> Rows:
    """Return a random sample of the rows, by weight."""
    if X.shape[0] <= BACKGROUND_ROWS:
        return X
    rng = np.random.default_rng(0)
    n = min(BACKGROUND_ROWS, int(np.count_nonzero(weight)))
    return X[np.sort(rng.choice(X.shape[0], n, replace=False, p=weight / weight.sum()))]


def _fit_member(track: Trials, member: Finalist, workspace: Workspace, task: Task) -> Fitted:
    """Fit a member to all rows; if the matrix is not definite, in double precision, or smaller C.

    Left-out machines have fewer rows, so that their matrices may be definite where this is not.
    """
    entrant = member.entrant
    problems = track.problems_of(entrant)
    grid = PenaltyGrid((member.multiple,), entrant.grid.is_relative)
    for attempt, factor in enumerate((1.0, *SMALLER)):
        is_double = attempt > 0
        where = track.workspace(entrant.is_additive, is_double) if is_double else workspace
        prepared = where.prepare(entrant.candidate)
        C, settings = factor * grid.at(prepared)[0], track.settings(entrant.is_additive, is_double)
        try:
            solved = prepared.solve(problems, C, settings, None, task)
        except NotDefiniteError as error:
            failure = error
            continue
        machines, is_interrupted = solved.machines, solved.is_interrupted
        return Fitted(prepared.kernel, prepared.scaling, machines, C, is_interrupted)
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

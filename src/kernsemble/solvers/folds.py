"""All values of C and all folds on one kernel matrix.

A fold holds rows out by bounds of zero, so nothing is copied and the residual of the
held-out rows tells their decision values. Along C every problem starts from the solution
before it; once no coefficient is at a bound, that is the solution for every larger C. At the
smallest C the first fold hands its solution over to the others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Event

import numpy as np

from kernsemble._threads import run
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.matrix import Matrix, RowsOnDemand, as_matrix
from kernsemble.solvers.result import Solution, Status
from kernsemble.solvers.smo import Watch, solve_dual


@dataclass(frozen=True, eq=False)
class Fold:
    """What one fold found: decision values of the held-out rows, a row for each C."""

    decisions: FloatArray
    n_iter: IntArray
    statuses: tuple[Status, ...]


class StoppedError(Exception):
    """A fold was told to stop because another one ended in an error or an interrupt."""


def solve_path(
    K: FloatArray | Matrix,
    p: FloatArray,
    low: FloatArray,
    high: FloatArray,
    Cs: Sequence[float],
    *,
    epsilon: float = 0.0,
    tol: float = 1e-3,
    max_iter: int | None = None,
    start: Solution | None = None,
    watch: Watch | None = None,
) -> Iterator[Solution]:
    """Yield the solutions with bounds ``C * low`` and ``C * high`` for increasing `Cs`.

    The first may have a `start`, the others start from the one before. An interrupted one is
    the last.
    """
    K, solution, before = as_matrix(K), None, 0.0
    for C in Cs:
        lower, upper = bounds_at(C, low), bounds_at(C, high)
        if solution is not None:
            start = _stretched(solution, p, lower, upper, C / before)
        solution = solve_dual(
            K,
            p,
            lower,
            upper,
            epsilon=epsilon,
            tol=tol,
            max_iter=max_iter,
            start=start,
            watch=watch,
        )
        before = C
        yield solution
        if solution.status is Status.INTERRUPTED:
            return


def solve_folds(
    K: FloatArray | Matrix,
    p: FloatArray,
    low: FloatArray,
    high: FloatArray,
    Cs: Sequence[float],
    held_out: Sequence[IntArray],
    *,
    epsilon: float = 0.0,
    tol: float = 1e-3,
    max_iter: int | None = None,
    on_solved: Callable[[], None] | None = None,
) -> list[Fold]:
    """Return for each set of held-out rows what the other rows say of them, at every C.

    Parameters
    ----------
    K, p, low, high, epsilon, tol, max_iter
        As for `solve_path`.
    Cs : increasing positive numbers
        The factors of the bounds.
    held_out : sequence of index arrays
        The rows that each fold leaves out.
    on_solved : callable, optional
        Called after each C of each fold, by the thread that solved it.
    """
    K, stop = as_matrix(K), Event()

    def watch(n_iter: int, violation: float) -> None:  # noqa: ARG001
        if stop.is_set():
            raise StoppedError

    def path(rows: IntArray, Cs: Sequence[float], seed: Solution | None) -> Iterator[Solution]:
        present = np.ones(len(p))
        present[rows] = 0.0
        below, above = present * low, present * high
        return solve_path(
            K,
            p,
            below,
            above,
            Cs,
            epsilon=epsilon,
            tol=tol,
            max_iter=max_iter,
            start=seed and handed_over(seed, K, bounds_at(Cs[0], below), bounds_at(Cs[0], above)),
            watch=watch,
        )

    seed = _uninterrupted(next(path(held_out[0], Cs[:1], None)))

    def work(rows: IntArray) -> Fold:
        found = []
        for each in map(_uninterrupted, path(rows, Cs, seed)):
            found.append((p[rows] - each.residual[rows] + each.bias, each.n_iter, each.status))
            if on_solved is not None:
                on_solved()
        decisions, n_iter, statuses = zip(*found, strict=True)
        return Fold(np.array(decisions), np.array(n_iter), statuses)

    if isinstance(K, RowsOnDemand):  # computed by all threads
        return [work(rows) for rows in held_out]
    return run(work, held_out, on_error=stop.set, fewest=2)


def _uninterrupted(solution: Solution) -> Solution:
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt("interrupted between folds, of which nothing is kept: start again")
    return solution


def bounds_at(C: float, unit: FloatArray) -> FloatArray:
    """Return C times the bounds at C = 1, where zero stays zero for an infinite C."""
    return C * unit if np.isfinite(C) else np.where(unit == 0.0, 0.0, np.copysign(C, unit))


def handed_over(
    solution: Solution, matrix: Matrix, lower: FloatArray, upper: FloatArray
) -> Solution | None:
    """Return a start within other bounds, None where there is no room for it.

    What coefficients have to give up is taken over by rows that have none, as far as they
    can, those first that most ask for it; both signs keep equal sums.
    """
    beta = np.clip(solution.beta, lower, upper)
    sides = []
    for sign, bound in ((1.0, upper), (-1.0, -lower)):
        rows = np.flatnonzero((bound > 0.0) & (solution.beta == 0.0))
        rows = rows[np.argsort(-sign * solution.residual[rows])]
        sides.append((sign, rows, bound[rows], float(np.maximum(sign * beta, 0.0).sum())))
    total = min(
        float(np.maximum(solution.beta, 0.0).sum()),
        *(float(room.sum()) + kept for _, _, room, kept in sides),
    )
    for sign, rows, room, kept in sides:
        if kept > total:
            return None
        before = np.cumsum(room) - room
        beta[rows] += sign * np.clip(total - kept - before, 0.0, room)
    move = beta - solution.beta
    change = matrix.times(np.flatnonzero(move), move)
    return Solution.to_start_from(beta, solution.residual - change)


def _stretched(
    solution: Solution, p: FloatArray, lower: FloatArray, upper: FloatArray, ratio: float
) -> Solution:
    r"""Return :math:`s\beta` with the best s between 1 and the ratio of the bounds.

    Without coefficients at a bound :math:`\beta` is best as it is, up to rounding.
    """
    values = p - solution.residual
    bend, slope = float(solution.beta @ values), float(p @ solution.beta)
    factor = min(slope / bend, ratio) if bend > 0.0 else 1.0
    if factor <= 1.001:
        return solution
    beta = np.minimum(np.maximum(factor * solution.beta, lower), upper)
    return Solution.to_start_from(beta, p - factor * values)

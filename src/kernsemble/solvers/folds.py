"""All values of C and all folds on one kernel matrix.

A fold holds rows out by bounds of zero, so nothing is copied and the residual of the
held-out rows tells their decision values. Along C every problem starts from the solution
before it; once no coefficient is at a bound, that is the solution for every larger C.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Event

import numpy as np

from kernsemble._threads import run
from kernsemble._typing import FloatArray, IntArray
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
    K: FloatArray,
    p: FloatArray,
    low: FloatArray,
    high: FloatArray,
    Cs: Sequence[float],
    *,
    epsilon: float = 0.0,
    tol: float = 1e-3,
    max_iter: int | None = None,
    watch: Watch | None = None,
) -> Iterator[Solution]:
    """Yield the solutions with bounds ``C * low`` and ``C * high`` for increasing `Cs`."""
    solution, before = None, 0.0
    for C in Cs:
        lower, upper = bounds_at(C, low), bounds_at(C, high)
        start = None if solution is None else _stretched(solution, p, lower, upper, C / before)
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


def solve_folds(
    K: FloatArray,
    p: FloatArray,
    low: FloatArray,
    high: FloatArray,
    Cs: Sequence[float],
    held_out: Sequence[IntArray],
    *,
    epsilon: float = 0.0,
    tol: float = 1e-3,
    max_iter: int | None = None,
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
    """
    stop = Event()

    def watch(n_iter: int, violation: float) -> None:  # noqa: ARG001
        if stop.is_set():
            raise StoppedError

    def work(rows: IntArray) -> Fold:
        present = np.ones(len(p))
        present[rows] = 0.0
        solutions = solve_path(
            K,
            p,
            present * low,
            present * high,
            Cs,
            epsilon=epsilon,
            tol=tol,
            max_iter=max_iter,
            watch=watch,
        )
        found = [
            (p[rows] - each.residual[rows] + each.bias, each.n_iter, each.status)
            for each in solutions
        ]
        decisions, n_iter, statuses = zip(*found, strict=True)
        return Fold(np.array(decisions), np.array(n_iter), statuses)

    return run(work, held_out, on_error=stop.set)


def bounds_at(C: float, unit: FloatArray) -> FloatArray:
    """Return C times the bounds at C = 1, where zero stays zero for an infinite C."""
    return np.multiply(C, unit, where=unit != 0.0, out=np.zeros_like(unit))


def _stretched(
    solution: Solution, p: FloatArray, lower: FloatArray, upper: FloatArray, ratio: float
) -> Solution:
    r"""Return :math:`s\beta` with the best s between 1 and the ratio of the bounds.

    Without coefficients at a bound :math:`\beta` is best as it is, up to rounding.
    """
    values = p - solution.residual
    bend, slope = float(solution.beta @ values), float(p @ solution.beta)
    factor = float(np.clip(slope / bend, 1.0, ratio)) if bend > 0.0 else 1.0
    factor = factor if factor > 1.001 else 1.0
    beta = np.clip(factor * solution.beta, lower, upper)
    return replace(solution, beta=beta, residual=p - factor * values)

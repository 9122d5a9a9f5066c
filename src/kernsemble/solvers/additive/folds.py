"""All strengths C and all folds on one set of codes.

A fold holds rows out by strengths of zero, so nothing is copied and the decision values of the
held-out rows come with the others. Along C every problem starts from the solution before it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from threading import Event

import numpy as np

from kernsemble._threads import n_threads, run
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.result import AdditiveSolution
from kernsemble.solvers.additive.solve import Method, solve_additive
from kernsemble.solvers.additive.stages import Watch
from kernsemble.solvers.additive.tables import Tables
from kernsemble.solvers.folds import Fold, StoppedError
from kernsemble.solvers.losses import Kinked, Loss


def solve_additive_path(
    tables: Tables,
    loss: Loss,
    Cs: Sequence[float],
    *,
    tol: float = 1e-4,
    max_iter: int = 500,
    method: Method = "auto",
    start: AdditiveSolution | None = None,
    watch: Watch | None = None,
    seed: int = 0,
) -> Iterator[AdditiveSolution]:
    """Yield the solutions with C times the strengths of the loss, for increasing `Cs`.

    The first may have a `start`, the others start from the one before.
    """
    before = None
    for C in Cs:
        if before is not None and start is not None and isinstance(loss, Kinked):
            start = _stretched(start, loss.times(before), C / before)
        start = solve_additive(
            tables,
            loss.times(C),
            tol=tol,
            max_iter=max_iter,
            method=method,
            start=start,
            watch=watch,
            seed=seed,
        )
        before = C
        yield start


def solve_additive_folds(
    tables: Tables,
    loss: Loss,
    Cs: Sequence[float],
    held_out: Sequence[IntArray],
    *,
    tol: float = 1e-4,
    max_iter: int = 500,
    method: Method = "auto",
    watch: Watch | None = None,
    on_solved: Callable[[], None] | None = None,
    seed: int = 0,
) -> list[Fold]:
    """Return for each set of held-out rows what the other rows say of them, at every C.

    Parameters
    ----------
    tables, loss, Cs, tol, max_iter, method, seed
        As for `solve_additive_path`.
    held_out : sequence of index arrays
        The rows that each fold leaves out.
    watch : callable, optional
        Called as ``watch(n_iter, gap)`` by every fold, from its thread; what it raises ends all.
    on_solved : callable, optional
        Called without arguments after each C of each fold, from its thread.

    Notes
    -----
    Threads are over folds where there are several, or else within the only one.
    """
    stop = Event()
    over_folds = len(held_out) > 1 and n_threads() > 1
    tables = replace(tables, has_threads=tables.has_threads and not over_folds)

    def look(n_iter: int, gap: float) -> None:
        if stop.is_set():
            raise StoppedError
        if watch is not None:
            watch(n_iter, gap)

    def work(rows: IntArray) -> Fold:
        present = np.ones(tables.n_rows)
        present[rows] = 0.0
        path = solve_additive_path(
            tables,
            loss.times(present),
            Cs,
            tol=tol,
            max_iter=max_iter,
            method=method,
            watch=look,
            seed=seed,
        )
        found = []
        for each in path:
            found.append((each.decisions[rows], each.n_iter, each.status))
            if on_solved is not None:
                on_solved()
        decisions, n_iter, statuses = zip(*found, strict=True)
        return Fold(np.array(decisions), np.array(n_iter), statuses)

    return run(work, held_out, on_error=stop.set, fewest=2)


def _stretched(solution: AdditiveSolution, loss: Kinked, ratio: float) -> AdditiveSolution:
    """Return a start whose coefficients at a bound are at the bound of the next problem."""
    beta: FloatArray = solution.beta
    is_bounded = (beta == loss.lower) | (beta == loss.upper)
    return replace(solution, beta=np.where(is_bounded, ratio * beta, beta))

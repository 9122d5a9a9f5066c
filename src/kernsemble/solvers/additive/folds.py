"""Cross-validation on one set of codes: all values of C and all folds.

A fold holds rows out by strengths of zero, so nothing is copied and the decision values of the
held-out rows are computed with the others. Along C every problem starts from the previous solution.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from kernsemble._threads import n_threads, run
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.result import AdditiveSolution
from kernsemble.solvers.additive.row_blocks import BlockRows
from kernsemble.solvers.additive.solve import Method, solve_additive, solve_on_rows
from kernsemble.solvers.additive.tables import Tables, inner
from kernsemble.solvers.folds import Fold
from kernsemble.solvers.interrupts import StopSignal, Watch
from kernsemble.solvers.losses import Kinked, Loss
from kernsemble.solvers.result import Status

LARGEST_RATIO = 1e100  # of two values of C, for which a start is expected


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

    The first one starts from `start`, if given, the others from the previous one. An interrupted
    solution is the last.
    """
    previous_C = None
    for C in Cs:
        if previous_C is not None and start is not None and isinstance(loss, Kinked):
            ratio = min(C / previous_C, LARGEST_RATIO)
            start = _stretched(tables, start, loss.times(previous_C), ratio)
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
        previous_C = C
        yield start
        if start.status is Status.INTERRUPTED:
            return


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
    """Return for each fold the decision values of its held-out rows at every C.

    Parameters
    ----------
    tables, loss, Cs, tol, max_iter, method, seed
        As for `solve_additive_path`.
    held_out : sequence of index arrays
        The held-out rows of each fold.
    watch : callable, optional
        Called as ``watch(n_iter, gap)`` by every fold, from its thread; an exception ends all.
    on_solved : callable, optional
        Called without arguments after each C of each fold, from its thread.

    Notes
    -----
    With several folds each has one thread; a single fold uses all threads.
    """
    stop = StopSignal(watch=watch)
    over_folds = len(held_out) > 1 and n_threads() > 1
    tables = replace(tables, has_threads=tables.has_threads and not over_folds)

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
            watch=stop.watch,
            seed=seed,
        )
        return Fold.from_solutions(path, lambda each: each.decisions[rows], on_solved)

    return run(work, held_out, on_error=stop.set, fewest=2)


def stretch_factor(tables: Tables, bounded: FloatArray, free: FloatArray, ratio: float) -> float:
    r"""Return the factor expected of free coefficients for `ratio` times the strengths.

    Coefficients at a bound stay at it. The others are multiplied by the factor t that is the
    optimum of the dual problem, between 1 and the ratio: if B and F are the parts of
    :math:`\Phi^\top\beta` of either,

    .. math:: t = 1 - (\text{ratio} - 1) \langle B, F\rangle / \|F\|^2 .

    `bounded` and `free` are the sums of these coefficients of each level.
    """
    B, F = tables.edges_of(bounded), tables.edges_of(free)
    size = inner(F, F)
    t = 1.0 - (ratio - 1.0) * inner(B, F) / size if size > 0.0 else 1.0
    return min(max(t, 1.0), ratio)


def _stretched(
    tables: Tables, solution: AdditiveSolution, loss: Kinked, ratio: float
) -> AdditiveSolution:
    """Return a start with the coefficients expected for `ratio` times the strengths."""
    bounded, free = loss.parted(solution.beta)
    t = stretch_factor(tables, tables.sums(bounded), tables.sums(free), ratio)
    return replace(solution, beta=ratio * bounded + t * free)


def solve_path_on_blocks(
    rows: BlockRows,
    Cs: Sequence[float],
    *,
    tol: float = 1e-4,
    max_iter: int = 500,
    start: AdditiveSolution | None = None,
    watch: Watch | None = None,
) -> Iterator[AdditiveSolution]:
    """Yield the solutions on rows in blocks, as `solve_additive_path` does on rows in memory.

    Solutions have neither decision values nor coefficients of rows: these stay with the blocks.
    """
    previous_C = None
    for C in Cs:
        if previous_C is not None and rows.is_kinked:
            ratio = min(C / previous_C, LARGEST_RATIO)
            rows.note("stretch", ratio, stretch_factor(rows.tables, *rows.parted_forces(), ratio))
        rows.set_strength(C)
        start = solve_on_rows(rows, tol, max_iter, start, watch)
        previous_C = C
        yield start
        if start.status is Status.INTERRUPTED:
            return

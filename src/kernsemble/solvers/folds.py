"""Cross-validation on one kernel matrix: all values of C and all folds.

A fold holds rows out by bounds of zero, so nothing is copied and the decision values of the
held-out rows follow from their residuals. Along C every problem starts from the previous
solution; once no coefficient is at a bound, that solution holds for every larger C. At the
smallest C the other folds start from the solution of the first. Rows whose bounds are zero in
every fold, as those of other classes are, are only predicted: the matrix between the others is
copied if these are few.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

from kernsemble._threads import n_threads, run
from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import short_repr
from kernsemble.solvers.interrupts import StopSignal, Watch
from kernsemble.solvers.kernel_matrix import Matrix, PartialMatrix, WholeMatrix, as_matrix
from kernsemble.solvers.newton import factor_bytes
from kernsemble.solvers.result import Solution, Status
from kernsemble.solvers.smo import solve_dual

FEW = 0.7  # largest share of rows whose matrix is copied
FREE = 0.2  # share of free coefficients for whose factors several folds at a time must have memory


class _Ended(Protocol):
    @property
    def n_iter(self) -> int:
        """Number of iterations."""

    @property
    def status(self) -> Status:
        """Reason why the run ended."""


Solved = TypeVar("Solved", bound=_Ended)


@dataclass(frozen=True, eq=False)
class Fold:
    """Result of one fold.

    Attributes
    ----------
    decisions : array of shape (n_Cs, n_held_out)
        Decision values of the held-out rows at each C.
    n_iter : array of shape (n_Cs,)
        Number of iterations at each C.
    statuses : tuple of Status
        Reason why the solver ended at each C.
    """

    decisions: FloatArray
    n_iter: IntArray
    statuses: tuple[Status, ...]

    def __repr__(self) -> str:
        return short_repr(self)

    @classmethod
    def from_solutions(
        cls,
        solutions: Iterable[Solved],
        decide: Callable[[Solved], FloatArray],
        on_solved: Callable[[], None] | None,
    ) -> Self:
        """Collect the solutions along C, with the decision values that `decide` returns.

        An interrupted solution raises KeyboardInterrupt, since folds cannot be resumed.
        """
        found = []
        for solution in solutions:
            uninterrupted(solution)
            found.append((decide(solution), solution.n_iter, solution.status))
            if on_solved is not None:
                on_solved()
        decisions, n_iter, statuses = zip(*found, strict=True)
        return cls(np.array(decisions), np.array(n_iter), statuses)


def uninterrupted(solution: Solved) -> Solved:
    """Return a solution of a fold; raise KeyboardInterrupt if it was interrupted."""
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt("interrupted during cross-validation: no result is kept; fit again")
    return solution


def solve_path(
    K: FloatArray | Matrix,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    Cs: Sequence[float],
    *,
    epsilon: float = 0.0,
    tol: float = 1e-3,
    max_iter: int | None = None,
    start: Solution | None = None,
    watch: Watch | None = None,
    spare: float = np.inf,
) -> Iterator[Solution]:
    """Yield the solutions with bounds ``C * lower`` and ``C * upper`` for increasing `Cs`.

    The first one starts from `start`, if given, the others from the previous one. An interrupted
    solution is the last. `spare` is the memory of `solve_dual`.
    """
    K, solution, previous_C = as_matrix(K), None, 0.0
    for C in Cs:
        lower_at_C, upper_at_C = bounds_at(C, lower), bounds_at(C, upper)
        if solution is not None:
            start = _stretched(solution, p, lower_at_C, upper_at_C, C / previous_C)
        solution = solve_dual(
            K,
            p,
            lower_at_C,
            upper_at_C,
            epsilon=epsilon,
            tol=tol,
            max_iter=max_iter,
            start=start,
            watch=watch,
            spare=spare,
        )
        previous_C = C
        yield solution
        if solution.status is Status.INTERRUPTED:
            return


def solve_folds(
    K: FloatArray | Matrix,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    Cs: Sequence[float],
    held_out: Sequence[IntArray],
    *,
    epsilon: float = 0.0,
    tol: float = 1e-3,
    max_iter: int | None = None,
    on_solved: Callable[[], None] | None = None,
    spare: float = np.inf,
) -> list[Fold]:
    """Return for each fold the decision values of its held-out rows at every C.

    Parameters
    ----------
    K, p, lower, upper, epsilon, tol, max_iter
        As for `solve_path`.
    Cs : increasing positive numbers
        The factors of the bounds.
    held_out : sequence of index arrays
        The held-out rows of each fold.
    on_solved : callable, optional
        Called after each C of each fold, from the thread that solved it.
    spare : float
        Bytes for copies and factors of all folds together, which are solved one after another
        if there is too little for several.
    """
    whole, stop = as_matrix(K), StopSignal()
    rows = np.flatnonzero((lower != 0.0) | (upper != 0.0))
    is_part = 0 < len(rows) <= FEW * len(p) and (
        isinstance(whole, WholeMatrix) and whole.K.itemsize * len(rows) ** 2 <= spare
    )
    rows = rows if is_part else np.arange(len(p))
    K, p = (whole.among(rows) if is_part else whole), p[rows]
    lower, upper = lower[rows], upper[rows]
    if is_part:
        assert isinstance(K, WholeMatrix)
        spare -= K.K.nbytes
    share = spare / max(min(n_threads(), len(held_out)), 1)
    in_turn = isinstance(whole, PartialMatrix) or share < factor_bytes(int(FREE * len(rows)))
    share = spare if in_turn else share
    place = np.full(len(whole.diagonal), -1)
    place[rows] = np.arange(len(rows))

    def path(rows: IntArray, Cs: Sequence[float], seed: Solution | None) -> Iterator[Solution]:
        present = np.ones(len(p))
        present[rows] = 0.0
        below, above = present * lower, present * upper
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
            watch=stop.watch,
            spare=share,
        )

    def inside(held: IntArray) -> IntArray:
        return place[held][place[held] >= 0]

    seed = uninterrupted(next(path(inside(held_out[0]), Cs[:1], None)))

    def work(held: IntArray) -> Fold:
        mine, is_mine = inside(held), place[held] >= 0

        def decide(solution: Solution) -> FloatArray:
            if is_mine.all():
                return p[mine] - solution.residual[mine] + solution.bias
            beta = np.zeros(len(place))
            beta[rows] = solution.beta
            return whole.times(np.flatnonzero(beta), beta)[held] + solution.bias

        return Fold.from_solutions(path(mine, Cs, seed), decide, on_solved)

    if in_turn:  # the threads compute the rows of a matrix on demand
        return [work(rows) for rows in held_out]
    return run(work, held_out, on_error=stop.set, fewest=2)


def bounds_at(C: float, unit: FloatArray) -> FloatArray:
    """Return C times the bounds at C = 1, where zero stays zero for an infinite C."""
    return C * unit if np.isfinite(C) else np.where(unit == 0.0, 0.0, np.copysign(C, unit))


def handed_over(
    solution: Solution, matrix: Matrix, lower: FloatArray, upper: FloatArray
) -> Solution | None:
    """Return a start within other bounds made from a solution, None where it does not fit.

    Coefficients that exceed their new bounds pass the excess to rows with coefficient zero, in the
    order of their violation; the coefficients of both signs keep equal sums.
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
        before = np.append(0.0, np.cumsum(room))[:-1]  # bounds may be infinite
        beta[rows] += sign * np.clip(total - kept - before, 0.0, room)
    move = beta - solution.beta
    change = matrix.times(np.flatnonzero(move), move)
    return Solution.to_start_from(beta, solution.residual - change)


def _stretched(
    solution: Solution, p: FloatArray, lower: FloatArray, upper: FloatArray, ratio: float
) -> Solution:
    r"""Return :math:`s\beta` with the best s between 1 and the ratio of the bounds.

    Without coefficients at a bound :math:`\beta` is optimal as it is, up to rounding.
    """
    values = p - solution.residual
    bend, slope = float(solution.beta @ values), float(p @ solution.beta)
    factor = min(slope / bend, ratio) if bend > 0.0 else 1.0
    if factor <= 1.001:
        return solution
    beta = np.minimum(np.maximum(factor * solution.beta, lower), upper)
    return Solution.to_start_from(beta, p - factor * values)

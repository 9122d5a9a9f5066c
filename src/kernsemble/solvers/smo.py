r"""The dual of support vector machines: sequential minimal optimisation with Newton steps.

In signed coefficients, :math:`\beta_i = y_i\lambda_i` for classification, every problem is

.. math:: \min_\beta\; \tfrac12 \beta^\top K \beta - p^\top \beta + \varepsilon\|\beta\|_1
          \quad\text{s.t.}\quad \textstyle\sum_i \beta_i = 0,\;
          l_i \le \beta_i \le u_i ,

with :math:`p = y` and :math:`\varepsilon = 0` for classes, any target and :math:`\varepsilon
\ge 0` for regression. The residual is :math:`r = p - K\beta`. A coefficient that can rise
gains :math:`r_i \mp \varepsilon` by it, one that can fall loses as much; at the optimum no
rise gains more than any fall loses, and the difference is the violation. K is read only
between coefficients that sum to zero, so a constant added to it changes nothing. A row with
:math:`l_i = u_i = 0` is absent, and its decision value follows from its residual: held-out rows
and rows of weight zero are treated so.
"""

from typing import Any, NamedTuple

import numpy as np

from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.solvers.interrupts import Watch
from kernsemble.solvers.kernel_matrix import Matrix, PartialMatrix, WholeMatrix, as_matrix
from kernsemble.solvers.newton import Newton, factor_bytes, is_free
from kernsemble.solvers.optimality import evidence, hulls_meet
from kernsemble.solvers.result import Solution, Status
from kernsemble.solvers.working_pairs import offsets, pair_steps

LARGEST_SIZE = 1e300  # largest squared distance between rows, in a matrix whose sums are finite
CURVATURE_FLOOR = 1e-12  # smallest curvature of a pair, relative to the largest squared distance


class DualTuning(NamedTuple):
    """Measured constants of `solve_dual`, which change its speed but not its solution."""

    entries_per_call: int = 10_000_000  # matrix entries read between two calls of `watch`
    cubes_per_entry: float = 150  # a factor of f rows costs as much as reading f³/150 entries
    entries_before_newton: int = 200_000  # fixed cost of a Newton step, in matrix entries
    rows_worth_shrinking: int = 1_000  # smallest problem that is shrunk
    largest_share: float = 0.7  # largest share of the rows that is copied for shrinking
    working_rows: int = 2_048  # rows solved for at a time when the matrix is not in memory
    steps_per_working_row: int = 20  # maximum number of steps before the others are checked again


DEFAULT_TUNING = DualTuning()


def solve_dual(
    K: FloatArray | Matrix,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    epsilon: float = 0.0,
    tol: float = 1e-3,
    max_iter: int | None = None,
    start: Solution | None = None,
    watch: Watch | None = None,
    spare: float = np.inf,
    tuning: DualTuning = DEFAULT_TUNING,
) -> Solution:
    r"""Minimise :math:`\tfrac12\beta^\top K\beta - p^\top\beta + \varepsilon\|\beta\|_1`.

    Parameters
    ----------
    K : array of shape (n, n) or Matrix
        Kernel matrix, definite or conditionally definite; float32 or float64, in memory or
        with rows on demand.
    p, lower, upper : arrays of shape (n,)
        Linear term (the target) and bounds, :math:`l_i \le 0 \le u_i`. Infinite bounds are a
        hard margin.
    epsilon : float
        Half the width of the regression tube, 0 for classification.
    tol : float
        Violation of the optimality conditions to stop at.
    max_iter : int, optional
        Maximum number of steps.
    start : Solution, optional
        Coefficients within the bounds, and their residual, to start from.
    watch : callable, optional
        Called as ``watch(n_iter, violation)`` several times per second; an exception ends
        the run, a KeyboardInterrupt with the solution reached so far.
    spare : float
        Bytes for copies of parts of the matrix and for factors of the Newton steps. Without them
        the solution is the same, after more steps of pairs.
    tuning : DualTuning, optional
        Measured constants that change the speed only.

    Returns
    -------
    Solution
        Coefficients that sum to zero and lie within the bounds, whatever the status.

    Notes
    -----
    A step of a pair costs O(n), a Newton step solves the linear system of the f free
    coefficients in :math:`O(f^3)`. Newton steps pay off where most coefficients are
    free, at large C; there they replace tens of thousands of steps of pairs. With rows on
    demand, the at most two thousand rows that violate optimality most are solved for at a time.
    """
    matrix = as_matrix(K)
    run = (_PartialRun if isinstance(matrix, PartialMatrix) else _WholeRun)(
        matrix,
        p,
        lower,
        upper,
        epsilon,
        tol,
        max_iter,
        start,
        tuning,
        spare,
    )
    try:
        run.finish(watch)
    except KeyboardInterrupt:
        run.interrupt()
    return run.solution()


class _DualRun:
    """A dual problem and its current solution."""

    def __init__(
        self,
        matrix: Matrix,
        p: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        epsilon: float,
        tol: float,
        max_iter: int | None,
        start: Solution | None,
        tuning: DualTuning,
        spare: float,
    ) -> None:
        self.tuning, self.spare = tuning, spare
        self.matrix, self.p, self.lower, self.upper = matrix, p, lower, upper
        self.epsilon, self.tol, self.max_iter = epsilon, tol, max_iter
        self.is_hard = bool(np.isinf(upper).any() or np.isinf(lower).any())
        self.beta = np.zeros(len(p)) if start is None else start.beta.copy()
        self.residual = p.astype(np.float64) if start is None else start.residual.copy()
        self.n_iter, self.violation = 0, np.inf
        self.size = matrix.size
        if not self.size <= LARGEST_SIZE:
            raise ValueError(
                f"the kernel matrix has squared distances up to {self.size:.3g}, whose sums exceed "
                "the range of floats: scale the columns"
            )
        self.status = Status.STOPPED

    def has_ended(self) -> bool:
        """Return whether the run has ended, and set its status."""
        is_rounding = not self.is_hard and self.violation <= self.rounding
        if self.violation <= self.tol or is_rounding:
            self.status = Status.CONVERGED
        elif self.is_hard and hulls_meet(self.beta, self.p - self.residual, self.matrix.size):
            self.status = Status.UNBOUNDED
        elif self.n_left > 0:
            return False
        return True

    @property
    def rounding(self) -> float:
        """The rounding error of a residual, below which a violation means nothing."""
        sums = np.abs(self.p).max() + self.size * np.abs(self.beta).sum()
        return float(np.finfo(np.float64).eps * sums)

    @property
    def n_left(self) -> float:
        """Number of steps left."""
        return np.inf if self.max_iter is None else self.max_iter - self.n_iter

    def gains_and_losses(self) -> tuple[FloatArray, FloatArray]:
        """Return the marginal gain of a rise and loss of a fall of each coefficient."""
        rise, fall = self.offsets()
        return self.residual + rise, self.residual + fall

    def offsets(self) -> tuple[FloatArray, FloatArray]:
        rise, fall = np.empty(len(self.p)), np.empty(len(self.p))
        offsets(self.lower, self.upper, self.epsilon, self.beta, rise, fall)
        return rise, fall

    def solve_among(
        self, rows: IntArray, tol: float, max_iter: int | None, watch: Watch | None
    ) -> None:
        """Solve the problem of some rows with the coefficients of the others fixed.

        The matrix between these rows is copied, which is small enough to stay in a cache.
        """
        part, before = WholeMatrix(self.matrix.block(rows)), self.beta[rows]
        p = self.residual[rows] + part.times(np.flatnonzero(before), before)
        start = Solution.to_start_from(before, self.residual[rows])
        lower, upper = self.lower[rows], self.upper[rows]
        inner = _WholeRun(
            part, p, lower, upper, self.epsilon, tol, max_iter, start, self.tuning,
            self.spare - part.K.nbytes, is_part=True,
        )  # fmt: skip
        done = self.n_iter
        try:
            inner.finish(watch and (lambda n_iter, violation: watch(done + n_iter, violation)))
        finally:
            move = np.zeros(len(self.p))
            move[rows] = inner.beta - before
            self.residual -= self.matrix.times(rows, move)
            self.beta[rows] = inner.beta
            self.n_iter += inner.n_iter

    def interrupt(self) -> None:
        """Recompute the residual, which may lag behind the coefficients."""
        self.residual = self.p - self.matrix.times(np.flatnonzero(self.beta), self.beta)
        self.status = Status.INTERRUPTED

    def solution(self) -> Solution:
        bias, objective, gap = evidence(
            self.p,
            self.lower,
            self.upper,
            self.epsilon,
            self.beta,
            self.residual,
            *self.offsets(),
        )
        return Solution(
            beta=self.beta,
            bias=bias,
            residual=self.residual,
            objective=objective,
            gap=gap,
            violation=float(self.violation),
            n_iter=self.n_iter,
            status=self.status,
        )


class _WholeRun(_DualRun):
    """A problem whose matrix is in memory: steps of pairs and of Newton."""

    matrix: WholeMatrix

    def __init__(self, *arguments: Any, is_part: bool = False) -> None:
        super().__init__(*arguments)
        if is_part:
            self.is_hard = False  # the hulls of some rows prove nothing
        self.may_shrink = (
            len(self.p) >= self.tuning.rows_worth_shrinking and not self.is_hard and not is_part
        )
        self.newton = Newton(self.matrix, self.lower, self.upper, self.epsilon)
        self.patience, self.n_since_newton = 1.0, 0

    def finish(self, watch: Watch | None) -> None:
        """Advance to the end, mostly among the rows whose coefficients may still change."""
        while self.advance():
            if watch is not None:
                watch(self.n_iter, self.violation)
            if self.may_shrink:
                self.shrink(watch)

    def advance(self) -> bool:
        """Take some steps of pairs, and a Newton step if due; return whether to go on."""
        taken, self.violation = pair_steps(
            self.matrix.K,
            self.matrix.diagonal,
            self.lower,
            self.upper,
            self.epsilon,
            CURVATURE_FLOOR * self.matrix.size,
            self.tol,
            self._n_steps(),
            self.beta,
            self.residual,
        )
        self.n_iter += taken
        self.n_since_newton += taken
        if self.has_ended():
            return False
        if self.n_since_newton >= self._n_between():
            reached = self.newton.step(self.beta, self.residual)
            self.patience = 1.0 if reached else 2.0 * self.patience
            self.n_since_newton = 0
            self.n_iter += 1
        return True

    def _n_steps(self) -> int:
        """Return the number of steps until the next call of `watch`."""
        due = max(self._n_between() - self.n_since_newton, 1)
        return int(min(due, self.tuning.entries_per_call // len(self.p) + 1, self.n_left))

    def _n_between(self) -> float:
        """Return the number of steps of pairs that cost as much as a Newton step."""
        n_free = int(is_free(self.beta, self.lower, self.upper, self.epsilon).sum())
        if factor_bytes(n_free) > self.spare:
            return np.inf
        tuning = self.tuning
        n_entries = n_free**3 / tuning.cubes_per_entry + tuning.entries_before_newton
        return self.patience * (n_entries // len(self.p) + 1)

    def shrink(self, watch: Watch | None) -> None:
        """Solve for the rows that may still move, if they are few enough to copy their matrix.

        The copy pays once the steps have read more entries of the matrix than it has.
        """
        rows, n = np.flatnonzero(self._may_move()), len(self.p)
        if len(rows) ** 2 * self.matrix.K.itemsize > self.spare:
            return
        if len(rows) <= self.tuning.largest_share * n and len(rows) ** 2 <= self.n_iter * n:
            self.newton.forget()
            left = None if self.max_iter is None else self.max_iter - self.n_iter
            self.solve_among(rows, self.tol, left, watch)

    def _may_move(self) -> BoolArray:
        """Return which rows could still be in a pair; the others stay at their bounds."""
        gain, loss = self.gains_and_losses()
        return (gain > loss.min()) | (loss < gain.max())


class _PartialRun(_DualRun):
    """A problem whose matrix is not in memory: a working set of rows is solved at a time."""

    matrix: PartialMatrix

    def finish(self, watch: Watch | None) -> None:
        """Solve for one working set after another."""
        rows = np.empty(0, dtype=np.intp)
        while True:
            gain, loss = self.gains_and_losses()
            self.violation = float(gain.max() - loss.min())
            if self.has_ended():
                return
            if watch is not None:
                watch(self.n_iter, self.violation)
            rows = self._next(rows, gain, loss)
            n_steps = int(min(self.tuning.steps_per_working_row * len(rows), self.n_left))
            self.solve_among(rows, max(self.tol, 0.1 * self.violation), n_steps, watch)

    def _next(self, rows: IntArray, gain: FloatArray, loss: FloatArray) -> IntArray:
        """Return the rows that violate optimality most, and the free ones of the last set."""
        n_new = min(self.tuning.working_rows, self.matrix.n_kept) // 2
        n_each = max(n_new // 2, 1)
        rising, falling = np.argsort(-gain)[:n_each], np.argsort(loss)[:n_each]
        rising, falling = rising[gain[rising] > loss.min()], falling[loss[falling] < gain.max()]
        violating = np.union1d(rising, falling)
        free = rows[is_free(self.beta, self.lower, self.upper, self.epsilon)[rows]]
        return np.union1d(violating, free[:n_new])

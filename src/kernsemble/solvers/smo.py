r"""The dual of support vector machines: steps of pairs, and Newton on the free coefficients.

In signed coefficients, :math:`\beta_i = y_i\lambda_i` for classification, every problem is

.. math:: \min_\beta\; \tfrac12 \beta^\top K \beta - p^\top \beta + \varepsilon\|\beta\|_1
          \quad\text{s.t.}\quad \textstyle\sum_i \beta_i = 0,\;
          l_i \le \beta_i \le u_i ,

with :math:`p = y` and :math:`\varepsilon = 0` for classes, any target and :math:`\varepsilon
\ge 0` for regression. The residual is :math:`r = p - K\beta`. A coefficient that can rise
gains :math:`r_i \mp \varepsilon` by it, one that can fall loses as much; at the optimum no
rise gains more than any fall loses, and the difference is the violation. K is read only
between coefficients that sum to zero, so a constant added to it changes nothing. A row with
:math:`l_i = u_i = 0` is absent, and its residual tells the decision value there: so are
held-out rows, and rows of weight zero.
"""

from collections.abc import Callable

import numpy as np

from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.solvers.newton import add_rows, is_free, newton_step
from kernsemble.solvers.pairs import offsets, pair_steps
from kernsemble.solvers.result import Solution, Status

ENTRIES_A_CALL = 10_000_000  # of the matrix that compiled code reads before it looks up
STEPS_A_FREE_COEFFICIENT = 3  # between two Newton steps, measured
ENTRIES_BEFORE_NEWTON = 200_000  # at least: what calling it costs, measured
ROWS_WORTH_SHRINKING = 1_000
LARGEST_SHARE = 0.7  # of the rows, that are worth a matrix of their own
CURVATURE_FLOOR = 1e-12  # of the largest squared distance: twin rows have none
HULL_DISTANCE = 1e-6  # of the size of the data: nearer hulls meet

Watch = Callable[[int, float], None]


def solve_dual(
    K: FloatArray,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    epsilon: float = 0.0,
    tol: float = 1e-3,
    max_iter: int | None = None,
    start: Solution | None = None,
    watch: Watch | None = None,
) -> Solution:
    r"""Minimise :math:`\tfrac12\beta^\top K\beta - p^\top\beta + \varepsilon\|\beta\|_1`.

    Parameters
    ----------
    K : array of shape (n, n)
        The kernel matrix, definite or conditionally definite; float32 or float64.
    p, lower, upper : arrays of shape (n,)
        The linear term and the bounds, :math:`l_i \le 0 \le u_i`. Infinite bounds are a
        hard margin.
    epsilon : float
        Half the width of the tube of regression, 0 for classification.
    tol : float
        The violation to stop at.
    max_iter : int, optional
        At most so many steps.
    start : Solution, optional
        Coefficients within the bounds, and their residual, to start from.
    watch : callable, optional
        Called as ``watch(n_iter, violation)`` several times a second; what it raises ends
        the run. A KeyboardInterrupt ends it with what has been reached.

    Returns
    -------
    Solution
        With sum zero and within the bounds, whatever the status.

    Notes
    -----
    A step of a pair costs O(n), a Newton step solves the linear system of the f free
    coefficients in :math:`O(f^3)`. Newton steps are worth it where most coefficients are
    free, at large C; there they replace tens of thousands of steps of pairs.
    """
    problem = _Run(K, p, lower, upper, epsilon, tol, max_iter, start)
    try:
        problem.finish(watch, may_shrink=len(p) >= ROWS_WORTH_SHRINKING)
    except KeyboardInterrupt:
        problem.interrupt()
    return problem.solution()


class _Run:
    """A problem and how far its solution has come."""

    def __init__(
        self,
        K: FloatArray,
        p: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        epsilon: float,
        tol: float,
        max_iter: int | None,
        start: Solution | None,
    ) -> None:
        self.K, self.p, self.lower, self.upper, self.epsilon = K, p, lower, upper, epsilon
        self.tol, self.max_iter = tol, max_iter
        self.diagonal = np.ascontiguousarray(np.diagonal(K), dtype=np.float64)
        self.size = _size(K, self.diagonal)
        self.floor = CURVATURE_FLOOR * self.size
        self.is_hard = bool(np.isinf(upper).any() or np.isinf(lower).any())
        self.beta = np.zeros(len(p)) if start is None else start.beta.copy()
        self.residual = p.astype(np.float64) if start is None else start.residual.copy()
        self.n_iter, self.violation, self.patience = 0, np.inf, 1.0
        self.status = Status.STOPPED

    def finish(self, watch: Watch | None, may_shrink: bool) -> None:
        """Advance to the end, for most of the way among the rows that still matter."""
        while self.advance():
            if watch is not None:
                watch(self.n_iter, self.violation)
            if may_shrink and not self.is_hard:
                self._finish_among(np.flatnonzero(self._may_move()), watch)

    def _may_move(self) -> BoolArray:
        """Tell which rows could still be in a pair: others sit at their bounds for good reasons."""
        rise, fall = np.empty(len(self.p)), np.empty(len(self.p))
        offsets(self.lower, self.upper, self.epsilon, self.beta, rise, fall)
        gain, loss = self.residual + rise, self.residual + fall
        return (gain > loss.min()) | (loss < gain.max())

    def _finish_among(self, rows: IntArray, watch: Watch | None) -> None:
        """Solve the problem of some rows with the others as they are, if they are few enough.

        Their part of the matrix is copied, small enough to stay in a cache.
        """
        if len(rows) > LARGEST_SHARE * len(self.p):
            return
        K, before = self.K[np.ix_(rows, rows)], self.beta[rows]
        p = self.residual[rows] + K @ before
        start = Solution(before, 0.0, self.residual[rows], np.nan, np.inf, 0, Status.STOPPED)
        left = None if self.max_iter is None else self.max_iter - self.n_iter
        inner = _Run(K, p, self.lower[rows], self.upper[rows], self.epsilon, self.tol, left, start)
        try:
            inner.finish(watch, may_shrink=False)
        finally:
            move, change = np.zeros(len(self.p)), np.zeros(len(self.p))
            move[rows] = inner.beta - before
            add_rows(self.K, rows, move, change)
            self.beta[rows] = inner.beta
            self.residual -= change
            self.n_iter += inner.n_iter

    def advance(self) -> bool:
        """Take some steps of pairs, then one of Newton; tell whether there is more to do."""
        taken, self.violation = pair_steps(
            self.K,
            self.diagonal,
            self.lower,
            self.upper,
            self.epsilon,
            self.floor,
            self.tol,
            self._n_steps(),
            self.beta,
            self.residual,
        )
        self.n_iter += taken
        if self.violation <= self.tol:
            self.status = Status.CONVERGED
        elif self.is_hard and _hulls_meet(self.beta, self.p - self.residual, self.size):
            self.status = Status.UNBOUNDED
        elif self.max_iter is None or self.n_iter < self.max_iter:
            reached = newton_step(
                self.K, self.lower, self.upper, self.epsilon, self.beta, self.residual
            )
            self.patience = 1.0 if reached else 2.0 * self.patience
            self.n_iter += 1
            return True
        return False

    def _n_steps(self) -> int:
        n = len(self.p)
        n_free = int(is_free(self.beta, self.lower, self.upper, self.epsilon).sum())
        steps = STEPS_A_FREE_COEFFICIENT * n_free + ENTRIES_BEFORE_NEWTON // n + 1
        steps = min(int(self.patience * steps), ENTRIES_A_CALL // n + 1)
        return steps if self.max_iter is None else min(steps, self.max_iter - self.n_iter)

    def interrupt(self) -> None:
        """Leave coefficients and residual that belong together, wherever the run was stopped."""
        values = np.zeros(len(self.p))
        add_rows(self.K, np.flatnonzero(self.beta), self.beta, values)
        self.residual = self.p - values
        self.status = Status.INTERRUPTED

    def solution(self) -> Solution:
        beta, residual = self.beta, self.residual
        penalty = self.epsilon * float(np.abs(beta).sum())
        return Solution(
            beta=beta,
            bias=_bias(self.lower, self.upper, self.epsilon, beta, residual),
            residual=residual,
            objective=-0.5 * float(beta @ (self.p + residual)) + penalty,
            violation=float(self.violation),
            n_iter=self.n_iter,
            status=self.status,
        )


def _bias(
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    beta: FloatArray,
    residual: FloatArray,
) -> float:
    """Return the mean that the free coefficients tell, or the middle of what is admissible."""
    free = is_free(beta, lower, upper, epsilon)
    if free.any():
        return float(np.mean(residual[free] - epsilon * np.sign(beta[free])))
    rise, fall = np.empty(len(beta)), np.empty(len(beta))
    offsets(lower, upper, epsilon, beta, rise, fall)
    ends = np.array([np.max(residual + rise), np.min(residual + fall)])
    ends = ends[np.isfinite(ends)]
    return float(ends.mean()) if len(ends) else 0.0


def _size(K: FloatArray, diagonal: FloatArray) -> float:
    """Return the largest squared distance from the first row, 1 when all rows are equal."""
    largest = float(np.max(diagonal + diagonal[0] - 2.0 * K[0]))
    return largest if largest > 0.0 else 1.0


def _hulls_meet(beta: FloatArray, values: FloatArray, size: float) -> bool:
    r"""Tell whether a convex combination of either class is the same point.

    Positive and negative coefficients have equal sums, so that
    :math:`\beta^\top K\beta / (\tfrac12\|\beta\|_1)^2` is the squared distance of two points
    of the hulls of the classes: zero proves that nothing separates them. `values` is
    :math:`K\beta`.
    """
    weight = 0.5 * float(np.abs(beta).sum())
    return weight > 0.0 and float(beta @ values) <= HULL_DISTANCE**2 * weight**2 * size

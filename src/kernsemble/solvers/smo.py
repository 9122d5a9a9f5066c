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
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kernsemble._jit import jit
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.solvers.result import Solution, Status

ENTRIES_A_CALL = 10_000_000  # of the matrix that compiled code reads before it looks up
STEPS_A_FREE_COEFFICIENT = 3  # between two Newton steps, measured
ENTRIES_BEFORE_NEWTON = 200_000  # at least: what calling it costs, measured
NEWTON_ROUNDS = 6
ROWS_WORTH_SHRINKING = 1_000
LARGEST_SHARE = 0.7  # of the rows, that are worth a matrix of their own
CURVATURE_FLOOR = 1e-12  # of the largest diagonal entry: twin rows have none
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
        size = max(float(np.abs(self.diagonal).max()), np.finfo(np.float64).tiny)
        self.floor = CURVATURE_FLOOR * size
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
        _offsets(self.lower, self.upper, self.epsilon, self.beta, rise, fall)
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
            _add_rows(self.K, rows, move, change)
            self.beta[rows] = inner.beta
            self.residual -= change
            self.n_iter += inner.n_iter

    def advance(self) -> bool:
        """Take some steps of pairs, then one of Newton; tell whether there is more to do."""
        taken, self.violation = _pair_steps(
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
        elif self.is_hard and _hulls_meet(self.beta, self.p - self.residual, self.diagonal):
            self.status = Status.UNBOUNDED
        elif self.max_iter is None or self.n_iter < self.max_iter:
            reached = _newton_step(
                self.K, self.lower, self.upper, self.epsilon, self.beta, self.residual
            )
            self.patience = 1.0 if reached else 2.0 * self.patience
            self.n_iter += 1
            return True
        return False

    def _n_steps(self) -> int:
        n = len(self.p)
        n_free = int(_is_free(self.beta, self.lower, self.upper, self.epsilon).sum())
        steps = STEPS_A_FREE_COEFFICIENT * n_free + ENTRIES_BEFORE_NEWTON // n + 1
        steps = min(int(self.patience * steps), ENTRIES_A_CALL // n + 1)
        return steps if self.max_iter is None else min(steps, self.max_iter - self.n_iter)

    def interrupt(self) -> None:
        """Leave coefficients and residual that belong together, wherever the run was stopped."""
        values = np.zeros(len(self.p))
        _add_rows(self.K, np.flatnonzero(self.beta), self.beta, values)
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


def _is_free(beta: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float) -> BoolArray:
    inside = (lower < beta) & (beta < upper)
    return inside & (beta != 0.0) if epsilon > 0.0 else inside


def _bias(
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    beta: FloatArray,
    residual: FloatArray,
) -> float:
    """Return the mean that the free coefficients tell, or the middle of what is admissible."""
    free = _is_free(beta, lower, upper, epsilon)
    if free.any():
        return float(np.mean(residual[free] - epsilon * np.sign(beta[free])))
    rise, fall = np.empty(len(beta)), np.empty(len(beta))
    _offsets(lower, upper, epsilon, beta, rise, fall)
    ends = np.array([np.max(residual + rise), np.min(residual + fall)])
    ends = ends[np.isfinite(ends)]
    return float(ends.mean()) if len(ends) else 0.0


def _hulls_meet(beta: FloatArray, values: FloatArray, diagonal: FloatArray) -> bool:
    r"""Tell whether a convex combination of either class is the same point.

    Positive and negative coefficients have equal sums, so that
    :math:`\beta^\top K\beta / (\tfrac12\|\beta\|_1)^2` is the squared distance of two points
    of the hulls of the classes: zero proves that nothing separates them. `values` is
    :math:`K\beta`.
    """
    weight = 0.5 * float(np.abs(beta).sum())
    size = float(np.abs(diagonal).max())
    return weight > 0.0 and float(beta @ values) <= HULL_DISTANCE**2 * weight**2 * size


def _newton_step(
    K: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    beta: FloatArray,
    residual: FloatArray,
) -> bool:
    """Move the free coefficients towards their joint optimum; tell whether they reached it.

    The way to a point within the bounds lies within them, and the best point of it is taken.
    """
    move = _newton_move(K, lower, upper, epsilon, beta, residual)
    if move is None:
        return False
    change = np.zeros(len(beta))
    _add_rows(K, np.flatnonzero(move), move, change)
    slope = float((residual - epsilon * np.sign(beta)) @ move)
    bend = float(move @ change)
    if not (slope > 0.0 and np.isfinite(bend)):
        return False
    length = min(1.0, slope / bend) if bend > 0.0 else 1.0
    beta += length * move
    np.clip(beta, lower, upper, out=beta)
    residual -= length * change
    return length == 1.0


def _newton_move(
    K: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    beta: FloatArray,
    residual: FloatArray,
) -> FloatArray | None:
    """Return the move to the optimum of the free coefficients, None where there is none.

    Coefficients that would leave their bounds, or change sign, are put on the border and
    the others solved for again, a few times.
    """
    free = np.flatnonzero(_is_free(beta, lower, upper, epsilon))
    fixed, move = free[:0], np.zeros(len(beta))
    least, most = np.where(beta > 0.0, 0.0, lower), np.where(beta < 0.0, 0.0, upper)
    gradient = residual - epsilon * np.sign(beta)
    for _ in range(NEWTON_ROUNDS):
        if len(free) < 2:
            return None
        target = gradient[free] - K[np.ix_(free, fixed)] @ move[fixed]
        solved = _constrained_solve(K, free, target, -float(move[fixed].sum()))
        if solved is None:
            return None
        goal = beta[free] + solved
        inside = (least[free] <= goal) & (goal <= most[free])
        if inside.all():
            move[free] = solved
            return move
        outside = free[~inside]
        move[outside] = np.clip(goal[~inside], least[outside], most[outside]) - beta[outside]
        fixed, free = np.concatenate([fixed, outside]), free[inside]
    return None


def _constrained_solve(
    K: FloatArray, rows: IntArray, target: FloatArray, total: float
) -> FloatArray | None:
    r"""Solve :math:`Kx + b1 = t`, :math:`1^\top x = s`, among some rows of K.

    The first coefficient is what the others leave; between differences from it a
    conditionally definite K is definite.
    """
    inner, from_first = np.empty((len(rows) - 1, len(rows) - 1)), np.empty(len(rows) - 1)
    _differences_from_first(K, rows, inner, from_first)
    inner.flat[:: len(inner) + 1] *= 1.0 + 1e-12  # twins
    try:
        factor = cho_factor(inner.T, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    others = cho_solve(factor, target[1:] - target[0] - total * from_first, check_finite=False)
    return np.concatenate([[total - others.sum()], others])


@jit
def _pair_steps(
    K: FloatArray,
    diagonal: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    floor: float,
    tol: float,
    n_steps: int,
    beta: FloatArray,
    residual: FloatArray,
) -> tuple[int, float]:
    """Take up to `n_steps` steps of the pair that gains most; return how many, and the violation.

    The first of a pair gains most by rising; the second, of those that can fall, makes the
    gain of the pair the largest to second order. A step ends at a bound or at zero.
    """
    n = len(beta)
    rise, fall, gain = np.empty(n), np.empty(n), np.empty(n)
    _offsets(lower, upper, epsilon, beta, rise, fall)
    i, highest, lowest = _extremes(residual, rise, fall)
    for step in range(n_steps):
        if highest - lowest <= tol:
            return step, highest - lowest
        _gains(K[i], diagonal, diagonal[i], residual, fall, highest, floor, gain)
        j = _largest(gain)
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * K[i, j], floor)
        top = 0.0 if beta[i] < 0.0 else upper[i]
        bottom = 0.0 if beta[j] > 0.0 else lower[j]
        wanted = (highest - residual[j] - fall[j]) / curvature
        move = min(wanted, top - beta[i], beta[j] - bottom)
        at_top, at_bottom = move == top - beta[i], move == beta[j] - bottom
        beta[i] = top if at_top else beta[i] + move
        beta[j] = bottom if at_bottom else beta[j] - move
        for t in (i, j):
            rise[t], fall[t] = _offset(lower[t], upper[t], epsilon, beta[t])
        _subtract(K[i], K[j], move, residual)
        i, highest, lowest = _extremes(residual, rise, fall)
    return n_steps, highest - lowest


@jit
def _offset(lower: float, upper: float, epsilon: float, beta: float) -> tuple[float, float]:
    """Return what the residual lacks to the gain of a rise and to the loss of a fall."""
    rise = -np.inf if beta >= upper else (-epsilon if beta >= 0.0 else epsilon)
    fall = np.inf if beta <= lower else (-epsilon if beta > 0.0 else epsilon)
    return rise, fall


@jit
def _offsets(
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    beta: FloatArray,
    rise: FloatArray,
    fall: FloatArray,
) -> None:
    for t in range(len(beta)):
        rise[t], fall[t] = _offset(lower[t], upper[t], epsilon, beta[t])


@jit
def _extremes(residual: FloatArray, rise: FloatArray, fall: FloatArray) -> tuple[int, float, float]:
    i, highest, lowest = 0, -np.inf, np.inf
    for t in range(len(residual)):
        if residual[t] + rise[t] > highest:
            i, highest = t, residual[t] + rise[t]
        lowest = min(lowest, residual[t] + fall[t])
    return i, highest, lowest


@jit
def _gains(
    row: FloatArray,
    diagonal: FloatArray,
    own: float,
    residual: FloatArray,
    fall: FloatArray,
    highest: float,
    floor: float,
    gain: FloatArray,
) -> None:
    for t in range(len(gain)):
        difference = highest - (residual[t] + fall[t])
        difference = difference if difference > 0.0 else 0.0
        curvature = own + diagonal[t] - 2.0 * row[t]
        curvature = curvature if curvature > floor else floor
        gain[t] = difference * difference / curvature


@jit
def _largest(gain: FloatArray) -> int:
    j = 0
    for t in range(1, len(gain)):
        if gain[t] > gain[j]:
            j = t
    return j


@jit
def _subtract(row: FloatArray, other: FloatArray, move: float, residual: FloatArray) -> None:
    for t in range(len(residual)):
        residual[t] -= move * (row[t] - other[t])


@jit
def _add_rows(K: FloatArray, rows: IntArray, weight: FloatArray, total: FloatArray) -> None:
    """Add up weighed rows of K in double precision."""
    for i in rows:
        for t in range(len(total)):
            total[t] += weight[i] * K[i, t]


@jit
def _differences_from_first(
    K: FloatArray, rows: IntArray, inner: FloatArray, from_first: FloatArray
) -> None:
    """Fill the lower triangle of the inner products of differences from the first row."""
    first = K[rows[0]]
    corner = first[rows[0]]
    for i in range(len(from_first)):
        row = K[rows[i + 1]]
        from_first[i] = row[rows[0]] - corner
        for j in range(i + 1):
            inner[i, j] = row[rows[j + 1]] - first[rows[j + 1]] - from_first[i]

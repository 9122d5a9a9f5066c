r"""Following the optimum of a support vector machine as C grows, from breakpoint to breakpoint.

Hastie, Rosset, Tibshirani and Zhu (2004): with :math:`\lambda = 1/C` the solution is linear in
:math:`\lambda` while the same rows are on the elbow, so the next C at which a row moves can be
computed, and nothing has to be solved in between.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from kernsemble._arguments import check_count, check_positive
from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.kernel_matrix import WholeMatrix
from kernsemble.solvers.regularization_path.result import RegularizationPath, Side
from kernsemble.solvers.regularization_path.state import DEFAULT_TUNING, PathTuning, State
from kernsemble.solvers.result import Status

LARGEST_SUM = 1e9  # largest sum of the terms of f, in margins; beyond it seven digits are lost
LEAST_RATE = 1e-10  # smallest rate of the excess in lambda that is not rounding
SLACK = 1e-12  # distance of tied events, relative to lambda and to the bounds
BETWEEN_REFRESHES = 100  # breakpoints between two computations of F
TIED = 2  # tied steps, over the number of rows, before ties are broken by the order of rows
JUMP, LARGEST_JUMP = 1e-6, 1e-2  # first and largest decrease of lambda at a restart, relative
NO_ROW = -1

NEARLY_ALL = 1.0 - 1e-9
RIGHT, ELBOW, LEFT = int(Side.RIGHT), int(Side.ELBOW), int(Side.LEFT)

OnBreakpoint = Callable[[int, float], None]
Rates: TypeAlias = tuple[FloatArray, FloatArray, float]


def solve_regularization_path(
    K: FloatArray,
    y: FloatArray,
    *,
    smallest_C: float | None = None,
    largest_C: float | None = None,
    weight: FloatArray | None = None,
    max_breakpoints: int | None = None,
    on_breakpoint: OnBreakpoint | None = None,
    tuning: PathTuning = DEFAULT_TUNING,
) -> RegularizationPath:
    r"""Compute the regularization path: the dual solution of the SVM for every C.

    .. math:: \min_\beta\; \tfrac12\beta^\top K\beta - y^\top\beta
              \quad\text{s.t.}\quad \textstyle\sum_i\beta_i = 0,\; 0 \le y_i\beta_i \le C s_i .

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel matrix, definite or conditionally definite, in double precision. It may be
        singular, as with equal rows.
    y : array of shape (m,)
        Labels -1 and 1, both present.
    smallest_C : float, optional
        Start of the path; by default the first breakpoint, below which :math:`\beta / C` is
        constant.
    largest_C : float, optional
        End of the path; by default where the classes are separated, where no breakpoint is
        left, or where rounding dominates, with :math:`\sum_i \lambda_i \max_i K_{ii} > 10^9`.
    weight : array of shape (m,), optional
        Weights s of the rows; a row of weight 0 is absent.
    max_breakpoints : int, optional
        Maximum number of breakpoints.
    on_breakpoint : callable, optional
        Called as ``on_breakpoint(n_breakpoints, C)``; an exception ends the run, a
        KeyboardInterrupt with the path up to there.
    tuning : PathTuning, optional
        Tolerances of the path.

    Returns
    -------
    RegularizationPath
        Coefficients and bias at any C.

    Notes
    -----
    A breakpoint costs :math:`O(me + e^2)` with e rows on the elbow, and stores e numbers. There
    were 0.2 to 3 m breakpoints on the data sets tried. The start is found by the exact solver.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.arange(6.0), np.array([-1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    >>> path = solve_regularization_path(np.exp(-(np.subtract.outer(x, x) ** 2)), y)
    >>> path.Cs.round(3)
    array([0.741, 0.741, 1.212, 1.212, 2.559, 2.559])
    >>> beta, bias = path.at(1.0)
    >>> beta.round(3)
    array([-0.65, -1.  ,  1.  , -1.  ,  1.  ,  0.65])
    """
    check_ends(smallest_C, largest_C)
    if max_breakpoints is not None:
        check_count("max_breakpoints", max_breakpoints)
    if K.dtype != np.float64:
        raise ValueError(
            f"K has dtype {K.dtype}: compute it in float64, since breakpoints depend on "
            "differences that single precision cannot represent"
        )
    y = np.asarray(y, dtype=np.float64)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
    if not (np.any(weight[y > 0.0] > 0.0) and np.any(weight[y < 0.0] > 0.0)):
        raise ValueError("y: pass rows of positive weight of both classes, -1 and 1")
    run = _PathRun(WholeMatrix(K), y, weight, max_breakpoints, on_breakpoint, tuning)
    try:
        run.follow(smallest_C, largest_C)
    except KeyboardInterrupt:
        if not run.penalties:
            raise
        run.status = Status.INTERRUPTED
    return run.path()


def check_ends(smallest_C: float | None, largest_C: float | None) -> None:
    """Check that both ends, if given, are positive and in order."""
    for name, C in (("smallest_C", smallest_C), ("largest_C", largest_C)):
        if C is not None:
            check_positive(name, C)
    if smallest_C is not None and largest_C is not None and not smallest_C < largest_C:
        raise ValueError(
            f"largest_C = {largest_C!r}: use a value above smallest_C = {smallest_C!r}"
        )


class _PathRun:
    """A path up to the current breakpoint."""

    def __init__(
        self,
        matrix: WholeMatrix,
        y: FloatArray,
        weight: FloatArray,
        max_breakpoints: int | None,
        on_breakpoint: OnBreakpoint | None,
        tuning: PathTuning,
    ) -> None:
        self.state = State(matrix, y, weight, tuning)
        self.max_breakpoints, self.on_breakpoint = max_breakpoints, on_breakpoint
        self.first_sides = self.state.side.copy()
        self.penalties: list[float] = []
        self.b_0: list[float] = []
        self.alphas: list[FloatArray] = []
        self.moves: list[tuple[int, int, int]] = []
        self.violations: list[float] = []
        self.errors: list[float] = []
        self.first_slope: float | None = None
        self.limit: tuple[FloatArray, float] | None = None
        self.n_restarts, self.n_tied, self.jump = 0, 0, JUMP
        self.status = Status.STOPPED

    def follow(self, smallest_C: float | None, largest_C: float | None) -> None:
        """Follow the path from start to end."""
        state = self.state
        if smallest_C is None:  # the smaller class is certainly at its bounds
            smaller = min(float(state.weight[state.y == sign].sum()) for sign in (-1.0, 1.0))
            state.solve(2.1 * state.elbow.radius * smaller or 1.0)
            right = state.y[state.side == Side.RIGHT]  # all of the larger class, if any
            self.first_slope = -self._rates()[2] if len(state.elbow) else right[:1].sum()
        else:
            state.solve(1.0 / smallest_C)
        if not np.isfinite(state.b_0):
            raise ValueError(
                f"smallest_C = {smallest_C!r} and weights that sum to {state.weight.sum():g} are "
                "beyond what floats resolve: use a smaller C, or scale the weights"
            )
        if smallest_C is not None:
            self._keep()
        last = 0.0 if largest_C is None else 1.0 / largest_C
        while len(self.penalties) != self.max_breakpoints:
            if not self._advance(last) or (last == 0.0 and not self._is_accurate()):
                self.status = Status.CONVERGED
                return

    def _advance(self, last: float) -> bool:
        """Go to the next breakpoint or the end; return whether the path goes on."""
        state = self.state
        row, side, length, rates = self._next()
        if row == NO_ROW:
            if not self.penalties:
                self._keep()
            self._go_to_limit(rates)
            return False
        if state.penalty - length <= last:
            self._step(rates, state.penalty - last)
            state.penalty = last
            self._keep()
            return False
        self._step(rates, length)
        if length > SLACK * state.penalty:
            self.n_tied, self.jump = 0, JUMP
        else:
            self.n_tied += 1
        if side == Side.ELBOW:
            state.join(row)
        else:
            state.leave(row, Side(side))
        self._repair()
        self._keep()
        return True

    def _is_accurate(self) -> bool:
        return self.state.sum_of_terms <= LARGEST_SUM * self.state.penalty

    def _rates(self) -> Rates:
        """Return the rates of alpha, F and b_0 as lambda decreases."""
        state = self.state
        if len(state.elbow) == 0:
            return np.zeros(len(state.y)), np.zeros(len(state.y)), 0.0
        rows, signed = state.elbow.rows, np.zeros(len(state.y))
        signed[rows] = state.elbow.directions()
        change = state.matrix.times(rows, signed)
        b_0 = float((state.y[rows] - change[rows]).mean())
        return -state.y * signed, -(change + b_0), -b_0

    def _next(self) -> tuple[int, int, float, Rates]:
        """Return the next row to move, its new side, the decrease of lambda, and the rates."""
        state = self.state
        alpha_rate, F_rate, b_0_rate = rates = self._rates()
        if not (state.side == Side.LEFT).any():  # separated: f and beta stay as they are
            return NO_ROW, ELBOW, state.penalty, rates
        if len(state.elbow) == 0:
            row, length, b_0_rate = self._rate_to_first_pair()
            return row, ELBOW, length, (alpha_rate, F_rate + b_0_rate, b_0_rate)
        row, side, length = _next_move(
            state.side,
            state.alpha,
            state.weight,
            state.excess(),
            alpha_rate,
            state.y * F_rate + 1.0,
            LEAST_RATE + state.tuning.rounding * float(np.abs(alpha_rate).sum()) * state.largest,
            state.penalty,
            self.n_tied > TIED * len(state.y),
        )
        return row, side, length, rates

    def _rate_to_first_pair(self) -> tuple[int, float, float]:
        """Return the first row that joins an empty elbow, when, and the rate of the bias.

        Of the rows on the left, the bias is free between one of each class until they meet.
        """
        state = self.state
        room = state.penalty * state.y - state.F
        left = state.side == Side.LEFT
        highest = np.where(left & (state.y > 0.0), room, np.inf)
        lowest = np.where(left & (state.y < 0.0), room, -np.inf)
        row = int(np.argmin(highest))
        length = max(0.5 * float(highest[row] - lowest.max()), 0.0)
        if length >= NEARLY_ALL * state.penalty:
            low, high, _ = state.bounds_of_shift(0.0)
            return NO_ROW, state.penalty, 0.5 * (low + high) / state.penalty
        shift = 0.5 * float(highest[row] + lowest.max())
        if length <= SLACK * state.penalty:
            state.b_0 += shift
            state.F += shift
            return row, 0.0, 0.0
        return row, length, shift / length

    def _step(self, rates: Rates, length: float) -> None:
        state = self.state
        alpha_rate, F_rate, b_0_rate = rates
        state.alpha += length * alpha_rate
        state.F += length * F_rate
        state.b_0 += length * b_0_rate
        state.penalty -= length

    def _go_to_limit(self, rates: Rates) -> None:
        state = self.state
        if (state.side == Side.LEFT).any():
            alpha = state.alpha + state.penalty * rates[0]
            b_0 = state.b_0 + state.penalty * rates[2]
            self.limit = np.clip(alpha, 0.0, state.weight), b_0
        else:
            self.limit = np.zeros(len(state.y)), 0.0

    def _repair(self) -> None:
        """Remove rounding errors, and solve again where that is not enough."""
        state = self.state
        if len(self.penalties) % BETWEEN_REFRESHES == 0:
            state.refresh()
        if state.wrong().max() > state.tolerance:
            state.refresh()
            state.correct()
        if self.n_tied > state.tuning.restart_ties * len(state.y):
            state.penalty *= 1.0 - self.jump
            self.jump, self.n_tied = min(2.0 * self.jump, LARGEST_JUMP), 0
        elif state.wrong().max() <= state.tuning.restart_error * state.tolerance:
            return
        self.n_restarts += 1
        if not state.settle():
            state.solve(state.penalty)

    def _keep(self) -> None:
        """Store the breakpoint that has been reached."""
        state = self.state
        place = len(self.penalties)
        self.moves += [(place, row, side) for row, side in state.take_moves()]
        self.b_0.append(state.b_0)
        self.alphas.append(np.clip(state.alpha, 0.0, state.weight)[state.elbow.rows])
        self.violations.append(float(state.wrong().max()) / state.penalty)
        counted = state.alpha * state.matrix.diagonal >= state.y * state.F
        self.errors.append(float(state.weight[counted].sum() / state.weight.sum()))
        self.penalties.append(state.penalty)
        if self.on_breakpoint is not None:
            self.on_breakpoint(len(self.penalties), 1.0 / state.penalty)

    def path(self) -> RegularizationPath:
        n = len(self.penalties)  # without the next one, if an interrupt left it incomplete
        moves = np.array([move for move in self.moves if move[0] < n], dtype=np.intp)
        breakpoints, rows, sides = moves.reshape(-1, 3).T.copy()
        return RegularizationPath(
            Cs=1.0 / np.array(self.penalties),
            event_breakpoints=breakpoints,
            event_rows=rows,
            event_sides=sides,
            violations=np.array(self.violations[:n]),
            n_restarts=self.n_restarts,
            is_complete=self.limit is not None,
            status=self.status,
            _y=self.state.y,
            _weight=self.state.weight,
            _first_sides=self.first_sides,
            _first_slope=self.first_slope,
            _b_0=np.array(self.b_0[:n]),
            _alpha=np.concatenate([*self.alphas[:n], np.empty(0)]),
            _alpha_ends=np.cumsum([len(alpha) for alpha in self.alphas[:n]], dtype=np.intp),
            _limit=self.limit,
            _errors=np.array(self.errors[:n]),
        )


@jit
def _next_move(
    side: IntArray,
    alpha: FloatArray,
    weight: FloatArray,
    excess: FloatArray,
    alpha_rate: FloatArray,
    excess_rate: FloatArray,
    least_rate: float,
    penalty: float,
    in_order: bool,
) -> tuple[int, int, float]:
    """Return the next row to move, its new side, and the decrease of lambda until then.

    Of tied rows it is the one that moves fastest, or the first in order.
    """
    n, limit = len(side), NEARLY_ALL * penalty
    room, rate = np.empty(n), np.zeros(n)  # a rate above zero where the row will move
    for i in range(n):
        slack = SLACK * penalty
        if side[i] == ELBOW and alpha_rate[i] != 0.0:
            rate[i] = abs(alpha_rate[i]) * penalty  # both kinds of rates in the same unit
            room[i] = (weight[i] - alpha[i] if alpha_rate[i] > 0.0 else alpha[i]) * penalty
            slack *= weight[i]
        elif side[i] == RIGHT and excess_rate[i] < -least_rate:
            rate[i], room[i] = -excess_rate[i], excess[i]
        elif side[i] == LEFT and excess_rate[i] > least_rate:
            rate[i], room[i] = excess_rate[i], -excess[i]
        if rate[i] > 0.0:
            limit = min(limit, (max(room[i], 0.0) + slack) / rate[i])
    best, fastest = NO_ROW, 0.0
    for i in range(n):
        if rate[i] > fastest and room[i] <= limit * rate[i]:
            best, fastest = i, rate[i]
            if in_order:
                break
    if best == NO_ROW or limit >= NEARLY_ALL * penalty:
        return NO_ROW, ELBOW, penalty
    target = ELBOW
    if side[best] == ELBOW:
        target = LEFT if alpha_rate[best] > 0.0 else RIGHT
    return best, target, max(room[best], 0.0) / rate[best]

r"""The optimum at one C, and its update when rows move.

With :math:`\lambda = 1/C`, :math:`\gamma_i = y_i\alpha_i` and :math:`F = K\gamma + b_0 =
\lambda f`, the coefficients :math:`0 \le \alpha_i \le s_i` with :math:`\sum_i\gamma_i = 0` are
optimal when the excess :math:`\rho_i = y_i F_i - \lambda` is zero on the elbow, not negative
where :math:`\alpha_i = 0`, and not positive where :math:`\alpha_i = s_i`.
"""

from typing import NamedTuple

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.kernel_matrix import WholeMatrix
from kernsemble.solvers.regularization_path.elbow import Elbow
from kernsemble.solvers.regularization_path.result import Side
from kernsemble.solvers.result import Status
from kernsemble.solvers.smo import solve_dual

SOLVER_TOLERANCE = 1e-9  # tolerance of the solver relative to lambda, before `settle`
PAIR_STEPS_PER_ROW = 1_000  # maximum number of steps of the solver, over the number of rows
ROUNDS_PER_ROW = 10  # maximum number of active-set steps, over the number of rows


class PathTuning(NamedTuple):
    """Tolerances of the path, and when the optimum is solved for again."""

    tolerance: float = 1e-9  # allowed error of the excess, relative to lambda
    rounding: float = 1e-15  # rounding error of the excess, relative to the sum of its terms
    restart_error: float = 10.0  # error, over the allowed one, at which a restart is due
    restart_ties: float = 6  # tied steps, over the number of rows, at which a restart is due


DEFAULT_TUNING = PathTuning()


class State:
    """Coefficients, sides of their rows, and the moves of rows since `take_moves`."""

    def __init__(
        self,
        matrix: WholeMatrix,
        y: FloatArray,
        weight: FloatArray,
        tuning: PathTuning = DEFAULT_TUNING,
    ) -> None:
        self.matrix, self.y, self.weight, self.tuning = matrix, y, weight, tuning
        self.elbow = Elbow(matrix, y)
        self.side = np.where(weight > 0.0, Side.RIGHT, Side.ABSENT).astype(np.int8)
        self.alpha: FloatArray = np.zeros(len(y))
        self.F: FloatArray = np.zeros(len(y))
        self.b_0 = 0.0
        self.penalty = np.inf  # lambda
        self.largest = float(np.abs(matrix.diagonal).max())
        self.moves: list[tuple[int, int]] = []

    @property
    def sum_of_terms(self) -> float:
        """Upper bound on the sum of the absolute terms of F."""
        return self.largest * float(self.alpha.sum())

    @property
    def tolerance(self) -> float:
        """Allowed error of the excess of a row."""
        return self.tuning.tolerance * self.penalty + self.tuning.rounding * self.sum_of_terms

    def take_moves(self) -> list[tuple[int, int]]:
        """Return the moves since the last call, and clear them."""
        moves, self.moves = self.moves, []
        return moves

    def solve(self, penalty: float) -> bool:
        """Find the optimum by the exact solver; return whether it was settled."""
        self.penalty = penalty
        bound = self.y * self.weight
        solution = solve_dual(
            self.matrix,
            penalty * self.y,
            np.minimum(0.0, bound),
            np.maximum(0.0, bound),
            tol=SOLVER_TOLERANCE * penalty,
            max_iter=PAIR_STEPS_PER_ROW * len(bound),
        )
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        self.alpha, self.b_0 = self.y * solution.beta, solution.bias
        near = SOLVER_TOLERANCE * self.weight
        side = np.where(self.alpha > near, Side.ELBOW, Side.RIGHT)
        side[self.alpha >= self.weight - near] = Side.LEFT
        side[self.weight == 0.0] = Side.ABSENT
        self.alpha[side != Side.ELBOW] = 0.0
        self.alpha[side == Side.LEFT] = self.weight[side == Side.LEFT]
        for row in np.flatnonzero(side != self.side):
            self._place(int(row), Side(side[row]))
        return self.settle()

    def settle(self) -> bool:
        """Refine a nearly optimal solution by an active-set method; return whether it converged.

        The rows of the elbow move to their joint optimum as far as the bounds allow; a row that
        is stopped by a bound leaves. At the joint optimum the row with the largest error joins.
        """
        self.elbow.clear()
        for row in np.flatnonzero(self.side == Side.ELBOW):
            self.join(int(row))
        self.refresh()
        for _ in range(ROUNDS_PER_ROW * len(self.y) + 10):
            if len(self.elbow) == 0:
                row = self._row_that_binds()
            elif self._correct_within_bounds():
                row = self._most_wrong()
            else:
                continue
            if row is None:
                return True
            self.join(row)
        return False

    def refresh(self) -> None:
        """Recompute F."""
        self.F = self.matrix.times(np.flatnonzero(self.alpha), self.y * self.alpha) + self.b_0

    def correct(self) -> None:
        """Remove the rounding errors of the excess on the elbow."""
        if len(self.elbow):
            self._shift(*self._correction(), 1.0)

    def excess(self) -> FloatArray:
        return self.y * self.F - self.penalty

    def wrong(self) -> FloatArray:
        """Return the error of the excess of every row."""
        excess = self.excess()
        wrong = np.abs(excess)
        wrong[(self.side == Side.RIGHT) & (excess > 0.0)] = 0.0
        wrong[(self.side == Side.LEFT) & (excess < 0.0)] = 0.0
        wrong[self.side == Side.ABSENT] = 0.0
        return wrong

    def join(self, row: int) -> None:
        """Add a row to the elbow, in exchange for another one if it depends on them linearly.

        A linear combination is a direction in which only the coefficients change; they move
        along it until one is at a bound, and its row leaves, or does not join.
        """
        while (combination := self.elbow.join(row)) is not None:
            rows = self.elbow.rows
            sign = -1.0 if self.side[row] == Side.LEFT else 1.0
            move = np.zeros(len(self.y))
            move[rows], move[row] = -sign * self.y[row] * combination, sign * self.y[row]
            moving = np.append(rows, row)
            length, blocking = self._room(moving, move)
            change = self.matrix.times(moving, move)
            self._shift(move, change, -float(change[moving].mean()), length)
            side = Side.LEFT if self.y[blocking] * move[blocking] > 0.0 else Side.RIGHT
            if blocking == row:
                self._place(row, side)
                return
            self.leave(blocking, side)
        self._place(row, Side.ELBOW)

    def leave(self, row: int, side: Side) -> None:
        """Move a row from the elbow to a bound."""
        self.elbow.leave(row)
        self._place(row, side)

    def _place(self, row: int, side: Side) -> None:
        self.side[row] = side
        if side != Side.ELBOW:
            self.alpha[row] = self.weight[row] if side == Side.LEFT else 0.0
        self.moves.append((row, int(side)))

    def _room(self, rows: IntArray, move: FloatArray) -> tuple[float, int]:
        """Return how far rows can move, and the row that reaches its bound first."""
        rate, alpha = self.y[rows] * move[rows], self.alpha[rows]
        room = np.where(rate > 0.0, self.weight[rows] - alpha, alpha)
        with np.errstate(all="ignore"):
            length = np.where(rate == 0.0, np.inf, np.maximum(room, 0.0) / np.abs(rate))
        shortest = float(length.min())
        tied = np.flatnonzero(length <= shortest * (1.0 + 1e-12))
        return shortest, int(rows[tied[np.argmax(np.abs(rate[tied]))]])

    def _correction(self) -> tuple[FloatArray, FloatArray, float]:
        rows = self.elbow.rows
        right = self.penalty * self.y[rows] - self.F[rows]
        move = np.zeros(len(self.y))
        move[rows] = self.elbow.solve(right, -float(self.y @ self.alpha))
        change = self.matrix.times(rows, move)
        return move, change, float((right - change[rows]).mean())

    def _correct_within_bounds(self) -> bool:
        move, change, b_0 = self._correction()
        length, blocking = self._room(self.elbow.rows, move)
        self._shift(move, change, b_0, min(length, 1.0))
        if length < 1.0:
            rises = self.y[blocking] * move[blocking] > 0.0
            self.leave(blocking, Side.LEFT if rises else Side.RIGHT)
        return length >= 1.0

    def _shift(self, move: FloatArray, change: FloatArray, b_0: float, length: float) -> None:
        self.alpha += length * self.y * move
        self.F += length * (change + b_0)
        self.b_0 += length * b_0

    def _most_wrong(self) -> int | None:
        wrong = self.wrong()
        wrong[self.side == Side.ELBOW] = 0.0
        row = int(np.argmax(wrong))
        return row if wrong[row] > self.tolerance else None

    def _row_that_binds(self) -> int | None:
        """Return the row that violates optimality for any bias, or centre the bias."""
        low, high, row = self.bounds_of_shift(self.penalty)
        if low > high + self.tolerance:
            return row
        shift = 0.5 * (low + high)
        self.b_0 += shift
        self.F += shift
        return None

    def bounds_of_shift(self, penalty: float) -> tuple[float, float, int]:
        """Return how far F may fall and rise without an elbow, and the row that limits the rise."""
        room = penalty * self.y - self.F
        above = (self.y > 0.0) == (self.side == Side.LEFT)
        present = self.side != Side.ABSENT
        highest = np.where(above & present, room, np.inf)
        row = int(np.argmin(highest))
        low = float(np.where(~above & present, room, -np.inf).max())
        high = float(highest[row])
        return (low if np.isfinite(low) else high), (high if np.isfinite(high) else low), row

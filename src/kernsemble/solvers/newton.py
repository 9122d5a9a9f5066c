"""Newton steps of all coefficients between their bounds."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular

from kernsemble._jit import jit
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.solvers.cholesky import factor_in_place
from kernsemble.solvers.kernel_matrix import WholeMatrix
from kernsemble.solvers.working_pairs import NEARLY

ROUNDS = 6  # maximum number of times that coefficients outside their bounds are fixed
WIDEST_BORDER = 1 / 6  # largest border, relative to the rows factored; a wider one costs a factor
TWINS = 1.0 + 1e-12  # factor of the diagonal, so that equal rows are not singular


def is_free(beta: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float) -> BoolArray:
    """Return which coefficients lie between their bounds, and off the kink at zero."""
    inside = (NEARLY * lower < beta) & (beta < NEARLY * upper)
    return inside & (beta != 0.0) if epsilon > 0.0 else inside


def factor_bytes(n_free: int) -> float:
    """Return the bytes of the factor of some free coefficients, with its widest borders."""
    return 8.0 * (1.0 + 6.0 * WIDEST_BORDER) * float(n_free) ** 2


class Newton:
    """Newton steps on one matrix, which share a factor while few rows become free or bound."""

    def __init__(
        self, matrix: WholeMatrix, lower: FloatArray, upper: FloatArray, epsilon: float
    ) -> None:
        self.matrix, self.lower, self.upper, self.epsilon = matrix, lower, upper, epsilon
        self._system: _FreeSystem | None = None

    def forget(self) -> None:
        """Release the memory of the factor."""
        self._system = None

    def step(self, beta: FloatArray, residual: FloatArray) -> bool:
        """Move the free coefficients towards their joint optimum; return whether they reached it.

        The step goes to the best point of the line towards an optimum within the bounds.
        """
        length = self._advance(beta, residual)
        if length < 1.0:
            self._system = None
        return length == 1.0

    def _advance(self, beta: FloatArray, residual: FloatArray) -> float:
        """Go to the best point on the line to the optimum; return the length of the step."""
        gradient = residual - self.epsilon * np.sign(beta)
        move = self._move(beta, gradient)
        if move is None:
            return 0.0
        change = self.matrix.times(np.flatnonzero(move), move)
        slope, bend = float(gradient @ move), float(move @ change)
        if not (slope > 0.0 and np.isfinite(bend)):
            return 0.0
        length = min(1.0, slope / bend) if bend > 0.0 else 1.0
        beta += length * move
        np.clip(beta, self.lower, self.upper, out=beta)
        residual -= length * change
        return length

    def _move(self, beta: FloatArray, gradient: FloatArray) -> FloatArray | None:
        """Return the move to the optimum of the free coefficients, None if there is none.

        Coefficients that would leave their bounds, or change sign, are fixed at the bound and
        the others solved for again, a few times.
        """
        free = np.flatnonzero(is_free(beta, self.lower, self.upper, self.epsilon))
        if len(free) < 2:
            return None
        least = np.where(beta > 0.0, 0.0, self.lower) - beta
        most = np.where(beta < 0.0, 0.0, self.upper) - beta
        held, values = free[:0], gradient[:0]
        try:
            if self._system is None or not self._system.is_near(free):
                self._system = None  # before the next one takes as much memory
                self._system = _FreeSystem(self.matrix.K, free)
            self._system.pose(free, gradient)
            for _ in range(ROUNDS):
                move = self._system.move(held, values)
                outside = free[(move[free] < least[free]) | (move[free] > most[free])]
                if len(outside) == 0:
                    return move
                held = np.concatenate([held, outside])
                values = np.clip(move, least, most)[held]
        except LinAlgError:
            pass
        return None


class _FreeSystem:
    r"""The system :math:`Kx + b1 = t`, :math:`1^\top x = 0`, of some rows, and of similar sets.

    The first coefficient is minus the sum of the others; between differences from its row a
    conditionally definite K is definite, and :math:`G = U^\top U` is factored once. Rows
    that join, with coefficients v, and rows that are fixed at a value c, with multipliers
    :math:`\mu`, border it:

    .. math:: \begin{pmatrix} G & S \\ S^\top & M \end{pmatrix}
              \begin{pmatrix} z \\ (v, \mu) \end{pmatrix}
              = \begin{pmatrix} t \\ (t', c) \end{pmatrix}

    so that with :math:`y = U^{-\top}t` and :math:`P = (U^{-\top}S)^\top` the border is
    :math:`(M - PP^\top)^{-1}((t', c) - Py)` and :math:`z = U^{-1}(y - P^\top(v, \mu))`.
    """

    def __init__(self, K: FloatArray, rows: IntArray) -> None:
        self.K, self.rows, self.first = K, rows, rows[0]
        self._place = np.full(len(K), -1)
        self._place[rows[1:]] = np.arange(len(rows) - 1)
        inner = np.empty((len(rows) - 1, len(rows) - 1))
        _differences_from_first(K, rows, inner)
        inner.flat[:: len(rows)] *= TWINS
        self._U = inner.T
        if failed := factor_in_place(self._U):
            raise LinAlgError(f"leading minor {failed} is not positive")
        self._joining: dict[int, FloatArray] = {}
        self._giving: dict[int, FloatArray] = {}

    def is_near(self, free: IntArray) -> bool:
        """Return whether few rows have joined or left."""
        n_shared = len(np.intersect1d(self.rows, free, assume_unique=True))
        n_border = len(self.rows) + len(free) - 2 * n_shared
        return n_border <= WIDEST_BORDER * len(self.rows)

    def pose(self, free: IntArray, target: FloatArray) -> None:
        """Set the free rows, and the right-hand side for all rows."""
        self._joined = np.setdiff1d(free, self.rows, assume_unique=True)
        self._left = np.setdiff1d(self.rows, free, assume_unique=True)
        self._target = target - target[self.first]
        self._y = self._half_solved(self._target[self.rows[1:]])

    def move(self, held: IntArray, values: FloatArray) -> FloatArray:
        """Return the solution for all rows, with some rows fixed at given values."""
        given, joined = np.concatenate([self._left, held]), self._joined
        known = np.concatenate([np.zeros(len(self._left)), values])
        y, border = self._y, known
        if len(given) + len(joined):
            P = np.concatenate(
                [
                    self._half_solutions(joined, self._joining, self._joining_sides),
                    self._half_solutions(given, self._giving, self._giving_sides),
                ]
            )
            right = np.concatenate([self._target[joined], known]) - P @ y
            border = np.linalg.solve(self._corner(given) - P @ P.T, right)
            y = y - border @ P
        move = np.zeros(len(self.K))
        move[self.rows[1:]] = solve_triangular(self._U, y, check_finite=False)
        move[joined] = border[: len(joined)]
        move[self.first] = -move.sum()
        move[given] = known
        if not abs(move.sum()) <= 1e-9 * np.abs(move).sum():
            raise LinAlgError("too many coefficients are fixed")
        return move

    def _half_solutions(
        self,
        rows: IntArray,
        known: dict[int, FloatArray],
        sides: Callable[[IntArray], FloatArray],
    ) -> FloatArray:
        """Return the rows of P, each computed once."""
        new = np.array([row for row in rows if row not in known], dtype=np.intp)
        if len(new):
            known.update(zip(new, self._half_solved(sides(new)).T, strict=True))
        return np.array([known[row] for row in rows]).reshape(len(rows), len(self._y))

    def _joining_sides(self, rows: IntArray) -> FloatArray:
        return self._inner(rows, self.rows[1:]).T

    def _giving_sides(self, rows: IntArray) -> FloatArray:
        sides = np.zeros((len(self._y), len(rows)))
        place = self._place[rows]
        sides[place[place >= 0], np.flatnonzero(place >= 0)] = 1.0
        sides[:, rows == self.first] = -1.0
        return sides

    def _corner(self, given: IntArray) -> FloatArray:
        joined = self._joined
        corner = np.zeros((len(joined) + len(given),) * 2)
        corner[: len(joined), : len(joined)] = self._inner(joined, joined)
        which = (given[:, np.newaxis] == joined).astype(np.float64)
        which[given == self.first] = -1.0
        corner[len(joined) :, : len(joined)] = which
        corner[: len(joined), len(joined) :] = which.T
        return corner

    def _inner(self, a: IntArray, b: IntArray) -> FloatArray:
        """Return inner products of differences from the first row."""
        first = self.K[self.first]
        from_first = (first[a] - first[self.first])[:, np.newaxis]
        return self.K[np.ix_(a, b)] - first[b] - from_first

    def _half_solved(self, right: FloatArray) -> FloatArray:
        return solve_triangular(self._U, right, trans="T", check_finite=False)


@jit
def _differences_from_first(K: FloatArray, rows: IntArray, inner: FloatArray) -> None:
    """Fill the lower triangle of the inner products of differences from the first row."""
    first = K[rows[0]]
    corner = first[rows[0]]
    for i in range(len(inner)):
        row = K[rows[i + 1]]
        from_first = row[rows[0]] - corner
        for j in range(i + 1):
            inner[i, j] = row[rows[j + 1]] - first[rows[j + 1]] - from_first

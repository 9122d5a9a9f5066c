"""A dense linear program that keeps its basis while rows are added and bounds change."""

import numpy as np

from kernsemble._typing import Array, FloatArray, IntArray
from kernsemble.solvers.dual_simplex.steps import SOLVED, STALLED, solve
from kernsemble.solvers.dual_simplex.tableau import UNKNOWN, Tableau

FIRST_ROOM = 64  # first capacity in rows, which doubles when it is full
PATIENCE = 20  # consecutive steps of length zero after which ties are broken
NO_END = 10**9
LEAST_DISTANCE = 1e-8  # smallest reduced cost after ties are broken


class DualSimplex:
    r"""A dense linear program of few rows, whose entries are small integers.

    .. math:: \max_x\; c^\top x \quad\text{s.t.}\quad a_t^\top x \le b_t ,\; l \le x \le u

    A basis is dual feasible if the multipliers of the rows are not negative and the other
    variables are at the bounds given by the signs of their reduced costs. It stays dual feasible
    when rows are added, whose slacks are basic, and when bounds change.

    Parameters
    ----------
    cost : array of shape (n_columns,)
        c.
    lower : array of shape (n_columns,)
        l; minus infinity for columns without bounds, which must be in the first basis.
    patience : int
        Number of consecutive steps of length zero after which ties are broken.

    Attributes
    ----------
    n_steps : int
        Number of steps of the last solution.

    Notes
    -----
    The variable that leaves the basis is the one with the steepest edge, the one that enters ends
    the longest step over bounds that flip. Only the rows R that hold with equality, k of T, are in
    the matrix that is inverted, and a step on N columns costs :math:`O(k^2 + k T + k N)`,
    without allocation. The inverse is recomputed, in :math:`O(k^3)`, after 200 steps or when a
    pivot or a residual shows that it is inexact. An entry of A takes two bytes, one of the inverse
    eight.
    """

    def __init__(self, cost: FloatArray, lower: FloatArray, patience: int = PATIENCE) -> None:
        self._tableau = Tableau.without_rows(cost, lower)
        self._rng = np.random.default_rng(0)
        self._patience, self.n_steps = patience, 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._tableau.sizes[0])

    @property
    def n_equations(self) -> int:
        """Number k of rows that hold with equality: the size of the inverted matrix."""
        return int(self._tableau.sizes[1])

    @property
    def x(self) -> FloatArray:
        """The solution, within its bounds."""
        tableau, n = self._tableau, len(self._tableau.cost)
        return np.clip(tableau.values[:n], tableau.lower[:n], tableau.upper[:n])

    @property
    def multipliers(self) -> FloatArray:
        """The multipliers of the rows."""
        n = len(self._tableau.cost)
        return -self._tableau.reduced[n : n + self.n_rows]

    def bound(self, upper: FloatArray, right: FloatArray) -> None:
        """Set the upper bounds of the columns, and the right-hand sides of all rows."""
        self._tableau.upper[: len(upper)] = upper
        self._tableau.right[: self.n_rows] = right

    def append(self, rows: Array, right: float, *, as_equations: bool = False) -> None:
        """Add rows of integers below 128 in size; slacks of equations may not be basic at first."""
        n, first = len(self._tableau.cost), self.n_rows
        end = first + len(rows)
        if end > len(self._tableau.right):
            self._tableau = self._tableau.with_room(max(2 * first, end, FIRST_ROOM))
        tableau = self._tableau
        tableau.A[first:end] = rows
        tableau.A_transposed[:, first:end] = np.transpose(rows)
        tableau.right[first:end] = right
        tableau.upper[n + first : n + end] = 0.0 if as_equations else np.inf
        tableau.is_basic[n + first : n + end] = True
        tableau.edges[n + first : n + end] = UNKNOWN
        tableau.sizes[0] = end

    def begin(self, rows: IntArray, columns: IntArray) -> None:
        """Set the first basis, dual feasible: these columns and the slacks of the other rows."""
        tableau, n = self._tableau, len(self._tableau.cost)
        size = tableau.sizes[1] = len(rows)
        tableau.rows[:size], tableau.columns[:size] = rows, columns
        tableau.places[n + rows] = tableau.places[columns] = np.arange(size)
        tableau.is_basic[n + rows], tableau.is_basic[columns] = False, True
        tableau.edges[:] = UNKNOWN

    def solve(self) -> bool:
        """Continue from the last basis; return whether the optimum was found.

        Where ties of reduced costs make steps of length zero, the costs are perturbed to break
        the ties, and restored in the end.
        """
        try:
            status, self.n_steps = self._go_on(self._patience)
            if status == STALLED:
                status = self._go_on_without_ties()
        except np.linalg.LinAlgError:
            return False
        return status == SOLVED

    def _go_on(self, patience: int) -> tuple[int, int]:
        most = 500 + 5 * (self.n_rows + len(self._tableau.cost))
        return solve(self._tableau, most, min(patience, most))

    def _go_on_without_ties(self) -> int:
        tableau, size, n = self._tableau, self.n_equations, len(self._tableau.cost)
        cost = tableau.cost.copy()
        by_rows, by_columns = LEAST_DISTANCE * (1.0 + self._rng.random((2, max(size, n))))
        tableau.cost[:] += by_rows[:size] @ tableau.A[tableau.rows[:size]]
        signs = np.where(tableau.is_upper[:n], 1.0, -1.0)
        tableau.cost[:] += np.where(tableau.is_basic[:n], 0.0, signs * by_columns[:n])
        status, n_more = self._go_on(NO_END)
        self.n_steps += n_more
        tableau.cost[:] = cost
        if status == SOLVED:
            status, n_more = self._go_on(NO_END)
            self.n_steps += n_more
        return status

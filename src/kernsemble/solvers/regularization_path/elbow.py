r"""The linear system of the rows on the elbow, updated one row at a time.

The rows whose coefficients are between their bounds satisfy, with the bias,

.. math:: K_{EE}\, d + d_0 1 = r, \qquad 1^\top d = t .

A constant added to the kernel, and its centring, change only :math:`d_0`; so the system is
solved with :math:`K' = HKH + c\,11^\top`, which is positive definite exactly where the system
has one solution, by a Cholesky factor :math:`K'_{EE} = U^\top U`.
"""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.kernel_matrix import WholeMatrix

LEAST_PIVOT = 1e-13  # smallest pivot, relative to the diagonal
FIRST_ROOM = 64  # first capacity in rows, which doubles when it is full


class Elbow:
    r"""Rows that are linearly independent in :math:`K'`, in the order in which they joined.

    Adding or removing a row, and solving, cost :math:`O(e^2)` with e rows.
    """

    def __init__(self, matrix: WholeMatrix, y: FloatArray) -> None:
        self._K, self._y = matrix.K, y
        self._mean = matrix.K.mean(axis=1, dtype=np.float64)
        centred = matrix.diagonal - 2.0 * self._mean + self._mean.mean()
        self.radius = max(float(centred.max()), 0.0)  # squared radius of the rows around their mean
        if self.radius <= 1e-14 * float(np.abs(matrix.diagonal).max(initial=0.0)):
            self.radius = 0.0
        self._constant = float(self._mean.mean()) + (self.radius or 1.0)
        self._diagonal = centred + (self.radius or 1.0)
        self.clear()

    def clear(self) -> None:
        """Remove all rows."""
        self._n = 0
        self._rows = np.empty(FIRST_ROOM, dtype=np.intp)
        self._U = np.zeros((FIRST_ROOM, FIRST_ROOM))
        self._Z = np.zeros((FIRST_ROOM, 2))  # U'⁻¹ [1, y]

    def __len__(self) -> int:
        return self._n

    @property
    def rows(self) -> IntArray:
        """The rows, oldest first."""
        return self._rows[: self._n].copy()

    def join(self, row: int) -> FloatArray | None:
        """Add a row, or return its coefficients if it is a linear combination of the others."""
        rows = self._rows[: self._n]
        column = self._K[row, rows] - self._mean[rows] - self._mean[row] + self._constant
        _solve_transposed(self._U, self._n, column)
        pivot = self._diagonal[row] - float(column @ column)
        if pivot <= LEAST_PIVOT * self._diagonal[row]:
            _solve(self._U, self._n, column)
            return column
        self._make_room()
        n, root = self._n, np.sqrt(pivot)
        self._U[:n, n], self._U[n, n] = column, root
        self._Z[n] = (np.array([1.0, self._y[row]]) - column @ self._Z[:n]) / root
        self._rows[n] = row
        self._n += 1
        return None

    def leave(self, row: int) -> None:
        """Remove a row."""
        place = int(np.flatnonzero(self._rows[: self._n] == row)[0])
        _remove(self._U, self._Z, self._n, place)
        self._rows[place : self._n - 1] = self._rows[place + 1 : self._n]
        self._n -= 1

    def directions(self) -> FloatArray:
        """Return d for r = y on the elbow and t = 0; exactly 0 where all labels are equal."""
        ones, labels = self._Z[: self._n].T
        solution = labels - (ones @ labels) / (ones @ ones) * ones
        _solve(self._U, self._n, solution)
        return solution

    def solve(self, right: FloatArray, total: float) -> FloatArray:
        """Return d for any r and t."""
        solution, ones = right.astype(np.float64), self._Z[: self._n, 0]
        _solve_transposed(self._U, self._n, solution)
        solution -= (ones @ solution - total) / (ones @ ones) * ones
        _solve(self._U, self._n, solution)
        return solution

    def _make_room(self) -> None:
        n = self._n
        if n < len(self._rows):
            return
        U, Z, rows = self._U, self._Z, self._rows
        self._rows = np.empty(2 * n, dtype=np.intp)
        self._U, self._Z = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, 2))
        self._rows[:n], self._U[:n, :n], self._Z[:n] = rows, U, Z


@jit
def _solve_transposed(U: FloatArray, n: int, x: FloatArray) -> None:
    """Replace x by the solution of U'z = x."""
    for t in range(n):
        x[t] /= U[t, t]
        x[t + 1 : n] -= x[t] * U[t, t + 1 : n]


@jit
def _solve(U: FloatArray, n: int, x: FloatArray) -> None:
    """Replace x by the solution of Uz = x."""
    for t in range(n - 1, -1, -1):
        x[t] = (x[t] - np.dot(U[t, t + 1 : n], x[t + 1 : n])) / U[t, t]


@jit
def _remove(U: FloatArray, Z: FloatArray, n: int, place: int) -> None:
    """Remove a column of the factor, and restore its triangular form by rotations."""
    for t in range(n):
        for column in range(max(place, t - 1), n - 1):
            U[t, column] = U[t, column + 1]
    for t in range(place, n - 1):
        root = np.hypot(U[t, t], U[t + 1, t])
        cosine, sine = U[t, t] / root, U[t + 1, t] / root
        _rotate(U[t, t : n - 1], U[t + 1, t : n - 1], cosine, sine)
        _rotate(Z[t], Z[t + 1], cosine, sine)
        U[t + 1, t] = 0.0


@jit
def _rotate(a: FloatArray, b: FloatArray, cosine: float, sine: float) -> None:
    for t in range(len(a)):
        first, second = a[t], b[t]
        a[t] = cosine * first + sine * second
        b[t] = cosine * second - sine * first

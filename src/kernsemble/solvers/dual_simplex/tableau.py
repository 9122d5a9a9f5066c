"""The arrays of the dual simplex method."""

from typing import NamedTuple, Self

import numpy as np

from kernsemble._typing import Array, BoolArray, FloatArray, IntArray

UNKNOWN = -1.0  # an edge that is not yet computed


class Tableau(NamedTuple):
    r"""A program, a basis, and the values that follow; arrays may have room for more rows.

    Attributes
    ----------
    sizes : int array of shape (2,)
        Number of rows, and number of rows in R.
    A, A_transposed : int8 arrays
        Matrix by rows and by columns.
    right, cost : arrays
        b and c.
    lower, upper : arrays
        The bounds of all variables.
    rows, columns : int arrays
        R and B, in the order of the columns and rows of the inverse.
    places : int array
        The places of basic columns in B and of rows in R.
    is_basic, is_upper : boolean arrays
        Whether variables are basic, and whether the others are at their upper bound.
    inverse : array
        :math:`K^{-1}`.
    values, reduced : arrays
        Values and reduced costs of all variables; of slacks the multipliers, negated.
    edges : array
        Squared norms of the rows of the inverse of the whole basis; -1 if not yet computed.
    rho, alpha, v, tau, side : arrays
        The row and the column of a step, :math:`K^{-1}\rho`, and a vector over R.
    by_rows, tau_by_rows : arrays
        v and tau for the slacks.
    breakpoints, slopes, candidates : arrays
        Step lengths at which reduced costs change sign, decreases of the slope, and variables.
    """

    sizes: IntArray
    A: Array
    A_transposed: Array
    right: FloatArray
    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    rows: IntArray
    columns: IntArray
    places: IntArray
    is_basic: BoolArray
    is_upper: BoolArray
    inverse: FloatArray
    values: FloatArray
    reduced: FloatArray
    edges: FloatArray
    rho: FloatArray
    alpha: FloatArray
    v: FloatArray
    tau: FloatArray
    side: FloatArray
    by_rows: FloatArray
    tau_by_rows: FloatArray
    breakpoints: FloatArray
    slopes: FloatArray
    candidates: IntArray

    @classmethod
    def without_rows(cls, cost: FloatArray, lower: FloatArray) -> Self:
        """Return a program without rows."""
        n = len(cost)
        return cls(
            sizes=np.zeros(2, dtype=np.int64),
            A=np.empty((0, n), dtype=np.int8),
            A_transposed=np.empty((n, 0), dtype=np.int8),
            right=np.empty(0),
            cost=np.array(cost, dtype=np.float64),
            lower=np.array(lower, dtype=np.float64),
            upper=np.zeros(n),
            rows=np.empty(0, dtype=np.int64),
            columns=np.empty(0, dtype=np.int64),
            places=np.zeros(n, dtype=np.int64),
            is_basic=np.zeros(n, dtype=bool),
            is_upper=np.zeros(n, dtype=bool),
            inverse=np.empty((0, 0)),
            values=np.zeros(n),
            reduced=np.zeros(n),
            edges=np.full(n, UNKNOWN),
            rho=np.empty(0),
            alpha=np.empty(n),
            v=np.empty(0),
            tau=np.empty(0),
            side=np.empty(0),
            by_rows=np.empty(0),
            tau_by_rows=np.empty(0),
            breakpoints=np.empty(n),
            slopes=np.empty(n),
            candidates=np.empty(n, dtype=np.int64),
        )

    def with_room(self, n_rows: int) -> Self:
        """Return the tableau with room for `n_rows` rows."""
        n = len(self.cost)
        most = min(n_rows, n)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(BY_VARIABLES, (n + n_rows,))
        shapes |= dict.fromkeys(BY_KERNEL, (most,)) | dict.fromkeys(BY_ROWS, (n_rows,))
        shapes |= {"A": (n_rows, n), "A_transposed": (n, n_rows), "inverse": (most, most)}
        return self._replace(
            **{name: _extended(getattr(self, name), shape) for name, shape in shapes.items()}
        )


BY_VARIABLES = (
    *("lower", "upper", "places", "is_basic", "is_upper", "values", "reduced", "edges"),
    *("alpha", "breakpoints", "slopes", "candidates"),
)
BY_KERNEL = ("rows", "columns", "rho", "v", "tau", "side")
BY_ROWS = ("right", "by_rows", "tau_by_rows")


def _extended(array: Array, shape: tuple[int, ...]) -> Array:
    extended: Array = np.zeros(shape, dtype=array.dtype)
    extended[tuple(slice(length) for length in array.shape)] = array
    return extended

"""Newton steps of the coefficients between their bounds, all of them at once."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kernsemble._jit import jit
from kernsemble._typing import BoolArray, FloatArray, IntArray

ROUNDS = 6


def is_free(beta: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float) -> BoolArray:
    """Tell which coefficients lie between their bounds, and off the kink at zero."""
    inside = (lower < beta) & (beta < upper)
    return inside & (beta != 0.0) if epsilon > 0.0 else inside


def newton_step(
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
    add_rows(K, np.flatnonzero(move), move, change)
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
    free = np.flatnonzero(is_free(beta, lower, upper, epsilon))
    fixed, move = free[:0], np.zeros(len(beta))
    least, most = np.where(beta > 0.0, 0.0, lower), np.where(beta < 0.0, 0.0, upper)
    gradient = residual - epsilon * np.sign(beta)
    for _ in range(ROUNDS):
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
def add_rows(K: FloatArray, rows: IntArray, weight: FloatArray, total: FloatArray) -> None:
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

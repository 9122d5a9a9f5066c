"""Steps of pairs of coefficients (sequential minimal optimisation), compiled."""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray

NEARLY = 1.0 - 1e-12


@jit
def pair_steps(
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
    """Take up to `n_steps` steps of the pair with the largest gain; return number and violation.

    The first of a pair has the largest gain by rising; the second, of those that can fall,
    maximises the gain of the pair to second order. A step ends at a bound or at zero.
    """
    n = len(beta)
    rise, fall, gain = np.empty(n), np.empty(n), np.empty(n)
    offsets(lower, upper, epsilon, beta, rise, fall)
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
    """Return the offset from residual to the gain of a rise, and to the loss of a fall.

    A coefficient that differs from its bound by rounding is at the bound.
    """
    rise = -np.inf if beta >= NEARLY * upper else (-epsilon if beta >= 0.0 else epsilon)
    fall = np.inf if beta <= NEARLY * lower else (-epsilon if beta > 0.0 else epsilon)
    return rise, fall


@jit
def offsets(
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    beta: FloatArray,
    rise: FloatArray,
    fall: FloatArray,
) -> None:
    """Fill in the offsets from residuals to the gains of rises and to the losses of falls."""
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

"""Evidence for a solution: bias, objective, duality gap, and separability."""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray

HULL_DISTANCE = 1e-6  # largest distance of hulls that meet, relative to the size of the data


@jit
def evidence(
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    beta: FloatArray,
    residual: FloatArray,
    rise: FloatArray,
    fall: FloatArray,
) -> tuple[float, float, float]:
    r"""Return bias, dual objective and duality gap.

    The bias is the mean over the free coefficients, which can both `rise` and `fall`, or
    the middle of the admissible interval. The gap is between the dual objective and that of the
    primal problem,

    .. math:: \min_{w, b}\; \tfrac12\|w\|^2 + \textstyle\sum_i u_i \max(0, r_i - b - \varepsilon)
              - l_i \max(0, b - r_i - \varepsilon),

    where for infinite bounds the weights are first scaled to a margin of one; if a tube
    has infinite bounds on both sides the gap is infinite while an error is outside.
    """
    n_free, total, highest, lowest = 0, 0.0, -np.inf, np.inf
    square, linear, absolute = 0.0, 0.0, 0.0
    for t in range(len(beta)):
        if np.isfinite(rise[t]) and np.isfinite(fall[t]) and (epsilon == 0.0 or beta[t] != 0.0):
            n_free += 1
            total += residual[t] - epsilon * np.sign(beta[t])
        highest = max(highest, residual[t] + rise[t])
        lowest = min(lowest, residual[t] + fall[t])
        square += beta[t] * (p[t] - residual[t])
        linear += beta[t] * p[t]
        absolute += abs(beta[t])
    bias = total / n_free if n_free > 0 else _middle(highest, lowest)
    objective = 0.5 * square - linear + epsilon * absolute
    loss, margin = _loss_and_margin(p, lower, upper, epsilon, residual, bias)
    primal = 0.5 * square / margin**2 + loss if margin > 0.0 else np.inf
    return bias, objective, max(primal + objective, 0.0)


@jit
def _middle(highest: float, lowest: float) -> float:
    if np.isinf(highest) and np.isinf(lowest):
        return 0.0
    if np.isinf(highest) or np.isinf(lowest):
        return lowest if np.isinf(highest) else highest
    return 0.5 * (highest + lowest)


@jit
def _loss_and_margin(
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    residual: FloatArray,
    bias: float,
) -> tuple[float, float]:
    """Return the loss of rows with finite bounds, and the smallest margin of the others, or 1."""
    loss, margin = 0.0, np.inf
    for t in range(len(p)):
        above, below = residual[t] - bias - epsilon, bias - residual[t] - epsilon
        value = p[t] - residual[t] + bias
        if np.isinf(upper[t]) and np.isinf(lower[t]):
            loss += np.inf if max(above, below) > 0.0 else 0.0
        elif np.isinf(upper[t]):
            margin = min(margin, value)
        elif np.isinf(lower[t]):
            margin = min(margin, -value)
        else:
            loss += upper[t] * max(above, 0.0) - lower[t] * max(below, 0.0)
    return loss, 1.0 if np.isinf(margin) else margin


def hulls_meet(beta: FloatArray, values: FloatArray, size: float) -> bool:
    r"""Return whether the convex hulls of the classes meet.

    Positive and negative coefficients have equal sums, so that
    :math:`\beta^\top K\beta / (\tfrac12\|\beta\|_1)^2` is the squared distance of two points
    of the hulls of the classes: zero proves that they are not separable. `values` is
    :math:`K\beta`.
    """
    weight = 0.5 * float(np.abs(beta).sum())
    return weight > 0.0 and float(beta @ values) <= HULL_DISTANCE**2 * weight**2 * size

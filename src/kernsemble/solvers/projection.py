r"""The entropy projection of a distribution on a halfspace: one rate, found by Newton's method.

Of all distributions with :math:`\sum_i a_i u_i \le 0` the nearest to :math:`\alpha` by relative
entropy has weights proportional to :math:`\alpha_i e^{-\eta u_i}`. Distributions are given by
logarithms, since weights may differ by hundreds of orders of magnitude.
"""

import numpy as np

from kernsemble._typing import FloatArray

STEEPNESS = 1e-14  # smallest negative u, relative to the largest absolute value
SLOPE_LEFT = 1e-10  # slope at which the search ends, relative to that at zero
MAX_SEARCHES = 200  # maximum number of steps of Newton and bisection; they end long before


def projection_rate(log_alpha: FloatArray, u: FloatArray) -> float:
    r"""Return the η ≥ 0 that minimises :math:`\ln \sum_i \alpha_i e^{-\eta u_i}`.

    Its derivative is minus the mean of u under the weights :math:`\alpha_i e^{-\eta u_i}`, which
    is positive at zero. If no u is negative the function always falls, and η is infinite.
    Otherwise the mean is negative once the smallest u outweighs all positive ones, so there is a
    bracket; Newton steps that leave it are replaced by its middle.
    """
    size = float(np.abs(u).max())
    u = u / size
    least, largest = float(u.min()), float(u.max())
    if least >= -STEEPNESS:
        return np.inf
    low, high = 0.0, (np.log(-largest / least) - log_alpha[u == least].max()) / -least
    rate, enough = 0.0, 0.0
    for search in range(MAX_SEARCHES):
        tilted = log_alpha - rate * u
        tilted = np.exp(tilted - tilted.max())
        tilted /= tilted.sum()
        mean = inner(tilted, u)
        if search == 0:
            enough = SLOPE_LEFT * mean
            if mean <= 0.0:
                return 0.0
        if abs(mean) <= enough:
            break
        low, high = (rate, high) if mean > 0.0 else (low, rate)
        variance = inner(tilted, np.square(u - mean))
        rate = rate + mean / variance if variance > 0.0 else np.inf
        if not low < rate < high:
            rate = 0.5 * (low + high)
        if rate in (low, high):
            break
    return rate / size


def inner(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product without starting BLAS threads."""
    return float((a * b).sum())

r"""Sums of kernels with individual widths, and widths as means over neighbours.

With :math:`u_i(x)` the distance of x from centre i in units of its width, and weights
:math:`w_i` that sum to one, a sum is :math:`\sum_i w_i\, k(u_i(x)/\alpha)` where k is

- Gaussian, :math:`k(u) = e^{-u^2/2}`, with the logarithm of the sum, which may underflow;
- uniform, :math:`k(u) = [u \le 1]`;
- triangular, :math:`k(u) = \max(1 - u, 0)`.

Every :math:`\alpha` uses the same :math:`u_i(x)`.
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from kernsemble._jit import jit
from kernsemble._typing import BoolArray, FloatArray, IntArray

Profile: TypeAlias = Literal["gaussian", "uniform", "triangular"]

LARGEST = 1e290  # largest squared distance in widths, so that scores stay finite
NEGLIGIBLE = 1e-26  # relative height at which even 10^9 Gaussians are lost in rounding
SMALLEST_SQUARE = 1e-300  # smallest squared alpha, so that factors of squares are finite
LEAST_LOGARITHM = -1e300  # of a sum of Gaussians
LEAST_EXPONENT = -60.0  # logarithm of a negligible height
SQUARING_PERIOD = 5  # every fifth Gaussian is evaluated, those between may be squares
CENTRES_IN_CACHE = 128


def kernel_sums(
    squares: FloatArray, weight: FloatArray, alphas: FloatArray, profile: Profile
) -> FloatArray:
    r"""Return the sum of kernels at rows (rows) for every :math:`\alpha` (columns).

    `squares` contains :math:`u_i(x)^2` of rows (rows) and centres (columns). It costs a pass over
    them for each :math:`\alpha`. Gaussians that are negligible beside the largest are not
    evaluated, and where :math:`\alpha^2` is half of the next one, they are computed by squaring.
    Sums are float64, also for float32 input.
    """
    if not weight.all():
        squares, weight = squares[:, weight > 0.0], weight[weight > 0.0]
    sums = np.empty((len(squares), len(alphas)))
    if profile == "gaussian":
        with np.errstate(over="ignore"):  # a factor of 0
            factors = -0.5 / np.maximum(alphas**2, SMALLEST_SQUARE)
        _logarithms_of_gaussians(squares, weight, factors, _may_be_squared(alphas), sums)
        np.maximum(sums, LEAST_LOGARITHM, out=sums)
    else:
        _compact_sums(squares, weight, alphas, profile == "uniform", sums)
    return sums


def _may_be_squared(alphas: FloatArray) -> BoolArray:
    """Return which Gaussians are squares of the next wider ones, at most four in succession."""
    squares = np.ldexp(alphas, -np.frexp(alphas.max(initial=1.0))[1]) ** 2  # without overflow
    is_half = np.append(np.isclose(2.0 * squares[:-1], squares[1:], rtol=1e-14, atol=0.0), False)
    return is_half & (np.arange(len(alphas))[::-1] % SQUARING_PERIOD > 0)


def elliptical_squares(X: FloatArray, centres: FloatArray, widths: FloatArray) -> FloatArray:
    r"""Return :math:`\sum_j ((x_j - c_{ij}) / r_{ij})^2` of rows x and centres i, from differences.

    A feature of infinite width is ignored.
    """
    squares = np.zeros((len(X), len(centres)), X.dtype)
    with np.errstate(over="ignore"):  # infinite distances are bounded below
        narrowness = (1.0 / widths).astype(X.dtype)
        narrowness = np.minimum(narrowness, np.finfo(X.dtype).max)
        _add_squares(X, centres.T.astype(X.dtype, order="C"), narrowness.T.copy(), squares)
    return bounded(squares)


def bounded(squares: FloatArray) -> FloatArray:
    """Return squared distances with infinite ones replaced by `farthest`."""
    return np.fmin(squares, farthest(squares.dtype), out=squares)


def farthest(dtype: DTypeLike) -> float:
    """Return the largest squared distance."""
    return min(LARGEST, float(np.finfo(dtype).max))


def neighbour_shares(
    starts: IntArray,
    rows: IntArray,
    distances: FloatArray,
    counts: FloatArray,
    n_neighbors: float,
) -> tuple[FloatArray, BoolArray, BoolArray]:
    r"""Return the share of each listed neighbour in the mean over the nearest K.

    The neighbours of centre i are ``rows[starts[i] : starts[i + 1]]``, the nearest first, and
    rows are weighted by `counts`. Neighbours at the distance at which K is reached share the rest
    of it, so that the order of ties does not matter; fewer than K share all of it.

    Also returns which lists reach K, and which contain neighbours beyond that distance.
    """
    shares = np.zeros(len(rows))
    return shares, *_share(starts, rows, distances, counts, float(n_neighbors), shares)


def mean_differences(
    X: FloatArray, centres: IntArray, starts: IntArray, rows: IntArray, shares: FloatArray
) -> FloatArray:
    r"""Return :math:`r_{ij} = \sum_w s_{iw} |x_{ij} - w_j|` over the neighbours w of centre i."""
    means = np.zeros((len(centres), X.shape[1]))
    _add_differences(X, centres, starts, rows, shares, means)
    return means


@jit
def _logarithms_of_gaussians(
    squares: FloatArray,
    weight: FloatArray,
    factors: FloatArray,
    may_be_squared: BoolArray,
    sums: FloatArray,
) -> None:
    n, m = squares.shape
    heights = np.empty(m)  # of the Gaussians, relative to the highest
    for i in range(n):
        nearest = squares[i, 0]
        for k in range(1, m):
            nearest = min(nearest, squares[i, k])
        for a in range(len(factors) - 1, -1, -1):
            factor = factors[a]
            if may_be_squared[a]:
                for k in range(m):
                    heights[k] = heights[k] * heights[k] if heights[k] > NEGLIGIBLE else 0.0
            else:
                for k in range(m):
                    exponent = factor * (np.float64(squares[i, k]) - nearest)
                    heights[k] = np.exp(exponent) if exponent > LEAST_EXPONENT else 0.0
            sums[i, a] = factor * nearest + np.log(np.dot(weight, heights))


@jit
def _compact_sums(
    squares: FloatArray, weight: FloatArray, alphas: FloatArray, is_uniform: bool, sums: FloatArray
) -> None:
    n, m = squares.shape
    for i in range(n):
        sums[i] = 0.0
        for k in range(m):
            distance = np.sqrt(np.float64(squares[i, k]))
            for a in range(len(alphas)):
                if distance <= alphas[a]:
                    height = 1.0 if is_uniform else 1.0 - distance / alphas[a]
                    sums[i, a] += weight[k] * height


@jit
def _add_squares(
    X: FloatArray, centres: FloatArray, narrowness: FloatArray, squares: FloatArray
) -> None:
    n, n_features = X.shape
    n_centres = centres.shape[1]
    for first in range(0, n_centres, CENTRES_IN_CACHE):
        last = min(first + CENTRES_IN_CACHE, n_centres)
        for i in range(n):
            for j in range(n_features):
                for k in range(first, last):
                    difference = (X[i, j] - centres[j, k]) * narrowness[j, k]
                    squares[i, k] += difference * difference


@jit
def _share(
    starts: IntArray,
    rows: IntArray,
    distances: FloatArray,
    counts: FloatArray,
    n_neighbors: float,
    shares: FloatArray,
) -> tuple[BoolArray, BoolArray]:
    reaches = np.zeros(len(starts) - 1, dtype=np.bool_)
    goes_on = np.zeros(len(starts) - 1, dtype=np.bool_)
    for i in range(len(starts) - 1):
        first, end, left = starts[i], starts[i + 1], n_neighbors
        while first < end and left > 0.0:
            last, count = first, 0.0
            while last < end and distances[last] == distances[first]:
                count += counts[rows[last]]
                last += 1
            taken = min(count, left)
            if count > 0.0:
                for e in range(first, last):
                    shares[e] = counts[rows[e]] * (taken / count)
            left -= taken
            first = last
        reaches[i] = left <= 0.0
        goes_on[i] = reaches[i] and first < end
        if left < n_neighbors:
            for e in range(starts[i], first):
                shares[e] /= n_neighbors - left
    return reaches, goes_on


@jit
def _add_differences(
    X: FloatArray,
    centres: IntArray,
    starts: IntArray,
    rows: IntArray,
    shares: FloatArray,
    means: FloatArray,
) -> None:
    for i in range(len(centres)):
        for e in range(starts[i], starts[i + 1]):
            if shares[e] > 0.0:
                for j in range(X.shape[1]):
                    means[i, j] += shares[e] * abs(X[centres[i], j] - X[rows[e], j])

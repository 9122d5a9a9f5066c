r"""Shapley values: contributions of columns to functions with interactions.

A background row b supplies the unknown columns: with the columns S of the row x known, the value is

.. math:: v(S) = \tfrac1B \textstyle\sum_b f(x_S, b_{\bar S}),

and the contribution of column d is the mean of :math:`v(S \cup d) - v(S)` over the sets S of
columns that come before d in a random order. They add up to :math:`f(x) - v(\emptyset)`.
"""

from collections.abc import Callable
from math import comb
from typing import NamedTuple

import numpy as np

from kernsemble._jit import jit, jit_sums
from kernsemble._threads import blocks, run
from kernsemble._typing import BoolArray, FloatArray, IntArray

Function = Callable[[FloatArray], FloatArray]

ROWS_AT_ONCE = 8  # number of rows whose product values one thread computes together
NUMBERS_AT_ONCE = 4_000_000  # maximum size of the arrays that a function is evaluated on


class Contributions(NamedTuple):
    """Contributions of columns to each row, with standard errors."""

    values: FloatArray  # (n, m)
    base: float  # mean of the function over the background rows
    standard_error: FloatArray  # (n, m), zero if exact


def coalition_values(
    function: Function, X: FloatArray, background: FloatArray, columns: IntArray
) -> Contributions:
    """Return the Shapley values of some columns by all their coalitions.

    Evaluates the function on :math:`B 2^m` rows per row.
    """
    m = len(columns)
    masks = (np.arange(2**m)[:, np.newaxis] >> np.arange(m)) & 1 == 1
    size = masks.sum(axis=1)
    share = np.array([1.0 / (m * comb(m - 1, s)) for s in range(m)])
    values = np.empty((len(X), m))
    height = max(NUMBERS_AT_ONCE // background.size, 1)
    for i, x in enumerate(X):
        v = np.empty(len(masks))
        for some in blocks(len(masks), height):
            starts = np.broadcast_to(background, (len(masks[some]), *background.shape))
            mixed = _mixed(starts, masks[some][:, np.newaxis], x, columns)
            v[some] = function(mixed).reshape(-1, len(background)).mean(axis=1)
        for d in range(m):
            without = np.flatnonzero(~masks[:, d])
            values[i, d] = share[size[without]] @ (v[without | (1 << d)] - v[without])
    base = float(function(background).mean())
    return Contributions(values, base, np.zeros_like(values))


def _mixed(starts: FloatArray, is_known: BoolArray, x: FloatArray, columns: IntArray) -> FloatArray:
    """Return the rows `starts` with the known columns replaced by those of x."""
    mixed = np.array(starts)
    mixed[..., columns] = np.where(is_known, x[columns], mixed[..., columns])
    return mixed.reshape(-1, len(x))


def permutation_values(
    function: Function,
    X: FloatArray,
    background: FloatArray,
    columns: IntArray,
    n_permutations: int,
    rng: np.random.Generator,
) -> Contributions:
    """Return estimates of the Shapley values of some columns from random orders of them.

    Each order is used forwards and backwards with one background row, every background row
    equally often. Evaluates the function on :math:`m + 1` rows per order. The standard error
    includes the spread between background rows and is therefore conservative.
    """
    m, n_pairs = len(columns), len(background) * -(-n_permutations // (2 * len(background)))
    starts = np.tile(background, (n_pairs // len(background), 1))
    orders = rng.permuted(np.tile(np.arange(m), (n_pairs, 1)), axis=1)
    both = np.concatenate([orders, orders[:, ::-1]])
    rank = np.argsort(both, axis=1)  # of each column in its order
    starts = np.concatenate([starts, starts])
    height = max(NUMBERS_AT_ONCE // ((m + 1) * X.shape[1]), 1)
    values, errors = np.empty((len(X), m)), np.empty((len(X), m))
    for i, x in enumerate(X):
        gains = np.empty((2 * n_pairs, m))
        for some in blocks(2 * n_pairs, height):
            is_known = rank[some][:, np.newaxis] < np.arange(m + 1)[:, np.newaxis]
            steps = np.repeat(starts[some][:, np.newaxis], m + 1, axis=1)
            v = function(_mixed(steps, is_known, x, columns)).reshape(-1, m + 1)
            gains[some] = np.take_along_axis(np.diff(v, axis=1), rank[some], axis=1)
        pairs = 0.5 * (gains[:n_pairs] + gains[n_pairs:])
        values[i] = pairs.mean(axis=0)
        unit = np.ldexp(1.0, int(np.frexp(np.abs(pairs).max())[1]) - 1)  # squares do not overflow
        spread = unit * (pairs / unit).std(axis=0, ddof=1) if n_pairs > 1 else np.nan
        errors[i] = spread / np.sqrt(n_pairs)
    return Contributions(values, float(function(background).mean()), errors)


def product_values(
    X: FloatArray,
    background: FloatArray,
    known: FloatArray,
    coefficients: FloatArray,
    rate: float,
    power: int,
    group: IntArray | None = None,
) -> FloatArray:
    r"""Return the Shapley values of :math:`\sum_i c_i \prod_d k(x_{id}, x_d)`, exactly.

    With the factors :math:`a_d = k(x_{id}, x_d)` and :math:`b_d = k(x_{id}, b_d)`, where
    :math:`k(u, v) = \exp(-\gamma |u - v|^p)`, the contribution of column d is

    .. math:: \sum_i c_i\, \tfrac1B \sum_b \int_0^1 (a_d - b_d)
              \prod_{e \ne d} (t a_e + (1 - t) b_e)\, dt ,

    Owen's integral of a game whose multilinear extension is the product. The integrand is a
    polynomial of degree m − 1, so Gauss' quadrature on m/2 points is exact. Costs
    :math:`O(s B m^2)` per row, with s known rows. `group` is the column d of each coordinate, by
    default one coordinate each; the factors of several are multiplied.
    """
    group = np.arange(X.shape[1]) if group is None else group
    m = int(group.max()) + 1
    nodes, weights = np.polynomial.legendre.leggauss(product_points(m))
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights / len(background)
    values = np.zeros((len(X), m))
    spans = list(blocks(len(X), ROWS_AT_ONCE))

    def work(k: int) -> None:
        some = X[spans[k]]
        game = background, known, coefficients, rate, power, group, nodes, weights
        _add_product_values(some, *game, values[spans[k]])

    run(work, range(len(spans)))
    return values


def product_points(m: int) -> int:
    """Return the number of quadrature points that is exact for degree m − 1."""
    return (m + 1) // 2


@jit
def _factors(
    known: FloatArray, x: FloatArray, rate: float, power: int, group: IntArray, factors: FloatArray
) -> None:
    """Compute the factor of each column."""
    factors[:] = 0.0
    for k in range(len(x)):
        factors[group[k]] += abs(known[k] - x[k]) ** power
    for d in range(len(factors)):
        factors[d] = np.exp(-rate * factors[d])


@jit_sums
def _add_product_values(
    X: FloatArray,
    background: FloatArray,
    known: FloatArray,
    coefficients: FloatArray,
    rate: float,
    power: int,
    group: IntArray,
    nodes: FloatArray,
    weights: FloatArray,
    values: FloatArray,
) -> None:
    n, m = values.shape
    a, b = np.empty((n, m)), np.empty((len(background), m))
    after = np.ones((m + 1, len(nodes)))  # product of the later factors
    before = np.empty(len(nodes))  # of the earlier ones
    for i in range(len(known)):
        for j in range(len(background)):
            _factors(known[i], background[j], rate, power, group, b[j])
        for row in range(n):
            _factors(known[i], X[row], rate, power, group, a[row])
            for j in range(len(background)):
                for d in range(m - 1, -1, -1):
                    start, rise = b[j, d], a[row, d] - b[j, d]
                    for t in range(len(nodes)):
                        after[d, t] = after[d + 1, t] * (start + nodes[t] * rise)
                for t in range(len(nodes)):
                    before[t] = coefficients[i] * weights[t]
                for d in range(m):
                    start, rise, total = b[j, d], a[row, d] - b[j, d], 0.0
                    for t in range(len(nodes)):
                        total += before[t] * after[d + 1, t]
                        before[t] *= start + nodes[t] * rise
                    values[row, d] += rise * total

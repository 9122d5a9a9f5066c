r"""A screen of all pairs of columns: the gain of each, given an additive machine.

With the forces :math:`\beta_i` of the machine, a Newton step on the table of a pair alone, whose
kernel has the weight :math:`\tau`, has for independent columns the coefficients
:math:`\sqrt\tau c_{ij} / (1 + \tau W \lambda_{a,i} \lambda_{b,j})` and decreases the objective by

.. math:: \tfrac12 \sum_{ij} \frac{\tau c_{ij}^2}{1 + \tau W \lambda_{a,i} \lambda_{b,j}}, \qquad
          c = \Psi_a^\top H \Psi_b, \qquad H_{kl} = \sum_{i \in (k, l)} \beta_i .

The curvature W is estimated by :math:`\sum_i \beta_i^2 / C_i`, the information of the forces, which
suits kinked losses too. Without an interaction the forces do not depend on both columns, and the
mean of :math:`c_{ij}^2` is :math:`\bar C W \lambda_{a,i} \lambda_{b,j}`, with :math:`\bar C` the
strength of a row of weight 1; what is left without this mean is the gain of the pair.

A histogram of a pair costs an addition per row. If there are many pairs, those with the largest
gains in the first functions of both columns are compared: all of their coefficients are one matrix
product, :math:`F^\top \mathrm{diag}(\beta) F`.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from kernsemble._jit import jit
from kernsemble._threads import run
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.pair_tables import Axis

MAX_ROWS = 20_000  # maximum number of rows that gains are computed from
MAX_HISTOGRAMS = 5_000  # maximum number of pairs whose gain is computed from all functions
N_FUNCTIONS = 2  # number of functions of a column that all pairs are compared in
MAX_ENTRIES = 25_000_000  # maximum number of their values at rows: 100 MB
COLUMNS_PER_PRODUCT = 512  # number of columns in a block of the matrix product
PAIRS_PER_TASK = 32


class Forces(NamedTuple):
    """The forces of an additive machine.

    Attributes
    ----------
    beta, C : arrays of shape (n,)
        Force and strength of every row; absent rows have 0.
    unit : float
        Strength of a row of weight 1.
    weight : float
        Weight of the kernel of a pair.
    """

    beta: FloatArray
    C: FloatArray
    unit: float
    weight: float

    def among(self, rows: IntArray, factor: float) -> "SampledForces":
        """Return the forces of some rows, of which there are `factor` times as many in all."""
        beta, C = self.beta[rows], self.C[rows]
        is_present = C > 0.0
        present = beta[is_present]
        W = factor * float(present @ (present / C[is_present]))  # their squares may overflow
        return SampledForces(factor * beta, W, factor * self.unit * W, self.weight)


class SampledForces(NamedTuple):
    """Forces that stand for those of all rows, and what determines the gains of pairs."""

    beta: FloatArray
    curvature: float  # W
    noise: float  # mean of squared coefficients of functions with variance 1, by chance
    weight: float

    def gain(self, c: FloatArray, variances: FloatArray) -> FloatArray:
        """Return the gains of coefficients without those expected by chance."""
        with np.errstate(over="ignore", invalid="ignore"):  # the largest gains are infinite
            excess = 0.5 * self.weight * (c**2 - self.noise * variances)
        return excess / (1.0 + self.weight * self.curvature * variances)


def best_pairs(
    codes: IntArray,
    axes: Sequence[Axis],
    machines: Sequence[Forces],
    n_pairs: int,
    *,
    max_rows: int = MAX_ROWS,
    max_histograms: int = MAX_HISTOGRAMS,
    n_functions: int = N_FUNCTIONS,
    max_entries: int = MAX_ENTRIES,
    columns_per_product: int = COLUMNS_PER_PRODUCT,
    seed: int = 0,
) -> tuple[IntArray, FloatArray]:
    """Return the pairs of columns with the largest gains, and their gains.

    Parameters
    ----------
    codes : array of shape (D, n)
        Level of every row in each column.
    axes : sequence of D Axis
        Functions of the levels of each column.
    machines : sequence of Forces
        Forces of additive machines, whose gains are added.
    n_pairs : int
        Maximum number of pairs.
    max_rows : int
        Maximum number of rows, drawn at random, that gains are computed from.
    max_histograms : int
        Maximum number of pairs whose gain is computed from all functions.
    n_functions : int
        Number of functions of a column that all pairs are compared in if there are more.
    max_entries : int
        Maximum number of values of these functions at rows; of more, rows are drawn.
    columns_per_product : int
        Number of columns in a block of the matrix product that compares them.
    seed : int
        Random seed of the rows.

    Returns
    -------
    pairs : array of shape (k, 2)
        Pairs of columns, the largest gain first; only those with a positive gain.
    gains : array of shape (k,)
    """
    D, rng = len(axes), np.random.default_rng(seed)
    rows = np.flatnonzero(np.any([each.C > 0.0 for each in machines], axis=0))

    def drawn(most: int) -> tuple[IntArray, list[SampledForces]]:
        """Return the codes and the forces of at most this number of rows."""
        n = min(most, len(rows))
        some = rows if n == len(rows) else np.sort(rng.choice(rows, n, replace=False))
        factor = len(rows) / max(n, 1)
        return codes[:, some], [each.among(some, factor) for each in machines]

    if max_histograms >= D * (D - 1) // 2:
        pairs = np.array(list(combinations(range(D), 2)), dtype=np.intp).reshape(-1, 2)
    else:
        few = drawn(min(max_rows, max_entries // (D * n_functions)))
        pairs = _candidates(*few, axes, max_histograms, n_functions, columns_per_product)
    some_codes, forces = drawn(max_rows)
    gains = pair_gains(some_codes, axes, pairs, forces)
    order = np.argsort(-gains, kind="stable")[:n_pairs]
    order = order[gains[order] > 0.0]
    return pairs[order], gains[order]


def pair_gains(
    codes: IntArray,
    axes: Sequence[Axis],
    pairs: IntArray,
    machines: Sequence[SampledForces],
) -> FloatArray:
    """Return the gain of each pair, from all functions of its columns."""

    def work(first: int) -> list[float]:
        return [gain(a, b) for a, b in pairs[first : first + PAIRS_PER_TASK].tolist()]

    def gain(a: int, b: int) -> float:
        one, two = axes[a], axes[b]
        variances = np.outer(one.variances, two.variances)
        total = 0.0
        for machine in machines:
            H = np.zeros((len(one.functions), len(two.functions)))
            _add_forces(codes[a], codes[b], machine.beta, H)
            total += machine.gain(one.functions.T @ H @ two.functions, variances).sum()
        return float(total)

    parts = run(work, range(0, len(pairs), PAIRS_PER_TASK), fewest=2)
    return np.array([gain for part in parts for gain in part])


def _candidates(
    codes: IntArray,
    machines: Sequence[SampledForces],
    axes: Sequence[Axis],
    n_pairs: int,
    n_functions: int,
    columns_per_product: int,
) -> IntArray:
    """Return the pairs with the largest gains in the first functions of both columns."""
    D, n = codes.shape
    F = np.zeros((D, n_functions, n), dtype=np.float32)
    variances = np.zeros((D, n_functions))

    def fill(d: int) -> None:
        functions = axes[d].functions[:, :n_functions]
        F[d, : functions.shape[1]] = functions.astype(np.float32)[codes[d]].T
        variances[d, : functions.shape[1]] = axes[d].variances[:n_functions]

    run(fill, range(D))
    best = np.empty((0, 2), dtype=np.intp)
    gains = np.empty(0)
    for start in range(0, D, columns_per_product):
        for first in range(0, start + 1, columns_per_product):
            rows, columns = (slice(k, k + columns_per_product) for k in (start, first))
            found = _block_of_gains(F, variances, rows, columns, machines)
            a, b = np.nonzero(np.isfinite(found))
            mine = np.column_stack([first + b, start + a])
            gains, best = np.append(gains, found[a, b]), np.concatenate([best, mine])
            if len(gains) > n_pairs:
                kept = np.argpartition(-gains, n_pairs)[:n_pairs]
                gains, best = gains[kept], best[kept]
    return best[np.lexsort(best.T[::-1])]


def _block_of_gains(
    F: FloatArray,
    variances: FloatArray,
    rows: slice,
    columns: slice,
    machines: Sequence[SampledForces],
) -> FloatArray:
    """Return the gains of all pairs of two blocks of columns, −inf for each pair but once."""
    (D, q, n), E = F[rows].shape, len(F[columns])
    products = variances[rows][:, np.newaxis, :, np.newaxis] * variances[columns][:, np.newaxis]
    gains = np.zeros((D, E))
    for machine in machines:
        pulled = F[rows].reshape(-1, n) * machine.beta.astype(np.float32)
        c = (pulled @ F[columns].reshape(-1, n).T).reshape(D, q, E, q).transpose(0, 2, 1, 3)
        gains += machine.gain(c, products).sum(axis=(2, 3))
    later = np.arange(D)[:, np.newaxis] + rows.start > np.arange(E) + columns.start
    return np.where(later, gains, -np.inf)


@jit
def _add_forces(first: IntArray, second: IntArray, forces: FloatArray, H: FloatArray) -> None:
    for i in range(len(forces)):
        H[first[i], second[i]] += forces[i]

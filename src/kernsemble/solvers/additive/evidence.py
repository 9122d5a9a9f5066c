r"""Weights of tables in the norm, learned from the rows they are fitted to.

With weights :math:`\tau` the norm of the tables is :math:`\sum_d \|u_d\|^2 / \tau_d`: the measure
on hypotheses gets a factor for each table. The objective is, up to a factor :math:`\varphi`, the
negative logarithm of a posterior, in which the coefficients :math:`u_d` are normal with variance
:math:`\varphi\tau_d`. The weights maximise the evidence, the probability of the targets under
this prior (empirical Bayes), by MacKay's fixed point

.. math:: \tau_d \leftarrow \frac{\|u_d\|^2}{\varphi\,\gamma_d}, \qquad
          \gamma_d = \sum_k \frac{\tau_d W \lambda_{dk}}{1 + \tau_d W \lambda_{dk}},

with :math:`\gamma_d` the effective number of parameters of a table, W the total curvature of the
loss and :math:`\lambda` the variances of its features over the training rows. The dispersion is
that of quasi-likelihood,

.. math:: \varphi = \bar C\, \frac{\sum_i \beta_i^2 / C_i}{W}\, \frac{n}{n - \sum_d \gamma_d} ,

:math:`\bar C` the strength of a row of weight 1 and n the total weight; it is about
:math:`\bar C` for the logistic loss, and :math:`\bar C \sigma^2` for the squared one. A kinked
loss has no curvature: it is taken as the negative logarithm of a likelihood, with
:math:`\varphi = \bar C` and :math:`W = \sum_i \beta_i^2 / C_i`, its information.
A table whose function is mere noise gets a weight near 0. An exact fit has no dispersion, and
weights without limit: a small share of :math:`\bar C` is the least.

With few rows the weights of many tables are noise themselves. A hyperprior of `a` parameters with
the common weight :math:`\bar\tau` of all tables shrinks them towards it:

.. math:: \tau_d \leftarrow \frac{\|u_d\|^2 / \varphi + a \bar\tau}{\gamma_d + a}, \qquad
          \bar\tau = \frac{\sum_d \|u_d\|^2}{\varphi \sum_d \gamma_d} .

All tables get the same weight for :math:`a = \infty`. Columns and pairs have common weights of
their own.
"""

from collections.abc import Sequence

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.solvers.additive.result import AdditiveSolution
from kernsemble.solvers.additive.tables import Tables
from kernsemble.solvers.losses import Loss, Smooth

SMALLEST_SHARE = 1e-9  # smallest weight, relative to the largest of all tables
SMALLEST_DISPERSION = 1e-8  # relative to the strength of a row of weight 1


def learned_weights(
    tables: Tables,
    weights: FloatArray,
    variances: Sequence[FloatArray],
    solutions: Sequence[AdditiveSolution],
    losses: Sequence[Loss],
    units: Sequence[float],
    n_shared: float = 0.0,
) -> FloatArray:
    """Return the next weights of all tables, which several machines share.

    Parameters
    ----------
    tables : Tables
        Tables with the current weights.
    weights : array of shape (D,)
        Their current weights.
    variances : sequence of D arrays
        Variances of the features of each table with weight 1.
    solutions, losses, units
        For each machine its solution, its loss, and the strength of a row of weight 1.
    n_shared : float
        The number a of parameters with the common weight.
    """
    sizes, counts = np.zeros(tables.n_tables), np.zeros(tables.n_tables)
    for solution, loss, unit in zip(solutions, losses, units, strict=True):
        information = _information(solution, loss)
        W = _curvature(solution, loss) if isinstance(loss, Smooth) else information
        if W <= 0.0:
            continue
        gamma = np.array([_effective(t * W * v) for t, v in zip(weights, variances, strict=True)])
        dispersion = unit
        if isinstance(loss, Smooth):
            n = float(loss.strengths.sum()) / unit
            dispersion *= information / W * n / max(n - gamma.sum(), 0.5 * n)
        dispersion = max(dispersion, SMALLEST_DISPERSION * unit)
        squares = [float(z @ z) for z in tables.split(solution.z)]
        sizes += weights * squares / dispersion
        counts += gamma
    found, n_columns = weights.copy(), len(tables.root)
    for span in (slice(n_columns), slice(n_columns, None)):
        _learn(found[span], sizes[span], counts[span], n_shared)
    return np.maximum(found, SMALLEST_SHARE * found.max(initial=0.0))


def _learn(weights: FloatArray, sizes: FloatArray, counts: FloatArray, n_shared: float) -> None:
    """Replace the weights of tables with parameters, shrunk towards their common weight."""
    learned = counts > 0.0
    if not learned.any():
        return
    sizes, counts = sizes[learned], counts[learned]
    common = sizes.sum() / counts.sum()
    weights[learned] = common + (sizes / counts - common) * counts / (counts + n_shared)


def _effective(factors: FloatArray) -> float:
    return float((factors / (1.0 + factors)).sum())


def _information(solution: AdditiveSolution, loss: Loss) -> float:
    is_present = loss.strengths > 0.0
    beta = solution.beta[is_present]
    return float(beta @ (beta / loss.strengths[is_present]))  # their squares may overflow


def _curvature(solution: AdditiveSolution, loss: Smooth) -> float:
    beta, curvature = np.empty_like(solution.decisions), np.empty_like(solution.decisions)
    loss.evaluate(solution.decisions, beta, curvature)
    return float(curvature.sum())

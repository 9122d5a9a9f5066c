r"""Slopes of a kernel expansion along every feature.

For :math:`f(x) = \sum_j \beta_j K(x_j, x)` and a radial kernel :math:`e^{-\gamma d(x, x')}`,

=====================  ==================================================================
distance d             :math:`\partial f / \partial x_d` at a row x
=====================  ==================================================================
:math:`\|\cdot\|_1`    :math:`-\gamma \sum_j \beta_j K_j\, \mathrm{sign}(x_d - x_{jd})`
:math:`\|\cdot\|_2`    :math:`-\gamma \sum_j \beta_j (K_j / d_j) (x_d - x_{jd})`
:math:`\|\cdot\|_2^2`  :math:`-2\gamma \sum_j \beta_j K_j (x_d - x_{jd})`
=====================  ==================================================================

At equal values the sign is zero: the mean of the slopes on both sides. It costs a pass over the
matrix per feature and target.
"""

import numpy as np

from kernsemble._jit import jit_sums
from kernsemble._threads import blocks, run
from kernsemble._typing import FloatArray

ROWS_PER_TASK = 64


def slopes(
    W: FloatArray, beta: FloatArray, at: FloatArray, rows: FloatArray, has_signs: bool
) -> FloatArray:
    r"""Return the slopes of every expansion, without the factor :math:`-\gamma`.

    .. math:: \textstyle\sum_j \beta_{jk} W_{ij}\, s(x_{id} - x_{jd})

    Parameters
    ----------
    W : array of shape (m, n)
        Weight of each pair: the kernel, divided by the distance for :math:`\|\cdot\|_2`.
    beta : array of shape (n, n_targets)
        Coefficients.
    at, rows : arrays of shape (m, n_features) and (n, n_features)
        Rows at which the slopes are taken, and rows of the expansion.
    has_signs : bool
        Whether s is the sign of the difference, else the difference itself.

    Returns
    -------
    array of shape (n_targets, m, n_features)
    """
    found = np.zeros((len(at), beta.shape[1], at.shape[1]))
    if not has_signs:
        for k, column in enumerate(beta.T):
            found[:, k] = (W @ column)[:, np.newaxis] * at - (W * column) @ rows
        return found.swapaxes(0, 1)
    beta = np.ascontiguousarray(beta)
    run(
        lambda span: _add_signed(W[span], beta, at[span], rows, found[span]),
        blocks(len(at), ROWS_PER_TASK),
    )
    return found.swapaxes(0, 1)


@jit_sums
def _add_signed(
    W: FloatArray, beta: FloatArray, at: FloatArray, rows: FloatArray, slope: FloatArray
) -> None:
    signs = np.empty(at.shape[1])
    for i in range(len(at)):
        for j in range(len(rows)):
            for d in range(at.shape[1]):
                signs[d] = int(at[i, d] > rows[j, d]) - int(at[i, d] < rows[j, d])
            for k in range(beta.shape[1]):
                c = beta[j, k] * W[i, j]
                for d in range(at.shape[1]):
                    slope[i, k, d] += c * signs[d]

r"""The Newton system by levels: a Cholesky factor of the Hessian of all levels.

.. math:: \begin{pmatrix} I + \Phi^\top W \Phi & \Phi^\top W 1 \\
          1^\top W \Phi & 1^\top W 1 \end{pmatrix}

The block of two tables in :math:`\Phi^\top W \Phi` is the two-dimensional histogram of their codes
weighted by the curvatures W, summed over the levels beyond each edge. It takes N D²/2 additions
and :math:`M^3/3` multiplications for M levels; each block is in the cache while it is filled.
"""

from contextlib import nullcontext

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kernsemble._jit import jit
from kernsemble._threads import BLAS_THREADS
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.tables import Tables, add_beyond

SIZE_WORTH_THREADS = 1_500  # smallest matrix for which BLAS uses threads
SMALLEST_PIVOT = 1e-14  # relative increase of the diagonal if rounding makes it indefinite


def solve_by_factor(
    tables: Tables, codes: IntArray, weight: FloatArray, right: FloatArray, right_bias: float
) -> tuple[FloatArray, float]:
    """Return the solution of the Newton system for some rows and their curvatures.

    Parameters
    ----------
    tables : Tables
        Tables of the problem.
    codes : array of shape (D, k)
        Codes of the rows with a curvature.
    weight : array of shape (k,)
        Their curvatures.
    right : array of shape (n_levels,)
        Right-hand side.
    right_bias : float
        Right-hand side of the row of the bias.
    """
    M = tables.n_levels
    matrix = np.zeros((M + 1, M + 1))
    places = [slice(a, b) for a, b in zip(tables.offsets, tables.offsets[1:], strict=False)]

    def work(pair: tuple[int, int]) -> None:
        d, e = pair
        block = np.zeros((places[d].stop - places[d].start, places[e].stop - places[e].start))
        _pair_histogram(codes[d], codes[e], weight, block)
        for table, view in ((d, block), (e, block.T)):
            add_beyond(
                view, tables.n_ordered[table], tables.root[table], tables.scale[places[table]]
            )
        matrix[places[d], places[e]] = block

    pairs = [(d, e) for d in range(tables.n_tables) for e in range(d + 1)]
    tables.share(work, pairs, codes.shape[1] * len(pairs) + M * M)
    matrix[M, :M] = tables.edges_of(tables.sums(weight, codes))
    diagonal = matrix.diagonal().copy()
    diagonal[:M] += 1.0
    diagonal[M] = weight.sum() or 1.0
    solution = solve_definite(matrix, diagonal, np.append(right, right_bias))
    return solution[:M], float(solution[M])


def solve_definite(matrix: FloatArray, diagonal: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a definite system given by its lower half and diagonal, despite rounding."""
    slack = 0.0
    with BLAS_THREADS.at_most(1) if len(matrix) < SIZE_WORTH_THREADS else nullcontext():
        while True:
            np.fill_diagonal(matrix, diagonal * (1.0 + slack))
            try:
                factor = cho_factor(matrix.T, lower=False, check_finite=False)
            except LinAlgError:
                slack = max(10.0 * slack, SMALLEST_PIVOT)
            else:
                return cho_solve(factor, right, check_finite=False)


@jit
def _pair_histogram(
    first: IntArray, second: IntArray, weight: FloatArray, block: FloatArray
) -> None:
    for i in range(len(weight)):
        block[first[i], second[i]] += weight[i]

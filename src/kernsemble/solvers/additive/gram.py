r"""The Newton system by rows: a Cholesky factor of the kernel matrix of rows with a curvature.

With :math:`u = W(\Phi z + 1 b)` the system is :math:`z = r - \Phi^\top u` and

.. math:: (W^{-1} + \Phi\Phi^\top)\, u - 1 b = \Phi r , \qquad 1^\top u = r_b ,

so that k rows with a curvature cost :math:`k^2 D / 2` comparisons and :math:`k^3/3`
multiplications, for any number of levels.
"""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.hessian import solve_definite
from kernsemble.solvers.additive.pair_tables import PairTable
from kernsemble.solvers.additive.tables import Tables

ROWS_PER_TASK = 64
COLUMNS_IN_CACHE = 512


class RowProducts:
    r"""The lower half of :math:`\Phi\Phi^\top` of some rows, cached for subsets of them."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.rows: IntArray = np.empty(0, dtype=np.intp)
        self.matrix: FloatArray = np.empty((0, 0))

    def n_new(self, rows: IntArray) -> int:
        """Return the number of rows to compute a matrix for, 0 if it is cached."""
        return 0 if np.isin(rows, self.rows, assume_unique=True).all() else len(rows)

    def among(self, rows: IntArray) -> FloatArray:
        """Return the lower half of the matrix of increasing rows."""
        if self.n_new(rows) > 0:
            self.rows, self.matrix = rows, self._matrix(rows)
        if len(rows) == len(self.rows):
            return self.matrix
        places = np.searchsorted(self.rows, rows)
        return self.matrix[np.ix_(places, places)]

    def _matrix(self, rows: IntArray) -> FloatArray:
        """Compute the common parts of the paths to the root.

        Ordered levels at a and b, with the root at 0, share :math:`(|a| + |b| - |a - b|) / 2`;
        loose levels share all or nothing. The products of pairs are added.
        """
        tables, n, n_trees = self.tables, len(rows), len(self.tables.root)
        all_codes = tables.codes_of(rows)
        codes, cells = all_codes[:n_trees], all_codes[n_trees:]
        reach = tables.level_norms()[tables.offsets[:n_trees, np.newaxis] + codes]
        is_loose = codes >= tables.n_ordered[:, np.newaxis]
        is_below = codes < tables.root[:, np.newaxis]
        positions = np.where(is_loose, 0.0, np.where(is_below, -reach, reach))
        positions = positions[tables.n_ordered > 1]
        has_loose = is_loose.any(axis=1)
        shares, names = np.where(is_loose, reach, 0.0)[has_loose], codes[has_loose]
        norms, matrix = np.abs(positions).sum(axis=0), np.zeros((n, n))

        def work(first: int) -> None:
            span = slice(first, min(first + ROWS_PER_TASK, n))
            _fill_rows(positions, norms, shares, names, span.start, span.stop, matrix)

        tables.share(work, range(0, n, ROWS_PER_TASK), n * n * n_trees)
        for pair, mine in zip(tables.pairs, cells, strict=True):
            self._add_pair(pair, mine, matrix)
        return matrix

    def _add_pair(self, pair: PairTable, cells: IntArray, matrix: FloatArray) -> None:
        n, kernel = len(cells), pair.kernel()

        def work(first: int) -> None:
            pair.add_products(kernel, cells, first, min(first + ROWS_PER_TASK, n), matrix)

        self.tables.share(work, range(0, n, ROWS_PER_TASK), n * n)


def solve_by_rows(
    products: RowProducts, rows: IntArray, weight: FloatArray, right: FloatArray, right_bias: float
) -> tuple[FloatArray, float]:
    r"""Return the solution of the Newton system for some rows and their curvatures.

    The arguments are those of `solve_by_factor`, with row numbers instead of codes. The matrix
    that is factored is :math:`I + W^{1/2} \Phi\Phi^\top W^{1/2}`.
    """
    tables, root = products.tables, np.sqrt(weight)
    codes = tables.codes_of(rows)
    matrix = products.among(rows) * root
    matrix *= root[:, np.newaxis]
    images = tables.at_rows(tables.levels_of(right), codes), np.ones(len(rows))
    sides = np.column_stack([root * image for image in images])
    u, lift = (root[:, np.newaxis] * solve_definite(matrix, matrix.diagonal() + 1.0, sides)).T
    bias = (right_bias - u.sum()) / lift.sum()
    return right - tables.edges_of(tables.sums(u + bias * lift, codes)), float(bias)


@jit
def _fill_rows(
    positions: FloatArray,
    norms: FloatArray,
    shares: FloatArray,
    names: IntArray,
    start: int,
    stop: int,
    matrix: FloatArray,
) -> None:
    """Fill rows of the matrix up to the diagonal, some columns at a time."""
    common = np.empty(COLUMNS_IN_CACHE)
    for first in range(0, stop, COLUMNS_IN_CACHE):
        for i in range(max(start, first), stop):
            n = min(first + COLUMNS_IN_CACHE, i + 1) - first
            for t in range(n):
                common[t] = norms[i] + norms[first + t]
            for d in range(len(positions)):
                a, others = positions[d, i], positions[d, first : first + n]
                for t in range(n):
                    common[t] -= abs(a - others[t])
            for t in range(n):
                common[t] *= 0.5
            for d in range(len(names)):
                share, name, others = shares[d, i], names[d, i], names[d, first : first + n]
                if share > 0.0:
                    for t in range(n):
                        common[t] += share if others[t] == name else 0.0
            for t in range(n):
                matrix[i, first + t] = common[t]

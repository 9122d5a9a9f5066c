"""The Newton system, solved the cheaper way."""

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.conjugate import solve_by_products
from kernsemble.solvers.additive.hessian import solve_by_factor
from kernsemble.solvers.additive.tables import Tables

SHRINKAGE = 0.1  # of the residual, by conjugate gradients
PRODUCTS_EXPECTED = 6.0  # of a Newton step at least, measured
FORGETTING = 0.9  # of how many products are expected, with each factor
MOST_PRODUCTS = 300
MOST_LEVELS = 10_000  # of a matrix, 800 MB
MULTIPLICATIONS_AN_ADDITION = 16.0  # of a Cholesky factor, in the time of one of a histogram
ADDITIONS_A_PRODUCT = 2.5  # an entry
LARGEST_SHARE = 0.7  # of the rows, that are worth a copy of their codes


class NewtonSystem:
    """Solves Newton systems by products or by a factor, whichever costs less.

    A factor costs :math:`n D^2/2` additions and :math:`M^3/3` multiplications for n rows with a
    curvature, a product :math:`2 n D` additions. Products are tried where a factor costs as
    much as those of the step before, up to what the factor costs; where they were not enough, twice
    as many are expected for a while.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables, self.n_products, self.n_factors = tables, 0, 0
        self.expected = PRODUCTS_EXPECTED

    def solve(
        self, curvature: FloatArray, right: FloatArray, right_bias: float
    ) -> tuple[FloatArray, float]:
        """Return the Newton direction of tables and bias."""
        codes, weight = self._rows_with(curvature)
        worth = self._products_a_factor_is_worth(len(weight))
        if worth >= min(self.expected, MOST_PRODUCTS):
            dz, db, n, is_enough = solve_by_products(
                self.tables, codes, weight, right, right_bias, SHRINKAGE, worth
            )
            self.n_products += n
            self.expected = max(float(n if is_enough else 2 * n), PRODUCTS_EXPECTED)
            if is_enough or worth == MOST_PRODUCTS:
                return dz, db
        self.expected = max(FORGETTING * self.expected, PRODUCTS_EXPECTED)
        self.n_factors += 1
        return solve_by_factor(self.tables, codes, weight, right, right_bias)

    def _rows_with(self, curvature: FloatArray) -> tuple[IntArray, FloatArray]:
        rows = np.flatnonzero(curvature)
        if len(rows) > LARGEST_SHARE * len(curvature):
            return self.tables.codes, curvature
        return np.ascontiguousarray(self.tables.codes[:, rows]), curvature[rows]

    def _products_a_factor_is_worth(self, n: int) -> int:
        D, M = self.tables.n_tables, float(self.tables.n_levels)
        factor = 0.5 * n * D * (D + 1) + M**3 / 3.0 / MULTIPLICATIONS_AN_ADDITION
        product = ADDITIONS_A_PRODUCT * n * D + 20.0 * M
        return MOST_PRODUCTS if M > MOST_LEVELS else int(min(factor / product, MOST_PRODUCTS))

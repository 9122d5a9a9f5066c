"""The Newton system, solved the cheaper way."""

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.conjugate_gradients import solve_by_products
from kernsemble.solvers.additive.gram import RowProducts, solve_by_rows
from kernsemble.solvers.additive.hessian import solve_by_factor
from kernsemble.solvers.additive.tables import Tables

SHRINKAGE = 0.1  # of the residual, by conjugate gradients
PRODUCTS_EXPECTED = 6.0  # of a Newton step at least, measured
FORGETTING = 0.9  # of how many products are expected, with each factor
MOST_PRODUCTS = 300
LARGEST_MATRIX = 10_000  # 800 MB
MULTIPLICATIONS_AN_ADDITION = 16.0  # of a Cholesky factor, in the time of one of a histogram
ADDITIONS_A_PRODUCT = 2.5  # an entry
COMPARISONS_AN_ADDITION = 4.0  # of two rows in a table
LARGEST_SHARE = 0.7  # of the rows, that are worth a copy of their codes


class NewtonSystem:
    """Solves Newton systems by products or by a factor, whichever costs less.

    For n rows with a curvature, a product costs :math:`2 n D` additions; a factor of the levels
    costs :math:`n D^2/2` additions and :math:`M^3/3` multiplications, one of the rows
    :math:`n^2 D/2` comparisons (once for rows and those among them) and :math:`n^3/3`
    multiplications. Products are tried where a factor costs as much as those of the step before,
    up to what the factor costs; where they were not enough, twice as many are expected for a while.
    """

    def __init__(self, tables: Tables) -> None:
        self.tables, self.n_products, self.n_factors = tables, 0, 0
        self.expected, self.row_products = PRODUCTS_EXPECTED, RowProducts(tables)

    def solve(
        self, curvature: FloatArray, right: FloatArray, right_bias: float
    ) -> tuple[FloatArray, float]:
        """Return the Newton direction of tables and bias."""
        rows = np.flatnonzero(curvature)
        by_levels, by_rows = self._cost_by_levels(len(rows)), self._cost_by_rows(rows)
        worth = self._products_worth(min(by_levels, by_rows), len(rows))
        if worth >= min(self.expected, MOST_PRODUCTS):
            codes, weight = self._codes_and_weights(rows, curvature)
            dz, db, n, is_enough = solve_by_products(
                self.tables, codes, weight, right, right_bias, SHRINKAGE, worth
            )
            self.n_products += n
            self.expected = max(float(n if is_enough else 2 * n), PRODUCTS_EXPECTED)
            if is_enough or worth == MOST_PRODUCTS:
                return dz, db
        self.expected = max(FORGETTING * self.expected, PRODUCTS_EXPECTED)
        self.n_factors += 1
        if by_rows < by_levels:
            return solve_by_rows(self.row_products, rows, curvature[rows], right, right_bias)
        codes, weight = self._codes_and_weights(rows, curvature)
        return solve_by_factor(self.tables, codes, weight, right, right_bias)

    def _codes_and_weights(
        self, rows: IntArray, curvature: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        if len(rows) > LARGEST_SHARE * len(curvature):
            return self.tables.codes, curvature
        return self.tables.codes_of(rows), curvature[rows]

    def _cost_by_levels(self, n: int) -> float:
        D, M = self.tables.n_tables, float(self.tables.n_levels)
        if M > LARGEST_MATRIX:
            return np.inf
        return 0.5 * n * D * (D + 1) + M**3 / 3.0 / MULTIPLICATIONS_AN_ADDITION

    def _cost_by_rows(self, rows: IntArray) -> float:
        if not 0 < len(rows) <= LARGEST_MATRIX:
            return np.inf
        n, n_new = float(len(rows)), self.row_products.n_new(rows)
        comparisons = 0.5 * n_new**2 * self.tables.n_tables / COMPARISONS_AN_ADDITION
        return comparisons + n**3 / 3.0 / MULTIPLICATIONS_AN_ADDITION

    def _products_worth(self, factor: float, n: int) -> int:
        """Return how many products cost as much as a factor."""
        product = ADDITIONS_A_PRODUCT * n * self.tables.n_tables + 20.0 * self.tables.n_levels
        return int(min(factor / product, MOST_PRODUCTS))

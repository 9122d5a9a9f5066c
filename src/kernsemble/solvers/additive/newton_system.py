"""Newton systems, solved by conjugate gradients or by a Cholesky factor."""

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.conjugate_gradients import solve_by_products
from kernsemble.solvers.additive.gram import RowProducts, solve_by_rows
from kernsemble.solvers.additive.hessian import solve_by_factor
from kernsemble.solvers.additive.rows import Rows

SHRINKAGE = 0.1  # factor by which conjugate gradients reduce the residual
FEWEST_PRODUCTS = 6.0  # smallest number of products expected for a Newton step, measured
FORGETTING = 0.9  # factor of the expected number of products after each factorisation
MAX_PRODUCTS = 300
LARGEST_MATRIX = 10_000  # largest matrix that is factored, 800 MB
MULTIPLICATIONS_PER_ADDITION = 20.0  # multiplications of a Cholesky factor per histogram addition
ADDITIONS_PER_CODE = 1.25  # time of a product per code, in histogram additions
ADDITIONS_PER_LEVEL = 20.0  # time of a product per level, in histogram additions
COMPARISONS_PER_ADDITION = 5.0  # comparisons of two codes per histogram addition


class NewtonSystem:
    """Solver of Newton systems by products or by a Cholesky factor, whichever costs less.

    For n rows with a curvature, a product costs :math:`2 n D` additions; a factor of the levels
    costs :math:`n D^2/2` additions and :math:`M^3/3` multiplications, one of the rows
    :math:`n^2 D/2` comparisons and the kernels of pairs (once for rows and those among them) and
    :math:`n^3/3` multiplications. Products are tried if the number used by the previous step costs
    at most as much as a factor, and stop where they cost more; if they did not suffice, twice as
    many are expected for the next steps. Tables of pairs have too many levels for a factor of the
    levels.

    Parameters
    ----------
    rows : Rows
        The rows of the problem.
    fewest_products : float
        Smallest number of products that is expected for a step.
    """

    def __init__(self, rows: Rows, fewest_products: float = FEWEST_PRODUCTS) -> None:
        self.rows, self.tables = rows, rows.tables
        self.n_products, self.n_factors = 0, 0
        self.fewest_products = self.expected = fewest_products
        self.row_products = RowProducts(rows.tables)

    def solve(self, right: FloatArray, right_bias: float) -> tuple[FloatArray, float]:
        """Return the Newton direction of tables and bias at the current curvatures."""
        n, places = self.rows.n_curved(), self.rows.curved_places()
        by_levels, by_rows = self._cost_by_levels(n), self._cost_by_rows(places)
        worth = self._products_worth(min(by_levels, by_rows), n)
        if worth >= min(self.expected, MAX_PRODUCTS):
            dz, db, n, is_enough = solve_by_products(
                self.tables, self.rows.curved(), right, right_bias, SHRINKAGE, worth
            )
            self.n_products += n
            self.expected = max(float(n if is_enough else 2 * n), self.fewest_products)
            if is_enough or worth == MAX_PRODUCTS:
                return dz, db
        self.expected = max(FORGETTING * self.expected, self.fewest_products)
        self.n_factors += 1
        if by_rows < by_levels:
            assert places is not None
            weight = self.rows.curvature[places]
            return solve_by_rows(self.row_products, places, weight, right, right_bias)
        return solve_by_factor(self.rows.curved().hessian(), right, right_bias)

    def _cost_by_levels(self, n: int) -> float:
        D, M = self.tables.n_tables, float(self.tables.n_levels)
        if M > LARGEST_MATRIX or self.tables.pairs:
            return np.inf
        return 0.5 * n * D * (D + 1) + M**3 / 3.0 / MULTIPLICATIONS_PER_ADDITION

    def _cost_by_rows(self, rows: IntArray | None) -> float:
        if rows is None or not 0 < len(rows) <= LARGEST_MATRIX:
            return np.inf
        n, n_new = float(len(rows)), self.row_products.n_new(rows)
        comparisons = 0.5 * n_new**2 * self.tables.n_tables / COMPARISONS_PER_ADDITION
        kernels = sum(pair.multiplications_of_kernel for pair in self.tables.pairs) * (n_new > 0)
        return comparisons + (n**3 / 3.0 + kernels) / MULTIPLICATIONS_PER_ADDITION

    def _products_worth(self, factor: float, n: int) -> int:
        """Return the number of products that cost as much as a factor."""
        codes, levels = n * self.tables.n_tables, self.tables.n_levels
        product = ADDITIONS_PER_CODE * codes + ADDITIONS_PER_LEVEL * levels
        return int(min(factor / product, MAX_PRODUCTS))

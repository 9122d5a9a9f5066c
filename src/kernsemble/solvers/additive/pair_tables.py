r"""Tables of the two-way cells of two columns, and their prior.

Let :math:`\Phi_a` be the explicit features of the levels of a column, as in `tables`, and p the
shares of the training rows at these levels. The features of a pair are the products of those of
its columns, centred on the training rows:

.. math:: \bar\Phi_a = \Phi_a - 1\, p_a^\top \Phi_a, \qquad g = \bar\Phi_a\, Z\, \bar\Phi_b^\top .

A function g is pure: its mean over either column is zero with respect to the product of the
marginal distributions,

.. math:: p_a^\top g = 0, \qquad g\, p_b = 0 ,

so that no part of it is a function of one column. It depends neither on the roots nor on a
purification after the fit.

Features are rotated to the eigenvectors of their covariance,
:math:`\bar\Phi_a^\top \mathrm{diag}(p_a)\, \bar\Phi_a = U_a \Lambda_a U_a^\top` and
:math:`\Psi_a = \bar\Phi_a U_a`. The functions of an axis are then uncorrelated, with variances
:math:`\lambda`. A prior is the variance :math:`v_{ij}` of the features of a pair for independent
columns: with :math:`g = \Psi_a Z \Psi_b^\top`

.. math:: \|w\|^2 = \sum_{ij} Z_{ij}^2 / f_{ij}, \qquad
          v_{ij} = f_{ij} \lambda_{a,i} \lambda_{b,j} .

With :math:`f = 1` rows are compared by :math:`\bar K_a(x, x')\,\bar K_b(x, x')`, the product of
the two centred kernels. Its functions are rough along diagonals: a function that oscillates i times
in one column and j times in the other has a variance of about :math:`1/(ij)^2`. The *isotropic*
prior of order q depends on the sum of both squared frequencies instead,

.. math:: v_{ij} \propto (\mu_{a,i} + \mu_{b,j})^{-q}, \qquad \mu_k = \lambda_1 / \lambda_k ,

as :math:`\mu` are the eigenvalues of the (discrete) Laplace operator of a column whose kernel is
that of stumps, up to a factor. With q = 3/2 functions are as rough as those of stumps in one
column, which have :math:`v_k = \lambda_k`; they are smoother with a larger q.

Categories have no frequencies: a number has a function for each of them, equally smooth, with
:math:`v_{ij} \propto \mu_{a,i}^{1/2 - q} \lambda_{b,j}`, and two columns of categories the product.

For a total curvature W and independent columns the Hessian is diagonal: :math:`1 + W v_{ij}`.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray

RCOND = 1e-9  # smallest relative singular value of the functions of a column
SMALLEST_VARIANCE = 1e-12  # smallest variance of a function, relative to the first one; else 0


@dataclass(frozen=True, eq=False)
class Axis:
    r"""The uncorrelated functions of the levels of a column.

    Attributes
    ----------
    functions : array of shape (n_levels, n_levels)
        :math:`\Psi`, the value of each function (column) at each level (row).
    variances : array of shape (n_levels,)
        The variance :math:`\lambda` of each function over the training rows, the largest first.
    is_ordered : bool
        Whether the levels are ordered, so that functions have frequencies.
    """

    functions: FloatArray
    variances: FloatArray
    is_ordered: bool = True

    @classmethod
    def from_features(cls, features: FloatArray, weight: FloatArray) -> Self:
        """Return the axis of features of levels (rows), given the weight of each level."""
        total = weight.sum()
        p = weight / total if total > 0.0 else np.full(len(weight), 1.0 / len(weight))
        centred = features - p @ features
        variances, U = np.linalg.eigh((centred.T * p) @ centred)
        return cls(centred @ U[:, ::-1], np.maximum(variances[::-1], 0.0))

    @property
    def total_variance(self) -> float:
        """The sum of all variances: the mean distance of two training rows."""
        return float(self.variances.sum())

    @property
    def frequencies(self) -> FloatArray:
        """The variance of the first function over that of each, infinite where it is 0."""
        largest = self.variances.max(initial=0.0)
        found = np.full(len(self.variances), np.inf)
        is_present = self.variances > SMALLEST_VARIANCE * largest
        found[is_present] = largest / self.variances[is_present]
        return found

    def smooth_variances(self, order: float) -> FloatArray:
        """Return the variances of functions of ordered levels, or those of categories."""
        return self.frequencies**-order if self.is_ordered else self.variances

    def scaled(self, factor: float) -> Self:
        """Return the axis of a multiple of the kernel."""
        return replace(
            self,
            functions=np.sqrt(factor) * self.functions,
            variances=factor * self.variances,
        )


@dataclass(frozen=True, eq=False)
class PairTable:
    """The cells of two columns, row by row: level k of the first and l of the second.

    Attributes
    ----------
    rows, columns : Axis
        The functions of both columns.
    factors : array of shape (n_rows, n_columns), or 1
        The factor f of the kernel of each product of two functions.
    """

    rows: Axis
    columns: Axis
    factors: FloatArray | float = 1.0

    @classmethod
    def isotropic(cls, rows: Axis, columns: Axis, order: float) -> Self:
        """Return the table whose prior is isotropic, with the total variance of the product."""
        products = np.outer(rows.variances, columns.variances)
        if rows.is_ordered and columns.is_ordered:
            v = np.add.outer(rows.frequencies, columns.frequencies) ** -order
        else:
            v = np.outer(*(axis.smooth_variances(order - 0.5) for axis in (rows, columns)))
        total = v.sum()
        v *= products.sum() / total if total > 0.0 else 0.0
        return cls(rows, columns, np.divide(v, products, out=np.zeros_like(v), where=v > 0.0))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of levels of both columns."""
        return len(self.rows.functions), len(self.columns.functions)

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return self.shape[0] * self.shape[1]

    @cached_property
    def _scale(self) -> FloatArray | float:
        return np.sqrt(self.factors)

    def weighted(self, weight: float) -> Self:
        """Return the table of a multiple of the kernel."""
        return replace(self, rows=self.rows.scaled(weight))

    def levels_of(self, z: FloatArray) -> FloatArray:
        """Return the values g of all cells."""
        Z = self._scale * z.reshape(self.shape)
        return (self.rows.functions @ Z @ self.columns.functions.T).ravel()

    def edges_of(self, h: FloatArray) -> FloatArray:
        """Return the products of all features with the sums h of cells."""
        products = self.rows.functions.T @ h.reshape(self.shape) @ self.columns.functions
        return (self._scale * products).ravel()

    def squared_norms(self) -> FloatArray:
        """Return the squared norm of the features of each cell."""
        factors = np.broadcast_to(self.factors, self.shape)
        return (self.rows.functions**2 @ factors @ self.columns.functions.T**2).ravel()

    def variances(self) -> FloatArray:
        """Return the variances v of the features for independent columns."""
        return (self.factors * np.outer(self.rows.variances, self.columns.variances)).ravel()

    def squared_norm(self, g: FloatArray) -> float:
        r"""Return the smallest :math:`\|w\|^2` of the values g of all cells."""
        inverses = [
            np.linalg.pinv(each.functions, rcond=RCOND) for each in (self.rows, self.columns)
        ]
        squares = (inverses[0] @ g.reshape(self.shape) @ inverses[1].T) ** 2
        factors = np.broadcast_to(self.factors, self.shape)
        return float((squares[factors > 0.0] / factors[factors > 0.0]).sum())

    @property
    def multiplications_of_kernel(self) -> float:
        """The number of multiplications that `kernel` takes."""
        return float(self.n_cells) ** 2 * self.shape[0]

    def kernel(self) -> FloatArray:
        """Return the kernel between cells, indexed by both levels of rows, then of columns."""
        one, two = self.rows.functions, self.columns.functions
        factors = np.broadcast_to(self.factors, self.shape)
        first = (one[:, np.newaxis] * one).reshape(-1, len(one))
        second = (two * factors[:, np.newaxis]) @ two.T  # (n_rows, n_columns, n_columns)
        return np.asarray(first @ second.reshape(len(one), -1))

    def add_products(
        self, kernel: FloatArray, cells: IntArray, start: int, stop: int, matrix: FloatArray
    ) -> None:
        """Add the kernel between rows at some cells to rows of a matrix, up to its diagonal."""
        first, second = np.divmod(cells.astype(np.intp), self.shape[1])
        _add_products(kernel, *self.shape, first, second, start, stop, matrix)


@jit
def _add_products(
    kernel: FloatArray,
    n_first: int,
    n_second: int,
    first: IntArray,
    second: IntArray,
    start: int,
    stop: int,
    matrix: FloatArray,
) -> None:
    for i in range(start, stop):
        a, b = n_first * first[i], n_second * second[i]
        for t in range(i + 1):
            matrix[i, t] += kernel[a + first[t], b + second[t]]

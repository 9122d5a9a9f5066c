r"""Tables of the two-way cells of two columns, with the product of two kernels as their prior.

Let :math:`\Phi_a` be the explicit features of the levels of a column, as in `tables`, and p the
shares of the training rows at these levels. The features of a pair are the products of those of
its columns, centred on the training rows:

.. math:: \bar\Phi_a = \Phi_a - 1\, p_a^\top \Phi_a, \qquad
          g = \bar\Phi_a\, Z\, \bar\Phi_b^\top, \qquad \|w\|^2 = \|Z\|_F^2 ,

so that rows are compared by :math:`\bar K_a(x, x')\,\bar K_b(x, x')`, the product of the two
centred kernels. A function g is pure: its mean over either column is zero with respect to the
product of the marginal distributions,

.. math:: p_a^\top g = 0, \qquad g\, p_b = 0 ,

so that no part of it is a function of one column. It depends neither on the roots nor on a
purification after the fit.

Features are rotated to the eigenvectors of their covariance,
:math:`\bar\Phi_a^\top \mathrm{diag}(p_a)\, \bar\Phi_a = U_a \Lambda_a U_a^\top` and
:math:`\Psi_a = \bar\Phi_a U_a`, which leaves the norm as it is. The functions of an axis are then
uncorrelated, with variances :math:`\lambda`, and for independent columns with a total curvature W
the Hessian is diagonal: :math:`1 + W \lambda_{a,i} \lambda_{b,j}`.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Axis:
    r"""The uncorrelated functions of the levels of a column.

    Attributes
    ----------
    functions : array of shape (n_levels, n_levels)
        :math:`\Psi`, the value of each function (column) at each level (row).
    variances : array of shape (n_levels,)
        The variance :math:`\lambda` of each function over the training rows, the largest first.
    """

    functions: FloatArray
    variances: FloatArray

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
    def kernel(self) -> FloatArray:
        """The centred kernel between all levels."""
        return self.functions @ self.functions.T

    def scaled(self, factor: float) -> Self:
        """Return the axis of a multiple of the kernel."""
        return replace(
            self,
            functions=np.sqrt(factor) * self.functions,
            variances=factor * self.variances,
        )


@dataclass(frozen=True, eq=False)
class PairTable:
    """The cells of two columns, row by row: level k of the first and l of the second."""

    rows: Axis
    columns: Axis

    @property
    def shape(self) -> tuple[int, int]:
        """The number of levels of both columns."""
        return len(self.rows.functions), len(self.columns.functions)

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return self.shape[0] * self.shape[1]

    def weighted(self, weight: float) -> Self:
        """Return the table of a multiple of the kernel."""
        return replace(self, rows=self.rows.scaled(weight))

    def levels_of(self, z: FloatArray) -> FloatArray:
        """Return the values g of all cells."""
        return (self.rows.functions @ z.reshape(self.shape) @ self.columns.functions.T).ravel()

    def edges_of(self, h: FloatArray) -> FloatArray:
        """Return the products of all features with the sums h of cells."""
        return (self.rows.functions.T @ h.reshape(self.shape) @ self.columns.functions).ravel()

    def squared_norms(self) -> FloatArray:
        """Return the squared norm of the features of each cell."""
        norms = [(axis.functions**2).sum(axis=1) for axis in (self.rows, self.columns)]
        return np.outer(*norms).ravel()

    def variances(self) -> FloatArray:
        r"""Return :math:`\lambda_{a,i}\lambda_{b,j}`, the variances for independent columns."""
        return np.outer(self.rows.variances, self.columns.variances).ravel()

    def add_products(self, cells: IntArray, start: int, stop: int, matrix: FloatArray) -> None:
        """Add the kernel between rows at some cells to rows of a matrix, up to its diagonal."""
        first, second = np.divmod(cells.astype(np.intp), self.shape[1])
        _add_products(self.rows.kernel, self.columns.kernel, first, second, start, stop, matrix)


@jit
def _add_products(
    one: FloatArray,
    two: FloatArray,
    first: IntArray,
    second: IntArray,
    start: int,
    stop: int,
    matrix: FloatArray,
) -> None:
    for i in range(start, stop):
        a, b = one[first[i]], two[second[i]]
        for t in range(i + 1):
            matrix[i, t] += a[first[t]] * b[second[t]]

r"""Kernel ridge regression: the squared loss on a kernel matrix, solved by one factorisation.

.. math:: \min_{f, b}\; \tfrac12 \|f\|^2 + \tfrac12 \textstyle\sum_i C_i (y_i - f(x_i) - b)^2

With :math:`A = K + \mathrm{diag}(1/C)`, :math:`t = A^{-1}\mathbf 1` and

.. math:: P = A^{-1} - \frac{t t^\top}{\mathbf 1^\top t}, \qquad
          \beta = P y, \qquad b = \frac{t^\top y}{\mathbf 1^\top t} ,

the function is :math:`f(x) = \sum_i \beta_i K(x_i, x) + b`. Every target is one more column of y.
The machine that is fitted without the rows of a fold F predicts there

.. math:: y_F - (P_{FF})^{-1} \beta_F ,

without a refit (Allen 1974; An, Liu & Venkatesh 2007). The factor takes :math:`n^3/3` operations,
and P, which all folds share, twice as many. For a single fold P is not needed: if its rows are the
last and :math:`A = U^\top U`, with :math:`S = U_{FF}^\top U_{FF}`

.. math:: (P_{FF})^{-1} \beta_F = S \beta_F + S t_F \, \frac{t_F^\top S \beta_F}
          {\mathbf 1^\top t - t_F^\top S t_F} .
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import solve

from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import short_repr
from kernsemble.solvers.cholesky import factor_in_place, invert_in_place, solve_with_factor

CONSTANTS = (0.0, 1.0, 1e2, 1e4)  # added to K, in units of its mean absolute diagonal value


@dataclass(frozen=True, eq=False)
class Ridge:
    r"""The factor of :math:`K + \mathrm{diag}(1/C)`, which serves every target.

    Attributes
    ----------
    factor : array of shape (n, n)
        Cholesky factor in one triangle, which LAPACK reads by columns.
    t : array of shape (n,)
        :math:`A^{-1}\mathbf 1`.
    strengths : array of shape (n,)
        The strengths :math:`C_i`, all positive.
    """

    factor: FloatArray
    t: FloatArray
    strengths: FloatArray

    def __repr__(self) -> str:
        return short_repr(self)

    @classmethod
    def from_matrix(
        cls, K: FloatArray, strengths: FloatArray, out: FloatArray | None = None
    ) -> Self:
        """Factor a kernel matrix, in its precision.

        A constant is added to a matrix that is definite only between coefficients that sum to
        zero, which does not change the solution.

        Parameters
        ----------
        K : array of shape (n, n)
            Symmetric kernel matrix.
        strengths : array of shape (n,)
            The strengths :math:`C_i`; all must be positive.
        out : array of shape (n, n), optional
            Memory for the factor; `K` itself, if it is no longer needed.
        """
        unit = float(np.abs(K.diagonal()).mean()) or 1.0
        ridge = (1.0 / strengths).astype(K.dtype)
        if out is K:
            A = _with_diagonal(K, ridge)
            return cls._from_factor(A, factor_in_place(A), strengths)
        for constant in CONSTANTS:
            A = np.add(K, K.dtype.type(constant * unit), out=out, order="C")
            failed = factor_in_place(_with_diagonal(A, ridge))
            if not failed:
                break
        return cls._from_factor(A, failed, strengths)

    @classmethod
    def _from_factor(cls, factor: FloatArray, failed: int, strengths: FloatArray) -> Self:
        if failed:
            raise NotDefiniteError(
                f"the kernel matrix is not positive definite (leading minor {failed}): use a "
                "smaller C, float64 rows, or a definite kernel"
            )
        ones = np.ones((len(factor), 1), factor.dtype)
        return cls(factor, solve_with_factor(factor, ones)[:, 0], strengths)

    def solve(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        r"""Return the coefficients :math:`\beta` and the bias b of every target (columns)."""
        u = solve_with_factor(self.factor, y)
        bias = u.sum(axis=0) / self.t.sum()
        return u - np.outer(self.t, bias), bias

    @cached_property
    def projection(self) -> FloatArray:
        """The matrix P, of which only one triangle is valid; it takes the memory of the factor.

        The factor is no longer valid afterwards.
        """
        P = invert_in_place(self.factor)
        rank_one = np.sqrt(self.t.dtype.type(1.0) / self.t.sum()) * self.t
        for start in range(0, len(P), 512):  # without another matrix
            rows = slice(start, start + 512)
            P[rows] -= np.outer(rank_one[rows], rank_one)
        return P

    def left_out(
        self, y: FloatArray, beta: FloatArray, folds: Sequence[IntArray]
    ) -> list[FloatArray]:
        """Return the predictions of the rows of each fold by the solution without these rows."""
        P, found = self.projection, list[FloatArray]()
        for fold in folds:
            order = np.argsort(fold, kind="stable")
            rows, predicted = fold[order], np.empty((len(fold), y.shape[1]))
            block = _symmetric(P[np.ix_(rows, rows)])
            left_out = solve(block, beta[rows], assume_a="sym", check_finite=False)
            predicted[order] = y[rows] - left_out
            found.append(predicted)
        return found

    def left_out_last(self, y: FloatArray, beta: FloatArray, n_last: int) -> FloatArray:
        """Return the predictions of the last rows by the solution without them."""
        block = np.triu(self.factor[-n_last:, -n_last:]).astype(np.float64)
        t, mine = self.t[-n_last:], beta[-n_last:]
        S_t, S_beta = block.T @ (block @ t), block.T @ (block @ mine)
        left_out = S_beta + np.outer(S_t, t @ S_beta) / (self.t.sum() - t @ S_t)
        return np.asarray(y[-n_last:] - left_out)

    def left_out_copies(self, y: FloatArray, beta: FloatArray, copies: FloatArray) -> FloatArray:
        r"""Return the leave-one-out prediction of every row, of which there may be several copies.

        A row with m copies has m equal strengths :math:`C_i / m`. The prediction is that of the
        solution without one of them: with the residual :math:`r_i = \beta_i / C_i` and the
        leverage :math:`h_i = 1 - P_{ii} / C_i` of all, :math:`y_i - r_i / (1 - h_i / m)`.
        """
        diagonal = self.projection.diagonal().astype(np.float64)
        leverage = 1.0 - diagonal / self.strengths
        residual = beta / self.strengths[:, np.newaxis]
        kept = 1.0 - leverage / np.maximum(copies, 1.0)
        alone = copies <= 1.0
        kept[alone] = (diagonal / self.strengths)[alone]  # without cancellation
        left_out: FloatArray = y - residual / kept[:, np.newaxis]
        return left_out


class NotDefiniteError(ValueError):
    """A kernel matrix without a Cholesky factor."""


def _with_diagonal(A: FloatArray, diagonal: FloatArray) -> FloatArray:
    A.flat[:: len(A) + 1] += diagonal
    return A


def _symmetric(block: FloatArray) -> FloatArray:
    """Return a matrix whose valid triangle is that of rows not after columns, in full."""
    upper = np.triu(block).astype(np.float64)
    return upper + np.triu(upper, 1).T

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
from typing import Any, Self

import numpy as np
from scipy.linalg import solve

from kernsemble._threads import blocks
from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import short_repr
from kernsemble.solvers.array_modules import between
from kernsemble.solvers.cholesky import HOST, LinearAlgebra

CONSTANTS = (0.0, 1.0, 1e2, 1e4)  # added to K, in units of its mean absolute diagonal value
ROWS_AT_ONCE = 1_024  # rows of a matrix that are added to at a time


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
    algebra : LinearAlgebra
        What computes the factor, and the module of all arrays: NumPy's by default.
    """

    factor: FloatArray
    t: FloatArray
    strengths: FloatArray
    algebra: LinearAlgebra = HOST

    def __repr__(self) -> str:
        return short_repr(self)

    @classmethod
    def from_matrix(
        cls,
        K: FloatArray,
        strengths: FloatArray,
        out: FloatArray | None = None,
        algebra: LinearAlgebra = HOST,
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
        algebra : LinearAlgebra
            What computes the factor, in whose memory K is.
        """
        xp = algebra.xp
        unit = float(xp.abs(K.diagonal() / len(K)).sum()) or 1.0
        strengths = algebra.to_device(strengths)
        limits = np.finfo(K.dtype)  # rows of strengths near 0 have no coefficients
        ridge = (1.0 / xp.maximum(strengths, 2.0 / limits.max)).astype(K.dtype)
        if out is K:
            A = _with_diagonal(K, ridge, xp)
            return cls._from_factor(A, algebra.factor_in_place(A), strengths, algebra)
        A = xp.empty(K.shape, K.dtype) if out is None else out
        for constant in CONSTANTS:
            for span in blocks(len(K), ROWS_AT_ONCE):
                xp.add(K[span], K.dtype.type(constant * unit), out=A[span])
            failed = algebra.factor_in_place(_with_diagonal(A, ridge, xp))
            if not failed:
                break
        return cls._from_factor(A, failed, strengths, algebra)

    @classmethod
    def _from_factor(
        cls, factor: FloatArray, failed: int, strengths: FloatArray, algebra: LinearAlgebra
    ) -> Self:
        if failed:
            raise NotDefiniteError.because(f"leading minor {failed}")
        ones = algebra.xp.ones((len(factor), 1), factor.dtype)
        t = algebra.solve_with_factor(factor, ones)[:, 0].astype(np.float64, copy=False)
        if not 0.0 < (total := float(t.sum())) < np.inf:
            raise NotDefiniteError.because(f"its inverse has the sum {total:g}")
        return cls(factor, t, strengths, algebra)

    def solve(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        r"""Return the coefficients :math:`\beta` and the bias b of every target (columns)."""
        u = self.algebra.solve_with_factor(self.factor, y).astype(np.float64, copy=False)
        bias = u.sum(axis=0) / self.t.sum()
        return u - self.algebra.xp.outer(self.t, bias), bias

    @cached_property
    def projection(self) -> FloatArray:
        """The matrix P, of which only one triangle is valid; it takes the memory of the factor.

        The factor is no longer valid afterwards.
        """
        P, xp = self.algebra.invert_in_place(self.factor), self.algebra.xp
        rank_one = xp.sqrt(1.0 / self.t.sum()) * self.t
        for start in range(0, len(P), 512):  # without another matrix
            rows = slice(start, start + 512)
            P[rows] -= xp.outer(rank_one[rows], rank_one)
        return P

    def left_out(
        self, y: FloatArray, beta: FloatArray, folds: Sequence[IntArray]
    ) -> list[FloatArray]:
        """Return the predictions of the rows of each fold by the solution without these rows."""
        P, xp, found = self.projection, self.algebra.xp, list[FloatArray]()
        for fold in folds:
            order = np.argsort(fold, kind="stable")
            block = _symmetric(between(P, fold[order], fold[order], xp), xp)
            rows, predicted = xp.asarray(fold[order]), xp.empty((len(fold), y.shape[1]))
            predicted[xp.asarray(order)] = y[rows] - _solve_symmetric(block, beta[rows], xp)
            found.append(predicted)
        return found

    def left_out_last(self, y: FloatArray, beta: FloatArray, n_last: int) -> FloatArray:
        """Return the predictions of the last rows by the solution without them."""
        xp = self.algebra.xp
        block = xp.triu(self.factor[-n_last:, -n_last:]).astype(np.float64)
        t, mine = self.t[-n_last:], beta[-n_last:]
        S_t, S_beta = block.T @ (block @ t), block.T @ (block @ mine)
        left_out: FloatArray = y[-n_last:] - S_beta
        left_out -= xp.outer(S_t, t @ S_beta) / (self.t.sum() - t @ S_t)
        return left_out

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

    @classmethod
    def because(cls, reason: str) -> Self:
        """Return the error with its reason and the remedy."""
        return cls(
            f"the kernel matrix is not positive definite ({reason}): use a smaller C, float64 "
            "rows, or a definite kernel"
        )


def _with_diagonal(A: FloatArray, diagonal: FloatArray, xp: Any) -> FloatArray:
    places = xp.arange(len(A))
    A[places, places] += diagonal
    return A


def _symmetric(block: FloatArray, xp: Any) -> FloatArray:
    """Return a matrix whose valid triangle is that of rows not after columns, in full."""
    upper = xp.triu(block).astype(np.float64)
    return upper + xp.triu(upper, 1).T


def _solve_symmetric(A: FloatArray, right: FloatArray, xp: Any) -> FloatArray:
    """Return the solution of symmetric equations, which may be indefinite by rounding."""
    if xp is np:
        return solve(A, right, assume_a="sym", check_finite=False)
    return xp.linalg.solve(A, right)

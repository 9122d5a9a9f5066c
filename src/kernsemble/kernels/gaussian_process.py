"""Kernels as covariances of scikit-learn's Gaussian processes."""

import numpy as np
from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

from kernsemble._typing import ArrayLike, FloatArray
from kernsemble.kernels.base import Kernel


class Covariance(GaussianProcessKernel):
    r"""A definite kernel as the covariance :math:`E f(x) f(x')` of a Gaussian process.

    An ensemble with independent normal weights of its hypotheses is a random function with the
    kernel of the hypotheses as covariance. The kernel has no parameters to tune; combine it with
    scikit-learn's, as in ``ConstantKernel() * covariance + WhiteKernel()``.

    Parameters
    ----------
    kernel : Kernel
        Bound kernel that is positive definite, not only conditionally.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from kernsemble.kernels import Stump
    >>> X, y = [[0.0], [1.0], [3.0]], [0.0, 1.0, 0.0]
    >>> covariance = Stump().bind(X).as_gaussian_process_kernel()
    >>> GaussianProcessRegressor(covariance).fit(X, y).predict([[0.5], [2.0]])
    array([0.5, 0.5])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel.require_definite("a Gaussian process")

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the matrix, and with `eval_gradient` its (empty) gradient."""
        matrix: FloatArray = self.kernel(X, Y)
        return (matrix, np.empty((*matrix.shape, 0))) if eval_gradient else matrix

    def diag(self, X: ArrayLike) -> FloatArray:
        """Return the variances at the rows of `X`."""
        return self.kernel.diagonal(X)

    def is_stationary(self) -> bool:
        """Return False: translations may change the covariance."""
        return False

    def __repr__(self) -> str:
        return f"{self.kernel}.as_gaussian_process_kernel()"

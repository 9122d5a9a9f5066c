"""The top eigenvector of a symmetric operator, given by its products with vectors."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import numpy as np

from kernsemble._typing import FloatArray

Multiply: TypeAlias = Callable[[FloatArray], FloatArray]

LARGEST_DENSE = 32  # largest matrix that is decomposed by LAPACK
BASES = (8, 40, 200)  # sizes of the Lanczos basis, tried in turn
MAX_RESTARTS = 15  # maximum number of restarts with each basis
FRESH = 0.05  # weight of a random vector that is added to the start
TOLERANCE = 1e-10  # relative tolerance of the eigenvalue


class TopEigenvector(NamedTuple):
    """The largest eigenvalue, its eigenvector of length 1, and the number of products used."""

    value: float
    vector: FloatArray
    n_products: int


def top_eigenvector(
    multiply: Multiply,
    n: int,
    start: FloatArray | None = None,
    tol: float = TOLERANCE,
    *,
    bases: Sequence[int] = BASES,
    max_restarts: int = MAX_RESTARTS,
) -> TopEigenvector:
    r"""Find the largest eigenvalue of a symmetric operator :math:`M`, and its eigenvector.

    .. math:: \max_q q^\top M q \quad\text{s.t.}\quad q^\top q = 1

    Restarted Lanczos (ARPACK) on products with vectors, with a larger basis where a smaller one
    does not separate the top eigenvalues; the whole matrix is decomposed only if it is tiny or
    the largest basis fails. The largest eigenvalue is the one farthest to the right, not the
    largest in absolute value.

    Parameters
    ----------
    multiply : callable
        Function that returns :math:`Mv` for a vector v, or a matrix with vectors as columns.
    n : int
        Number of rows of M.
    start : array of shape (n,), optional
        Initial guess, such as the eigenvector of a similar operator.
    tol : float
        Residual norm to stop at, relative to the eigenvalue.
    bases : sequence of int
        Sizes of the Lanczos basis, tried in turn.
    max_restarts : int
        Maximum number of restarts with each basis.

    Returns
    -------
    TopEigenvector
    """
    if n <= LARGEST_DENSE:
        return _decomposed(multiply, n)
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    n_products = 0

    def counted(v: FloatArray) -> FloatArray:
        nonlocal n_products
        n_products += 1
        return multiply(v.ravel())

    operator, guess = LinearOperator((n, n), matvec=counted, dtype=np.float64), _guess(start, n)
    for basis in bases:
        settings = {"ncv": min(basis, n), "maxiter": max_restarts, "tol": tol}
        with suppress(ArpackNoConvergence):
            values, vectors = eigsh(operator, k=1, which="LA", v0=guess, **settings)
            return TopEigenvector(float(values[0]), vectors[:, 0], n_products)
    whole = _decomposed(multiply, n)
    return whole._replace(n_products=n_products + whole.n_products)


def _decomposed(multiply: Multiply, n: int) -> TopEigenvector:
    values, vectors = np.linalg.eigh(multiply(np.eye(n)))
    return TopEigenvector(float(values[-1]), vectors[:, -1], n)


def _guess(start: FloatArray | None, n: int) -> FloatArray:
    """Return a start with a component in every direction, so that none is missed."""
    fresh = np.random.default_rng(0).standard_normal(n)
    fresh /= np.linalg.norm(fresh)
    return fresh if start is None else start / np.linalg.norm(start) + FRESH * fresh

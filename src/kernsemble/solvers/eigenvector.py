r"""The top eigenvector of a symmetric operator that is known by its products."""

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, TypeAlias

import numpy as np

from kernsemble._typing import FloatArray

Multiply: TypeAlias = Callable[[FloatArray], FloatArray]

LARGEST_DENSE = 32  # rows of a matrix that is decomposed whole: less than Lanczos would keep
BASES = (8, 40, 200)  # vectors that Lanczos keeps, more where the top eigenvalues are close
MOST_RESTARTS = 15  # with each of them
FRESH = 0.05  # share of a start that owes nothing to the last eigenvector
TOLERANCE = 1e-10  # of the eigenvalue


class TopEigenvector(NamedTuple):
    """The largest eigenvalue, its eigenvector of length 1, and what it took to find them."""

    value: float
    vector: FloatArray
    n_products: int


def top_eigenvector(
    multiply: Multiply, n: int, start: FloatArray | None = None, tol: float = TOLERANCE
) -> TopEigenvector:
    r"""Find the largest eigenvalue of a symmetric operator :math:`M`, and its eigenvector.

    .. math:: \max_q q^\top M q \quad\text{s.t.}\quad q^\top q = 1

    By restarted Lanczos (ARPACK) on products with vectors, with a larger basis where a smaller one
    cannot tell the top eigenvalues apart; the whole matrix is decomposed only where it is tiny or
    the largest basis fails. The largest is meant with its sign, not by its size.

    Parameters
    ----------
    multiply : callable
        ``multiply(v)`` returns :math:`Mv`; of a matrix of columns too.
    n : int
        The number of rows of M.
    start : array of shape (n,), optional
        A guess, such as the eigenvector of an operator that was nearly the same.
    tol : float
        The share of the eigenvalue that may be missing from the residual.

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
    for basis in BASES:
        settings = {"ncv": min(basis, n), "maxiter": MOST_RESTARTS, "tol": tol}
        with suppress(ArpackNoConvergence):
            values, vectors = eigsh(operator, k=1, which="LA", v0=guess, **settings)
            return TopEigenvector(float(values[0]), vectors[:, 0], n_products)
    whole = _decomposed(multiply, n)
    return whole._replace(n_products=n_products + whole.n_products)


def _decomposed(multiply: Multiply, n: int) -> TopEigenvector:
    values, vectors = np.linalg.eigh(multiply(np.eye(n)))
    return TopEigenvector(float(values[-1]), vectors[:, -1], n)


def _guess(start: FloatArray | None, n: int) -> FloatArray:
    """Return a start with something of every direction, so that none stays unseen."""
    fresh = np.random.default_rng(0).standard_normal(n)
    fresh /= np.linalg.norm(fresh)
    return fresh if start is None else start / np.linalg.norm(start) + FRESH * fresh

r"""Centring, alignment and definiteness of a kernel matrix."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from kernsemble._arguments import check_not_negative
from kernsemble._typing import ArrayLike, FloatArray
from kernsemble._validation import ANY_SHAPE, checked_rows
from kernsemble.kernels.gram import finite_values


def centre(K: FloatArray) -> FloatArray:
    r"""Return :math:`HKH`, :math:`H = I - \tfrac1n 11^\top`: the kernel of centred features.

    Kernels that differ by :math:`f(x) + f(x')` have the same centred matrix.

    Examples
    --------
    >>> from kernsemble.kernels.geometry import centre
    >>> centre([[4.0, 0.0], [0.0, 0.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    K, scale = _unit(_square(K))
    means = K.mean(axis=0)
    centred = K - means - K.mean(axis=1)[:, np.newaxis] + means.mean()
    return finite_values(lambda: scale * centred)


def alignment(K: FloatArray, L: FloatArray) -> float:
    r"""Return the cosine :math:`\langle K, L\rangle_F / (\|K\|_F\|L\|_F)` of two matrices.

    With :math:`yy^\top` it measures how well a kernel fits labels; centre both matrices
    first to ignore the part that a bias fits.

    Examples
    --------
    >>> from kernsemble.kernels.geometry import alignment
    >>> alignment([[1.0, 0.0], [0.0, 1.0]], [[1.0, -1.0], [-1.0, 1.0]])
    0.707
    """
    K, L = (_unit(_square(each, name))[0] for each, name in ((K, "K"), (L, "L")))
    if K.shape != L.shape:
        raise ValueError(f"K has shape {K.shape} and L {L.shape}: pass matrices of the same rows")
    norms = np.linalg.norm(K) * np.linalg.norm(L)
    if norms == 0.0:
        raise ValueError("alignment is undefined: one of the matrices is zero")
    return float(np.vdot(K, L) / norms)


class DefinitenessKind(Enum):
    r"""Definiteness of a symmetric matrix; conditionally means for :math:`\sum\beta_i = 0`."""

    PD = "positive definite"
    PSD = "positive semidefinite"
    CPD = "conditionally positive definite"
    CPSD = "conditionally positive semidefinite"
    INDEFINITE = "indefinite"


@dataclass(frozen=True)
class Definiteness:
    """The definiteness of a matrix, with the eigenvalues that show it."""

    kind: DefinitenessKind
    smallest_eigenvalue: float
    smallest_conditional_eigenvalue: float
    tolerance: float


def definiteness(K: FloatArray, tol: float | None = None) -> Definiteness:
    r"""Return the definiteness of a kernel matrix, in :math:`O(n^3)`.

    The smallest eigenvalue of K is compared with a tolerance, and then that of K between
    vectors that sum to zero. The first of PD, PSD, CPD, CPSD that holds is returned.

    Parameters
    ----------
    K : array of shape (n, n)
        Kernel matrix.
    tol : float, optional
        Largest absolute value of an eigenvalue that counts as zero; by default n times the
        rounding error of the largest one.

    Examples
    --------
    >>> from kernsemble.kernels import Stump
    >>> from kernsemble.kernels.geometry import definiteness
    >>> X = [[0.0], [1.0], [3.0]]
    >>> definiteness(Stump().bind(X)(X)).kind
    <DefinitenessKind.PD: 'positive definite'>
    >>> definiteness(Stump().simplified.bind(X)(X)).kind
    <DefinitenessKind.CPD: 'conditionally positive definite'>
    """
    if tol is not None:
        check_not_negative("tol", tol)
    is_single = getattr(K, "dtype", None) in (np.float16, np.float32)
    rounding = float(np.finfo(np.float32 if is_single else np.float64).eps)
    K, scale = _unit(_square(K))
    if np.abs(K - K.T).max() > 1e4 * rounding * np.abs(K).max():
        raise ValueError("K is not symmetric: pass the kernel matrix of a sample with itself")
    eigenvalues = np.linalg.eigvalsh(K)
    tol = len(K) * rounding * float(np.abs(eigenvalues).max()) if tol is None else tol / scale
    smallest, conditional = float(eigenvalues[0]), _smallest_conditional(K)
    kinds = (
        (DefinitenessKind.PD, smallest > tol),
        (DefinitenessKind.PSD, smallest >= -tol),
        (DefinitenessKind.CPD, conditional > tol),
        (DefinitenessKind.CPSD, conditional >= -tol),
    )
    kind = next((kind for kind, holds in kinds if holds), DefinitenessKind.INDEFINITE)
    if any(np.isinf(scale * each) and np.isfinite(each) for each in (smallest, conditional)):
        raise ValueError("an eigenvalue exceeds the range of floats: scale the kernel matrix")
    return Definiteness(kind, *(scale * each for each in (smallest, conditional, tol)))


def _smallest_conditional(K: FloatArray) -> float:
    """Return the smallest eigenvalue of K between vectors that sum to zero, inf for one row."""
    ones = np.ones((len(K), 1))
    basis = np.linalg.qr(ones, mode="complete").Q[:, 1:]
    return float(np.linalg.eigvalsh(basis.T @ K @ basis).min(initial=np.inf))


def _unit(K: FloatArray) -> tuple[FloatArray, float]:
    """Return a matrix divided by a power of two near its largest value, and that power.

    Products of its values do not overflow, and nothing is rounded but for subnormal numbers.
    """
    largest = float(np.abs(K).max())
    if 1e-100 < largest < 1e100 or largest == 0.0:
        return K, 1.0
    exponent = int(np.frexp(largest)[1]) - 1
    return np.ldexp(K, -exponent), float(np.ldexp(1.0, exponent))


def _square(K: ArrayLike, name: str = "K") -> FloatArray:
    matrix: FloatArray = checked_rows(K, name, dtype=np.float64, **ANY_SHAPE)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"{name} has shape {matrix.shape}: pass a square kernel matrix")
    if not np.isfinite(matrix).all():
        raise ValueError("the kernel matrix contains NaN or infinite values: scale the columns")
    return matrix

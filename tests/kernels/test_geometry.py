"""Centring, alignment, definiteness."""

import numpy as np
import pytest
from cases import random_rows
from numpy.testing import assert_allclose
from sklearn.preprocessing import KernelCenterer

from kernsemble.kernels import alignment, centre, definiteness
from kernsemble.kernels.geometry import DefinitenessKind

Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))


def with_eigenvalues(values):
    return (Q * values) @ Q.T


def test_centring_is_that_of_scikit_learn_and_of_features():
    X = random_rows(8)
    K = X @ X.T
    centred = X - X.mean(axis=0)
    assert_allclose(centre(K), centred @ centred.T, atol=1e-12)
    assert_allclose(centre(K), KernelCenterer().fit_transform(K), atol=1e-12)


def test_centring_ignores_what_is_added_to_rows_and_columns():
    K, f = random_rows(6, 6), np.arange(6.0)
    assert_allclose(centre(K + f + f[:, np.newaxis]), centre(K), atol=1e-12)


def test_alignment_is_a_cosine():
    y = np.array([1.0, -1.0, 1.0])
    assert alignment(np.outer(y, y), np.outer(y, y)) == pytest.approx(1.0)
    assert alignment(np.outer(y, y), -np.outer(y, y)) == pytest.approx(-1.0)
    assert alignment(np.outer(y, y), np.eye(3)) == pytest.approx(1 / np.sqrt(3))
    K, L = random_rows(5, 5), random_rows(5, 5, seed=1)
    assert alignment(3 * K, 0.5 * L) == pytest.approx(alignment(K, L))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3, 4, 5, 6], DefinitenessKind.PD),
        ([0, 2, 3, 4, 5, 6], DefinitenessKind.PSD),
        ([-1, 2, 3, 4, 5, 6], DefinitenessKind.INDEFINITE),
        ([0, 0, 0, 0, 0, 0], DefinitenessKind.PSD),
    ],
)
def test_definiteness_by_eigenvalues(values, kind):
    found = definiteness(with_eigenvalues(values))
    assert found.kind is kind
    assert found.smallest_eigenvalue == pytest.approx(min(values), abs=1e-12)
    assert found.tolerance < 1e-13


@pytest.mark.parametrize(
    ("matrix", "kind"),
    [
        (np.eye(4) - 2.0, DefinitenessKind.CPD),  # one negative direction: the constant
        (np.full((4, 4), -1.0), DefinitenessKind.CPSD),
        (-np.eye(4), DefinitenessKind.INDEFINITE),
        (np.array([[-1.0]]), DefinitenessKind.CPD),  # nothing but the constant
    ],
)
def test_conditional_definiteness(matrix, kind):
    found = definiteness(matrix)
    assert found.kind is kind
    assert found.smallest_eigenvalue < 0


def test_single_precision_has_its_own_tolerance():
    X = np.round(random_rows(30, 2), 1).astype(np.float32)
    assert definiteness(X @ X.T).kind is DefinitenessKind.PSD


def test_the_tolerance_decides():
    assert (
        definiteness(with_eigenvalues([-0.1, 1, 1, 1, 1, 1]), tol=0.2).kind is DefinitenessKind.PSD
    )


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 2.0]], r"\(1, 2\): pass a square kernel matrix"),
        ([1.0], "pass a square kernel matrix"),
        (np.empty((0, 0)), "pass a square kernel matrix"),
        ([[np.nan]], "NaN or infinite"),
    ],
)
def test_invalid_kernel_matrices_are_refused(matrix, message):
    for use in (centre, definiteness, lambda K: alignment(K, K)):
        with pytest.raises(ValueError, match=message):
            use(matrix)


def test_asymmetric_and_zero_matrices():
    with pytest.raises(ValueError, match="not symmetric"):
        definiteness([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="one of the matrices is zero"):
        alignment(np.zeros((2, 2)), np.eye(2))

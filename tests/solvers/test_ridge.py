"""Kernel ridge regression with a bias, and its left-out values without a refit."""

import numpy as np
import pytest
from cases import random_rows, samples
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge

from kernsemble.kernels import Gaussian, Laplacian, Perceptron, Stump
from kernsemble.solvers.ridge import NotDefiniteError, Ridge

N_TARGETS = 3
SEEDS = st.integers(0, 2**16)


def bordered(K, strengths, y):
    """Return coefficients and bias by the linear system of the optimality conditions."""
    n = len(K)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = K + np.diag(1.0 / strengths)
    system[n, n] = 0.0
    found = np.linalg.solve(system, np.vstack([y, np.zeros(y.shape[1])]))
    return found[:n], found[n]


def drawn(n, seed):
    """Return strengths over two orders of magnitude, and several targets."""
    rng = np.random.default_rng(seed)
    return 10.0 ** rng.uniform(-1.0, 1.0, n), rng.normal([0.0, 5.0, -3.0], size=(n, N_TARGETS))


def refitted(K, strengths, y, kept, tested):
    """Return predictions at tested rows by the machine of the kept ones."""
    beta, bias = bordered(K[np.ix_(kept, kept)], strengths[kept], y[kept])
    return K[np.ix_(tested, kept)] @ beta + bias


@given(X=samples(min_rows=2), seed=SEEDS)
def test_the_solution_is_that_of_the_optimality_conditions(X, seed):
    K = Laplacian().bind(X)(X)
    strengths, y = drawn(len(X), seed)
    beta, bias = Ridge.from_matrix(K, strengths).solve(y)
    assert_allclose(K @ beta + beta / strengths[:, np.newaxis] + bias, y, atol=1e-9)
    assert_allclose(beta.sum(axis=0), 0.0, atol=1e-9)
    expected = bordered(K, strengths, y)
    assert_allclose(beta, expected[0], atol=1e-8)
    assert_allclose(bias, expected[1], atol=1e-8)


@pytest.mark.parametrize("C", [0.3, 20.0])
def test_without_the_bias_it_is_the_ridge_regression_of_scikit_learn(C):
    X = random_rows(40)
    K, (_, y) = Gaussian(0.3)(X), drawn(40, 1)
    beta, bias = Ridge.from_matrix(K, np.full(40, C)).solve(y)
    theirs = KernelRidge(alpha=1.0 / C, kernel="precomputed").fit(K, y - bias)
    assert_allclose(beta, theirs.dual_coef_, atol=1e-9)
    assert np.abs(bias).max() > 1.0


@given(X=samples(min_rows=6), seed=SEEDS)
def test_left_out_blocks_are_the_predictions_of_refits(X, seed):
    K = Laplacian().bind(X)(X)
    rng, (strengths, y) = np.random.default_rng(seed), drawn(len(X), seed)
    order = rng.permutation(len(X))
    folds = [np.sort(rows) for rows in np.split(order, [1, 3, len(X) - 1])]  # unequal sizes
    ridge = Ridge.from_matrix(K, strengths)
    beta, _ = ridge.solve(y)
    for rows, found in zip(folds, ridge.left_out(y, beta, folds), strict=True):
        kept = np.delete(np.arange(len(X)), rows)
        assert_allclose(found, refitted(K, strengths, y, kept, rows), atol=1e-8)


@given(seed=SEEDS, n=st.integers(3, 25))
def test_left_out_rows_are_the_predictions_of_refits(seed, n):
    K = Gaussian(0.5)(random_rows(n, seed=seed))
    strengths, y = drawn(n, seed)
    ridge = Ridge.from_matrix(K, strengths)
    beta, _ = ridge.solve(y)
    found = ridge.left_out(y, beta, [np.array([i]) for i in range(n)])
    copies = ridge.left_out_copies(y, beta, np.ones(n))
    for i in range(n):
        kept = np.delete(np.arange(n), i)
        expected = refitted(K, strengths, y, kept, [i])
        assert_allclose(found[i], expected, atol=1e-8)
        assert_allclose(copies[[i]], expected, atol=1e-8)


@given(X=samples(min_rows=4), seed=SEEDS)
def test_the_last_rows_are_left_out_by_the_factor_alone(X, seed):
    K = Laplacian().bind(X)(X)
    strengths, y = drawn(len(X), seed)
    n_last = int(np.random.default_rng(seed).integers(1, len(X)))
    kept, last = np.split(np.arange(len(X)), [len(X) - n_last])
    ridge = Ridge.from_matrix(K, strengths)
    beta, _ = ridge.solve(y)
    expected = refitted(K, strengths, y, kept, last)
    assert_allclose(ridge.left_out_last(y, beta, n_last), expected, atol=1e-8)


@given(seed=SEEDS, n=st.integers(3, 12))
def test_left_out_copies_are_the_predictions_of_refits_without_one_copy(seed, n):
    rng = np.random.default_rng(seed)
    K, copies = Laplacian(0.4)(random_rows(n, seed=seed)), rng.integers(1, 5, n)
    each, y = drawn(n, seed)  # strength of a copy
    ridge = Ridge.from_matrix(K, copies * each)
    beta, _ = ridge.solve(y)
    found = ridge.left_out_copies(y, beta, copies.astype(float))
    repeated = np.repeat(np.arange(n), copies)
    for i in range(n):
        kept = np.delete(repeated, np.flatnonzero(repeated == i)[0])
        beta, bias = bordered(K[np.ix_(kept, kept)], each[kept], y[kept])
        assert_allclose(found[i], K[i, kept] @ beta + bias, atol=1e-8)


@pytest.mark.parametrize("kernel", [Stump(), Perceptron()], ids=repr)
def test_minus_the_distance_has_the_solution_of_the_kernel(kernel):
    X = random_rows(30)
    strengths, y = drawn(30, 2)
    full, distance = (each.bind(X)(X) for each in (kernel, kernel.simplified))
    expected = Ridge.from_matrix(full, strengths)
    beta, bias = expected.solve(y)
    assert np.linalg.eigvalsh(distance + np.diag(1.0 / strengths))[0] < 0.0
    for K in (distance, distance - 7.0):
        found = Ridge.from_matrix(K, strengths)
        same, same_bias = found.solve(y)
        assert_allclose(same, beta, atol=1e-7)
        assert_allclose(same_bias, bias, atol=1e-7)
        rows = [np.arange(4), np.array([9])]
        pairs = zip(found.left_out(y, beta, rows), expected.left_out(y, beta, rows), strict=True)
        for ours, theirs in pairs:
            assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("K", [np.array([[0.0, 1.0], [1.0, 0.0]]), -Gaussian(0.5)(random_rows(9))])
def test_an_indefinite_matrix_is_an_error_that_names_the_remedies(K):
    with pytest.raises(NotDefiniteError, match=r"not positive definite.*smaller C, float64 rows"):
        Ridge.from_matrix(K, np.full(len(K), 100.0))
    Ridge.from_matrix(K, np.full(len(K), 0.01))


def test_in_the_memory_of_the_matrix_the_solution_is_the_same():
    K, (strengths, y) = Laplacian(0.5)(random_rows(20)), drawn(20, 3)
    expected, before = Ridge.from_matrix(K, strengths).solve(y), K.copy()
    assert_allclose(K, before, rtol=0.0)
    ridge = Ridge.from_matrix(K, strengths, out=K)
    assert np.shares_memory(ridge.factor, K)
    for ours, theirs in zip(ridge.solve(y), expected, strict=True):
        assert_allclose(ours, theirs, atol=1e-12)


def test_single_precision_is_that_of_the_matrix():
    K, (strengths, y) = Laplacian(0.5)(random_rows(60)), drawn(60, 4)
    single, double = (Ridge.from_matrix(each, strengths) for each in (np.float32(K), K))
    assert single.factor.dtype == single.projection.dtype == np.float32
    beta, bias = Ridge.from_matrix(np.float32(K), strengths).solve(y)
    expected, expected_bias = Ridge.from_matrix(K, strengths).solve(y)
    assert beta.dtype == np.float64
    assert_allclose(beta, expected, atol=1e-4)
    assert_allclose(bias, expected_bias, atol=1e-4)
    folds = np.array_split(np.arange(60), 4)
    left_out = (each.left_out(y, expected, folds) for each in (single, double))
    for ours, theirs in zip(*left_out, strict=True):
        assert_allclose(ours, theirs, atol=1e-3)

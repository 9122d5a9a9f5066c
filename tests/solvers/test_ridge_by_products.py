"""Conjugate gradients on products find the ridge regression that a factor finds."""

import numpy as np
import pytest
from cases import random_rows
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.kernels import Gaussian, Laplacian, Perceptron, Stump
from kernsemble.solvers import Status
from kernsemble.solvers.ridge import NotDefiniteError, Ridge
from kernsemble.solvers.ridge_by_products import System, centred_factor, solve_by_products

N = 90


def problem(kernel=None, dtype=np.float64, seed=0):
    """Return a matrix, strengths over two orders of magnitude, and targets."""
    X, rng = random_rows(N, seed=seed), np.random.default_rng(seed)
    K = (Laplacian(0.5) if kernel is None else kernel).bind(X)(X).astype(dtype)
    return K, 10.0 ** rng.uniform(-1.0, 1.0, N), rng.normal([0.0, 5.0], size=(N, 2))


def factor_of(K, rank=30, seed=0):
    rng = np.random.default_rng(seed)
    return centred_factor(lambda rows: K[rows], np.diagonal(K), rank, rng, block=7, dtype=K.dtype)


def solve(K, systems, rank=30, **settings):
    return solve_by_products(lambda V: K @ V, factor_of(K, rank), systems, **settings)


@pytest.mark.parametrize("kernel", [Laplacian(0.5), Gaussian(0.3), Stump(), Perceptron()], ids=repr)
@pytest.mark.parametrize("rank", [1, 30, N])
def test_the_solution_is_that_of_the_factor(kernel, rank):
    for K in (problem(kernel)[0], problem(kernel)[0] - 40.0):  # definite on sums of zero only
        _, strengths, y = problem(kernel)
        found = solve(K, [System(strengths, 0.7, y)], rank, tol=1e-10)
        beta, bias = Ridge.from_matrix(K, 0.7 * strengths).solve(y)
        assert found.status is Status.CONVERGED
        assert (found.residual <= 1e-10).all()
        assert_allclose(found.beta, beta, atol=1e-7)
        assert_allclose(found.bias, bias, atol=1e-7)
        assert_allclose(found.values, K @ beta, atol=1e-6)
        assert_allclose(found.beta.sum(axis=0), 0.0, atol=1e-10)


def test_penalties_and_folds_share_the_products():
    K, strengths, y = problem()
    folds = [np.arange(0, 30), np.arange(30, N)]
    left = [np.where(np.isin(np.arange(N), fold), 0.0, strengths) for fold in folds]
    systems = [System(each, C, y) for each in (strengths, *left) for C in (0.1, 3.0)]
    found = solve(K, systems, tol=1e-9)
    alone = [solve(K, [each], tol=1e-9) for each in systems]
    assert found.n_iter == max(each.n_iter for each in alone)
    for place, fold in enumerate(folds, start=1):
        kept = np.delete(np.arange(N), fold)
        for c, C in enumerate((0.1, 3.0)):
            columns = slice(2 * (2 * place + c), 2 * (2 * place + c) + 2)
            ridge = Ridge.from_matrix(K[np.ix_(kept, kept)], C * strengths[kept])
            beta, bias = ridge.solve(y[kept])
            expected = K[np.ix_(fold, kept)] @ beta + bias
            assert_allclose((found.values + found.bias)[fold, columns], expected, atol=1e-6)
            assert_array_equal(found.beta[fold, columns], 0.0)


def test_the_relative_residual_is_that_of_the_optimality_conditions():
    K, strengths, y = problem()
    found = solve(K, [System(strengths, 1.0, y)], rank=5, tol=1e-3)
    rest = K @ found.beta + found.beta / strengths[:, np.newaxis] + found.bias - y
    sizes = np.linalg.norm(rest, axis=0) / np.linalg.norm(y - y.mean(axis=0), axis=0)
    assert_allclose(found.residual, sizes, rtol=1e-9)
    assert (sizes <= 1e-3).all()


def test_a_larger_rank_needs_fewer_products():
    K, strengths, y = problem(Gaussian(0.3))
    counts = [
        solve(K, [System(strengths, 100.0, y)], rank, tol=1e-8).n_iter for rank in (1, 20, 80)
    ]
    assert counts[0] > counts[1] > counts[2]
    assert counts[2] <= 12


@pytest.mark.parametrize("kernel", [Laplacian(0.5), Stump()], ids=repr)
def test_single_precision_stops_where_it_ends(kernel):
    K, strengths, y = problem(kernel)
    systems = [System(strengths, 1.0, y)]
    expected = solve(K, systems, tol=1e-10)
    single = solve(K.astype(np.float32), systems, tol=1e-4)
    assert single.status is Status.CONVERGED
    assert_allclose(single.values + single.bias, expected.values + expected.bias, atol=5e-3)
    impossible = solve(K.astype(np.float32), systems, tol=1e-12)
    assert impossible.status is Status.ROUNDED
    assert (impossible.residual < 1e-4).all()


def test_a_constant_target_and_too_few_products():
    K, strengths, y = problem()
    constant = solve(K, [System(strengths, 1.0, np.full((N, 1), 3.0))])
    assert constant.bias == pytest.approx([3.0])
    assert_array_equal(constant.beta, 0.0)
    assert constant.n_iter == 0
    stopped = solve(K, [System(strengths, 1.0, y)], rank=1, tol=1e-10, max_products=3)
    assert stopped.status is Status.STOPPED
    assert stopped.residual.max() > 1e-10


def test_an_interrupt_keeps_the_coefficients_that_were_reached():
    K, strengths, y = problem()
    systems, seen = [System(strengths, 1.0, y)], []

    def watch(n_products, residual):
        seen.append((n_products, residual))
        if n_products == 3:
            raise KeyboardInterrupt

    found = solve(K, systems, rank=1, tol=1e-10, watch=watch)
    assert found.status is Status.INTERRUPTED
    assert [n for n, _ in seen] == [1, 2, 3]
    same = solve(K, systems, rank=1, tol=1e-10, max_products=3)
    assert_allclose(found.beta, same.beta, rtol=1e-12)
    assert_allclose(found.residual, same.residual, rtol=1e-9)
    assert found.residual.max() == pytest.approx(seen[-1][1], rel=1e-6)


def test_an_indefinite_matrix_is_an_error():
    K, strengths, y = problem()
    with pytest.raises(NotDefiniteError, match="not positive definite between coefficients"):
        solve_by_products(lambda V: -K @ V, factor_of(K), [System(strengths, 100.0, y)])


def test_curvature_that_is_rounding_ends_the_run_and_values_that_are_not_finite_are_an_error():
    K, strengths, y = problem(Gaussian(0.01))  # nearly singular
    systems = [System(strengths, 1e12, y)]
    rounded = solve_by_products(lambda V: K @ V - 1e-6 * V, factor_of(K, 5), systems, tol=1e-12)
    assert rounded.status is Status.ROUNDED
    with pytest.raises(NotDefiniteError, match="or not finite"):
        solve_by_products(lambda V: np.nan * V, factor_of(K), systems)

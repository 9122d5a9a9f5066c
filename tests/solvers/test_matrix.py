"""Matrices with rows on demand: the same numbers, the same machines, little memory."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.datasets import make_threenorm, make_xor
from kernsemble.kernels import Laplacian, Perceptron, Stump
from kernsemble.solvers import Status, solve_dual, solve_folds
from kernsemble.solvers.kernel_matrix import Products, RowsOnDemand, WholeMatrix
from kernsemble.solvers.smo import DEFAULT_TUNING


class Source:
    """A matrix that counts the entries that are computed."""

    def __init__(self, K):
        self.K, self.asked = K, []

    def __call__(self, i, j):
        self.asked.append(i)
        return self.K[np.ix_(i, j)]

    def keeping(self, n_kept):
        return RowsOnDemand(self, np.diagonal(self.K).copy(), n_kept)


def symmetric(n, seed):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A + A.T


def bounds(y, C):
    return np.where(y < 0, -C, 0.0), np.where(y > 0, C, 0.0)


@settings(deadline=None, max_examples=50)
@given(n=st.integers(2, 12), n_kept=st.integers(1, 15), seed=st.integers(0, 1000))
def test_rows_on_demand_are_those_of_the_whole(n, n_kept, seed):
    K, rng = symmetric(n, seed), np.random.default_rng(seed)
    whole, demanded = WholeMatrix(K), Source(K).keeping(n_kept)
    assert demanded.size == whole.size
    for _ in range(5):
        rows = rng.permutation(n)[: rng.integers(1, n + 1)]
        weight = rng.normal(size=n)
        assert_array_equal(demanded.block(rows), whole.block(rows))
        assert_allclose(demanded.times(rows, weight), whole.times(rows, weight), atol=1e-12)
        assert_allclose(whole.times(rows, weight), weight[rows] @ K[rows], atol=1e-12)
        part, other = whole.among(rows), demanded.among(rows)
        assert_array_equal(part.block(np.arange(len(rows))), other.block(np.arange(len(rows))))


def test_rows_are_computed_once_while_they_are_kept_and_the_oldest_goes_first():
    source = Source(symmetric(6, 0))
    demanded = source.keeping(3)
    weight = np.ones(6)
    demanded.times(np.array([0, 1, 2]), weight)
    source.asked.clear()
    demanded.times(np.array([0, 2]), weight)
    assert source.asked == []
    demanded.times(np.array([3]), weight)  # in the place of row 1
    source.asked.clear()
    demanded.times(np.array([0, 2, 3]), weight)
    assert source.asked == []
    demanded.times(np.array([1]), weight)
    assert [list(rows) for rows in source.asked] == [[1]]


@pytest.mark.parametrize("n_kept", [2, 10, 60])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("kernel", [Stump(), Perceptron(), Laplacian()], ids=repr)
def test_a_machine_is_the_same_by_rows_on_demand(kernel, C, n_kept):
    X, y = make_threenorm(60, random_state=0)
    y, K = y.astype(float), kernel.bind(X)(X)
    whole = solve_dual(K, y, *bounds(y, C), tol=1e-6)
    demanded = solve_dual(Source(K).keeping(n_kept), y, *bounds(y, C), tol=1e-6)
    assert demanded.status is Status.CONVERGED
    assert demanded.beta.sum() == pytest.approx(0.0, abs=1e-9 * C)
    assert demanded.objective == pytest.approx(whole.objective, rel=1e-6)
    assert_allclose(demanded.residual, y - K @ demanded.beta, atol=1e-9 * max(C, 1.0))


def test_regression_and_weights_are_the_same_by_rows_on_demand():
    X, _ = make_threenorm(50, random_state=0)
    target, K = np.sin(X[:, 0]), Perceptron().bind(X)(X)
    upper = np.arange(50) % 3.0
    whole = solve_dual(K, target, -upper, upper, epsilon=0.1, tol=1e-6)
    demanded = solve_dual(Source(K).keeping(10), target, -upper, upper, epsilon=0.1, tol=1e-6)
    assert demanded.objective == pytest.approx(whole.objective, rel=1e-6)
    assert (demanded.beta[upper == 0] == 0).all()


@pytest.mark.large
def test_a_hard_margin_by_rows_on_demand_is_found_or_refused():
    X, y = make_xor(60, random_state=0)
    y = y.astype(float)
    stumps, boxes = Stump().bind(X)(X), Laplacian().bind(X)(X)
    impossible = solve_dual(Source(stumps).keeping(20), y, *bounds(y, np.inf))
    assert impossible.status is Status.UNBOUNDED
    whole = solve_dual(boxes, y, *bounds(y, np.inf), tol=1e-6)
    demanded = solve_dual(Source(boxes).keeping(20), y, *bounds(y, np.inf), tol=1e-6)
    assert demanded.objective == pytest.approx(whole.objective, rel=1e-6)


def test_limits_and_interrupts_hold_by_rows_on_demand():
    X, y = make_threenorm(60, random_state=0)
    y, K = y.astype(float), Stump().bind(X)(X)
    stopped = solve_dual(Source(K).keeping(10), y, *bounds(y, 1.0), tol=1e-6, max_iter=30)
    assert stopped.status is Status.STOPPED
    assert stopped.n_iter <= 32

    def interrupt(n_iter, violation):
        if n_iter > 20:
            raise KeyboardInterrupt

    halted = solve_dual(Source(K).keeping(10), y, *bounds(y, 1.0), tol=1e-6, watch=interrupt)
    assert halted.status is Status.INTERRUPTED
    assert_allclose(halted.residual, y - K @ halted.beta, atol=1e-9)
    resumed = solve_dual(Source(K).keeping(10), y, *bounds(y, 1.0), tol=1e-6, start=halted)
    assert resumed.objective == pytest.approx(
        solve_dual(K, y, *bounds(y, 1.0), tol=1e-6).objective, rel=1e-6
    )


def test_folds_are_the_same_by_rows_on_demand():
    X, y = make_threenorm(60, random_state=0)
    y, K = y.astype(float), Perceptron().bind(X)(X)
    held_out = np.array_split(np.arange(60), 4)
    settings = (y, *bounds(y, 1.0), [0.1, 1.0, 10.0], held_out)
    whole = solve_folds(K, *settings, tol=1e-6)
    for fold, other in zip(
        whole, solve_folds(Source(K).keeping(20), *settings, tol=1e-6), strict=True
    ):
        assert_allclose(other.decisions, fold.decisions, atol=1e-3)


def test_a_matrix_by_products_has_the_solution_of_the_whole():
    X, y = make_threenorm(150, random_state=0)
    K = Laplacian(0.1)(X)
    products = Products(
        lambda i, j: K[np.ix_(i, j)], lambda rows, weight: weight @ K[rows], np.diagonal(K).copy()
    )
    signs, (lower, upper) = y.astype(float), bounds(y, 1.0)
    expected = solve_dual(K, signs, lower, upper, tol=1e-8)
    found = solve_dual(
        products,
        signs,
        lower,
        upper,
        tol=1e-8,
        tuning=DEFAULT_TUNING._replace(working_rows=40),
    )
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert_allclose(found.beta, expected.beta, atol=1e-5)
    rows = np.arange(0, 150, 2)
    part, whole = products.among(rows), WholeMatrix(K).among(rows)
    assert part.size == whole.size
    some, weight = np.array([4, 1, 7]), np.linspace(-1.0, 1.0, 75)
    assert_array_equal(part.block(some), whole.block(some))
    assert_allclose(part.times(some, weight), whole.times(some, weight), atol=1e-12)
    assert_array_equal(part.times(np.empty(0, dtype=np.intp), weight), 0.0)
    folds = [np.arange(50), np.arange(50, 150)]
    arguments = signs, lower, upper, [0.5, 1.0], folds
    for ours, theirs in zip(
        solve_folds(products, *arguments, tol=1e-8),
        solve_folds(K, *arguments, tol=1e-8),
        strict=True,
    ):
        assert_allclose(ours.decisions, theirs.decisions, atol=1e-5)

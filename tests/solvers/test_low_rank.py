"""Pivoted incomplete Cholesky: interpolation, and the rows that are computed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.solvers.kernel_products import DenseProducts, LowRankProducts
from kernsemble.solvers.low_rank import pivoted_cholesky
from kernsemble.solvers.multiplicative import solve_multiplicative

METHODS = ["greedy", "random"]


def gaussian(A, B, width=4.0):
    return np.exp(-np.square(A[:, None] - B[None]).sum(axis=2) / width)


def rows_of(K, visited=None):
    def compute_rows(rows):
        if visited is not None:
            visited.extend(rows)
        return K[rows]

    return compute_rows


def factor(K, method="greedy", seed=0, **arguments):
    rng = np.random.default_rng(seed)
    arguments = {"tol": 0.0, "method": method, "rng": rng, **arguments}
    return pivoted_cholesky(rows_of(K), np.diagonal(K), **arguments)


@pytest.fixture(name="X")
def sample():
    return np.random.default_rng(0).normal(size=(60, 3))


@pytest.mark.parametrize("block", [1, 7, 100])
@pytest.mark.parametrize("method", METHODS)
def test_a_full_factor_is_exact(X, method, block):
    K = gaussian(X, X, 0.5)
    found = factor(K, method, block=block)
    assert_allclose(found.G @ found.G.T, K, atol=1e-9)
    assert found.error <= 1e-9
    assert len(set(found.pivots)) == found.rank


@pytest.mark.parametrize("method", METHODS)
def test_pivots_are_interpolated_and_the_rest_is_semidefinite(X, method):
    K = gaussian(X, X)
    found = factor(K, method, rank=15, block=4)
    rest = K - found.G @ found.G.T
    assert_allclose(rest[:, found.pivots], 0.0, atol=1e-12)
    assert np.linalg.eigvalsh(rest).min() >= -1e-12
    assert found.error == pytest.approx(np.trace(rest) / np.trace(K))
    nystroem = K[:, found.pivots] @ np.linalg.solve(
        K[np.ix_(found.pivots, found.pivots)], K[found.pivots]
    )
    assert_allclose(found.G @ found.G.T, nystroem, atol=1e-8)
    assert_array_equal(np.triu(found.G[found.pivots], 1), 0.0)


@pytest.mark.parametrize("method", METHODS)
def test_the_trace_that_is_left_never_grows_and_tol_ends_it(X, method):
    K = gaussian(X, X)
    found = factor(K, method, tol=0.05, block=5)
    assert found.errors[0] == 1.0
    assert (np.diff(found.errors) <= 0.0).all()
    assert found.error <= 0.05
    before = found.errors[max(found.rank - (1 if method == "greedy" else 5), 0)]
    assert before > 0.05


@pytest.mark.parametrize("method", METHODS)
def test_a_factor_has_as_much_room_as_the_rank_needs(method):
    X = np.random.default_rng(0).normal(size=(150, 6))
    K = gaussian(X, X, 1.0)
    found = factor(K, method, tol=1e-6)
    assert found.rank > 128
    assert_allclose(found.G @ found.G.T, K, atol=1e-3)


def test_greedy_is_the_plain_algorithm(X):
    K = gaussian(X, X)
    found = factor(K, rank=20)
    rest, G = K.copy(), np.zeros((60, 20))
    for k in range(20):
        pivot = np.argmax(np.diagonal(rest))
        assert found.pivots[k] == pivot
        G[:, k] = rest[:, pivot] / np.sqrt(rest[pivot, pivot])
        rest -= np.outer(G[:, k], G[:, k])
    assert_allclose(found.G, G, atol=1e-9)


def test_random_pivots_come_from_the_generator_alone(X):
    K = gaussian(X, X)
    one, same, other = (factor(K, "random", seed, rank=20, block=8) for seed in (1, 1, 2))
    assert_array_equal(one.pivots, same.pivots)
    assert_array_equal(one.G, same.G)
    assert not np.array_equal(one.pivots, other.pivots)


def test_blocks_do_not_change_the_distribution_of_random_pivots():
    """Pairs of pivots by their exact probabilities; without rejection a quarter were neighbours."""
    X = np.array([[0.0], [0.1], [2.0], [2.1]])
    K = gaussian(X, X)
    exact = np.zeros((4, 4))
    for i in range(4):
        left = np.diagonal(K) - K[i] ** 2
        exact[i] = 0.25 * left / left.sum()
    for block in (1, 4):
        counts, rng = np.zeros((4, 4)), np.random.default_rng(block)
        for _ in range(400):
            found = pivoted_cholesky(
                rows_of(K), np.ones(4), rank=2, tol=0.0, method="random", rng=rng, block=block
            )
            counts[tuple(found.pivots)] += 1 / 400
        assert_allclose(counts, exact, atol=0.08)  # more than four standard deviations
        neighbours = ([0, 1, 2, 3], [1, 0, 3, 2])
        assert counts[neighbours].sum() == pytest.approx(exact[neighbours].sum(), abs=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_only_the_rows_of_pivots_are_visited(X, method):
    K, visited = gaussian(X, X, 0.5), []
    found = pivoted_cholesky(
        rows_of(K, visited),
        np.ones(60),
        rank=20,
        tol=0.0,
        method=method,
        rng=np.random.default_rng(0),
        block=10,
    )
    assert (found.rank, found.n_rows) == (20, len(visited))
    assert set(found.pivots) <= set(visited)
    assert len(visited) == 20 if method == "greedy" else len(visited) <= 40


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", METHODS)
def test_duplicates_and_zeros_end_with_the_rank_found(method, dtype):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(40, 4))
    Z[5] = 0.0  # a row without norm
    Z[20:] = Z[:20]
    found = factor(Z @ Z.T, method, dtype=dtype, rank=30)
    assert found.rank == 4
    assert found.G.dtype == dtype
    assert_allclose(found.G @ found.G.T, Z @ Z.T, atol=1e-9 if dtype == np.float64 else 1e-4)
    nothing = factor(np.zeros((3, 3)), method, dtype=dtype)
    assert (nothing.rank, nothing.n_rows) == (0, 0)
    assert nothing.G.shape == (3, 0)


@pytest.mark.parametrize("method", METHODS)
def test_the_factor_extends_to_new_rows(X, method):
    K, new = gaussian(X, X), np.random.default_rng(1).normal(size=(9, 3))
    found = factor(K, method, rank=25)
    assert_allclose(found.extension(K[:, found.pivots]), found.G, atol=1e-7)
    K_new = gaussian(new, X[found.pivots])
    v = np.random.default_rng(2).normal(size=60)
    by_factor = found.extension(K_new) @ (found.G.T @ v)
    assert_allclose(K_new @ found.coefficients(v), by_factor, atol=1e-7)


def test_updates_on_a_full_factor_are_those_on_the_matrix(X):
    K = gaussian(X, X, 0.5)
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    found = factor(K)
    dense = solve_multiplicative(DenseProducts(K), y, max_iter=15)
    short = solve_multiplicative(LowRankProducts(found.G), y, max_iter=15)
    assert_allclose(short.ensemble.alpha, dense.ensemble.alpha, atol=1e-8)
    new = np.random.default_rng(1).normal(size=(9, 3))
    expected = gaussian(new, X, 0.5) @ (y * dense.ensemble.alpha)
    coefficients = found.coefficients(y * short.ensemble.alpha)
    assert_allclose(gaussian(new, X[found.pivots], 0.5) @ coefficients, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "best"}, "method"),
        ({"rank": 0}, "rank"),
        ({"tol": -1.0}, "tol"),
        ({"block": 0}, "block"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        pivoted_cholesky(rows_of(np.eye(2)), np.ones(2), **arguments)


def test_a_negative_diagonal_is_refused():
    with pytest.raises(ValueError, match="definite kernel"):
        pivoted_cholesky(rows_of(-np.eye(2)), -np.ones(2))

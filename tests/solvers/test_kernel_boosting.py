"""Rounds on pairs against their definition, and eigenvectors against LAPACK."""

import numpy as np
import pytest
from cases import random_rows
from numpy.testing import assert_allclose
from scipy.linalg import eigh

from kernsemble.kernels import Gaussian, Laplacian, Linear, alignment
from kernsemble.solvers.eigenvector import top_eigenvector
from kernsemble.solvers.kernel_boosting import Pairs, PairStatus, alignment_of_features
from kernsemble.solvers.low_rank import factored, pivoted_cholesky

LOSSES = {
    "log": (lambda m: np.log1p(np.exp(-m)), lambda m: 1.0 / (1.0 + np.exp(m))),
    "exp": (lambda m: np.exp(-m), lambda m: np.exp(-m)),
}
X = random_rows(60, 4)
y = np.sign(X[:, 0] + 0.8 * random_rows(60, 1, seed=3)[:, 0])
SIMPLEX = np.sqrt(1.5) * (np.eye(3)[np.arange(60) % 3] - 1.0 / 3.0)
TARGETS = {"two": y[:, np.newaxis], "three": SIMPLEX, "numbers": np.tanh(X[:, [1]])}


# -- the factor of a matrix in memory


def test_a_factor_of_a_singular_matrix_has_as_many_columns_as_its_rank():
    K = Linear()(np.vstack([X, X[:5]]))
    factor = factored(K)
    assert factor.rank == 4
    assert_allclose(factor.G @ factor.G.T, K, atol=1e-10)
    assert_allclose(factor.G[factor.pivots], np.tril(factor.G[factor.pivots]))
    assert factor.error < 1e-10


def test_a_factor_extends_to_new_rows_and_gives_functions_of_norm_one():
    kernel = Laplacian(0.5).bind(X)
    factor, q = factored(kernel(X)), random_rows(60, 1, seed=5)[:, 0]
    c = factor.on_pivots(q / np.linalg.norm(q))
    G_pivots = kernel(X[factor.pivots])
    assert_allclose(c @ G_pivots @ c, 1.0)
    Z = random_rows(7, 4, seed=6)
    K_new = kernel(Z, X[factor.pivots])
    assert_allclose(factor.extension(K_new) @ q / np.linalg.norm(q), K_new @ c, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_a_factor_is_independent_of_scale(scale):
    K = Gaussian(0.5).bind(X)(X)
    assert_allclose(factored(scale * K).G / np.sqrt(scale), factored(K).G, rtol=1e-6, atol=1e-9)


def test_a_factor_of_nothing_has_no_columns():
    assert factored(np.zeros((3, 3))).rank == 0
    with pytest.raises(ValueError, match="NaN or infinite"):
        factored(np.full((2, 2), np.nan))


# -- the top eigenvector


@pytest.mark.parametrize("n", [1, 2, 20, 33, 80])
@pytest.mark.parametrize("is_warm", [False, True])
def test_the_top_eigenvector_is_lapacks(n, is_warm):
    M = random_rows(n, n, seed=n)
    M = M + M.T - 2.0 * n * np.eye(n)  # all eigenvalues negative, the top one small in size
    values, vectors = np.linalg.eigh(M)
    top = top_eigenvector(lambda v: M @ v, n, vectors[:, 0] if is_warm else None)
    assert_allclose(top.value, values[-1], rtol=1e-8)
    assert_allclose(abs(top.vector @ vectors[:, -1]), 1.0, atol=1e-7)


@pytest.mark.parametrize("gap", [0.0, 1e-14, 1e-9, 1e-4])
def test_close_eigenvalues_are_resolved(gap):
    values = np.concatenate([np.linspace(-1.0, 0.5, 40), 1.0 + gap * np.arange(40)])
    basis = np.linalg.qr(random_rows(80, 80, seed=4)).Q
    M = basis * values @ basis.T
    top = top_eigenvector(lambda v: M @ v, 80)
    assert_allclose(top.value, values[-1], rtol=1e-9)
    assert_allclose(M @ top.vector, top.value * top.vector, atol=1e-8)


def test_where_no_basis_is_large_enough_the_whole_matrix_is_decomposed():
    M = np.diag(np.linspace(0.0, 1.0, 90) ** 0.01)
    top = top_eigenvector(lambda v: M @ v, 90, bases=(4,), max_restarts=1)
    assert_allclose(np.abs(top.vector[-1]), 1.0)
    assert top.n_products > 90


def test_a_good_guess_saves_products():
    M = np.diag(np.linspace(0.0, 1.0, 400) ** 0.2)
    cold = top_eigenvector(lambda v: M @ v, 400)
    warm = top_eigenvector(lambda v: M @ v, 400, cold.vector)
    assert warm.n_products < cold.n_products


# -- rounds


def brute_force(C, weight, loss, rounds):
    """Yield K, B, and the loss before each round, in whole matrices by the definition."""
    value, slope = LOSSES[loss]
    T, pairs = C @ C.T, np.outer(weight, weight) / weight.sum() ** 2
    K = np.zeros_like(T)
    for each in (*rounds, None):
        yield K, pairs * slope(T * K) * T, (pairs * value(T * K)).sum()
        if each is not None:
            K = K + each.alpha * np.outer(each.u, each.u)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("step", ["bound", "line-search"])
@pytest.mark.parametrize("target", TARGETS)
def test_rounds_agree_with_their_definition(loss, step, target):
    F, C = factored(Gaussian(0.3).bind(X)(X)).G, TARGETS[target]
    weight = np.random.default_rng(0).integers(1, 4, 60).astype(float)
    pairs = Pairs(F, C, weight, loss, step)
    first, rounds = pairs.loss, [pairs.advance() for _ in range(6)]
    losses = [first, *(each.loss for each in rounds)]
    T = C @ C.T
    states = list(brute_force(C, weight, loss, rounds))
    assert_allclose([state[2] for state in states], losses, rtol=1e-10)
    assert (np.diff(losses) < 0.0).all()
    for (K, B, _), each in zip(states, rounds, strict=False):
        values = np.linalg.eigvalsh(F.T @ B @ F)
        assert_allclose(each.score, values[-1], rtol=1e-8)
        assert_allclose(np.linalg.norm(each.q), 1.0)
        assert_allclose(each.u, F @ each.q)
        gains = B * np.outer(each.u, each.u)
        plus, minus = gains[gains > 0.0].sum(), -gains[gains < 0.0].sum()
        assert_allclose(plus - minus, each.score, rtol=1e-8)
        if step == "bound":
            longest = max(1.0, np.abs(T * np.outer(each.u, each.u)).max())
            assert_allclose(each.alpha, 0.5 * np.log(plus / minus) / longest, rtol=1e-7)
        else:
            alphas = each.alpha * np.array([0.9, 1.0, 1.1])
            pair = np.outer(weight, weight)
            along = [
                (pair * LOSSES[loss][0](T * (K + a * np.outer(each.u, each.u)))).sum()
                for a in alphas
            ]
            height = np.square(each.u).max() * np.square(C).sum(axis=1).max()
            is_longest = each.alpha > 0.999 * 0.5 * np.log(1e6) / height
            assert along[1] < along[0]
            assert is_longest or along[1] < along[2]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e4])
def test_the_loss_falls_at_any_scale_by_at_least_the_bound(loss, scale):
    F, C = factored(Linear()(scale * X)).G, y[:, np.newaxis]
    pairs = Pairs(F, C, np.ones(60), loss)
    losses = [pairs.loss]
    for _ in range(8):
        _, B, _ = next(brute_force(C, np.ones(60), loss, []))
        each = pairs.advance()
        losses.append(each.loss)
        if len(losses) == 2:
            height = max(1.0, np.square(each.u).max())
            gains = B * np.outer(each.u, each.u) / height
            plus, minus = gains[gains > 0.0].sum(), -gains[gains < 0.0].sum()
            assert losses[0] - losses[1] >= (np.sqrt(plus) - np.sqrt(minus)) ** 2 - 1e-14
    assert (np.diff(losses) < 0.0).all()


def test_the_score_is_the_largest_generalised_eigenvalue():
    """On templates that are not the rows: scipy.linalg.eigh(A'BA, G)."""
    kernel, templates = Laplacian(0.4).bind(X), random_rows(40, 4, seed=9)
    A, G = kernel(X, templates), kernel(templates)
    factor = factored(G)
    F = factor.extension(A[:, factor.pivots])
    pairs = Pairs(F, y[:, np.newaxis], np.ones(60), "log")
    rounds = [pairs.advance() for _ in range(5)]
    for (_, B, _), each in zip(
        brute_force(y[:, np.newaxis], np.ones(60), "log", rounds), rounds, strict=False
    ):
        values, vectors = eigh(A.T @ B @ A, G)
        assert_allclose(each.score, values[-1], rtol=1e-8)
        beta = np.zeros(40)
        beta[factor.pivots] = factor.on_pivots(each.q)
        assert_allclose(beta @ G @ beta, 1.0)
        assert_allclose(np.abs(beta @ G @ vectors[:, -1]), 1.0, atol=1e-7)


@pytest.mark.parametrize("step", ["bound", "line-search"])
def test_perfect_alignment_has_a_finite_weight_and_is_reported(step):
    F = np.array([[1.0], [2.0], [-1.0]])
    found = Pairs(F, np.array([[1.0], [1.0], [-1.0]]), np.ones(3), "log", step).advance()
    assert found.status is PairStatus.PERFECT
    assert_allclose(found.alpha, 0.5 * np.log(1e6) / 4.0)
    assert np.isfinite(found.loss)


def test_where_no_base_kernel_is_aligned_there_is_no_round():
    pairs = Pairs(np.ones((4, 1)), np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.ones(4), "exp")
    assert pairs.advance() is None


def test_weights_are_repetitions():
    F, C = factored(Linear()(X)).G, y[:, np.newaxis]
    weight = np.arange(60) % 3 + 1.0
    repeated = np.repeat(np.arange(60), weight.astype(int))
    weighted, copied = (
        Pairs(F, C, weight, "log"),
        Pairs(F[repeated], C[repeated], np.ones(120), "log"),
    )
    for _ in range(4):
        one, other = weighted.advance(), copied.advance()
        assert_allclose([one.alpha, one.loss, one.score], [other.alpha, other.loss, other.score])
        assert_allclose(abs(one.q @ other.q), 1.0)


def test_fewer_pivots_are_a_smaller_space():
    kernel = Gaussian(0.3).bind(X)
    scores = []
    for rank in (5, 20, 60):
        part = pivoted_cholesky(
            lambda rows: kernel(X[rows], X), kernel.diagonal(X), rank=rank, tol=0.0
        )
        scores.append(Pairs(part.G, y[:, np.newaxis], np.ones(60), "log").advance().score)
    assert scores[0] < scores[1] < scores[2] + 1e-12


def test_alignment_of_features_is_that_of_their_matrices():
    Z, C = random_rows(30, 5), random_rows(30, 2, seed=1)
    weight = np.arange(30) % 3 + 1.0
    rows = np.repeat(np.arange(30), weight.astype(int))
    assert_allclose(
        alignment_of_features(Z, C, weight),
        alignment((Z @ Z.T)[np.ix_(rows, rows)], (C @ C.T)[np.ix_(rows, rows)]),
    )
    assert alignment_of_features(np.zeros((30, 2)), C, weight) == 0.0

"""The weights of a vote: optimal, not negative, and independent of how members are repeated."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint, lsq_linear, minimize
from scipy.special import expit, log_softmax, softmax

from kernsemble.solvers.stacking import SHRINKAGE, Stack, influence

SEEDS = st.integers(0, 2**16)
N = 200


def members(seed, n_values=1, n_members=4):
    """Return values of members that are partly right, wrong and noise, their targets, weights."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(N, n_values))
    quality = rng.uniform(-0.5, 1.5, n_members)
    noise = rng.normal(size=(n_members, N, n_values))
    values = quality[:, np.newaxis, np.newaxis] * y + noise + rng.normal(size=(n_members, 1, 1))
    return values, y + 3.0, rng.integers(0, 4, N).astype(float)


def classes(seed, n_classes):
    """Return values of members for classes, the codes of these, and weights."""
    n_values = 1 if n_classes == 2 else n_classes
    values, y, weight = members(seed, n_values)
    rng = np.random.default_rng(seed + 1)
    chance = rng.random(N) < 0.2
    codes = np.int64(y[:, 0] > 3.0) if n_classes == 2 else y.argmax(axis=1)
    return values, np.where(chance, rng.integers(0, n_classes, N), codes), weight


def penalties(values, weight, y=None):
    """Return the factor of half the squared weight of each member, for the squared error with y."""
    share, n = weight / weight.sum(), weight.sum()
    away = values - np.einsum("n,mnk->mk", share, values)[:, np.newaxis]
    if y is None:
        return SHRINKAGE / n * np.einsum("n,mnk->m", share, away**2) / values.shape[2]
    errors = np.einsum("n,mnk->m", share, (y - values) ** 2)
    noise = errors.min() / (share @ (y - share @ y) ** 2).sum()
    return 2.0 * SHRINKAGE / n * noise * np.einsum("n,mnk->m", share, away**2)


def slope(stack, values, codes, weight, n_classes):
    """Return the derivative of the mean log-loss by the weights and the bias."""
    F, share = stack.of(values), weight / weight.sum()
    if n_classes == 2:
        error = expit(F) - (codes == 1)[:, np.newaxis]
    else:
        error = softmax(F, axis=1) - np.eye(n_classes)[codes]
    error *= share[:, np.newaxis]
    return np.tensordot(values, error, axes=2), error.sum(axis=0)


@given(seed=SEEDS, n_values=st.integers(1, 3))
def test_squared_weights_are_those_of_bounded_least_squares(seed, n_values):
    values, y, weight = members(seed, n_values)
    stack = Stack.squared(values, y, weight)
    root = np.sqrt(weight / weight.sum())
    columns = np.concatenate(
        [values, np.repeat(np.eye(n_values)[:, np.newaxis], N, axis=1)]  # a bias per value
    )
    A = np.array([(root[:, np.newaxis] * each).ravel() for each in columns]).T
    ridge = np.eye(len(values), A.shape[1]) * np.sqrt(0.5 * penalties(values, weight, y))[:, None]
    right = np.concatenate([(root[:, np.newaxis] * y).ravel(), np.zeros(len(values))])
    low = [0.0] * len(values) + [-np.inf] * n_values
    oracle = lsq_linear(np.vstack([A, ridge]), right, (low, np.inf), tol=1e-12)
    assert (stack.weights >= 0.0).all()
    assert_allclose(stack.weights, oracle.x[: len(values)], atol=1e-4)
    assert_allclose(stack.bias, oracle.x[len(values) :], atol=1e-4)
    assert stack.loss == pytest.approx(
        float(((A @ oracle.x - right[: len(A)]) ** 2).sum()), rel=1e-4
    )


@given(seed=SEEDS, n_values=st.integers(1, 2))
def test_squared_weights_meet_the_optimality_conditions(seed, n_values):
    values, y, weight = members(seed, n_values)
    stack, share = Stack.squared(values, y, weight), weight / weight.sum()
    error = share[:, np.newaxis] * (stack.of(values) - y)
    gradient = np.tensordot(values, error, axes=2)
    gradient += 0.5 * penalties(values, weight, y) * stack.weights
    assert_allclose(error.sum(axis=0), 0.0, atol=1e-12)
    assert (gradient > -1e-9).all()
    assert_allclose(gradient * stack.weights, 0.0, atol=1e-9)  # complementary slackness
    assert stack.loss == pytest.approx(float(share @ ((stack.of(values) - y) ** 2).sum(axis=1)))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_logistic_weights_meet_the_optimality_conditions(n_classes, seed):
    values, codes, _ = classes(seed, n_classes)
    weight = np.ones(N)
    stack = Stack.logistic(values, codes, weight, n_classes)
    by_weight, by_bias = slope(stack, values, codes, weight, n_classes)
    by_weight += penalties(values, weight) * stack.weights
    assert (stack.weights >= 0.0).all()
    assert (stack.weights > 0.0).any()
    assert_allclose(by_bias, 0.0, atol=1e-6)
    assert (by_weight > -1e-6).all()
    assert_allclose(by_weight * stack.weights, 0.0, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_logistic_weights_have_the_smallest_penalised_log_loss(n_classes):
    values, codes, _ = classes(7, n_classes)
    share, n = np.full(N, 1.0 / N), len(values)
    factors = penalties(values, np.ones(N))

    def log_loss(point):
        F = np.tensordot(point[:n], values, axes=1) + point[n:]
        logs = log_softmax(np.column_stack([np.zeros(N), F]) if n_classes == 2 else F, axis=1)
        return -float(share @ logs[np.arange(N), codes])

    def objective(point):
        return log_loss(point) + 0.5 * float(factors @ point[:n] ** 2)

    stack = Stack.logistic(values, codes, np.ones(N), n_classes)
    start = np.concatenate([np.ones(n), np.zeros(values.shape[2])])
    bounds = LinearConstraint(np.eye(n, len(start)), 0.0, np.inf)
    options = {"maxiter": 300, "ftol": 1e-12}
    oracle = minimize(objective, start, constraints=bounds, method="SLSQP", options=options)
    assert oracle.success
    found = np.concatenate([stack.weights, stack.bias])
    assert stack.loss == pytest.approx(log_loss(found))
    assert objective(found) == pytest.approx(oracle.fun, abs=1e-6)
    assert stack.loss < log_loss(np.zeros(len(start)))
    assert_allclose(stack.weights, oracle.x[:n], atol=5e-3)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_weights_of_rows_count_as_repetition(n_classes):
    if n_classes:
        values, y, weight = classes(3, n_classes)
        known = [n_classes]
        fit = Stack.logistic
    else:
        (values, y, weight), known, fit = members(3), [], Stack.squared
    repeated = np.repeat(np.arange(N), weight.astype(int))
    found = fit(values, y, weight, *known)
    expected = fit(values[:, repeated], y[repeated], np.ones(len(repeated)), *known)
    assert_allclose(found.weights, expected.weights, atol=1e-4)
    assert_allclose(found.bias, expected.bias, atol=1e-4)
    assert found.loss == pytest.approx(expected.loss, rel=1e-6)
    unweighted = fit(values, y, np.ones(N), *known)
    assert np.abs(unweighted.weights - found.weights).max() > 1e-2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_constants_of_members_change_the_bias_alone(n_classes):
    values, codes, weight = classes(3, n_classes)
    constants = np.random.default_rng(4).normal(scale=5.0, size=(len(values), 1, values.shape[2]))
    found = Stack.logistic(values, codes, weight, n_classes)
    same = Stack.logistic(values + constants, codes, weight, n_classes)
    assert_allclose(same.weights, found.weights, atol=1e-6)
    assert_allclose(same.of(values + constants), found.of(values), atol=1e-5)
    assert same.loss == pytest.approx(found.loss)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_a_useless_member_has_no_weight_and_a_repeated_one_shares_its_own(n_classes):
    rng = np.random.default_rng(0)
    y = rng.normal(size=(2_000, max(n_classes, 1) if n_classes != 2 else 1))
    good = y + 0.7 * rng.normal(size=y.shape)
    useless = -y + rng.normal(size=y.shape)  # its best weight would be negative
    constant = np.full(y.shape, 2.0)
    codes = np.int64(y[:, 0] > 0.0) if n_classes == 2 else y.argmax(axis=1)

    def fit(*values):
        ones, stacked = np.ones(len(y)), np.array(values)
        if n_classes:
            return Stack.logistic(stacked, codes, ones, n_classes)
        return Stack.squared(stacked, y, ones)

    alone, all_three = fit(good), fit(useless, good, constant)
    assert alone.weights[0] > 0.3
    assert all_three.weights[1] == pytest.approx(alone.weights[0], rel=1e-2)
    assert_allclose(all_three.weights[0], 0.0, atol=1e-3)
    assert_allclose(all_three.weights[2], 0.0, atol=1e-3 if n_classes else 0.1)  # of rounding
    twice = fit(good, good)
    assert twice.weights.sum() == pytest.approx(alone.weights[0], rel=0.02)
    assert twice.weights[0] == pytest.approx(twice.weights[1], rel=1e-3)
    assert_allclose(
        twice.of(np.array([good, good])), alone.of(good[np.newaxis]), rtol=0.03, atol=0.03
    )


def test_influence_is_the_share_of_weight_times_spread():
    rng = np.random.default_rng(0)
    values = np.array([1.0, 10.0, 5.0])[:, np.newaxis, np.newaxis] * rng.normal(size=(1, 50, 2))
    stack, ones = Stack(np.array([3.0, 0.1, 0.0]), np.zeros(2), 0.0), np.ones(50)
    assert_allclose(influence(stack, values, ones), [0.75, 0.25, 0.0])
    assert_allclose(influence(Stack(np.zeros(3), np.zeros(2), 0.0), values, ones), 0.0)


def test_influence_counts_weights_as_repetition():
    rng = np.random.default_rng(0)
    values, counts = rng.normal(size=(3, 50, 2)), rng.integers(0, 4, 50)
    stack = Stack(np.array([3.0, 0.1, 0.5]), np.zeros(2), 0.0)
    repeated = np.repeat(values, counts, axis=1)
    expected = influence(stack, repeated, np.ones(counts.sum()))
    assert_allclose(influence(stack, values, counts.astype(float)), expected)

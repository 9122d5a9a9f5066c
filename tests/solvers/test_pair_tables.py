"""Tables of pairs against explicit features, the exact solver and kernel ridge regression."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.datasets import make_threenorm
from kernsemble.solvers import Status, solve_dual
from kernsemble.solvers.additive import Tables, newton_system, solve_additive
from kernsemble.solvers.additive.pair_tables import Axis, PairTable
from kernsemble.solvers.additive.quantise import quantise
from kernsemble.solvers.losses import EpsilonInsensitive, Hinge, Logistic, Squared

N = 120
X, y = make_threenorm(N, n_features=4, random_state=0)
X, y = np.round(1.5 * X), y.astype(float)
X[::7, 1] = np.nan
ONE = np.ones(N)
WEIGHT = np.random.default_rng(0).integers(0, 3, size=N).astype(float)
PAIRS = [(0, 1), (2, 3), (1, 3), (0, 2)]
ORDERS = [None, 1.5, None, 2.0]  # of isotropic priors
IS_CATEGORY = np.array([False, False, False, True])
X[:, 3] -= np.nanmin(X[:, 3])


def problem(weight=WEIGHT):
    """Tables of three numbers, one with missing values, and a category, and of their pairs."""
    levels, codes = quantise(X, is_category=IS_CATEGORY, weight=weight)
    measures = [np.diff(each.values) for each in levels]
    roots = [each.middle for each in levels]
    weights = [np.full(each.n_loose, 1.5) for each in levels]
    mains = Tables.from_measures(codes, measures, weights, roots)
    axes = []
    for d, each in enumerate(levels):
        one = Tables.from_measures(codes[[d]], [measures[d]], [weights[d]], [roots[d]])
        phi = np.array([one.levels_of(e) for e in np.eye(one.n_levels)]).T
        axes.append(replace(Axis.from_features(phi, each.weight), is_ordered=d != 3))
    pairs = [
        PairTable(axes[a], axes[b])
        if order is None
        else PairTable.isotropic(axes[a], axes[b], order)
        for (a, b), order in zip(PAIRS, ORDERS, strict=True)
    ]
    pairs = [pair.weighted(0.3) for pair in pairs]
    n_columns = [pair.shape[1] for pair in pairs]
    cells = [
        codes[a].astype(np.uint16) * n + codes[b]
        for (a, b), n in zip(PAIRS, n_columns, strict=True)
    ]
    return mains, mains.with_pairs(np.array(cells), pairs)


def features(tables):
    """The explicit features, a row of z at a time."""
    return np.array([tables.at_rows(tables.levels_of(e)) for e in np.eye(tables.n_levels)]).T


def centred(K, weight):
    """The kernel between features without their mean over weighted rows."""
    p = weight / weight.sum()
    H = np.eye(len(K)) - p
    return H @ K @ H.T


MAINS, TABLES = problem()


def uncorrelated(K, weight):
    """The uncorrelated functions of rows with variance 1, and the variance of each under K."""
    rows, p = np.flatnonzero(weight), weight[weight > 0.0] / weight.sum()
    variances, U = np.linalg.eigh(np.sqrt(np.outer(p, p)) * K[np.ix_(rows, rows)])
    kept = variances > 1e-9 * variances.max()
    variances = variances[kept]
    return K[:, rows] @ (np.sqrt(p)[:, np.newaxis] * U[:, kept]) / variances, variances


def isotropic(K_a, K_b, weight, order, is_ordered):
    """The kernel of a pair whose variances depend on the sum of squared frequencies."""
    (phi_a, var_a), (phi_b, var_b) = (uncorrelated(each, weight) for each in (K_a, K_b))
    first, second = var_a.max() / var_a[:, np.newaxis], var_b.max() / var_b
    v = (first + second) ** -order if is_ordered else first ** (0.5 - order) * var_b
    v *= var_a.sum() * var_b.sum() / v.sum()
    return np.einsum("ij,ni,mi,nj,mj->nm", v, phi_a, phi_a, phi_b, phi_b, optimize=True)


def kernel_of_all_tables():
    """The kernel of columns plus those of pairs, from the centred kernels of columns."""
    each = []
    for d in range(4):
        one = Tables(
            MAINS.codes[[d]], np.array([0, np.diff(MAINS.offsets)[d]]), MAINS.n_ordered[[d]],
            MAINS.root[[d]], MAINS.split(MAINS.scale)[d],
        )  # fmt: skip
        phi = features(one)
        each.append(centred(phi @ phi.T, WEIGHT))
    pairs = [
        each[a] * each[b] if order is None else isotropic(each[a], each[b], WEIGHT, order, b != 3)
        for (a, b), order in zip(PAIRS, ORDERS, strict=True)
    ]
    return sum(each) + 0.3 * sum(pairs)


K = kernel_of_all_tables()


def test_the_features_of_pairs_are_those_of_product_and_isotropic_kernels():
    phi, centre = features(TABLES), np.eye(N) - 1.0 / N
    assert_allclose(centre @ phi @ phi.T @ centre, centre @ K @ centre, atol=1e-9)
    assert_allclose(TABLES.squared_norms(), (phi**2).sum(axis=1), atol=1e-9)
    h = np.random.default_rng(1).normal(size=N)
    assert_allclose(TABLES.edges_of(TABLES.sums(h)), phi.T @ h, atol=1e-9)


def test_any_function_of_a_pair_is_pure_for_the_product_of_the_marginal_distributions():
    z = np.random.default_rng(1).normal(size=TABLES.n_levels)
    g = TABLES.levels_of(z)
    for (a, b), (pair, span) in zip(PAIRS, TABLES.pair_spans, strict=True):
        table = g[span].reshape(pair.shape)
        for axis, d in ((0, a), (1, b)):
            share = np.bincount(TABLES.codes[d], WEIGHT, pair.shape[axis]) / WEIGHT.sum()
            assert_allclose(np.tensordot(share, table, (0, axis)), 0.0, atol=1e-12)


def test_the_variances_are_those_of_the_features_for_independent_columns():
    for (a, b), (pair, _) in zip(PAIRS, TABLES.pair_spans, strict=True):
        shares = [
            np.bincount(TABLES.codes[d], WEIGHT, size) / WEIGHT.sum()
            for d, size in zip((a, b), pair.shape, strict=True)
        ]
        p = np.outer(*shares).ravel()
        phi = np.array([pair.levels_of(e) for e in np.eye(pair.n_cells)]).T
        assert_allclose(p @ phi, 0.0, atol=1e-12)
        assert_allclose((phi.T * p) @ phi, np.diag(pair.variances()), atol=1e-12)


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0, 10.0])
def test_the_squared_loss_is_kernel_ridge_regression_on_the_kernel_of_all_tables(C):
    target = X[:, 0] * X[:, 2] + y
    solution = solve_additive(TABLES, Squared(target, C * WEIGHT), tol=1e-12)
    rows = np.flatnonzero(WEIGHT)
    A = K[np.ix_(rows, rows)] + np.diag(1.0 / (C * WEIGHT[rows]))
    border = np.block([[A, np.ones((len(rows), 1))], [np.ones((1, len(rows))), np.zeros((1, 1))]])
    found = np.linalg.solve(border, np.append(target[rows], 0.0))
    assert_allclose(solution.decisions, K[:, rows] @ found[:-1] + found[-1], atol=1e-6)
    assert_allclose(solution.beta[rows], found[:-1], atol=1e-6 * C)
    objective = 0.5 * found[:-1] @ K[np.ix_(rows, rows)] @ found[:-1]
    objective += 0.5 * C * WEIGHT @ (target - K[:, rows] @ found[:-1] - found[-1]) ** 2
    assert solution.primal == pytest.approx(objective, rel=1e-6)


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("C", [0.05, 0.5, 5.0])
def test_kinked_losses_reach_the_objective_of_the_exact_solver(monkeypatch, C, by_rows):
    setting = ("ADDITIONS_PER_LEVEL", 1e9) if by_rows else ("LARGEST_MATRIX", 0)
    monkeypatch.setattr(newton_system, *setting)  # never products, or never a factor
    losses = (
        Hinge.from_targets(y, C * ONE),
        EpsilonInsensitive.from_targets(X[:, 0] * X[:, 2], C * ONE, 0.1),
    )
    for loss in losses:
        expected = solve_dual(K, loss.p, loss.lower, loss.upper, epsilon=loss.epsilon, tol=1e-9)
        solution = solve_additive(TABLES, loss, tol=1e-7)
        assert solution.status is Status.CONVERGED
        assert (solution.n_factors > 0, solution.n_products > 0) == (by_rows, not by_rows)
        assert solution.dual == pytest.approx(-expected.objective, rel=1e-6)
        decisions = loss.p - expected.residual + expected.bias
        assert_allclose(solution.decisions, decisions, atol=2e-2 * np.abs(decisions).max())


def test_the_gradient_of_the_logistic_loss_vanishes():
    solution = solve_additive(TABLES, Logistic(y, 3.0 * ONE), tol=1e-12)
    assert_allclose(TABLES.edges_of(TABLES.sums(solution.beta)), solution.z, atol=1e-4)
    assert solution.primal < solve_additive(MAINS, Logistic(y, 3.0 * ONE), tol=1e-12).primal


def test_weights_are_repetition():
    rows = np.repeat(np.arange(N), WEIGHT.astype(int))
    weighted = solve_additive(TABLES, Logistic(y, WEIGHT), tol=1e-12)
    copies = Tables(
        TABLES.codes[:, rows], TABLES.offsets, TABLES.n_ordered, TABLES.root, TABLES.scale,
        TABLES.pairs,
    )  # fmt: skip
    repeated = solve_additive(copies, Logistic(y[rows], np.ones(len(rows))), tol=1e-12)
    assert_allclose(weighted.z, repeated.z, atol=1e-5)


def test_descent_does_not_support_pairs():
    with pytest.raises(ValueError, match='use "newton"'):
        solve_additive(TABLES, Hinge.from_targets(y, ONE), method="descent")


def test_the_squared_norm_of_a_pair_is_that_of_its_features():
    z = np.random.default_rng(2).normal(size=TABLES.n_levels)
    for pair, span in TABLES.pair_spans:
        w = np.where(pair.variances() > 1e-12, z[span], 0.0)
        assert pair.squared_norm(pair.levels_of(w)) == pytest.approx(w @ w, rel=1e-6)


def test_frequencies_of_equally_frequent_levels_are_those_of_the_laplace_operator():
    L = 20
    axis = Axis.from_features(np.tri(L), np.ones(L))
    laplace = 2.0 * np.eye(L) - np.eye(L, k=1) - np.eye(L, k=-1)
    laplace[0, 0] = laplace[-1, -1] = 1.0
    expected = np.linalg.eigvalsh(laplace)[1:]
    assert_allclose(axis.frequencies[:-1], expected / expected[0], rtol=1e-9)
    assert np.isinf(axis.frequencies[-1])


def test_functions_of_an_isotropic_prior_are_as_rough_along_diagonals_as_along_columns():
    L = 60
    axis = Axis.from_features(np.tri(L), np.ones(L))

    def rise_along_diagonal(pair):
        """Mean squared rise over 3 and 4 levels of two columns, relative to that over 5 of one."""
        kernel = pair.kernel().reshape(L, L, L, L)  # first, second level of rows, then of columns

        def rise(a, b):
            k = L // 2
            same = kernel[k, k, k, k] + kernel[k + a, k + a, k + b, k + b]
            return same - 2.0 * kernel[k, k + a, k, k + b]

        return rise(3, 4) / rise(5, 0)

    assert rise_along_diagonal(PairTable.isotropic(axis, axis, 1.5)) == pytest.approx(1.0, abs=0.05)
    assert rise_along_diagonal(PairTable(axis, axis)) > 1.15


def test_an_axis_without_weights_is_defined():
    axis = Axis.from_features(np.eye(3), np.zeros(3))
    assert_allclose(axis.functions @ axis.functions.T, np.eye(3) - 1.0 / 3.0, atol=1e-12)
    none = Axis.from_features(np.zeros((3, 3)), np.ones(3))
    assert_allclose(PairTable.isotropic(axis, none, 1.5).levels_of(np.ones(9)), 0.0, atol=1e-12)

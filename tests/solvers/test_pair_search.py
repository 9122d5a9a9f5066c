"""The screen of all pairs against explicit Newton steps, and weights learned by the evidence."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.solvers.additive import Tables, solve_additive
from kernsemble.solvers.additive.evidence import learned_weights
from kernsemble.solvers.additive.pair_screen import Forces, best_pairs, pair_gains
from kernsemble.solvers.additive.pair_tables import Axis, PairTable
from kernsemble.solvers.losses import Hinge, Logistic, Squared

N, L, D = 600, 5, 6
ONE = np.ones(N)


def levels(rng, n=N, D=D):
    """Codes of independent columns, and the axes of their stump kernels."""
    codes = rng.integers(0, L, size=(D, n)).astype(np.uint8)
    phi = np.tri(L)[:, 1:]
    phi = np.column_stack([phi, np.zeros(L)])
    axes = [Axis.from_features(phi, np.bincount(row, minlength=L).astype(float)) for row in codes]
    return codes, axes


def forces_of(rng, codes, planted, C=0.7):
    a, b = planted
    beta = C * (
        rng.normal(size=codes.shape[1]) + 0.8 * np.sign((codes[a] - 2.0) * (codes[b] - 2.0))
    )
    return Forces(beta, np.full(codes.shape[1], C), C, 0.3)


def test_the_gain_is_that_of_a_newton_step_without_what_is_expected_by_chance():
    rng = np.random.default_rng(0)
    codes, axes = levels(rng)
    machines = [forces_of(rng, codes, (1, 4)), forces_of(rng, codes, (0, 2))]
    pairs, gains = best_pairs(codes, axes, machines, D * D)
    for (a, b), gain in zip(pairs, gains, strict=True):
        pair, expected = PairTable(axes[a].scaled(0.3), axes[b]), 0.0
        phi = np.array([pair.levels_of(e) for e in np.eye(L * L)]).T[codes[a] * L + codes[b]]
        for each in machines:
            W = (each.beta**2 / each.C).sum()
            bend = 1.0 + W * pair.variances()
            expected += 0.5 * ((phi.T @ each.beta) ** 2 / bend).sum()
            expected -= 0.5 * (each.unit * W * pair.variances() / bend).sum()
        assert gain == pytest.approx(expected, rel=1e-9)
    assert {frozenset(pair) for pair in pairs[:2].tolist()} == {
        frozenset((1, 4)),
        frozenset((0, 2)),
    }
    assert (np.diff(gains) <= 0.0).all()
    assert (gains > 0.0).all()


def test_the_mean_gain_of_noise_is_zero():
    rng = np.random.default_rng(1)
    codes, axes = levels(rng, D=30)
    pairs = np.array(list(combinations(range(30), 2)))
    noise = Forces(rng.normal(size=N), ONE, 1.0, 0.3).among(np.arange(N), 1.0)
    gains = pair_gains(codes, axes, pairs, [noise])
    assert abs(gains.mean()) < 4.0 * gains.std() / np.sqrt(len(gains))


@pytest.mark.parametrize("columns_per_product", [7, 100])
def test_matrix_products_find_the_same_pairs_as_histograms(columns_per_product):
    rng = np.random.default_rng(2)
    codes, axes = levels(rng, D=25)
    machines = [forces_of(rng, codes, (3, 20))]
    few = best_pairs(
        codes, axes, machines, 5, max_histograms=40, n_functions=L,
        columns_per_product=columns_per_product,
    )  # fmt: skip
    all_pairs = best_pairs(codes, axes, machines, 5)
    assert_array_equal(few[0], all_pairs[0])
    assert_allclose(few[1], all_pairs[1])


def test_a_planted_pair_is_found_on_a_sample_of_the_rows():
    rng = np.random.default_rng(3)
    codes, axes = levels(rng, n=20_000)
    found, _ = best_pairs(codes, axes, [forces_of(rng, codes, (2, 5))], 1, max_rows=1_000)
    assert_array_equal(found, [[2, 5]])


def test_weights_of_rows_are_repetition_in_the_screen():
    rng = np.random.default_rng(4)
    codes, axes = levels(rng)
    times = rng.integers(0, 3, size=N)
    single = forces_of(rng, codes, (0, 1))
    weighted = single._replace(beta=times * single.beta, C=times * single.C)
    rows = np.repeat(np.arange(N), times)
    repeated = single._replace(beta=single.beta[rows], C=single.C[rows])
    one, two = (
        best_pairs(c, axes, [each], 20)
        for c, each in ((codes, weighted), (codes[:, rows], repeated))
    )
    assert_array_equal(one[0], two[0])
    assert_allclose(one[1], two[1])


def learn(tables, loss, unit, weights, variances, n_updates):
    for _ in range(n_updates):
        some = tables.weighted(weights)
        solution = solve_additive(some, loss, tol=1e-9)
        weights = learned_weights(some, weights, variances, [solution], [loss], [unit])
    return weights


def one_table_each(codes, axes):
    """A table of each column, as one of a pair with a column of a single level."""
    none = Tables(
        np.empty((0, codes.shape[1]), dtype=np.uint8), np.zeros(1, dtype=int),
        np.empty(0, dtype=int), np.empty(0, dtype=int), np.empty(0),
    )  # fmt: skip
    single = Axis(np.ones((1, 1)), np.ones(1))
    return none.with_pairs(codes.astype(np.uint16), [PairTable(each, single) for each in axes])


@pytest.mark.large  # too slow without compilation
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_learned_weights_are_the_variances_of_a_normal_prior(C):
    rng = np.random.default_rng(5)
    n, sizes, sigma = 20_000, [2.0, 0.2, 0.0], 0.7
    codes = rng.integers(0, L, size=(3, n)).astype(np.uint8)
    share = [np.bincount(row, minlength=L).astype(float) for row in codes]
    axes = [Axis.from_features(np.eye(L), each) for each in share]
    u = [
        np.sqrt(size) * (z - z.mean())
        for size, z in zip(sizes, np.array([[2, -1, 0, 1, -2]] * 3) / np.sqrt(2.0), strict=True)
    ]
    y = sum(each[code] for each, code in zip(u, codes, strict=True)) + sigma * rng.normal(size=n)
    tables = one_table_each(codes, axes)
    variances = [each.variances for each in axes]
    loss = Squared(y, np.full(n, C))
    weights = learn(tables, loss, C, np.full(3, 1.0 / C), variances, 30)
    expected = np.array([(each**2).sum() / (L - 1) for each in u]) / (C * sigma**2)
    assert_allclose(weights[:2], expected[:2], rtol=0.1)
    assert weights[2] < 1e-2 * weights[1]


@pytest.mark.parametrize("loss", [Logistic, Squared, Hinge])
def test_the_strength_only_scales_learned_weights(loss):
    rng = np.random.default_rng(6)
    codes, axes = levels(rng, D=3)
    y = np.where(codes[0] + rng.normal(size=N) > 2.0, 1.0, -1.0)
    tables, variances = one_table_each(codes, axes), [each.variances for each in axes]
    found = [
        C * learn(tables, loss.from_targets(y, C * ONE), C, np.full(3, 1.0 / C), variances, 4)
        for C in (0.1, 10.0)
    ]
    assert_allclose(found[0], found[1], rtol=1e-2)


def test_several_machines_share_weights():
    rng = np.random.default_rng(7)
    codes, axes = levels(rng, D=2)
    tables, variances = one_table_each(codes, axes), [each.variances for each in axes]
    losses = [Squared(codes[d] + rng.normal(size=N), ONE) for d in (0, 1)]
    solutions = [solve_additive(tables, each) for each in losses]
    weights = np.ones(2)
    both = learned_weights(tables, weights, variances, solutions, losses, [1.0, 1.0])
    twice = learned_weights(
        tables, weights, variances, [*solutions, *solutions], losses * 2, [1.0] * 4
    )
    assert_allclose(both, twice)
    nothing = replace(losses[0], C=0.0 * ONE)
    idle = solve_additive(tables, nothing)
    assert_allclose(learned_weights(tables, weights, variances, [idle], [nothing], [1.0]), weights)


def test_weights_are_shrunk_towards_a_common_one():
    rng = np.random.default_rng(8)
    codes, axes = levels(rng, D=3)
    tables, variances = one_table_each(codes, axes), [each.variances for each in axes]
    loss = Squared(codes[0] + rng.normal(size=N), ONE)
    solution, weights = solve_additive(tables, loss), np.ones(3)

    def shrunk(n_shared):
        return learned_weights(tables, weights, variances, [solution], [loss], [1.0], n_shared)

    alone, some, common = shrunk(0.0), shrunk(2.0), shrunk(np.inf)
    assert_allclose(common, common[0])
    assert_allclose(shrunk(1e-12), alone)
    assert_allclose(shrunk(1e12), common)
    assert ((some - common) * (alone - common) > 0.0).all()
    assert (abs(some - common) < abs(alone - common)).all()

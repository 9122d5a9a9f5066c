"""Multiplicative updates against the exact optimum, and the theorems of Tsang and Kwok."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar, nnls

from kernsemble.solvers.kernel_products import DenseProducts, LowRankProducts, SliceProducts
from kernsemble.solvers.multiplicative import (
    UpdateStatus,
    solve_multiplicative,
    solve_multiplicative_fixed,
)
from kernsemble.solvers.projection import projection_rate

SEEDS = range(6)


def gaussian(X, width=1.0):
    squares = np.square(X[:, None] - X[None]).sum(axis=2)
    return np.exp(-squares / (width * np.square(X - X.mean(axis=0)).sum(axis=1).mean()))


def problem(seed, n=14, n_features=3, width=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return gaussian(X, width), y


def optimum(K, y):
    """The nearest point of a hull to the origin: nonnegative least squares, normalised."""
    values, vectors = np.linalg.eigh(K)
    A = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * y
    alpha = nnls(np.vstack([A, np.ones(len(y))]), np.append(np.zeros(len(A)), 1.0))[0]
    alpha /= alpha.sum()
    return alpha, float(np.square(A @ alpha).sum())


def entropy(a, b):
    """The relative entropy Δ(a, b)."""
    there = a > 0.0
    return float((a[there] * np.log(a[there] / b[there])).sum())


def accepted_steps(K, y, **arguments):
    """The accepted steps, and the solution."""
    steps = []
    solution = solve_multiplicative(DenseProducts(K), y, on_step=steps.append, **arguments)
    return [step for step in steps if step.is_accepted], solution


def iterates(steps, solution):
    return [step.alpha for step in steps] + [solution.last.alpha]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_objective_never_rises_and_discarded_steps_halve_epsilon(seed):
    solution = solve_multiplicative(DenseProducts(problem(seed)[0]), problem(seed)[1])
    history = solution.history
    assert (np.diff(np.append(history.objective, solution.last.objective)) <= 0.0).all()
    assert history.is_accepted.sum() == solution.n_iter > 0
    halved = np.where(history.is_accepted, history.epsilon, history.epsilon / 2.0)
    assert_array_equal(history.epsilon[1:], halved[:-1])
    assert halved[-1] < 0.005 <= history.epsilon[-1]
    assert_allclose(history.target, history.objective / (1.0 + history.epsilon))
    n_infeasible = np.isinf(history.rate).sum()
    assert solution.n_products == 1 + len(history.rate) - n_infeasible


@pytest.mark.parametrize("seed", SEEDS)
def test_machines_agree_with_their_definition(seed):
    K, y = problem(seed)
    steps, solution = accepted_steps(K, y)
    rates = np.array([step.rate for step in steps])
    vote = rates @ np.array([step.alpha for step in steps]) / rates.sum()
    assert_allclose(solution.ensemble.alpha, vote, atol=1e-14)
    assert_allclose(solution.first.alpha, 1.0 / len(y))
    for machine in (solution.first, solution.last, solution.ensemble):
        assert machine.alpha.sum() == pytest.approx(1.0)
        assert_allclose(machine.decisions, K @ (y * machine.alpha), atol=1e-12)
        assert machine.objective == pytest.approx((y * machine.alpha) @ machine.decisions)
        assert machine.margin == pytest.approx((y * machine.decisions).min(), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_machine_bounds_the_optimum_from_both_sides(seed):
    K, y = problem(seed, width=0.2)
    best = optimum(K, y)[1]
    solution = solve_multiplicative(DenseProducts(K), y)
    for machine in (solution.first, solution.last, solution.ensemble):
        assert machine.bound <= best * (1.0 + 1e-9)
        assert machine.objective >= best * (1.0 - 1e-9)
        assert machine.margin <= np.sqrt(best * machine.objective) + 1e-12
    assert solution.lower <= best * (1.0 + 1e-9)
    assert solution.upper >= best * (1.0 - 1e-9)
    assert solution.upper <= solution.last.objective


def test_a_target_that_no_distribution_meets_proves_that_the_optimum_is_near():
    n_infeasible = 0
    for seed in range(12):
        K, y = problem(seed, width=0.02)  # almost orthogonal rows
        best, history = optimum(K, y)[1], solve_multiplicative(DenseProducts(K), y).history
        for epsilon, objective in np.c_[history.epsilon, history.objective][np.isinf(history.rate)]:
            n_infeasible += 1
            assert objective <= (1.0 + epsilon) ** 2 * best * (1.0 + 1e-9)
            assert (1.0 + epsilon) ** 2 <= (1.0 + epsilon) / (1.0 - epsilon)  # the paper's factor
    assert n_infeasible > 12


def test_a_converged_objective_is_within_the_promised_factor_of_the_optimum():
    seen = set()
    for seed in range(30):
        K, y = problem(seed, width=10.0 ** -(seed % 4))
        solution = solve_multiplicative(DenseProducts(K), y, tol=0.01)
        seen.add(solution.status)
        if solution.status is UpdateStatus.CONVERGED:
            assert solution.last.objective <= 1.02**2 * optimum(K, y)[1]
    assert seen == {UpdateStatus.CONVERGED, UpdateStatus.OVERSHOT}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_smaller_tol_brings_the_last_machine_nearer(seed):
    K, y = problem(seed, width=0.2)
    best = optimum(K, y)[1]
    rough, fine = (solve_multiplicative(DenseProducts(K), y, tol=t) for t in (0.02, 1e-5))
    assert best * (1.0 - 1e-9) <= fine.last.objective <= rough.last.objective
    assert fine.last.objective <= 1.02 * best


@pytest.mark.parametrize("seed", SEEDS)
def test_relative_entropy_to_the_optimum_falls_by_that_between_iterates(seed):
    K, y = problem(seed)
    signed, (best_alpha, best) = y[:, None] * K * y, optimum(K, y)
    steps, solution = accepted_steps(K, y)
    n_covered = 0
    for step, after in zip(steps, iterates(steps, solution)[1:], strict=True):
        fall = entropy(best_alpha, step.alpha) - entropy(best_alpha, after)
        slack = step.target - best_alpha @ signed @ step.alpha
        assert after @ signed @ step.alpha == pytest.approx(step.target, rel=1e-8)
        expected = entropy(after, step.alpha) + step.rate * slack  # Pythagoras, with the slack
        assert fall == pytest.approx(expected, rel=1e-6, abs=1e-9)
        if step.objective * (1.0 - step.epsilon) / (1.0 + step.epsilon) >= best:
            n_covered += 1
            assert slack >= -1e-12
            assert fall >= entropy(after, step.alpha) - 1e-9
    assert n_covered > 0


@pytest.mark.parametrize("scale", [1.0, 50.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_number_of_steps_is_at_most_the_bound(seed, scale):
    K, y = problem(seed)
    signed, (best_alpha, _) = y[:, None] * K * y, optimum(K, y)
    steps, _ = accepted_steps(scale * K, y)
    allowed = [step.target >= scale * best_alpha @ signed @ step.alpha for step in steps]
    T = len(steps) if all(allowed) else allowed.index(False)
    nu = min(s.epsilon * s.objective / (1.0 + s.epsilon) for s in steps[:T]) / scale
    assert 0 < T <= np.ceil(2.0 * np.log(len(y)) / nu**2)


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_are_those_of_boosting_the_machines(seed):
    """AdaBoost*, f_t being hypotheses: target, weights, factors, the least margin of the vote."""
    K, y = problem(seed)
    steps, solution = accepted_steps(K, y)
    weight, log_factors, vote = np.full(len(y), 1.0 / len(y)), 0.0, np.zeros(len(y))
    edges = []
    for step in steps:
        assert_allclose(step.alpha, weight, rtol=1e-8)
        hypothesis = K @ (y * weight)
        edges.append(weight @ (y * hypothesis))
        nu = step.epsilon * edges[-1] / (1.0 + step.epsilon)
        assert step.target == pytest.approx(min(edges) - nu, rel=1e-9)

        def loss(c, margins=y * hypothesis - step.target, weight=weight):
            return np.log((weight * np.exp(-c * margins)).sum())

        c = minimize_scalar(loss, bounds=(0.0, 3.0 * step.rate), method="bounded").x
        assert step.rate == pytest.approx(c, rel=1e-3)
        weight = weight * np.exp(-step.rate * y * hypothesis)
        log_factors += np.log(weight.sum()) + step.rate * step.target
        weight /= weight.sum()
        vote += step.rate * hypothesis
    assert_allclose(solution.last.alpha, weight, rtol=1e-8)
    assert_allclose(solution.ensemble.decisions, vote / sum(s.rate for s in steps), rtol=1e-9)
    rates = np.array([step.rate for step in steps])
    mean_target = rates @ [step.target for step in steps] / rates.sum()
    promised = mean_target - (np.log(len(y)) + log_factors) / rates.sum()
    assert solution.ensemble.margin >= promised - 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_dense_low_rank_and_sliced_products_agree(seed):
    rng = np.random.default_rng(seed)
    positions = np.round(rng.normal(size=(12, 5)), 1)  # with ties
    distances = np.abs(positions[:, None] - positions[None]).sum(axis=2)
    constant = 0.5 * np.ptp(positions, axis=0).sum()
    K = constant - distances
    kinds = [DenseProducts(K), SliceProducts(positions, constant)]
    values, vectors = np.linalg.eigh(K)
    kinds.append(LowRankProducts(vectors * np.sqrt(np.maximum(values, 0.0))))
    v = rng.normal(size=12)
    y = np.where(positions[:, 0] > 0.0, 1.0, -1.0)
    solutions = [solve_multiplicative(kind, y, max_iter=20) for kind in kinds]
    for kind, solution in zip(kinds, solutions, strict=True):
        assert_allclose(kind.times(v), K @ v, atol=1e-10)
        assert (kind.n, kind.largest) == (12, pytest.approx(constant))
        assert_allclose(solution.last.alpha, solutions[0].last.alpha, atol=1e-8)
        assert_allclose(solution.ensemble.alpha, solutions[0].ensemble.alpha, atol=1e-8)
    single = DenseProducts(K.astype(np.float32)).times(v)
    assert single.dtype == np.float64
    assert_allclose(single, K @ v, rtol=1e-4, atol=1e-4)


@pytest.mark.large
def test_slices_shared_by_threads_give_the_same_product():
    rng = np.random.default_rng(0)
    positions, v = rng.normal(size=(20_000, 30)), rng.normal(size=20_000)
    few = rng.choice(20_000, 50)
    expected = [300.0 * v.sum() - np.abs(positions[i] - positions).sum(axis=1) @ v for i in few]
    assert_allclose(SliceProducts(positions, 300.0).times(v)[few], expected, rtol=1e-9)


@pytest.mark.parametrize("factor", [0.25, 1024.0])
def test_a_multiple_of_the_kernel_changes_rates_and_objectives_but_no_distribution(factor):
    K, y = problem(0)
    plain, scaled = (solve_multiplicative(DenseProducts(c * K), y) for c in (1.0, factor))
    assert_array_equal(plain.last.alpha, scaled.last.alpha)
    assert_allclose(plain.ensemble.alpha, scaled.ensemble.alpha, rtol=1e-12)
    assert_allclose(factor * plain.history.objective, scaled.history.objective, rtol=1e-12)
    assert_allclose(plain.history.rate, factor * scaled.history.rate, rtol=1e-12)
    assert factor * plain.lower == pytest.approx(scaled.lower)


def test_logarithms_survive_hundreds_of_orders_of_magnitude():
    K, y = problem(1, n=30)
    K[0] = K[:, 0] = 0.0
    K[0, 0] = 1e-3  # almost no norm: all the weight goes there
    fixed = solve_multiplicative_fixed(DenseProducts(K), y, 1e6, 30)
    assert np.isfinite([fixed.last.objective, fixed.ensemble.objective]).all()
    assert fixed.last.alpha.sum() == pytest.approx(1.0)
    start = np.append(np.ones(29), 1e-300)
    solution = solve_multiplicative(DenseProducts(1e4 * problem(1, n=30)[0]), y, start=start)
    assert np.isfinite(solution.history.objective).all()
    even = solve_multiplicative(DenseProducts(1e4 * problem(1, n=30)[0]), y)
    assert solution.last.objective <= 1.5 * even.last.objective  # weight came back to the row


@pytest.mark.parametrize(
    ("log_alpha", "u"),
    [
        ([-0.1, -800.0], [1.0, -1e-3]),
        ([0.0, -1e5], [1.0, -1.0]),
        ([np.log(0.5), np.log(0.5)], [1.0, -1e-12]),
        ([np.log(0.5), np.log(0.5)], [1e-200, -1e-201]),
    ],
)
def test_the_rate_zeroes_the_tilted_mean(log_alpha, u):
    log_alpha, u = np.array(log_alpha), np.array(u)
    rate = projection_rate(log_alpha, u)
    tilted = log_alpha - rate * u
    tilted = np.exp(tilted - tilted.max())
    assert abs(tilted @ u) <= 1e-8 * np.exp(log_alpha) @ u


def test_infinite_and_zero_rates_are_recognised():
    even = np.log([0.5, 0.5])
    assert projection_rate(even, np.array([0.0, 1.0])) == np.inf
    assert projection_rate(even, np.array([-1.0, 1.0])) == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_weight_of_two_is_two_rows(seed):
    K, y = problem(seed)
    rows = np.append(np.arange(14), [0, 3])
    weight = np.where(np.isin(np.arange(14), [0, 3]), 2.0, 1.0)
    once, solution_once = accepted_steps(K, y, start=weight, max_iter=25)
    twice, solution_twice = accepted_steps(K[np.ix_(rows, rows)], y[rows], max_iter=25)
    pairs = zip(iterates(once, solution_once), iterates(twice, solution_twice), strict=True)
    for alpha, doubled in pairs:
        assert_allclose(np.bincount(rows, doubled), alpha, rtol=1e-7)
    total = np.bincount(rows, solution_twice.ensemble.alpha)
    assert_allclose(total, solution_once.ensemble.alpha, rtol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_without_weight_are_absent_but_have_decision_values(seed):
    K, y = problem(seed)
    there = np.arange(14) % 4 > 0
    whole = solve_multiplicative(DenseProducts(K), y, start=there * 3.0)
    part = solve_multiplicative(DenseProducts(K[np.ix_(there, there)]), y[there])
    for a, b in ((whole.last, part.last), (whole.ensemble, part.ensemble)):
        assert (a.alpha[~there] == 0.0).all()
        assert_allclose(a.alpha[there], b.alpha, atol=1e-9)
        assert a.margin == pytest.approx(b.margin, abs=1e-9)
        assert_allclose(a.decisions, K @ (y * a.alpha), atol=1e-12)


def test_one_row_and_one_class_are_solved():
    solution = solve_multiplicative(DenseProducts(np.array([[4.0]])), np.array([-1.0]))
    assert (solution.status, solution.n_iter) == (UpdateStatus.CONVERGED, 0)
    assert (solution.lower, solution.upper) == (4.0, 4.0)
    assert_array_equal(solution.ensemble.alpha, [1.0])
    K, y = problem(0)
    solution = solve_multiplicative(DenseProducts(K), np.ones(len(y)))
    assert solution.upper >= optimum(K, np.ones(len(y)))[1] >= solution.lower > 0.0


def test_twins_of_opposite_classes_are_inseparable():
    K = np.ones((2, 2))
    solution = solve_multiplicative(DenseProducts(K), np.array([1.0, -1.0]))
    assert (solution.status, solution.n_iter) == (UpdateStatus.INSEPARABLE, 0)
    rows = [0, 1, 2, 3, 0, 1, 2]  # three pairs of twins, of which the mean of each is zero
    K = problem(0)[0][np.ix_(rows, rows)]
    y = np.array([1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
    solution = solve_multiplicative(DenseProducts(K), y)
    assert solution.status in (UpdateStatus.INSEPARABLE, UpdateStatus.OVERSHOT)
    assert solution.lower == 0.0
    assert solution.last.objective < 1e-2 * solution.first.objective


def test_zero_and_indefinite_kernels_are_reported():
    y = np.array([1.0, -1.0, 1.0])
    zero = solve_multiplicative(DenseProducts(np.zeros((3, 3))), y)
    assert zero.status is UpdateStatus.INSEPARABLE
    negative = solve_multiplicative(DenseProducts(-np.eye(3)), y)
    assert negative.status is UpdateStatus.INDEFINITE
    K = np.diag([1.0, 1.0, -0.5])  # positive at first
    later = solve_multiplicative(DenseProducts(K), y, first_epsilon=5.0)
    assert later.status is UpdateStatus.INDEFINITE
    assert later.last.objective >= 0.0
    with pytest.raises(ValueError, match="NaN or infinite"):
        solve_multiplicative(DenseProducts(np.full((3, 3), np.nan)), y)


def test_steps_stop_at_max_iter_and_at_an_interrupt():
    K, y = problem(0)
    solution = solve_multiplicative(DenseProducts(K), y, max_iter=3)
    assert (solution.status, solution.n_iter) == (UpdateStatus.STOPPED, 3)
    none = solve_multiplicative(DenseProducts(K), y, max_iter=0)
    assert_array_equal(none.ensemble.alpha, none.first.alpha)
    assert none.history.rate.shape == (0,)

    def interrupt(step):
        if step.n_iter == 3:
            raise KeyboardInterrupt

    interrupted = solve_multiplicative(DenseProducts(K), y, on_step=interrupt)
    assert interrupted.status is UpdateStatus.INTERRUPTED
    assert_array_equal(interrupted.last.alpha, solution.last.alpha)
    assert_array_equal(interrupted.ensemble.alpha, solution.ensemble.alpha)
    fixed = solve_multiplicative_fixed(DenseProducts(K), y, 0.1, 9, on_step=interrupt)
    assert (fixed.status, fixed.n_iter) == (UpdateStatus.INTERRUPTED, 3)


def test_fixed_rates_take_every_step_and_small_ones_descend():
    K, y = problem(0)
    solution = solve_multiplicative_fixed(DenseProducts(K), y, 0.5, 200)
    assert (solution.status, solution.n_iter) == (UpdateStatus.STEPS_TAKEN, 200)
    assert (np.diff(solution.history.objective) <= 0.0).all()
    alpha, total = np.full(len(y), 1.0 / len(y)), np.zeros(len(y))
    for _ in range(200):
        total += alpha / 200
        alpha = alpha * np.exp(-0.5 * y * (K @ (y * alpha)))
        alpha /= alpha.sum()
    assert_allclose(solution.last.alpha, alpha, rtol=1e-9)
    assert_allclose(solution.ensemble.alpha, total, rtol=1e-9)
    assert np.isnan(solution.history.target).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": np.array([1.0, -1.0])}, "pass 2 finite weights"),
        ({"start": np.zeros(2)}, "no positive weight"),
        ({"start": np.ones(3)}, "pass 2 finite weights"),
        ({"tol": 0.0}, "tol"),
        ({"first_epsilon": -1.0}, "first_epsilon"),
        ({"max_iter": -1}, "max_iter"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        solve_multiplicative(DenseProducts(np.eye(2)), np.array([1.0, -1.0]), **arguments)


def test_wrong_arrays_are_named():
    with pytest.raises(ValueError, match="y has shape"):
        solve_multiplicative(DenseProducts(np.eye(2)), np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="square"):
        DenseProducts(np.ones((2, 3)))

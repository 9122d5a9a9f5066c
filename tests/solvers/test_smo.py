"""The dual solver against LIBSVM, by objective and optimality conditions."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.svm import SVC, SVR

from kernsemble.datasets import make_threenorm, make_xor
from kernsemble.kernels import Laplacian, Perceptron, Stump, StumpRegion
from kernsemble.solvers import Solution, Status, smo, solve_dual
from kernsemble.solvers.smo import DualTuning
from kernsemble.solvers.working_pairs import NEARLY

KERNELS = [Stump(), Perceptron().simplified, Laplacian()]
PENALTIES = 2.0 ** np.array([-17, -9, -5, -1, 3, 9, 15])


def class_bounds(y, C):
    return np.minimum(0.0, C * y), np.maximum(0.0, C * y)


def hard_bounds(y):
    return np.where(y < 0, -np.inf, 0.0), np.where(y > 0, np.inf, 0.0)


def check_optimality(K, p, lower, upper, solution, tol, epsilon=0.0):
    """Feasible, the residual and objective as claimed, and no pair that gains more than tol."""
    beta = solution.beta
    assert (lower <= beta).all()
    assert (beta <= upper).all()
    assert abs(beta.sum()) <= 1e-9 * max(np.abs(beta).sum(), 1e-300)
    residual = p - K @ beta
    assert_allclose(solution.residual, residual, atol=1e-6 * max(np.abs(residual).max(), 1.0))
    objective = 0.5 * beta @ K @ beta - p @ beta + epsilon * np.abs(beta).sum()
    assert solution.objective == pytest.approx(objective, rel=1e-6, abs=1e-12)
    gain = residual - np.where(beta >= 0, epsilon, -epsilon)
    loss = residual - np.where(beta > 0, epsilon, -epsilon)
    can_rise, can_fall = beta < NEARLY * upper, beta > NEARLY * lower
    violation = gain[can_rise].max() - loss[can_fall].min()
    assert violation <= tol + 1e-6


def libsvm_objective(machine, K, p, epsilon=0.0):
    beta = np.zeros(len(p))
    beta[machine.support_] = machine.dual_coef_[0]
    return 0.5 * beta @ K @ beta - p @ beta + epsilon * np.abs(beta).sum()


@pytest.mark.large
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("C", PENALTIES)
@pytest.mark.parametrize("balance", [0.5, 0.1])
def test_objective_is_that_of_libsvm(kernel, C, balance):
    X, y = make_threenorm(400, random_state=0)
    keep = np.concatenate([np.flatnonzero(y < 0), np.flatnonzero(y > 0)[: int(400 * balance / 2)]])
    X, y = X[keep], y[keep].astype(float)
    K = kernel.bind(X)(X)
    lower, upper = class_bounds(y, C)
    solution = solve_dual(K, y, lower, upper, tol=1e-6)
    assert solution.status is Status.CONVERGED
    check_optimality(K, y, lower, upper, solution, 1e-6)
    machine = SVC(kernel="precomputed", C=C, tol=1e-6).fit(K, y)
    assert solution.objective == pytest.approx(libsvm_objective(machine, K, y), rel=1e-6)


@given(seed=st.integers(0, 2**31), C=st.sampled_from([0.01, 1.0, 100.0]))
@settings(max_examples=25)
def test_weights_bound_each_coefficient_and_zero_is_absence(seed, C):
    rng = np.random.default_rng(seed)
    X, y = make_threenorm(40, random_state=seed)
    y = y.astype(float)
    y[:2] = -1.0, 1.0
    weight = rng.integers(0, 4, size=40).astype(float)
    weight[:2] = 1.0
    K = Stump().bind(X)(X)
    lower, upper = class_bounds(y, C * weight)
    solution = solve_dual(K, y, lower, upper, tol=1e-7)
    check_optimality(K, y, lower, upper, solution, 1e-7)
    rows = np.repeat(np.arange(40), weight.astype(int))  # weight is repetition
    repeated = solve_dual(K[np.ix_(rows, rows)], y[rows], *class_bounds(y[rows], C), tol=1e-7)
    assert solution.objective == pytest.approx(repeated.objective, rel=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_regression_objective_is_that_of_libsvm(kernel, C, epsilon):
    X, _ = make_threenorm(80, random_state=0)
    target = np.sin(X[:, 0]) + X[:, 1]
    K = kernel.bind(X)(X)
    lower, upper = np.full(80, -C), np.full(80, C)
    solution = solve_dual(K, target, lower, upper, epsilon=epsilon, tol=1e-6)
    check_optimality(K, target, lower, upper, solution, 1e-6, epsilon)
    machine = SVR(kernel="precomputed", C=C, epsilon=epsilon, tol=1e-6).fit(K, target)
    expected = libsvm_objective(machine, K, target, epsilon)
    assert solution.objective == pytest.approx(expected, rel=1e-6)
    assert solution.bias == pytest.approx(machine.intercept_[0], abs=1e-3)


def test_a_general_quadratic_program_agrees_with_scipy():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    K, p = A @ A.T, rng.normal(size=6)
    lower, upper = -rng.uniform(0.1, 1, size=6), rng.uniform(0.1, 1, size=6)
    found = minimize(
        lambda b: 0.5 * b @ K @ b - p @ b,
        np.zeros(6),
        jac=lambda b: K @ b - p,
        bounds=list(zip(lower, upper, strict=True)),
        constraints={"type": "eq", "fun": np.sum, "jac": lambda b: np.ones(6)},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    solution = solve_dual(K, p, lower, upper, tol=1e-9)
    assert solution.objective == pytest.approx(found.fun, rel=1e-7)
    assert_allclose(solution.beta, found.x, atol=1e-5)


@pytest.mark.parametrize("shift", [0.0, 7.0, -3.0])
def test_a_constant_added_to_the_matrix_changes_nothing(shift):
    X, y = make_threenorm(80, random_state=0)
    y, K = y.astype(float), Laplacian().bind(X)(X)
    plain, shifted = (
        solve_dual(matrix, y, *class_bounds(y, 2.0), tol=1e-8) for matrix in (K, K + shift)
    )
    assert_allclose(shifted.beta, plain.beta, atol=1e-5)
    assert shifted.bias == pytest.approx(plain.bias, abs=1e-5)


def test_single_precision_gives_the_same_machine():
    X, y = make_threenorm(120, random_state=0)
    y, K = y.astype(float), Laplacian().bind(X)(X)
    bounds = class_bounds(y, 4.0)
    single = solve_dual(K.astype(np.float32), y, *bounds, tol=1e-5)
    assert_allclose(single.beta, solve_dual(K, y, *bounds, tol=1e-5).beta, atol=1e-2)


@pytest.mark.parametrize("C", [2.0**-5, 1.0, 32.0])
def test_newton_steps_do_not_change_the_solution(C):
    X, y = make_threenorm(120, random_state=0)
    y, K = y.astype(float), Stump().bind(X)(X)
    with_newton = solve_dual(K, y, *class_bounds(y, C), tol=1e-7)
    without = solve_dual(
        K, y, *class_bounds(y, C), tol=1e-7, tuning=DualTuning(entries_before_newton=10**18)
    )
    assert with_newton.objective == pytest.approx(without.objective, rel=1e-8)
    assert with_newton.n_iter <= without.n_iter


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("C", [2.0**-5, 1.0, 32.0])
def test_shrinking_does_not_change_the_solution(C, epsilon, monkeypatch):
    X, y = make_threenorm(200, random_state=0)
    y, K = y.astype(float), Stump().bind(X)(X)
    problem = (K, y, *class_bounds(y, C)) if epsilon == 0 else (K, y, -C + 0 * y, C + 0 * y)
    whole = solve_dual(*problem, epsilon=epsilon, tol=1e-7)
    copied = []
    original = smo._WholeRun.solve_among

    def counted(run, rows, *settings):
        copied.append(len(rows))
        original(run, rows, *settings)

    monkeypatch.setattr(smo._WholeRun, "solve_among", counted)
    tuning = DualTuning(rows_worth_shrinking=0, largest_share=0.95, entries_before_newton=0)
    shrunk = solve_dual(*problem, epsilon=epsilon, tol=1e-7, tuning=tuning)
    assert min(copied) < 190  # some rows were left out
    check_optimality(*problem, shrunk, 1e-7, epsilon)
    assert shrunk.objective == pytest.approx(whole.objective, rel=1e-8)


def test_a_limit_on_steps_holds_while_shrunk():
    X, y = make_threenorm(200, random_state=0)
    y, K = y.astype(float), Stump().bind(X)(X)
    tuning = DualTuning(rows_worth_shrinking=0, largest_share=1.0, entries_per_call=0)
    stopped = solve_dual(K, y, *class_bounds(y, 1.0), tol=1e-6, max_iter=40, tuning=tuning)
    assert stopped.status is Status.STOPPED
    assert stopped.n_iter <= 42
    assert_allclose(stopped.residual, y - K @ stopped.beta, atol=1e-8)


@pytest.mark.parametrize("kernel", [Perceptron(), StumpRegion(2), Laplacian(1.0)], ids=repr)
def test_a_hard_margin_separates_separable_classes(kernel):
    X, y = make_xor()
    y = y.astype(float)
    solution = solve_dual(kernel.bind(X)(X), y, *hard_bounds(y), tol=1e-8)
    assert solution.status is Status.CONVERGED
    values = y - solution.residual + solution.bias
    assert_allclose(y * values, 1.0, atol=1e-5)  # all four support the margin


@pytest.mark.parametrize("n", [4, 40])
@pytest.mark.parametrize("kernel", [Stump(), Stump().simplified, 1e6 * Stump()], ids=repr)
def test_a_hard_margin_without_solution_is_recognised(n, kernel):
    X, y = make_xor(n)
    y = y.astype(float)
    solution = solve_dual(kernel.bind(X)(X), y, *hard_bounds(y), max_iter=100_000)
    assert solution.status is Status.UNBOUNDED


def test_twins_of_both_classes_cannot_be_separated():
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    y = np.array([-1.0, -1.0, 1.0, 1.0])
    K = Perceptron().bind(X)(X)
    assert solve_dual(K, y, *hard_bounds(y)).status is Status.UNBOUNDED
    assert solve_dual(K, y, *class_bounds(y, 10.0)).status is Status.CONVERGED
    assert solve_dual(np.ones((4, 4)), y, *hard_bounds(y)).status is Status.UNBOUNDED


def test_a_stopped_run_can_be_continued():
    X, y = make_threenorm(150, random_state=0)
    y, K = y.astype(float), Stump().bind(X)(X)
    bounds = class_bounds(y, 1.0)
    stopped = solve_dual(K, y, *bounds, tol=1e-6, max_iter=30)
    assert stopped.status is Status.STOPPED
    assert stopped.violation > 1e-6
    assert stopped.n_iter <= 31
    resumed = solve_dual(K, y, *bounds, tol=1e-6, start=stopped)
    assert resumed.status is Status.CONVERGED
    whole = solve_dual(K, y, *bounds, tol=1e-6)
    assert resumed.objective == pytest.approx(whole.objective, rel=1e-8)
    assert solve_dual(K, y, *bounds, tol=1e-6, start=resumed).n_iter == 0


def test_a_watcher_is_called_and_can_end_the_run():
    X, y = make_threenorm(200, random_state=0)
    y, K = y.astype(float), Stump().bind(X)(X)
    seen = []

    def watch(n_iter, violation):
        seen.append((n_iter, violation))
        if len(seen) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        solve_dual(
            K, y, *class_bounds(y, 1e3), tol=1e-12, watch=watch,
            tuning=DualTuning(entries_per_call=0),  # called after every step
        )  # fmt: skip
    assert [n_iter for n_iter, _ in seen] == sorted({n_iter for n_iter, _ in seen})


def test_an_interrupted_run_can_be_continued():
    X, y = make_threenorm(200, random_state=0)
    y, K = y.astype(float), Stump().bind(X)(X)
    bounds = class_bounds(y, 1e3)

    def interrupt(n_iter, violation):
        raise KeyboardInterrupt

    tuning = DualTuning(entries_per_call=0)
    stopped = solve_dual(K, y, *bounds, tol=1e-6, watch=interrupt, tuning=tuning)
    assert stopped.status is Status.INTERRUPTED
    assert_allclose(stopped.residual, y - K @ stopped.beta)
    resumed = solve_dual(K, y, *bounds, tol=1e-6, start=stopped)
    assert resumed.status is Status.CONVERGED
    check_optimality(K, y, *bounds, resumed, 1e-6)


@pytest.mark.parametrize("y", [[1.0, 1.0, 1.0], [-1.0]])
def test_one_class_leaves_all_coefficients_at_zero(y):
    y = np.array(y)
    solution = solve_dual(np.eye(len(y)), y, *class_bounds(y, 1.0))
    assert isinstance(solution, Solution)
    assert_allclose(solution.beta, 0.0)
    assert solution.status is Status.CONVERGED
    assert np.isfinite(solution.bias)


def primal_objective(K, p, lower, upper, epsilon, beta, bias):
    """The primal objective as the docstring of `evidence` states it."""
    values = K @ beta
    above = np.maximum(0.0, p - values - bias - epsilon)
    below = np.maximum(0.0, values + bias - p - epsilon)
    return 0.5 * beta @ values + upper @ above - lower @ below


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("max_iter", [1, 20, None])
def test_the_gap_bounds_the_distance_to_the_optimum(max_iter, epsilon):
    X, y = make_threenorm(80, random_state=0)
    p, K = y.astype(float), Perceptron().bind(X)(X)
    lower, upper = class_bounds(p, 0.5) if epsilon == 0 else (np.full(80, -0.5), np.full(80, 0.5))
    best = solve_dual(K, p, lower, upper, epsilon=epsilon, tol=1e-9)
    solution = solve_dual(K, p, lower, upper, epsilon=epsilon, tol=1e-9, max_iter=max_iter)
    primal = primal_objective(K, p, lower, upper, epsilon, solution.beta, solution.bias)
    assert solution.gap == pytest.approx(primal + solution.objective, abs=1e-9)
    assert solution.objective - best.objective <= solution.gap + 1e-9
    assert primal + best.objective <= solution.gap + 1e-9
    assert best.gap <= 1e-6 * abs(best.objective)


def test_the_gap_of_a_hard_margin_closes():
    X, y = make_threenorm(60, random_state=0)
    y, K = y.astype(float), Laplacian().bind(X)(X)
    early = solve_dual(K, y, *hard_bounds(y), tol=1e-1)
    late = solve_dual(K, y, *hard_bounds(y), tol=1e-6)
    assert 0.0 <= late.gap <= 1e-4 * abs(late.objective) < early.gap < np.inf
    assert early.objective - late.objective <= early.gap

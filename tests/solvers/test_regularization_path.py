"""The whole path of C against the exact solver, and against its own optimality conditions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear

from kernsemble.datasets import make_threenorm
from kernsemble.kernels import Gaussian, Linear, Stump
from kernsemble.solvers import Status, solve_dual
from kernsemble.solvers.kernel_matrix import WholeMatrix
from kernsemble.solvers.regularization_path import Side, follow, solve_regularization_path, state
from kernsemble.solvers.regularization_path.state import PathTuning

KERNELS = [Linear(), Gaussian(gamma=0.1), Stump()]
CUBE = np.array(list(product([-1.0, 1.0], repeat=4)))


def sample(m, seed=0, n_columns=3, share=0.5):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(m, n_columns)), np.where(rng.random(m) < share, 1.0, -1.0)
    y[:2] = -1.0, 1.0
    X[:, 0] += y
    return X, y


def gram(kernel, X):
    return kernel.bind(X)(X)


def exact(K, y, C, weight=None, tol=1e-10):
    bound = C * y * (1.0 if weight is None else weight)
    return solve_dual(K, y, np.minimum(0.0, bound), np.maximum(0.0, bound), tol=tol)


def objective(K, y, beta):
    return 0.5 * beta @ K @ beta - y @ beta


def some_values(path, n=20, seed=0):
    """Values of C over the whole path, and beyond it where it has no end."""
    low = path.Cs[0] * (0.2 if path._first_slope is not None else 1.0)
    high = path.Cs[-1] * (5.0 if path.is_complete else 1.0)
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), n))


def check_optimality(K, y, C, beta, bias, weight, atol=1e-8):
    """Feasible, and every row on the right side of the margin for its coefficient."""
    alpha, margin = y * beta / C, y * (K @ beta + bias)
    assert abs(beta.sum()) <= 1e-10 * np.abs(beta).sum()
    assert (alpha >= 0.0).all()
    assert (alpha <= weight * (1.0 + 1e-12)).all()
    present = weight > 0.0
    assert (margin >= 1.0 - atol)[present & (alpha < weight * (1.0 - 1e-9))].all()
    assert (margin <= 1.0 + atol)[present & (alpha > weight * 1e-9)].all()


def check_path(K, y, path, weight=None, n=20):
    """At any C the coefficients are optimal, with the objective of the exact solver."""
    s = np.ones(len(y)) if weight is None else weight
    for C in [*some_values(path, n), path.Cs[0], path.Cs[-1]]:
        beta, bias = path.at(C)
        check_optimality(K, y, C, beta, bias, s)
        best = exact(K, y, C, weight)
        assert objective(K, y, beta) == pytest.approx(best.objective, rel=1e-8, abs=1e-300)
        bare = K @ beta, y - best.residual  # unique up to a bias
        assert_allclose(np.ptp(bare[0] - bare[1]), 0.0, atol=1e-6)
    assert path.violations.max() <= 1e-8


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("share", [0.5, 0.15])
def test_path_is_the_exact_solution_everywhere(kernel, share):
    X, y = sample(50, share=share)
    K = gram(kernel, X)
    path = solve_regularization_path(K, y)
    assert path.status is Status.CONVERGED
    assert path.is_complete
    assert path.n_restarts == 0
    check_path(K, y, path)


@given(seed=st.integers(0, 2**31), m=st.integers(2, 25), decimals=st.integers(0, 2))
@example(seed=27501, m=4, decimals=0)  # the start leaves two rows just above their bound
@settings(max_examples=40, deadline=None)
def test_weights_bound_the_coefficients_and_zero_is_absence(seed, m, decimals):
    X, y = sample(m, seed, n_columns=2)
    weight = np.random.default_rng(seed).integers(0, 4, m) / 2.0
    weight[:2] = 1.0
    K = gram(Stump(), X.round(decimals))  # rounded: with ties and equal rows
    path = solve_regularization_path(K, y, weight=weight)
    check_path(K, y, path, weight, n=5)
    keep = weight > 0.0
    without = solve_regularization_path(K[np.ix_(keep, keep)], y[keep], weight=weight[keep])
    C = path.Cs[-1]
    assert_allclose(K[:, keep] @ without.at(C)[0], K @ path.at(C)[0], atol=1e-6)


def test_equal_rows_share_the_coefficient_of_one_row_of_their_weight():
    X, y = sample(30)
    K = gram(Gaussian(gamma=0.1), X)
    path = solve_regularization_path(np.tile(K, (3, 3)), np.tile(y, 3))
    check_path(np.tile(K, (3, 3)), np.tile(y, 3), path, n=8)
    weighted = solve_regularization_path(K, y, weight=np.full(30, 3.0))
    for C in some_values(path):
        together = path.at(C)[0].reshape(3, 30).sum(axis=0)
        assert_allclose(together, weighted.at(C)[0], rtol=1e-7, atol=1e-9 * C)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_rows_with_both_labels_are_never_right(kernel):
    X, y = sample(20)
    K = np.tile(gram(kernel, X), (2, 2))
    labels = np.concatenate([y, np.where(np.arange(20) < 4, -y, y)])
    path = solve_regularization_path(K, labels)
    assert path.is_complete
    check_path(K, labels, path)
    with pytest.raises(ValueError, match="not separable"):
        path.at(np.inf)


@pytest.mark.parametrize(
    "labels", [CUBE.prod(axis=1), CUBE[:, 0], np.where(CUBE.sum(1) > 0, 1, -1)]
)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_ties_of_symmetric_data_end(kernel, labels):
    K, y = gram(kernel, CUBE), labels.astype(float)
    check_path(K, y, solve_regularization_path(K, y))


@pytest.mark.parametrize("m", [2, 3, 30, 31])
def test_degenerate_matrices_have_a_path(m):
    y = np.where(np.arange(m) % 2, 1.0, -1.0)
    for K in (np.ones((m, m)), np.zeros((m, m)), np.eye(m), np.outer(y, y), -4.0 * (1 - np.eye(m))):
        check_path(K, y, solve_regularization_path(K, y), n=5)


def test_one_row_of_either_class_is_solved_by_hand():
    path = solve_regularization_path(np.array([[1.0, 0.0], [0.0, 3.0]]), np.array([1.0, -1.0]))
    assert path.Cs[0] == pytest.approx(0.5)  # 2 / |x - x'|^2
    assert_allclose(path.at(0.1)[0], [0.1, -0.1])
    for C in (0.5, 7.0, np.inf):
        beta, bias = path.at(C)
        assert_allclose(beta, [0.5, -0.5])
        assert bias == pytest.approx(0.5)


@pytest.mark.large
def test_coefficients_are_linear_in_the_penalty_between_breakpoints():
    X, y = sample(60, share=0.3)
    K = gram(Gaussian(gamma=0.1), X)
    path = solve_regularization_path(K, y)
    penalties = 1.0 / path.Cs
    for place in np.flatnonzero(np.diff(penalties) < -1e-9):
        ends, middle = path.Cs[[place, place + 1]], 2.0 / penalties[[place, place + 1]].sum()
        betas, biases = zip(*(path.at(C) for C in ends), strict=True)
        beta, bias = path.at(middle)
        mean = 0.5 * (betas[0] / ends[0] + betas[1] / ends[1])
        assert_allclose(beta / middle, mean, atol=1e-13)
        assert bias / middle == pytest.approx(0.5 * (biases / ends).sum())
        best = exact(K, y, middle)
        assert_allclose(beta, best.beta, atol=1e-6 * middle)


def test_path_is_continuous_and_moves_only_rows_of_the_elbow():
    X, y = sample(60)
    K = gram(Gaussian(gamma=0.1), X)
    path = solve_regularization_path(K, y)
    for place, C in enumerate(path.Cs[1:], start=1):
        below, above = path.at(C * (1.0 - 1e-9))[0], path.at(C * (1.0 + 1e-9))[0]
        assert_allclose(below, above, atol=1e-6 * C)
        moved = ~np.isclose(path.at(C)[0] / C, path._alpha_at(place - 1) * y, atol=1e-12)
        assert (path.sides_at(place - 1)[moved] == Side.ELBOW).all()


def test_events_give_the_sides_of_all_rows():
    X, y = sample(40)
    K = gram(Stump(), X)
    path = solve_regularization_path(K, y)
    for place, (C, f) in enumerate(zip(path.Cs, path.decisions_along(K), strict=True)):
        sides, alpha = path.sides_at(place), y * path.at(C)[0] / C
        if np.flatnonzero(path.Cs == C)[-1] == place:
            assert_allclose(f, K @ path.at(C)[0] + path.at(C)[1], atol=1e-9)
            assert (alpha[sides == Side.RIGHT] == 0.0).all()
            assert_allclose(alpha[sides == Side.LEFT], 1.0)
        assert_allclose((y * f)[sides == Side.ELBOW], 1.0, atol=1e-9)
        assert (y * f >= 1.0 - 1e-9)[sides == Side.RIGHT].all()
        assert (y * f <= 1.0 + 1e-9)[sides == Side.LEFT].all()


def test_separable_path_ends_at_the_hard_margin():
    X, y = sample(40)
    K = gram(Gaussian(gamma=2.0), X)
    path = solve_regularization_path(K, y)
    hard = solve_dual(K, y, np.where(y < 0, -np.inf, 0), np.where(y > 0, np.inf, 0), tol=1e-10)
    assert path.is_complete
    assert path.Cs[-1] == pytest.approx(np.abs(hard.beta).max())
    for C in (path.Cs[-1], 10.0 * path.Cs[-1], np.inf):
        assert_allclose(path.at(C)[0], hard.beta, atol=1e-7)
        assert path.at(C)[1] == pytest.approx(hard.bias, abs=1e-7)


def test_path_starts_where_the_smaller_class_leaves_its_bounds():
    X, y = sample(40, share=0.2)
    K = gram(Gaussian(gamma=0.1), X)
    path = solve_regularization_path(K, y)
    small = y == 1.0
    assert (exact(K, y, 0.999 * path.Cs[0]).beta[small] == 0.999 * path.Cs[0]).all()
    assert not (exact(K, y, 1.01 * path.Cs[0]).beta[small] >= 1.01 * path.Cs[0]).all()


def test_given_ends_are_the_ends():
    X, y = sample(50)
    K = gram(Gaussian(gamma=0.1), X)
    whole, part = (
        solve_regularization_path(K, y),
        solve_regularization_path(K, y, smallest_C=0.7, largest_C=4.9),
    )
    assert_allclose(part.Cs[[0, -1]], [0.7, 4.9])
    assert part.status is Status.CONVERGED
    assert_allclose(part.Cs[1:-1], whole.Cs[(whole.Cs > 0.7) & (whole.Cs < 4.9)])
    for C in (0.7, 1.3, 4.9):
        assert_allclose(part.at(C)[0], whole.at(C)[0], atol=1e-9)
    with pytest.raises(ValueError, match="starts at"):
        part.at(0.6)
    with pytest.raises(ValueError, match="ends at"):
        part.at(5.0)


def test_leave_one_out_bound_holds_for_a_bias_that_is_held():
    X, y = sample(25)
    K = gram(Gaussian(gamma=0.2), X)
    path = solve_regularization_path(K, y)
    for C, bound in zip(path.Cs[::4], path.leave_one_out_errors()[::4], strict=True):
        bias, wrong = path.at(C)[1], 0
        for i in range(25):
            rest = np.flatnonzero(np.arange(25) != i)
            L = np.linalg.cholesky(K[np.ix_(rest, rest)])
            limits = np.sort([np.zeros(24), C * y[rest]], axis=0)
            goal = np.linalg.solve(L, y[rest] - bias)
            beta = lsq_linear(L.T, goal, limits, method="bvls", tol=1e-14).x  # sum not zero
            wrong += y[i] * (K[i, rest] @ beta + bias) < -1e-6
        assert bound >= wrong / 25.0


@pytest.mark.large
def test_leave_one_out_bound_is_above_the_errors_of_refitted_machines():
    X, y = sample(25, n_columns=2)
    K = gram(Gaussian(gamma=0.2), X)
    path = solve_regularization_path(K, y)
    bound = path.leave_one_out_errors()
    for place, C in enumerate(path.Cs):
        wrong = 0
        for i in range(25):
            weight = np.ones(25)
            weight[i] = 0.0
            left_out = exact(K, y, C, weight, tol=1e-6)
            wrong += y[i] * (y[i] - left_out.residual[i] + left_out.bias) < 0.0
        assert bound[place] >= wrong / 25.0
        beta, bias = path.at(C)
        if np.count_nonzero(path.Cs == C) == 1:
            counted = y * beta * np.diagonal(K) >= y * (K @ beta + bias)
            assert bound[place] == pytest.approx(counted.mean())


def test_interrupt_leaves_the_path_up_to_there():
    X, y = sample(50)
    K = gram(Stump(), X)
    whole, seen = solve_regularization_path(K, y), []

    def interrupt(n_breakpoints, C):
        seen.append(C)
        if n_breakpoints == 10:
            raise KeyboardInterrupt

    path = solve_regularization_path(K, y, on_breakpoint=interrupt)
    assert path.status is Status.INTERRUPTED
    assert not path.is_complete
    assert_array_equal(path.Cs, seen)
    assert_array_equal(path.Cs, whole.Cs[:10])
    C = path.Cs[[0, -1]].mean()
    assert_allclose(path.at(C)[0], whole.at(C)[0])
    with pytest.raises(ValueError, match="ends at"):
        path.at(1.001 * path.Cs[-1])


def test_other_errors_of_the_caller_are_not_caught():
    X, y = sample(10)

    def fail(n_breakpoints, C):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        solve_regularization_path(gram(Stump(), X), y, on_breakpoint=fail)


def test_breakpoints_can_be_bounded():
    X, y = sample(50)
    path = solve_regularization_path(gram(Stump(), X), y, max_breakpoints=7)
    assert len(path.Cs) == 7
    assert path.status is Status.STOPPED


@pytest.mark.parametrize("setting", ["restart_error", "restart_ties"])
def test_restarts_come_back_to_the_same_path(setting):
    X, y = sample(40)
    K = np.tile(gram(Gaussian(gamma=0.1), X), (2, 2))
    y = np.tile(y, 2)
    whole = solve_regularization_path(K, y)
    tuning = PathTuning(**{setting: -1.0})  # any error, or any tie, is a reason to restart
    path = solve_regularization_path(K, y, tuning=tuning)
    assert path.n_restarts > 0
    assert path.is_complete
    for C in some_values(whole):
        beta = path.at(C)[0]
        assert objective(K, y, beta) == pytest.approx(objective(K, y, whole.at(C)[0]), rel=1e-6)
        assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()


@pytest.mark.large
def test_exact_solver_takes_over_where_sets_cannot_be_settled(monkeypatch):
    X, y = sample(25)
    K = gram(Gaussian(gamma=0.1), X)
    whole = solve_regularization_path(K, y, largest_C=5.0)
    settle = follow.State.settle
    outcomes = iter([True])  # the start, then never
    monkeypatch.setattr(follow.State, "settle", lambda self: settle(self) and next(outcomes, False))
    tuning = PathTuning(restart_error=-1.0)
    path = solve_regularization_path(K, y, largest_C=5.0, tuning=tuning)
    assert path.n_restarts > 0
    for C in some_values(whole):
        assert_allclose(path.at(C)[0], whole.at(C)[0], atol=1e-9)


def test_single_precision_is_refused():
    X, y = sample(10)
    with pytest.raises(ValueError, match="K has dtype float32: compute it in float64"):
        solve_regularization_path(gram(Gaussian(gamma=0.1), X).astype(np.float32), y)


def test_rounding_ends_the_path_of_a_nearly_singular_matrix():
    X, y = make_threenorm(60, random_state=0)
    y[:10] *= -1
    path = solve_regularization_path(gram(Gaussian(gamma=1e-4), X[:, :3]), y.astype(float))
    assert not path.is_complete
    assert path.status is Status.CONVERGED
    assert path.violations.max() <= 1e-6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"smallest_C": 0.0}, "smallest_C = 0.0"),
        ({"largest_C": np.inf}, "largest_C = inf"),
        ({"smallest_C": 2.0, "largest_C": 1.0}, "largest_C = 1.0"),
        ({"max_breakpoints": 0}, "max_breakpoints = 0"),
        ({"weight": np.array([1.0, 0.0])}, "both classes"),
    ],
)
def test_invalid_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        solve_regularization_path(np.eye(2), np.array([1.0, -1.0]), **arguments)
    with pytest.raises(ValueError, match="C = 0"):
        solve_regularization_path(np.eye(2), np.array([1.0, -1.0])).at(0)


def test_rounding_errors_are_removed_without_restarts():
    X, y = sample(90, n_columns=8)
    K = gram(Gaussian(gamma=0.5), X)
    whole = solve_regularization_path(K, y)
    tuning = PathTuning(tolerance=1e-17, rounding=1e-16, restart_error=1e8)
    path = solve_regularization_path(K, y, tuning=tuning)
    assert_allclose(path.Cs, whole.Cs)
    assert path.violations.max() <= 1e-11
    assert path.n_restarts == 0
    assert (path.sides_at(len(path.Cs) - 1) == Side.ELBOW).sum() > 64  # the factor has grown


def test_equal_rows_between_their_bounds_become_one():
    x, y = np.array([0.0, 0.0, 3.0]), np.array([1.0, 1.0, -1.0])
    K = np.outer(x, x)
    machine = state.State(WholeMatrix(K), y, np.array([1.0, 1.0, 2.0]))
    machine.alpha[:] = 0.2, 0.9, 1.1
    machine.side[:] = Side.ELBOW
    machine.penalty = 1.0
    machine.join(0)
    machine.join(1)
    assert_array_equal(machine.side, [Side.ELBOW, Side.LEFT, Side.ELBOW])
    assert_allclose(machine.alpha, [0.1, 1.0, 1.1])
    assert_array_equal(machine.elbow.rows, [0])


def test_start_at_a_breakpoint_goes_on_from_there():
    K, y = np.array([[1.0, 0.0], [0.0, 3.0]]), np.array([1.0, -1.0])
    for smallest_C in (0.4, 0.5, 0.6):
        path = solve_regularization_path(K, y, smallest_C=smallest_C)
        for C in (smallest_C, 7.0):
            assert_allclose(path.at(C)[0], np.array([1.0, -1.0]) * min(C, 0.5))


def test_interrupt_before_the_first_breakpoint_leaves_no_path(monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernsemble.solvers.smo._WholeRun.finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solve_regularization_path(np.eye(2), np.array([1.0, -1.0]))


def test_decisions_at_any_values_are_those_of_the_coefficients_there():
    X, y = sample(40)
    K = gram(Gaussian(gamma=0.1), X)
    path = solve_regularization_path(K, y)
    values = np.sort(np.concatenate([some_values(path), path.Cs[::5]]))
    for C, f in zip(values, path.decisions_at(K, values), strict=True):
        beta, bias = path.at(C)
        assert_allclose(f, K @ beta + bias, atol=1e-7)
    errors = path.leave_one_out_errors_at(K, path.Cs, np.ones(40))
    assert_allclose(errors, path.leave_one_out_errors())
    part = solve_regularization_path(K, y, smallest_C=0.1, largest_C=1.0)
    assert_allclose(part.ends, [0.1, 1.0])
    for C in (0.05, 2.0):
        with pytest.raises(ValueError, match="C = "):
            next(part.decisions_at(K, [C]))

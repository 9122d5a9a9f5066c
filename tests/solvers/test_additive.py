"""The additive solvers against the exact solver, explicit features and dense systems."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from kernsemble.datasets import make_threenorm
from kernsemble.kernels import Category, Stump
from kernsemble.solvers import Status, solve_dual
from kernsemble.solvers.additive import (
    Tables,
    descent,
    solve,
    solve_additive,
)
from kernsemble.solvers.additive.quantise import quantise
from kernsemble.solvers.losses import (
    EpsilonInsensitive,
    Hinge,
    Kinked,
    Logistic,
    Squared,
    SquaredHinge,
)

N = 150
X, y = make_threenorm(N, n_features=6, random_state=0)
X, y = np.round(X, 1), y.astype(float)
TARGET = X[:, 0] * X[:, 1] + y
ONE = np.ones(N)
K = Stump().simplified.bind(X)(X)
SCALE = 0.05  # a sensible C
PENALTIES = [
    pytest.param(SCALE * 10.0**k, marks=pytest.mark.large if k > 0 else ()) for k in range(-2, 3)
]
METHODS = ["newton", "descent"]


def stump_tables(X, max_levels=256, missing_weight=1.0):
    levels, codes = quantise(X, max_levels=max_levels)
    return Tables.from_measures(
        codes,
        [np.diff(each.values) for each in levels],
        [np.full(each.n_loose, missing_weight) for each in levels],
        [each.middle for each in levels],
    )


def features(tables):
    """The explicit features, a row of z at a time."""
    return np.array([tables.at_rows(tables.levels_of(e)) for e in np.eye(tables.n_levels)]).T


TABLES = stump_tables(X)
LOSSES = {
    "hinge": Hinge.from_targets(y, ONE),
    "tube": EpsilonInsensitive.from_targets(TARGET, ONE, 0.2),
    "logistic": Logistic(y, ONE),
    "squared hinge": SquaredHinge(y, ONE),
    "squared": Squared(TARGET, ONE),
}
RUNS = [(name, "newton") for name in LOSSES] + [("hinge", "descent"), ("tube", "descent")]


def exact(K, loss, tol=1e-8):
    return solve_dual(K, loss.p, loss.lower, loss.upper, epsilon=loss.epsilon, tol=tol)


def check_against_exact(K, loss, solution, rel):
    """The same dual objective, feasible, and decisions that agree."""
    expected = exact(K, loss)
    assert solution.status is Status.CONVERGED
    assert solution.dual == pytest.approx(-expected.objective, rel=rel)
    assert solution.dual <= -expected.objective * (1.0 + 1e-9)
    assert abs(solution.beta.sum()) <= 1e-6 * loss.strengths.mean() * len(loss.p)
    assert (loss.lower <= solution.beta).all()
    assert (solution.beta <= loss.upper).all()
    decisions = loss.p - expected.residual + expected.bias
    assert_allclose(solution.decisions, decisions, atol=0.02 * max(np.abs(decisions).max(), 1.0))


def check_evidence(tables, loss, solution):
    """The claims of a solution, from its tables and coefficients alone."""
    phi = features(tables)
    f = solution.bias + sum(g[c] for g, c in zip(solution.tables, tables.codes, strict=True))
    assert_allclose(solution.decisions, f, atol=1e-9)
    norm = 0.0
    for d, (g, v) in enumerate(zip(solution.tables, tables.split(tables.scale), strict=True)):
        m, r = tables.n_ordered[d], tables.root[d]
        assert g[r] == 0.0
        inward = np.concatenate([np.diff(g[: r + 1]), [0.0], np.diff(g[r:m]), g[m:]])
        norm += sum((rise / s) ** 2 for rise, s in zip(inward, v, strict=True) if s > 0.0)
    beta, curvature = np.empty(len(f)), np.empty(len(f))
    total = loss.value(f) if isinstance(loss, Kinked) else loss.evaluate(f, beta, curvature)
    assert solution.primal == pytest.approx(0.5 * norm + total, rel=1e-9)
    assert solution.squared_norm == pytest.approx(norm, rel=1e-9, abs=1e-12)
    if isinstance(loss, Kinked):
        dual = -loss.conjugate(solution.beta) - 0.5 * ((phi.T @ solution.beta) ** 2).sum()
        assert solution.dual == pytest.approx(dual, rel=1e-9)
    assert solution.gap == pytest.approx(
        (solution.primal - solution.dual) / solution.primal, rel=1e-3, abs=1e-14
    )


def test_features_of_tables_are_those_of_the_stump_kernel():
    phi, center = features(TABLES), np.eye(N) - 1.0 / N
    assert_allclose(center @ phi @ phi.T @ center, center @ K @ center, atol=1e-9)
    assert_allclose(TABLES.squared_norms(), (phi**2).sum(axis=1), atol=1e-9)
    h = np.random.default_rng(0).normal(size=N)
    assert_allclose(TABLES.edges_of(TABLES.sums(h)), phi.T @ h, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("C", PENALTIES)
def test_the_hinge_reaches_the_objective_of_the_exact_solver(method, C):
    loss = Hinge.from_targets(y, C * ONE)
    solution = solve_additive(TABLES, loss, tol=1e-6, method=method)
    check_against_exact(K, loss, solution, rel=1e-6)
    check_evidence(TABLES, loss, solution)
    decisions = y - (found := exact(K, loss)).residual + found.bias
    clear = np.abs(decisions) > 0.05
    assert_array_equal(np.sign(solution.decisions[clear]), np.sign(decisions[clear]))


@pytest.mark.large
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("C", [0.005, 0.05, 0.5, 5.0])
def test_hundreds_of_rows_and_twenty_features_reach_the_exact_objective(method, C):
    rows, signs = make_threenorm(600, random_state=1)
    rows, signs = np.round(rows, 1), signs.astype(float)
    loss = Hinge.from_targets(signs, np.full(600, C))
    solution = solve_additive(stump_tables(rows), loss, tol=1e-5, method=method)
    K = Stump().simplified.bind(rows)(rows)
    check_against_exact(K, loss, solution, rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("C", PENALTIES)
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_the_tube_reaches_the_objective_of_the_exact_solver(method, C, epsilon):
    loss = EpsilonInsensitive.from_targets(TARGET, C * ONE, epsilon)
    solution = solve_additive(TABLES, loss, tol=1e-6, method=method)
    check_against_exact(K, loss, solution, rel=1e-6)
    check_evidence(TABLES, loss, solution)


@pytest.mark.parametrize("C", PENALTIES)
def test_the_logistic_loss_is_that_of_scikit_learn_on_explicit_features(C):
    solution = solve_additive(TABLES, Logistic(y, C * ONE), tol=1e-15)
    phi = features(TABLES)
    machine = LogisticRegression(C=C, tol=1e-12, max_iter=10_000, solver="newton-cg")
    expected = machine.fit(phi, y).decision_function(phi)
    assert_allclose(solution.decisions, expected, atol=1e-6)
    check_evidence(TABLES, Logistic(y, C * ONE), solution)


@pytest.mark.parametrize("C", PENALTIES)
def test_the_squared_hinge_is_a_hard_margin_with_a_ridge(C):
    loss = SquaredHinge(y, C * ONE)
    solution = solve_additive(TABLES, loss, tol=1e-12)
    lower, upper = np.where(y < 0, -np.inf, 0.0), np.where(y > 0, np.inf, 0.0)
    expected = solve_dual(K + np.eye(N) / (2.0 * C), y, lower, upper, tol=1e-9)
    assert solution.primal == pytest.approx(-expected.objective, rel=1e-8)
    assert_allclose(solution.beta, expected.beta, atol=1e-4 * np.abs(expected.beta).max())
    check_evidence(TABLES, loss, solution)


@pytest.mark.parametrize("C", PENALTIES)
def test_the_squared_loss_is_ridge_regression(C):
    weight = C * np.random.default_rng(0).uniform(0.5, 2.0, N)
    solution = solve_additive(TABLES, Squared(TARGET, weight), tol=1e-15)
    design = np.column_stack([features(TABLES), ONE])
    ridge = np.diag(np.append(np.ones(TABLES.n_levels), 0.0))
    gram = design.T @ (weight[:, np.newaxis] * design) + ridge
    expected = design @ np.linalg.solve(gram, design.T @ (weight * TARGET))
    assert_allclose(solution.decisions, expected, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_weights_are_repetition_and_zero_is_absence(name):
    weight = np.random.default_rng(1).integers(0, 4, N).astype(float)
    rows = np.repeat(np.arange(N), weight.astype(int))
    loss = LOSSES[name].times(SCALE)
    weighted = solve_additive(TABLES, loss.times(weight), tol=1e-9)
    fields = ["p", "lower", "upper"] if isinstance(loss, Kinked) else ["y", "C"]
    repeated_loss = replace(loss, **{field: getattr(loss, field)[rows] for field in fields})
    repeated_tables = replace(TABLES, codes=np.ascontiguousarray(TABLES.codes[:, rows]))
    repeated = solve_additive(repeated_tables, repeated_loss, tol=1e-9)
    assert weighted.primal == pytest.approx(repeated.primal, rel=1e-8)
    assert_allclose(weighted.decisions[rows], repeated.decisions, atol=1e-3)
    assert (weighted.beta[weight == 0.0] == 0.0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("C", [0.03, 3.0])
def test_categories_are_those_of_the_category_kernel(method, C):
    rng = np.random.default_rng(2)
    table = rng.integers(0, 5, size=(N, 3))
    signs = np.where(rng.random(N) < 0.15, -1.0, 1.0) * np.where(table[:, 0] > table[:, 1], 1, -1)
    levels, codes = quantise(table.astype(float), is_category=np.ones(3, dtype=bool))
    tables = Tables.from_measures(
        codes, [np.empty(0)] * 3, [np.ones(each.n_loose) for each in levels], [0] * 3
    )
    loss = Hinge.from_targets(signs, C * ONE)
    solution = solve_additive(tables, loss, tol=1e-6, method=method)
    check_against_exact(Category().bind(table)(table), loss, solution, rel=1e-6)
    assert all(g[0] == 0.0 for g in solution.tables)  # an unseen category moves no decision


@pytest.mark.parametrize("method", METHODS)
def test_a_missing_value_is_the_median_and_one_more_hypothesis(method):
    holed = X.copy()
    holed[np.random.default_rng(3).random(X.shape) < 0.2] = np.nan
    weight = 1.7
    tables = stump_tables(holed, missing_weight=weight)
    levels, _ = quantise(holed)
    medians = np.array([each.values[each.middle] for each in levels])
    missing = np.isnan(holed).astype(float)
    filled = np.where(np.isnan(holed), medians, holed)
    K = Stump().simplified.bind(filled)(filled) + weight * missing @ missing.T
    loss = Hinge.from_targets(y, SCALE * ONE)
    check_against_exact(K, loss, solve_additive(tables, loss, tol=1e-6, method=method), rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_constant_and_twin_columns_are_supported(method):
    odd = np.column_stack([np.zeros(N), X[:, :2], X[:, :1], np.full(N, np.nan)])
    tables, loss = stump_tables(odd), Hinge.from_targets(y, ONE)
    twice = np.column_stack([X[:, :2], X[:, :1]])
    K = Stump().simplified.bind(twice)(twice)
    solution = solve_additive(tables, loss, tol=1e-6, method=method)
    check_against_exact(K, loss, solution, rel=1e-6)
    assert_allclose(solution.tables[1], solution.tables[3], atol=1e-2)
    assert_array_equal(solution.tables[0], [0.0])


@pytest.mark.parametrize("name", LOSSES)
def test_with_constant_tables_only_the_bias_is_fitted(name):
    tables = stump_tables(np.zeros((N, 1)))
    solution = solve_additive(tables, LOSSES[name], tol=1e-9)
    assert solution.status is Status.CONVERGED
    assert solution.squared_norm == 0.0
    assert len(np.unique(solution.decisions)) == 1
    if name == "squared":
        assert solution.bias == pytest.approx(TARGET.mean())


@pytest.mark.parametrize("name", LOSSES)
def test_one_class_and_no_rows_converge(name):
    loss = LOSSES[name]
    nothing = solve_additive(TABLES, loss.times(0.0))
    assert nothing.status is Status.CONVERGED
    assert_array_equal(nothing.decisions, 0.0)
    one_class = solve_additive(TABLES, loss.times((y > 0.0).astype(float)))
    assert one_class.status is Status.CONVERGED
    assert np.isfinite(one_class.decisions).all()
    if name in ("hinge", "logistic", "squared hinge"):
        assert (one_class.decisions > 0.99).all()


@given(
    seed=st.integers(0, 2**31),
    n=st.integers(4, 40),
    C=st.sampled_from([0.01, 1.0, 100.0]),
    method=st.sampled_from(METHODS),
    epsilon=st.sampled_from([None, 0.0, 0.25]),
)
@settings(max_examples=60)
def test_random_problems_reach_the_exact_optimum(seed, n, C, method, epsilon):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, rng.integers(1, 4))).astype(float)
    p = rng.choice([-1.0, 1.0], n) if epsilon is None else rng.normal(size=n)
    strengths = C * rng.integers(0, 3, n)
    strengths[:2], p[:2] = C, (-1.0, 1.0)
    loss = (
        Hinge.from_targets(p, strengths)
        if epsilon is None
        else EpsilonInsensitive.from_targets(p, strengths, epsilon)
    )
    solution = solve_additive(stump_tables(X), loss, tol=1e-5, method=method)
    expected = exact(Stump().simplified.bind(X)(X), loss)
    assert solution.status is Status.CONVERGED
    assert solution.dual == pytest.approx(-expected.objective, rel=2e-5, abs=1e-9)


@pytest.mark.large
@pytest.mark.parametrize(("name", "method"), RUNS)
def test_a_stopped_run_continues_to_the_same_optimum(name, method):
    straight = solve_additive(TABLES, LOSSES[name], tol=1e-7, method=method)
    stopped = solve_additive(TABLES, LOSSES[name], tol=1e-7, method=method, max_iter=2)
    assert stopped.status is Status.STOPPED
    assert stopped.n_iter == 2
    assert stopped.gap > 1e-7
    check_evidence(TABLES, LOSSES[name], stopped)
    resumed = solve_additive(TABLES, LOSSES[name], tol=1e-7, method=method, start=stopped)
    assert resumed.status is Status.CONVERGED
    assert resumed.primal == pytest.approx(straight.primal, rel=2e-7)
    cold = solve_additive(TABLES, LOSSES[name], tol=1e-5, method=method)
    again = solve_additive(TABLES, LOSSES[name], tol=1e-5, method=method, start=straight)
    assert again.n_iter < 0.5 * cold.n_iter


@pytest.mark.parametrize(("name", "method"), RUNS)
def test_an_interrupt_returns_the_current_solution_with_its_evidence(name, method):
    seen = []

    def watch(n_iter, gap):
        seen.append((n_iter, gap))
        if n_iter == 3:
            raise KeyboardInterrupt

    solution = solve_additive(TABLES, LOSSES[name], tol=1e-12, method=method, watch=watch)
    assert solution.status is Status.INTERRUPTED
    assert [n_iter for n_iter, _ in seen] == [0, 1, 2, 3]
    check_evidence(TABLES, LOSSES[name], solution)


def test_an_interrupt_in_the_middle_of_a_step_leaves_tables_and_decisions_that_agree(monkeypatch):
    calls = []
    evaluate = Logistic.evaluate

    def interrupted(self, f, beta, curvature):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return evaluate(self, f, beta, curvature)

    monkeypatch.setattr(Logistic, "evaluate", interrupted)
    solution = solve_additive(TABLES, Logistic(y, ONE), tol=1e-12)
    assert solution.status is Status.INTERRUPTED
    check_evidence(TABLES, Logistic(y, ONE), solution)


def test_an_error_of_the_watch_is_passed_on():
    def watch(n_iter, gap):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        solve_additive(TABLES, Logistic(y, ONE), watch=watch)


@pytest.mark.large
@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("name", LOSSES)
def test_the_number_of_threads_changes_nothing(threads, name, monkeypatch):
    expected = solve_additive(TABLES, LOSSES[name])
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    shared = replace(TABLES, entries_worth_threads=0, rows_per_task=20)
    solution = solve_additive(shared, LOSSES[name])
    assert_array_equal(solution.decisions, expected.decisions)


def test_the_seed_of_descent_changes_the_order_but_not_the_optimum():
    loss = Hinge.from_targets(y, SCALE * ONE)
    first, same, other = (
        solve_additive(TABLES, loss, method="descent", tol=1e-5, seed=seed) for seed in (0, 0, 1)
    )
    assert_array_equal(first.beta, same.beta)
    assert (first.beta != other.beta).any()
    assert first.dual == pytest.approx(other.dual, rel=1e-5)


def test_descent_hands_over_where_it_is_slow():
    loss = Hinge.from_targets(y, 100.0 * ONE)
    handed = solve_additive(TABLES, loss, method="descent", tol=1e-6)
    assert handed.method == "descent, newton"
    assert handed.n_iter > descent.MAX_PASSES
    easy = solve_additive(
        TABLES, Hinge.from_targets(y, 1e-4 * ONE), method="descent", tol=1e-6, max_passes=10**6
    )
    assert easy.method == "descent"
    assert easy.status is Status.CONVERGED


@pytest.mark.large
def test_the_method_is_selected_by_its_cost():
    few = stump_tables(np.round(X / 4.0))
    small, large = Hinge.from_targets(y, 1e-4 * ONE), Hinge.from_targets(y, 100.0 * ONE)
    assert solve.descent_pays(few, small)
    assert not solve.descent_pays(few, large)
    assert solve_additive(few, small).method == "descent"
    assert solve_additive(few, large).method == "newton"
    wide = replace(few, codes=np.tile(few.codes, (1, 2_000)), scale=few.scale)
    many = Hinge.from_targets(np.tile(y, 2_000), np.full(2_000 * N, 1e-4))
    levels = stump_tables(np.random.default_rng(0).normal(size=(300_000, 2)))
    assert not solve.descent_pays(wide, many)
    assert not solve.descent_pays(levels, many)
    codes = np.arange(1, N + 1)[np.newaxis].repeat(2, axis=0)
    loose = Tables.from_measures(codes, [np.empty(0)] * 2, [np.ones(100_000)] * 2, [0, 0])
    assert solve.descent_pays(loose, small)  # a write is one number, however many levels


@given(
    r=st.lists(st.integers(-5, 5), min_size=1, max_size=12),
    seed=st.integers(0, 999),
    epsilon=st.sampled_from([0.0, 0.5]),
)
def test_no_other_bias_has_a_smaller_loss(r, seed, epsilon):
    rng = np.random.default_rng(seed)
    p = np.array(r, dtype=float)
    lower, upper = (
        -rng.integers(0, 3, len(p)).astype(float),
        rng.integers(0, 3, len(p)).astype(float),
    )
    loss = EpsilonInsensitive(p, lower, upper, epsilon)
    f = rng.integers(-3, 3, len(p)).astype(float)
    best = loss.value(f + loss.best_bias(f))
    others = [loss.value(f + b) for b in np.arange(-12.0, 12.0, 0.25)]
    assert best <= min(others) + 1e-9


def test_the_middle_is_the_best_bias_where_several_are():
    loss = Hinge.from_targets(np.array([1.0, -1.0]), np.ones(2))
    assert loss.best_bias(np.array([1.5, -2.0])) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: solve_additive(TABLES, LOSSES["logistic"], method="descent"), "descent"),
        (lambda: solve_additive(TABLES, LOSSES["logistic"], method="sgd"), "method"),
        (lambda: solve_additive(TABLES, Logistic(y, np.full(N, np.inf))), "finite"),
        (lambda: Tables.from_measures(np.array([[3]]), [np.ones(1)], [np.ones(0)], [0]), "code 3"),
        (
            lambda: Tables.from_measures(np.array([[0]]), [-np.ones(1)], [np.ones(0)], [0]),
            "negative",
        ),
    ],
)
def test_invalid_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_a_tolerance_below_rounding_ends(C):
    rows = np.repeat(X[:12], 3, axis=0)
    loss = Hinge.from_targets(np.repeat(y[:12], 3), np.full(36, C))
    solution = solve_additive(stump_tables(rows), loss, tol=1e-300, method="newton")
    assert solution.status is Status.CONVERGED
    assert solution.gap <= 1e-9

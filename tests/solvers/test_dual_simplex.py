"""The dense dual simplex method against HiGHS (through SciPy) on random votes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from kernsemble.solvers import linear_program
from kernsemble.solvers.dual_simplex import DualSimplex, program, steps
from kernsemble.solvers.linear_program import Form, Master, _DenseProgram, _HighsProgram

PENALTIES = [2.0**-17, 0.01, 0.1, 1.0, 8.0, 1e4]


def votes(n_hypotheses, n_rows, seed=0, share_right=0.6):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n_hypotheses, n_rows)) < share_right, 1, -1).astype(np.int8)


def degenerate_votes(n_hypotheses, n_rows, seed=0):
    """Hypotheses that differ in few rows, on rows of which several are equal."""
    rng = np.random.default_rng(seed)
    few = votes(n_hypotheses, n_rows // 4, seed)
    few[1::2] = few[:-1:2] * np.where(rng.random(few[1::2].shape) < 0.05, -1, 1)
    return np.tile(few, (1, 4))


def soft_optimum(A, upper):
    return -linprog(-np.ones(len(upper)), A, np.ones(len(A)), bounds=[(0, u) for u in upper]).fun


def simplex_of(A, upper, level=1.0, **settings):
    simplex = DualSimplex(np.ones(A.shape[1]), np.zeros(A.shape[1]), **settings)
    simplex.bound(upper, np.empty(0))
    simplex.append(A, level)
    return simplex


def assert_optimal(simplex, A, upper, level=1.0, tol=1e-8):
    """Both problems are feasible and their solutions are complementary: no other oracle needed."""
    x, w = simplex.x, simplex.multipliers
    slack, reduced = level - A @ x, 1.0 - w @ A
    scale = max(1.0, upper.max())
    assert (x >= 0.0).all()
    assert (x <= upper).all()
    assert slack.min(initial=0.0) >= -tol
    assert w.min(initial=0.0) >= -tol
    assert np.abs(w * slack).max(initial=0.0) <= tol * scale
    assert np.abs(np.maximum(reduced, 0.0) * (upper - x)).max() <= tol * scale
    assert np.abs(np.maximum(-reduced, 0.0) * x).max() <= tol * scale
    gap = level * w.sum() + upper @ np.maximum(reduced, 0.0) - x.sum()
    assert abs(gap) <= tol * scale * len(x)


@pytest.mark.parametrize("draw", [votes, degenerate_votes])
@pytest.mark.parametrize("C", PENALTIES)
def test_the_optimum_is_that_of_highs(draw, C):
    A, upper = draw(25, 20, seed=1), np.full(20, C)
    master = Master(upper)
    for column in A:
        master.add(column)
    found = master.solve()
    assert isinstance(master._program, _DenseProgram)
    assert found.objective == pytest.approx(soft_optimum(A, upper), rel=1e-8)
    assert (A @ found.distribution).max() <= 1.0 + 1e-8
    assert master.attained(found.weights) == pytest.approx(found.objective, rel=1e-8)


@pytest.mark.parametrize("draw", [votes, degenerate_votes])
@pytest.mark.parametrize("n_at_once", [1, 7])
def test_added_rows_continue_from_the_last_basis(draw, n_at_once):
    A, upper = draw(42, 24, seed=2), np.full(24, 0.5)
    simplex = simplex_of(A[:0], upper)
    for end in range(n_at_once, len(A) + 1, n_at_once):
        simplex.append(A[end - n_at_once : end], 1.0)
        assert simplex.solve()
        assert_optimal(simplex, A[:end], upper)
        again = simplex.x
        assert simplex.solve()
        assert simplex.n_steps == 0  # it is where it was
        assert_allclose(simplex.x, again, atol=1e-12)


def test_other_bounds_continue_from_the_last_basis():
    rng = np.random.default_rng(3)
    A = votes(20, 24, seed=3)
    simplex = simplex_of(A, np.ones(24))
    for C in (0.1, 1.0, 0.01, 8.0, 0.3, 0.0, 0.3):
        upper = C * rng.integers(0, 3, 24)  # zeros too
        simplex.bound(upper.astype(float), np.ones(20))
        assert simplex.solve()
        assert_optimal(simplex, A, upper)
        assert simplex.x.sum() == pytest.approx(soft_optimum(A, upper), abs=1e-8)


@pytest.mark.parametrize("maximises_margin", [False, True])
@pytest.mark.parametrize("draw", [votes, degenerate_votes])
def test_both_programs_agree_while_hypotheses_and_limits_are_added(draw, maximises_margin):
    rng = np.random.default_rng(4)
    A, rows = draw(30, 20, seed=4), np.arange(20)
    upper = np.full(20, 0.2)
    dense, sparse = (kind(upper, rows, maximises_margin) for kind in (_DenseProgram, _HighsProgram))
    for end in (1, 2, 3, 8, 9, 20, 30):
        columns = list(A[:end])
        for C in (0.2, 0.5, 0.06):
            upper = C * rng.integers(1, 4, 20)
            dense.limit(upper)
            sparse.limit(upper)
            weights, U, level = dense.solve(columns)
            _, expected, expected_level = sparse.solve(columns)
            assert level == pytest.approx(expected_level, abs=1e-9)
            assert U.sum() == pytest.approx(expected.sum(), rel=1e-8)
            assert (A[:end] @ U).max() <= level + 1e-8
            if maximises_margin:
                assert weights.sum() == pytest.approx(1.0)


def test_a_hard_margin_has_no_limit_that_binds():
    A = votes(15, 12, seed=5, share_right=0.8)
    A[:, 3] = -1  # all of U is there
    for form in Form:
        master = Master(np.full(12, np.inf), form=form)
        for column in A:
            master.add(column)
        found = master.solve()
        assert isinstance(master._program, _DenseProgram)
        assert_allclose(found.distribution, np.arange(12) == 3, atol=1e-12)
        assert found.level == pytest.approx(-1.0)
        assert found.weights.sum() == pytest.approx(1.0)


@pytest.mark.large
@pytest.mark.parametrize("C", [0.05, 1.0, 8.0, 1e6])
@pytest.mark.parametrize("draw", [votes, degenerate_votes])
def test_hundreds_of_rows_stay_accurate_without_help(draw, C):
    A, upper = draw(400, 120, seed=6), np.full(120, C)
    unit, level = linear_program._unit_and_level(upper, False)
    simplex = simplex_of(A[:0], upper / unit)
    n_steps = 0
    for end in range(1, len(A) + 1):
        simplex.append(A[end - 1 : end], level)
        assert simplex.solve()
        n_steps += simplex.n_steps
    assert n_steps > 400  # the inverse was changed often
    assert_optimal(simplex, A, upper / unit, level)
    assert unit * simplex.x.sum() == pytest.approx(soft_optimum(A, upper), rel=1e-7)


def test_the_inverse_is_that_of_the_kernel():
    A, upper = votes(40, 30, seed=7), np.full(30, 0.3)
    simplex = simplex_of(A, upper)
    assert simplex.solve()
    tableau, n = simplex._tableau, 30
    size = tableau.sizes[1]
    rows, columns = tableau.rows[:size], tableau.columns[:size]
    inverse = tableau.inverse[:size, :size]
    assert_allclose(inverse @ A[np.ix_(rows, columns)], np.eye(size), atol=1e-10)
    assert_allclose(np.sort(columns), np.flatnonzero(tableau.is_basic[:n]))
    assert_allclose(np.sort(rows), np.flatnonzero(~tableau.is_basic[n : n + 40]))
    whole = np.vstack([inverse, -A[:, columns].astype(float) @ inverse])  # without the slacks' ones
    basic = np.concatenate([columns, n + np.flatnonzero(tableau.is_basic[n : n + 40])])
    norms = (whole**2).sum(axis=1)
    edges = np.append(norms[:size], 1.0 + np.delete(norms[size:], rows))
    assert_allclose(tableau.edges[basic], edges, rtol=1e-7)


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_costs_without_ties_lead_to_the_optimum_of_those_with_ties(C):
    A, upper = degenerate_votes(40, 24, seed=10), np.full(24, C)
    simplex = simplex_of(A[:0], upper, patience=-1)  # ties are broken at once
    for end in range(1, len(A) + 1):
        simplex.append(A[end - 1 : end], 1.0)
        assert simplex.solve()
        assert_optimal(simplex, A[:end], upper)
    assert_allclose(simplex._tableau.cost, 1.0, rtol=0.0, atol=0.0)


def test_an_inaccurate_inverse_is_recomputed():
    A, upper = votes(40, 30, seed=8), np.full(30, 0.3)
    simplex = simplex_of(A[:30], upper)
    assert simplex.solve()
    simplex._tableau.inverse[:] *= 1.01
    simplex.append(A[30:], 1.0)
    assert simplex.solve()
    assert_optimal(simplex, A, upper)


def test_highs_takes_over_where_the_steps_do_not_suffice(monkeypatch):
    A, upper = votes(20, 15, seed=9), np.full(15, 0.5)
    solve = steps.solve
    monkeypatch.setattr(program, "solve", lambda tableau, *_: solve(tableau, 3, 3))
    master = Master(upper)
    for column in A:
        master.add(column)
    found = master.solve()
    assert isinstance(master._program, _HighsProgram)
    assert found.objective == pytest.approx(soft_optimum(A, upper), rel=1e-8)


def test_a_singular_kernel_is_a_failure_and_no_error():
    simplex = simplex_of(np.ones((2, 3), dtype=np.int8), np.ones(3))
    simplex.begin(np.array([0, 1]), np.array([0, 1]))
    assert not simplex.solve()


@pytest.mark.parametrize("level", [1.0, 1e-3])
def test_without_rows_and_without_columns_that_count(level):
    simplex = simplex_of(np.empty((0, 3), dtype=np.int8), np.array([1.0, 0.0, 2.0]), level)
    assert simplex.solve()
    assert_allclose(simplex.x, [1.0, 0.0, 2.0])
    simplex.append(np.array([[1, 1, -1]], dtype=np.int8), level)
    simplex.bound(np.zeros(3), np.full(1, level))
    assert simplex.solve()
    assert_allclose(simplex.x, 0.0)

"""Every C and every fold on one set of codes, against one problem at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold

from kernsemble.datasets import make_threenorm
from kernsemble.solvers import Status
from kernsemble.solvers.additive import (
    Tables,
    solve_additive,
    solve_additive_folds,
    solve_additive_path,
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

X, y = make_threenorm(120, n_features=5, random_state=0)
y = y.astype(float)
LEVELS, CODES = quantise(X, max_levels=20)
TABLES = Tables.from_measures(
    CODES,
    [np.diff(each.values) for each in LEVELS],
    [np.empty(0)] * 5,
    [each.middle for each in LEVELS],
)
CS = 2.0 ** np.arange(-9, 6, 2)
ONE = np.ones(120)
LOSSES = [
    Hinge.from_targets(y, ONE),
    EpsilonInsensitive.from_targets(X[:, 0] + y, ONE, 0.1),
    Logistic(y, ONE),
    SquaredHinge(y, ONE),
    Squared(X[:, 0] + y, ONE),
]
HELD_OUT = [test for _, test in KFold(5).split(X)]


def names(value):
    return value if isinstance(value, str) else type(value).__name__


@pytest.mark.large
@pytest.mark.parametrize(
    ("loss", "method"),
    [*((loss, "newton") for loss in LOSSES), (LOSSES[0], "descent"), (LOSSES[1], "descent")],
    ids=names,
)
def test_a_path_is_a_problem_at_every_strength(loss, method):
    path = solve_additive_path(TABLES, loss, CS, tol=1e-7, method=method)
    for C, solution in zip(CS, path, strict=True):
        alone = solve_additive(TABLES, loss.times(C), tol=1e-7)
        assert solution.primal == pytest.approx(alone.primal, rel=3e-7)
        assert solution.status is Status.CONVERGED


def test_a_path_takes_fewer_steps_than_its_problems_alone():
    loss = SquaredHinge(y, ONE)
    path = list(solve_additive_path(TABLES, loss, CS, tol=1e-6))
    alone = [solve_additive(TABLES, loss.times(C), tol=1e-6) for C in CS]
    assert sum(each.n_iter for each in path) < 0.7 * sum(each.n_iter for each in alone)


def test_free_coefficients_of_a_path_grow_with_the_bounded_ones():
    rows, signs = make_threenorm(800, n_features=5, random_state=1)
    levels, codes = quantise(rows, max_levels=8)
    tables = Tables.from_measures(
        codes,
        [np.diff(each.values) for each in levels],
        [np.empty(0)] * 5,
        [each.middle for each in levels],
    )
    loss, Cs = Hinge.from_targets(signs.astype(float), np.ones(800)), 4.0 ** np.arange(6)
    path = list(solve_additive_path(tables, loss, Cs, tol=1e-6))
    start, n_iter = None, 0
    for C in Cs:
        start = solve_additive(tables, loss.times(C), tol=1e-6, start=start)
        n_iter += start.n_iter
    assert sum(each.n_iter for each in path) < 0.7 * n_iter
    assert path[-1].primal == pytest.approx(start.primal, rel=2e-6)


@pytest.mark.large
@pytest.mark.parametrize("loss", LOSSES, ids=names)
def test_folds_are_machines_that_never_saw_the_held_out_rows(loss):
    folds = solve_additive_folds(TABLES, loss, CS, HELD_OUT, tol=1e-8)
    for rows, fold in zip(HELD_OUT, folds, strict=True):
        assert fold.decisions.shape == (len(CS), len(rows))
        assert set(fold.statuses) == {Status.CONVERGED}
        present = np.ones(120)
        present[rows] = 0.0
        train = np.flatnonzero(present)
        tables = Tables(
            np.ascontiguousarray(CODES[:, train]),
            TABLES.offsets,
            TABLES.n_ordered,
            TABLES.root,
            TABLES.scale,
        )
        kept = loss.times(present)
        fields = ("p", "lower", "upper") if isinstance(loss, Kinked) else ("y", "C")
        arrays = [getattr(kept, field)[train] for field in fields]
        extra = [loss.epsilon] if isinstance(loss, Kinked) else []
        for C, decisions in zip(CS, fold.decisions, strict=True):
            alone = solve_additive(tables, type(loss)(*arrays, *extra).times(C), tol=1e-8)
            g = zip(alone.tables, CODES[:, rows], strict=True)
            expected = alone.bias + sum(table[code] for table, code in g)
            assert_allclose(decisions, expected, atol=5e-3 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_number_of_threads_changes_nothing(threads, monkeypatch):
    expected = solve_additive_folds(TABLES, LOSSES[0], CS[:4], HELD_OUT)
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    folds = solve_additive_folds(TABLES, LOSSES[0], CS[:4], HELD_OUT)
    for fold, other in zip(folds, expected, strict=True):
        assert_array_equal(fold.decisions, other.decisions)
        assert_array_equal(fold.n_iter, other.n_iter)


def test_an_error_in_one_fold_ends_all():
    def watch(n_iter, gap):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        solve_additive_folds(TABLES, LOSSES[2], CS, HELD_OUT, watch=watch)


def test_a_fold_stopped_by_max_iter_reports_it():
    folds = solve_additive_folds(TABLES, LOSSES[0], CS[-1:], HELD_OUT, tol=1e-9, max_iter=2)
    assert {status for fold in folds for status in fold.statuses} == {Status.STOPPED}
    assert all((fold.n_iter == 2).all() for fold in folds)


def test_every_solved_problem_is_reported():
    told = []
    solve_additive_folds(
        TABLES, LOSSES[2], CS[:3], HELD_OUT, on_solved=lambda: told.append(1), tol=1e-2
    )
    assert len(told) == 3 * len(HELD_OUT)


def test_an_interrupt_in_one_fold_ends_all():
    def watch(n_iter, gap):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="cross-validation"):
        solve_additive_folds(TABLES, LOSSES[2], CS, HELD_OUT, watch=watch)


def test_an_interrupted_solution_is_the_last_of_a_path():
    def watch(n_iter, gap):
        raise KeyboardInterrupt

    path = list(solve_additive_path(TABLES, LOSSES[2], CS, watch=watch))
    assert [solution.status for solution in path] == [Status.INTERRUPTED]

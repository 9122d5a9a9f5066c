"""Every C and every fold on one matrix, against one problem at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.svm import SVC

from kernsemble.datasets import make_threenorm
from kernsemble.kernels import Stump
from kernsemble.solvers import Status, solve_dual, solve_folds, solve_path
from kernsemble.solvers.folds import bounds_at, handed_over
from kernsemble.solvers.kernel_matrix import WholeMatrix

X, y = make_threenorm(120, random_state=0)
K, p = Stump().bind(X)(X), y.astype(float)
LOW, HIGH = np.minimum(0.0, p), np.maximum(0.0, p)
CS = 2.0 ** np.arange(-9, 6, 2)


def test_a_path_is_a_problem_at_every_penalty():
    for C, solution in zip(CS, solve_path(K, p, LOW, HIGH, CS, tol=1e-7), strict=True):
        alone = solve_dual(K, p, C * LOW, C * HIGH, tol=1e-7)
        assert solution.objective == pytest.approx(alone.objective, rel=1e-7)
        assert solution.status is Status.CONVERGED


def test_a_solution_without_bounded_coefficients_holds_for_every_larger_penalty():
    *_, last, beyond = solve_path(K, p, LOW, HIGH, [1.0, 1e3, 1e6], tol=1e-7)
    assert np.abs(last.beta).max() < 1e3
    assert beyond.n_iter == 0
    assert_allclose(beyond.beta, last.beta)


def test_folds_are_machines_that_never_saw_the_held_out_rows():
    splits = list(StratifiedKFold(5).split(X, y))
    folds = solve_folds(K, p, LOW, HIGH, CS, [test for _, test in splits], tol=1e-6)
    for (train, test), fold in zip(splits, folds, strict=True):
        assert fold.decisions.shape == (len(CS), len(test))
        for C, decisions in zip(CS, fold.decisions, strict=True):
            machine = SVC(kernel="precomputed", C=C, tol=1e-6)
            machine.fit(K[np.ix_(train, train)], y[train])
            expected = machine.decision_function(K[np.ix_(test, train)])
            assert_allclose(decisions, expected, atol=1e-2)
        assert set(fold.statuses) == {Status.CONVERGED}


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_number_of_threads_changes_nothing(threads, monkeypatch):
    held_out = [test for _, test in KFold(6).split(X)]
    expected = solve_folds(K, p, LOW, HIGH, CS, held_out)
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    for fold, same in zip(solve_folds(K, p, LOW, HIGH, CS, held_out), expected, strict=True):
        assert_allclose(fold.decisions, same.decisions)


def test_an_error_in_one_fold_ends_all():
    held_out = [test for _, test in KFold(6).split(X)]
    with pytest.raises(IndexError):
        solve_folds(K, p, LOW, HIGH, CS, [*held_out, np.array([999])])


def test_infinite_bounds_leave_zeros():
    assert_allclose(bounds_at(np.inf, np.array([0.0, 1.0])), [0.0, np.inf])


@pytest.mark.parametrize("C", [2.0**-15, 2.0**-9])
def test_a_fold_hands_over_a_start_that_saves_steps(C):
    first, second = [test for _, test in StratifiedKFold(5).split(X, y)][:2]
    (low, high), (lower, upper) = (
        [C * np.where(np.isin(np.arange(120), rows), 0.0, unit) for unit in (LOW, HIGH)]
        for rows in (first, second)
    )
    solution = solve_dual(K, p, low, high, tol=1e-6)
    start = handed_over(solution, WholeMatrix(K), lower, upper)
    assert (lower <= start.beta).all()
    assert (start.beta <= upper).all()
    assert start.beta.sum() == pytest.approx(0.0, abs=1e-12)
    assert_allclose(start.residual, p - K @ start.beta, atol=1e-10)
    cold = solve_dual(K, p, lower, upper, tol=1e-6)
    warm = solve_dual(K, p, lower, upper, tol=1e-6, start=start)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
    assert warm.n_iter < cold.n_iter


def test_nothing_is_handed_over_where_there_is_no_room():
    solution = solve_dual(K, p, LOW, HIGH)
    assert handed_over(solution, WholeMatrix(K), 0.0 * LOW, HIGH) is None

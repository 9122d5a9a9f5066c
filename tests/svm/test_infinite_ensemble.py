"""Infinite ensembles as estimators: against scikit-learn, on weights, on bad input."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, SVR

from kernsemble.datasets import make_threenorm, make_xor
from kernsemble.exceptions import RowsOnDemandWarning
from kernsemble.kernels import Laplacian, Perceptron, Stump
from kernsemble.solvers import solve_dual
from kernsemble.solvers.newton import Newton
from kernsemble.solvers.smo import DualTuning
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor
from kernsemble.svm.backends import prepared_matrix
from kernsemble.svm.backends.prepared_matrix import expansion_values

X, y = make_threenorm(120, random_state=0)
Z, labels = make_threenorm(200, random_state=1)
SCALER = MinMaxScaler((-1, 1)).fit(X)
A, B = SCALER.transform(X), SCALER.transform(Z)
IMPATIENT = DualTuning(entries_per_call=0, entries_before_newton=0, cubes_per_entry=np.inf)


@pytest.mark.parametrize("kernel", [Stump(), Perceptron(), Laplacian(0.1)], ids=repr)
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_decisions_are_those_of_libsvm_on_scaled_rows(kernel, C):
    ours = InfiniteEnsembleClassifier(kernel, C=C, tol=1e-6).fit(X, y)
    theirs = SVC(kernel=kernel.bind(A), C=C, tol=1e-6).fit(A, y)
    assert_allclose(ours.decision_function(Z), theirs.decision_function(B), atol=1e-3)
    assert_array_equal(ours.predict(Z), np.where(ours.decision_function(Z) > 0, 1, -1))


def test_full_and_simplified_kernels_are_one_machine():
    for kernel in (Stump(), Perceptron()):
        full, simplified = (
            InfiniteEnsembleClassifier(each, C=1.0, tol=1e-8).fit(X, y)
            for each in (kernel, kernel.simplified)
        )
        assert_allclose(full.decision_function(Z), simplified.decision_function(Z), atol=1e-5)


def test_regression_is_that_of_libsvm():
    target = np.sin(X[:, 0]) + X[:, 1]
    ours = InfiniteEnsembleRegressor("perceptron", C=1.0, epsilon=0.1, tol=1e-6).fit(X, target)
    theirs = SVR(kernel=Perceptron().bind(A), C=1.0, tol=1e-6).fit(A, target)
    assert_allclose(ours.predict(Z), theirs.predict(B), atol=1e-3)


def test_several_classes_are_predicted_by_pairs_as_in_libsvm():
    rows, species = load_iris(return_X_y=True)
    scaled = MinMaxScaler((-1, 1)).fit_transform(rows)
    ours = InfiniteEnsembleClassifier("perceptron", C=1.0, tol=1e-6).fit(rows, species)
    theirs = SVC(kernel=Perceptron().bind(scaled), C=1.0, tol=1e-6).fit(scaled, species)
    assert_array_equal(ours.predict(rows), theirs.predict(scaled))
    assert ours.decision_function(rows).shape == (150, 3)
    assert ours.dual_coef_.shape == (3, len(ours.support_))


def test_the_scale_of_C_is_one_over_the_mean_distance():  # noqa: N802
    distances = np.abs(A[:, np.newaxis] - A).sum(axis=2)
    assert pytest.approx(1 / distances.mean()) == InfiniteEnsembleClassifier().fit(X, y).C_


@pytest.mark.parametrize("scaling", ["rank", "distinct"])
def test_scalings_by_rank_are_invariant_to_monotone_transforms(scaling):
    plain, bent = (
        InfiniteEnsembleClassifier(C=1.0, scaling=scaling, tol=1e-8).fit(rows, y)
        for rows in (X, np.exp(X))
    )
    assert_allclose(plain.decision_function(X), bent.decision_function(np.exp(X)), atol=1e-5)


def test_sparse_rows_give_the_same_machine():
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((80, 10)) < 0.3, rng.normal(size=(80, 10)), 0.0)
    signs = np.where(rows[:, 0] + rows[:, 1] > 0, 1, -1)
    for scaling in ("range", "rank", "distinct", None):
        machine = InfiniteEnsembleClassifier(C=1.0, scaling=scaling, tol=1e-8)
        dense = machine.fit(rows, signs).decision_function(rows)
        S = sparse.csr_array(rows)
        assert_allclose(machine.fit(S, signs).decision_function(S), dense, atol=1e-5)


def test_class_weights_multiply_the_penalty():
    by_class = InfiniteEnsembleClassifier(C=0.1, class_weight={-1: 1, 1: 3}, tol=1e-8).fit(X, y)
    weight = np.where(y > 0, 3.0, 1.0)
    by_row = InfiniteEnsembleClassifier(C=0.1, tol=1e-8).fit(X, y, sample_weight=weight)
    assert_allclose(by_class.decision_function(Z), by_row.decision_function(Z), atol=1e-5)


def test_an_infeasible_hard_margin_is_an_error():
    corners, signs = make_xor()
    machine = InfiniteEnsembleClassifier("perceptron", C=np.inf).fit(corners, signs)
    assert machine.score(corners, signs) == 1.0
    with pytest.raises(ValueError, match="C = inf: the classes are not separable"):
        InfiniteEnsembleClassifier("stump", C=np.inf).fit(corners, signs)


def test_a_stopped_fit_warns_and_continues_with_warm_start():
    machine = InfiniteEnsembleClassifier(C=1.0, max_iter=20, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="max_iter = 20 was reached at violation"):
        machine.fit(X, y)
    stopped = machine.objective_[0]
    machine.set_params(max_iter=None).fit(X, y)
    assert machine.objective_[0] < stopped
    assert machine.fit(X, y).n_iter_ == 1  # nothing left to do


def test_an_interrupted_fit_continues_with_warm_start(monkeypatch):
    machine = InfiniteEnsembleClassifier(C=100.0, warm_start=True, tol=1e-6)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(prepared_matrix, "solve_dual", partial(solve_dual, tuning=IMPATIENT))
        patch.setattr(Newton, "step", interrupted)
        with pytest.raises(KeyboardInterrupt, match="warm_start"):
            machine.fit(X, y)
    started = machine.objective_[0]
    assert started < 0
    assert machine.fit(X, y).objective_[0] < started


def test_frames_keep_their_names():
    frame = pd.DataFrame(X, columns=[f"f{d}" for d in range(20)])
    kernel = Stump().on(list(range(10))) + Perceptron().on(list(range(10, 20)))
    machine = InfiniteEnsembleClassifier(kernel).fit(frame, y)
    assert list(machine.feature_names_in_) == list(frame.columns)
    assert_array_equal(machine.predict(frame), clone_and_predict(machine, X))


def clone_and_predict(machine, rows):
    return InfiniteEnsembleClassifier(**machine.get_params()).fit(rows, y).predict(rows)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": -1.0}, "C = -1.0: use a positive"),
        ({"C": "auto"}, "C = 'auto': use a positive"),
        ({"tol": 0.0}, "tol = 0.0"),
        ({"max_iter": 0}, "max_iter = 0"),
        ({"scaling": "log"}, "scaling = 'log': use one of 'range'"),
        ({"kernel": "stumpp"}, "did you mean 'stump'"),
        (
            {"multiclass": "pairs"},
            "multiclass = 'pairs': use one of 'auto', 'one-vs-one', 'one-vs-rest'",
        ),
        ({"decision_function_shape": "all"}, "decision_function_shape = 'all': use one of 'ovr'"),
        (
            {"decision_function_shape": "ovo", "multiclass": "one-vs-rest"},
            "decision_function_shape = 'ovo' needs a machine for every pair",
        ),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        InfiniteEnsembleClassifier(**settings).fit(X, y)


def test_bad_epsilons_are_refused():
    for epsilon in (-1.0, "auto", np.nan):
        with pytest.raises(ValueError, match=f"epsilon = {epsilon!r}"):
            InfiniteEnsembleRegressor(epsilon=epsilon).fit(X, y)


def test_bad_weights_are_refused():
    for weight in (-np.ones(120), np.zeros(120), np.ones(3), np.full(120, np.nan)):
        with pytest.raises(ValueError, match="sample_weight"):
            InfiniteEnsembleClassifier().fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_on_demand_give_the_same_machines(n_classes):
    rows = np.concatenate([X, Z])
    classes = (rows[:, 0] + rows[:, 1] > 0).astype(int) + (n_classes == 3) * (rows[:, 2] > 0)
    megabytes = 0.6 * 8 * len(rows) ** 2 / 2**20
    machine = InfiniteEnsembleClassifier("perceptron", tol=1e-6)
    expected = machine.fit(rows, classes)
    with pytest.warns(RowsOnDemandWarning, match="cache_size"):
        found = clone(machine).set_params(cache_size=megabytes).fit(rows, classes)
    assert pytest.approx(expected.C_) == found.C_
    assert_allclose(found.objective_, expected.objective_, rtol=1e-6)
    assert_allclose(found.decision_function(rows), expected.decision_function(rows), atol=1e-3)


def test_predictions_by_blocks_are_those_at_once():
    for rows in (X, sparse.csr_array(X)):
        machine = InfiniteEnsembleClassifier(C=0.1).fit(rows, y)
        known = machine.kernel_, machine.scaling_, machine.support_vectors_, machine.dual_coef_
        values = expansion_values(rows, *known, max_entries=7 * len(machine.support_))
        assert_allclose(values[:, 0] + machine.intercept_, machine.decision_function(rows))


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="y contains only one class"):
        InfiniteEnsembleClassifier().fit(X, np.ones(120))


def test_nan_and_infinity_are_refused():
    for wrong, message in [(np.nan, "column 4 of X has missing"), (np.inf, "Input X contains inf")]:
        rows = X.copy()
        rows[3, 4] = wrong
        for machine in (
            InfiniteEnsembleClassifier(solver="exact"),
            InfiniteEnsembleRegressor("perceptron"),
        ):
            with pytest.raises(ValueError, match=message):
                machine.fit(rows, y)
            with pytest.raises(ValueError, match=message):
                machine.fit(X, y).predict(rows)


def test_the_duality_gap_bounds_the_distance_to_the_optimum():
    best = InfiniteEnsembleClassifier(C=1.0, tol=1e-9).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        stopped = InfiniteEnsembleClassifier(C=1.0, max_iter=30).fit(X, y)
    assert stopped.duality_gap_[0] >= stopped.objective_[0] - best.objective_[0] > 1e-3
    assert best.duality_gap_[0] < 1e-6


def test_balanced_classes_are_those_of_repeated_rows():
    times = np.where(y > 0, 3, 1)
    machine = InfiniteEnsembleClassifier(C=0.1, class_weight="balanced", tol=1e-9)
    weighted = machine.fit(X, y, sample_weight=times).decision_function(Z)
    repeated = machine.fit(X.repeat(times, axis=0), y.repeat(times)).decision_function(Z)
    assert_allclose(weighted, repeated, atol=1e-6)


def test_the_unit_of_the_target_does_not_matter():
    target = np.sin(X[:, 0]) + X[:, 1]
    machine = InfiniteEnsembleRegressor()
    expected = machine.fit(X, target).predict(Z)
    for factor, shift in ((1000.0, 0.0), (1e-3, 5.0), (1e100, 0.0), (1e-100, 0.0)):
        found = machine.fit(X, factor * target + shift).predict(Z)
        assert_allclose((found - shift) / factor, expected, atol=1e-9)


def test_a_target_of_one_number_is_that_number():
    for number in (0.0, 0.1, 1e9):
        machine = InfiniteEnsembleRegressor().fit(X, np.full(120, number))
        assert_allclose(machine.predict(Z), number, rtol=1e-12)
        assert machine.epsilon_ == 0.1


def test_a_regression_continues_with_warm_start_in_any_unit():
    target = 1000.0 * X[:, 0]
    machine = InfiniteEnsembleRegressor(C=1e5, max_iter=10, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="max_iter = 10"):
        machine.fit(X, target)
    machine.set_params(max_iter=None).fit(X, target)
    assert machine.fit(X, target).n_iter_ == 1  # nothing left to do


def test_an_interrupt_ends_and_keeps_all_machines(monkeypatch):
    rows, digits = load_digits(n_class=5, return_X_y=True)
    rows, digits = rows[:200], digits[:200]
    machine = InfiniteEnsembleClassifier("perceptron", C=10.0, tol=1e-6, warm_start=True)
    expected = machine.fit(rows, digits).objective_
    fresh = clone(machine)
    solved = []

    def interrupted_third_time(*arguments, **settings):
        solved.append(solve_dual(*arguments, **settings, tuning=IMPATIENT))
        if len(solved) == 3:
            raise KeyboardInterrupt
        return solved[-1]

    with monkeypatch.context() as patch:
        patch.setattr(prepared_matrix, "solve_dual", interrupted_third_time)
        with pytest.raises(KeyboardInterrupt, match="warm_start"):
            fresh.fit(rows, digits)
    reached = fresh.objective_
    assert reached.shape == (10,)
    assert (reached > expected + 1e-9).any()  # some were not finished
    assert_allclose(fresh.fit(rows, digits).objective_, expected, rtol=1e-5)


@pytest.mark.parametrize("scaling", ["range", "rank", "distinct", None])
def test_sparse_and_dense_rows_get_the_same_values_whichever_was_fitted(scaling):
    rows = np.abs(A) + 3.0
    rows[::3, 0] = 0.0
    for fitted in (rows, sparse.csr_matrix(rows)):
        machine = InfiniteEnsembleClassifier(scaling=scaling).fit(fitted, y)
        values = machine.decision_function(sparse.csr_matrix(rows))
        assert_allclose(values, machine.decision_function(rows), atol=1e-8)


def test_coefficients_at_their_bounds_up_to_rounding_leave_the_middle_as_bias():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    classes = (rows[:, 0] > 0.5).astype(int)
    weight = rng.integers(1, 4, 200)
    repeated = np.repeat(np.arange(200), weight)
    machine = InfiniteEnsembleClassifier(C=2.0**-9, class_weight="balanced")
    assert set(machine.fit(rows, classes).predict(rows)) == {0, 1}
    weighted = clone(machine).fit(rows, classes, weight)
    longhand = clone(machine).fit(rows[repeated], classes[repeated])
    assert weighted.intercept_ == pytest.approx(longhand.intercept_, abs=1e-4)


@pytest.mark.parametrize("factor", [-1.0, np.nan, np.inf])
def test_invalid_class_weights_are_refused(factor):
    machine = InfiniteEnsembleClassifier(class_weight={y[0]: factor})
    with pytest.raises(ValueError, match=r"class_weight = .*use finite numbers"):
        machine.fit(A, y)


@pytest.mark.parametrize("C", ["foo", None, 0, -1.0, np.array([1.0, 2.0])])
def test_invalid_penalties_are_refused(C):
    with pytest.raises(ValueError, match=r"C = .*: use a positive number, np.inf or 'scale'"):
        InfiniteEnsembleClassifier(C=C).fit(A, y)


def test_a_fit_that_fails_leaves_no_machine():
    machine = InfiniteEnsembleClassifier(C=np.inf)
    with pytest.raises(ValueError, match="C = inf"):
        machine.fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    with pytest.raises(NotFittedError):
        machine.predict([[0, 0]])


@pytest.mark.parametrize("unit", [1e-170, 1e155])
def test_targets_of_any_unit_are_fitted(unit):
    machine = InfiniteEnsembleRegressor().fit(A, unit * A[:, 0])
    assert np.corrcoef(machine.predict(A) / unit, A[:, 0])[0, 1] > 0.9

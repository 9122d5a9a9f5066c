"""Infinite ensembles as estimators: against scikit-learn, on weights, on bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, SVR

import kernsemble
from kernsemble.datasets import make_threenorm, make_xor
from kernsemble.kernels import Laplacian, Perceptron, Stump
from kernsemble.solvers import smo
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
)

X, y = make_threenorm(120, random_state=0)
Z, labels = make_threenorm(200, random_state=1)
SCALER = MinMaxScaler((-1, 1)).fit(X)
A, B = SCALER.transform(X), SCALER.transform(Z)


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
    ours = InfiniteEnsembleRegressor("perceptron", C=1.0, tol=1e-6).fit(X, target)
    theirs = SVR(kernel=Perceptron().bind(A), C=1.0, tol=1e-6).fit(A, target)
    assert_allclose(ours.predict(Z), theirs.predict(B), atol=1e-3)


def test_several_classes_are_decided_by_pairs_as_in_libsvm():
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
def test_scalings_by_rank_do_not_see_monotone_transforms(scaling):
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


def test_a_hard_margin_that_cannot_be_is_told():
    corners, signs = make_xor()
    machine = InfiniteEnsembleClassifier("perceptron", C=np.inf).fit(corners, signs)
    assert machine.score(corners, signs) == 1.0
    with pytest.raises(ValueError, match="no hyperplane separates the classes"):
        InfiniteEnsembleClassifier("stump", C=np.inf).fit(corners, signs)


def test_a_stopped_fit_warns_and_goes_on_with_warm_start():
    machine = InfiniteEnsembleClassifier(C=1.0, max_iter=20, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="max_iter = 20 was reached at violation"):
        machine.fit(X, y)
    stopped = machine.objective_[0]
    machine.set_params(max_iter=None).fit(X, y)
    assert machine.objective_[0] < stopped
    assert machine.fit(X, y).n_iter_ == 1  # nothing left to do


def test_an_interrupted_fit_goes_on_with_warm_start(monkeypatch):
    machine = InfiniteEnsembleClassifier(C=100.0, warm_start=True, tol=1e-6)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(smo, "ENTRIES_A_CALL", 0)
        patch.setattr(smo, "newton_step", interrupted)
        with pytest.raises(KeyboardInterrupt, match="warm_start"):
            machine.fit(X, y)
    started = machine.objective_[0]
    assert started < 0
    assert machine.fit(X, y).objective_[0] < started


@pytest.mark.parametrize("n_classes", [2, 3])
def test_selection_is_that_of_a_grid_search(n_classes):
    rows, classes = (A, y) if n_classes == 2 else load_iris(return_X_y=True)
    Cs, cv = 2.0 ** np.arange(-7, 4, 2), StratifiedKFold(4, shuffle=True, random_state=0)
    ours = InfiniteEnsembleClassifierCV("perceptron", Cs=Cs, cv=cv, scaling=None, tol=1e-5)
    ours.fit(rows, classes)
    K = Perceptron().bind(rows)(rows)
    theirs = GridSearchCV(SVC(kernel="precomputed", tol=1e-5), {"C": Cs}, cv=cv).fit(K, classes)
    expected = theirs.cv_results_["mean_test_score"]
    assert_allclose(ours.cv_results_["mean_test_score"], expected, atol=1e-9)
    assert theirs.best_params_["C"] == ours.C_
    assert ours.best_score_ == pytest.approx(theirs.best_score_)


def test_selection_among_kernels_and_scalings():
    machine = InfiniteEnsembleClassifierCV(
        [Stump(), "perceptron"], Cs=(0.1, 1.0), scaling=["range", "rank"], cv=3
    ).fit(X, y)
    results = machine.cv_results_
    assert len(results["params"]) == 8
    best = results["params"][int(np.argmax(results["mean_test_score"]))]
    assert machine.best_score_ == results["mean_test_score"].max()
    assert best["C"] == machine.C_
    assert machine.scaling_.kind == best["scaling"]
    assert set(results["rank_test_score"]) <= set(range(1, 9))


def test_selection_by_another_score():
    machine = InfiniteEnsembleClassifierCV(Cs=(0.1, 1.0), scoring="roc_auc", cv=3).fit(X, y)
    assert 0.5 < machine.best_score_ <= 1.0


def test_rows_that_do_not_count_do_not_score():
    weight = np.ones(120)
    weight[::3] = 0.0
    wrong = np.where(weight > 0, y, -y)
    machine = InfiniteEnsembleClassifierCV("perceptron", Cs=(1.0,), cv=StratifiedKFold(3))
    honest = machine.fit(X, wrong, sample_weight=weight).best_score_
    assert honest > machine.fit(X, wrong).best_score_ + 0.1


def test_frames_keep_their_names():
    frame = pd.DataFrame(X, columns=[f"f{d}" for d in range(20)])
    kernel = Stump().on(list(range(10))) + Perceptron().on(list(range(10, 20)))
    machine = InfiniteEnsembleClassifier(kernel).fit(frame, y)
    assert list(machine.feature_names_in_) == list(frame.columns)
    assert_array_equal(machine.predict(frame), clone_and_predict(machine, X))


def clone_and_predict(machine, rows):
    return InfiniteEnsembleClassifier(**machine.get_params()).fit(rows, y).predict(rows)


def test_machines_survive_pickle_and_files(tmp_path):
    for machine in (InfiniteEnsembleClassifierCV(Cs=(0.1, 1.0)), InfiniteEnsembleRegressor()):
        machine.fit(X, y)
        expected = machine.predict(Z)
        assert_array_equal(pickle.loads(pickle.dumps(machine)).predict(Z), expected)
        path = kernsemble.save(machine, tmp_path / "machine.skops")
        assert_array_equal(kernsemble.load(path).predict(Z), expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": -1.0}, "C = -1.0: give a positive"),
        ({"C": "auto"}, "C = 'auto': give a positive"),
        ({"tol": 0.0}, "tol = 0.0"),
        ({"max_iter": 0}, "max_iter = 0"),
        ({"scaling": "log"}, "scaling = 'log': give one of 'range'"),
        ({"kernel": "stumpp"}, "did you mean 'stump'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        InfiniteEnsembleClassifier(**settings).fit(X, y)


def test_bad_weights_and_grids_are_refused():
    for weight in (-np.ones(120), np.zeros(120), np.ones(3), np.full(120, np.nan)):
        with pytest.raises(ValueError, match="sample_weight"):
            InfiniteEnsembleClassifier().fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="Cs is empty"):
        InfiniteEnsembleClassifierCV(Cs=()).fit(X, y)
    with pytest.raises(ValueError, match="Cs = -1"):
        InfiniteEnsembleClassifierCV(Cs=(-1.0,)).fit(X, y)
    with pytest.raises(ValueError, match="epsilon = -1"):
        InfiniteEnsembleRegressor(epsilon=-1).fit(X, y)

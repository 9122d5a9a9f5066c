"""Multiclass classification by binary machines: against scikit-learn, and the coupling of pairs."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from kernsemble.kernels import Laplacian, Perceptron
from kernsemble.solvers import solve_folds
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV
from kernsemble.svm.multiclass import OneVersusOne, OneVersusRest, as_reduction

X, y = load_iris(return_X_y=True)
A = MinMaxScaler((-1, 1)).fit_transform(X)
KERNEL = Perceptron().bind(A)


def fitted(**settings):
    return InfiniteEnsembleClassifier("perceptron", C=1.0, tol=1e-6, **settings).fit(X, y)


def test_one_against_rest_is_that_of_scikit_learn():
    ours = fitted(multiclass="one-vs-rest")
    theirs = OneVsRestClassifier(SVC(kernel=KERNEL, C=1.0, tol=1e-6)).fit(A, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(A), atol=1e-3)
    assert_array_equal(ours.predict(X), theirs.predict(A))
    assert ours.dual_coef_.shape == (3, len(ours.support_))


def test_values_of_pairs_are_those_of_libsvm():
    ours = fitted(decision_function_shape="ovo")
    theirs = SVC(kernel=KERNEL, C=1.0, tol=1e-6, decision_function_shape="ovo").fit(A, y)
    assert_allclose(ours.decision_function(X), theirs.decision_function(A), atol=2e-3)
    assert_array_equal(ours.predict(X), fitted().predict(X))


def test_the_class_with_most_pairs_is_predicted_and_confidence_breaks_ties():
    rows, cultivars = load_wine(return_X_y=True)
    machine = InfiniteEnsembleClassifier(C=0.01).fit(rows, cultivars)
    decisions = machine.decision_function(rows)
    pairs = machine.set_params(decision_function_shape="ovo").decision_function(rows)
    won = np.column_stack(
        [
            (pairs[:, 0] > 0).astype(int) + (pairs[:, 1] > 0),
            (pairs[:, 0] <= 0).astype(int) + (pairs[:, 2] > 0),
            (pairs[:, 1] <= 0).astype(int) + (pairs[:, 2] <= 0),
        ]
    )
    assert_array_equal(np.rint(decisions), won)
    assert_array_equal(machine.predict(rows), decisions.argmax(axis=1))


@pytest.mark.parametrize(
    ("multiclass", "shape"), [("one-vs-one", "ovr"), ("one-vs-one", "ovo"), ("one-vs-rest", "ovr")]
)
def test_two_classes_need_one_machine(multiclass, shape):
    settings = {"multiclass": multiclass, "decision_function_shape": shape}
    machine = InfiniteEnsembleClassifier(C=1.0, **settings).fit(X[:100], y[:100])
    decisions = machine.decision_function(X[:100])
    assert decisions.shape == (100,)
    assert_array_equal(machine.predict(X[:100]), (decisions > 0).astype(int))
    assert_allclose(
        decisions,
        InfiniteEnsembleClassifier(C=1.0).fit(X[:100], y[:100]).decision_function(X[:100]),
    )


def test_a_class_of_weight_zero_is_never_predicted():
    for multiclass in ("one-vs-one", "one-vs-rest"):
        machine = InfiniteEnsembleClassifier(C=1.0, multiclass=multiclass)
        machine.fit(X, y, sample_weight=(y != 1).astype(float))
        assert set(machine.predict(X)) == {0, 2}


def probabilities(n_classes):
    parts = arrays(np.float64, (3, n_classes), elements=st.floats(0.01, 1.0))
    return parts.map(lambda p: p / p.sum(axis=1, keepdims=True))


@given(p=st.integers(2, 6).flatmap(probabilities))
def test_coupling_returns_the_probabilities_that_pairs_were_made_of(p):
    reduction = OneVersusOne(p.shape[1])
    shares = np.column_stack([p[:, i] / (p[:, i] + p[:, j]) for i, j in reduction.pairs])
    assert_allclose(reduction.combine(shares), p, atol=1e-9)


@given(
    shares=st.integers(3, 6).flatmap(
        lambda k: arrays(np.float64, (4, k * (k - 1) // 2), elements=st.floats(0.0, 1.0))
    )
)
def test_contradictory_pairs_are_coupled_to_probabilities(shares):
    n_classes = {3: 3, 6: 4, 10: 5, 15: 6}[shares.shape[1]]
    p = OneVersusOne(n_classes).combine(shares)
    assert (p > 0.0).all()
    assert_allclose(p.sum(axis=1), 1.0)


def test_coupling_by_blocks_is_coupling_at_once():
    shares = np.random.default_rng(0).random((50, 6))
    whole = OneVersusOne(4).combine(shares)
    assert_allclose(OneVersusOne(4).combine(shares, max_entries=3 * 25), whole)


def test_reductions_are_values():
    assert as_reduction("one-vs-rest", 3) == OneVersusRest(3) != OneVersusOne(3)
    assert as_reduction("one-vs-rest", 2) == OneVersusOne(2)


def test_automatic_reduction_is_pairs_for_few_classes_and_classes_for_many():
    assert as_reduction("auto", 20) == OneVersusOne(20)
    assert as_reduction("auto", 21) == OneVersusRest(21)
    assert as_reduction("auto", 21, "ovo") == OneVersusOne(21)
    assert as_reduction("auto", 2) == as_reduction("one-vs-rest", 2) == OneVersusOne(2)


@pytest.mark.large
def test_many_classes_need_one_machine_each_and_few_candidates():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(60), 4)
    rows = np.column_stack([codes % 8, codes // 8]) + 0.1 * rng.normal(size=(240, 2))
    machine = InfiniteEnsembleClassifierCV(
        "auto", cv=2, calibration=None, loss="hinge", random_state=0
    )
    machine.fit(rows, codes)
    assert machine.reduction_ == OneVersusRest(60)
    assert len(machine.intercept_) == 60
    assert machine.best_score_ > 0.9
    summary = machine.search_summary_
    assert summary.tried.startswith("12 settings: trees, polytopes, perceptrons and stumps")
    assert "60 machines" in summary.reason


def test_machines_of_pairs_predict_held_out_rows_of_all_classes():
    """The folds of a pair are solved on its rows, with the same values as on all rows."""
    rng = np.random.default_rng(0)
    codes, rows = np.arange(80) % 4, rng.normal(size=(80, 3))
    K = Laplacian(0.3)(rows)
    signs = (codes == 1) * 1.0 - (codes == 3)
    held_out = [np.arange(0, 20), np.arange(20, 40)]
    bounds = np.minimum(signs, 0.0), np.maximum(signs, 0.0)
    found = solve_folds(K, signs, *bounds, [1.0, 4.0], held_out, tol=1e-8)
    for fold, held in zip(found, held_out, strict=True):
        kept = np.delete(np.arange(80), held)
        for C, decisions in zip([1.0, 4.0], fold.decisions, strict=True):
            mine = kept[signs[kept] != 0.0]
            alone = SVC(kernel="precomputed", C=C, tol=1e-8)
            alone.fit(K[np.ix_(mine, mine)], signs[mine])
            expected = alone.decision_function(K[np.ix_(held, mine)])
            assert_allclose(decisions, expected, atol=1e-4)

"""A weight and repetitions of a row are one problem, solved to the same bits at any tolerance."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from kernsemble.boosting import LPBoostClassifier
from kernsemble.datasets import make_threenorm
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor

X, LABELS = make_threenorm(60, random_state=0)
NUMBERS = X[:, 0] + np.sin(X[:, 1])
Z, _ = make_threenorm(30, random_state=1)
WEIGHT = np.random.default_rng(0).integers(0, 4, len(X))
REPEATED = np.random.default_rng(1).permutation(np.repeat(np.arange(len(X)), WEIGHT))
ESTIMATORS = [
    InfiniteEnsembleClassifier(),
    InfiniteEnsembleClassifier("perceptron", class_weight="balanced", scaling="rank"),
    InfiniteEnsembleClassifier("laplacian", scaling="learned"),
    InfiniteEnsembleClassifier(solver="additive"),
    InfiniteEnsembleClassifier(solver="local", loss="squared"),
    InfiniteEnsembleRegressor(),
    InfiniteEnsembleRegressor(solver="additive", n_pairs=2, random_state=0),
    LPBoostClassifier(),
]


def values(estimator, rows):
    predict = getattr(estimator, "decision_function", estimator.predict)
    return predict(rows)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_repetitions_and_weights_give_the_same_bits(estimator):
    y = NUMBERS if isinstance(estimator, InfiniteEnsembleRegressor) else LABELS
    weighted = values(estimator.fit(X, y, sample_weight=WEIGHT), Z)
    repeated = values(estimator.fit(X[REPEATED], y[REPEATED]), Z)
    assert_array_equal(weighted, repeated)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_support_refers_to_the_rows_as_given(make):
    rows, labels = X[REPEATED], LABELS[REPEATED]
    machine = InfiniteEnsembleClassifier().fit(make(rows), labels)
    support = machine.support_
    assert_array_equal((make(rows)[support] != machine.support_vectors_).sum(), 0)
    assert len(np.unique(rows[support], axis=0)) == len(support)
    assert_array_equal(labels[support] > 0, machine.dual_coef_[0] > 0)


def test_a_warm_start_continues_from_merged_rows():
    rows, labels = X[REPEATED], LABELS[REPEATED]
    machine = InfiniteEnsembleClassifier(warm_start=True, tol=1e-9).fit(rows, labels)
    assert machine.fit(rows, labels).n_iter_ == 1


def test_a_label_that_differs_keeps_equal_rows_apart():
    rows, labels = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 1, 1])
    machine = InfiniteEnsembleClassifier().fit(rows, labels)
    assert set(machine.support_) <= {0, 1, 2}


def test_margins_of_lpboost_are_those_of_every_given_row():
    boosted = LPBoostClassifier(C=1.0).fit(X[REPEATED], LABELS[REPEATED])
    expected = boosted.margins(X[REPEATED], LABELS[REPEATED])
    assert_array_equal(boosted.margins_, expected)

"""Votes on few rows, which are fast enough without compilation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.datasets import make_mixed_table, make_threenorm
from kernsemble.svm import InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV

X, y = make_threenorm(70, random_state=0)
X = X[:, :3]


def test_a_vote_of_three_classes_has_one_value_per_class():
    classes = np.digitize(X[:, 0] + X[:, 1], [-1.0, 1.0])
    machine = InfiniteEnsembleClassifierCV(cv=2, random_state=0).fit(X, classes)
    probability = machine.predict_proba(X)
    assert_allclose(probability.sum(axis=1), 1.0)
    assert_allclose(probability.argmax(axis=1), machine.predict(X))
    assert machine.score(X, classes) > 0.8
    assert machine.out_of_fold_.values.shape == (70, 3)


@pytest.mark.parametrize("calibration", ["isotonic", None])
def test_a_vote_on_a_table_is_calibrated_on_request(calibration):
    table, income = make_mixed_table(80, random_state=0)
    settings = {"cv": 2, "calibration": calibration, "time_budget": 0.5, "random_state": 0}
    machine = InfiniteEnsembleClassifierCV(**settings).fit(table, income)
    assert hasattr(machine, "predict_proba") == (calibration is not None)
    assert machine.score(table, income) > 0.6
    assert 1 <= len(machine.members_) <= 6


def test_a_vote_of_numbers_is_better_than_their_mean():
    numbers = X[:, 0] * X[:, 1] + 0.1 * X[:, 2]
    machine = InfiniteEnsembleRegressorCV(cv=2, max_members=2, random_state=0).fit(X, numbers)
    assert len(machine.members_) <= 2
    assert machine.best_score_ > 0.3
    assert machine.best_score_ == machine.cv_results_["mean_test_score"][-1]

"""Out-of-fold predictions: those of machines that were fitted without the row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit, StratifiedKFold

import kernsemble
from kernsemble.datasets import make_threenorm
from kernsemble.inspection.predictions import Predictions
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
)

FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def explicit_refits(model, X, y):
    """Return the decision values of held-out rows by machines fitted to the other rows."""
    values, rows = [], []
    for train, test in FOLDS.split(X, y):
        machine = InfiniteEnsembleClassifier(
            model.best_params_["kernel"], C=model.C_, scaling="range", tol=1e-6
        )
        values.append(machine.fit(X[train], y[train]).decision_function(X[test]))
        rows.append(test)
    return np.concatenate(values), np.concatenate(rows)


def test_out_of_fold_values_are_those_of_explicit_refits():
    X, y = make_threenorm(90, random_state=0)
    X = np.clip(X, -2.0, 2.0)  # so that every fold has the same range in every column
    for _, test in FOLDS.split(X, y):
        X[test[0]], X[test[1]] = -2.0, 2.0
    model = InfiniteEnsembleClassifierCV("perceptron", cv=FOLDS, scaling="range", tol=1e-6)
    found = model.fit(X, y).out_of_fold_
    values, rows = explicit_refits(model, X, y)
    assert_array_equal(found.rows, rows)
    assert_array_equal(found.folds, np.repeat([0, 1, 2], 30))
    assert_allclose(found.values, values, atol=1e-3)
    assert_array_equal(found.predicted, model.classes_[(found.values > 0).astype(int)])


def test_probabilities_of_a_row_do_not_depend_on_its_own_fold():
    X, y = make_threenorm(120, random_state=0)
    model = InfiniteEnsembleClassifierCV("stump", cv=FOLDS, Cs=[0.1]).fit(X, y)
    found = model.out_of_fold_
    is_first = found.folds == 0
    swapped = y.copy()
    swapped[found.rows[is_first]] = -y[found.rows[is_first]]
    splits = [
        (np.delete(np.arange(120), t), t) for t in (found.rows[found.folds == k] for k in range(3))
    ]
    again = InfiniteEnsembleClassifierCV("stump", cv=splits, Cs=[0.1]).fit(X, swapped).out_of_fold_
    assert_allclose(again.values[is_first], found.values[is_first], atol=1e-9)
    assert not np.allclose(again.probabilities[is_first], found.probabilities[is_first])


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic"])
def test_probabilities_agree_with_predictions_and_sum_to_one(calibration):
    X, y = load_iris(return_X_y=True)
    model = InfiniteEnsembleClassifierCV("stump", Cs=[0.1, 1.0], calibration=calibration)
    found = model.fit(X, y).out_of_fold_
    assert found.values.shape == found.probabilities.shape == (150, 3)
    assert_allclose(found.probabilities.sum(axis=1), 1.0)
    assert_array_equal(model.classes_[found.probabilities.argmax(axis=1)], found.predicted)
    assert np.mean(found.predicted == y[found.rows]) == pytest.approx(model.best_score_)


def test_without_calibration_there_are_no_probabilities():
    X, y = make_threenorm(60, random_state=0)
    model = InfiniteEnsembleClassifierCV("stump", Cs=[0.1], calibration=None).fit(X, y)
    assert model.out_of_fold_.probabilities is None
    assert Predictions.from_out_of_fold(model, y).probabilities is None


def test_losses_with_a_link_need_no_curves():
    X, y = make_threenorm(60, random_state=0)
    model = InfiniteEnsembleClassifierCV("stump", Cs=[0.1], loss="logistic").fit(X, y)
    found = model.out_of_fold_
    assert_allclose(found.probabilities[:, 1], 1.0 / (1.0 + np.exp(-found.values)), atol=1e-9)


@pytest.mark.parametrize(
    "cv", [RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), ShuffleSplit(1, random_state=0)]
)
def test_rows_may_be_tested_several_times_or_never(cv):
    X, y = make_threenorm(60, random_state=0)
    found = InfiniteEnsembleClassifierCV("stump", Cs=[0.1], cv=cv).fit(X, y).out_of_fold_
    tests = [test for _, test in cv.split(X)]
    assert_array_equal(found.rows, np.concatenate(tests))
    assert np.isfinite(found.probabilities).all()


def test_out_of_fold_numbers_are_those_of_explicit_refits():
    X, y = make_friedman1(60, random_state=0)
    X[:2], X[20:22], X[40:42] = [[0.0], [1.0]], [[0.0], [1.0]], [[0.0], [1.0]]
    model = InfiniteEnsembleRegressorCV(
        "stump", Cs=[0.5], epsilons=[0.1], cv=KFold(3), scaling="range", tol=1e-6
    ).fit(X, y)
    expected = []
    for train, test in KFold(3).split(X):
        machine = InfiniteEnsembleRegressor(
            "stump", C=model.C_, epsilon=model.epsilon_, scaling="range", tol=1e-6
        )
        expected.append(machine.fit(X[train], y[train]).predict(X[test]))
    assert_allclose(model.out_of_fold_.predicted, np.concatenate(expected), atol=2e-2)
    predictions = Predictions.from_out_of_fold(model, y)
    assert predictions.where == "out-of-fold rows"
    assert predictions.classes is None
    assert_array_equal(predictions.y, y)


def test_predictions_of_classes_have_a_column_per_class():
    X, y = make_threenorm(60, random_state=0)
    model = clone(InfiniteEnsembleClassifierCV("stump", Cs=[0.1], cv=FOLDS)).fit(X, y)
    predictions = Predictions.from_out_of_fold(model, y)
    assert predictions.where == "out-of-fold rows"
    assert_array_equal(predictions.y, y[model.out_of_fold_.rows])
    assert_array_equal(predictions.values[:, 1], model.out_of_fold_.values)
    assert_array_equal(predictions.values[:, 0], -model.out_of_fold_.values)


def test_out_of_fold_predictions_survive_a_file(tmp_path):
    X, y = make_threenorm(60, random_state=0)
    model = InfiniteEnsembleClassifierCV("stump", Cs=[0.1]).fit(X, y)
    kernsemble.save(model, tmp_path / "model.skops")
    assert kernsemble.load(tmp_path / "model.skops").out_of_fold_ == model.out_of_fold_
    assert len(repr(model.out_of_fold_)) < 100

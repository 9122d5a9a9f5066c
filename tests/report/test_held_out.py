"""Scores of a report are those of rows that the predicting machines were not fitted to."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from report.models import cancer, every_model, stumps
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import accuracy_score, log_loss, r2_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernsemble.datasets import make_threenorm
from kernsemble.inspection.predictions import Predictions
from kernsemble.inspection.scores import scores
from kernsemble.report import Summary
from kernsemble.report.held_out import held_out_predictions
from kernsemble.report.rivals import compare_with_rivals
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
)


def named(found):
    return {score.name: score.value for score in found}


def test_scores_of_a_cross_validated_model_are_out_of_fold():
    """Each row is predicted by the selected setting, fitted without the row's fold."""
    X, _, y, _ = cancer()
    summary, model = Summary.from_estimator(stumps(), X, y), stumps()
    single = InfiniteEnsembleClassifier("stump", C=model.C_)
    single.set_params(scaling=None)  # the scaling of all rows, as in the model selection
    scaled = model.scaling_.transform(X.to_numpy())
    kernel = model.kernel_
    values = np.empty(len(y))
    for train, test in StratifiedKFold(3).split(X, y):
        fitted = clone(single).set_params(kernel=kernel).fit(scaled[train], y[train])
        values[test] = fitted.decision_function(scaled[test])
    found = named(summary.scores)
    assert summary.predictions.where == "out-of-fold rows"
    assert found["accuracy"] == pytest.approx(model.best_score_)
    indices = summary.held_out.indices
    assert_allclose(summary.predictions.values[:, 1], values[indices], atol=0.02)
    assert_array_equal(np.sort(indices), np.arange(len(y)))
    assert_array_equal(summary.predictions.y, y[indices])
    assert summary.scores == scores(Predictions.from_out_of_fold(model, y))  # as after a fit


def test_training_scores_are_a_comparison_only():
    X, _, y, _ = cancer()
    summary = Summary.from_estimator(stumps(), X, y)
    assert named(summary.training)["accuracy"] == stumps().score(X, y)


@pytest.mark.large
def test_scores_are_no_better_than_chance_on_noise():
    """A hard margin separates noise perfectly, and out-of-fold scores reveal it."""
    X, _ = make_threenorm(120, random_state=0)
    y = np.random.default_rng(1).random(120) < 0.5
    for model in (
        InfiniteEnsembleClassifier("laplacian", C=1e6),
        InfiniteEnsembleClassifierCV("laplacian", Cs=[1e6], cv=3),
    ):
        summary = Summary.from_estimator(model.fit(X, y), X, y)
        assert named(summary.training)["accuracy"] == 1.0
        assert 0.3 < named(summary.scores)["accuracy"] < 0.7
        assert "out-of-fold rows" in summary.sentences[1]


def test_models_without_cross_validation_are_fitted_again():
    model, X, y = every_model()["trees"]
    found = held_out_predictions(model, X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = cross_val_predict(clone(model), X, y, cv=folds, method="decision_function")
    assert_allclose(found.predictions.values[:, 1], expected)
    assert_array_equal(found.predictions.y, y)
    assert "fitted again on 5 folds" in found.method
    few = held_out_predictions(model, X, y, max_refit_rows=60)
    assert len(few.indices) == 60
    assert "60 of the 120 rows, which makes the scores pessimistic" in few.method
    assert_array_equal(few.predictions.y, y[few.indices])


def test_numbers_are_predicted_out_of_fold():
    X, _ = make_threenorm(60, random_state=0)
    model = InfiniteEnsembleRegressor().fit(X, X[:, 0])
    found = held_out_predictions(model, X, X[:, 0])
    folds = KFold(5, shuffle=True, random_state=0)
    assert_allclose(found.predictions.predicted, cross_val_predict(model, X, X[:, 0], cv=folds))


def test_rows_of_other_data_are_not_taken_for_the_training_rows():
    X, _, y, _ = cancer()
    found = held_out_predictions(stumps(), X[:80], y[:80])
    assert "fitted again" in found.method


def test_a_single_row_of_a_class_leaves_training_scores():
    X, _, y, _ = cancer()
    labels = np.r_[y[:59], ["strange"]]
    found = held_out_predictions(InfiniteEnsembleClassifier().fit(X[:60], labels), X[:60], labels)
    assert found.predictions.where == "training rows"
    assert "the class strange has only one row" in found.method


def test_rivals_are_those_of_scikit_learn_on_the_same_folds():
    X, _, y, _ = cancer()
    held_out = held_out_predictions(stumps(), X, y)
    found = {
        rival.name: named(rival.scores)
        for rival in compare_with_rivals(stumps(), X, y, None, held_out).rivals
    }
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    folds = StratifiedKFold(3)
    P = cross_val_predict(linear, X, y, cv=folds, method="predict_proba")
    assert found["logistic regression"]["log loss"] == pytest.approx(log_loss(y, P))
    guess = cross_val_predict(DummyClassifier(), X, y, cv=folds)
    always = found["always the most frequent class"]
    assert always["accuracy"] == pytest.approx(accuracy_score(y, guess))
    assert always["ROC AUC"] == 0.5
    assert found["this model"] == named(Summary.from_estimator(stumps(), X, y).scores)


def test_rivals_on_test_rows_are_fitted_to_the_training_rows():
    model, X, y = every_model()["numbers"]
    held_out = held_out_predictions(model, X, y, X[:30], y[:30])
    found = compare_with_rivals(model, X, y, X[:30], held_out)
    linear = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))).fit(X, y)
    assert found.value("ridge regression") == pytest.approx(
        r2_score(y[:30], linear.predict(X[:30]))
    )
    assert found.value("always the mean") == pytest.approx(r2_score(y[:30], np.full(30, y.mean())))


def test_rivals_see_categories_and_missing_numbers():
    model, X, y = every_model()["mixed"]
    comparison = Summary.from_estimator(model, X, y).comparison
    assert [rival.name for rival in comparison.rivals][-1] == "logistic regression"
    assert comparison.value("logistic regression") > comparison.value(
        "always the most frequent class"
    )


def test_three_sentences_come_first():
    X, _, y, _ = cancer()
    summary = Summary.from_estimator(stumps(), X, y, target="diagnosis")
    first, second, third = summary.sentences
    assert first == (
        "The model predicts diagnosis (benign or malignant) from 3 columns; it was fitted to "
        "120 rows."
    )
    accuracy = summary.scores[0]
    assert f"its accuracy is {accuracy}" in second
    assert "(95 % CI" in second
    for name in ("always the most frequent class", "logistic regression"):
        assert f"{summary.comparison.value(name):.3f} for" in second
    assert third.startswith(f"The most important features are {next(iter(summary.importances))} (")


@pytest.mark.parametrize(
    ("n_classes", "named_classes"),
    [(3, "(0, 1 or 2)"), (5, "(0, 1, 2, 3 or 4)"), (6, "(0, 1, 2, 3 and 2 other classes)")],
)
def test_the_summary_names_a_few_classes(n_classes, named_classes):
    y = np.repeat(np.arange(n_classes), 4)
    X = y[:, np.newaxis] + np.tile([0.0, 0.1, 0.2, 0.3], n_classes)[:, np.newaxis]
    model = InfiniteEnsembleClassifier("stump").fit(X, y)
    summary = Summary.from_estimator(model, X, y, X_test=X, y_test=y)
    assert named_classes in summary.sentences[0]

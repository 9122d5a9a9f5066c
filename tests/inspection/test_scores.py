"""Confidence intervals of scores."""

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor

from kernsemble.inspection.predictions import Predictions
from kernsemble.inspection.scores import fold_score, scores


def test_the_interval_of_folds_is_that_of_nadeau_and_bengio():
    folds = np.array([0.7, 0.8, 0.75, 0.9, 0.85])
    found = fold_score("accuracy", folds, most=1.0)
    width = 2.776445 * np.sqrt((1 / 5 + 1 / 4) * np.var(folds, ddof=1))
    assert found.value == pytest.approx(0.8)
    assert found.low == pytest.approx(0.8 - width)
    assert found.high == pytest.approx(min(0.8 + width, 1.0))
    assert np.isnan(fold_score("accuracy", folds[:1]).low)


def test_the_interval_of_an_absolute_error_is_as_wide_as_its_normal_one():
    rng = np.random.default_rng(0)
    y = rng.normal(size=60_000)
    model = DummyRegressor(strategy="constant", constant=0.0).fit(np.zeros((2, 1)), [0.0, 1.0])
    predictions = Predictions.from_estimator(model, np.zeros((len(y), 1)), y, "test rows")
    error = next(each for each in scores(predictions) if each.name == "mean absolute error")
    assert error.value == pytest.approx(np.abs(y).mean())
    assert error.low < np.sqrt(2.0 / np.pi) < error.high
    normal = 2 * 1.96 * np.abs(y).std() / np.sqrt(len(y))
    assert error.high - error.low == pytest.approx(normal, rel=0.15)


def test_scores_have_three_digits_and_labelled_intervals():
    folds = np.array([0.7, 0.8, 0.75, 0.9, 0.85])
    found = fold_score("accuracy", folds, most=1.0)
    assert str(found) == "0.800 (95 % CI 0.653 to 0.947)"
    assert str(fold_score("accuracy", folds[:1])) == "0.700"
    standard_error = np.sqrt((1 / 5 + 1 / 4) * np.var(folds, ddof=1))
    assert found.standard_error == pytest.approx(standard_error)


def test_always_guessing_is_the_rival_of_chance():
    y_train, y = np.array([0, 0, 0, 1]), np.array([0, 1, 1, 0, 1])
    found = Predictions("test rows", y, y, np.array([0, 1]), None, np.eye(2)[y])
    guess = found.always_guessing(y_train)
    values = {each.name: each.value for each in scores(guess, n_resamples=0)}
    expected = {"accuracy": 0.4, "balanced accuracy": 0.5, "ROC AUC": 0.5}
    expected["Brier score"] = (2 * 0.25**2 + 3 * 0.75**2) / 5
    expected["log loss"] = -(2 * np.log(0.75) + 3 * np.log(0.25)) / 5
    assert values == pytest.approx(expected)
    numbers = Predictions("test rows", np.array([1.0, 3.0]), np.array([1.0, 3.0]))
    guess = numbers.always_guessing(np.array([0.0, 4.0]))
    assert {each.name: each.value for each in scores(guess, 0)} == pytest.approx(
        {"R²": 0.0, "mean absolute error": 1.0, "root mean squared error": 1.0}
    )

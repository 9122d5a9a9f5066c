"""Machines of classes, which combine the machines of pairs; importances with standard errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from kernsemble.inspection import EnsembleView, by_class, feature_importances
from kernsemble.inspection.feature_importance import Importances
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor

X, Y = (each[::3] for each in load_iris(return_X_y=True))
SETTINGS = {
    "stumps": {},
    "perceptrons": {"kernel": "perceptron"},
    "tables": {"solver": "additive", "loss": "logistic"},
    "grids": {"kernel": "laplacian", "solver": "additive", "n_grids": 8, "random_state": 0},
    "one class each": {"multiclass": "one-vs-rest"},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=list(SETTINGS))
def test_the_machine_of_a_class_is_the_mean_of_its_pairs(settings):
    model = InfiniteEnsembleClassifier(**settings).fit(X, Y)
    values = model._values(X)
    if settings.get("multiclass") != "one-vs-rest":  # the pairs are 0 vs 1, 0 vs 2, 1 vs 2
        first, second, third = values.T
        values = 0.5 * np.column_stack([first + second, third - first, -second - third])
    for k, view in enumerate(EnsembleView.each(by_class(model), X).values()):
        found = view.explain(X[:5], n_background=5, n_permutations=10)
        assert_allclose(found.values, values[:5, k])
        total = found.intercept + found.contributions.sum(axis=1)
        assert_allclose(total, values[:5, k], atol=1e-9)


def test_classes_are_the_labels_and_two_classes_have_one_machine():
    model = InfiniteEnsembleClassifier().fit(X, np.array(["a", "b", "c"])[Y])
    assert by_class(model).labels == ["a", "b", "c"]
    two = InfiniteEnsembleClassifier().fit(X, Y == 1)
    assert by_class(two).labels == ["True vs False"]


def test_margins_of_a_class_are_positive_for_its_rows():
    model = InfiniteEnsembleClassifier(C=100.0).fit(X, Y)
    view = EnsembleView.each(by_class(model), X)["0"]
    assert (view.margins(X, Y).margins > 0.0).mean() > 0.9


def test_importances_do_not_depend_on_the_rows_at_hand():
    """Reports have the training rows and the command line has not: both show the same numbers."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(120, 3))
    model = InfiniteEnsembleRegressor("perceptron").fit(rows, rows @ [3.0, 1.0, 0.0])
    assert feature_importances(model) == feature_importances(model, rows[:10])


def test_the_standard_error_is_that_of_a_ratio_of_means():
    rng = np.random.default_rng(0)
    everything = rng.gamma(2.0, size=(4000, 3)) * [3.0, 2.0, 1.0]
    drawn = [
        Importances.from_contributions(
            list("abc"),
            everything[np.newaxis, rng.choice(4000, 50, replace=False)],
            [9],
            0.99,
            0,
            "",
        )
        for _ in range(300)
    ]
    for name, share in zip("abc", everything.mean(axis=0) / everything.mean() / 3, strict=True):
        shares = np.array([each.shares[name] for each in drawn])
        errors = np.array([each.standard_errors[name] for each in drawn])
        assert shares.mean() == pytest.approx(share, abs=0.01)
        assert errors.mean() == pytest.approx(shares.std(), rel=0.15)


@pytest.mark.large
def test_the_standard_error_covers_the_choice_of_background_rows():
    """Over random samples the importances spread as much as their standard errors say."""
    rng = np.random.default_rng(0)
    rows = np.exp(rng.normal(size=(1000, 3)))
    model = InfiniteEnsembleRegressor("laplacian", scaling=None).fit(rows[:60], rows[:60, 0])
    found = []
    for _ in range(30):
        some = rows[rng.choice(1000, 500, replace=False)]
        view = EnsembleView.from_estimator(model, some)
        found.append(view.importances(20, n_rows=20))
    spread = np.array([list(each.shares.values()) for each in found]).std(axis=0)
    errors = np.array([list(each.standard_errors.values()) for each in found]).mean(axis=0)
    assert np.all((errors / spread > 0.6) & (errors / spread < 1.7))


def test_all_rows_and_exact_contributions_have_no_error():
    contributions = np.random.default_rng(0).normal(size=(3, 20, 2))
    found = Importances.from_contributions(["a", "b"], contributions, [2, 2, 1], 0.0, 0.0, "")
    assert found.is_exact
    assert list(found.to_frame().columns) == ["share"]
    noisy = Importances.from_contributions(["a", "b"], contributions, [2, 2, 1], 0.0, 1.0, "")
    assert list(noisy.to_frame().columns) == ["share", "standard_error"]

"""Hypothesis searches find the same as `fit`, and work with any booster."""

import numpy as np
import pytest
import sklearn.ensemble
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from kernsemble.boosting import AdaBoostClassifier, LPBoostClassifier
from kernsemble.learners import C45Tree, DecisionStump, RCDPerceptron
from kernsemble.learners.hypothesis_search import (
    Cases,
    EstimatorSearch,
    SearchingLearner,
    search_for,
    seeded,
)

flowers, species = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
two = species > 0
X, codes = flowers[two], species[two] - 1
LEARNERS = [DecisionStump(), C45Tree(), RCDPerceptron(n_epochs=30), GaussianNB()]


def cases_of(n_classes):
    if n_classes == 2:
        return Cases(X, codes, NAMES[1:], len(X))
    return Cases(flowers, species, NAMES, len(flowers))


@given(data=st.data(), n_classes=st.integers(2, 4))
def test_the_gain_is_the_weighted_accuracy_of_repeated_rows(data, n_classes):
    n = data.draw(st.integers(1, 6))
    gain = st.integers(0, 5)
    gains = np.array(
        [data.draw(st.lists(gain, min_size=n_classes, max_size=n_classes)) for _ in range(n)],
        dtype=float,
    )
    gains[0, 0] += 1.0
    cases = Cases(np.zeros((n, 1)), np.zeros(n, dtype=int), np.arange(n_classes), 7.0)
    rows, labels, weight = cases.weighted(gains)
    assert set(rows) == set(range(n))
    assert weight.sum() == pytest.approx(7.0)
    predicted = np.array(data.draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))
    right = weight[predicted[rows] == labels].sum() * gains.sum() / 7.0
    assert right == pytest.approx(gains[np.arange(n), predicted].sum())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda each: type(each).__name__)
def test_a_search_finds_the_same_as_fit(learner, n_classes):
    cases = cases_of(n_classes)
    weight = np.random.default_rng(0).random(len(cases.X))
    weight *= len(weight) / weight.sum()
    search = search_for(learner, cases, np.random.RandomState(0))
    found, predicted = search.find(cases.gains(weight))
    labels = cases.classes[cases.codes]
    fitted = seeded(learner, np.random.RandomState(0))
    if isinstance(learner, RCDPerceptron):  # its search uses the random stream directly
        fitted = learner.set_params(random_state=np.random.RandomState(0))
    fitted.fit(cases.X, labels, sample_weight=weight)
    assert_array_equal(cases.classes[predicted], fitted.predict(cases.X))
    voters = search_for(learner, cases, np.random.RandomState(0)).voters([found], NAMES)
    assert_array_equal(NAMES[next(voters.codes(cases.X))], fitted.predict(cases.X))
    assert_array_equal(voters.estimators[0].predict(cases.X), fitted.predict(cases.X))


@pytest.mark.parametrize("learner", LEARNERS[:3], ids=lambda each: type(each).__name__)
def test_rows_may_gain_by_several_classes(learner):
    cases = cases_of(3)
    gains = np.random.default_rng(1).random((150, 3))
    gains[np.arange(150), species] += 1.0
    _, predicted = search_for(learner, cases, np.random.RandomState(0)).find(gains)
    constant = gains.sum(axis=0).max()
    assert gains[np.arange(150), predicted].sum() > constant


@pytest.mark.parametrize("learner", LEARNERS[:3], ids=lambda each: type(each).__name__)
def test_learners_work_with_our_boosters_and_scikit_learns(learner):
    for machine in (
        AdaBoostClassifier(learner, n_estimators=10, random_state=0),
        LPBoostClassifier(learner, nu=0.05, random_state=0),
        sklearn.ensemble.AdaBoostClassifier(learner, n_estimators=10, random_state=0),
    ):
        assert machine.fit(flowers, NAMES[species]).score(flowers, NAMES[species]) > 0.9


def test_boosted_trees_are_those_of_scikit_learns_boosting():
    ours = AdaBoostClassifier(C45Tree(max_depth=2), n_estimators=8).fit(X, codes)
    theirs = sklearn.ensemble.AdaBoostClassifier(C45Tree(max_depth=2), n_estimators=8)
    theirs.fit(X, codes)
    assert_allclose(ours.estimator_weights_, theirs.estimator_weights_)


def test_trees_take_missing_values_when_boosted():
    missing = flowers.copy()
    missing[::7, 2] = np.nan
    assert AdaBoostClassifier(C45Tree(), 10).fit(missing, species).score(missing, species) > 0.95


class WithSearch(DecisionTreeClassifier):
    """A classifier with an unrelated method `search`."""

    def __init__(self, max_depth=1, random_state=None):
        super().__init__(max_depth=max_depth, random_state=random_state)

    def search(self, text):
        raise AssertionError(f"search({text!r}) was called")


def test_a_classifier_with_an_unrelated_method_named_search_is_fitted_as_any_other():
    search = search_for(WithSearch(), cases_of(2), np.random.RandomState(0))
    assert type(search) is EstimatorSearch
    assert AdaBoostClassifier(WithSearch(), n_estimators=3).fit(X, codes).score(X, codes) > 0.9


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda each: type(each).__name__)
def test_learners_with_a_search_declare_it_by_inheritance(learner):
    has_search = not isinstance(learner, GaussianNB)
    assert isinstance(learner, SearchingLearner) == has_search
    search = search_for(learner, cases_of(2), np.random.RandomState(0))
    assert (type(search) is not EstimatorSearch) == has_search


def test_every_random_state_gets_a_seed_of_its_own():
    learner = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    seeds = [
        seeded(learner, rng).get_params()["decisiontreeclassifier__random_state"]
        for rng in [np.random.RandomState(0)] * 2
    ]
    assert seeds[0] != seeds[1]
    search = EstimatorSearch(DecisionTreeClassifier(), cases_of(2), np.random.RandomState(0))
    found, _ = search.find(cases_of(2).gains(np.ones(len(X))))
    assert isinstance(found.random_state, int)

"""The stump of least weighted error, against a plain loop over all stumps."""

import numpy as np
import pytest
from cases import all_stumps, samples
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernsemble.learners import DecisionStump
from kernsemble.learners.hypothesis_search import Cases
from kernsemble.learners.stump import StumpSearch
from kernsemble.solvers.stump_search import SortedColumns, best_stump


@given(X=samples(max_rows=9, max_columns=3), n_classes=st.integers(2, 4), data=st.data())
def test_the_stump_found_has_the_largest_gain_of_all(X, n_classes, data):
    gain = st.integers(0, 8).map(lambda k: k / 4)
    flat = data.draw(st.lists(gain, min_size=X.shape[0] * n_classes, max_size=len(X) * n_classes))
    gains = np.reshape(flat, (len(X), n_classes))
    rows = np.arange(len(X))
    best = max(gains[rows, predicted].sum() for predicted in all_stumps(X, n_classes))
    stump, gain = best_stump(SortedColumns.from_rows(X), gains)
    cases = Cases(X, np.zeros(len(X), dtype=int), np.arange(n_classes), len(X))
    search = StumpSearch(cases)
    (found, predicted), voters = search.find(gains), search.voters([stump], np.arange(n_classes))
    assert found == stump
    assert gain == pytest.approx(best)
    assert gains[rows, predicted].sum() == pytest.approx(best)
    assert_array_equal(next(voters.codes(X)), predicted)


@given(X=samples(min_rows=3, max_columns=3), data=st.data())
def test_weights_are_repetitions(X, data):
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    y = np.array(data.draw(st.lists(st.sampled_from("ab"), min_size=len(X), max_size=len(X))))
    if times.sum() == 0:
        times[0] = 1
    weighted = DecisionStump().fit(X, y, sample_weight=times)
    repeated = DecisionStump().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert (weighted.feature_, weighted.threshold_) == (repeated.feature_, repeated.threshold_)
    assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_a_constant_is_preferred_to_a_stump_that_is_no_better():
    for sides in (["b", "a", "b"], ["b", "b", "b"]):  # one error, like the best stump; none
        stump = DecisionStump().fit([[0.0], [1.0], [2.0]], sides)
        assert (stump.threshold_, stump.below_, stump.above_) == (-np.inf, "b", "b")


def test_neighbouring_floats_are_separated():
    low = 1.0
    X = [[low], [np.nextafter(low, 2.0)]]
    assert_array_equal(DecisionStump().fit(X, [0, 1]).predict(X), [0, 1])


def test_all_of_several_stumps_are_classifiers():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    stump = DecisionStump().fit(X, labels)
    assert stump.score(X, labels) == pytest.approx(2 / 3)
    search = DecisionStump().search(Cases(X, y, stump.classes_, 150), None)
    gains = np.random.default_rng(0).random((150, 3))
    found, predicted = search.find(gains)
    (again,) = search.voters([found], stump.classes_).estimators
    assert_array_equal(again.predict(X), stump.classes_[predicted])
    assert_allclose(
        search.voters([found, found], stump.classes_).votes(X, np.array([1.0, 2.0]), 3),
        3.0 * np.eye(3)[predicted],
    )


@pytest.mark.large
@parametrize_with_checks([DecisionStump()])
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)

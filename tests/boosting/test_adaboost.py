"""AdaBoost: its error bound, scikit-learn's AdaBoost as an oracle, weights, stopping, bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from cases import samples
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import kernsemble
from kernsemble.boosting import AdaBoostClassifier, AdaBoostClassifierCV
from kernsemble.boosting.adaboost_rounds import LearnerRounds, StumpRounds
from kernsemble.boosting.early_stopping import EarlyStopping, run_rounds
from kernsemble.datasets import make_threenorm, make_xor
from kernsemble.learners import DecisionStump
from kernsemble.learners.hypothesis_search import Cases
from kernsemble.learners.stump import StumpSearch

X, y = make_threenorm(150, random_state=0)
Z, labels = make_threenorm(200, random_state=1)
flowers, species = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(max_depth=1, random_state=0)


@given(X=samples(min_rows=4, max_rows=15), data=st.data(), n_rounds=st.integers(1, 8))
def test_training_error_is_under_the_product_bound(X, data, n_rounds):
    y = np.array(data.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X))))
    weight = np.array(data.draw(st.lists(st.integers(1, 5), min_size=len(X), max_size=len(X))))
    y[:2] = [False, True]
    try:
        machine = AdaBoostClassifier(n_estimators=n_rounds).fit(X, y, sample_weight=weight)
    except UserWarning:  # errors in tests: no stump is better than chance
        return
    errors = machine.estimator_errors_
    bounds = np.cumprod(2.0 * np.sqrt(errors * (1.0 - errors)))
    seen = [1.0 - score for score in machine.staged_score(X, y, sample_weight=weight)]
    assert (seen <= bounds + 1e-9).all()
    assert (machine.margins_ > 0).all() == (machine.score(X, y) == 1.0)


@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
@pytest.mark.parametrize(("X", "y", "Z"), [(X, y, Z), (flowers, species, flowers)])
def test_hypotheses_and_weights_are_those_of_scikit_learn(X, y, Z, learning_rate):
    settings = {"n_estimators": 30, "learning_rate": learning_rate, "random_state": 0}
    ours = AdaBoostClassifier(TREE, **settings).fit(X, y)
    theirs = sklearn.ensemble.AdaBoostClassifier(TREE, **settings).fit(X, y)
    assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-9)
    for mine, other in zip(ours.estimators_, theirs.estimators_, strict=True):
        assert_array_equal(mine.tree_.feature, other.tree_.feature)
        assert_allclose(mine.tree_.threshold, other.tree_.threshold)
    assert_array_equal(ours.predict(Z), theirs.predict(Z))


@pytest.mark.parametrize(("X", "y", "Z"), [(X, y, Z), (flowers, species, flowers)])
def test_compiled_stumps_are_those_of_scikit_learn_on_the_same_learner(X, y, Z):
    n_rounds = 15 if len(np.unique(y)) > 2 else 40  # later stumps of iris tie
    ours = AdaBoostClassifier(n_estimators=n_rounds).fit(X, y)
    theirs = sklearn.ensemble.AdaBoostClassifier(DecisionStump(), n_estimators=n_rounds).fit(X, y)
    assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-9)
    for mine, other in zip(ours.estimators_, theirs.estimators_, strict=True):
        assert (mine.feature_, mine.threshold_) == (other.feature_, other.threshold_)
        assert (mine.below_, mine.above_) == (other.below_, other.above_)
    assert_array_equal(ours.predict(Z), theirs.predict(Z))


def threenorm_cases():
    return Cases(X, (y > 0).astype(np.intp), np.unique(y), len(y))


def ignore(place):
    """Do nothing at the end of a round."""


def test_compiled_rounds_equal_those_that_refit_the_learner():
    cases = threenorm_cases()
    rounds = LearnerRounds(StumpSearch(cases), cases, np.ones(len(y)), 1.0)
    run_rounds(rounds, 30, None, ignore)
    compiled = AdaBoostClassifier(n_estimators=30).fit(X, y)
    refitted = rounds.ensemble(cases.classes)
    assert_allclose(compiled.estimator_weights_, refitted.weights, rtol=1e-9)
    assert_array_equal(compiled.voters_.threshold, refitted.voters.threshold)


def test_the_number_of_compiled_calls_does_not_matter():
    cases = threenorm_cases()
    rounds = StumpRounds(StumpSearch(cases), cases, np.ones(len(y)), 1.0, entries_per_call=1)
    rounds.advance(30)
    assert len(rounds) == 1
    run_rounds(rounds, 30, None, ignore)
    whole = AdaBoostClassifier(n_estimators=30).fit(X, y)
    assert_array_equal(whole.estimator_weights_, rounds.weights)


@pytest.mark.parametrize("estimator", [None, TREE], ids=["stump", "tree"])
@pytest.mark.parametrize(("X", "y"), [(X, y), (flowers, species)], ids=["two", "three"])
def test_stages_end_at_the_ensemble(estimator, X, y):
    machine = AdaBoostClassifier(estimator, n_estimators=12).fit(X, y)
    decisions = list(machine.staged_decision_function(X))
    assert len(decisions) == len(machine.estimators_) == 12
    assert_allclose(decisions[-1], machine.decision_function(X))
    assert_allclose(
        decisions[4],
        clone(machine).set_params(n_estimators=5).fit(X, y).decision_function(X),
    )
    assert_array_equal(list(machine.staged_predict(X))[-1], machine.predict(X))
    assert list(machine.staged_score(X, y))[-1] == machine.score(X, y)


def test_votes_are_those_of_the_classifiers():
    machine = AdaBoostClassifier(n_estimators=12).fit(X, y)
    votes = sum(
        weight * each.predict(Z)
        for weight, each in zip(machine.estimator_weights_, machine.estimators_, strict=True)
    )
    assert_allclose(machine.decision_function(Z), votes)
    assert_allclose(machine.margins(Z, labels), labels * votes / machine.estimator_weights_.sum())
    assert_allclose(machine.predict_proba(Z)[:, 1], 1.0 / (1.0 + np.exp(-votes)))
    assert_allclose(np.exp(machine.predict_log_proba(Z)), machine.predict_proba(Z))


def test_margins_of_several_classes_are_negative_where_the_ensemble_errs():
    machine = AdaBoostClassifier(n_estimators=8).fit(flowers, species)
    margins = machine.margins(flowers, species)
    assert_array_equal(margins, machine.margins_)
    assert (np.abs(margins) <= 1.0).all()
    assert_array_equal(margins >= 0.0, machine.predict(flowers) == species)
    with pytest.raises(ValueError, match="y contains the class 7"):
        machine.margins(flowers[:1], [7])


@pytest.mark.parametrize("estimator", [None, TREE], ids=["stump", "tree"])
def test_weights_are_repetitions(estimator):
    times = np.random.default_rng(0).integers(0, 3, size=len(y))
    weighted = AdaBoostClassifier(estimator, 20).fit(X, y, sample_weight=times)
    repeated = AdaBoostClassifier(estimator, 20).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    assert_allclose(weighted.decision_function(Z), repeated.decision_function(Z))
    assert weighted.score(Z, labels) != AdaBoostClassifier(estimator, 20).fit(X, y).score(Z, labels)


def test_a_class_without_weight_stays_in_classes_but_is_never_predicted():
    present = (species != 1).astype(float)
    machine = AdaBoostClassifier(n_estimators=5).fit(flowers, species, sample_weight=present)
    assert_array_equal(machine.classes_, [0, 1, 2])
    assert machine.decision_function(flowers).shape == (150, 3)
    assert 1 not in machine.predict(flowers)
    two = AdaBoostClassifier(n_estimators=5).fit(flowers[species != 1], species[species != 1])
    assert_array_equal(machine.estimator_weights_, two.estimator_weights_)


def test_a_hypothesis_without_error_is_the_last():
    machine = AdaBoostClassifier().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    assert len(machine.estimators_) == 1
    assert "no error" in machine.ending_
    assert_array_equal(machine.predict([[0.0], [2.0]]), [0, 1])
    tree = AdaBoostClassifier(DecisionTreeClassifier(random_state=0)).fit(X, y)
    assert len(tree.estimators_) == 1


def test_stumps_fail_on_xor_with_a_warning():
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    with pytest.warns(UserWarning, match="no better than chance"):
        machine = AdaBoostClassifier().fit(rows, [0, 1, 1, 0])
    assert len(machine.estimators_) == 1
    assert "chance" in machine.ending_
    rows, sides = make_xor(200, random_state=0)
    assert (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), 20)
        .fit(rows, sides)
        .score(rows, sides)
        > 0.95
    )


def test_a_warm_start_continues_the_last_fit():
    whole = AdaBoostClassifier(n_estimators=25).fit(X, y)
    machine = AdaBoostClassifier(n_estimators=10, warm_start=True).fit(X, y)
    machine.set_params(n_estimators=25).fit(X, y)
    assert_allclose(machine.estimator_weights_, whole.estimator_weights_, rtol=1e-9)
    assert_allclose(machine.decision_function(Z), whole.decision_function(Z))
    trees = AdaBoostClassifier(TREE, n_estimators=4, warm_start=True, random_state=0).fit(X, y)
    assert len(trees.set_params(n_estimators=6).fit(X, y).estimators_) == 6
    with pytest.raises(ValueError, match="warm_start = True: the last fit had the classes"):
        machine.fit(flowers, species)


def test_early_stopping_ends_boosting():
    machine = AdaBoostClassifier(n_estimators=500, n_iter_no_change=10, random_state=0).fit(X, y)
    assert len(machine.estimators_) < 400
    assert "held-out" in machine.ending_
    assert len(machine.margins_) == 135
    again = clone(machine).fit(X, y)
    assert_array_equal(machine.estimator_weights_, again.estimator_weights_)
    with pytest.raises(ValueError, match=r"validation_fraction = 0\.1: .*n_iter_no_change=None"):
        clone(machine).fit(X[:4], [0, 0, 0, 1])


@pytest.mark.parametrize("patience", [1, 7, 40])
def test_early_stopping_waits_for_the_given_number_of_rounds(patience):
    settings = {"n_estimators": 100, "n_iter_no_change": patience, "random_state": 1}
    whole = AdaBoostClassifier(**settings).fit(X, y)
    cases, counts, stopping = EarlyStopping.split(
        threenorm_cases(), np.ones(len(y)), np.unique(y), 0.1, patience, np.random.RandomState(1)
    )
    one_by_one = StumpRounds(StumpSearch(cases), cases, counts, 1.0, entries_per_call=1)
    run_rounds(one_by_one, 100, stopping, ignore)
    assert_array_equal(whole.estimator_weights_, one_by_one.weights)
    kept, held = train_test_split(np.arange(150), test_size=0.1, stratify=y, random_state=1)
    plain = AdaBoostClassifier(n_estimators=100).fit(X[kept], y[kept])
    scores = list(plain.staged_score(X[held], y[held]))
    n_best = len(whole.estimators_)
    assert scores[n_best - 1] == max(scores[: n_best + patience])
    assert scores.index(max(scores[: n_best + patience])) == n_best - 1


def test_early_stopping_supports_classes_without_cases():
    present = np.where(species == 0, 0.0, 1.0)
    machine = AdaBoostClassifier(n_estimators=50, n_iter_no_change=5, random_state=0)
    machine.fit(flowers, species, sample_weight=present)
    assert machine.score(flowers[species > 0], species[species > 0]) > 0.9


def test_an_interrupt_keeps_the_rounds_done():
    class Interrupted(DecisionTreeClassifier):
        calls = 0

        def fit(self, X, y, sample_weight=None):
            Interrupted.calls += 1
            if Interrupted.calls == 4:
                raise KeyboardInterrupt
            return super().fit(X, y, sample_weight)

    machine = AdaBoostClassifier(Interrupted(max_depth=1), n_estimators=6, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert len(machine.estimators_) == 3
    assert "interrupted" in machine.ending_
    assert len(machine.fit(X, y).estimators_) == 6


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (AdaBoostClassifier(n_estimators=0), "n_estimators = 0"),
        (AdaBoostClassifier(learning_rate=-1.0), "learning_rate = -1.0"),
        (AdaBoostClassifier(n_iter_no_change=0), "n_iter_no_change = 0"),
        (AdaBoostClassifier(n_iter_no_change=5, warm_start=True), "use only one of the two"),
        (AdaBoostClassifier(KNeighborsClassifier()), "does not support sample_weight"),
        (AdaBoostClassifierCV(ns_estimators=[]), "ns_estimators"),
        (AdaBoostClassifierCV(ns_estimators=[0, 5]), "ns_estimators = 0"),
    ],
)
def test_wrong_settings_are_named(machine, message):
    with pytest.raises(ValueError, match=message):
        machine.fit(X, y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="only one class"):
        AdaBoostClassifier().fit(X, np.zeros(len(X)))


def test_any_classifier_can_be_boosted():
    machine = AdaBoostClassifier(LogisticRegression(), n_estimators=5).fit(X, y)
    assert machine.score(X, y) > 0.7
    missing = X.copy()
    missing[0, 0] = np.nan
    assert AdaBoostClassifier(TREE, 5).fit(missing, y).score(missing, y) > 0.6
    with pytest.raises(ValueError, match="NaN"):
        AdaBoostClassifier().fit(missing, y)


def test_one_run_per_fold_scores_every_number_of_rounds():
    grid = (1, 5, 20)
    machine = AdaBoostClassifierCV(ns_estimators=grid, cv=3).fit(X, y)
    search = GridSearchCV(AdaBoostClassifier(), {"n_estimators": grid}, cv=3).fit(X, y)
    assert_allclose(machine.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])
    assert machine.n_estimators_ == search.best_params_["n_estimators"]
    assert machine.best_params_ == {"n_estimators": machine.n_estimators_}
    assert_allclose(machine.decision_function(Z), search.decision_function(Z))


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss"])
def test_selection_supports_any_score(scoring):
    grid = (2, 10)
    machine = AdaBoostClassifierCV(ns_estimators=grid, cv=3, scoring=scoring).fit(X, y)
    search = GridSearchCV(AdaBoostClassifier(), {"n_estimators": grid}, cv=3, scoring=scoring)
    search.fit(X, y)
    assert machine.best_score_ == pytest.approx(search.best_score_)


def test_a_score_that_is_never_a_number_is_refused():
    def nothing(machine, X, y):
        return float("nan")

    with pytest.raises(ValueError, match="is NaN for every setting"):
        AdaBoostClassifierCV(ns_estimators=(1, 2), cv=3, scoring=nothing).fit(X, y)


def test_selection_does_not_depend_on_the_number_of_jobs():
    trees = DecisionTreeClassifier(max_depth=2, max_features=3)
    settings = {"ns_estimators": (5, 10, 20), "cv": 3, "random_state": 0}
    one = AdaBoostClassifierCV(trees, **settings).fit(X, y)
    two = AdaBoostClassifierCV(trees, **settings, n_jobs=2).fit(X, y)
    assert_array_equal(one.cv_results_["split0_test_score"], two.cv_results_["split0_test_score"])
    assert_array_equal(one.estimator_weights_, two.estimator_weights_)


def test_boosting_may_end_before_the_smallest_number_of_rounds():
    rows = np.repeat([[0.0], [1.0]], 10, axis=0)
    sides = np.repeat([0, 1], 10)
    machine = AdaBoostClassifierCV(ns_estimators=(10, 20), cv=3).fit(rows, sides)
    assert machine.n_estimators_ == 10
    assert machine.best_score_ == 1.0
    assert len(machine.estimators_) == 1


def test_frames_pickles_and_files(tmp_path):
    frame = pd.DataFrame(flowers, columns=list("abcd"))
    names = np.array(["setosa", "versicolor", "virginica"])[species]
    machine = AdaBoostClassifier(n_estimators=10).fit(frame, names)
    assert_array_equal(machine.feature_names_in_, list("abcd"))
    for again in (
        pickle.loads(pickle.dumps(machine)),
        kernsemble.load(kernsemble.save(machine, tmp_path / "boosted.skops")),
    ):
        assert_array_equal(again.predict(frame), machine.predict(frame))
        assert again.estimators_[0].threshold_ == machine.estimators_[0].threshold_
    trees = AdaBoostClassifier(TREE, n_estimators=3).fit(frame, names)
    path = kernsemble.save(trees, tmp_path / "trees.skops")
    again = kernsemble.load(path, trusted=["sklearn.tree._tree.Tree"])
    assert_array_equal(again.predict(frame), trees.predict(frame))

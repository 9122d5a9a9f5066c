"""LPBoost: SciPy's linear program over all stumps as an oracle, weights, stopping, bad input."""

import pickle

import numpy as np
import pytest
from cases import all_stumps, samples
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import kernsemble
from kernsemble.boosting import AdaBoostClassifier, LPBoostClassifier, LPBoostClassifierCV
from kernsemble.datasets import make_threenorm
from kernsemble.solvers import linear_program

X, y = make_threenorm(80, n_features=4, random_state=0)
Z, labels = make_threenorm(200, n_features=4, random_state=1)
flowers, species = load_iris(return_X_y=True)


def all_columns(X, codes, n_classes):
    """Return [h(x) = y] - [h(x) = k] of every middle stump and constant, and the rows of pairs."""
    rows, wrong = np.nonzero(np.arange(n_classes) != codes[:, np.newaxis])
    columns = [
        (each == codes)[rows].astype(float) - (each[rows] == wrong)
        for each in all_stumps(X, n_classes)
    ]
    return np.unique(columns, axis=0).T, rows


def soft_optimum(X, codes, C, n_classes=2):
    """Return min Σ w + Σ C ξ over all stumps, by SciPy."""
    columns, rows = all_columns(X, codes, n_classes)
    slack = np.eye(len(X))[rows]
    cost = np.concatenate([np.ones(columns.shape[1]), np.broadcast_to(C, len(X))])
    return linprog(cost, -np.hstack([columns, slack]), -np.ones(len(rows))).fun


def margin_optimum(X, codes, limits):
    """Return max ρ − Σ c ξ over all stumps whose weights sum to 1, by SciPy."""
    columns, rows = all_columns(X, codes, 2)
    T, n = columns.shape[1], len(X)
    cost = np.concatenate([np.zeros(T), limits, [-1.0]])
    above = np.hstack([-columns, -np.eye(n)[rows], np.ones((len(rows), 1))])
    equal = np.concatenate([np.ones(T), np.zeros(n + 1)])[np.newaxis]
    bounds = [(0, None)] * (T + n) + [(None, None)]
    return -linprog(cost, above, np.zeros(len(rows)), equal, [1.0], bounds).fun


@pytest.mark.parametrize("pricing", ["one", "several"])
@pytest.mark.parametrize("C", [0.05, 0.1, 1.0])
def test_the_objective_is_that_of_the_program_over_all_stumps(C, pricing):
    machine = LPBoostClassifier(C=C, pricing=pricing, tol=1e-9).fit(X, y)
    best = soft_optimum(X, np.intp(y > 0), C)
    assert machine.objective_ == pytest.approx(best, rel=1e-7)
    margins = y * machine.decision_function(X)
    attained = machine.estimator_weights_.sum() + C * np.maximum(1.0 - margins, 0.0).sum()
    assert attained == pytest.approx(best, rel=1e-7)
    assert machine.duality_gap_ <= 1e-7 * best
    assert "tol" in machine.ending_


def test_several_classes_are_one_program():
    rows, codes = flowers[::3, 2:], species[::3]
    machine = LPBoostClassifier(C=0.2, tol=1e-9).fit(rows, codes)
    assert machine.objective_ == pytest.approx(soft_optimum(rows, codes, 0.2, 3), rel=1e-7)
    assert machine.score(rows, codes) > 0.9


@pytest.mark.parametrize("nu", [0.1, 0.4, 1.0])
def test_nu_gives_the_largest_margin_but_for_a_share_of_rows(nu):
    machine = LPBoostClassifier(nu=nu, tol=1e-9).fit(X, y)
    best = margin_optimum(X, np.intp(y > 0), np.full(len(X), 1.0 / (nu * len(X))))
    assert machine.objective_ == pytest.approx(best, abs=1e-8)
    assert machine.estimator_weights_.sum() == pytest.approx(1.0)


def test_a_hard_margin_is_the_limit_of_large_penalties():
    hard = LPBoostClassifier(C=np.inf, tol=1e-9).fit(X, y)
    assert (y * hard.decision_function(X)).min() == pytest.approx(1.0)
    assert hard.objective_ == pytest.approx(hard.estimator_weights_.sum())
    assert_allclose(list(hard.staged_decision_function(X))[-1], hard.decision_function(X))
    soft = LPBoostClassifier(C=1e6, tol=1e-9).fit(X, y)
    assert soft.objective_ == pytest.approx(hard.objective_, rel=1e-6)
    assert hard.margins_.min() > AdaBoostClassifier(n_estimators=300).fit(X, y).margins_.min()


def test_a_hard_margin_that_does_not_exist_is_refused():
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="C = inf: no weighted vote of these hypotheses separates"):
        LPBoostClassifier(C=np.inf).fit(rows, [0, 1, 1, 0])
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    assert LPBoostClassifier(tree, C=np.inf).fit(rows, [0, 1, 1, 0]).score(rows, [0, 1, 1, 0]) == 1


@settings(max_examples=20)
@given(
    X=samples(min_rows=3, max_rows=8, max_columns=2), data=st.data(), C=st.sampled_from([0.3, 2])
)
def test_ties_and_duplicates_do_not_matter(X, data, C):
    codes = np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(X), max_size=len(X))))
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(X), max_size=len(X))))
    codes[:2] = [0, 1]
    weighted = LPBoostClassifier(C=C, tol=1e-9)
    repeated = LPBoostClassifier(C=C, tol=1e-9)
    try:
        weighted.fit(X, codes, sample_weight=times)
        repeated.fit(np.repeat(X, times, axis=0), np.repeat(codes, times))
    except UserWarning:  # errors in tests: the ensemble is empty
        assert soft_optimum(X, codes, C * times) == pytest.approx(C * times.sum())
        return
    best = soft_optimum(X, codes, C * times)
    assert weighted.objective_ == pytest.approx(best, rel=1e-7)
    assert repeated.objective_ == pytest.approx(best, rel=1e-7)


def test_a_penalty_that_is_too_small_gives_an_empty_ensemble_with_a_warning():
    with pytest.warns(UserWarning, match="C = 1e-06: all weights are zero at the optimum"):
        machine = LPBoostClassifier(C=1e-6).fit(X, y)
    assert machine.n_voters_ == 0
    assert_array_equal(machine.decision_function(Z), np.zeros(len(Z)))


@pytest.mark.parametrize(("X", "y"), [(X, y), (flowers, species)], ids=["two", "three"])
def test_stages_are_the_optima_of_the_hypotheses_so_far(X, y):
    machine = LPBoostClassifier(C=1.0, pricing="one").fit(X, y)
    decisions = list(machine.staged_decision_function(X))
    assert len(decisions) == machine.n_iter_ - 1  # the last call found no better hypothesis
    assert_allclose(decisions[-1], machine.decision_function(X), atol=1e-9)
    assert list(machine.staged_score(X, y))[-1] == machine.score(X, y)
    assert_allclose(machine.stage_weights_[[-1]].toarray()[0], machine.estimator_weights_)
    sizes = machine.stage_weights_.sum(axis=1)
    with pytest.warns(ConvergenceWarning):
        short = LPBoostClassifier(C=1.0, pricing="one", max_columns=5).fit(X, y)
    assert short.estimator_weights_.sum() == pytest.approx(np.ravel(sizes)[4])


def test_too_few_columns_raise_a_warning():
    with pytest.warns(ConvergenceWarning, match="max_columns = 5, tol = .*raise max_columns"):
        machine = LPBoostClassifier(C=1.0, max_columns=5).fit(X, y)
    assert len(machine.estimators_) == 5
    best = soft_optimum(X, np.intp(y > 0), 1.0)
    assert machine.objective_ - machine.duality_gap_ <= best <= machine.objective_


def test_hypotheses_that_exceed_the_memory_raise_a_warning(monkeypatch):
    entries = 4 * len(X)  # four hypotheses
    memory = 2.0 * linear_program.BYTES_PER_ENTRY * entries
    monkeypatch.setattr(linear_program, "physical_memory", lambda: memory)
    with pytest.warns(ConvergenceWarning, match="more than half of the memory"):
        machine = LPBoostClassifier(C=1.0).fit(X, y)
    assert len(machine.estimators_) == 4


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(max_iter=1000), DecisionTreeClassifier(max_depth=2)]
)
@pytest.mark.parametrize(("X", "y"), [(X, y), (flowers, species)], ids=["two", "three"])
def test_any_learner_that_supports_weights_can_be_boosted(estimator, X, y):
    machine = LPBoostClassifier(estimator, nu=0.3, random_state=0).fit(X, y)
    assert machine.score(X, y) > 0.65
    votes = sum(
        weight * (each.predict(X)[:, np.newaxis] == machine.classes_)
        for weight, each in zip(machine.estimator_weights_, machine.estimators_, strict=True)
    )
    assert_array_equal(machine.predict(X), machine.classes_[votes.argmax(axis=1)])


def test_a_warm_start_begins_with_the_last_hypotheses():
    machine = LPBoostClassifier(C=0.1, warm_start=True).fit(X, y)
    n_rounds, objective = machine.n_iter_, machine.objective_
    machine.fit(X, y)
    assert machine.objective_ == pytest.approx(objective, rel=1e-5)
    assert machine.n_iter_ < n_rounds
    machine.set_params(C=1.0).fit(X, y)
    assert machine.objective_ == pytest.approx(soft_optimum(X, np.intp(y > 0), 1.0), rel=1e-5)
    with pytest.raises(ValueError, match="warm_start = True"):
        machine.fit(flowers, species)


def test_a_warm_start_drops_hypotheses_that_are_equal_on_other_rows():
    machine = LPBoostClassifier(C=1.0, warm_start=True).fit(X, y)
    fewer = slice(0, 40)
    n_last = len(machine.estimators_)
    machine.fit(X[fewer], y[fewer])
    assert len(machine.estimators_) == len(machine.estimator_weights_)
    assert len(machine.voters_.take(np.arange(n_last // 2))) == n_last // 2
    assert machine.objective_ == pytest.approx(soft_optimum(X[fewer], np.intp(y[fewer] > 0), 1.0))
    votes = sum(
        weight * each.predict(Z)
        for weight, each in zip(machine.estimator_weights_, machine.estimators_, strict=True)
    )
    assert_allclose(machine.decision_function(Z), votes, atol=1e-9)


def test_an_interrupt_keeps_the_hypotheses_found():
    class Interrupted(DecisionTreeClassifier):
        calls = 0

        def fit(self, X, y, sample_weight=None):
            Interrupted.calls += 1
            if Interrupted.calls == 5:
                raise KeyboardInterrupt
            return super().fit(X, y, sample_weight)

    machine = LPBoostClassifier(Interrupted(max_depth=1, random_state=0), C=0.1, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert len(machine.estimators_) == 4
    assert machine.score(X, y) > 0.5
    assert len(machine.fit(X, y).estimators_) > 5


def test_one_path_per_fold_scores_every_penalty():
    grid = (0.06, 0.1, 0.2)
    machine = LPBoostClassifierCV(Cs=grid, cv=3, tol=1e-9).fit(X, y)
    search = GridSearchCV(LPBoostClassifier(tol=1e-9), {"C": grid}, cv=3).fit(X, y)
    assert_allclose(
        machine.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"], atol=0.05
    )
    assert machine.best_params_ == {"C": machine.C_}
    again = LPBoostClassifier(C=machine.C_, tol=1e-9).fit(X, y)
    assert machine.objective_ == pytest.approx(again.objective_, rel=1e-7)


def test_nu_can_be_selected_too():
    machine = LPBoostClassifierCV(nus=(0.2, 0.5, 0.3), cv=3).fit(X, y)
    assert machine.nu_ in (0.2, 0.3, 0.5)
    assert [each["nu"] for each in machine.cv_results_["params"]] == [0.5, 0.3, 0.2]
    assert machine.C_ is None
    with pytest.raises(ValueError, match="use one of the two"):
        LPBoostClassifierCV(Cs=(1.0,), nus=(0.1,)).fit(X, y)


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (LPBoostClassifier(C=0.0), "C = 0.0"),
        (LPBoostClassifier(C="auto"), "C = 'auto'"),
        (LPBoostClassifier(nu=0.0), "nu = 0.0"),
        (LPBoostClassifier(nu=1.5), "nu = 1.5"),
        (LPBoostClassifier(max_columns=0), "max_columns = 0"),
        (LPBoostClassifier(tol=0.0), "tol = 0.0"),
        (LPBoostClassifier(pricing="all"), "pricing = 'all'"),
        (LPBoostClassifierCV(Cs=[]), "Cs"),
    ],
)
def test_wrong_settings_are_named(machine, message):
    with pytest.raises(ValueError, match=message):
        machine.fit(X, y)


def test_pickles_and_files(tmp_path):
    machine = LPBoostClassifier().fit(flowers, species)
    for again in (
        pickle.loads(pickle.dumps(machine)),
        kernsemble.load(kernsemble.save(machine, tmp_path / "boosted.skops")),
    ):
        assert_array_equal(again.predict(flowers), machine.predict(flowers))
        assert_array_equal(
            list(again.staged_predict(flowers))[3], list(machine.staged_predict(flowers))[3]
        )

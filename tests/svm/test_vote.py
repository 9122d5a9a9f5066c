"""kernel="auto": machines of the squared loss that vote."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cases import Recorder
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score
from sklearn.model_selection import GroupKFold, StratifiedKFold

from kernsemble._memory import Budget
from kernsemble.datasets import make_threenorm, make_xor
from kernsemble.exceptions import ArgumentError
from kernsemble.persistence import load, save
from kernsemble.solvers import cholesky
from kernsemble.svm import InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV
from kernsemble.svm.backends.prepared_matrix import PreparedMatrix
from kernsemble.svm.vote import effort
from kernsemble.svm.vote.trials import Clock, Trials

pytestmark = pytest.mark.large  # too slow without compilation

X, y = make_threenorm(150, random_state=0)
Z, labels = make_threenorm(400, random_state=1)
R, target = make_friedman1(150, noise=1.0, random_state=0)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def vote(**settings):
    return InfiniteEnsembleClassifierCV(**{"cv": FOLDS, "random_state": 0, **settings})


def regression(**settings):
    return InfiniteEnsembleRegressorCV(**{"cv": 3, "random_state": 0, **settings})


def values_of(machine, rows):
    """Return the weighted sum of the members' values, and the intercept that they share."""
    machines, budget = machine.machines_, Budget.from_megabytes(None)
    total = np.zeros((len(rows), len(machines.intercept)))
    for each in machine.members_:
        found = machines.machines_of(each)
        values = found.values(rows, budget)
        total += each.weight * (values if each.has_tables else values - found.intercept)
    return total + machines.intercept


@pytest.fixture(scope="module")
def fitted():
    return vote().fit(X, y)


@pytest.fixture(scope="module")
def fitted_on_numbers():
    return regression().fit(R, target)


# -- the machines


def test_the_value_of_a_vote_is_the_weighted_sum_of_its_members(fitted, fitted_on_numbers):
    for machine, rows in ((fitted, Z), (fitted_on_numbers, R[:50] + 0.01)):
        assert len(machine.members_) >= 1 + (machine is fitted)
        assert all(each.weight > 0.0 for each in machine.members_)
        assert sum(each.share for each in machine.members_) == pytest.approx(1.0)
        values = machine._values(rows)
        # single precision, as the machines that share distances have
        assert_allclose(values, values_of(machine, rows), atol=1e-4 * np.abs(values).max())
    assert_allclose(fitted.decision_function(Z), fitted._values(Z)[:, 0])
    assert_array_equal(fitted.predict(Z), np.where(fitted.decision_function(Z) > 0.0, 1, -1))
    assert_allclose(fitted.predict_proba(Z)[:, 1], expit(fitted.decision_function(Z)))


def test_a_vote_is_as_good_as_the_best_of_its_members_or_nearly(fitted, fitted_on_numbers):
    machines, budget = fitted.machines_, Budget.from_megabytes(None)
    alone = [
        np.mean(np.sign(machines.machines_of(each).values(Z, budget)[:, 0]) == labels)
        for each in machines.members
    ]
    assert fitted.score(Z, labels) >= max(*alone, 0.8) - 0.02
    rows, numbers = make_friedman1(1000, noise=1.0, random_state=1)
    machines, budget = fitted_on_numbers.machines_, Budget.from_megabytes(None)
    centre, spread = target.mean(), target.std()  # members fit standardised numbers
    alone = [
        r2_score(numbers, machines.machines_of(each).values(rows, budget)[:, 0] * spread + centre)
        for each in machines.members
    ]
    assert fitted_on_numbers.score(rows, numbers) >= max(alone) - 0.02


def test_the_results_have_a_row_for_each_finalist_and_the_last_for_the_vote(fitted):
    found = fitted.cv_results_
    assert fitted.best_params_ is found["params"][-1]
    assert fitted.best_params_["kernel"] == "vote"
    assert fitted.best_index_ == len(found["params"]) - 1 == len(found["mean_test_score"]) - 1
    assert fitted.best_score_ == found["mean_test_score"][-1]
    folds = np.column_stack([found[f"split{k}_test_score"] for k in range(3)])
    assert_allclose(folds.mean(axis=1), found["mean_test_score"])
    weights = [each["weight"] for each in found["params"][:-1]]
    assert_allclose(sorted(w for w in weights if w), sorted(m.weight for m in fitted.members_))
    raced = fitted.race_results_
    assert len(set(map(len, raced.values()))) == 1
    assert set(raced) == {"n_rows", "kernel", "scaling", "C", "left_out_error"}
    assert len(raced["C"]) > len(weights)


def test_the_score_of_the_vote_is_that_of_its_left_out_predictions(fitted):
    found = fitted.out_of_fold_
    assert_array_equal(np.sort(found.rows), np.arange(150))
    for k in range(3):
        mine = found.folds == k
        score = accuracy_score(y[found.rows[mine]], found.predicted[mine])
        assert fitted.cv_results_[f"split{k}_test_score"][-1] == pytest.approx(score)
    assert_allclose(found.probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize("family", [vote, regression])
def test_a_vote_repeats_with_its_random_state(family):
    rows, answers = (X, y) if family is vote else (R, target)
    first, second = (family(random_state=3).fit(rows, answers) for _ in range(2))
    assert [each.name for each in first.members_] == [each.name for each in second.members_]
    assert_array_equal(first._values(rows), second._values(rows))
    assert_array_equal(
        first.race_results_["left_out_error"], second.race_results_["left_out_error"]
    )


def test_a_vote_survives_pickle_and_files(fitted, fitted_on_numbers, tmp_path):
    for machine in (fitted, fitted_on_numbers):
        rows = Z if machine is fitted else R
        once = pickle.dumps(machine)
        for again in (pickle.loads(once), load(save(machine, tmp_path / "model.skops"))):
            assert_array_equal(again._values(rows), machine._values(rows))
            assert [each.weight for each in again.members_] == [
                each.weight for each in machine.members_
            ]
            assert again.best_score_ == machine.best_score_
        assert len(pickle.dumps(pickle.loads(once))) < 1.05 * len(once)


# -- rows


def test_rows_without_weight_are_absent():
    weight = np.r_[np.ones(100), np.zeros(50)]
    cv = [(np.flatnonzero(np.arange(100) % 3 != k), np.arange(k, 100, 3)) for k in range(3)]
    absent, left_out = vote(cv=cv).fit(X, y, weight), vote(cv=cv).fit(X[:100], y[:100])
    assert [each.name for each in absent.members_] == [each.name for each in left_out.members_]
    assert_allclose(absent.decision_function(Z), left_out.decision_function(Z), atol=1e-6)


def test_tables_with_categories_and_missing_values_vote():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    classes = np.where(table["a"] * np.where(rng.random(200) < 0.5, 1, 1) > 0.0, "yes", "no")
    table["c"] = np.where(rng.random(200) < 0.8, np.where(classes == "yes", "up", "down"), None)
    table["a"] = table["a"].mask(rng.random(200) < 0.3)
    machine = vote().fit(table, classes)
    assert machine.best_score_ > 0.85
    new = pd.DataFrame({"a": [2.0, np.nan], "b": [np.nan, 1.0], "c": ["sideways", None]})
    assert machine.predict(new)[0] == "yes"
    assert np.isfinite(machine.predict_proba(new)).all()
    plain = table[["a", "b"]]
    assert vote().fit(plain, classes).best_score_ < machine.best_score_


def test_a_category_of_noise_costs_nothing():
    rng = np.random.default_rng(0)

    def table(n):
        rows = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
        score = rows["a"] + rows["b"] * rows["c"] + 0.5 * rng.normal(size=n)
        noise = pd.Categorical([f"k{k}" for k in rng.integers(0, 1_000, n)])
        return rows, rows.assign(noise=noise), np.where(score > 0.0, "a", "b")

    plain, noisy, classes = table(500)
    new, new_noisy, expected = table(2_000)
    without = vote().fit(plain, classes).score(new, expected)
    assert without > 0.82
    assert vote().fit(noisy, classes).score(new_noisy, expected) > without - 0.035


def test_sparse_rows_vote_as_dense_ones_do():
    rows = sparse.random(120, 30, density=0.1, random_state=0, format="csr")
    classes = np.asarray(rows.sum(axis=1)).ravel() > 1.5
    machine = vote(scaling="range").fit(rows, classes)
    assert machine.best_score_ > 0.75
    dense = vote(scaling="range").fit(rows.toarray(), classes)
    assert_allclose(machine.decision_function(rows), dense.decision_function(rows), atol=1e-3)
    assert_allclose(machine.predict_proba(rows), machine.predict_proba(rows.toarray()), atol=1e-5)


def test_several_classes_have_a_value_each_and_probabilities():
    rows, species = load_iris(return_X_y=True)
    machine = vote().fit(rows, species)
    values, probabilities = machine.decision_function(rows), machine.predict_proba(rows)
    assert values.shape == probabilities.shape == (150, 3)
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert_array_equal(machine.predict(rows), probabilities.argmax(axis=1))
    assert_array_equal(machine.predict(rows), values.argmax(axis=1))
    assert machine.best_score_ > 0.93
    assert (
        log_loss(species, machine.out_of_fold_.probabilities[np.argsort(machine.out_of_fold_.rows)])
        < 0.3
    )


def test_an_interaction_without_noise_is_found():
    rows, classes = make_xor(300, noise=0.0, random_state=0)
    assert vote().fit(rows[:200], classes[:200]).score(rows[200:], classes[200:]) > 0.9


def test_groups_stay_together():
    groups = np.arange(150) // 5 % 7
    machine = vote(cv=GroupKFold(3)).fit(X, y, groups=groups)
    found = machine.out_of_fold_
    for k in range(3):
        mine = groups[found.rows[found.folds == k]]
        assert not np.isin(mine, groups[found.rows[found.folds != k]]).any()
    repeated = np.repeat(np.arange(60), 4)  # four copies of each row: memory must not help
    noise = np.random.default_rng(0).permutation(y[:60])
    machine = vote(cv=GroupKFold(3)).fit(X[repeated], noise[repeated], groups=repeated)
    assert machine.best_score_ < 0.7


# -- settings


@pytest.mark.parametrize("family", [vote, regression])
def test_a_tiny_time_budget_still_returns_a_vote(family):
    rows, answers = (X, y) if family is vote else (R, target)
    machine = family(time_budget=1e-9).fit(rows, answers)
    assert len(machine.members_) >= 1
    assert machine.score(rows, answers) > 0.5
    assert "time_budget was reached" in str(machine.search_summary_)
    (first,) = machine.race_results_["kernel"]  # the fastest ones come first
    assert "tump" not in str(first)
    assert machine.race_results_["scaling"][0] in ("rank", "range")
    assert "time_budget" not in str(family(time_budget=1e6).fit(rows, answers).search_summary_)


def test_the_clock_ends_at_a_share_of_its_budget():
    now = iter([0.0, 1.0, 3.0, 3.0])
    clock = Clock(10.0, lambda: next(now))
    assert clock.elapsed == 1.0
    assert not clock.has(2.0, share=0.4)
    assert clock.has(2.0)
    assert Clock(None).has(1e9)


@pytest.mark.parametrize("family", [vote, regression])
def test_members_of_long_samples_are_those_of_explicit_refits(family, monkeypatch):
    rows, answers = (X, y) if family is vote else (R, target)
    monkeypatch.setattr(effort, "LONG_ROWS", 100)
    monkeypatch.setattr(effort, "MOST_WORK", 1.0)
    found = family().fit(rows, answers)
    monkeypatch.setattr(PreparedMatrix, "solve_with_fold", lambda *_: None)
    refitted = family().fit(rows, answers)
    assert "on 1 of 3 folds" in str(found.search_summary_)
    assert [each.name for each in found.members_] == [each.name for each in refitted.members_]
    assert_allclose(
        values_of(found, Z[:, : rows.shape[1]]),
        values_of(refitted, Z[:, : rows.shape[1]]),
        atol=1e-7,
    )


@pytest.mark.parametrize("family", [vote, regression])
def test_a_race_finds_the_best_penalties_without_trying_all(family, monkeypatch):
    rows, answers = (X, y) if family is vote else (R, target)
    search, n_tried = Trials._search, []

    def counted(self, entrant, prepared, task, near):
        found = search(self, entrant, prepared, task, near)
        n_tried.append(len(found) / len(entrant.grid.values) if self.is_race else 1.0)
        return found

    monkeypatch.setattr(Trials, "_search", counted)
    found, some = family().fit(rows, answers).race_results_, np.mean(n_tried)
    monkeypatch.setattr(Trials, "_search", lambda *known: search(*known[:-1], None))
    every = family().fit(rows, answers).race_results_
    assert some < 0.9
    assert_array_equal(found["kernel"], every["kernel"])
    assert_allclose(found["left_out_error"], every["left_out_error"], rtol=1e-3)


@pytest.mark.parametrize("family", [vote, regression])
def test_a_vote_does_not_depend_on_the_number_of_threads(family, monkeypatch):
    rows, answers = (X, y) if family is vote else (R, target)
    monkeypatch.setattr(cholesky, "ROWS_WORTH_TILES", 50)
    monkeypatch.setattr(cholesky, "TILE", 32)
    for most in (1, 6):  # a single member is fitted by all threads
        one, two = (family(n_jobs=n, max_members=most).fit(rows, answers) for n in (1, 2))
        assert [each.name for each in one.members_] == [each.name for each in two.members_]
        assert_array_equal(one._values(rows), two._values(rows))
        assert one.best_score_ == two.best_score_


def test_weights_are_repetitions():
    counts = np.random.default_rng(0).integers(0, 3, len(X))
    repeated = np.repeat(np.arange(len(X)), counts)
    fold = np.arange(len(X)) % 3
    cv, same_cv = (
        [(np.flatnonzero(each != k), np.flatnonzero(each == k)) for k in range(3)]
        for each in (fold, fold[repeated])
    )
    found = regression(cv=cv).fit(R, target, counts)
    same = regression(cv=same_cv).fit(R[repeated], target[repeated])
    assert any("learned" in each.name for each in found.members_)
    assert_allclose(found.predict(Z[:, :10]), same.predict(Z[:, :10]), atol=1e-6)


@pytest.mark.parametrize("most", [1, 2])
def test_there_are_at_most_max_members(most):
    for machine in (vote(max_members=most).fit(X, y), regression(max_members=most).fit(R, target)):
        assert 1 <= len(machine.members_) <= most
        weights = [each["weight"] for each in machine.cv_results_["params"][:-1]]
        assert np.count_nonzero(weights) == len(machine.members_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_members": 0}, "max_members = 0: use a whole number of at least 1"),
        ({"max_members": 1.5}, "max_members = 1.5"),
        ({"time_budget": 0.0}, "time_budget = 0.0: use a positive"),
        ({"time_budget": -1}, "time_budget = -1"),
        ({"time_budget": np.inf}, "time_budget = inf"),
        ({"time_budget": "long"}, "time_budget = 'long'"),
        ({"scaling": "learnt"}, "scaling = 'learnt'"),
    ],
)
def test_invalid_settings_are_errors(settings, message):
    for family, rows, answers in ((vote, X, y), (regression, R, target)):
        with pytest.raises(ArgumentError, match=message):
            family(**settings).fit(rows, answers)


@pytest.mark.parametrize(
    ("scoring", "score"),
    [
        ("neg_log_loss", lambda t, p: -log_loss(t, p)),
        ("roc_auc", lambda t, p: roc_auc_score(t, p[:, 1])),
    ],
)
def test_probabilities_and_ranks_are_scored(scoring, score):
    machine = vote(scoring=scoring).fit(X, y)
    found = machine.out_of_fold_
    for k in range(3):
        mine = found.folds == k
        expected = score(y[found.rows[mine]], found.probabilities[mine])
        assert machine.cv_results_[f"split{k}_test_score"][-1] == pytest.approx(expected)
    assert machine.best_score_ > -0.6


def test_given_scalings_and_penalties_limit_the_vote():
    machine = vote(scaling=["rank"], Cs=[0.5, 4.0]).fit(X, y)
    assert set(machine.race_results_["scaling"]) == {"rank"}
    assert set(machine.race_results_["C"]) <= {0.5, 4.0}


@pytest.mark.parametrize(
    ("calibration", "has_probabilities"), [(None, False), ("sigmoid", True), ("isotonic", True)]
)
def test_probabilities_are_those_of_the_calibration(calibration, has_probabilities):
    machine = vote(calibration=calibration).fit(X, y)
    assert hasattr(machine, "predict_proba") == has_probabilities
    if has_probabilities:
        probabilities = machine.predict_proba(Z)[:, 1]
        order = np.argsort(machine.decision_function(Z))
        assert (np.diff(probabilities[order]) >= -1e-12).all()


# -- difficult rows


@pytest.mark.parametrize("kind", ["constant columns", "one of them constant", "one column"])
def test_columns_that_do_not_vary_are_no_obstacle(kind):
    rows = {
        "constant columns": np.ones((150, 3)),
        "one of them constant": np.column_stack([X, np.full(150, 7.0)]),
        "one column": X[:, :1],
    }[kind]
    machine = vote().fit(rows, y)
    assert np.isfinite(machine.decision_function(rows)).all()
    if kind == "one of them constant":
        assert machine.score(rows, y) > 0.8
    if kind == "constant columns":
        assert len(np.unique(machine.predict(rows))) == 1


def test_repeated_rows_vote():
    rows, classes = np.repeat(X[:30], 5, axis=0), np.repeat(y[:30], 5)
    assert vote().fit(rows, classes).score(rows, classes) > 0.9


def test_two_rows_of_each_class_vote():
    machine = vote(cv=2).fit(np.array([[0.0], [0.1], [1.0], [1.1]]), [0, 0, 1, 1])
    assert_array_equal(machine.predict([[0.05], [1.05]]), [0, 1])


@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_the_unit_of_features_does_not_matter(unit):
    rows = np.ldexp(X, int(np.log2(unit)))
    found = vote(scaling=["rank", "range"]).fit(rows, y)
    expected = vote(scaling=["rank", "range"]).fit(X, y)
    values = found.decision_function(rows), expected.decision_function(X)
    assert_allclose(*values, atol=1e-3 * np.abs(values[1]).max())
    assert vote().fit(rows, y).score(rows, y) > 0.9


@pytest.mark.parametrize("unit", [1e6, 1e-6, 1e150, 1e200, 1e-200])
def test_the_unit_of_the_target_does_not_matter(unit):
    found = regression().fit(R, unit * target).predict(R) / unit
    assert_allclose(found, regression().fit(R, target).predict(R), atol=1e-4)


def test_a_constant_target_is_predicted():
    for number in (7.0, 0.0, -1e9):
        machine = regression().fit(R, np.full(150, number))
        assert_allclose(machine.predict(R), number, rtol=1e-9)


class Interrupting(Recorder):
    """Interrupts at the end of the second candidate."""

    def on_fit_task_end(self, estimator, context):
        super().on_fit_task_end(estimator, context)
        if self.ended["candidate"] == 2:
            raise KeyboardInterrupt


def test_an_interrupt_leaves_the_estimator_as_it_was():
    pytest.importorskip("sklearn.callback")
    machine = vote().fit(X[:80], y[:80])
    before = dict(vars(machine))
    values = machine.decision_function(Z)
    recorder = Interrupting()
    machine.set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert recorder.n_setups == 0
    assert_array_equal(machine.decision_function(Z), values)
    after = vars(machine)
    assert {name for name in before if name.endswith("_")} == {
        name for name in after if name.endswith("_")
    }
    fresh = clone(machine)
    with pytest.raises(KeyboardInterrupt):
        fresh.set_callbacks(Interrupting()).fit(X, y)
    assert not [name for name in vars(fresh) if name.endswith("_") and name[0] != "_"]

"""kernel="auto" on more rows than kernel matrices serve: machines on leaves vote."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import load_iris, make_friedman1
from sklearn.metrics import accuracy_score

from kernsemble._memory import Budget
from kernsemble.datasets import make_threenorm
from kernsemble.inspection import EnsembleView, feature_importances
from kernsemble.kernels import Stump
from kernsemble.persistence import load, save
from kernsemble.solvers.losses import Logistic, Squared
from kernsemble.svm import InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV
from kernsemble.svm.backends import BACKENDS
from kernsemble.svm.backends.base import Candidate, SolverSettings, TrainingRows
from kernsemble.svm.backends.local import LocalBackend, leaves
from kernsemble.svm.backends.local.machines import LocalMachines
from kernsemble.svm.backends.tables.priors import has_room_for_pairs
from kernsemble.svm.model_selection.selecting_estimator import SelectsSettings
from kernsemble.svm.problem import Problem
from kernsemble.svm.vote.effort import Effort, n_partitions
from kernsemble.svm.vote.problem import VoteProblem

pytestmark = pytest.mark.large  # too slow without compilation

EXACT_ROWS, TRIAL_ROWS = 120, 300
X, y = make_threenorm(400, random_state=0)
Z, labels = make_threenorm(400, random_state=1)
R, target = make_friedman1(400, noise=1.0, random_state=0)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few rows count as many."""
    backend = LocalBackend(leaf_rows=60, n_partitions=2, measure_rows=100)
    monkeypatch.setitem(BACKENDS, "local", backend)
    monkeypatch.setattr(SelectsSettings, "_max_exact_rows", EXACT_ROWS)
    monkeypatch.setattr(SelectsSettings, "_max_trial_rows", TRIAL_ROWS)


def vote(**settings):
    return InfiniteEnsembleClassifierCV(**{"cv": 3, "random_state": 0, **settings})


def regression(**settings):
    return InfiniteEnsembleRegressorCV(**{"cv": 3, "random_state": 0, **settings})


def mixed_table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    rows["c"] = rng.choice(["up", "down", "left"], n)
    score = rows["a"] * np.where(rows["c"] == "up", 1.0, -1.0) + (rows["c"] == "left")
    rows["a"] = rows["a"].mask(rng.random(n) < 0.1)
    return rows, np.where(score > 0.2, "yes", "no")


def paired_rows(n=800, seed=0):
    """Return rows whose first two columns matter as a product, and noisy numbers."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 4))
    return rows, rows[:, 0] * rows[:, 1] + rows[:, 2] + 0.3 * rng.normal(size=n)


def paired_classes(n=800, seed=0):
    rows, score = paired_rows(n, seed)
    return rows, (score > 0.0).astype(int)


def paired_levels(n=800, seed=0):
    rows, score = paired_rows(n, seed)
    return rows, np.digitize(score, [-0.7, 0.7])


@cache
def fitted(name):
    """Return a fitted vote, and its rows and targets; call it within a test."""
    made = {
        "classes": (vote(), X, y),
        "numbers": (regression(), R, target),
        "several": (vote(), *(np.concatenate([each] * 2) for each in load_iris(return_X_y=True))),
        "mixed": (vote(), *mixed_table()),
        "paired": (vote(), *paired_classes()),
        "paired levels": (vote(), *paired_levels()),
    }
    model, rows, answers = made[name]
    return model.fit(rows, answers), rows, answers


NAMES = ["classes", "numbers", "several", "mixed", "paired", "paired levels"]
PAIRED = ["paired", "paired levels"]


def local_members(machine):
    return [each for each in machine.members_ if isinstance(each.machines, LocalMachines)]


# -- the machines


@pytest.mark.parametrize("name", NAMES)
def test_members_beyond_the_rows_of_a_matrix_are_on_leaves_or_additive(name):
    machine, _, _ = fitted(name)
    assert machine.solver_ == "local"
    assert machine.loss_ == "squared"
    assert local_members(machine)
    assert all(each.has_tables or each in local_members(machine) for each in machine.members_)
    assert sum(each.has_tables for each in machine.members_) <= 1
    assert sum(each.share for each in machine.members_) == pytest.approx(1.0)


@pytest.mark.parametrize("name", NAMES)
def test_the_value_of_the_vote_is_the_weighted_sum_of_its_members(name):
    machine, rows, _ = fitted(name)
    new, budget = machine._read_again(rows[:50]), machine._budget
    total = sum(each.weight * each.machines.values(new, budget) for each in machine.members_)
    assert_allclose(machine._values(rows[:50]), total + machine.intercept_, atol=1e-5)


def test_votes_on_leaves_predict():
    machine, _, _ = fitted("classes")
    assert machine.score(Z, labels) > 0.8
    assert_allclose(machine.predict_proba(Z)[:, 1], expit(machine.decision_function(Z)))
    assert fitted("numbers")[0].score(*make_friedman1(500, noise=1.0, random_state=1)) > 0.8
    assert fitted("mixed")[0].score(*mixed_table(500, seed=1)) > 0.8
    machine, rows, species = fitted("several")
    assert machine.score(rows, species) > 0.93
    assert_allclose(machine.predict_proba(rows).sum(axis=1), 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_out_of_fold_predictions_are_those_of_rows_of_the_table(name):
    machine, rows, answers = fitted(name)
    found = machine.out_of_fold_
    assert len(np.unique(found.rows)) == len(found.rows) <= TRIAL_ROWS / 2
    assert found.rows.max() < len(rows)
    assert set(found.folds) == {0}
    if name != "numbers":
        score = accuracy_score(answers[found.rows], found.predicted)
        assert machine.best_score_ == pytest.approx(score)
        assert score > 0.75


def test_there_is_a_row_of_results_for_each_finalist_and_the_vote():
    machine, _, _ = fitted("classes")
    found, summary = machine.cv_results_["params"], str(machine.search_summary_)
    assert found[-1]["kernel"] == "vote"
    assert f"the best {len(found) - 4} of them on 1 of 3 folds, stumps also with pairs" in summary
    assert "of columns, 2 also on what stumps leave" in summary
    assert f"{len(machine.members_)} machines vote" in summary
    weights = sorted(each["weight"] for each in found[:-1] if each["weight"] > 0.0)
    assert_allclose(weights, sorted(each.weight for each in machine.members_))
    assert len(machine.race_results_["C"]) > len(found)
    assert set(machine.race_results_["n_rows"]) == {EXACT_ROWS}


@pytest.mark.parametrize("name", ["classes", "numbers", "mixed", "paired"])
def test_a_vote_on_leaves_repeats_with_its_random_state(name):
    machine, rows, answers = fitted(name)
    again = type(machine)(**machine.get_params()).fit(rows, answers)
    assert_array_equal(again._values(rows), machine._values(rows))


@pytest.mark.parametrize("name", NAMES)
def test_a_vote_on_leaves_survives_pickle_and_files(name, tmp_path):
    machine, rows, _ = fitted(name)
    for again in (pickle.loads(pickle.dumps(machine)), load(save(machine, tmp_path / "m.skops"))):
        assert_array_equal(again._values(rows), machine._values(rows))


def test_larger_shares_have_more_partitions():
    assert n_partitions([0.6, 0.3, 0.1]) == [4, 2, 1]
    assert n_partitions([0.7, 0.2, 0.1], total=3, most=2) == [2, 1, 1]
    assert n_partitions([]) == []
    assert n_partitions([0.0, 0.0]) == [1, 1]


def test_the_effort_of_a_trial_is_bounded():
    few, many = (Effort.for_rows(n, 5, exact_rows=10_000) for n in (10_000, 10_001))
    assert (few.is_local, many.is_local) == (False, True)
    largest = Effort.for_rows(10**7, 5, exact_rows=10_000)
    assert largest.n_trial_rows < 10**5
    assert (many.leaf_factor, largest.leaf_factor) == (3.0, 1.0)


# -- pairs of columns


def table_member(machine):
    (found,) = (each for each in machine.members_ if each.has_tables)
    return found


def tables_workspace(rows, **settings):
    training = TrainingRows(rows, np.ones(len(rows)), np.zeros(rows.shape[1], bool))
    budget = Budget.from_megabytes(100.0)
    known = SolverSettings(tol=1e-4, max_iter=500, budget=budget, **settings)
    return BACKENDS["additive"].open(training, known), replace(known, n_pairs="auto")


def learned_prior(prepared, settings, signs, weight):
    problem = Problem.for_signs(Logistic, signs, weight)
    return prepared.learn_prior([problem], prepared.inverse_mean_distance(), settings)


@pytest.mark.parametrize("name", PAIRED)
def test_the_additive_member_has_the_pair_that_matters(name):
    machine, _, _ = fitted(name)
    member = table_member(machine)
    assert member.name == "stumps and pairs"
    assert (0, 1) in member.machines.tables.pairs
    for view in EnsembleView.each(machine).values():
        first = view.pairs()[0]
        assert first.names == ("x0", "x1")
        assert len(view.pairs()) == len(member.machines.tables.pairs)
        assert 0.0 < sum(each.share for each in view.pairs()) < 1.0


def test_importances_and_contributions_contain_pairs():
    machine, rows, _ = fitted("paired")
    (found,) = feature_importances(machine).values()
    assert found.shares["x3"] == min(found.shares.values())
    assert found.shares["x0"] > 0.1
    view = EnsembleView.from_estimator(machine)
    assert view.explain(rows[:2], n_background=5, n_permutations=10).contributions.shape == (2, 4)


def test_numbers_have_pairs_of_columns():
    machine = regression(max_members=12).fit(*paired_rows())
    pairs = [each for each in machine.cv_results_["params"] if each["scaling"] == "distinct"]
    assert len(pairs) == 1
    assert machine.score(*paired_rows(500, seed=1)) > 0.85


def test_a_prior_makes_the_tables_it_was_learned_with():
    rows, classes = paired_classes()
    workspace, settings = tables_workspace(rows)
    candidate = Candidate(Stump(), "distinct")
    prepared, signs = workspace.prepare(candidate), 2.0 * classes - 1.0
    C, problem = prepared.inverse_mean_distance(), Problem.for_signs(Logistic, signs, np.ones(800))
    expected = prepared.with_pairs([problem], C, settings)[0].tables
    prior = prepared.learn_prior([problem], C, settings)
    found = workspace.prepare(replace(candidate, prior=prior)).tables
    assert len(prior.pairs) > 0
    assert_array_equal(found.codes, expected.codes)
    assert_allclose(found.scale, expected.scale)
    u = np.random.default_rng(0).normal(size=expected.n_levels)
    assert_allclose(found.levels_of(u), expected.levels_of(u))


def test_pairs_and_weights_do_not_depend_on_held_out_targets():
    rows, classes = paired_classes()
    workspace, settings = tables_workspace(rows)
    prepared, signs = workspace.prepare(Candidate(Stump(), "distinct")), 2.0 * classes - 1.0
    weight = np.r_[np.ones(500), np.zeros(300)]
    wrong = np.r_[signs[:500], -signs[500:]]
    one, other = (learned_prior(prepared, settings, each, weight) for each in (signs, wrong))
    assert_array_equal(one.pairs, other.pairs)
    assert_array_equal(one.weights, other.weights)
    assert_array_equal(one.pair_weights, other.pair_weights)


def test_a_prior_serves_rows_with_other_columns():
    rows, classes = paired_classes()
    workspace, settings = tables_workspace(rows)
    candidate = Candidate(Stump(), "distinct")
    prior = learned_prior(workspace.prepare(candidate), settings, 2.0 * classes - 1.0, np.ones(800))
    few = replace(prior, columns=prior.columns[1:], weights=prior.weights[1:])
    found = workspace.prepare(replace(candidate, prior=few)).blocks[0].views.factors
    assert found[0] == pytest.approx(few.weights.mean())
    assert_array_equal(found[1:], few.weights)
    constant = np.c_[np.ones(800), rows[:, 1:]]
    other, _ = tables_workspace(constant)
    tables = other.prepare(replace(candidate, prior=prior)).tables
    assert np.isfinite(tables.scale).all()


def test_without_room_for_pairs_there_are_none():
    budget = Budget.from_megabytes(1.0)
    assert has_room_for_pairs(400, 4, budget)
    assert not has_room_for_pairs(400, 1, budget)
    assert not has_room_for_pairs(100_000, 4, budget)


# -- corrections


def test_a_correction_is_the_quadratic_model_of_the_log_loss():
    rng = np.random.default_rng(0)
    signs, base, weight = rng.choice([-1.0, 1.0], 50), rng.normal(size=(50, 1)), rng.random(50)
    problem = VoteProblem.of_classes([signs], (signs > 0).astype(int), weight, 2)
    (correction,) = problem.corrections(base)
    loss, g, step = correction.loss, 0.1 * rng.normal(size=50), 1e-5

    def log_loss(values):
        return weight @ np.logaddexp(0.0, -signs * values)

    assert isinstance(loss, Squared)
    p = expit(base[:, 0])
    unit = np.average(p * (1.0 - p), weights=weight)

    def model(values):
        return 0.5 * unit * loss.strengths @ (loss.y - values) ** 2

    slope = (log_loss(base[:, 0] + step * g) - log_loss(base[:, 0] - step * g)) / (2.0 * step)
    assert (model(step * g) - model(-step * g)) / (2.0 * step) == pytest.approx(slope, rel=1e-5)
    curvature = weight @ (p * (1.0 - p) * g**2)
    assert model(g) - 2.0 * model(0.0 * g) + model(-g) == pytest.approx(curvature)


def test_a_correction_of_numbers_is_fitted_to_residuals():
    problem = VoteProblem.of_numbers(target, np.ones(len(target)))
    base = np.linspace(-1.0, 1.0, len(target))[:, np.newaxis]
    (correction,) = problem.corrections(base)
    assert_allclose(correction.loss.y, problem.targets[:, 0] - base[:, 0])


# -- rows and settings


def test_weights_of_zero_leave_rows_out():
    weight = np.r_[np.ones(300), np.zeros(100)]
    cv = [(np.flatnonzero(np.arange(300) % 3 != k), np.arange(k, 300, 3)) for k in range(3)]
    wrong = np.r_[y[:300], -y[300:]]
    machine = vote(cv=cv).fit(X, wrong, weight)
    assert machine.score(Z, labels) > 0.8
    assert machine.out_of_fold_.rows.max() < 300


@pytest.mark.parametrize("family", [vote, regression])
def test_a_tiny_time_budget_still_returns_a_vote(family):
    rows, answers = (X, y) if family is vote else (R, target)
    machine = family(time_budget=1e-9).fit(rows, answers)
    assert len(machine.members_) == 1
    assert machine.score(rows, answers) > 0.5
    assert "time_budget was reached" in str(machine.search_summary_)


@pytest.mark.parametrize("most", [1, 2])
def test_there_are_at_most_max_members(most):
    assert 1 <= len(vote(max_members=most).fit(X, y).members_) <= most


def test_little_memory_means_machines_on_leaves(monkeypatch):
    monkeypatch.setattr(SelectsSettings, "_max_exact_rows", 10_000)
    assert vote().fit(X[:150], y[:150]).solver_ == "exact"
    machine = vote(cache_size=0.3).fit(X[:150], y[:150])
    assert machine.solver_ == "local"
    assert machine.score(Z, labels) > 0.7


def test_leaves_are_as_large_as_memory_allows():
    one, two = (vote(cache_size=size).fit(X, y) for size in (1000.0, 0.35))
    largest = [
        max(int(np.diff(part.partition.ends).max()) for part in each.machines.all_parts)
        for machine in (one, two)
        for each in local_members(machine)[:1]
    ]
    assert largest[0] > 120
    assert largest[1] <= np.sqrt(0.35 * 2**20 / 20.0)
    assert two.score(Z, labels) > 0.75


def test_the_local_solver_on_request_serves_few_rows():
    machine = vote(solver="local").fit(X[:100], y[:100])
    assert machine.solver_ == "local"
    assert machine.score(Z, labels) > 0.7


def test_sparse_rows_beyond_a_matrix_do_not_vote():
    machine = vote(loss="squared", scaling="range").fit(sparse.csr_matrix(X), y)
    assert not hasattr(machine, "members_")
    assert str(machine.search_summary_)
    assert machine.score(Z, labels) > 0.7


def test_categories_without_effects_do_not_vote():
    table, classes = mixed_table()
    machine = vote(scaling=["rank"]).fit(table, classes)
    assert not hasattr(machine, "members_")
    assert machine.score(table, classes) > 0.6
    effects = vote(scaling=["learned-effects", "learned-indicators"]).fit(table, classes)
    assert {each["scaling"] for each in effects.cv_results_["params"][:-1]} == {
        "learned-effects",
        "learned-indicators",
    }


def test_a_rare_class_and_constant_columns_are_no_obstacle():
    rows, species = np.c_[R, np.ones(400)], (target > np.median(target)).astype(int)
    species[:9] = 2
    machine = vote(cv=3).fit(rows, species)
    assert np.isfinite(machine.decision_function(rows)).all()
    assert np.isfinite(vote().fit(np.ones((400, 2)), y).decision_function(np.ones((3, 2)))).all()


def test_an_interrupt_keeps_the_members_that_are_fitted(monkeypatch):
    fit_leaves, n_calls = leaves.fit_leaves, 0

    def interrupted(rows, *others):
        nonlocal n_calls
        n_calls += len(rows.present) == len(X)
        if n_calls > 1:
            raise KeyboardInterrupt
        return fit_leaves(rows, *others)

    n_all = len(fitted("classes")[0].members_)
    monkeypatch.setattr("kernsemble.svm.backends.local.backend.fit_leaves", interrupted)
    machine = vote()
    with pytest.raises(KeyboardInterrupt, match="interrupted"):
        machine.fit(X, y)
    assert 1 <= len(machine.members_) < n_all
    assert machine.score(Z, labels) > 0.75
    n_calls = 9
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X[:, :5], y)
    assert machine.n_features_in_ == 20  # the last fit remains


def test_progress_is_reported(capsys):
    vote(verbose=2).fit(X, y)
    found = capsys.readouterr().out
    assert "selection" in found
    assert "refit" in found


# -- views


@pytest.mark.parametrize("name", NAMES)
def test_contributions_add_up_to_the_values_with_standard_errors(name):
    machine, rows, _ = fitted(name)
    few = {"n_background": 5, "n_permutations": 10}
    for k, view in enumerate(EnsembleView.each(machine).values()):
        found = view.explain(rows[:3], **few, method="sampled")
        total = found.intercept + found.contributions.sum(axis=1)
        assert_allclose(total, found.values, atol=1e-8 * np.abs(found.values).max())
        values = machine._values(rows)[:, k]  # in single precision
        assert_allclose(total, values[:3], atol=1e-3 * np.abs(values).max())
        assert not found.is_exact
        assert "sampled" in found.method


def test_the_view_states_which_terms_are_exact():
    machine = fitted("paired")[0]
    names = {each.name for each in machine.members_}
    assert "stumps and pairs" in names
    view = next(iter(EnsembleView.each(machine).values()))
    exact, averaged = view.exactness.split("; averaged over rows: ")
    n_pairs = len(table_member(machine).machines.tables.pairs)
    s = "" if n_pairs == 1 else "s"
    assert exact == f"exact: functions of 4 features and {n_pairs} pair{s}"
    assert set(averaged.split(", ")) == {name for name in names if name != "stumps and pairs"}
    assert view.centred_on == "a sample of the training rows"


def test_the_average_effect_is_the_mean_over_rows_that_have_the_value():
    machine, rows, _ = fitted("numbers")
    view = EnsembleView.from_estimator(machine, rows)
    found = view.average_effect("x3", n_points=3, n_background=len(rows))
    expected = []
    for value in found.values:
        changed = rows.copy()
        changed[:, 3] = value
        expected.append(machine.predict(changed).mean() - machine.predict(rows).mean())
    assert_allclose(found.effects, expected, atol=1e-4 * np.ptp(target))
    assert found.standard_errors.max() > 0.0
    exact = view.shapes["x3"](found.values)
    for pair in view.pairs():
        if 3 in pair.columns:
            other = rows.copy()
            for place, value in enumerate(found.values):
                other[:, 3] = value
                exact[place] += pair(other).mean() - pair(rows).mean()
    assert_allclose(found.additive, exact, atol=1e-8 * np.ptp(target))


def test_the_average_effect_of_an_additive_machine_is_exact():
    machine = InfiniteEnsembleClassifierCV("stump", solver="additive", cv=3).fit(X, y)
    found = EnsembleView.from_estimator(machine, X).average_effect("x0")
    assert found.is_exact
    assert_allclose(found.effects, found.additive)


def test_importances_are_shares_of_mean_absolute_contributions():
    (found,) = feature_importances(fitted("numbers")[0]).values()
    assert sum(found.shares.values()) == pytest.approx(1.0)
    ranked = sorted(found.shares, key=lambda name: -found.shares[name])
    assert set(ranked[:5]) == {f"x{k}" for k in range(5)}
    assert not found.is_exact

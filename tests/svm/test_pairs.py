"""Pairs of columns in the estimators."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris

import kernsemble
from kernsemble.exceptions import ArgumentError, GramTooLargeError
from kernsemble.kernels import Category, Laplacian, Perceptron, Stump
from kernsemble.solvers.losses import Logistic
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
)
from kernsemble.svm.backends.tables import pair_search

pytestmark = pytest.mark.large
N = 600


def people(n=N, seed=0):
    """A table whose target depends on age and job together, and on income and town together."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, n).round(),
            "income": rng.gamma(2.0, 1.0, n),
            "job": pd.Categorical(rng.choice(list("abcdef"), n)),
            "town": pd.Categorical(rng.choice([f"t{k:02}" for k in range(50)], n)),
            "constant": 1.0,
        }
    )
    table.loc[rng.random(n) < 0.1, "income"] = np.nan
    is_missing = table["income"].isna()
    is_first = table["town"].cat.codes < 25
    f = np.where(table["age"] > 40.0, 1.0, -1.0) * np.where(
        table["job"].isin(["a", "b"]), 1.0, -0.5
    )
    f = 2.0 * f + 1.5 * np.where(is_missing, 1.0, -0.2) * np.where(is_first, 1.0, -1.0)
    return table, f, rng


def classes(n=N, seed=0):
    table, f, rng = people(n, seed)
    return table, np.where(f + rng.logistic(size=n) > 0.0, "yes", "no")


def numbers(n=N, seed=0):
    table, f, rng = people(n, seed)
    return table, 100.0 + 10.0 * (f + 0.5 * rng.normal(size=n))


def logistic(**settings):
    return InfiniteEnsembleClassifier(loss="logistic", **settings)


def names(machine):
    columns = machine.feature_names_in_
    return {frozenset((columns[a], columns[b])) for a, b in machine.pairs_}


PLANTED = {frozenset(("age", "job")), frozenset(("income", "town"))}


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge", "squared"])
def test_planted_pairs_of_numbers_categories_and_missing_values_are_found(loss):
    X, y = classes(3_000)
    machine = InfiniteEnsembleClassifier(loss=loss, solver="additive", n_pairs=2).fit(X, y)
    assert names(machine) == PLANTED
    X_test, y_test = classes(2_000, seed=1)
    without = InfiniteEnsembleClassifier(loss=loss, solver="additive").fit(X, y)
    assert machine.score(X_test, y_test) > without.score(X_test, y_test) + 0.05


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive"])
def test_planted_pairs_are_found_in_regression(loss):
    X, y = numbers(2_000)
    machine = InfiniteEnsembleRegressor(loss=loss, solver="additive", n_pairs=2).fit(X, y)
    assert names(machine) == PLANTED
    X_test, y_test = numbers(1_000, seed=1)
    assert machine.score(X_test, y_test) > 0.75


def test_the_number_of_pairs_is_selected_on_held_out_rows():
    X, y = classes(3_000)
    machine = logistic(n_pairs="auto").fit(X, y)
    assert names(machine) >= PLANTED
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 4))
    y = X[:, 0] + rng.logistic(size=2_000) > 0.0
    assert len(logistic(n_pairs="auto", solver="additive").fit(X, y).pairs_) <= 2


@pytest.mark.parametrize(("is_smooth", "order"), [(True, 2.0), (False, 1.25)])
def test_the_smoothness_of_pairs_is_selected_on_held_out_rows(is_smooth, order):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3_000, 2))
    cells = np.sign(rng.normal(size=(16, 16)))[tuple((16.0 * X).astype(int).T)]
    y = np.sin(6.0 * X.sum(axis=1)) if is_smooth else cells
    y = y + 0.5 * rng.normal(size=len(y))
    machine = InfiniteEnsembleRegressor(solver="additive", loss="squared", n_pairs="auto").fit(X, y)
    (pairs,) = (each for each in machine.tables_.blocks if len(each.column_pairs) > 0)
    assert pairs.order == order


def test_named_pairs_come_first_and_count():
    X, y = classes(1_500)
    named = [("town", "constant"), ("constant", "town"), (0, 1)]
    machine = logistic(pairs=named).fit(X, y)
    assert machine.pairs_ == ((3, 4), (0, 1))
    machine = logistic(pairs=named[:1], n_pairs=2).fit(X, y)
    assert machine.pairs_[0] == (3, 4)
    assert len(machine.pairs_) == 2
    assert names(machine) & PLANTED


def test_weights_are_repetition(monkeypatch):
    monkeypatch.setattr(pair_search, "TOL", 1e-9)
    X, y = classes(400)
    times = np.random.default_rng(0).integers(0, 3, size=len(y))
    rows = np.repeat(np.arange(len(y)), times)
    weighted = logistic(n_pairs=3, tol=1e-9).fit(X, y, sample_weight=times)
    repeated = logistic(n_pairs=3, tol=1e-9).fit(X.iloc[rows], y[rows])
    assert weighted.pairs_ == repeated.pairs_
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-3)


def test_neither_the_unit_of_the_target_nor_the_penalty_matters():
    X, y = numbers(500)
    settings = {"loss": "squared", "n_pairs": 2, "tol": 1e-9}
    machine = InfiniteEnsembleRegressor(**settings).fit(X, y)
    scaled = InfiniteEnsembleRegressor(**settings).fit(X, 1000.0 * y)
    assert machine.pairs_ == scaled.pairs_
    assert_allclose(1000.0 * machine.predict(X), scaled.predict(X), rtol=1e-4)
    other = InfiniteEnsembleRegressor(C=7.0, **settings).fit(X, y)
    assert_allclose(machine.predict(X), other.predict(X), rtol=1e-2)


def test_several_classes_share_the_pairs():
    X, y = load_iris(return_X_y=True)
    for multiclass in ("one-vs-one", "one-vs-rest"):
        machine = logistic(solver="additive", pairs=[(0, 1), (2, 3)], multiclass=multiclass).fit(
            X, y
        )
        (pairs,) = (each for each in machine.tables_.blocks if len(each.column_pairs) > 0)
        assert [len(heights) for heights in pairs.heights] == [3, 3]
        assert machine.score(X, y) > 0.94


def test_few_rows_of_a_class_pairs_of_a_single_level_and_no_candidates():
    X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
    machine = logistic(solver="additive", n_pairs=3).fit(X, [0, 0, 0, 1])
    assert machine.pairs_ == ()
    assert np.isfinite(machine.decision_function(X)).all()
    machine = logistic(solver="additive", pairs=[(0, 1)]).fit(X, [0, 0, 0, 1])
    assert machine.pairs_ == ((0, 1),)
    assert np.isfinite(machine.decision_function(X)).all()


def test_unseen_categories_are_at_the_root_of_their_column():
    X, y = classes(1_000)
    machine = logistic(pairs=[("age", "job")]).fit(X, y)
    unseen = X.iloc[:5].assign(job="new")
    (pairs,) = (each for each in machine.tables_.blocks if len(each.column_pairs) > 0)
    encoded = machine._read_again(unseen)
    codes = pairs.codes(encoded)
    assert_array_equal(codes[[each.column for each in pairs.columns].index(2)], 0)
    missing = X.iloc[:5].assign(age=np.nan)
    assert np.isfinite(machine.decision_function(missing)).all()


def test_rare_categories_share_a_level_and_numbers_have_at_most_32():
    X, y = classes(2_000)
    machine = logistic(pairs=[("income", "town")]).fit(X, y)
    (pairs,) = (each for each in machine.tables_.blocks if len(each.column_pairs) > 0)
    assert [each.n_groups for each in pairs.columns] == [32, 32]
    income, town = pairs.columns
    assert (np.bincount(town.groups)[:-1] == 1).all()
    assert income.levels.holds_missing


def test_machines_are_stored_pickled_and_cloned(tmp_path):
    X, y = classes()
    machine = logistic(n_pairs=2).fit(X, y)
    expected = machine.decision_function(X)
    for other in (
        pickle.loads(pickle.dumps(machine)),
        kernsemble.load(kernsemble.save(machine, tmp_path / "machine.skops")),
        clone(machine).fit(X, y),
    ):
        assert_array_equal(other.decision_function(X), expected)
        assert other.pairs_ == machine.pairs_


def test_cross_validation_searches_pairs_in_every_fold():
    X, y = classes(1_200)
    machine = InfiniteEnsembleClassifierCV(n_pairs=2, cv=3, loss="logistic").fit(X, y)
    assert names(machine) == PLANTED
    without = InfiniteEnsembleClassifierCV("stump", cv=3, loss="logistic").fit(X, y)
    assert machine.best_score_ > without.best_score_ + 0.03
    assert set(machine.cv_results_["param_scaling"]) == {"range", "rank", "distinct"}
    assert machine.solver_ == "additive"
    assert "do not support pairs" in machine.search_summary_.reason
    X_test, y_test = classes(2_000, seed=1)
    assert abs(machine.score(X_test, y_test) - machine.best_score_) < 0.05


def test_cross_validation_of_regression_and_calibration():
    X, y = numbers(500)
    machine = InfiniteEnsembleRegressorCV("stump", n_pairs=2, cv=2, loss="squared").fit(X, y)
    assert names(machine) == PLANTED
    X, y = classes(900)
    machine = InfiniteEnsembleClassifier(calibration="sigmoid", n_pairs=2).fit(X, y)
    assert_allclose(machine.predict_proba(X).sum(axis=1), 1.0)


def test_laplacians_and_perceptrons_beside_stumps_keep_their_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] * X[:, 1] > 0.0
    for other in (Laplacian(), Perceptron()):
        machine = logistic(
            kernel=Stump() + other, solver="additive", n_pairs=1, n_grids=8, n_slices=8,
            random_state=0,
        ).fit(X, y)  # fmt: skip
        assert machine.score(X, y) > 0.9


def test_only_the_additive_solver_supports_pairs():
    X, y = classes(100)
    assert logistic(n_pairs=1).fit(X, y).solver_ == "additive"
    numbers = X[["age", "constant"]]
    assert InfiniteEnsembleClassifier(n_pairs=1).fit(numbers, y).solver_ == "additive"
    with pytest.raises(
        ValueError, match="'exact' does not support pairs of columns: use n_pairs=0"
    ):
        InfiniteEnsembleClassifier(solver="exact", n_pairs=1).fit(numbers, y)
    with pytest.raises(ValueError, match="functions of two columns at least, and this one has 1"):
        logistic(kernel=Stump().on(0), n_pairs=1, solver="additive").fit(numbers, y)
    with pytest.raises(ValueError, match="functions of two columns at least, and this one has 0"):
        logistic(kernel="perceptron", n_pairs=1, solver="additive").fit(numbers.fillna(0.0), y)
    kernel = Stump().on("age") + Category().on("job")
    with pytest.raises(ValueError, match="contains the column 1, of which the kernel has no func"):
        logistic(kernel=kernel, pairs=[("age", "income")]).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_pairs": -1}, ArgumentError, "n_pairs = -1"),
        ({"n_pairs": "some"}, ArgumentError, "n_pairs = 'some'"),
        ({"pairs": [("age",)]}, ArgumentError, "two different columns"),
        ({"pairs": [("age", "age")]}, ArgumentError, "two different columns"),
        ({"pairs": [("age", "jobs")]}, ValueError, "did you mean 'job'"),
        ({"n_pairs": 2, "cache_size": 1e-4}, GramTooLargeError, "reduce n_pairs"),
    ],
)
def test_errors_name_the_argument(settings, error, message):
    X, y = classes(100)
    with pytest.raises(error, match=message):
        logistic(**settings).fit(X, y)


def test_an_interrupt_during_the_search_leaves_a_machine_without_pairs(monkeypatch):
    def interrupted(*arguments, **settings):
        raise KeyboardInterrupt

    X, y = classes()
    machine = logistic(n_pairs=2)
    monkeypatch.setattr(pair_search, "best_pairs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert machine.pairs_ == ()
    assert np.isfinite(machine.decision_function(X)).all()


def test_a_warm_start_continues():
    X, y = classes()
    machine = logistic(n_pairs=2, warm_start=True, tol=1e-6).fit(X, y)
    expected = machine.decision_function(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine.fit(X, y)
    assert_allclose(machine.decision_function(X), expected, atol=1e-2)


def test_pairs_are_searched_on_a_sample_of_many_rows(monkeypatch):
    X, y = classes(4_000)
    monkeypatch.setattr(pair_search, "MAX_ROWS", 1_500)
    for loss in ("logistic", "hinge"):
        machine = InfiniteEnsembleClassifier(loss=loss, n_pairs=2, random_state=0).fit(X, y)
        assert names(machine) == PLANTED


def dealt(y, weight):
    """The shares of the rows in the parts that settings are compared on."""
    loss = Logistic.from_targets(y, 0.5 * weight)
    return pair_search.deal_out([loss], [0.5], np.random.default_rng(0))


def test_parts_have_their_share_of_a_rare_class_and_of_a_heavy_row():
    y = np.where(np.arange(1_000) < 48, 1.0, -1.0)
    weight = np.ones(1_000)
    weight[-1] = 2_400.0
    shares = dealt(y, weight)
    n_parts = shares.shape[1]
    assert_allclose(shares.sum(axis=1), 1.0)
    assert_allclose(shares[-1], 1.0 / n_parts)
    assert set(np.unique(shares[:-1])) == {0.0, 1.0}
    assert_allclose(shares[y > 0.0].sum(axis=0), 48 / n_parts, atol=1.0)


def test_repeated_rows_are_dealt_like_weights():
    y = np.random.default_rng(0).choice([-1.0, 1.0], 200)
    weight = np.random.default_rng(1).integers(1, 60, 200).astype(float)
    together = weight @ dealt(y, weight)
    apart = dealt(np.repeat(y, weight.astype(int)), np.ones(int(weight.sum()))).sum(axis=0)
    assert_allclose(together, apart, atol=2.0 * len(y) / 24)

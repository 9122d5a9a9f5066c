"""kernel="auto" with the hinge: a race on real rows, which repeats, and whose cost is bounded."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, make_friedman1

from kernsemble.datasets import make_threenorm, make_xor
from kernsemble.exceptions import RowsOnDemandWarning
from kernsemble.inspection import EnsembleView
from kernsemble.kernels import Exponential, Laplacian, Mixed, Perceptron, Stump
from kernsemble.persistence import load, save
from kernsemble.solvers import folds
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressorCV,
)
from kernsemble.svm.backends.base import TrainingRows

X, y = make_threenorm(150, random_state=0)


@pytest.mark.large
def test_a_race_repeats_with_its_random_state():
    machines = [
        InfiniteEnsembleClassifierCV("auto", loss="hinge", random_state=seed).fit(X, y)
        for seed in (3, 3)
    ]
    assert machines[0].race_results_ == machines[1].race_results_
    assert machines[0].best_params_ == machines[1].best_params_
    assert_array_equal(machines[0].dual_coef_, machines[1].dual_coef_)


@pytest.mark.large
def test_another_kernel_wins_where_stumps_fail():
    rows, classes = make_xor(300, noise=0.2, random_state=0)
    machine = InfiniteEnsembleClassifierCV("auto", loss="hinge", random_state=0).fit(rows, classes)
    assert isinstance(machine.best_params_["kernel"], (Laplacian, Exponential))
    assert machine.best_score_ > 0.95


def compared(machine):
    """Return the best row of cv_results_ for each kernel and scaling."""
    found = machine.cv_results_
    best = {}
    for place in np.argsort(found["rank_test_score"], kind="stable").tolist():
        key = str(found["params"][place]["kernel"]), found["params"][place]["scaling"]
        best.setdefault(key, place)
    return list(best.values())


@pytest.mark.large
def test_all_finalists_are_scored_by_all_folds_on_all_rows_and_the_winner_is_the_best():
    machine = InfiniteEnsembleClassifierCV("auto", loss="hinge", cv=4, random_state=0).fit(X, y)
    found = machine.cv_results_
    places = compared(machine)
    assert len(places) == 3
    assert "split3_test_score" in found
    assert machine.best_score_ == found["mean_test_score"].max()
    for place in places:
        params = found["params"][place]
        fixed = InfiniteEnsembleClassifierCV(
            params["kernel"], Cs=[params["C"]], cv=4, scaling=params["scaling"], calibration=None
        ).fit(X, y)
        assert_allclose(fixed.best_score_, found["mean_test_score"][place], atol=0.01)


@pytest.mark.large
def test_the_winner_is_the_machine_of_its_settings():
    machine = InfiniteEnsembleClassifierCV("auto", loss="hinge", cv=4, random_state=0).fit(X, y)
    kernel, scaling, C = (machine.best_params_[name] for name in ("kernel", "scaling", "C"))
    same = [
        params["C"]
        for params in machine.cv_results_["params"]
        if (params["kernel"], params["scaling"]) == (kernel, scaling)
    ]
    fixed = InfiniteEnsembleClassifierCV(kernel, Cs=same, cv=4, scaling=scaling).fit(X, y)
    assert fixed.C_ == machine.C_ == C
    assert_array_equal(fixed.predict(X), machine.predict(X))
    assert_array_equal(fixed.predict_proba(X), machine.predict_proba(X))


@pytest.mark.large
def test_the_rounds_of_a_race_have_a_spread_of_their_folds():
    machine = InfiniteEnsembleClassifierCV(
        "auto", loss="hinge", scaling="rank", random_state=0
    ).fit(X, y)
    spread = np.array(machine.race_results_["std_test_score"])
    assert len(spread) == len(machine.race_results_["mean_test_score"])
    assert (spread >= 0.0).all()
    assert spread.max() > 0.0


@pytest.mark.large
def test_rows_without_weight_do_not_race():
    weight = np.r_[np.ones(100), np.zeros(50)]
    cv = [(np.flatnonzero(np.arange(100) % 3 != k), np.arange(k, 100, 3)) for k in range(3)]
    absent = InfiniteEnsembleClassifierCV("auto", loss="hinge", cv=cv, random_state=0)
    left_out = InfiniteEnsembleClassifierCV("auto", loss="hinge", cv=cv, random_state=0).fit(
        X[:100], y[:100]
    )
    assert_array_equal(absent.fit(X, y, weight).predict(X), left_out.predict(X))


def test_given_scalings_and_penalties_limit_the_race():
    machine = InfiniteEnsembleClassifierCV(
        "auto", loss="hinge", scaling=["rank"], Cs=[0.5, 1.0, 2.0], random_state=0
    ).fit(X, y)
    assert set(machine.race_results_["scaling"]) == {"rank"}
    assert set(machine.race_results_["C"]) <= {0.5, 1.0, 2.0}


@pytest.mark.large
def test_sparse_rows_race_as_dense_ones_do():
    rows = sparse.random(120, 30, density=0.1, random_state=0, format="csr")
    target = np.asarray(rows.sum(axis=1)).ravel() > 1.5
    machines = [
        InfiniteEnsembleClassifierCV("auto", loss="hinge", cv=3, random_state=0).fit(each, target)
        for each in (rows, rows.toarray())
    ]
    scores = [each.race_results_["mean_test_score"] for each in machines]
    assert_allclose(*scores, atol=0.02)  # ties of rounding may fall either way
    assert len(set(scores[0])) > 3


@pytest.mark.large
def test_multiclass_and_regression_race_too():
    rows, classes = load_iris(return_X_y=True)
    assert (
        InfiniteEnsembleClassifierCV("auto", loss="hinge", random_state=0)
        .fit(rows, classes)
        .best_score_
        > 0.93
    )
    rows, target = make_friedman1(150, noise=1.0, random_state=0)
    machine = InfiniteEnsembleRegressorCV("auto", loss="epsilon_insensitive", random_state=0).fit(
        rows, target
    )
    stumps = InfiniteEnsembleRegressorCV("stump").fit(rows, target)
    assert machine.best_score_ >= stumps.best_score_ - 0.05


@pytest.mark.large
def test_a_race_solves_on_fewer_entries_than_two_and_a_half_full_matrices(monkeypatch):
    """Count the entries of all matrices of the race against those of the matrix of all rows."""
    rows, classes = make_threenorm(2000, random_state=0)
    seen = []
    original = folds.solve_folds

    def counted(K, *arguments, **settings):
        seen.append(len(K))
        return original(K, *arguments, **settings)

    monkeypatch.setattr("kernsemble.svm.backends.prepared_matrix.solve_folds", counted)
    InfiniteEnsembleClassifierCV("auto", loss="hinge", random_state=0).fit(rows, classes)
    assert sum(n**2 for n in seen[:-3]) <= 2.5 * 2000**2
    assert seen[-3:] == [2000, 2000, 2000]


# -- tables with categories and missing values


def tables(n=90):
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    classes = numbers["a"] + 0.3 * rng.normal(size=n) > 0.0
    holed = numbers.mask(rng.random((n, 2)) < 0.1)
    mixed = numbers.assign(c=np.where(numbers["b"] > 0.0, "up", "down"))
    return {"missing values": holed, "categories": mixed}, classes


@pytest.mark.large
@pytest.mark.parametrize("kind", ["missing values", "categories"])
@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_auto_races_on_categories_and_missing_values(kind, solver):
    found, classes = tables()
    machine = InfiniteEnsembleClassifierCV(
        "auto", loss="hinge", cv=3, scaling="rank", solver=solver, random_state=0
    ).fit(found[kind], classes)
    families = {type(each.kernel) for each in machine.race_results_["kernel"]}
    assert families == {Laplacian, Exponential, Perceptron, Stump}
    assert machine.solver_ == "exact"
    assert machine.score(found[kind], classes) > 0.8


def xor_table(damage, n=1000):
    """Return a table of XOR with one cell emptied, or with one column of text."""
    rows, classes = make_xor(n, noise=0.0, random_state=0)
    table = pd.DataFrame(rows, columns=[f"x{d}" for d in range(rows.shape[1])])
    if damage == "one missing value":
        table.iloc[3, 0] = np.nan
    else:
        table["city"] = np.random.default_rng(0).choice(["Bern", "Rome"], n)
    return table, classes


@pytest.mark.large
@pytest.mark.parametrize("damage", ["one missing value", "one column of text"])
def test_one_missing_value_or_one_column_of_text_does_not_hide_an_interaction(damage):
    table, classes = xor_table(damage)
    machine = InfiniteEnsembleClassifierCV("auto", loss="hinge", cv=3, random_state=0)
    machine.fit(table.iloc[:700], classes[:700])
    assert machine.best_score_ > 0.97
    assert machine.score(table.iloc[700:], classes[700:]) > 0.97


@pytest.mark.large
def test_tables_with_numbers_as_target_or_several_classes_race_too():
    found, _ = tables(120)
    table = found["missing values"].assign(c=found["categories"]["c"])
    target = found["categories"]["a"] * np.where(table["c"] == "up", 1.0, -1.0)
    machine = InfiniteEnsembleRegressorCV(
        "auto", loss="epsilon_insensitive", cv=3, scaling="range", random_state=0
    )
    stumps = InfiniteEnsembleRegressorCV("stump", cv=3)
    assert machine.fit(table, target).best_score_ > stumps.fit(table, target).best_score_ + 0.1
    classes = np.digitize(target, [-0.5, 0.5])
    machine = InfiniteEnsembleClassifierCV(
        "auto", loss="hinge", cv=3, scaling="range", random_state=0
    )
    assert machine.fit(table, classes).best_score_ > 0.55


@pytest.mark.large
def test_a_winner_on_a_mixed_table_predicts_unknown_categories_and_missing_values():
    found, classes = tables()
    machine = InfiniteEnsembleClassifierCV(
        "auto", loss="hinge", cv=3, scaling="range", random_state=0
    )
    machine.fit(found["categories"], classes)
    assert isinstance(machine.kernel_, Mixed)
    new = pd.DataFrame({"a": [2.0, np.nan], "b": [np.nan, 1.0], "c": ["sideways", None]})
    assert machine.predict(new)[0]
    fixed = InfiniteEnsembleClassifier(
        machine.best_params_["kernel"], C=machine.C_, scaling=machine.best_params_["scaling"]
    ).fit(found["categories"], classes)
    assert_allclose(fixed.decision_function(new), machine.decision_function(new))


@pytest.mark.large
def test_a_model_of_a_mixed_table_is_saved_and_explained(tmp_path):
    found, classes = tables()
    table = found["missing values"].assign(c=found["categories"]["c"])
    machine = InfiniteEnsembleClassifierCV(
        "auto", loss="hinge", cv=3, scaling="range", random_state=0
    )
    machine.fit(table, classes)
    again = load(save(machine, tmp_path / "model.skops"))
    assert_array_equal(again.decision_function(table), machine.decision_function(table))
    assert str(again.search_summary_) == str(machine.search_summary_)
    view = EnsembleView.from_estimator(machine)
    explained = view.explain(table.iloc[:3])
    assert explained.contributions.shape == (3, 3)
    assert_allclose(
        explained.intercept + explained.contributions.sum(axis=1), explained.values, atol=1e-6
    )
    assert_allclose(explained.values, machine.decision_function(table.iloc[:3]))
    shares = view.importances().shares
    assert max(shares, key=shares.get) == "a"


# -- what was compared


@pytest.mark.large
def test_a_summary_names_what_was_compared_and_what_was_left_out():
    raced = InfiniteEnsembleClassifierCV("auto", loss="hinge", cv=3, random_state=0).fit(X, y)
    assert str(raced.search_summary_) == (
        "compared 30 settings: trees, polytopes, perceptrons and stumps on 3 scales, the best 3 "
        "of them on all rows"
    )
    for settings, reason in (
        (
            {"loss": "logistic"},
            "the exact solver does not support the logistic loss: use the hinge",
        ),
        ({"solver": "additive"}, "the additive solver does not support them: use the exact"),
        (
            {"cache_size": 0.1, "loss": "hinge"},
            "the kernel matrix of 150 rows takes 0.172 MB, and cache_size allows 0.1: use",
        ),
    ):
        machine = InfiniteEnsembleClassifierCV("auto", cv=3, **settings).fit(X, y)
        assert machine.search_summary_.tried == "stumps on 3 scales"
        assert machine.search_summary_.left_out == "trees, polytopes and perceptrons"
        assert reason in str(machine.search_summary_)
        assert not hasattr(machine, "race_results_")
    given = InfiniteEnsembleClassifierCV(["stump", Perceptron()], scaling=["range"]).fit(X, y)
    assert str(given.search_summary_) == "compared stump and Perceptron() on 1 scale"


def test_without_memory_for_the_matrix_settings_are_selected_on_a_sample_that_fits():
    machine = InfiniteEnsembleClassifierCV(
        "auto", loss="hinge", cv=3, scaling="range", solver="exact", cache_size=0.12, random_state=0
    )
    with pytest.warns(RowsOnDemandWarning, match="150 x 150") as caught:
        machine.fit(X, y)
    assert len(caught) == 1  # only the last fit, on all rows
    n_sampled = int(np.sqrt(0.12 * 2**20 / (1.25 * 8)))
    assert f"a sample of {n_sampled} rows" in str(machine.search_summary_)
    assert len(np.unique(machine.out_of_fold_.rows)) == n_sampled
    assert machine.machines_.n_training_rows == 150
    assert machine.score(X, y) > 0.85
    found = machine.out_of_fold_
    assert np.mean(found.predicted == y[found.rows]) == pytest.approx(machine.best_score_, abs=0.01)


def test_auto_on_many_rows_is_stumps_on_every_scale_and_says_so():
    machine = InfiniteEnsembleClassifierCV("auto", loss="hinge")
    machine.mixed_table_, machine.n_features_in_, machine.classes_ = None, 2, [0, 1]
    training = TrainingRows(np.zeros((10_001, 2)), np.ones(10_001), np.zeros(2, dtype=bool))
    assert "10,001 rows are more than the 10,000" in machine._obstacle_to_race(training)


@pytest.mark.large
def test_auto_does_not_race_with_another_loss_or_solver():
    for settings in ({"loss": "logistic"}, {"solver": "additive"}):
        machine = InfiniteEnsembleClassifierCV("auto", cv=3, **settings).fit(X, y)
        assert not hasattr(machine, "race_results_")
        assert machine.solver_ == "additive"


def test_many_rows_race_only_if_stumps_need_a_matrix_as_well():
    machine = InfiniteEnsembleClassifierCV("auto", loss="hinge")
    machine.mixed_table_, machine.n_features_in_, machine.classes_ = None, 2, [0, 1]
    for rows, expected in (
        (np.zeros((10_000, 2)), True),
        (np.zeros((10_001, 2)), False),
        (sparse.csr_array((10_001, 2)), True),
    ):
        training = TrainingRows(rows, np.ones(rows.shape[0]), np.zeros(2, dtype=bool))
        assert machine._races(machine._choose_backend(training)) == expected


def test_an_automatic_loss_is_squared_for_a_vote_smooth_on_tables_and_else_the_hinge():
    machine = InfiniteEnsembleClassifierCV("auto", loss="auto")
    machine.mixed_table_, machine.n_features_in_, machine.classes_ = None, 2, [0, 1]
    for n, solver in ((10_000, "exact"), (10_001, "local")):
        machine._choose_backend(TrainingRows(np.zeros((n, 2)), np.ones(n), np.zeros(2, dtype=bool)))
        assert (machine.loss_, machine.solver_) == ("squared", solver)
    for kernel, rows, expected in (("stump", X, "hinge"), ("auto", sparse.csr_array(X), "squared")):
        assert InfiniteEnsembleClassifierCV(kernel, Cs=[1.0]).fit(rows, y).loss_ == expected

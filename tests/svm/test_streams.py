"""Fits to rows in blocks are those to all rows in memory."""

import datetime
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.datasets import make_threenorm
from kernsemble.kernels import Perceptron, Stump
from kernsemble.persistence import load, save
from kernsemble.solvers.additive import solve
from kernsemble.solvers.additive.newton_system import NewtonSystem
from kernsemble.streaming import Blocks
from kernsemble.streaming.blocks import files
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
)
from kernsemble.svm.backends import BACKENDS
from kernsemble.svm.streams import local
from kernsemble.svm.streams.fitting import EncodedRows
from kernsemble.svm.streams.sources import LocalSource, SurveySettings

N = 300


@pytest.fixture(autouse=True)
def _newton(monkeypatch):
    """Solve problems in memory by Newton's method with systems of levels, as those in blocks."""
    monkeypatch.setattr(solve, "descent_pays", lambda *_: False)
    monkeypatch.setattr(NewtonSystem, "_cost_by_rows", lambda *_: np.inf)


def numbers(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X, y = make_threenorm(n, n_features=5, random_state=seed)
    X[:, 1] = rng.integers(0, 4, n)
    X[rng.random(n) < 0.1, 2] = np.nan
    return X, y, rng.integers(0, 3, n).astype(float)


def table(seed=0, n=N):
    """Numbers, categories with missing ones, and dates."""
    X, y, weight = numbers(seed, n)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["town"] = rng.choice(["Cork", "Bern", "Rome", None], n)
    frame["day"] = pd.Timestamp("2024-01-30") + pd.to_timedelta(np.arange(n), unit="D")
    return frame, y, weight


def in_blocks(X, y, weight=None, ends=(100, 180)):
    pairs = pairwise([0, *ends, len(y)])
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    return Blocks(
        [(take(slice(a, b)), y[a:b], None if weight is None else weight[a:b]) for a, b in pairs],
        len(y),
    )


CASES = [
    (InfiniteEnsembleClassifier, {"loss": "logistic"}),
    pytest.param(
        InfiniteEnsembleClassifier,
        {"loss": "hinge", "class_weight": "balanced"},
        marks=pytest.mark.large,
    ),
    (InfiniteEnsembleClassifier, {"loss": "squared_hinge", "scaling": "rank"}),
    (InfiniteEnsembleRegressor, {"loss": "squared", "scaling": "distinct"}),
    pytest.param(
        InfiniteEnsembleRegressor,
        {"loss": "epsilon_insensitive", "C": 2.0},
        marks=pytest.mark.large,
    ),
]


def target(family, X, y):
    if family is InfiniteEnsembleClassifier:
        return y
    return 3.0 + np.nan_to_num(np.asarray(X)[:, :5].astype(float)).sum(axis=1)


def values(machine, X):
    return machine._values(X)


@pytest.mark.parametrize("make", [numbers, table])
@pytest.mark.parametrize(("family", "params"), CASES)
@given(ends=st.lists(st.integers(0, N), max_size=6))
@settings(max_examples=2)
def test_a_fit_to_blocks_is_that_to_all_rows(make, family, params, ends):
    X, y, weight = make()
    y = target(family, X, y)
    params = {"max_levels": 20, "tol": 1e-9, **params}  # few levels: steps by factors, exact ones
    whole = family(solver="additive", **params).fit(X, y, weight)
    machine = family(**params).fit(in_blocks(X, y, weight, sorted(ends)))
    assert pytest.approx(whole.C_, rel=1e-10) == machine.C_
    expected = values(whole, X)
    assert_allclose(values(machine, X), expected, atol=1e-8 * np.abs(expected).max())
    assert_allclose(machine.objective_, whole.objective_, rtol=1e-8)


@pytest.mark.large
def test_several_classes_have_the_machines_of_all_rows():
    X, _, _ = numbers()
    y = np.array(["red", "green", "blue"])[np.digitize(X[:, 0], [-1.0, 1.0])]
    for multiclass in ("one-vs-one", "one-vs-rest"):
        settings = {"loss": "logistic", "multiclass": multiclass, "tol": 1e-9, "max_levels": 20}
        whole = InfiniteEnsembleClassifier(solver="additive", **settings).fit(X, y)
        machine = InfiniteEnsembleClassifier(**settings).fit(in_blocks(X, y))
        assert_array_equal(machine.classes_, whole.classes_)
        assert_allclose(machine.predict_proba(X), whole.predict_proba(X), atol=1e-8)


def test_polars_tables_give_the_machine_of_pandas_tables():
    frame, y, _ = table()
    expected = InfiniteEnsembleClassifier(loss="logistic").fit(in_blocks(frame, y))
    polars = pl.from_pandas(frame.assign(day=frame["day"].astype("datetime64[us]")))
    found = InfiniteEnsembleClassifier(loss="logistic").fit(
        Blocks([(polars[:90], y[:90]), (polars[90:], y[90:])])
    )
    assert_allclose(found.decision_function(polars), expected.decision_function(frame), atol=1e-9)
    assert list(found.feature_names_in_) == list(frame)


# -- blocks that differ


def test_columns_in_another_order_are_found_by_name():
    frame, y, _ = table()
    expected = InfiniteEnsembleClassifier(loss="logistic").fit(in_blocks(frame, y))
    turned = frame[["day", "town", *"edcba"]]
    found = InfiniteEnsembleClassifier(loss="logistic").fit(
        Blocks([(frame[:150], y[:150]), (turned[150:], y[150:])])
    )
    assert_allclose(found.decision_function(frame), expected.decision_function(frame), atol=1e-9)


def test_blocks_without_rows_classes_and_categories_are_fine():
    frame, y, _ = table()
    order = np.lexsort((frame["town"].fillna(""), y))  # classes and categories by block
    frame, y = frame.iloc[order].reset_index(drop=True), y[order]
    whole = InfiniteEnsembleClassifier(loss="logistic", solver="additive").fit(frame, y)
    machine = InfiniteEnsembleClassifier(loss="logistic").fit(
        in_blocks(frame, y, ends=[0, 0, 40, 100, 101, N])
    )
    assert_allclose(machine.decision_function(frame), whole.decision_function(frame), atol=1e-9)


def test_a_column_that_is_missing_in_a_whole_block_has_the_type_of_the_others():
    frame, y, _ = table()
    frame.loc[:99, ["town", "day", "a"]] = None
    machine = InfiniteEnsembleClassifier(loss="logistic").fit(in_blocks(frame, y))
    whole = InfiniteEnsembleClassifier(loss="logistic", solver="additive").fit(frame, y)
    first = frame[:100].assign(town=None, a=None, day=pd.NaT)
    mixed = InfiniteEnsembleClassifier(loss="logistic").fit(
        Blocks([(first, y[:100]), (frame[100:], y[100:])])
    )
    for each in (machine, mixed):
        assert_allclose(each.decision_function(frame), whole.decision_function(frame), atol=1e-9)


def fit(*blocks, **params):
    return InfiniteEnsembleClassifier(loss="logistic", **params).fit(Blocks(list(blocks)))


X, Y, _ = numbers()
FRAME = pd.DataFrame(X, columns=list("abcde"))


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([(X, Y), (X[:, :4], Y)], "X has 5 columns in block 0 and 4 in block 1"),
        ([(FRAME, Y), (FRAME.drop(columns="c"), Y)], "block 1 has no column 'c', which block 0"),
        ([(FRAME.drop(columns="c"), Y), (FRAME, Y)], "block 0 has no column 'c', which block 1"),
        (
            [(FRAME, Y), (FRAME.assign(c="x"), Y)],
            "column 'c' of X has numbers in block 0 and categories in block 1",
        ),
        ([(X, Y), (X, Y[:5])], "block 1 has 300 rows and targets of shape"),
        (
            [(X, Y), (np.full_like(X, np.inf), Y)],
            "column 0 of X contains infinite values in block 1",
        ),
        ([(X, Y), (X, Y.astype(str))], "y has the class -1 in one block and '-1' in another"),
        ([(X, np.ones(N))], "y contains only one class"),
        ([(X, X[:, 0])], "y contains numbers such as"),
        ([(X, Y, np.zeros(N))], "no row of positive weight"),
        ([(X, Y, -np.ones(N))], "sample_weight of block 0 is -1.0 for row 0"),
        ([(X, np.where(np.arange(N) == 3, None, "a"))], "y of block 0 contains missing"),
        ([], "there are no blocks"),
        ([X], "block 0 is a ndarray: yield pairs"),
    ],
)
def test_what_cannot_be_fitted_is_one_clear_line(blocks, message):
    with pytest.raises(ValueError, match=message):
        fit(*blocks)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"solver": "exact"}, "solver = 'exact'"),
        ({"C": np.inf}, "C = inf"),
        ({"scaling": "effects"}, "scaling = 'effects'"),
        ({"kernel": Perceptron()}, "single columns"),
    ],
)
def test_settings_that_need_rows_in_memory_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        fit((np.nan_to_num(X), Y), **params)


def test_blocks_have_their_own_targets_and_can_be_read_again():
    with pytest.raises(ValueError, match=r"pass fit\(X\) only"):
        InfiniteEnsembleClassifier().fit(Blocks([(X, Y)]), Y)
    with pytest.raises(ValueError, match="returns a new iterator"):
        Blocks(iter([(X, Y)]))
    n_read = iter([2, 1])
    with pytest.raises(ValueError, match="had 600 rows when they were read first, and 300"):
        InfiniteEnsembleClassifier(loss="logistic").fit(Blocks(lambda: [(X, Y)] * next(n_read)))
    with pytest.raises(TypeError, match="not known"):
        len(Blocks([]))
    with pytest.raises(ValueError, match="calibration = 'sigmoid'"):
        InfiniteEnsembleClassifier(calibration="sigmoid").fit(Blocks([(X, Y)]))


# -- levels


def test_more_rows_than_the_sample_have_levels_with_exact_members():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=2_000), rng.integers(0, 9, 2_000), rng.normal(size=2_000)])
    X[7, 1], X[5, 0] = 100.0, np.nan  # rare values
    y = (X[:, 2] > 0).astype(int)
    machine = InfiniteEnsembleClassifier(max_levels=20, loss="logistic")
    source = LocalSource(in_blocks(X, y, ends=[500, 1_200]))
    how = SurveySettings(True, 20, seed=0, max_quantile_rows=150)
    source.survey, survey = lambda _: survey(how), source.survey
    rows = EncodedRows.read(machine, source, [("stump", "range")])
    first, second, third = rows.workspace.columns[0]
    assert (first.holds_missing, third.holds_missing) == (True, False)
    assert_array_equal(second.values, [*range(9), 100.0])
    assert second.is_exact
    assert not third.is_exact
    places = np.searchsorted(third.cuts, X[:, 2])
    means = [X[places == k, 2].mean() for k in range(third.n_ordered)]
    assert_allclose(third.values, means, atol=1e-12)
    assert_allclose(third.weight, np.bincount(places))
    assert third.weight.min() > 0.2 * 2_000 / 20
    prepared = rows.prepare(machine, "stump", "range")
    ends = prepared.scaling.transform(X)
    assert (np.nanmin(ends), np.nanmax(ends)) == pytest.approx((-1.0, 1.0))


def test_values_that_are_distinct_only_outside_the_sample_are_no_exact_levels():
    X = np.repeat([[0.0], [1.0]], 500, axis=0)
    X[990:, 0] = np.arange(10)
    machine = InfiniteEnsembleClassifier(max_levels=4, loss="logistic")
    source = LocalSource(in_blocks(X, np.arange(1_000) % 2, ends=[400]))
    how = SurveySettings(True, 4, seed=0, max_quantile_rows=30)
    source.survey, survey = lambda _: survey(how), source.survey
    rows = EncodedRows.read(machine, source, [("stump", "range")])
    (levels,) = rows.workspace.columns[0]
    assert not levels.is_exact
    assert levels.weight.sum() == 1_000.0


@pytest.mark.large
def test_codes_beyond_the_budget_are_in_a_file_and_the_same():
    X, y, _ = numbers(n=20_000)
    settings = {"loss": "logistic", "tol": 1e-6}
    expected = InfiniteEnsembleClassifier(**settings).fit(in_blocks(X, y))
    source = LocalSource(in_blocks(X, y))
    machine = InfiniteEnsembleClassifier(**settings, cache_size=0.05)
    rows = EncodedRows.read(machine, source, [("stump", "range")])
    assert all(isinstance(block.codes, np.memmap) for block in rows.workspace.engine.blocks)
    machine.fit(in_blocks(X, y))
    assert_array_equal(machine.decision_function(X), expected.decision_function(X))


# -- selection


def test_selection_fits_the_best_setting_to_all_rows(tmp_path):
    X, y, weight = table(n=600)
    machine = InfiniteEnsembleClassifierCV(Cs=[0.01, 0.1, 1.0], cv=3, tol=1e-6)
    machine.fit(in_blocks(X, y, weight))
    assert machine.loss_ == "logistic"
    assert len(machine.cv_results_["params"]) == 9
    assert machine.best_score_ == machine.cv_results_["mean_test_score"].max()
    best = InfiniteEnsembleClassifier(
        C=machine.C_, scaling=machine.best_params_["scaling"], loss="logistic", tol=1e-6
    ).fit(in_blocks(X, y, weight))
    assert_allclose(machine.predict_proba(X), best.predict_proba(X), atol=1e-10)
    again = load(save(machine, tmp_path / "machine.skops"))
    assert_array_equal(again.predict_proba(X), machine.predict_proba(X))


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc"])
def test_scores_of_blocks_are_those_of_all_rows(scoring):
    X, y, _ = numbers(n=900)
    machine = InfiniteEnsembleClassifierCV("stump", Cs=[0.1], scoring=scoring, cv=3)
    whole = InfiniteEnsembleClassifierCV(
        "stump", Cs=[0.1], scoring=scoring, cv=3, solver="additive", loss="logistic"
    ).fit(X, y)
    machine.fit(in_blocks(X, y, ends=[300, 700]))
    assert machine.best_score_ == pytest.approx(whole.best_score_, abs=0.05)  # other folds


@pytest.mark.large
@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error", "neg_mean_absolute_error"])
def test_regression_selects_c_and_epsilon(scoring):
    X, y, _ = numbers(n=600)
    y = target(InfiniteEnsembleRegressor, X, y)
    machine = InfiniteEnsembleRegressorCV(
        "stump", Cs=[0.1, 1.0], epsilons=[0.01, 0.1], loss="epsilon_insensitive", scoring=scoring
    ).fit(in_blocks(X, y, ends=[150]))
    assert set(machine.best_params_) == {"kernel", "scaling", "epsilon", "C"}
    assert machine.score(X, y) > 0.95
    whole = InfiniteEnsembleRegressorCV(
        "stump",
        Cs=[machine.C_ / np.std(y)],
        epsilons=[machine.best_params_["epsilon"]],
        loss="epsilon_insensitive",
        solver="additive",
        scoring=scoring,
    ).fit(X, y)
    assert machine.best_score_ == pytest.approx(whole.best_score_, rel=0.3, abs=0.02)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"scoring": "f1"}, "scoring = 'f1': rows in blocks need one of accuracy"),
        ({"cv": [([0], [1])]}, "need a number of folds"),
        ({"scoring": "neg_log_loss", "loss": "hinge", "calibration": None}, "probabilities need"),
        ({"n_pairs": "auto"}, "n_pairs = 'auto': pairs are searched among rows in memory"),
    ],
)
def test_selections_that_need_all_rows_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        InfiniteEnsembleClassifierCV(**params).fit(in_blocks(X, Y))


def test_a_class_with_one_row_cannot_be_held_out():
    y = np.where(np.arange(N) == 0, 5, Y)
    with pytest.raises(ValueError, match="class 5 has 1 rows of positive weight"):
        InfiniteEnsembleClassifierCV().fit(in_blocks(X, y))


# -- progress and interrupts


def test_verbose_prints_the_size_of_the_rows(capsys):
    InfiniteEnsembleClassifier(loss="logistic", verbose=1).fit(in_blocks(X, Y))
    InfiniteEnsembleRegressorCV("stump", Cs=[1.0], verbose=1).fit(in_blocks(X, X[:, 0]))
    lines = capsys.readouterr().out.splitlines()
    assert "[InfiniteEnsembleClassifier] fitting 300 rows and 5 columns" in lines
    assert any("selected kernel = stump" in line for line in lines)


def test_an_interrupted_fit_resumes_from_its_last_step(monkeypatch):
    machine = InfiniteEnsembleClassifier(loss="logistic", warm_start=True, tol=1e-10)
    expected = InfiniteEnsembleClassifier(loss="logistic", tol=1e-10).fit(in_blocks(X, Y))
    from kernsemble.solvers.additive import stages

    took_step = stages.NewtonRun.took_step
    steps = []

    def interrupted(run, point, gap):
        steps.append(gap)
        if len(steps) == 4:
            raise KeyboardInterrupt
        return took_step(run, point, gap)

    monkeypatch.setattr(stages.NewtonRun, "took_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(in_blocks(X, Y))
    n_before = machine.n_iter_
    machine.fit(in_blocks(X, Y))
    assert n_before == 3
    assert machine.n_iter_ <= expected.n_iter_ - 2
    assert_allclose(machine.decision_function(X), expected.decision_function(X), atol=1e-6)


# -- files


def test_files_are_read_in_blocks(tmp_path):
    frame, y, weight = table()
    rows = pl.from_pandas(frame).with_columns(y=pl.Series(y), w=pl.Series(weight))
    (tmp_path / "data").mkdir()
    rows[:120].write_parquet(tmp_path / "data" / "a.parquet")
    rows[120:].write_parquet(tmp_path / "data" / "b.parquet")
    rows.write_csv(tmp_path / "rows.csv")
    expected = InfiniteEnsembleClassifier(loss="logistic", solver="additive").fit(frame, y, weight)
    parquet = [tmp_path / "data", f"{tmp_path}/data/*.parquet", [tmp_path / "data" / "a.parquet"]]
    for path, n in zip(parquet, [N, N, 120], strict=True):
        data = Blocks.from_parquet(path, "y", weight="w", block_rows=50)
        assert len(data) == n
        assert max(len(block.y) for block in data) <= 50
    data = Blocks.from_parquet(parquet[0], "y", weight="w", block_rows=50)
    read = []
    data.on_rows = read.append
    for blocks in (data, Blocks.from_csv(tmp_path / "rows.csv", "y", weight="w", block_rows=70)):
        machine = InfiniteEnsembleClassifier(loss="logistic").fit(blocks)
        assert_allclose(
            machine.decision_function(frame), expected.decision_function(frame), atol=1e-8
        )
    assert sum(read) == 2 * N
    assert repr(data) == "Blocks(300 rows)"


def test_rows_without_a_target_are_left_out(tmp_path):
    rows = pl.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "y": [1.0, None, float("nan"), 0.0]})
    rows.write_parquet(tmp_path / "rows.parquet")
    data = Blocks.from_parquet(tmp_path / "rows.parquet", "y")
    assert [block.y.tolist() for block in data] == [[1.0, 0.0]]


def test_files_and_columns_that_do_not_exist_are_named(tmp_path):
    pl.DataFrame({"x": [0.0], "price": [1.0]}).write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="no column 'prise': did you mean 'price'"):
        Blocks.from_parquet(tmp_path / "rows.parquet", "prise")
    with pytest.raises(ValueError, match="no columns besides the target"):
        Blocks.from_parquet(tmp_path / "rows.parquet", "x", columns=["x"])
    with pytest.raises(ValueError, match="weight = 'x': use another column than the target"):
        Blocks.from_parquet(tmp_path / "rows.parquet", "x", weight="x")
    with pytest.raises(FileNotFoundError, match="names no file"):
        Blocks.from_parquet(tmp_path / "*.pq", "x")
    with pytest.raises(ValueError, match="use at least one file"):
        files([], (".csv",))


def test_dates_vary_over_blocks_if_not_within_them():
    days = [datetime.date(2024, 1, 1), datetime.date(2024, 2, 5)]  # both Mondays
    frame = pd.DataFrame({"when": np.repeat(days, 50), "x": np.arange(100.0)})
    y = np.arange(100) % 2
    machine = InfiniteEnsembleClassifier(Stump(), loss="logistic").fit(
        in_blocks(frame, y, ends=[50])
    )
    assert machine.mixed_table_.parts == ((0, "month"),)


# -- machines on leaves

ON_LEAVES = {"kernel": "laplacian", "solver": "local", "loss": "squared", "random_state": 0}


def leaf_rows(monkeypatch, n_leaf_rows, n_region_leaves):
    """Make leaves and regions small."""
    backend = replace(BACKENDS["local"], leaf_rows=n_leaf_rows)
    monkeypatch.setitem(BACKENDS, "local", backend)
    monkeypatch.setattr(local, "REGION_LEAVES", n_region_leaves)


@pytest.mark.parametrize("scaling", ["range", "rank", None])
@pytest.mark.parametrize("family", [InfiniteEnsembleClassifier, InfiniteEnsembleRegressor])
def test_machines_on_leaves_of_a_single_region_are_those_of_rows_in_memory(
    family, scaling, monkeypatch
):
    leaf_rows(monkeypatch, 40, 64)
    X, y = make_threenorm(N, n_features=5, random_state=0)
    y = target(family, X, y)
    weight = np.random.default_rng(0).integers(0, 3, N).astype(float)
    params = {**ON_LEAVES, "scaling": scaling}
    whole = family(**params).fit(X, y, weight)
    machine = family(**params).fit(in_blocks(X, y, weight))
    assert pytest.approx(whole.C_, rel=1e-6) == machine.C_
    expected = values(whole, X)
    assert_allclose(values(machine, X), expected, atol=1e-5 * np.abs(expected).max())
    assert_allclose(machine.objective_, whole.objective_, rtol=1e-5)


def test_regions_are_machines_on_the_leaves_of_common_partitions(monkeypatch, tmp_path):
    leaf_rows(monkeypatch, 20, 16)
    X, y = make_threenorm(1_000, n_features=4, random_state=0)
    y = np.where(X[:, 0] > 1.5, 2, y)
    settings = {**ON_LEAVES, "random_state": 1}
    machine = InfiniteEnsembleClassifier(**settings).fit(in_blocks(X, y, ends=(0, 100, 650)))
    parts = machine.machines_.parts
    assert len(parts) == 3
    assert machine.machines_.coordinates.shape == (1_000, 4)
    for part in parts:
        assert part.partition.n_leaves > 1_000 / 20
        assert_array_equal(np.unique(part.partition.rows), np.arange(1_000))
        routes = part.partition.route(machine.machines_.coordinates)
        row = np.repeat(np.arange(1_000), np.diff(routes.ends))
        for leaf in range(part.partition.n_leaves):  # training rows reach the leaves they are in
            routed = set(row[(routes.leaves == leaf) & (routes.shares > 0.0)])
            assert routed <= set(part.partition.rows_of(leaf))
    X_test, y_test = make_threenorm(2_000, n_features=4, random_state=7)
    y_test = np.where(X_test[:, 0] > 1.5, 2, y_test)
    in_memory = InfiniteEnsembleClassifier(**settings).fit(X, y)
    assert machine.score(X_test, y_test) > in_memory.score(X_test, y_test) - 0.02
    again = load(save(machine, tmp_path / "machine.skops"))
    assert_array_equal(again.predict(X_test), machine.predict(X_test))


@pytest.mark.parametrize(
    ("params", "make", "message"),
    [
        ({"scaling": "learned"}, numbers, "rows in blocks need 'range'"),
        ({"scaling": "rank"}, numbers, "missing values, and X has missing values"),
        ({"scaling": "rank"}, table, "missing values, and X has categories"),
    ],
)
def test_machines_on_leaves_of_blocks_need_numbers(params, make, message):
    machine = InfiniteEnsembleClassifier(**{**ON_LEAVES, **params})
    with pytest.raises(ValueError, match=message):
        machine.fit(in_blocks(*make()))

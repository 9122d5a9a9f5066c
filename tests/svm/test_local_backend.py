"""Exact machines on the leaves of partitions of the rows."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris

from kernsemble._memory import Budget
from kernsemble._progress import Task
from kernsemble.datasets import make_threenorm
from kernsemble.exceptions import GramTooLargeError
from kernsemble.inspection import EnsembleView
from kernsemble.kernels import Exponential, Laplacian, Stump
from kernsemble.persistence import load, save
from kernsemble.solvers import partition
from kernsemble.solvers.cholesky import HOST
from kernsemble.solvers.losses import Squared
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
)
from kernsemble.svm.backends import BACKENDS
from kernsemble.svm.backends.base import Candidate, SolverSettings, TrainingRows
from kernsemble.svm.backends.local import LocalBackend, leaves
from kernsemble.svm.backends.local.machines import LocalMachines
from kernsemble.svm.problem import Problem

pytestmark = pytest.mark.large  # too slow without compilation

X, y = make_threenorm(300, random_state=0)
Z, z = make_threenorm(200, random_state=1)
target = 3.0 * np.sin(X[:, 0]) + X[:, 1] + 5.0
SETTINGS = SolverSettings(1e-8, None, Budget.from_megabytes(None), dtype=np.float64)
SMALL = LocalBackend(leaf_rows=60, n_partitions=2)
KINDS = [None, "range", "rank", "learned", "effects", "learned-effects"]


@pytest.fixture
def small(monkeypatch):
    """Leaves of few rows."""
    monkeypatch.setitem(BACKENDS, "local", SMALL)


def local(**settings):
    defaults = {"kernel": "laplacian", "solver": "local", "loss": "squared", "random_state": 0}
    return InfiniteEnsembleClassifier(**{**defaults, **settings})


def training_rows(rows=X, labels=y, weight=None):
    weight = np.ones(len(rows)) if weight is None else weight
    signs = np.where(np.asarray(labels) == labels[0], 1.0, -1.0)
    is_category = np.zeros(rows.shape[1], dtype=bool)
    problem = Problem.for_signs(Squared, signs, weight)
    return TrainingRows(rows, weight, is_category, signs[:, np.newaxis]), problem


@pytest.mark.parametrize("kernel", [Laplacian(), Exponential(0.3), Stump()], ids=str)
@pytest.mark.parametrize("scaling", ["range", "rank", "learned-range"])
def test_a_single_leaf_is_the_exact_machine(kernel, scaling):
    found, expected = (
        local(kernel=kernel, scaling=scaling, C=2.0, solver=solver).fit(X, y)
        for solver in ("local", "exact")
    )
    assert_allclose(found.decision_function(Z), expected.decision_function(Z), atol=1e-8)
    assert_allclose(found.objective_, expected.objective_, rtol=1e-8)
    assert found.C_ == expected.C_


@pytest.mark.parametrize("overlap", [0.0, 0.1])
def test_a_value_is_the_mean_of_the_exact_machines_of_its_leaves(monkeypatch, overlap):
    monkeypatch.setitem(BACKENDS, "local", replace(SMALL, overlap=overlap))
    settings = {"C": 2.0, "scaling": None, "kernel": Laplacian(0.05)}
    machine = local(**settings).fit(X, y)
    expected = np.zeros(len(Z))
    places = {row.tobytes(): place for place, row in reversed(list(enumerate(X)))}
    distinct = np.array([places[row.tobytes()] for row in machine.machines_.coordinates])
    for part in machine.partitions_:
        routes = part.route(Z)
        row = np.repeat(np.arange(len(Z)), np.diff(routes.ends))
        for leaf in range(part.n_leaves):
            mine = np.sort(distinct[part.rows_of(leaf)])
            alone = local(**settings, solver="exact").fit(X[mine], y[mine])
            entries = np.flatnonzero(routes.leaves == leaf)
            if len(entries):
                values = routes.shares[entries] * alone.decision_function(Z[row[entries]])
                expected[row[entries]] += values / 2.0
    assert len(machine.partitions_) == 2
    assert_allclose(machine.decision_function(Z), expected, atol=1e-9)


@pytest.mark.parametrize("scaling", KINDS)
def test_held_out_rows_are_predicted_by_a_refit_without_them(small, scaling):
    rows, problem = training_rows()
    held_out = [np.arange(0, 300, 7), np.arange(3)]
    workspace = SMALL.open(rows, SETTINGS)
    kernel = Laplacian(0.7)
    Cs, silent = [0.5, 4.0], Task.silent()
    prepared = workspace.prepare(Candidate(kernel, scaling))
    (folds,) = prepared.solve_all_folds([problem], Cs, held_out, SETTINGS, silent)
    for fold, left in zip(folds, held_out, strict=True):
        kept = np.delete(np.arange(300), left)
        several = prepared.scaled_among(kept)
        is_measured = scaling is not None and scaling.startswith("learned")
        assert len(several) == (SMALL.n_partitions if is_measured else 1)
        for c, C in enumerate(Cs):
            expected = []
            for again in several:
                found = leaves.fit_leaves(
                    again, kernel, [problem.among(kept)], [C], SETTINGS.budget, silent
                )
                machines = LocalMachines(kernel, again.scaling, again.coordinates, found.parts)
                expected.append(machines.values(X[left], SETTINGS.budget)[:, 0])
            assert_allclose(fold.decisions[c], np.mean(expected, axis=0), atol=1e-9)


def test_each_partition_has_a_learned_measure_of_its_own(small):
    machine = local(scaling="learned").fit(X, y)
    machines = machine.machines_
    first, second = machines.each
    assert not np.allclose(first.scaling.weights, second.scaling.weights)
    values = [each.values(Z, machine._budget) for each in (first, second)]
    assert_allclose(machines.values(Z, machine._budget), np.mean(values, axis=0))
    assert len(machine.partitions_) == len(machines.all_parts) == SMALL.n_partitions
    shares = EnsembleView.from_estimator(machine, X).learned_measure().shares
    own = [each.scaling.feature_shares(20) for each in (first, second)]
    assert_allclose(list(shares.values()), np.mean(own, axis=0))


@pytest.mark.parametrize("scaling", ["rank", "learned", "learned-range"])
def test_held_out_values_do_not_depend_on_the_held_out_targets(scaling):
    left, Cs = np.arange(0, 300, 5), [1.0]
    found = []
    for flip in (1.0, -1.0):
        rows, problem = training_rows()
        signs = problem.loss.y.copy()
        signs[left] *= flip
        rows = replace(rows, targets=signs[:, np.newaxis])
        mine = Problem.for_signs(Squared, signs, np.ones(300))
        prepared = SMALL.open(rows, SETTINGS).prepare(Candidate(Laplacian(1.0), scaling))
        (folds,) = prepared.solve_all_folds([mine], Cs, [left], SETTINGS, Task.silent())
        found.append(folds[0].decisions)
    assert_array_equal(*found)


def test_weights_are_repetitions(small):
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    repeated = np.repeat(np.arange(len(X)), weight.astype(int))
    for scaling in ("range", "rank"):
        settings = {"scaling": scaling, "C": 0.7, "kernel": Laplacian(0.4)}
        weighted = local(**settings).fit(X, y, sample_weight=weight)
        copied = local(**settings).fit(X[repeated], y[repeated])
        assert_allclose(weighted.decision_function(Z), copied.decision_function(Z), atol=1e-4)


def test_rows_of_weight_zero_are_as_if_absent(small):
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    far = np.where(weight[:, np.newaxis] > 0, X, 100.0)
    settings = {"C": 0.7, "scaling": None, "kernel": Laplacian(0.1)}
    weighted = local(**settings).fit(far, y, sample_weight=weight)
    alone = local(**settings).fit(X[weight > 0], y[weight > 0])
    assert_allclose(weighted.decision_function(Z), alone.decision_function(Z), atol=1e-6)


def test_equal_rows_are_one_row_with_the_mean_of_their_targets(small):
    """Nine in ten rows are equal: no median splits them, and no leaf is larger for it."""
    heavy = np.repeat(X[:1], 2_700, axis=0)
    rows, labels = np.vstack([heavy, X]), np.append(np.resize([0, 0, 1], 2_700), y == y[0])
    machine = local(C=1.0, kernel=Laplacian(0.3)).fit(rows, labels)
    assert all(np.diff(part.ends).max() <= 60 for part in machine.partitions_)
    assert machine.decision_function(X[:1])[0] == pytest.approx(-1 / 3, abs=0.02)
    exact = local(C=1.0, kernel=Laplacian(0.3), solver="exact", scaling=None)
    rows, labels = rows[2_600:2_740], labels[2_600:2_740]
    one = local(C=1.0, kernel=Laplacian(0.3), scaling=None).fit(rows, labels)
    assert len(one.partitions_) == 1
    expected = exact.fit(rows, labels).decision_function(Z)
    assert_allclose(one.decision_function(Z), expected, atol=1e-4)


def test_constant_rows_have_their_mean_target():
    machine = local().fit(np.ones((9, 2)), [0] * 6 + [1] * 3)
    assert_allclose(machine.decision_function([[1.0, 1.0], [2.0, 0.0]]), [-1 / 3, -1 / 3])


def test_a_leaf_without_one_of_two_classes_predicts_the_other(small):
    rows = np.linspace(0.0, 1.0, 300)[:, np.newaxis]
    labels = (rows[:, 0] > 0.9).astype(int)
    machine = local(C=10.0).fit(rows, labels)
    values = machine.decision_function([[0.1], [0.97]])
    assert values[0] == pytest.approx(-1.0, abs=1e-3)
    assert values[1] > 0.5


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-rest"])
def test_several_classes_some_of_which_are_missing_from_leaves(small, multiclass):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2, 3], 100)
    rows = rng.normal(size=(400, 2)) + 6.0 * np.column_stack([labels % 2, labels // 2])
    machine = local(multiclass=multiclass, C=5.0).fit(rows, labels)
    assert machine.score(rows, labels) > 0.97
    assert np.isfinite(machine.decision_function(rng.normal(0.0, 9.0, (500, 2)))).all()


def test_numbers_are_fitted_in_their_unit(small):
    settings = {"kernel": "laplacian", "solver": "local", "loss": "squared", "C": 20.0}
    machine = InfiniteEnsembleRegressor(**settings, random_state=0).fit(X, target)
    assert machine.score(Z, 3.0 * np.sin(Z[:, 0]) + Z[:, 1] + 5.0) > 0.5
    times = InfiniteEnsembleRegressor(**settings, random_state=0).fit(X, 1e3 * target - 7.0)
    assert_allclose(times.predict(Z), 1e3 * machine.predict(Z) - 7.0, rtol=1e-6)
    assert machine.machines_.coordinates.dtype == np.float64


def test_leaves_that_need_double_precision_get_it(small, monkeypatch):
    factor, dtypes = HOST.factor_in_place, set()

    def failing(A):
        dtypes.add(A.dtype.name)
        return 1 if A.dtype == np.float32 else factor(A)

    monkeypatch.setattr(HOST, "factor_in_place", failing)
    assert local(C=1.0).fit(X, y).score(Z, z) > 0.7
    assert dtypes == {"float32", "float64"}


def test_tables_with_categories_and_missing_values_use_effects(small):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": rng.choice(list("xyz"), 300)})
    table.loc[rng.choice(300, 30), "a"] = np.nan
    labels = np.where((table["c"] == "x") ^ (table["b"] > 0), "yes", "no")
    machine = local(scaling="learned-effects", C=5.0).fit(table, labels)
    assert machine.score(table, labels) > 0.6
    assert machine.machines_.scales_categories
    with pytest.raises(ValueError, match="missing"):
        local(scaling="rank").fit(np.where(X > 1.0, np.nan, X), y)
    with pytest.raises(ValueError, match="categories"):
        local(scaling="rank").fit(table[["c"]], labels)


def test_a_fitted_model_is_stored_and_predicts_the_same(small, tmp_path):
    machine = local(scaling="learned", multiclass="one-vs-rest").fit(*load_iris(return_X_y=True))
    rows = load_iris().data
    expected = machine.decision_function(rows)
    for again in (
        load(save(machine, tmp_path / "model.skops")),
        pickle.loads(pickle.dumps(machine)),
    ):
        assert_array_equal(again.decision_function(rows), expected)
        assert len(again.partitions_) == 2
        assert again.machines_ == machine.machines_


@pytest.mark.parametrize(("share", "n_kept"), [(0.7, 1), (0.3, 0)])
def test_an_interrupt_keeps_finished_partitions(small, monkeypatch, share, n_kept):
    fit, found = leaves._fit_leaf, []
    n_finished = share * sum(each.n_leaves for each in local().fit(X, y).partitions_)

    def interrupted(*arguments):
        if len(found) >= n_finished:
            raise KeyboardInterrupt
        found.append(fit(*arguments))
        return found[-1]

    monkeypatch.setattr(leaves, "_fit_leaf", interrupted)
    machine = local(n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert len(getattr(machine, "partitions_", ())) == n_kept
    if n_kept:
        assert machine.score(Z, z) > 0.7


@pytest.mark.parametrize("factor", [1e100, 1e-100])
def test_unscaled_columns_keep_their_digits(small, factor):
    plain, scaled = (
        local(scaling=None, kernel=Laplacian(0.05 / unit), C=1.0).fit(unit * X, y)
        for unit in (1.0, factor)
    )
    expected = plain.decision_function(Z)
    assert_allclose(scaled.decision_function(factor * Z), expected, atol=1e-9)
    near = local(scaling=None, C=1.0).fit(X + 1e7, y)
    assert near.score(Z + 1e7, z) > 0.7


def test_results_do_not_depend_on_the_number_of_threads(small):
    one, two = (local(n_jobs=n).fit(X, y).decision_function(Z) for n in (1, 2))
    assert_allclose(one, two, atol=1e-5)


def test_leaves_are_smaller_if_memory_is_scarce():
    machine = local(cache_size=0.5).fit(X, y)
    largest = max(int(np.diff(each.ends).max()) for each in machine.partitions_)
    assert largest <= np.sqrt(0.5 * 2**20 / 20.0)
    assert machine.score(Z, z) > 0.7


def test_leaves_that_cannot_be_split_and_exceed_the_memory_are_an_error(monkeypatch):
    monkeypatch.setattr(partition, "MAX_DRAWS", 0)
    with pytest.raises(GramTooLargeError, match=r"a leaf of 300 rows.* use scaling='rank'"):
        local(cache_size=0.5).fit(X, y)


def test_few_leaves_at_a_time_if_memory_is_scarce(small):
    assert local(cache_size=0.05).fit(X, y).score(Z, z) > 0.7


def test_sparse_rows_are_made_dense(small):
    dense, csr = (local(scaling="range").fit(rows, y) for rows in (X, sparse.csr_matrix(X)))
    assert np.mean(dense.predict(Z) == csr.predict(sparse.csr_matrix(Z))) > 0.9


def test_automatic_selection_never_takes_it_and_its_loss_is_squared():
    assert local(loss="auto").fit(X, y).loss_ == "squared"
    assert InfiniteEnsembleClassifier("laplacian", loss="squared").fit(X, y).solver_ == "exact"
    with pytest.raises(ValueError, match="use loss='squared'"):
        local(loss="hinge").fit(X, y)


def test_cross_validation_selects_c_and_kernel(small):
    kernels = [Laplacian(0.01), Laplacian(0.3)]
    search = InfiniteEnsembleClassifierCV(
        kernels, solver="local", loss="squared", scaling="rank", cv=3, random_state=0
    )
    assert search.fit(X, y).score(Z, z) > 0.75
    assert search.solver_ == "local"
    assert len(search.partitions_) == 2


def test_views_of_machines_on_leaves_are_averages_over_given_rows(small):
    machine = local().fit(X, y)
    with pytest.raises(ValueError, match="stores no training rows"):
        EnsembleView.from_estimator(machine).explain(Z[:2])
    view = EnsembleView.from_estimator(machine, X)
    found = view.explain(Z[:2], n_background=5, n_permutations=10)
    total = found.intercept + found.contributions.sum(axis=1)
    assert_allclose(total, machine.decision_function(Z[:2]), atol=1e-4)
    assert not found.is_exact
    assert view.exactness == "exact: none; averaged over rows: machines on leaves"
    assert "local" in machine._repr_html_()


@pytest.mark.parametrize("scaling", ["learned", "learned-directions", "effects"])
def test_views_leave_out_columns_without_weight(small, scaling):
    rows = np.column_stack([X[:, :3], np.zeros(len(X))])
    kernel = "exponential" if scaling == "learned-directions" else "laplacian"
    machine = local(kernel=kernel, scaling=scaling).fit(rows, y)
    view = EnsembleView.from_estimator(machine, rows)
    found = view.explain(rows[:2], n_background=5, n_permutations=10)
    assert_allclose(found.contributions[:, 3], 0.0, atol=1e-9)


def test_progress_counts_leaves(small, capsys):
    local(verbose=2).fit(X, y)
    assert "50 %" in capsys.readouterr().out

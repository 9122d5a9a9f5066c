"""The estimators on cells of random grids, against the exact solver on the kernel of the grids."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris

import kernsemble
from kernsemble._memory import Budget
from kernsemble.datasets import make_threenorm
from kernsemble.exceptions import GramTooLargeError
from kernsemble.kernels import Category, Constant, DecisionTree, Laplacian, Perceptron, Stump
from kernsemble.kernels.algebra import terms
from kernsemble.solvers import solve_dual
from kernsemble.solvers.additive import solve_additive
from kernsemble.solvers.losses import Hinge
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
)
from kernsemble.svm.backends import cheapest_backend
from kernsemble.svm.backends.base import Candidate, SolverSettings, TrainingRows, Workload
from kernsemble.svm.backends.matrix import MatrixBackend
from kernsemble.svm.backends.tables import TablesBackend
from kernsemble.svm.backends.tables.cells import CellTables

X, y = make_threenorm(70, n_features=4, random_state=0)
OTHERS = make_threenorm(40, n_features=4, random_state=1)[0]
SIGNS = np.where(y == y.max(), 1.0, -1.0)
TARGET = 100.0 + 20.0 * X[:, 0] * X[:, 1]
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS, SPECIES = IRIS[::2], SPECIES[::2]
BINNED = [Laplacian(), Laplacian(2.0), DecisionTree(0.05), 3.0 * Laplacian(0.5).on([0, 2])]


def on_cells(kernel=BINNED[0], *, kind=InfiniteEnsembleClassifier, **settings):
    settings = {"tol": 1e-8, "n_grids": 12, "random_state": 0, **settings}
    return kind(kernel, solver="additive", **settings)


def prepare(rows, kernel, scaling, n_grids, random_state):
    training = TrainingRows(rows, np.ones(len(rows)), np.zeros(rows.shape[1], dtype=bool))
    settings = SolverSettings(
        1e-8, 500, Budget.from_megabytes(None), n_grids=n_grids, random_state=random_state
    )
    return TablesBackend().open(training, settings).prepare(Candidate(kernel, scaling))


def grids_of(machine):
    return [each.grids for each in machine.tables_.blocks if isinstance(each, CellTables)]


def by_matrix(machine, rows, C, p=SIGNS, epsilon=None):
    """The exact solution on the kernel of the grids: its objective, and decisions of rows."""
    (grids,) = grids_of(machine)
    scaled, asked = machine.scaling_.transform(X), machine.scaling_.transform(rows)
    if epsilon is None:
        lower, upper = np.minimum(0.0, C * p), np.maximum(0.0, C * p)
        solution = solve_dual(grids.kernel(scaled), p, lower, upper, tol=1e-9)
    else:
        bound = np.full(len(p), C)
        solution = solve_dual(grids.kernel(scaled), p, -bound, bound, epsilon=epsilon, tol=1e-9)
    return solution.objective, grids.kernel(asked, scaled) @ solution.beta + solution.bias


@pytest.mark.parametrize("scaling", ["range", "rank", None])
@pytest.mark.parametrize("kernel", BINNED, ids=str)
def test_tables_of_cells_and_the_matrix_of_the_grids_give_the_same_machine(kernel, scaling):
    machine = on_cells(kernel, scaling=scaling).fit(X, y)
    objective, decisions = by_matrix(machine, OTHERS, machine.C_)
    assert_allclose(machine.objective_, objective, rtol=1e-6)
    assert_allclose(machine.decision_function(OTHERS), decisions, atol=1e-3)


@pytest.mark.parametrize("method", ["newton", "descent"])
def test_both_methods_find_the_machine(method):
    machine = on_cells(C=2.0).fit(X, y)
    prepared = prepare(X, machine.kernel, machine.scaling, machine.n_grids, machine.random_state)
    loss = Hinge.from_targets(SIGNS, np.full(len(X), 2.0))
    solution = solve_additive(prepared.tables, loss, tol=1e-8, method=method)
    assert_allclose(-solution.dual, machine.objective_[0], rtol=1e-6)


def test_numbers_are_fitted_as_by_the_matrix():
    machine = on_cells(kind=InfiniteEnsembleRegressor, C=30.0, epsilon=2.0).fit(X, TARGET)
    objective, values = by_matrix(machine, OTHERS, 30.0, TARGET, 2.0)
    assert_allclose(machine.objective_, objective, rtol=1e-6)
    assert_allclose(machine.predict(OTHERS), values, atol=1e-3 * TARGET.std())


def test_the_squared_loss_is_fitted():
    machine = on_cells(kind=InfiniteEnsembleRegressor, loss="squared").fit(X, TARGET)
    assert machine.score(X, TARGET) > 0.5


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_smooth_losses_are_fitted(loss):
    machine = on_cells(loss=loss).fit(X, y)
    assert machine.score(X, y) > 0.8


def test_a_row_in_no_known_cell_gets_the_bias():
    machine = on_cells(scaling=None).fit(X, y)
    assert_array_equal(machine.decision_function(X[:2] + 1e6), machine.intercept_[[0, 0]])


@pytest.mark.parametrize("multiclass", ["one-vs-one", "one-vs-rest"])
def test_several_classes_share_the_cells(multiclass):
    machine = on_cells(multiclass=multiclass, C=4.0).fit(IRIS, SPECIES)
    (cells,) = machine.tables_.blocks
    assert cells.heights.shape == (3, cells.grids.n_cells.sum())
    assert machine.score(IRIS, SPECIES) > 0.9


def test_weights_are_repetitions():
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = on_cells().fit(X, y, weight)
    repeated = on_cells().fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert pytest.approx(repeated.C_) == weighted.C_
    assert_allclose(
        weighted.decision_function(OTHERS), repeated.decision_function(OTHERS), atol=1e-3
    )


def test_grids_repeat_with_their_random_state():
    told = on_cells().fit(X, y).decision_function(OTHERS)
    assert_array_equal(clone(on_cells()).fit(X, y).decision_function(OTHERS), told)
    assert (on_cells(random_state=1).fit(X, y).decision_function(OTHERS) != told).any()


@pytest.mark.large
def test_many_grids_are_close_to_the_kernel():
    exact = InfiniteEnsembleClassifier("laplacian", solver="exact", tol=1e-6).fit(X, y)
    decisions, errors, told = exact.decision_function(OTHERS), [], []
    for n_grids in (64, 256, 4096):
        machine = on_cells(n_grids=n_grids).fit(X, y)
        errors.append(np.sqrt(np.mean((machine.decision_function(OTHERS) - decisions) ** 2)))
        told.append(machine.sampling_error_)
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.05
    assert_allclose(np.array(told) * np.sqrt([64, 256, 4096]) / told[0] / 8.0, 1.0, atol=0.5)


@pytest.mark.large
def test_more_cells_than_sixteen_bits_hold_have_wider_codes():
    rows = np.arange(70_000.0)[:, np.newaxis]
    prepared = prepare(rows, Laplacian(1e4), None, n_grids=2, random_state=0)
    assert prepared.tables.codes.dtype == np.uint32
    assert prepared.tables.codes.max() == 70_000


# -- sums


def test_the_terms_of_a_sum_are_found_under_multiples_and_columns():
    kernel = 2.0 * (Laplacian() + Stump()).on([0, 1]) + Constant()
    assert [str(each) for each in terms(kernel)] == [
        str(2.0 * Laplacian().on([0, 1])),
        str(2.0 * Stump().on([0, 1])),
        str(Constant()),
    ]


def test_slices_and_cells_are_fitted_together():
    kernel = 2.0 * (Laplacian() + Stump()).on([0, 1]) + DecisionTree(0.05) + Constant()
    machine = on_cells(kernel, scaling=None, C=0.5).fit(X, y)
    sliced = (2.0 * Stump().on([0, 1])).bind(X)
    K = sum(grids.kernel(X) for grids in grids_of(machine)) + sliced(X)
    upper = 0.5 * (SIGNS > 0.0)
    solution = solve_dual(K, SIGNS, upper - 0.5, upper, tol=1e-9)
    assert_allclose(machine.objective_, solution.objective, rtol=1e-6)
    decisions = SIGNS - solution.residual + solution.bias
    assert_allclose(machine.decision_function(X), decisions, atol=1e-3)


def test_a_mixed_table_has_cells_of_its_numbers_and_categories():
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 0.0, "up", "down")})
    machine = on_cells().fit(table, y)
    assert str(machine.kernel_) == str(
        (Laplacian().on([0, 1]) + Category().on([2])).bind(np.zeros((2, 3)))
    )
    assert machine.score(table, y) > 0.7
    unseen = table.assign(c="neither")
    assert np.isfinite(machine.decision_function(unseen)).all()


# -- settings


def test_auto_samples_grids_only_for_many_rows():
    def taken(kernel, **limits):
        rows = TrainingRows(X, np.ones(len(X)), np.zeros(X.shape[1], dtype=bool))
        workload = Workload(rows, [kernel], Hinge)
        return cheapest_backend(workload, [MatrixBackend(), TablesBackend(**limits)]).name

    kernels = [Laplacian(), DecisionTree(0.05), Laplacian() + Stump(), Laplacian() + Perceptron()]
    few = {"rows_worth_tables": 50, "rows_worth_sampling": 50}
    assert [taken(kernel, rows_worth_tables=50) for kernel in kernels] == ["exact"] * 4
    assert [taken(kernel, **few) for kernel in kernels] == ["additive"] * 4
    assert taken(Laplacian() * Stump(), **few) == "exact"


def test_the_number_of_grids_is_checked():
    with pytest.raises(ValueError, match="n_grids = 0"):
        InfiniteEnsembleClassifier(n_grids=0).fit(X, y)


def test_cells_are_taken_within_the_budget():
    with pytest.raises(GramTooLargeError, match=r"70 rows in n_grids = 12 grids.*cache_size"):
        on_cells(cache_size=0.001).fit(X, y)


def test_missing_values_are_refused():
    rows = np.where(X > 2.0, np.nan, X)
    with pytest.raises(ValueError, match="NaN"):
        on_cells().fit(rows, y)


def test_numbers_of_single_precision_are_fitted():
    machine = on_cells().fit(X.astype(np.float32), y)
    assert machine.score(X.astype(np.float32), y) > 0.8


@pytest.mark.parametrize("kernel", [Laplacian(), Laplacian() + Stump()], ids=str)
def test_machines_survive_pickle_and_files(kernel, tmp_path):
    machine = on_cells(kernel).fit(X, y)
    told = machine.decision_function(OTHERS)
    for again in (
        pickle.loads(pickle.dumps(machine)),
        kernsemble.load(kernsemble.save(machine, tmp_path / "machine.skops")),
    ):
        assert_array_equal(again.decision_function(OTHERS), told)
        assert again.tables_ == machine.tables_


# -- selection


def test_every_width_has_grids_of_its_own():
    kernels = [Laplacian(0.05), Laplacian(0.5)]
    settings = {"Cs": (0.1, 1.0), "cv": 3, "kind": InfiniteEnsembleClassifierCV}
    machine = on_cells(kernels, **settings).fit(X, y)
    assert machine.solver_ == "additive"
    chosen = machine.best_params_["kernel"]
    (grids,) = grids_of(machine)
    assert grids.embedding.rate == chosen.gamma
    alone = on_cells(chosen, C=machine.C_, loss=machine.loss_).fit(X, y)
    assert_allclose(alone.decision_function(OTHERS), machine.decision_function(OTHERS), atol=1e-3)


def test_regressors_are_selected():
    settings = {"Cs": (0.1, 1.0), "epsilons": (0.1,), "cv": 3}
    machine = on_cells(kind=InfiniteEnsembleRegressorCV, **settings).fit(X, TARGET)
    assert machine.score(X, TARGET) > 0.3

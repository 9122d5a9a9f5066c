"""The interface of backends and losses: a new one is registered, and nothing else changes."""

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from kernsemble._memory import Budget
from kernsemble.datasets import make_threenorm
from kernsemble.kernels import Laplacian, Perceptron, Stump
from kernsemble.solvers.losses import LOSSES, Smooth
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
)
from kernsemble.svm.backends import BACKENDS, matrix as matrix_backend
from kernsemble.svm.backends.base import Candidate, SolverSettings, TrainingRows, Workload
from kernsemble.svm.backends.matrix import MatrixBackend
from kernsemble.svm.backends.tables import TablesBackend

X, y = make_threenorm(80, random_state=0)
ON_HOST = {"cuda": {"device_name": "host"}}


class OtherBackend(MatrixBackend):
    name = "other"


@pytest.mark.large
def test_a_backend_needs_one_registration(monkeypatch):
    monkeypatch.setitem(BACKENDS, "other", OtherBackend())
    for estimator in (InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV):
        other = estimator(solver="other", loss="hinge").fit(X, y)
        exact = estimator(solver="exact", loss="hinge").fit(X, y)
        assert other.solver_ == "other"
        assert_allclose(other.decision_function(X), exact.decision_function(X))
    with pytest.raises(ValueError, match="'other' does not support loss = 'logistic'"):
        InfiniteEnsembleClassifier(solver="other", loss="logistic").fit(X, y)


def test_a_loss_needs_one_class():
    class HalfSquared(Smooth):
        """Half the squared loss, so that C counts half."""

        name = "half_squared"
        task = "regression"
        degree = 2

        def evaluate(self, f, beta, curvature):
            beta[:], curvature[:] = 0.5 * self.C * (self.y - f), 0.5 * self.C
            return float(0.25 * self.C @ (self.y - f) ** 2)

        def conjugate(self, beta):
            return float(beta @ (beta / self.C) - self.y @ beta)

    try:
        half = InfiniteEnsembleRegressor(loss="half_squared", C=2.0, tol=1e-8).fit(X, X[:, 0])
        plain = InfiniteEnsembleRegressor(loss="squared", C=1.0, tol=1e-8).fit(X, X[:, 0])
        assert half.solver_ == "additive"
        assert_allclose(half.predict(X), plain.predict(X), atol=1e-5)
    finally:
        LOSSES.pop("half_squared")


@pytest.mark.parametrize(
    "backend", [replace(each, **ON_HOST.get(name, {})) for name, each in BACKENDS.items()], ids=str
)
def test_mapped_rows_are_those_prepared_one_by_one(backend):
    rows = TrainingRows(X, np.arange(len(X)) % 3 * 1.0, np.zeros(X.shape[1], dtype=bool))
    settings = SolverSettings(1e-3, None, Budget.from_megabytes(None), n_slices=8, n_grids=8)
    kernels = [Laplacian(0.1), Stump(), Laplacian(0.5), Perceptron()]
    candidates = [Candidate(kernel, kind) for kernel in kernels for kind in ("range", "rank")]
    workspace = backend.open(rows, settings)
    mapped = workspace.map(candidates, lambda place, each: (place, each.inverse_mean_distance()))
    assert [place for place, _ in mapped] == list(range(8))
    alone = [workspace.prepare(each).inverse_mean_distance() for each in candidates]
    assert_allclose([unit for _, unit in mapped], alone, rtol=1e-9)


def test_kernels_race_on_a_registered_backend_that_supports_them_all(monkeypatch):
    monkeypatch.setitem(BACKENDS, "other", OtherBackend())
    machine = InfiniteEnsembleClassifierCV("auto", solver="other", cv=3, random_state=0).fit(X, y)
    assert machine.solver_ == "other"
    assert machine.race_results_


def test_a_model_outlives_its_backend(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(BACKENDS, "other", OtherBackend())
        machine = InfiniteEnsembleClassifier(solver="other").fit(X, y)
        expected = machine.decision_function(X)
    assert_allclose(machine.decision_function(X), expected)


def test_the_cost_of_a_backend_does_not_grow_with_the_cube_of_the_columns():
    """One direction among 20,000 columns is drawn without a square matrix."""
    rows = TrainingRows(np.zeros((2, 20_000)), np.ones(2), np.zeros(20_000, dtype=bool))
    tracemalloc.start()
    TablesBackend(rows_worth_tables=0).cost(Workload(rows, [Perceptron()], LOSSES["hinge"]))
    assert tracemalloc.get_traced_memory()[1] < 20 * 20_000 * 8
    tracemalloc.stop()


@pytest.mark.parametrize("solver", ["exact", "additive"])
def test_a_fitted_model_is_stored_once_however_often_it_travels(solver):
    machine = InfiniteEnsembleClassifier(solver=solver).fit(X, y)
    once = pickle.dumps(machine)
    twice = pickle.dumps(pickle.loads(once))
    assert len(twice) < 1.05 * len(once)
    again = pickle.loads(twice)
    assert_allclose(again.decision_function(X), machine.decision_function(X))
    for name in machine.machines_.attributes():
        assert hasattr(again, name)


def test_equal_machines_on_sparse_rows_are_equal():
    machines = [
        InfiniteEnsembleClassifier().fit(sparse.csr_array(X * (X > 0.0)), y).machines_
        for _ in range(2)
    ]
    assert machines[0] == machines[1]
    assert hash(machines[0]) == hash(machines[1])


@pytest.mark.parametrize("fails", ["C", "matrix"])
def test_a_fit_that_fails_before_it_solves_keeps_the_last_model(fails, monkeypatch):
    machine = InfiniteEnsembleClassifier(solver="exact").fit(X, y)
    expected = machine.decision_function(X)
    if fails == "C":
        with pytest.raises(ValueError, match="C = -1"):
            machine.set_params(C=-1.0).fit(X, y)
    else:
        monkeypatch.setattr(matrix_backend, "matrix_within", lambda *_: interrupt())
        with pytest.raises(KeyboardInterrupt):
            machine.fit(X[:40], y[:40])
    assert_allclose(machine.decision_function(X), expected)


def interrupt():
    raise KeyboardInterrupt


def test_exact_fits_leave_the_random_state_alone():
    state = np.random.RandomState(0)
    InfiniteEnsembleClassifier(solver="exact", random_state=state).fit(X, y)
    assert state.randint(2**31) == np.random.RandomState(0).randint(2**31)


def test_errors_of_a_scorer_are_its_own():
    def broken(machine, rows, truth):
        return None.score

    with pytest.raises(AttributeError, match="score"):
        InfiniteEnsembleClassifierCV("stump", scoring=broken, cv=3).fit(X, y)


def test_probabilities_of_an_automatic_loss_depend_on_the_solver():
    for solver, is_smooth in (("additive", True), ("exact", False)):
        machine = InfiniteEnsembleClassifier(solver=solver, loss="auto")
        assert hasattr(machine, "predict_proba") == is_smooth
        assert hasattr(machine.fit(X, y), "predict_proba") == is_smooth


def test_two_losses_of_one_name_are_refused():
    with pytest.raises(ValueError, match="'hinge': there is a loss"):
        type("Again", (Smooth,), {"name": "hinge"})

"""The backend of a device has the solutions of the exact one, whatever method finds them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from kernsemble.datasets import make_threenorm
from kernsemble.devices import DeviceNotFoundError, NotOnDeviceError
from kernsemble.devices.host import HostDevice, HostKernel
from kernsemble.kernels import Exponential, Laplacian, Perceptron, Stump
from kernsemble.persistence import load, save
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
)
from kernsemble.svm.backends import BACKENDS
from kernsemble.svm.backends.device import CudaBackend, machines
from kernsemble.svm.backends.device.machines import DeviceMachines, find_device
from kernsemble.svm.backends.device.prepared import DeviceTuning
from kernsemble.svm.vote import machines as vote_machines

pytestmark = pytest.mark.large  # too slow without compilation

X, y = make_threenorm(150, random_state=0)
Z, _ = make_threenorm(60, random_state=1)
target = 3.0 * np.sin(X[:, 0]) + X[:, 1] + 5.0
codes = np.digitize(target, [4.0, 6.0])
FACTORS = DeviceTuning()
IN_MEMORY = DeviceTuning(factor_work=0.0, columns=5)
BY_PRODUCTS = DeviceTuning(factor_work=0.0, share_of_matrix=0.0)
TUNINGS = {"factors": FACTORS, "in memory": IN_MEMORY, "by products": BY_PRODUCTS}
DEVICES = [
    "host",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(find_device("cuda") is None, reason="there is no GPU")
    ),
]


@pytest.fixture(params=DEVICES)
def backend(request, monkeypatch):
    """Return a function that registers the backend with a tuning."""

    def register(tuning=FACTORS, **settings):
        found = CudaBackend(request.param, tuning=tuning, **settings)
        monkeypatch.setitem(BACKENDS, "cuda", found)
        return found

    register()
    return register


def fits(estimator, kernel, *data, **settings):
    """Return the machines of the exact backend and of the device."""
    settings = {"tol": 1e-7, "random_state": 0, **settings}
    return [estimator(kernel, solver=s, **settings).fit(*data) for s in ("exact", "cuda")]


@pytest.mark.parametrize("tuning", TUNINGS.values(), ids=TUNINGS)
@pytest.mark.parametrize(
    "kernel", [Laplacian(), Stump() + Exponential(0.5), Perceptron()], ids=repr
)
@pytest.mark.parametrize("labels", [y, codes], ids=["2 classes", "3 classes"])
def test_least_squares_machines_are_those_of_the_exact_backend(backend, tuning, kernel, labels):
    backend(tuning)
    weight = np.arange(len(X)) % 3 * 1.0
    for multiclass in ("one-vs-one", "one-vs-rest"):
        exact, found = fits(
            InfiniteEnsembleClassifier, kernel, X, labels, weight, loss="squared",
            multiclass=multiclass,
        )  # fmt: skip
        assert (found.solver_, found.loss_) == ("cuda", "squared")
        assert pytest.approx(exact.C_) == found.C_
        assert_allclose(found.decision_function(Z), exact.decision_function(Z), atol=1e-5)
        assert_allclose(found.objective_, exact.objective_, rtol=1e-7)
        assert_allclose(found.dual_coef_, exact.dual_coef_, atol=1e-5)
        assert (found.duality_gap_ <= 1e-6 * np.abs(found.objective_)).all()
        if tuning is not FACTORS:
            assert (found.relative_residual_ <= 1e-7).all()


@pytest.mark.parametrize("kernel", ["stump", Laplacian()], ids=repr)
def test_support_vector_machines_are_those_of_the_exact_backend(backend, kernel):
    for settings in ({"loss": "hinge"}, {"loss": "hinge", "C": np.inf, "scaling": "rank"}):
        exact, found = fits(InfiniteEnsembleClassifier, kernel, X, y, **settings)
        assert_allclose(found.decision_function(Z), exact.decision_function(Z), atol=1e-5)
        assert_allclose(found.objective_, exact.objective_, rtol=1e-9)
        assert (found.duality_gap_ <= 1e-5 * np.abs(found.objective_)).all()
    exact, found = fits(InfiniteEnsembleClassifier, kernel, X, codes, loss="hinge")
    assert_array_equal(found.predict(Z), exact.predict(Z))
    exact, found = fits(InfiniteEnsembleRegressor, kernel, X, target)
    assert found.loss_ == "epsilon_insensitive"
    assert_allclose(found.predict(Z), exact.predict(Z), atol=1e-5)


@pytest.mark.parametrize("tuning", TUNINGS.values(), ids=TUNINGS)
@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_left_out_values_are_those_of_explicit_refits(backend, tuning, loss):
    backend(tuning)
    folds, settings = KFold(3), {"scaling": None, "loss": loss, "multiclass": "one-vs-rest"}
    for labels in (y, codes):
        machine = InfiniteEnsembleClassifierCV(
            Laplacian(0.1), Cs=[0.3, 3.0], cv=folds, solver="cuda", tol=1e-8, calibration=None,
            **settings,
        ).fit(X, labels)  # fmt: skip
        values = machine.out_of_fold_.values
        for train, test in folds.split(X):
            refit = InfiniteEnsembleClassifier(
                Laplacian(0.1), C=machine.C_, solver="exact", tol=1e-8, **settings
            ).fit(X[train], labels[train])
            expected = refit.decision_function(X[test])
            assert_allclose(values[test].reshape(expected.shape), expected, atol=1e-5)


@pytest.mark.parametrize("tuning", TUNINGS.values(), ids=TUNINGS)
@pytest.mark.parametrize("scaling", ["learned", "effects"])
def test_learned_scales_are_those_of_the_exact_backend(backend, tuning, scaling):
    backend(tuning)
    settings = {"scaling": scaling, "loss": "squared"}
    for estimator, extra in (
        (InfiniteEnsembleRegressor, {}),
        (InfiniteEnsembleRegressorCV, {"Cs": [0.1, 1.0], "cv": 3}),
    ):
        exact, found = fits(estimator, Laplacian(), X, target, **settings, **extra)
        assert_allclose(found.predict(Z), exact.predict(Z), atol=1e-4)
        assert pytest.approx(exact.C_) == found.C_


@pytest.mark.parametrize("tuning", TUNINGS.values(), ids=TUNINGS)
@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_single_precision_is_that_of_the_rows(backend, tuning, loss):
    backend(tuning)
    settings = {"solver": "cuda", "loss": loss, "tol": 1e-4}
    double, single = (
        InfiniteEnsembleClassifier(Laplacian(), **settings).fit(X.astype(dtype), y)
        for dtype in (np.float64, np.float32)
    )
    assert single.machines_.precision == "float32"
    assert double.machines_.precision == "float64"
    assert_allclose(single.decision_function(Z), double.decision_function(Z), atol=2e-3)


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_a_machine_is_saved_and_used_without_the_device(backend, loss, tmp_path, monkeypatch):
    backend(IN_MEMORY)
    pytest.importorskip("skops", reason="models are saved with skops")
    machine = InfiniteEnsembleClassifier(Laplacian(), solver="cuda", loss=loss).fit(X, y)
    expected = machine.decision_function(Z)
    monkeypatch.setattr(machines, "find_device", lambda name: None)
    for again in (
        machine,
        pickle.loads(pickle.dumps(machine)),
        load(save(machine, tmp_path / "machine.skops")),
    ):
        assert isinstance(again.machines_, DeviceMachines)
        assert_allclose(again.decision_function(Z), expected, atol=1e-9)
        for name in machine.machines_.attributes():
            assert_allclose(getattr(again, name), getattr(machine, name))


def test_a_fit_continues_from_the_last_one(backend):
    machine = InfiniteEnsembleClassifier(solver="cuda", warm_start=True, loss="hinge").fit(X, y)
    assert machine.n_iter_ > 10
    assert machine.fit(X, y).n_iter_ == 1


def test_an_interrupt_keeps_what_was_reached(backend, monkeypatch):
    backend(BY_PRODUCTS)
    product, called = HostKernel.product, []

    def interrupted(*arguments):
        called.append(1)
        if len(called) == 5:
            raise KeyboardInterrupt
        return product(*arguments)

    machine = InfiniteEnsembleClassifier(Laplacian(), loss="squared", solver="cuda", tol=1e-9)
    if BACKENDS["cuda"].device_name != "host":
        pytest.skip("products are interrupted on the host only")
    monkeypatch.setattr(HostKernel, "product", interrupted)
    with pytest.raises(KeyboardInterrupt, match="interrupted: fit again"):
        machine.fit(X, y)
    assert 1e-9 < machine.relative_residual_[0] < 1.0
    assert machine.score(X, y) > 0.6
    called.clear()
    with pytest.raises(KeyboardInterrupt):
        InfiniteEnsembleClassifierCV(
            Laplacian(), Cs=[1.0, 2.0], loss="squared", solver="cuda", cv=3
        ).fit(X, y)


def test_runs_that_end_early_are_reported(backend):
    backend(BY_PRODUCTS)
    settings = {"loss": "squared", "solver": "cuda", "C": 100.0}
    with pytest.warns(ConvergenceWarning, match="max_iter = 2 was reached at relative residual"):
        InfiniteEnsembleClassifier(Laplacian(), max_iter=2, **settings).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="precision of the rows allows no less"):
        InfiniteEnsembleClassifier(Laplacian(), tol=1e-9, **settings).fit(np.float32(X), y)


def test_a_small_memory_is_enough(backend):
    exact, found = (
        InfiniteEnsembleClassifier(
            Laplacian(), solver=solver, loss="squared", tol=1e-7, cache_size=cache_size
        ).fit(X, y)
        for solver, cache_size in (("exact", None), ("cuda", 0.3))
    )
    assert found.relative_residual_[0] <= 1e-7  # not by a factor
    assert_allclose(found.decision_function(Z), exact.decision_function(Z), atol=1e-5)


def test_auto_takes_a_device_that_is_there_for_many_rows(backend, monkeypatch):
    settings = {"kernel": Laplacian(), "loss": "squared"}
    backend(rows_worth=200)
    assert InfiniteEnsembleClassifier(**settings).fit(X, y).solver_ == "exact"
    backend(rows_worth=100)
    assert InfiniteEnsembleClassifier(**settings).fit(X, y).solver_ == "cuda"
    assert InfiniteEnsembleClassifier(**settings).fit(sparse.csr_array(X), y).solver_ == "exact"

    def refuse(device, kernel, dtype="float32"):
        raise NotOnDeviceError.of(kernel)

    monkeypatch.setattr(type(machines.find_device(BACKENDS["cuda"].device_name)), "kernel", refuse)
    assert InfiniteEnsembleClassifier(**settings).fit(X, y).solver_ == "exact"
    with pytest.raises(NotOnDeviceError, match="has no device code"):
        InfiniteEnsembleClassifier(solver="cuda", **settings).fit(X, y)


def test_errors_name_what_is_not_supported(backend):
    with pytest.raises(ValueError, match="X is sparse, which solver = 'cuda' does not support"):
        InfiniteEnsembleClassifier(Laplacian(), solver="cuda").fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="solver = 'cuda' does not support loss = 'logistic'"):
        InfiniteEnsembleClassifier(Laplacian(), solver="cuda", loss="logistic").fit(X, y)


@pytest.mark.skipif(find_device("cuda") is not None, reason="there is a GPU")
def test_without_a_device_auto_is_as_before_and_cuda_is_one_clear_error(monkeypatch):
    monkeypatch.setitem(BACKENDS, "cuda", CudaBackend(rows_worth=10))
    assert InfiniteEnsembleClassifier(Laplacian()).fit(X, y).solver_ == "exact"
    with pytest.raises(DeviceNotFoundError) as error:
        InfiniteEnsembleClassifier(Laplacian(), solver="cuda").fit(X, y)
    assert "solver='exact'" in str(error.value)
    assert "\n" not in str(error.value)


def test_the_memory_of_the_device_is_asked_for(monkeypatch):
    monkeypatch.setattr(HostDevice, "free_memory", lambda device: 3 * 150**2 * 8)
    monkeypatch.setitem(BACKENDS, "cuda", CudaBackend("host"))
    settings = {"loss": "squared", "solver": "cuda"}
    plenty = InfiniteEnsembleClassifier(Laplacian(), **settings).fit(X, y)
    assert not hasattr(plenty, "relative_residual_")
    monkeypatch.setattr(HostDevice, "free_memory", lambda device: 2 * 150**2 * 8)
    little = InfiniteEnsembleClassifier(Laplacian(), **settings).fit(X, y)
    assert little.relative_residual_[0] <= 1e-3


@pytest.mark.parametrize("tuning", [FACTORS, BY_PRODUCTS], ids=["factors", "by products"])
def test_a_vote_on_the_device_is_that_of_the_exact_backend(backend, tuning, tmp_path, monkeypatch):
    backend(tuning)
    pytest.importorskip("skops", reason="models are saved with skops")
    monkeypatch.setattr(InfiniteEnsembleRegressorCV, "_min_device_rows", 100)
    settings = {"scaling": ["rank", "learned"], "cv": 3, "random_state": 0, "tol": 1e-8}
    exact, found = (
        InfiniteEnsembleRegressorCV("auto", solver=solver, **settings).fit(X, target)
        for solver in ("exact", "cuda")
    )
    assert (exact.solver_, found.solver_) == ("exact", "cuda")
    assert [each.name for each in found.members_] == [each.name for each in exact.members_]
    assert_allclose(found.predict(Z), exact.predict(Z), atol=1e-4)
    values = found.predict(Z)
    kernels = [each for each in found.members_ if each.shares_rows]
    assert kernels
    assert all(isinstance(each.machines, DeviceMachines) for each in kernels)
    again = load(save(found, tmp_path / "vote.skops"))
    monkeypatch.setattr(vote_machines, "find_device", lambda name: None)
    assert_allclose(again.predict(Z), values, atol=1e-8)


def test_a_vote_takes_a_device_that_is_there_for_many_rows(backend, monkeypatch):
    monkeypatch.setattr(InfiniteEnsembleRegressorCV, "_min_device_rows", 100)
    settings = {"scaling": "rank", "cv": 2, "random_state": 0}
    for rows_worth, solver in ((100, "cuda"), (200, "exact")):
        backend(rows_worth=rows_worth)
        vote = InfiniteEnsembleRegressorCV("auto", **settings).fit(X, target)
        assert vote.solver_ == solver

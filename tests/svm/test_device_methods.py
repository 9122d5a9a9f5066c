"""Every method of the backend of a device, on a few rows, so that interpreted code is quick."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.kernels import Gaussian, Laplacian
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
)
from kernsemble.svm.backends import BACKENDS
from kernsemble.svm.backends.device import CudaBackend, machines
from kernsemble.svm.backends.device.prepared import DeviceTuning

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(36, 2)), RNG.normal(size=(9, 2))
y = np.where(X.sum(axis=1) + 0.3 * RNG.normal(size=36) > 0.0, 1, -1)
TUNINGS = [
    DeviceTuning(),
    DeviceTuning(factor_work=0.0, columns=3),
    DeviceTuning(factor_work=0.0, share_of_matrix=0.0),
]


@pytest.fixture(params=TUNINGS, ids=["factors", "in memory", "by products"])
def tuning(request, monkeypatch):
    monkeypatch.setitem(BACKENDS, "cuda", CudaBackend("host", tuning=request.param))
    return request.param


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_machines_and_folds_are_those_of_the_exact_backend(tuning, loss, monkeypatch):
    settings = {"loss": loss, "tol": 1e-8}
    exact, found = (
        InfiniteEnsembleClassifier(Laplacian(1.0), solver=solver, C=1.0, **settings).fit(X, y)
        for solver in ("exact", "cuda")
    )
    assert_allclose(found.decision_function(Z), exact.decision_function(Z), atol=1e-6)
    again = pickle.loads(pickle.dumps(found))
    monkeypatch.setattr(machines, "find_device", lambda name: None)
    assert_allclose(again.decision_function(Z), exact.decision_function(Z), atol=1e-6)
    folds = [
        InfiniteEnsembleClassifierCV(
            Gaussian(1.0), solver=solver, Cs=[0.5, 2.0], cv=2, calibration=None, **settings
        ).fit(X, y)
        for solver in ("exact", "cuda")
    ]
    ours, theirs = (each.out_of_fold_.values for each in folds)
    assert_allclose(ours, theirs, atol=1e-6)


def test_weights_and_learned_scales_are_those_of_the_exact_backend(tuning):
    target, weight = X[:, 0] ** 2, np.arange(36) % 3 * 1.0
    settings = {"loss": "squared", "tol": 1e-9, "C": 1.0}
    for scaling, given in (("learned", None), ("range", weight)):
        exact, found = (
            InfiniteEnsembleRegressor(
                Gaussian(1.0), solver=solver, scaling=scaling, **settings
            ).fit(X, target, given)
            for solver in ("exact", "cuda")
        )
        assert_allclose(found.predict(Z), exact.predict(Z), atol=1e-6)

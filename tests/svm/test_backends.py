"""The interface of backends and losses: a new one is registered, and nothing else changes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernsemble.datasets import make_threenorm
from kernsemble.kernels import Laplacian, Perceptron, Stump
from kernsemble.solvers.losses import LOSSES, Smooth
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
)
from kernsemble.svm.backends import BACKENDS
from kernsemble.svm.backends.base import Candidate, SolverSettings, TrainingRows
from kernsemble.svm.backends.matrix import MatrixBackend
from kernsemble.svm.backends.memory import Budget

X, y = make_threenorm(80, random_state=0)


class OtherBackend(MatrixBackend):
    name = "other"


def test_a_backend_needs_one_registration(monkeypatch):
    monkeypatch.setitem(BACKENDS, "other", OtherBackend())
    for estimator in (InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV):
        other = estimator(solver="other").fit(X, y)
        exact = estimator(solver="exact").fit(X, y)
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


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=list(BACKENDS))
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

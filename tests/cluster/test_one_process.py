"""Fits on a Dask cluster of threads in this process, on few rows, are those of one machine."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.dask import (
    DaskInfiniteEnsembleClassifier,
    DaskInfiniteEnsembleClassifierCV,
    DaskInfiniteEnsembleRegressor,
)
from kernsemble.streaming import Blocks
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
)

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

SETTINGS = {"max_levels": 8, "tol": 1e-9}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def rows():
    X = np.random.default_rng(0).normal(size=(90, 3)).round(1)
    X[::9, 1] = np.nan
    return X, X[:, 0] > X[:, 2]


def collections(chunks=(40, 0, 20, 30)):
    X, y = rows()
    return da.from_array(X, chunks=(chunks, 3)), da.from_array(y, chunks=(chunks,))


def test_a_classifier_is_that_of_the_rows_in_memory(client):
    X, y = rows()
    dX, dy = collections()
    machine = DaskInfiniteEnsembleClassifier(loss="logistic", client=client, **SETTINGS)
    machine.fit(dX, dy)
    whole = InfiniteEnsembleClassifier(solver="additive", loss="logistic", **SETTINGS).fit(X, y)
    assert_allclose(machine.decision_function(X), whole.decision_function(X), atol=1e-8)
    assert_array_equal(machine.predict_proba(dX).compute(), machine.to_local().predict_proba(X))
    assert machine.score(dX, dy) == whole.score(X, y)
    assert machine.traffic_.n_rounds > 0


def test_a_regressor_takes_frames_with_categories(client):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, _ = rows()
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["town"] = np.where(X[:, 0] > 0.0, "Cork", "Bern")
    target = frame["c"] + (frame["town"] == "Bern")
    data = dd.from_pandas(frame, npartitions=3)
    machine = DaskInfiniteEnsembleRegressor(loss="squared", client=client, **SETTINGS)
    machine.fit(data, dd.from_pandas(target, npartitions=3))
    whole = InfiniteEnsembleRegressor(solver="additive", loss="squared", **SETTINGS)
    assert_allclose(machine.predict(data).compute(), whole.fit(frame, target).predict(frame))


def test_a_selection_is_that_of_blocks(client):
    X, y = rows()
    settings = {"Cs": [0.1, 1.0], "cv": 2, "scaling": "range", **SETTINGS}
    machine = DaskInfiniteEnsembleClassifierCV("stump", client=client, **settings)
    machine.fit(*collections())
    ends = [40, 40, 60]
    parts = zip(np.split(X, ends), np.split(y, ends), strict=True)
    expected = InfiniteEnsembleClassifierCV("stump", **settings).fit(Blocks(list(parts)))
    assert machine.best_params_ == expected.best_params_
    assert_allclose(machine.predict_proba(X), expected.predict_proba(X), atol=1e-8)


def test_machines_on_leaves_are_those_of_blocks(client):
    X, y = np.nan_to_num(rows()[0]), rows()[1]
    settings = {"solver": "local", "loss": "squared", "random_state": 0}
    chunks = (45, 45)
    machine = DaskInfiniteEnsembleClassifier("laplacian", client=client, **settings)
    machine.fit(da.from_array(X, chunks=(chunks, 3)), da.from_array(y, chunks=(chunks,)))
    blocks = Blocks(list(zip(np.split(X, 2), np.split(y, 2), strict=True)))
    expected = InfiniteEnsembleClassifier("laplacian", **settings).fit(blocks)
    assert_allclose(machine.decision_function(X), expected.decision_function(X), atol=1e-8)

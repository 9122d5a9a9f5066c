"""Fits on a Dask cluster of two processes are those of one machine, also if a worker is killed."""

import os
import pickle
import signal
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from kernsemble.dask import (
    DaskInfiniteEnsembleClassifier,
    DaskInfiniteEnsembleClassifierCV,
    DaskInfiniteEnsembleRegressor,
)
from kernsemble.dask.workers import DaskEngine, DaskSource, answering
from kernsemble.datasets import make_threenorm
from kernsemble.persistence import load, save
from kernsemble.streaming import Blocks
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV
from kernsemble.svm.streams import local

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

pytestmark = [
    pytest.mark.large,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # of sockets of killed workers
]
SETTINGS = {"loss": "logistic", "max_levels": 30, "tol": 1e-9}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@cache
def rows():
    X, y = make_threenorm(1_500, n_features=4, random_state=0)
    X[::7, 1] = np.nan
    return X, y, np.random.default_rng(0).integers(1, 3, len(y)).astype(float)


def collections(chunks=(400, 300, 300, 500)):
    X, y, weight = rows()
    return (
        da.from_array(X, chunks=(chunks, (2, 2))),
        da.from_array(y, chunks=500),
        da.from_array(weight, chunks=(chunks,)),
    )


def test_a_fit_on_a_cluster_is_that_of_one_machine(client, tmp_path):
    X, y, weight = rows()
    machine = DaskInfiniteEnsembleClassifier(**SETTINGS).fit(*collections())
    assert machine.client_ is client
    whole = InfiniteEnsembleClassifier(solver="additive", **SETTINGS).fit(X, y, weight)
    local = machine.to_local()
    assert type(local) is InfiniteEnsembleClassifier
    assert_allclose(local.decision_function(X), whole.decision_function(X), atol=1e-8)
    dX, dy, _ = collections()
    for name in ("predict", "predict_proba", "decision_function"):
        found = getattr(machine, name)(dX)
        assert isinstance(found, da.Array)
        assert_array_equal(found.compute(), getattr(local, name)(X))
        assert_array_equal(getattr(machine, name)(X), getattr(local, name)(X))
    assert machine.score(dX, dy) == machine.score(X, y) == local.score(X, y)
    again = load(save(local, tmp_path / "machine.skops"))
    assert_array_equal(again.predict_proba(X), local.predict_proba(X))
    assert machine.traffic_.n_bytes < 100_000 * machine.traffic_.n_rounds


def test_selection_on_a_cluster_is_that_of_blocks(client):
    X, y, _ = rows()
    dX, dy, _ = collections()
    settings = {"Cs": [0.1, 1.0], "cv": 2, "scaling": "range", "max_levels": 30, "tol": 1e-9}
    machine = DaskInfiniteEnsembleClassifierCV("stump", client=client, **settings)
    machine.fit(dX, dy)
    ends = [400, 700, 1_000]
    parts = zip(np.split(X, ends), np.split(y, ends), strict=True)
    expected = InfiniteEnsembleClassifierCV("stump", **settings).fit(Blocks(list(parts)))
    assert machine.best_params_ == expected.best_params_
    assert_allclose(machine.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    assert_allclose(machine.predict_proba(X), expected.predict_proba(X), atol=1e-8)
    assert clone(machine).client is client
    assert pickle.loads(pickle.dumps(machine)).client is None


def test_data_frames_with_categories_give_the_machine_of_pandas(client):
    pytest.importorskip("pyarrow")
    dd = pytest.importorskip("dask.dataframe")
    import pandas as pd

    X = rows()[0]
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["town"] = np.where(X[:, 0] > 0.0, "Cork", np.where(X[:, 2] > 0.0, "Bern", "Rome"))
    frame["y"] = X[:, 0] + (frame["town"] == "Bern")
    frame = frame.sort_values("town", ignore_index=True)  # partitions with other categories
    data = dd.from_pandas(frame, npartitions=4).clear_divisions()
    names = [*"abcd", "town"]
    settings = {"loss": "squared", "max_levels": 30, "tol": 1e-9}
    machine = DaskInfiniteEnsembleRegressor(**settings).fit(data[names], data["y"])
    from kernsemble.svm import InfiniteEnsembleRegressor

    whole = InfiniteEnsembleRegressor(solver="additive", **settings).fit(frame[names], frame["y"])
    found = machine.predict(data[names])
    assert_allclose(found.compute(), whole.predict(frame[names]), atol=1e-8)
    assert machine.score(data[names], data["y"]) == pytest.approx(
        whole.score(frame[names], frame["y"])
    )


@pytest.mark.parametrize("is_killed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_machines_on_leaves_are_those_of_blocks(client, monkeypatch, is_killed):
    """Rows are exchanged once; a worker is killed before that."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(local, "REGION_LEAVES", 0.25)
    X, y = make_threenorm(1_500, n_features=4, random_state=0)
    settings = {"solver": "local", "loss": "squared", "random_state": 0, "scaling": "rank"}
    ends = [400, 700, 1_000]
    parts = list(zip(np.split(X, ends), np.split(y, ends), strict=True))
    expected = InfiniteEnsembleClassifier("laplacian", **settings).fit(Blocks(parts))
    assert expected.machines_.parts[0].partition.n_leaves > 3
    fit_groups = DaskSource.fit_groups

    def fit_and_kill(source, *arguments):
        if is_killed:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return fit_groups(source, *arguments)

    monkeypatch.setattr(DaskSource, "fit_groups", fit_and_kill)
    chunks = (400, 300, 300, 500)
    dX, dy = da.from_array(X, chunks=(chunks, (2, 2))), da.from_array(y, chunks=500)
    machine = DaskInfiniteEnsembleClassifier("laplacian", **settings).fit(dX, dy)
    assert_array_equal(machine.to_local().decision_function(X), expected.decision_function(X))
    assert_array_equal(machine.predict(dX).compute(), expected.predict(X))
    client.wait_for_workers(2)


SLOW = pytest.mark.slow


@pytest.mark.parametrize("n_before", [pytest.param(0, marks=SLOW), 3, pytest.param(9, marks=SLOW)])
def test_a_worker_that_is_killed_changes_nothing(client, monkeypatch, n_before):
    """It is killed before one of the first rounds, in each phase: encoding, first, later steps."""
    expected = DaskInfiniteEnsembleClassifier(**SETTINGS).fit(*collections())
    ask, asked = DaskEngine.ask, []

    def interrupted(engine, *arguments):
        if len(asked) == n_before:
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, signal.SIGKILL)
        asked.append(arguments)
        return ask(engine, *arguments)

    monkeypatch.setattr(DaskEngine, "ask", interrupted)
    machine = DaskInfiniteEnsembleClassifier(**SETTINGS).fit(*collections())
    X = rows()[0]
    assert_allclose(machine._values(X), expected._values(X), atol=1e-8)
    assert machine.n_iter_ == expected.n_iter_
    client.wait_for_workers(2)


def test_what_is_no_collection_is_refused(client):
    X, y, _ = rows()
    dX, dy, _ = collections()
    with pytest.raises(TypeError, match="X is ndarray: pass Dask"):
        DaskInfiniteEnsembleClassifier().fit(X, y)
    with pytest.raises(ValueError, match="y or sample_weight 700"):
        DaskInfiniteEnsembleClassifier().fit(dX, dy[:700])
    with pytest.raises(ValueError, match="y contains only one class"):
        DaskInfiniteEnsembleClassifier(loss="logistic").fit(dX, da.ones_like(dy))


def test_a_scheduler_that_does_not_answer_is_one_clear_line():
    class Lost:
        class scheduler:  # noqa: N801
            address = "tcp://nowhere:8786"

    with (
        pytest.raises(ConnectionError, match="scheduler at tcp://nowhere:8786 does not answer"),
        answering(Lost),
    ):
        raise TimeoutError

"""scikit-learn's callbacks are called for every part of a fit, and do not change it."""

import importlib.util
import pickle
import sys

import numpy as np
import pytest
from cases import Recorder
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from kernsemble import _progress
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
)

X, y = load_iris(return_X_y=True)
callback = pytest.importorskip("sklearn.callback")


class Interrupting(Recorder):
    """Interrupts at the end of the second machine."""

    def on_fit_task_end(self, estimator, context):
        super().on_fit_task_end(estimator, context)
        if self.ended["machine"] == 2:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("machine", "parts"),
    [
        (InfiniteEnsembleClassifier(), {"machine": 3}),
        (InfiniteEnsembleRegressor(), {"machine": 1}),
        (
            InfiniteEnsembleClassifierCV(["stump", "perceptron"], Cs=(0.1, 1.0), cv=3),
            {"selection": 1, "refit": 1, "machine": 2 * 3 + 3, "problem": 2 * 3 * 2 * 3},
        ),
        (
            InfiniteEnsembleRegressorCV("stump", Cs=(0.1, 1.0), epsilons=(0.1, 0.2), cv=3),
            {"selection": 1, "refit": 1, "machine": 2 + 1, "problem": 2 * 2 * 3},
        ),
    ],
    ids=lambda case: type(case).__name__,
)
def test_every_part_is_reported(machine, parts):
    recorder = Recorder()
    told = clone(machine).set_callbacks(recorder).fit(X, y)
    assert recorder.begun == recorder.ended == {"fit": 1, **parts}
    assert recorder.n_setups == 0
    assert_array_equal(told.predict(X), clone(machine).fit(X, y).predict(X))
    assert_array_equal(pickle.loads(pickle.dumps(told)).predict(X), told.predict(X))


def test_machines_report_to_a_search_above_them():
    recorder = Recorder()
    search = GridSearchCV(InfiniteEnsembleClassifier(), {"C": [0.1, 1.0]}, cv=3)
    search.set_callbacks(recorder).fit(X, y)
    assert recorder.ended["machine"] == 3 * (2 * 3 + 1)


def test_an_error_ends_the_callbacks():
    recorder = Recorder()
    with pytest.raises(ValueError, match="C = inf"):
        InfiniteEnsembleClassifier(C=np.inf).set_callbacks(recorder).fit(X[:, :1], y)
    assert recorder.n_setups == 0
    assert recorder.ended["fit"] == 0


@pytest.mark.parametrize(
    "machine",
    [InfiniteEnsembleClassifier(warm_start=True), InfiniteEnsembleClassifierCV("stump", cv=3)],
    ids=lambda machine: type(machine).__name__,
)
def test_a_callback_can_interrupt(machine, monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")  # one machine after another
    recorder = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        machine.set_callbacks(recorder).fit(X, y)
    assert recorder.begun["machine"] == 2
    assert recorder.n_setups == 0


def test_scores_can_be_monitored():
    monitor = callback.ScoringMonitor(scoring="neg_log_loss")
    machine = InfiniteEnsembleClassifierCV("stump", Cs=(1.0,)).set_callbacks(monitor)
    weight = np.where(y == 1, 2.0, 1.0)
    machine.fit(X, y, sample_weight=weight)
    (entry,) = monitor.get_logs().data
    log_p = np.log(machine.predict_proba(X)[np.arange(150), y])
    assert entry["neg_log_loss"] == pytest.approx(np.average(log_p, weights=weight))


def test_without_callbacks_in_scikit_learn_a_fit_reports_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    spec = importlib.util.spec_from_file_location("progress_before_1_9", _progress.__file__)
    before = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(before)

    class Plain(before.CallbackSupportMixin, BaseEstimator):
        @before.with_callbacks
        def fit(self):
            with before.Task.of_fit(self, 1, X, y, None) as task, task.part("machine", 0):
                return self

    machine = Plain()
    assert machine.fit() is machine
    assert not hasattr(machine, "set_callbacks")

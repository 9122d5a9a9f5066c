"""``n_jobs`` and ``verbose`` of all estimators whose fits take long."""

import inspect
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from kernsemble._progress import ProgressLines, Task
from kernsemble._threads import n_threads
from kernsemble.boosting import (
    AdaBoostClassifier,
    AdaBoostClassifierCV,
    KernelBoost,
    LPBoostClassifier,
    LPBoostClassifierCV,
)
from kernsemble.datasets import make_threenorm
from kernsemble.detection import LagoClassifier
from kernsemble.kernels import Stump
from kernsemble.selection import ParallelEvolutionSelector
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
    KernelPerceptron,
    MultiplicativeSVC,
    SVMPath,
)

MACHINES = [
    InfiniteEnsembleClassifier(),
    InfiniteEnsembleClassifierCV("stump", cv=2, Cs=[0.1, 1.0]),
    InfiniteEnsembleRegressor(),
    InfiniteEnsembleRegressorCV("stump", cv=2, Cs=[0.1, 1.0]),
    SVMPath("stump"),
    MultiplicativeSVC("stump", tol=0.5),
    KernelPerceptron("stump"),
]
OTHERS = [
    AdaBoostClassifier(n_estimators=5),
    AdaBoostClassifierCV(ns_estimators=[2, 4], cv=2),
    LPBoostClassifier(),
    LPBoostClassifierCV(Cs=[1.0], cv=2),
    KernelBoost(n_rounds=3),
    LagoClassifier(cv=2),
    ParallelEvolutionSelector(n_universes=3, n_generations=2, random_state=0),
]
X, y = make_threenorm(40, n_features=5, random_state=0)


def name(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("estimator", MACHINES + OTHERS, ids=name)
def test_every_long_fit_can_be_limited_and_followed(estimator, capsys):
    parameters = inspect.signature(type(estimator)).parameters
    assert parameters["n_jobs"].default is None
    assert parameters["verbose"].default == 0
    clone(estimator).fit(X, y)
    assert capsys.readouterr().out == ""
    clone(estimator).set_params(verbose=1, n_jobs=2).fit(X, y)
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == f"[{name(estimator)}] fitting 40 rows and 5 columns"
    assert last.startswith(f"[{name(estimator)}] fitted in ")


@pytest.mark.parametrize("estimator", MACHINES, ids=name)
def test_n_jobs_limits_the_threads_of_fit_and_predict(estimator, monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    tile, seen = Stump._tile, set()

    def watch(self, A, B):
        if threading.current_thread() is threading.main_thread():
            seen.add(n_threads())
        return tile(self, A, B)

    monkeypatch.setattr(Stump, "_tile", watch)
    for n_jobs, expected in ((None, 3), (2, 2), (-2, 2), (1, 1)):
        fitted = clone(estimator).set_params(n_jobs=n_jobs)
        for method, arguments in ((fitted.fit, (X, y)), (fitted.predict, (X,))):
            seen.clear()
            method(*arguments)
            assert seen == {expected}
    assert n_threads() == 3


@pytest.mark.parametrize("estimator", [MACHINES[0], OTHERS[0], LagoClassifier(cv=2)], ids=name)
def test_a_wrong_n_jobs_is_refused(estimator):
    with pytest.raises(ValueError, match="n_jobs = 0: use a positive whole number"):
        clone(estimator).set_params(n_jobs=0).fit(X, y)


def test_the_number_of_threads_does_not_change_the_result(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "3")
    one, two = (
        InfiniteEnsembleClassifierCV("stump", cv=5, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)
    )
    assert one.best_params_ == two.best_params_
    assert_allclose(one.decision_function(X), two.decision_function(X), rtol=1e-10)


class Clock:
    """A clock that advances by itself."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def followed(step, interval):
    """Return the lines of a selection of four parts, two of which have two parts each."""
    lines = []
    progress = ProgressLines(np.float64(0.0), interval, Clock(step), lines.append)
    with Task(None, None, {}, progress, n_parts=2) as whole:
        with whole.part("selection", 0, 2) as selection:
            for _ in range(2):
                with selection.part("machine", n_parts=2) as machine:
                    machine.note("problem")
                    machine.note("problem")
        with whole.part("refit", 1, 1) as refit:
            refit.note("machine")
    return lines


def test_progress_is_the_share_of_finished_parts():
    *shares, refit, last = followed(step=1.0, interval=0.0)
    assert [line.split(",")[0] for line in shares] == [
        f"[float64] selection {percent} %" for percent in (25, 50, 75, 100)
    ]
    assert shares[0].endswith("about 3.0 s left")
    assert refit == "[float64] refit 100 %"
    assert last.startswith("[float64] fitted in")


def test_lines_are_at_least_an_interval_apart():
    assert len(followed(step=1.0, interval=0.0)) == 6
    assert len(followed(step=1.0, interval=3.0)) == 4
    assert len(followed(step=1.0, interval=100.0)) == 1


def test_the_outcome_of_a_selection_is_printed(capsys):
    machine = InfiniteEnsembleClassifierCV("stump", Cs=[0.5], cv=2, verbose=1)
    machine.search_summary_ = None
    machine.fit(X, y)
    score = f"{machine.best_score_:.3f}"
    assert (
        "[InfiniteEnsembleClassifierCV] selected kernel = stump, scaling = range, C = 0.5: "
        f"mean cross-validated score {score}\n"
    ) in capsys.readouterr().out


def test_lines_do_not_need_the_callbacks_of_scikit_learn(capsys, monkeypatch):
    for family in InfiniteEnsembleClassifier.__mro__:
        if "_init_callback_context" in vars(family):
            monkeypatch.delattr(family, "_init_callback_context")
    InfiniteEnsembleClassifier(verbose=2).fit(X, y)
    assert "fit 100 %" in capsys.readouterr().out

"""The same seed gives the same bits for any number of threads, of this library and of BLAS.

Run as a program, this file prints a digest of the predictions of every estimator.
"""

import hashlib
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from kernsemble.boosting import AdaBoostClassifier, KernelBoost, LPBoostClassifier
from kernsemble.detection import LagoClassifier
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

SEED = {"random_state": 0}
CLASSIFIERS = {
    "pairs of classes": InfiniteEnsembleClassifier("perceptron", C=1.0, scaling="rank"),
    "calibrated": InfiniteEnsembleClassifier(
        "laplacian", multiclass="one-vs-rest", calibration="sigmoid"
    ),
    "squared": InfiniteEnsembleClassifier("gaussian", loss="squared", scaling="learned-directions"),
    "tables": InfiniteEnsembleClassifier(solver="additive", loss="logistic"),
    "directions": InfiniteEnsembleClassifier(
        "perceptron", solver="additive", loss="squared_hinge", n_slices=64, **SEED
    ),
    "grids": InfiniteEnsembleClassifier(
        "laplacian", solver="additive", loss="hinge", n_grids=32, **SEED
    ),
    "leaves": InfiniteEnsembleClassifier("laplacian", solver="local", loss="squared", **SEED),
    "vote": InfiniteEnsembleClassifierCV(**SEED),
    "race": InfiniteEnsembleClassifierCV(loss="hinge", **SEED),
    "grid": InfiniteEnsembleClassifierCV(["stump", "gaussian"], Cs=(0.1, 1.0)),
    "path": SVMPath(),
    "perceptron": KernelPerceptron(**SEED),
    "updates of low rank": MultiplicativeSVC(rank=30, **SEED),
    "AdaBoost": AdaBoostClassifier(n_estimators=10, **SEED),
    "LPBoost": LPBoostClassifier(**SEED),
    "boosted kernel": KernelBoost(n_rounds=3, **SEED),
    "detector": LagoClassifier(),
    "selector": ParallelEvolutionSelector(n_universes=5, **SEED),
}
REGRESSORS = {
    "numbers": InfiniteEnsembleRegressor("laplacian"),
    "effects": InfiniteEnsembleRegressor("laplacian", scaling="learned-effects"),
    "pairs of columns": InfiniteEnsembleRegressor(n_pairs=2, **SEED),
    "vote of numbers": InfiniteEnsembleRegressorCV(**SEED),
}
METHODS = ("decision_function", "predict", "predict_proba", "transform")


def digests(n_rows, n_jobs=None):
    """Return a digest of all predictions of every estimator on made-up rows, by name."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(n_rows, 6)), rng.normal(size=(100, 6))
    y = X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) + 0.3 * rng.normal(size=n_rows)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, estimator in {**CLASSIFIERS, **REGRESSORS}.items():
            machine = clone(estimator)
            if n_jobs is not None and "n_jobs" in machine.get_params():
                machine.set_params(n_jobs=n_jobs)
            n_classes = 2 if name in {"detector", "boosted kernel", "selector", "race"} else 3
            codes = np.digitize(y, [1.3] if n_classes == 2 else [-0.5, 0.5])
            machine.fit(X, y if name in REGRESSORS else codes)
            methods = [getattr(machine, each) for each in METHODS if hasattr(machine, each)]
            contents = b"".join(np.ascontiguousarray(each(new)).tobytes() for each in methods)
            found[name] = hashlib.sha256(contents).hexdigest()[:12]
    return found


def digests_of_process(n_threads, n_blas_threads):
    """Return the digests as a process with these numbers of threads computes them."""
    threads = {"NUMBA_NUM_THREADS": n_threads, "OPENBLAS_NUM_THREADS": n_blas_threads}
    environment = {**os.environ, **{name: str(value) for name, value in threads.items()}}
    command = [sys.executable, __file__]
    lines = subprocess.check_output(command, env=environment, text=True).splitlines()
    return dict(line.split(": ") for line in lines)


@pytest.mark.large
def test_bits_do_not_depend_on_n_jobs(monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "4")
    one = digests(300, n_jobs=1)
    for n_jobs in (2, 4):
        assert digests(300, n_jobs) == one


@pytest.mark.large
@pytest.mark.slow
def test_bits_do_not_depend_on_the_threads_of_the_process():
    assert digests_of_process(1, 1) == digests_of_process(3, 2)


if __name__ == "__main__":
    for name, digest in digests(2_000).items():
        print(f"{name}: {digest}")  # noqa: T201 (read by the test)

"""Measure the delay of Ctrl-C during a fit, and whether a second fit continues to the optimum.

A signal is sent at random times during long fits: of one machine, of the machines of several
classes, with matrix rows on demand, and of a model selection. A second table has the delays within
longer fits of every estimator: in factors and inverses of large matrices, in HiGHS, in compiled
loops. Run from the repository: ``.venv/bin/python benchmarks/bench_interrupt.py``, with names of
estimators for a part of the second table.
"""

import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
from sklearn.base import clone

from kernsemble.boosting import AdaBoostClassifier, KernelBoost, LPBoostClassifier
from kernsemble.datasets import make_threenorm
from kernsemble.detection import LagoClassifier
from kernsemble.exceptions import RowsOnDemandWarning
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

REPEATS = 5


def classes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return threenorm, rows of two classes."""
    return make_threenorm(n, random_state=0)


def four_classes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return threenorm with its classes divided at random."""
    X, y = classes(n)
    return X, 2 * y + np.random.default_rng(0).integers(2, size=n)


def numbers(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of threenorm with numbers that depend on them."""
    X, _ = classes(n)
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


SEED = {"random_state": 0}
LONG_FITS = {  # name: estimator, number of rows, and what makes them
    "hinge, Newton": (InfiniteEnsembleClassifier(solver="exact", C=1.0, tol=1e-9), 8_000, classes),
    "squared loss, one factor": (
        InfiniteEnsembleClassifier("gaussian", solver="exact", loss="squared"),
        12_000,
        four_classes,
    ),
    "squared loss, grid": (
        InfiniteEnsembleRegressorCV("gaussian", solver="exact", loss="squared"),
        7_000,
        numbers,
    ),
    "vote": (InfiniteEnsembleClassifierCV(**SEED), 8_000, four_classes),
    "vote on leaves": (InfiniteEnsembleRegressorCV(solver="local", **SEED), 40_000, numbers),
    "race": (InfiniteEnsembleClassifierCV(loss="hinge", **SEED), 4_000, four_classes),
    "tables": (
        InfiniteEnsembleClassifier(
            solver="additive", loss="logistic", max_levels=1_000, C=10.0, tol=1e-9
        ),
        300_000,
        four_classes,
    ),
    "tables, hinge": (
        InfiniteEnsembleClassifier(solver="additive", C=10.0, tol=1e-8),
        300_000,
        four_classes,
    ),
    "directions": (
        InfiniteEnsembleClassifier("perceptron", solver="additive", loss="logistic", **SEED),
        50_000,
        four_classes,
    ),
    "pairs of columns": (
        InfiniteEnsembleRegressor(n_pairs="auto", **SEED),
        100_000,
        numbers,
    ),
    "leaves": (
        InfiniteEnsembleRegressor("laplacian", solver="local", loss="squared", **SEED),
        100_000,
        numbers,
    ),
    "learned scaling": (
        InfiniteEnsembleRegressor("laplacian", scaling="learned", solver="exact"),
        8_000,
        numbers,
    ),
    "SVMPath": (SVMPath("gaussian"), 4_000, four_classes),
    "KernelPerceptron": (KernelPerceptron("gaussian", n_epochs=500, **SEED), 10_000, four_classes),
    "MultiplicativeSVC": (MultiplicativeSVC(tol=1e-9, **SEED), 8_000, four_classes),
    "AdaBoost": (AdaBoostClassifier(n_estimators=5_000, **SEED), 100_000, four_classes),
    "LPBoost, HiGHS": (LPBoostClassifier(C=3e-3, tol=1e-9, **SEED), 20_000, four_classes),
    "LPBoost, simplex": (LPBoostClassifier(C=1e-3, tol=1e-9, **SEED), 20_000, classes),
    "KernelBoost": (KernelBoost("gaussian", n_rounds=500, **SEED), 4_000, four_classes),
    "LagoClassifier": (LagoClassifier(), 60_000, lambda n: (classes(n)[0], np.arange(n) % 50 == 0)),
    "ParallelEvolutionSelector": (
        ParallelEvolutionSelector(n_universes=2_000, **SEED),
        20_000,
        classes,
    ),
}


def delay_of(
    machine: InfiniteEnsembleClassifier, X: np.ndarray, y: np.ndarray, wait: float
) -> float:
    """Return the seconds from the signal to the end of the fit, NaN if it ended before."""
    sent = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(wait, interrupt)
    timer.start()
    try:
        machine.fit(X, y)
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    finally:
        timer.cancel()
    return np.nan


def resumes(machine: InfiniteEnsembleClassifier, X: np.ndarray, y: np.ndarray, best: float) -> bool:
    """Return whether a second fit continues to the optimum."""
    machine.fit(X, y)
    return bool(np.isclose(machine.objective_.sum(), best, rtol=1e-6))


def print_delays(names: list[str]) -> None:
    """Print the table of delays within longer fits, those of some names if any are given."""
    warnings.simplefilter("ignore")
    print("| estimator | rows | signal after, s | longest delay, s | interrupts |")
    print("|---|---|---|---|---|")
    for name, (estimator, n_rows, target) in LONG_FITS.items():
        if names and name not in names:
            continue
        X, y = target(n_rows)
        clone(estimator).fit(*target(600))  # compiles
        waits = (0.5, 1.5, 4.0)
        delays = [delay_of(clone(estimator), X, y, wait) for wait in waits]
        found = [each for each in delays if np.isfinite(each)]
        after = ", ".join(f"{each:g}" for each in waits)
        print(
            f"| {name} | {n_rows:,} | {after} | {max(found, default=np.nan):.2f} | {len(found)} |",
            flush=True,
        )


def main() -> None:
    """Print the table of fits that are continued."""
    warnings.simplefilter("ignore", RowsOnDemandWarning)
    rng = np.random.default_rng(0)
    X, y = make_threenorm(4_000, random_state=0)
    classes = 2 * y + rng.integers(2, size=len(y))
    settings = {"C": 100.0, "tol": 1e-6, "warm_start": True, "solver": "exact"}
    cases = {
        "one machine": (InfiniteEnsembleClassifier(**settings), y),
        "six machines of four classes": (InfiniteEnsembleClassifier(**settings), classes),
        "rows on demand": (InfiniteEnsembleClassifier(cache_size=60, **settings), y),
        "selection": (
            InfiniteEnsembleClassifierCV("stump", Cs=(1.0, 10.0, 100.0), tol=1e-6, solver="exact"),
            y,
        ),
    }
    print("| fit of 4,000 rows | whole fit, s | longest delay, s | interrupts | then optimal |")
    print("|---|---|---|---|---|")
    for name, (machine, target) in cases.items():
        clone(machine).fit(X[:500], target[:500])  # compiles
        start = time.perf_counter()
        best = clone(machine).fit(X, target).objective_.sum()
        whole = time.perf_counter() - start
        delays, resumed = [], []
        for wait in whole * rng.uniform(0.1, 0.7, REPEATS):
            interrupted = clone(machine)
            delay = delay_of(interrupted, X, target, wait)
            if np.isfinite(delay):
                delays.append(delay)
                resumed.append(resumes(interrupted, X, target, best))
        print(
            f"| {name} | {whole:.1f} | {max(delays, default=np.nan):.2f} | {len(delays)} "
            f"| {sum(resumed)} |",
            flush=True,
        )


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also in a background job
    if not sys.argv[1:]:
        main()
    print_delays(sys.argv[1:])

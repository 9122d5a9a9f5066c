"""Measure the delay of Ctrl-C during a fit, and whether a second fit continues to the optimum.

A signal is sent at random times during long fits: of one machine, of the machines of several
classes, with matrix rows on demand, and of a model selection. Run from the repository:
``.venv/bin/python benchmarks/bench_interrupt.py``.
"""

import os
import signal
import threading
import time
import warnings

import numpy as np
from sklearn.base import clone

from kernsemble.datasets import make_threenorm
from kernsemble.exceptions import RowsOnDemandWarning
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV

REPEATS = 5


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


def main() -> None:
    """Print the table."""
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
    main()

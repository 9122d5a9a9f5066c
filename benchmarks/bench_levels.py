"""Measure the loss of accuracy by levels, directions and grids, against the exact solver.

C is selected by three-fold cross-validation on the training rows, at most 5,000, among powers
of 4 times the default. The exact machine is compared with the additive one with its own C, and
with the additive one at the C of the exact one. Differences of test errors
are means over random splits (for threenorm: draws), with their standard errors. Run from the
repository, with the data folder in ``KERNSEMBLE_DATA``: ``.venv/bin/python
benchmarks/bench_levels.py [--splits 5] [--sets ...] [--kernels ...]``.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

import argparse
import time
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from kernsemble.datasets import load, make_threenorm
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV

SETS = ("threenorm", "magic", "spam", "svmguide1")
KERNELS = ("stump", "perceptron", "laplacian")
MULTIPLES = 4.0 ** np.arange(-2, 3)
MOST_ROWS = 5_000
TEST_ROWS = 20_000


def split(name: str, seed: int) -> list[Any]:
    """Return training rows, test rows, training classes and test classes."""
    if name == "threenorm":
        (X, y), (X_test, y_test) = (
            make_threenorm(size, random_state=2 * seed + k)
            for k, size in enumerate((MOST_ROWS, TEST_ROWS))
        )
        return [X, X_test, y, y_test]
    dataset = load(name)
    n = min(MOST_ROWS, 2 * len(dataset.y) // 3)
    return train_test_split(
        dataset.X, dataset.y, train_size=n, stratify=dataset.y, random_state=seed
    )


def error(machine: Any, rows: list[Any]) -> float:
    """Return the test error of a fitted machine in %."""
    return 100.0 * float((machine.predict(rows[1]) != rows[3]).mean())


def compare(name: str, kernel: str, n_splits: int) -> None:
    """Print the errors of a kernel and its approximation on a set."""
    errors, seconds, reported = [], [], []
    for seed in range(n_splits):
        rows = split(name, seed)
        X, y = rows[0], rows[2]
        unit = InfiniteEnsembleClassifier(kernel, solver="exact").fit(X, y).C_
        machines = []
        for solver in ("exact", "additive"):
            start = time.perf_counter()
            tuned = InfiniteEnsembleClassifierCV(
                kernel,
                loss="hinge",
                solver=solver,
                Cs=[unit * each for each in MULTIPLES],
                cv=3,
                random_state=seed,
            )
            machines.append(tuned.fit(X, y))
            seconds.append(time.perf_counter() - start)
        same = InfiniteEnsembleClassifier(
            kernel, solver="additive", C=machines[0].C_, random_state=seed
        )
        machines.append(same.fit(X, y))
        errors.append([error(machine, rows) for machine in machines])
        reported.append(100.0 * same.sampling_error_)
    exact, own, given = np.array(errors).T
    apart = " | ".join(
        f"{each.mean():.2f} | {(each - exact).mean():+.2f} ± {spread(each - exact):.2f}"
        for each in (own, given)
    )
    times = " | ".join(f"{np.mean(seconds[k::2]):.1f}" for k in range(2))
    print(
        f"| {name} | {len(y):,} | {kernel} | {exact.mean():.2f} | {apart} | "
        f"{np.mean(reported):.2f} | {times} |",
        flush=True,
    )


def spread(differences: Any) -> float:
    """Return the standard error of a mean."""
    return float(differences.std(ddof=1) / np.sqrt(len(differences)))


def main() -> None:
    """Compare on all sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--kernels", nargs="*", default=list(KERNELS))
    arguments = parser.parse_args()
    print(
        "| set | rows | kernel | exact, % | additive, % | difference | at the exact one's C, % | "
        "difference | reported error of the kernel, % | exact, s | additive, s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in arguments.sets:
        for kernel in arguments.kernels:
            compare(name, kernel, arguments.splits)


if __name__ == "__main__":
    main()

"""What levels, directions and grids cost in accuracy, against the exact solver at the same C.

C is chosen by five-fold cross-validation of the exact machine on the training rows, at most 5,000
of them; then the exact and the additive machine are fitted to the same rows with that C and tested
on the same others. Differences are means over random splits (of threenorm: draws), with their
standard errors. Run from the repository, with the data folder in ``KERNSEMBLE_DATA``:
``.venv/bin/python benchmarks/bench_levels.py [--splits 5] [--sets ...]``.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from kernsemble.datasets import load, make_threenorm
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV

SETS = ("threenorm", "magic", "spam", "svmguide1")
KERNELS = {
    "stump": {"max_levels": (64, 256)},
    "perceptron": {"n_slices": (256, 512, 1024)},
    "laplacian": {"n_grids": (256, 512, 1024)},
}
MOST_ROWS = 5_000
TEST_ROWS = 20_000


@dataclass(frozen=True)
class Fitted:
    """What a machine does on test rows, the seconds it took, and the error it reports."""

    error: float
    seconds: float
    reported: float = 0.0


def split(name: str, seed: int) -> list[Any]:
    """Return training rows, test rows and their classes."""
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


def fitted(machine: Any, rows: list[Any]) -> Fitted:
    """Fit and test a machine."""
    X, X_test, y, y_test = rows
    start = time.perf_counter()
    machine.fit(X, y)
    seconds = time.perf_counter() - start
    reported = getattr(machine, "sampling_error_", 0.0)
    return Fitted(float((machine.predict(X_test) != y_test).mean()), seconds, reported)


def compare(name: str, kernel: str, n_splits: int) -> None:
    """Print the errors of all approximations of a kernel on a set."""
    ((argument, sizes),) = KERNELS[kernel].items()
    exact: list[Fitted] = []
    others: dict[int, list[Fitted]] = {size: [] for size in sizes}
    for seed in range(n_splits):
        rows = split(name, seed)
        chosen = InfiniteEnsembleClassifierCV(kernel, solver="exact").fit(rows[0], rows[2])
        same = {"kernel": kernel, "C": chosen.C_}
        exact.append(fitted(InfiniteEnsembleClassifier(**same, solver="exact"), rows))
        for size in sizes:
            machine = InfiniteEnsembleClassifier(
                **same, solver="additive", random_state=seed, **{argument: size}
            )
            others[size].append(fitted(machine, rows))
    for size, found in others.items():
        difference = 100 * np.array(
            [each.error - same.error for each, same in zip(found, exact, strict=True)]
        )
        spread = difference.std(ddof=1) / np.sqrt(n_splits) if n_splits > 1 else np.nan
        errors, times = (
            [np.mean([getattr(each, what) for each in fits]) for fits in (exact, found)]
            for what in ("error", "seconds")
        )
        reported = 100 * np.mean([each.reported for each in found])
        print(
            f"| {name} | {len(rows[2]):,} | {kernel} | {argument} = {size} | "
            f"{100 * errors[0]:.2f} | {100 * errors[1]:.2f} | "
            f"{difference.mean():+.2f} ± {spread:.2f} | "
            f"{reported:.2f} | {times[0]:.2f} | {times[1]:.2f} |",
            flush=True,
        )


def main() -> None:
    """Compare on all sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--kernels", nargs="*", default=list(KERNELS))
    asked = parser.parse_args()
    print(
        "| set | rows | kernel | approximation | exact error, % | error, % | difference, points | "
        "reported error of the kernel, % | exact, s | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in asked.sets:
        for kernel in asked.kernels:
            compare(name, kernel, asked.splits)


if __name__ == "__main__":
    main()

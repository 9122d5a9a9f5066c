"""Measure the cost of ``kernel="auto"``, in units of a plain fit with one of its kernels.

A plain fit is that of `InfiniteEnsembleClassifier` with the default C on all rows; the unit is
its mean time over the four kernels. Run from the repository:
``.venv/bin/python benchmarks/bench_race.py``.
"""

from functools import partial

import numpy as np
from timing import best_times

from kernsemble.datasets import make_ringnorm, make_threenorm
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV

KERNELS = ("stump", "perceptron", "laplacian", "exponential")


def main() -> None:
    """Print the table."""
    print("| data | rows | plain fit, s | slowest one, s | whole search, s | in plain fits |")
    print("|---|---|---|---|---|---|")
    for make in (make_threenorm, make_ringnorm):
        for n, repeats in ((300, 7), (1_000, 5), (3_000, 3), (6_000, 2)):
            X, y = make(n, random_state=0)
            machines = [InfiniteEnsembleClassifier(kernel, solver="exact") for kernel in KERNELS]
            machines.append(InfiniteEnsembleClassifierCV("auto", random_state=0))
            *plain, search = best_times(
                *(partial(machine.fit, X, y) for machine in machines), repeats=repeats
            )
            print(
                f"| {make.__name__.removeprefix('make_')} | {n:,} | {np.mean(plain):.3f} "
                f"| {max(plain):.3f} | {search:.3f} | {search / np.mean(plain):.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Measure the peak memory of ``kernel="auto"`` against its budget, and of solvers on matrices.

The second table compares the peak with the number of matrices between all rows that the budget
counts for the solver. Each fit runs in a process of its own, after a small one that compiles; the
peak is that of the resident memory above its level before the fit. Rows are threenorm with 20
features. Run from the repository: ``.venv/bin/python benchmarks/bench_memory.py``, on Linux.
"""

import subprocess
import sys
import time
import warnings
from pathlib import Path

from kernsemble._memory import Budget
from kernsemble.datasets import make_threenorm
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressorCV,
    SVMPath,
)

# rows, solver, and megabytes of `cache_size` (0 for the default)
CASES = (
    (3_000, "exact", 60),
    (3_000, "exact", 0),
    (12_000, "exact", 700),
    (12_000, "exact", 0),
    (50_000, "auto", 0),
)


EXACT = {"solver": "exact"}
SQUARED = {"loss": "squared", **EXACT}
SOLVERS = {  # estimator, and the number of matrices that its budget counts
    "hinge": (InfiniteEnsembleClassifier(**EXACT), 1),
    "squared loss": (InfiniteEnsembleClassifier("laplacian", **SQUARED), 2),
    "squared loss, distances by products": (InfiniteEnsembleClassifier("gaussian", **SQUARED), 2),
    "squared loss, grid of C": (InfiniteEnsembleRegressorCV("gaussian", **SQUARED), 2),
    "path": (SVMPath("gaussian", largest_C=0.05), 1),
}
ROWS_OF_SOLVERS = 4_000


def resident(name: str) -> float:
    """Return a field of the process status in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def measure(n_rows: int, solver: str, cache_size: int) -> None:
    """Print a row of the table: the budget, the peak of the fit and its time."""
    settings = {"solver": solver, "cache_size": cache_size or None, "random_state": 0}
    warnings.simplefilter("ignore")
    InfiniteEnsembleClassifierCV("auto", **settings).fit(*make_threenorm(300, random_state=0))
    X, y = make_threenorm(n_rows, random_state=0)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before, start = resident("VmRSS:"), time.perf_counter()
    budget = Budget.from_megabytes(cache_size or None).n_bytes / 2**20
    model = InfiniteEnsembleClassifierCV("auto", **settings).fit(X, y)
    seconds, peak = time.perf_counter() - start, resident("VmHWM:") - before
    print(
        f"| {n_rows:,} | {solver} | {cache_size or 'default'} | {budget:,.0f} | {peak:,.0f} "
        f"| {peak / budget:.2f} | {seconds:.1f} | {model.best_score_:.3f} |"
    )


def measure_solver(name: str) -> None:
    """Print a row of the second table: the matrices counted, and those at the peak."""
    estimator, n_matrices = SOLVERS[name]
    warnings.simplefilter("ignore")
    estimator.fit(*make_threenorm(300, random_state=0))
    X, y = make_threenorm(ROWS_OF_SOLVERS, random_state=0)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = resident("VmRSS:")
    estimator.fit(X, y)
    peak, matrix = resident("VmHWM:") - before, 8 * ROWS_OF_SOLVERS**2 / 2**20
    print(f"| {name} | {n_matrices * matrix:,.0f} | {peak:,.0f} | {peak / matrix:.2f} |")


def main() -> None:
    """Print both tables."""
    print(
        "| rows | solver | cache_size, MB | budget, MB | peak, MB | peak / budget | s | accuracy |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for case in CASES:
        subprocess.run([sys.executable, __file__, *map(str, case)], check=True)
    print(f"\n| solver of {ROWS_OF_SOLVERS:,} rows | counted, MB | peak, MB | peak / matrix |")
    print("|---|---|---|---|", flush=True)
    for name in SOLVERS:
        subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in SOLVERS:
        measure_solver(sys.argv[1])
    elif sys.argv[1:]:
        measure(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    else:
        main()

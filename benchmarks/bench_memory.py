"""Measure the peak memory of ``kernel="auto"`` against its budget, and of solvers.

The second table compares the peak with the bytes that are counted for the solver before they are
taken. Each fit runs in a process of its own, after a small one that compiles; the peak is that of
the resident memory above its level before the fit, with the rows. Run from the repository, on
Linux: ``.venv/bin/python benchmarks/bench_memory.py``, with the name of a solver for its row
of the second table.
"""

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import clone, is_regressor

from kernsemble._memory import Budget
from kernsemble._threads import n_threads
from kernsemble.boosting import KernelBoost
from kernsemble.boosting.kernel_boost import needed_bytes
from kernsemble.datasets import make_threenorm
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
    KernelPerceptron,
    SVMPath,
)
from kernsemble.svm.backends.local.backend import LocalBackend
from kernsemble.svm.backends.local.leaves import MATRICES
from kernsemble.svm.backends.tables.cells import BYTES_PER_CELL
from kernsemble.svm.backends.tables.slices import bytes_of_directions

# rows, solver, and megabytes of `cache_size` (0 for the default)
CASES = (
    (3_000, "exact", 60),
    (3_000, "exact", 0),
    (12_000, "exact", 700),
    (12_000, "exact", 0),
    (50_000, "auto", 0),
)


Counted: TypeAlias = Callable[[int], float]  # bytes that are counted, of the number of rows


class Case(NamedTuple):
    """A fit, and the bytes that are counted for it before they are taken."""

    estimator: Any
    n_rows: int
    counted: Counted
    n_columns: int = 20
    n_classes: int = 2
    dtype: type = np.float64


def matrices(number: float, itemsize: int = 8) -> Counted:
    """Return the bytes of some matrices between all rows."""
    return lambda n: number * itemsize * float(n) ** 2


def entries(n_bytes: float) -> Counted:
    """Return some bytes for every row."""
    return lambda n: n_bytes * n


def megabytes(number: float) -> Counted:
    """Return the bytes of `cache_size`."""
    return lambda _: number * 2**20


EXACT: dict[str, Any] = {"solver": "exact"}
SQUARED: dict[str, Any] = {"loss": "squared", **EXACT}
ADDITIVE: dict[str, Any] = {"solver": "additive", "loss": "logistic", "random_state": 0}
LEAVES: dict[str, Any] = {"solver": "local", "loss": "squared", "random_state": 0}
SINGLE: Any = np.float32
Machine, Numbers = InfiniteEnsembleClassifier, InfiniteEnsembleRegressor
Search, Grid = InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV
THREADS = n_threads()
LEAF_ROWS = LocalBackend().leaf_rows
SOLVERS = {
    "hinge, 520 MB": Case(Machine(cache_size=520, **EXACT), 8_000, megabytes(520)),
    "hinge, 80 MB": Case(Machine(cache_size=80, **EXACT), 3_000, megabytes(80)),
    "hinge, 200 columns, 300 MB": Case(
        Machine(cache_size=300, **EXACT), 6_000, megabytes(300), n_columns=200
    ),
    "hinge, float32, 400 MB": Case(
        Machine(cache_size=400, **EXACT), 10_000, megabytes(400), dtype=SINGLE
    ),
    "hinge, 4 classes, 760 MB": Case(
        Machine(cache_size=760, **EXACT), 8_000, megabytes(760), n_classes=4
    ),
    "hinge, 4 classes, one-vs-rest, 520 MB": Case(
        Machine(multiclass="one-vs-rest", cache_size=520, **EXACT),
        8_000,
        megabytes(520),
        n_classes=4,
    ),
    "hinge, rows on demand, 60 MB": Case(Machine(cache_size=60, **EXACT), 4_000, megabytes(60)),
    "hinge, rows on demand, 100 MB": Case(Machine(cache_size=100, **EXACT), 4_000, megabytes(100)),
    "squared loss": Case(Machine("laplacian", **SQUARED), 4_000, matrices(2)),
    "squared loss, distances by products": Case(Machine("gaussian", **SQUARED), 4_000, matrices(2)),
    "squared loss, float32": Case(
        Machine("laplacian", **SQUARED), 5_000, matrices(2, 4), dtype=SINGLE
    ),
    "squared loss, 4 classes": Case(
        Machine("laplacian", multiclass="one-vs-rest", **SQUARED),
        4_000,
        matrices(2),
        n_classes=4,
    ),
    "squared loss, regression": Case(Numbers("gaussian", **SQUARED), 3_000, matrices(2)),
    "squared loss, grid of C": Case(Grid("gaussian", **SQUARED), 4_000, matrices(2)),
    "path, 180 MB": Case(
        SVMPath("gaussian", largest_C=0.05, cache_size=180), 4_000, megabytes(180)
    ),
    "path, 100 MB": Case(
        SVMPath("gaussian", largest_C=0.05, cache_size=100), 3_000, megabytes(100)
    ),
    "path, 4 classes, 230 MB": Case(
        SVMPath("gaussian", largest_C=0.05, cache_size=230), 4_000, megabytes(230), n_classes=4
    ),
    "path, one-vs-rest, 120 MB": Case(
        SVMPath("gaussian", largest_C=0.02, multiclass="one-vs-rest", cache_size=120),
        3_000,
        megabytes(120),
        n_classes=4,
    ),
    "perceptron": Case(KernelPerceptron("gaussian", n_epochs=2), 4_000, matrices(1)),
    "boosted kernel": Case(
        KernelBoost("gaussian", n_rounds=2), 2_000, lambda n: needed_bytes(n, n, n)
    ),
    "boosted kernel, 500 templates": Case(
        KernelBoost("gaussian", n_rounds=2, n_templates=500, random_state=0),
        4_000,
        lambda n: needed_bytes(n, n, 500),
    ),
    "tables, 256 directions": Case(
        Machine("perceptron", n_slices=256, **ADDITIVE),
        400_000,
        lambda n: bytes_of_directions(n, 256),
    ),
    "tables, 1,000 directions": Case(
        Machine("perceptron", n_slices=1_000, **ADDITIVE),
        100_000,
        lambda n: bytes_of_directions(n, 1_000),
    ),
    "tables, 512 grids": Case(
        Machine("laplacian", n_grids=512, **ADDITIVE), 20_000, entries(BYTES_PER_CELL * 512), 5
    ),
    "tables, 256 grids": Case(
        Machine("laplacian", n_grids=256, **ADDITIVE), 60_000, entries(BYTES_PER_CELL * 256), 5
    ),
    "leaves": Case(
        Numbers("laplacian", **LEAVES),
        20_000,
        lambda _: THREADS * MATRICES * 4.0 * LEAF_ROWS**2,
    ),
    "leaves, 60,000 rows": Case(
        Numbers("laplacian", **LEAVES),
        60_000,
        lambda _: THREADS * MATRICES * 4.0 * LEAF_ROWS**2,
    ),
}


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


def rows_of(case: Case, n_rows: int) -> tuple[Any, Any]:
    """Return rows of a case, and their classes or numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, case.n_columns)).astype(case.dtype)
    values = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows)
    if is_regressor(case.estimator):
        return X, values
    return X, np.searchsorted(
        np.quantile(values, np.arange(1, case.n_classes) / case.n_classes), values
    )


def measure_solver(name: str) -> None:
    """Print a row of the second table: the megabytes counted, and those at the peak."""
    case = SOLVERS[name]
    warnings.simplefilter("ignore")
    clone(case.estimator).fit(*rows_of(case, 300))
    X, y = rows_of(case, case.n_rows)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before, start = resident("VmRSS:"), time.perf_counter()
    clone(case.estimator).fit(X, y)
    seconds, peak = time.perf_counter() - start, resident("VmHWM:") - before
    counted = case.counted(case.n_rows) / 2**20
    print(
        f"| {name} | {case.n_rows:,} | {counted:,.0f} | {peak:,.0f} | {peak / counted:.2f} "
        f"| {seconds:.1f} |",
        flush=True,
    )


def main() -> None:
    """Print both tables."""
    print(
        "| rows | solver | cache_size, MB | budget, MB | peak, MB | peak / budget | s | accuracy |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for case in CASES:
        subprocess.run([sys.executable, __file__, *map(str, case)], check=True)
    print("\n| solver | rows | counted, MB | peak, MB | peak / counted | s |")
    print("|---|---|---|---|---|---|", flush=True)
    for name in SOLVERS:
        subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in SOLVERS:
        measure_solver(sys.argv[1])
    elif sys.argv[1:]:
        measure(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    else:
        main()

"""Measure the peak memory of ``kernel="auto"`` against its budget.

Each fit runs in a process of its own, after a small one that compiles; the peak is that of the
resident memory above its level before the fit. Rows are threenorm with 20 features. Run from the
repository: ``.venv/bin/python benchmarks/bench_memory.py``, on Linux.
"""

import subprocess
import sys
import time
import warnings
from pathlib import Path

from kernsemble._memory import Budget
from kernsemble.datasets import make_threenorm
from kernsemble.svm import InfiniteEnsembleClassifierCV

# rows, solver, and megabytes of `cache_size` (0 for the default)
CASES = (
    (3_000, "exact", 60),
    (3_000, "exact", 0),
    (12_000, "exact", 700),
    (12_000, "exact", 0),
    (50_000, "auto", 0),
)


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


def main() -> None:
    """Print the table."""
    print(
        "| rows | solver | cache_size, MB | budget, MB | peak, MB | peak / budget | s | accuracy |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for case in CASES:
        subprocess.run([sys.executable, __file__, *map(str, case)], check=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        measure(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    else:
        main()

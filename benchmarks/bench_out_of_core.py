"""Fit a Parquet data set that is larger than the memory of the fit, in blocks of rows.

The script writes threenorm with 20 features to Parquet files of a million rows, in a temporary
folder (about 8 bytes per entry), fits them in a process of its own with two threads, and deletes
them. It prints the time per row, against a fit to fewer rows in memory, and the peak of the
resident memory. Run from the repository, on Linux:
``.venv/bin/python benchmarks/bench_out_of_core.py [--rows 20000000] [--memory-rows 2000000]
[--block-rows 250000] [--folder /tmp]``.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from timing import in_new_process, peak_bytes

from kernsemble.datasets import make_threenorm
from kernsemble.streaming import Blocks
from kernsemble.svm import InfiniteEnsembleClassifier

FILE_ROWS = 1_000_000
TEST_ROWS = 20_000
SETTINGS = {"loss": "logistic", "solver": "additive"}


def write(folder: Path, n_rows: int) -> None:
    """Write the rows to files."""
    import polars as pl

    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        X, y = make_threenorm(min(FILE_ROWS, n_rows - start), random_state=number)
        columns = {f"x{d}": column for d, column in enumerate(X.T)}
        pl.DataFrame({**columns, "y": y.astype(np.int8)}).write_parquet(
            folder / f"{number:04}.parquet"
        )


def fit_blocks(folder: Path, block_rows: int) -> tuple[float, float, float, int]:
    """Return seconds, AUROC, peak memory and steps of a fit to the files."""
    few = make_threenorm(1_000, random_state=0)
    InfiniteEnsembleClassifier(**SETTINGS).fit(Blocks([few]))  # compiles
    start = time.perf_counter()
    data = Blocks.from_parquet(folder, "y", block_rows=block_rows)
    machine = InfiniteEnsembleClassifier(**SETTINGS).fit(data)
    seconds = time.perf_counter() - start
    peak = peak_bytes()
    X, y = make_threenorm(TEST_ROWS, random_state=987)
    names = [f"x{d}" for d in range(X.shape[1])]
    import polars as pl

    values = machine.decision_function(pl.DataFrame(X, schema=names))
    return seconds, float(roc_auc_score(y, values)), peak, machine.n_iter_


def fit_in_memory(n_rows: int) -> tuple[float, float, float, int]:
    """Return seconds, AUROC, peak memory and steps of a fit to rows in memory."""
    InfiniteEnsembleClassifier(**SETTINGS).fit(*make_threenorm(1_000, random_state=0))
    X, y = make_threenorm(n_rows, random_state=0)
    start = time.perf_counter()
    machine = InfiniteEnsembleClassifier(**SETTINGS).fit(X, y)
    seconds = time.perf_counter() - start
    peak = peak_bytes()
    X, y = make_threenorm(TEST_ROWS, random_state=987)
    return seconds, float(roc_auc_score(y, machine.decision_function(X))), peak, machine.n_iter_


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--memory-rows", type=int, default=2_000_000)
    parser.add_argument("--block-rows", type=int, default=250_000)
    parser.add_argument("--folder", default=None, help="where the files are written")
    asked = parser.parse_args()
    print("| rows | from | s | µs per row | steps | AUROC | peak memory, GB |")
    print("|---|---|---|---|---|---|---|", flush=True)
    memory = in_new_process(fit_in_memory, asked.memory_rows)
    show(asked.memory_rows, "memory", memory)
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        write(Path(folder), asked.rows)
        blocks = in_new_process(fit_blocks, Path(folder), asked.block_rows)
    show(asked.rows, "Parquet", blocks)
    ratio = blocks[0] / asked.rows / (memory[0] / asked.memory_rows)
    print(f"\nTime per row, Parquet / memory: {ratio:.2f}.")


def show(n_rows: int, origin: str, found: tuple[float, float, float, int]) -> None:
    """Print a row of the table."""
    seconds, auroc, peak, n_steps = found
    print(
        f"| {n_rows:,} | {origin} | {seconds:.1f} | {1e6 * seconds / n_rows:.2f} | {n_steps} "
        f"| {auroc:.4f} | {peak / 1e9:.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()

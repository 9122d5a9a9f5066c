"""Fit on Dask clusters of one and two single-threaded workers, against LightGBM on the same.

Rows are threenorm with 20 features, made by the workers and persisted there. The script prints,
for several numbers of rows and both clusters, the time of a fit (after one to few rows, which
compiles), its AUROC, the rounds and bytes of a Newton step as the client counts them, and all
bytes on the loopback device during the fit, with samples for quantiles and heartbeats; then a cost
model with the coefficients that agree best with these times,

    seconds = base + rounds * latency + rows / workers * time_per_row,

and what it predicts. Run from the repository, on Linux:
``.venv/bin/python benchmarks/bench_cluster.py [--rows 1250000 2500000 5000000] [--workers 1 2]
[--traffic-rows 100000 1000000 10000000] [--no-rival] [--predict 1000000000 32]``.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

import argparse
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from kernsemble.dask import DaskInfiniteEnsembleClassifier
from kernsemble.datasets import make_threenorm

N_FEATURES = 20
CHUNK_ROWS = 125_000
FEW_ROWS = 4_000
TEST_ROWS = 20_000
LINK = 1.25e9  # bytes per second of the client's network, 10 Gbit/s


class Measured(NamedTuple):
    """A fit on a cluster."""

    n_rows: int
    n_workers: int
    seconds: float
    auroc: float
    n_steps: int = 0
    n_rounds: int = 0
    n_bytes: int = 0  # of arrays and numbers
    on_wire: int = 0


class CostModel(NamedTuple):
    """Seconds of a fit: a base, a latency per round, and a time per row and worker."""

    base: float
    latency: float
    per_row: float
    n_rounds: float
    bytes_per_round: float  # and worker

    @classmethod
    def from_fits(cls, fits: list[Measured]) -> "CostModel":
        """Return the model with the smallest relative errors; base and latency share a column."""
        y = np.array([each.seconds for each in fits])
        rounds = np.array([each.n_rounds for each in fits])
        X = np.column_stack([rounds, [each.n_rows / each.n_workers for each in fits]])
        (latency, per_row), *_ = np.linalg.lstsq(X / y[:, np.newaxis], np.ones(len(y)), rcond=None)
        per_round = np.mean([each.n_bytes / each.n_rounds / each.n_workers for each in fits])
        return cls(0.0, latency, per_row, float(rounds.mean()), float(per_round))

    def seconds(self, n_rows: float, n_workers: int) -> float:
        """Return the predicted time, with the client's network as a bottleneck."""
        network = self.bytes_per_round * n_workers / LINK
        rounds = self.n_rounds * (self.latency + network)
        return self.base + rounds + self.per_row * n_rows / n_workers


def chunk(n_rows: int, seed: int) -> np.ndarray:
    """Return rows with their class in the last column."""
    X, y = make_threenorm(n_rows, n_features=N_FEATURES, random_state=seed)
    return np.column_stack([X, y])


def make_rows(client: Any, n_rows: int) -> tuple[Any, Any]:
    """Return persisted rows and classes."""
    from dask import array as da, delayed
    from distributed import wait

    sizes = [min(CHUNK_ROWS, n_rows - start) for start in range(0, n_rows, CHUNK_ROWS)]
    chunks = [
        da.from_delayed(delayed(chunk)(size, seed), (size, N_FEATURES + 1), float)
        for seed, size in enumerate(sizes)
    ]
    rows = da.concatenate(chunks)
    X, y = client.persist([rows[:, :-1], rows[:, -1].astype(np.int64)])
    wait([X, y])
    client.rebalance()
    return X, y


def loopback_bytes() -> int:
    """Return the bytes that were sent on the loopback device."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.split()[0] == "lo:")


def fit_ours(client: Any, X: Any, y: Any) -> Measured:
    """Fit our machine, and measure."""
    machine = DaskInfiniteEnsembleClassifier(loss="logistic", client=client)
    before, start = loopback_bytes(), time.perf_counter()
    machine.fit(X, y)
    seconds, wire = time.perf_counter() - start, loopback_bytes() - before
    X_test, y_test = make_threenorm(TEST_ROWS, n_features=N_FEATURES, random_state=987)
    return Measured(
        len(X),
        len(client.scheduler_info()["workers"]),
        seconds,
        float(roc_auc_score(y_test, machine.decision_function(X_test))),
        machine.n_iter_,
        machine.traffic_.n_rounds,
        machine.traffic_.n_bytes,
        wire,
    )


def fit_rival(client: Any, X: Any, y: Any) -> Measured:
    """Fit LightGBM on the same cluster."""
    from lightgbm import DaskLGBMClassifier

    machine = DaskLGBMClassifier(client=client, verbose=-1, n_jobs=1)
    start = time.perf_counter()
    machine.fit(X, y)
    seconds = time.perf_counter() - start
    X_test, y_test = make_threenorm(TEST_ROWS, n_features=N_FEATURES, random_state=987)
    values = machine.to_local().predict_proba(X_test)[:, 1]
    n_workers = len(client.scheduler_info()["workers"])
    return Measured(len(X), n_workers, seconds, float(roc_auc_score(y_test, values)))


def show(name: str, found: Measured) -> None:
    """Print a row of the table."""
    per_step = ""
    if found.n_steps:
        numbers = found.n_rounds, found.n_bytes / 1e6
        per_step = " | ".join(f"{each / found.n_steps:.3g}" for each in numbers)
        per_step += f" | {found.on_wire / 1e6:.3g}"
    print(
        f"| {name} | {found.n_rows:,} | {found.n_workers} | {found.seconds:.1f} "
        f"| {found.auroc:.4f} | {found.n_steps or ''} | {per_step or ' | | '} |",
        flush=True,
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_250_000, 2_500_000, 5_000_000])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--traffic-rows", type=int, nargs="*", default=[100_000, 1_000_000, 10_000_000]
    )
    parser.add_argument("--no-rival", action="store_true")
    parser.add_argument("--predict", type=int, nargs=2, default=[1_000_000_000, 32])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    from distributed import Client, LocalCluster

    columns = "rounds per step | MB per step | MB on the wire in all"
    print(f"| model | rows | workers | s | AUROC | steps | {columns} |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    fits: list[Measured] = []
    for n_workers in asked.workers:
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, dashboard_address=None, memory_limit=0
            ) as cluster,
            Client(cluster) as client,
        ):
            fit_ours(client, *make_rows(client, FEW_ROWS))  # compiles
            is_last = n_workers == asked.workers[-1]
            for n_rows in sorted({*asked.rows, *(asked.traffic_rows if is_last else ())}):
                X, y = make_rows(client, n_rows)
                found = fit_ours(client, X, y)
                show("kernsemble", found)
                if n_rows in asked.rows:
                    fits.append(found)
                    if not asked.no_rival and find_spec("lightgbm"):
                        show("LightGBM", fit_rival(client, X, y))
                del X, y
    report(fits, *asked.predict)


def report(fits: list[Measured], n_rows: int, n_workers: int) -> None:
    """Print the speed-up, and the cost model with its prediction."""
    largest = max(each.n_rows for each in fits)
    times = {each.n_workers: each.seconds for each in fits if each.n_rows == largest}
    fewest = min(times)
    for each, seconds in times.items():
        print(f"\n{each} workers, {largest:,} rows: {times[fewest] / seconds:.2f} times faster.")
    model = CostModel.from_fits(fits)
    errors = [abs(model.seconds(each.n_rows, each.n_workers) / each.seconds - 1) for each in fits]
    print(
        f"\nCost model: {1e3 * model.latency:.3g} ms per round, {model.n_rounds:.0f} rounds, "
        f"{1e6 * model.per_row:.3g} µs per row and worker, {model.bytes_per_round / 1e3:.3g} kB "
        f"per round and worker; largest error {100 * max(errors):.0f} %."
    )
    seconds = model.seconds(n_rows, n_workers)
    print(f"{n_rows:,} rows on {n_workers} workers: {seconds / 60:.1f} minutes.")


if __name__ == "__main__":
    main()

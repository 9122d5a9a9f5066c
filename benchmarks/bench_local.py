"""Machines on the leaves of partitions: what pays, and their cost up to a million rows.

Every variant is fitted to 16,000 training rows of a data set, and 4,000 other training rows select
C and give the scores; no test row is used. Seconds are those of the process, for one C and without
the scaling. The last table has fits to threenorm with 20 features. Run from the repository, with
the data sets in the folder KERNSEMBLE_DATA: ``.venv/bin/python benchmarks/bench_local.py``.
"""

import os

THREADS = {"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
os.environ.update(THREADS)

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from kernsemble._memory import Budget
from kernsemble._progress import Task
from kernsemble.datasets import load, make_threenorm
from kernsemble.kernels import Laplacian
from kernsemble.solvers import partition
from kernsemble.solvers.losses import Squared
from kernsemble.svm import InfiniteEnsembleClassifier
from kernsemble.svm.backends.base import Candidate, SolverSettings, TrainingRows
from kernsemble.svm.backends.local import LocalBackend
from kernsemble.svm.problem import Problem

N_TRAINING, N_HELD_OUT = 16_000, 4_000
NUMBERS = ("california_housing", "diamonds")
SETS = {  # the scaling, the width, and the values of C
    "magic": ("learned", 1.0, (4.0, 16.0)),
    "ijcnn1": ("learned", 2.0, (4.0, 16.0)),
    "cod_rna": ("learned", 1.0, (4.0, 16.0)),
    "covtype20k": ("learned", 2.0, (4.0, 16.0)),
    "bank_marketing": ("learned-effects", 1.0, (0.25, 1.0)),
    "adult": ("learned-effects", 1.0, (0.25, 1.0)),
    "california_housing": ("learned-effects", 1.0, (16.0, 64.0)),
    "diamonds": ("learned-effects", 1.0, (64.0, 256.0)),
}


def single_feature(X: Any, rows: Any, rng: np.random.Generator) -> Any:
    """Return the direction of one feature, drawn by its spread, which contains its weight."""
    spread = X[rows].std(axis=0).astype(float)
    spread = spread if spread.any() else np.ones_like(spread)
    return np.eye(X.shape[1])[rng.choice(X.shape[1], p=spread / spread.sum())]


def principal_direction(X: Any, rows: Any, rng: np.random.Generator) -> Any:
    """Return the first principal direction of some rows, by iterations from a random one."""
    centred, v = X[rows] - X[rows].mean(axis=0), rng.normal(size=X.shape[1])
    for _ in range(5):
        v = centred.T @ (centred @ v)
        v /= np.linalg.norm(v) or 1.0
    return v.astype(np.float64)


class Variant(NamedTuple):
    """A backend, and the directions of its splits."""

    name: str
    backend: LocalBackend
    direction: Callable[..., Any] = partition._direction


PLAIN = LocalBackend(leaf_rows=2_000, n_partitions=3, overlap=0.0)
VARIANTS = [
    Variant("leaves of 2,000, 1 partition", replace(PLAIN, n_partitions=1)),
    Variant("leaves of 2,000, 3 partitions", PLAIN),
    Variant("the same, single features", PLAIN, single_feature),
    Variant("the same, principal directions", PLAIN, principal_direction),
    Variant("leaves of 1,500, overlap 0.05, 3 partitions", LocalBackend(1_500, 3, 0.05)),
    Variant("leaves of 1,500, overlap 0.1, 3 partitions", LocalBackend(1_500, 3, 0.1)),
    Variant("leaves of 1,000, overlap 0.1, 1 partition", LocalBackend(1_000, 1, 0.1)),
    Variant("**leaves of 1,000, overlap 0.1, 3 partitions**", LocalBackend(1_000, 3, 0.1)),
]


class Table(NamedTuple):
    """Rows of a data set with their problems, and the rows that are held out."""

    rows: TrainingRows
    problems: list[Problem]
    held_out: Any
    is_numbers: bool

    @classmethod
    def named(cls, name: str) -> "Table":
        """Return a random sample of a data set."""
        data, rng = load(name), np.random.default_rng(0)
        some = rng.permutation(len(data.y))[: N_TRAINING + N_HELD_OUT]
        X, y, is_numbers = np.asarray(data.X, float)[some], data.y[some], name in NUMBERS
        if is_numbers:
            targets = ((y - y.mean()) / y.std())[:, np.newaxis]
        else:
            classes = np.unique(y)
            classes = classes[1:] if len(classes) == 2 else classes
            targets = np.where(y[:, np.newaxis] == classes, 1.0, -1.0)
        weight = np.ones(len(X))
        problems = [Problem(Squared.from_targets(each.copy(), weight)) for each in targets.T]
        rows = TrainingRows(X, weight, np.asarray(data.is_categorical), targets)
        held_out = np.arange(len(X))[-min(N_HELD_OUT, len(X) // 5) :]
        return cls(rows, problems, held_out, is_numbers)

    def score(self, values: Any) -> str:
        """Return the RMSE, or the error in percent and, for two classes, the AUROC."""
        truth = self.rows.targets[self.held_out]  # type: ignore[index]
        if self.is_numbers:
            return f"{np.sqrt(((values - truth) ** 2).mean()):.4f}"
        if truth.shape[1] == 1:
            error = ((values > 0.0) != (truth > 0.0)).mean()
            return f"{100 * error:.2f} / {roc_auc_score(truth[:, 0], values[:, 0]):.4f}"
        return f"{100 * (values.argmax(axis=1) != truth.argmax(axis=1)).mean():.2f}"


def run(name: str, table: Table, variant: Variant) -> str:
    """Return the score of a variant at its best C, the C, and the seconds per C."""
    kind, width, Cs = SETS[name]
    partition._direction = variant.direction
    settings = SolverSettings(1e-3, None, Budget.from_megabytes(2_000), random_state=0)
    workspace = variant.backend.open(table.rows, settings)
    prepared = workspace.prepare(Candidate(Laplacian(width), kind))  # type: ignore[arg-type]
    prepared.scaled_among(np.delete(np.arange(table.rows.n_rows), table.held_out))
    start = time.process_time()
    found = prepared.solve_all_folds(table.problems, Cs, [table.held_out], settings, Task.silent())
    seconds = (time.process_time() - start) / len(Cs)
    values = np.stack([folds[0].decisions for folds in found], axis=2)
    truth = table.rows.targets[table.held_out]  # type: ignore[index]
    best = int(np.argmin(((values - truth) ** 2).sum(axis=2).mean(axis=1)))
    return f"{table.score(values[best])} (C {Cs[best]:g}, {seconds:.1f} s)"


def main_accuracy(names: list[str]) -> None:
    """Print a row per variant and a column per data set."""
    tables = {name: Table.named(name) for name in names}
    print(f"| variant | {' | '.join(names)} |\n|---{'|---' * len(names)}|")
    for variant in VARIANTS:
        cells = [run(name, table, variant) for name, table in tables.items()]
        print(f"| {variant.name} | {' | '.join(cells)} |", flush=True)


def main_scale(sizes: list[int]) -> None:
    """Print the time of fits and of predictions, and the peak memory."""
    Z, z = make_threenorm(20_000, random_state=1)
    settings: dict[str, Any] = {"solver": "local", "loss": "squared", "scaling": "learned"}
    machine = InfiniteEnsembleClassifier("laplacian", C=2.0, random_state=0, **settings)
    machine.fit(*make_threenorm(4_000, random_state=2)).predict(Z)
    print("| rows | fit, s | of the process | prediction, µs per row | error, % | peak, GB |")
    print("|---|---|---|---|---|---|")
    for n_rows in sizes:
        X, y = make_threenorm(n_rows, random_state=0)
        start, start_of_process = time.perf_counter(), time.process_time()
        machine.fit(X, y)
        fit, of_process = time.perf_counter() - start, time.process_time() - start_of_process
        start = time.perf_counter()
        error = 100.0 * (1.0 - machine.score(Z, z))
        predict = 1e6 * (time.perf_counter() - start) / len(Z)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        cells = f"{n_rows:,}", f"{fit:.0f}", f"{of_process:.0f}", f"{predict:.0f}", f"{error:.2f}"
        print(f"| {' | '.join((*cells, f'{peak:.1f}'))} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["scale"]:
        main_scale([10_000, 100_000, 1_000_000])
    else:
        main_accuracy(sys.argv[1:] or list(SETS))

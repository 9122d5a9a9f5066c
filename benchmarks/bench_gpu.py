r"""One GPU: the squared loss and the hinge at 10⁵ and 10⁶ rows, and products with a kernel.

All problems are threenorm with 20 features in float32, with the seeds of ``bench_scale.py``;
seconds are those of ``fit`` with rows and machine in the memory of the process, after a small fit
that compiles the programs. A section that fails is reported, and the others run. Every record is a
line of a file in the folder ``--store``, or of the folder in the environment variable OUT:

- ``squared``: 10⁵ rows, five values of C with left-out scores in five folds, and the last fit
- ``large``: 10⁶ rows to a relative residual of 1e-3, and of ``--converged`` for comparison
- ``hinge``: 10⁵ rows to tol = 1e-3, and 20,000 rows by the device and by the processor
- ``products``: K v at 10⁶ rows for 1, 16 and 32 columns
- ``agreement``: decision values against the exact backend, and of saved machines without the GPU
- ``vote``: ``kernel="auto"`` on the device, of 10⁴ rows and more

A product computes per pair of rows :math:`2 D` additions for the distance (subtract, add; the
absolute value is free), three operations for the kernel and one per column. None of the additions
can be fused, so each takes the issue slot that the peak counts as two operations: the roofline of
the product is ``multiprocessors x 128 x clock`` instructions per second, half of the peak in
operations, and memory is no limit (rows stay in the cache). In products of rows with
themselves each pair is computed once where that pays, and counted once. Error against seconds by
number of rows is in ``bench_scale.py --methods trees_gpu trees_local``.

Run from the repository: ``PYTHONPATH=src python benchmarks/bench_gpu.py``; ``--render`` only prints
the tables of stored records.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from kernsemble.datasets import make_threenorm
from kernsemble.devices import device
from kernsemble.kernels import Exponential, Laplacian, Perceptron
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV
from kernsemble.svm.backends import BACKENDS

STORE = Path(__file__).parent / "results" / "gpu"
CS = (0.0625, 0.25, 1.0, 4.0, 16.0)
TEST_ROWS = 20_000
LARGE, MEDIUM, SMALL = 1_000_000, 100_000, 20_000
OPERATIONS_OF_KERNEL = (
    3  # per pair of rows: scale, exponential, and a product with the first column
)

WITHOUT_GPU = """
import pickle, sys
import numpy as np
machine, X = pickle.loads(open(sys.argv[1], "rb").read())
np.save(sys.argv[2], machine.decision_function(X))
"""


def threenorm(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in single precision and their classes."""
    X, y = make_threenorm(n, random_state=seed)
    return X.astype(np.float32), y


def classifier(**settings: Any) -> InfiniteEnsembleClassifier:
    """Return the classifier of trees on the device."""
    settings = {"kernel": Laplacian(), "solver": "cuda", "loss": "squared", **settings}
    return InfiniteEnsembleClassifier(**settings)


class Bench:
    """The device, and the records of what was measured on it."""

    def __init__(self, store: Path, options: argparse.Namespace) -> None:
        self.device, self.store, self.options = device("cuda"), store, options
        store.mkdir(parents=True, exist_ok=True)
        self.best_C = options.C
        backend = BACKENDS["cuda"]
        if options.rank is not None:
            backend = replace(backend, tuning=replace(backend.tuning, rank=options.rank))
            BACKENDS["cuda"] = backend

    def record(self, section: str, **values: Any) -> None:
        """Store a record, and print it."""
        found = {"section": section, "device": self.device.describe(), **driver(), **values}
        with (self.store / f"{section}.jsonl").open("a") as file:
            file.write(json.dumps(found) + "\n")
        shown = {k: v for k, v in found.items() if k not in {"device", "driver"}}
        print(json.dumps(shown), flush=True)

    @contextmanager
    def timed(self, values: dict[str, Any]) -> Iterator[None]:
        """Add the seconds of a block, and the peak memory of the device, to a record."""
        pool = self.device.xp.get_default_memory_pool()
        pool.free_all_blocks()
        start = time.perf_counter()
        yield
        self.device.synchronize()
        values["seconds"] = time.perf_counter() - start
        values["peak_gigabytes"] = pool.total_bytes() / 1e9

    def fit(self, estimator: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
        """Fit an estimator, and return seconds, memory, error on test rows and evidence."""
        values: dict[str, Any] = {"rows": len(X)}
        with self.timed(values):
            estimator.fit(X, y)
        start = time.perf_counter()
        values["error"] = 1.0 - estimator.score(*threenorm(TEST_ROWS, 1))
        values["predict_seconds"] = time.perf_counter() - start
        values["n_iter"] = int(estimator.n_iter_)
        values["objective"] = float(estimator.objective_[0])
        values["gap"] = float(estimator.duality_gap_[0])
        values["C"] = float(estimator.C_)
        residual = getattr(estimator, "relative_residual_", None)
        return values if residual is None else {**values, "residual": float(residual.max())}

    def warm_up(self) -> None:
        """Compile the programs of the device."""
        X, y = threenorm(3_000)
        values: dict[str, Any] = {"rows": len(X)}
        with self.timed(values):
            for loss in ("squared", "hinge"):
                classifier(loss=loss).fit(X, y).predict(X)
            few = replace(BACKENDS["cuda"].tuning, factor_work=0.0, share_of_matrix=0.0)
            cuda, BACKENDS["cuda"] = BACKENDS["cuda"], replace(BACKENDS["cuda"], tuning=few)
            self.selection().fit(X, y)
            BACKENDS["cuda"] = cuda
        self.record("warm_up", **values)

    def selection(self) -> InfiniteEnsembleClassifierCV:
        """Return the classifier that selects one of five values of C."""
        return InfiniteEnsembleClassifierCV(
            Laplacian(), Cs=list(CS), cv=5, loss="squared", solver="cuda", calibration=None,
            scaling="range",
        )  # fmt: skip

    def squared(self) -> None:
        """Select one of five values of C by left-out scores, at 10⁵ rows."""
        machine = self.selection()
        values = self.fit(machine, *threenorm(MEDIUM))
        self.best_C = float(machine.C_)
        scores = machine.cv_results_["mean_test_score"].tolist()
        self.record("squared", scores=scores, **values)
        whole = classifier(C=self.best_C)
        self.record("squared", what="one C, all rows", **self.fit(whole, *threenorm(MEDIUM)))

    def large(self) -> None:
        """Fit 10⁶ rows to two residuals."""
        rows = threenorm(self.options.large_rows)
        for tol in (1e-3, self.options.converged):
            if tol is not None:
                self.record("large", tol=tol, **self.fit(classifier(C=self.best_C, tol=tol), *rows))

    def hinge(self) -> None:
        """Fit support vector machines, also by the processor for fewer rows."""
        for n, solver in ((MEDIUM, "cuda"), (SMALL, "cuda"), (SMALL, "exact")):
            machine = classifier(loss="hinge", solver=solver, tol=1e-3)
            self.record("hinge", solver=solver, **self.fit(machine, *threenorm(n)))

    def products(self) -> None:
        """Multiply columns by the matrix of a kernel."""
        X, _ = threenorm(self.options.large_rows)
        xp, properties = self.device.xp, self.properties()
        for name, kernel in (("laplacian", Laplacian(0.05)), ("perceptron", Perceptron())):
            on_device = self.device.kernel(kernel.bind(X), "float32")
            known = on_device.prepare(X)
            for k in (1, 16, 32):
                V = xp.ones((len(X), k), dtype=np.float32)
                few = known[: len(X) // 10]
                on_device.product(few, None, V[: len(few)])  # compiled
                values: dict[str, Any] = {"kernel": name, "rows": len(X), "columns": k}
                with self.timed(values):
                    on_device.product(known, None, V)
                pairs, others = len(X) ** 2, k - 1
                if on_device.computes_pairs_once(known, known, k):
                    pairs, others = pairs * k / 2, 1  # a pair is multiplied for both of its rows
                slots = pairs * (2.0 * X.shape[1] + OPERATIONS_OF_KERNEL + others)
                values["pairs_computed"] = float(pairs)
                values["slots_per_second"] = slots / values["seconds"]
                values["share_of_slots"] = values["slots_per_second"] / properties["slots"]
                self.record("products", **values)

    def properties(self) -> dict[str, float]:
        """Return the instructions per second that the device can issue in single precision."""
        runtime = self.device.xp.cuda.runtime
        found = runtime.getDeviceProperties(0)
        clock = runtime.deviceGetAttribute(13, 0)  # kHz; no longer a property in CUDA 13
        return {"slots": 128.0 * found["multiProcessorCount"] * 1e3 * clock}

    def agreement(self) -> None:
        """Compare decision values with the processor's, in both precisions."""
        X, y = threenorm(5_000)
        X_test, _ = threenorm(5_000, 1)
        for dtype in (np.float32, np.float64):
            for kernel in (Laplacian(), Exponential(), Perceptron()):
                for loss in ("squared", "hinge"):
                    tol = 1e-3 if loss == "squared" else 1e-5
                    machines = [
                        classifier(kernel=kernel, loss=loss, solver=each, tol=tol).fit(
                            X.astype(dtype), y
                        )
                        for each in ("exact", "cuda")
                    ]
                    rows, is_first = X_test.astype(dtype), isinstance(kernel, Laplacian)
                    expected, found = (each.decision_function(rows) for each in machines)
                    self.record(
                        "agreement",
                        kernel=str(kernel),
                        loss=loss,
                        dtype=np.dtype(dtype).name,
                        difference=float(np.abs(expected - found).max()),
                        labels_that_differ=int(np.sum((expected > 0) != (found > 0))),
                        elsewhere=elsewhere(machines[1], rows, found) if is_first else None,
                    )

    def vote(self) -> None:
        """Fit the automatic machine, whose kernels the device solves."""
        for n in (10_000, 30_000):
            machine = InfiniteEnsembleClassifierCV("auto", solver="cuda", random_state=0)
            values: dict[str, Any] = {"rows": n}
            X, y = threenorm(n)
            with self.timed(values):
                machine.fit(X, y)
            values["error"] = 1.0 - machine.score(*threenorm(TEST_ROWS, 1))
            members = [f"{each.share:.0%} {each.name}" for each in machine.members_]
            self.record("vote", **values, members=", ".join(members))


def elsewhere(machine: Any, X: np.ndarray, expected: np.ndarray) -> float:
    """Return the largest difference of the values of a saved machine in a process without GPU."""
    with TemporaryDirectory() as folder:
        path, out = Path(folder) / "machine.pickle", Path(folder) / "values.npy"
        path.write_bytes(pickle.dumps((machine, X)))
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
        arguments = [sys.executable, "-c", WITHOUT_GPU, str(path), str(out)]
        subprocess.run(arguments, check=True, env=environment)
        return float(np.abs(np.load(out) - expected).max())


def driver() -> dict[str, str]:
    """Return the version of the driver."""
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return {
            "driver": subprocess.run(
                command, check=True, capture_output=True, text=True
            ).stdout.strip()
        }
    except (OSError, subprocess.CalledProcessError):
        return {"driver": "unknown"}


def render(store: Path) -> None:
    """Print the tables of stored records."""
    found = [json.loads(line) for path in sorted(store.glob("*.jsonl")) for line in path.open()]
    if not found:
        print(f"no records in {store}")
        return
    print(f"{found[0]['device']}, driver {found[0]['driver']}\n")
    for section in dict.fromkeys(each["section"] for each in found):
        mine = [each for each in found if each["section"] == section]
        hidden = {"section", "device", "driver", "scores"}
        titles = list(dict.fromkeys(key for each in mine for key in each if key not in hidden))
        print(f"**{section}**\n\n| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
        for each in mine:
            print(f"| {' | '.join(shown(each.get(title)) for title in titles)} |")
        print()


def shown(value: Any) -> str:
    """Return a value of a table."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1e5 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def main() -> None:
    """Measure the sections."""
    sections: dict[str, Callable[[Bench], None]] = {
        name: getattr(Bench, name)
        for name in ("products", "squared", "hinge", "large", "agreement", "vote")
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sections", nargs="+", default=list(sections), choices=list(sections))
    parser.add_argument("--store", type=Path, default=Path(os.environ.get("OUT", STORE)))
    parser.add_argument("--render", action="store_true", help="only print what is stored")
    parser.add_argument("--converged", type=float, help="second residual of the section large")
    parser.add_argument("--rank", type=int, help="number of pivots of the preconditioner")
    parser.add_argument("--large-rows", type=int, default=LARGE)
    parser.add_argument("--C", type=float, default=4.0, help="C where none is selected")
    options = parser.parse_args()
    if not options.render:
        bench = Bench(options.store, options)
        print(bench.device.describe(), driver(), flush=True)
        bench.warm_up()
        for name in options.sections:
            start = time.perf_counter()
            try:
                sections[name](bench)
            except Exception:
                traceback.print_exc()
            bench.device.xp.get_default_memory_pool().free_all_blocks()
            print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
    render(options.store)


if __name__ == "__main__":
    main()

"""Time, error and memory as rows grow: tables against boosting, on one machine with two threads.

Threenorm has 20 features, and 10,000, 100,000 and a million rows; ``--sets`` names data sets
whose columns are given as they are, categories and missing values included. Every fit is in a
process of its own that has first fitted the same method to few rows, so that compiling is
reported apart. Memory is how far the peak rises above that of the process with the data in it,
plus the data. The exponent is the slope of log(time) against log(rows), between the two
largest sizes. Methods that are not installed are left out: LightGBM, and the explainable
boosting machine of interpret, without interactions. Run from the repository, with the data folder
in ``KERNSEMBLE_DATA``: ``.venv/bin/python benchmarks/bench_scale.py [--rows ...] [--sets ...]
[--methods ...]``.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from timing import in_new_process, peak_bytes

from kernsemble.datasets import load, make_threenorm
from kernsemble.kernels import Stump
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV

TEST_ROWS = 20_000
FEW_ROWS = 500  # to compile with
SUPPORT_VECTORS = 5_000
SLOW = {"ebm": 200_000, "perceptron": 200_000, "svc": 10_000}  # the most rows for these
SETS = ("adult", "bank_marketing", "magic", "mammography", "coil2000", "spam")
MEASURES = ["stump", Stump(measure="empirical"), Stump(measure="distinct")]


def explainable_boosting() -> Any:
    """Return the explainable boosting machine without interactions."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(interactions=0, n_jobs=2, random_state=0)


def light_boosting() -> Any:
    """Return LightGBM's classifier."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=2, verbose=-1)


def stumps() -> Any:
    """Return the machine of all stumps."""
    return InfiniteEnsembleClassifier(solver="additive")


def perceptrons() -> Any:
    """Return the machine of perceptrons in sampled directions."""
    return InfiniteEnsembleClassifier("perceptron", solver="additive", random_state=0)


def chosen(loss: str, scoring: str | None = None) -> Any:
    """Return the machine that chooses C and the measure on thresholds."""
    return InfiniteEnsembleClassifierCV(MEASURES, loss=loss, scoring=scoring, cv=3)


METHODS: dict[str, Callable[[], Any]] = {
    "stump": stumps,
    "perceptron": perceptrons,
    "hist": partial(HistGradientBoostingClassifier, categorical_features="from_dtype"),
    "lightgbm": light_boosting,
    "ebm": explainable_boosting,
    "svc": partial(SVC, C=0.1),
    "logistic, chosen": partial(chosen, "logistic", "roc_auc"),
    "hinge, chosen": partial(chosen, "hinge"),
}
NEEDED = {"lightgbm": "lightgbm", "ebm": "interpret"}
AT_SCALE = ("stump", "perceptron", "hist", "lightgbm", "ebm", "svc")
ON_SETS = ("logistic, chosen", "hinge, chosen", "hist", "lightgbm", "ebm")


@dataclass(frozen=True)
class Outcome:
    """What a method did: errors on test rows, seconds, and memory in units of the data."""

    error: float
    auroc: float
    first_seconds: float
    seconds: float
    memory: float


def threenorm(n: int) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows of threenorm."""
    (X, y), (X_test, y_test) = (
        make_threenorm(size, random_state=seed) for seed, size in enumerate((n, TEST_ROWS))
    )
    return X, X_test, y, y_test


def raw_table(name: str) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows of a data set, with named categories where it has them."""
    dataset = load(name)
    X = pd.DataFrame(dataset.X, columns=dataset.feature_names)
    for column, names in dataset.categories.items():
        if names:
            codes = X[column].fillna(-1).astype(int)
            X[column] = pd.Categorical.from_codes(codes, list(names))
    if dataset.splits:
        train, test = dataset.splits[0]
        return X.iloc[train], X.iloc[test], dataset.y[train], dataset.y[test]
    return tuple(train_test_split(X, dataset.y, test_size=0.3, stratify=dataset.y, random_state=0))


def measure(method: str, source: Callable[[Any], tuple[Any, Any, Any, Any]], asked: Any) -> Outcome:
    """Fit a method, first to few rows and then to all, and test it."""
    X, X_test, y, y_test = source(asked)
    few = np.sort(np.random.default_rng(0).permutation(len(y))[:FEW_ROWS])
    start = time.perf_counter()
    METHODS[method]().fit(X.iloc[few] if hasattr(X, "iloc") else X[few], y[few])
    first, before = time.perf_counter() - start, peak_bytes()
    n_bytes = 8 * X.shape[0] * X.shape[1]
    start = time.perf_counter()
    machine = METHODS[method]().fit(X, y)
    seconds = time.perf_counter() - start
    memory = 1.0 + (peak_bytes() - before) / n_bytes
    if hasattr(machine, "decision_function"):
        values = machine.decision_function(X_test)
    else:
        values = machine.predict_proba(X_test)[:, 1]
    error = float((machine.predict(X_test) != y_test).mean())
    return Outcome(error, float(roc_auc_score(y_test, values)), first, seconds, memory)


def predict_speed() -> tuple[float, float]:
    """Return the microseconds a row that tables take, and SVC with the same kernel."""
    X, y = make_threenorm(2 * SUPPORT_VECTORS, random_state=0)
    y = np.random.default_rng(0).permutation(y)  # so that nearly all rows are support vectors
    machine = InfiniteEnsembleClassifier(solver="additive").fit(X, y)
    kernel = machine.kernel_
    scaled = machine.scaling_.transform(X[:SUPPORT_VECTORS])
    exact = SVC(kernel=kernel, C=machine.C_).fit(scaled, y[:SUPPORT_VECTORS])
    asked = make_threenorm(TEST_ROWS, random_state=1)[0]
    times = []
    for decide, rows in (
        (machine.decision_function, asked),
        (exact.decision_function, machine.scaling_.transform(asked[:2_000])),
    ):
        decide(rows)
        start = time.perf_counter()
        decide(rows)
        times.append(1e6 * (time.perf_counter() - start) / len(rows))
    return times[0], times[1]


def is_there(method: str, n_rows: int = 0) -> bool:
    """Tell whether a method is installed, and can finish on so many rows."""
    installed = method not in NEEDED or find_spec(NEEDED[method]) is not None
    return installed and n_rows <= SLOW.get(method, n_rows)


def compare_sizes(sizes: list[int], methods: list[str]) -> None:
    """Print how methods fare on threenorm as rows grow."""
    print("| rows | method | error, % | seconds | first call, s | memory / data |")
    print("|---|---|---|---|---|---|")
    times: dict[str, list[tuple[int, float]]] = {}
    for n in sizes:
        for method in methods:
            if method not in AT_SCALE or not is_there(method, n):
                continue
            found = in_new_process(measure, method, threenorm, n)
            times.setdefault(method, []).append((n, found.seconds))
            print(
                f"| {n:,} | {method} | {100 * found.error:.1f} | {found.seconds:.2f} | "
                f"{found.first_seconds:.1f} | {found.memory:.1f} |",
                flush=True,
            )
    for method, points in times.items():
        if len(points) > 1:
            (n, slow), (m, quick) = points[-1], points[-2]
            slope = np.log(slow / quick) / np.log(n / m)
            print(f"\n{method}: time grows as rows to the power {slope:.2f}")


def compare_sets(names: list[str], methods: list[str]) -> None:
    """Print how methods fare on data sets, choices included."""
    print("\n| set | rows | method | AUROC | error, % | seconds |")
    print("|---|---|---|---|---|---|")
    for name in names:
        n = len(raw_table(name)[2])
        for method in methods:
            if method not in ON_SETS or not is_there(method):
                continue
            found = in_new_process(measure, method, raw_table, name)
            print(
                f"| {name} | {n:,} | {method} | {found.auroc:.4f} | "
                f"{100 * found.error:.1f} | {found.seconds:.2f} |",
                flush=True,
            )


def main() -> None:
    """Run the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    asked = parser.parse_args()
    compare_sizes(asked.rows, asked.methods)
    compare_sets(asked.sets, asked.methods)
    tables, matrix = in_new_process(predict_speed)
    print(
        f"\nA row is decided in {tables:.2f} microseconds by tables, in {matrix:.0f} by SVC with "
        f"{SUPPORT_VECTORS:,} support vectors: {matrix / tables:.0f} times as long."
    )


if __name__ == "__main__":
    main()

"""Compare time, error and memory with popular classifiers, as the number of rows grows.

Threenorm has 20 features, and 10,000, 100,000 and a million rows; ``--sets`` names data sets,
whose columns are unchanged, including categories and missing values. Every fit is in a
separate process with two threads, which has first fitted the same method to few rows, so that
compilation is reported separately; short fits are repeated, and the shortest time is reported.
Memory is the increase of the peak over that of the process with the data, plus the data. The
exponent is the slope of log(time) against log(rows) over the two largest sizes. Rivals that are
not installed are left out: LightGBM, the explainable boosting machine of interpret-core without
interactions ("EBM"), and scikit-learn-intelex. Run from the repository, with the data folder in
``KERNSEMBLE_DATA``: ``.venv/bin/python benchmarks/bench_scale.py [--rows ...] [--sets ...]
[--methods ...] [--picture docs/images/time-against-rows.png]``.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from joblib.externals.loky import get_reusable_executor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.svm import SVC
from timing import best_times, in_new_process, peak_bytes

from kernsemble.datasets import load, make_threenorm
from kernsemble.kernels import Stump
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV

TEST_ROWS = 20_000
FEW_ROWS = 500  # number of rows of the first fit, which compiles
REPEATS, LONG = 3, 20.0  # maximum number of fits, and of seconds after which none is started
SUPPORT_VECTORS = 5_000
SETS = ("adult", "bank_marketing", "magic", "mammography", "coil2000", "spam")
LARGER_SETS = ("covtype20k", "skin_nonskin", "kdd04_protein")
MEASURES = ["stump", Stump(measure="empirical"), Stump(measure="distinct")]


def explainable_boosting() -> Any:
    """Return the explainable boosting machine without interactions."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(interactions=0, n_jobs=2, random_state=0)


def light_boosting() -> Any:
    """Return LightGBM's classifier."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=2, verbose=-1)


def intelex() -> Any:
    """Return the support vector classifier of scikit-learn-intelex."""
    from sklearnex import svm

    return svm.SVC()


def tuned(loss: str, scoring: str | None = None) -> Any:
    """Return the classifier that selects C and the measure on thresholds."""
    return InfiniteEnsembleClassifierCV(MEASURES, loss=loss, scoring=scoring, cv=3)


@dataclass(frozen=True)
class Method:
    """A classifier, the package it needs, and the largest number of rows to run it on."""

    make: Callable[[], Any]
    most_rows: int = 10**9
    package: str = "sklearn"

    @property
    def is_installed(self) -> bool:
        """Whether its package is installed."""
        return find_spec(self.package) is not None


AT_SCALE = {
    "stumps": Method(partial(InfiniteEnsembleClassifier, solver="additive")),
    "perceptrons": Method(
        partial(InfiniteEnsembleClassifier, "perceptron", solver="additive", random_state=0),
        200_000,
    ),
    "trees": Method(
        partial(InfiniteEnsembleClassifier, "laplacian", solver="additive", random_state=0),
        200_000,
    ),
    "HistGradientBoosting": Method(HistGradientBoostingClassifier),
    "LightGBM": Method(light_boosting, package="lightgbm"),
    "EBM": Method(explainable_boosting, 200_000, "interpret"),
    "SVC": Method(SVC, 20_000),
    "SVC of intelex": Method(intelex, 20_000, "sklearnex"),
}
ON_SETS = {
    "logistic, tuned": Method(partial(tuned, "logistic", "roc_auc")),
    "hinge, tuned": Method(partial(tuned, "hinge")),
    "HistGradientBoosting": Method(
        partial(HistGradientBoostingClassifier, categorical_features="from_dtype")
    ),
    "LightGBM": AT_SCALE["LightGBM"],
    "EBM": Method(explainable_boosting, package="interpret"),
}
ON_LARGER_SETS = {
    "stumps": Method(partial(InfiniteEnsembleClassifier, Stump(measure="empirical"))),
    **{name: AT_SCALE[name] for name in ("perceptrons", "trees")},
    **{name: ON_SETS[name] for name in ("HistGradientBoosting", "LightGBM", "EBM")},
}


@dataclass(frozen=True)
class Outcome:
    """The result of a method: test error, AUROC, seconds, and memory in units of the data."""

    error: float
    auroc: float
    first_seconds: float
    seconds: float
    memory: float


Parts = tuple[Any, Any, Any, Any]


def threenorm(n: int) -> Parts:
    """Return training and test rows of threenorm."""
    (X, y), (X_test, y_test) = (
        make_threenorm(size, random_state=seed) for seed, size in enumerate((n, TEST_ROWS))
    )
    return X, X_test, y, y_test


def raw_table(name: str) -> Parts:
    """Return training and test rows of a data set, with its named categories.

    The split is that of the data set, or random, by whole groups if rows are grouped.
    """
    dataset = load(name)
    X = pd.DataFrame(dataset.X, columns=dataset.feature_names)
    for column, names in dataset.categories.items():
        if names:
            codes = X[column].fillna(-1).astype(int)
            X[column] = pd.Categorical.from_codes(codes, list(names))
    if dataset.splits:
        train, test = dataset.splits[0]
    elif dataset.groups is not None:
        split = GroupShuffleSplit(1, test_size=0.3, random_state=0)
        train, test = next(split.split(X, dataset.y, dataset.groups))
    else:
        train, test = train_test_split(
            np.arange(len(X)), test_size=0.3, stratify=dataset.y, random_state=0
        )
    return X.iloc[train], X.iloc[test], dataset.y[train], dataset.y[test]


def measure(method: Method, source: Callable[[Any], Parts], argument: Any) -> Outcome:
    """Fit a method, first to few rows and then to all, and test it."""
    warnings.simplefilter("ignore")
    X, X_test, y, y_test = source(argument)
    rng = np.random.default_rng(0)
    few = np.sort(rng.permutation(len(y))[:FEW_ROWS])
    few = np.union1d(few, [np.flatnonzero(y == label)[:3] for label in np.unique(y)])
    start = time.perf_counter()
    method.make().fit(X.iloc[few] if hasattr(X, "iloc") else X[few], y[few])
    first, before = time.perf_counter() - start, peak_bytes()
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < LONG:
        machine = method.make()
        start = time.perf_counter()
        machine.fit(X, y)
        times.append(time.perf_counter() - start)
        if len(times) == 1:
            memory = 1.0 + (peak_bytes() - before) / (8 * X.shape[0] * X.shape[1])
    get_reusable_executor().shutdown(kill_workers=True)  # or the process waits for them
    error = float((machine.predict(X_test) != y_test).mean())
    return Outcome(error, auroc(machine, X_test, y_test), first, min(times), memory)


def auroc(machine: Any, X: Any, y: Any) -> float:
    """Return the area under the ROC curve, NaN for more than two classes."""
    if len(np.unique(y)) > 2:
        return np.nan
    if hasattr(machine, "decision_function"):
        return float(roc_auc_score(y, machine.decision_function(X)))
    return float(roc_auc_score(y, machine.predict_proba(X)[:, 1]))


def predict_speed() -> tuple[float, float]:
    """Return the microseconds per row of predictions by tables, and by SVC with the same kernel."""
    X, y = make_threenorm(2 * SUPPORT_VECTORS, random_state=0)
    y = np.random.default_rng(0).permutation(y)  # so that nearly all rows are support vectors
    machine = InfiniteEnsembleClassifier(solver="additive").fit(X, y)
    scaled = machine.scaling_.transform(X[:SUPPORT_VECTORS])
    exact = SVC(kernel=machine.kernel_, C=machine.C_).fit(scaled, y[:SUPPORT_VECTORS])
    rows = make_threenorm(5 * TEST_ROWS, random_state=1)[0]
    some = machine.scaling_.transform(rows[:2_000])
    times = best_times(
        lambda: machine.decision_function(rows), lambda: exact.decision_function(some)
    )
    return 1e6 * times[0] / len(rows), 1e6 * times[1] / len(some)


def compare_sizes(
    sizes: list[int], methods: dict[str, Method]
) -> dict[str, list[tuple[int, float]]]:
    """Print the results on threenorm by number of rows; return rows and seconds of each method."""
    print("| rows | method | error, % | seconds | first call, s | memory / data |")
    print("|---|---|---|---|---|---|")
    points: dict[str, list[tuple[int, float]]] = {name: [] for name in methods}
    for n in sizes:
        for name, method in methods.items():
            if n > method.most_rows:
                continue
            found = in_new_process(measure, method, threenorm, n)
            points[name].append((n, found.seconds))
            print(
                f"| {n:,} | {name} | {100 * found.error:.2f} | {found.seconds:.2f} | "
                f"{found.first_seconds:.1f} | {found.memory:.1f} |",
                flush=True,
            )
    for name, reached in points.items():
        if len(reached) > 1:
            (n, slow), (m, quick) = reached[-1], reached[-2]
            slope = np.log(slow / quick) / np.log(n / m)
            print(f"\n{name}: time grows as rows to the power {slope:.2f}")
    return points


def draw(points: dict[str, list[tuple[int, float]]], place: str) -> None:
    """Draw time against rows."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8.0, 4.5), layout="constrained")
    ours = ("stumps", "perceptrons", "trees")
    for name, reached in points.items():
        style = {"linewidth": 2.5} if name in ours else {"linewidth": 1.2, "linestyle": "--"}
        axes.plot(*zip(*reached, strict=True), marker="o", label=name, **style)
    axes.set(xscale="log", yscale="log", xlabel="rows (threenorm, 20 features)", ylabel="seconds")
    axes.set_title("Time to fit with two cores; solid: kernsemble")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small")
    figure.savefig(place, dpi=110)


def compare_sets(names: list[str], methods: dict[str, Method]) -> None:
    """Print the results on data sets."""
    print("\n| set | rows × columns | method | AUROC | error, % | seconds |")
    print("|---|---|---|---|---|---|")
    for name in names:
        rows, columns = raw_table(name)[0].shape
        for label, method in methods.items():
            found = in_new_process(measure, method, raw_table, name)
            print(
                f"| {name} | {rows:,} × {columns} | {label} | {found.auroc:.4f} | "
                f"{100 * found.error:.2f} | {found.seconds:.2f} |",
                flush=True,
            )


def main() -> None:
    """Run the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--sets", nargs="*", default=[*SETS, *LARGER_SETS])
    parser.add_argument("--methods", nargs="*", default=[*AT_SCALE, *ON_SETS])
    parser.add_argument("--picture", default=None)
    arguments = parser.parse_args()

    def requested(methods: dict[str, Method]) -> dict[str, Method]:
        return {
            name: method
            for name, method in methods.items()
            if name in arguments.methods and method.is_installed
        }

    points = compare_sizes(arguments.rows, requested(AT_SCALE))
    if arguments.picture is not None:
        draw(points, arguments.picture)
    small = [name for name in arguments.sets if name not in LARGER_SETS]
    compare_sets(small, requested(ON_SETS))
    large = [name for name in arguments.sets if name in LARGER_SETS]
    compare_sets(large, requested(ON_LARGER_SETS))
    tables, matrix = in_new_process(predict_speed)
    print(
        f"\nA prediction takes {tables:.2f} microseconds by tables and {matrix:.0f} by SVC with "
        f"{SUPPORT_VECTORS:,} support vectors: {matrix / tables:.0f} times as long."
    )


if __name__ == "__main__":
    main()

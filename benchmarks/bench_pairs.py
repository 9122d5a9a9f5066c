"""Compare pairs of columns with the explainable boosting machine: accuracy, time, stability.

- Six data sets, as they are (splits of ``bench_scale.py``): our additive machine without pairs and
  with ``n_pairs="auto"``, against the explainable boosting machine of interpret-core ("EBM")
  without interactions and with its default ones.
- A million rows of threenorm with 20 features, and 20,000 rows with 2,000 columns of which one
  planted pair matters: ours with ``n_pairs="auto"`` and ``n_pairs=5``.
- Curves: each method is fitted to ten bootstrap samples of at most 3,000 training rows. Reported
  is the standard deviation of the function of a column at test rows over the ten fits, averaged
  over rows and columns, in units of the standard deviation of the decision values.

Times are in seconds with two threads, after a first fit to few rows that loads and compiles code.
Each fit is computed in its own process and stored in the folder ``--store``, a file per method, as
soon as it is done: an interrupted run continues where it stopped. Run from the repository, with
the data folder in ``KERNSEMBLE_DATA``: ``.venv/bin/python benchmarks/bench_pairs.py [--sets ...]
[--methods ...] [--limit SECONDS] [--again] [--render]``.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from leaderboard.cells import attempt, run_method, store_of
from leaderboard.processes import CONTEXT
from leaderboard.scale import ADDITIVE_SETS, problem_at_scale
from sklearn.metrics import roc_auc_score
from timing import peak_bytes

from kernsemble.experiments import Cell, Record
from kernsemble.inspection import EnsembleView
from kernsemble.kernels import Stump
from kernsemble.svm import InfiniteEnsembleClassifier

STORE = Path(__file__).parent / "results" / "pairs"
SETS = ["adult", "bank_marketing", "magic", *ADDITIVE_SETS]
FEW_ROWS = 500  # number of rows of the first fit, which compiles
ROWS, PLANTED, CURVES = "threenorm 1000000", "planted pair, 2,000 columns", "curves of "
CURVE_SETS = ("bank_marketing", "magic", "mammography")
CURVE_ROWS, N_BOOTSTRAPS = 3_000, 10


def ours(n_pairs: Any) -> Any:
    """Return our additive machine."""
    kernel = Stump(measure="distinct")
    return InfiniteEnsembleClassifier(kernel, solver="additive", loss="logistic", n_pairs=n_pairs)


def explainable_boosting(**settings: Any) -> Any:
    """Return the explainable boosting machine, with its default interactions if none are given."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=2, random_state=0, **settings)


METHODS: dict[str, Callable[[], Any]] = {
    "pairs": partial(ours, "auto"),
    "five-pairs": partial(ours, 5),
    "ebm": explainable_boosting,
    "ebm-without-pairs": partial(explainable_boosting, interactions=0),
}
CELLS = {
    "pairs": [*SETS, ROWS, PLANTED, *(CURVES + name for name in CURVE_SETS)],
    "five-pairs": [PLANTED],
    "ebm": [*SETS, *(CURVES + name for name in CURVE_SETS)],
    "ebm-without-pairs": SETS,
}


def compute(cell: Cell) -> dict[str, float]:
    """Return the measurements of a cell."""
    warnings.simplefilter("ignore")
    if cell.data.startswith(CURVES):
        return curves(METHODS[cell.method], cell.data.removeprefix(CURVES))
    X, X_test, y, y_test = planted() if cell.data == PLANTED else rows_of(cell.data)
    few = np.union1d(
        np.random.default_rng(0).permutation(len(y))[:FEW_ROWS],
        [np.flatnonzero(y == label)[:3] for label in np.unique(y)],
    )
    METHODS[cell.method]().fit(X.iloc[few] if hasattr(X, "iloc") else X[few], y[few])
    before, machine = peak_bytes(), METHODS[cell.method]()
    start = time.perf_counter()
    machine.fit(X, y)
    fitted = time.perf_counter()
    error = float((machine.predict(X_test) != y_test).mean())
    end = time.perf_counter()
    pairs = pairs_of(machine)
    return {
        "auroc": auroc(machine, X_test, y_test),
        "error": error,
        "fit_seconds": fitted - start,
        "predict_seconds": end - fitted,
        "megabytes": (peak_bytes() - before) / 2**20,
        "n_pairs": float(len(pairs)),
        "found": float((0, 1) in pairs),
    }


def pairs_of(machine: Any) -> list[tuple[int, ...]]:
    """Return the pairs of columns of a fitted machine, by position."""
    if hasattr(machine, "term_features_"):
        return [term for term in machine.term_features_ if len(term) == 2]
    return [tuple(sorted(pair)) for pair in machine.pairs_]


def rows_of(name: str) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows of a data set, or of threenorm."""
    problem = problem_at_scale(name)
    return problem.X_train, problem.X_test, problem.y_train, problem.y_test


def auroc(machine: Any, X: Any, y: Any) -> float:
    """Return the area under the ROC curve."""
    if hasattr(machine, "decision_function"):
        return float(roc_auc_score(y, machine.decision_function(X)))
    return float(roc_auc_score(y, machine.predict_proba(X)[:, 1]))


def planted() -> tuple[Any, Any, Any, Any]:
    """Return rows with 2,000 columns, where the sign of the product of the first two matters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25_000, 2_000)).astype(np.float32)
    y = (np.sign(X[:, 0] * X[:, 1]) + rng.normal(size=len(X)) > 0.0).astype(int)
    return X[:20_000], X[20_000:], y[:20_000], y[20_000:]


def curves(make: Callable[[], Any], name: str) -> dict[str, float]:
    """Return the standard deviation of functions of columns over bootstrap samples."""
    X, X_test, y, _ = rows_of(name)
    rng = np.random.default_rng(0)
    some, tested = rng.permutation(len(y))[:CURVE_ROWS], X_test.iloc[:CURVE_ROWS]
    found, spreads, start = [], [], time.perf_counter()
    for _ in range(N_BOOTSTRAPS):
        drawn = rng.choice(some, len(some))
        machine = make().fit(X.iloc[drawn], y[drawn])
        functions, decisions = functions_of(machine, tested)
        found.append(functions)
        spreads.append(decisions.std())
    seconds = (time.perf_counter() - start) / N_BOOTSTRAPS
    deviation = float(np.std(found, axis=0).mean() / np.mean(spreads))
    return {"deviation": deviation, "fit_seconds": seconds}


def functions_of(machine: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the centred functions of single columns at rows, and decision values."""
    if hasattr(machine, "eval_terms"):
        single = [k for k, term in enumerate(machine.term_features_) if len(term) == 1]
        functions = machine.eval_terms(X)[:, single]
        return functions - functions.mean(axis=0), machine.decision_function(X)
    view = EnsembleView.from_estimator(machine, X)
    shapes = zip(view.shapes.values(), view.background.T, strict=True)
    functions = np.column_stack([shape(column) for shape, column in shapes])
    return functions - functions.mean(axis=0), machine.decision_function(X)


def render(records: dict[Cell, Record]) -> None:
    """Print the tables."""
    print("\n| data | method | AUROC | error, % | pairs | fit, s | predict, s | memory, MB |")
    print("|---|---|---|---|---|---|---|---|")
    for cell, record in sorted(records.items()):
        if "auroc" in record.values:
            v = record.values
            print(
                f"| {cell.data} | {cell.method} | {v['auroc']:.4f} | {100 * v['error']:.2f} | "
                f"{v['n_pairs']:.0f}{' (planted: found)' if is_found(cell, v) else ''} | "
                f"{v['fit_seconds']:.2f} | {v['predict_seconds']:.2f} | {v['megabytes']:.0f} |"
            )
    print("\n| curves of | method | standard deviation | seconds a fit |\n|---|---|---|---|")
    for cell, record in sorted(records.items()):
        if "deviation" in record.values:
            name, v = cell.data.removeprefix(CURVES), record.values
            print(f"| {name} | {cell.method} | {v['deviation']:.4f} | {v['fit_seconds']:.2f} |")


def is_found(cell: Cell, values: dict[str, float]) -> bool:
    """Return whether the planted pair was found."""
    return cell.data == PLANTED and values["found"] == 1.0


def main() -> None:
    """Compute what is missing, and print the tables."""
    every = list(dict.fromkeys(name for names in CELLS.values() for name in names))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=every, default=every, metavar="SET")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--limit", type=float, default=1_800.0, help="seconds per cell")
    parser.add_argument("--store", type=Path, default=STORE, help="folder of the records")
    parser.add_argument("--again", action="store_true", help="compute stored cells again")
    parser.add_argument("--render", action="store_true", help="only print what is stored")
    options = parser.parse_args()
    CONTEXT.set_forkserver_preload(["leaderboard.scale"])
    measure = partial(attempt, compute=compute, guess=lambda _: {})
    for method in options.methods if not options.render else ():
        cells = [Cell(name, method, 0) for name in CELLS[method] if name in options.sets]
        skip = lambda record: not options.again and not record.failure  # noqa: E731
        run_method(cells, store_of(options.store, method), options.limit, skip, measure)
    stores = [store_of(options.store, method) for method in METHODS]
    render({cell: record for store in stores for cell, record in store.records.items()})


if __name__ == "__main__":
    main()

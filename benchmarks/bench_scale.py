"""Error, time and memory of ``kernel="auto"`` and other methods on large tables, at defaults.

- Sets: all rows of ten data sets, by the given split or 70 % of the rows at random, whose columns
  are unchanged, including categories and missing values; and threenorm with 20 features and
  100,000 rows. Three more sets are those of the explainable boosting machine.
- Sizes: threenorm with 10,000, 100,000 and a million rows. The exponent is the slope of log(time)
  against log(rows) over the two largest sizes.
- Methods: see `leaderboard/scale.py`; two threads each. Each fit is in a process of its own, after
  a fit to 100 rows that loads and compiles code. Memory is the peak of that process.

Each fit is a cell that is stored in the folder ``--store``, a file per method, as soon as it is
done: an interrupted run continues where it stopped. A cell is stopped after ``--limit`` seconds.

Run from the repository, with the data folder in ``KERNSEMBLE_DATA``:

- ``.venv/bin/python benchmarks/bench_scale.py`` computes what is missing and prints the tables;
- ``--render`` only prints them, ``--picture PATH`` draws error against seconds;
- ``--sets magic adult --rows 10000 --methods auto boosting`` selects some; ``--rows`` and
  ``--sets`` without values select none;
- ``--speed`` compares the time of predictions by tables with that of support vectors.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait leave the core to others

import argparse
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from leaderboard.board import read_board
from leaderboard.cells import attempt, run_method, store_of
from leaderboard.measures import MEASURES
from leaderboard.methods import OURS
from leaderboard.processes import CONTEXT
from leaderboard.scale import (
    ADDITIVE_SETS,
    AT_SCALE,
    BEST_OF,
    MOST_ROWS,
    RIVALS,
    SETS,
    compute,
    guess,
    n_rows_of,
    threenorm_cells,
)
from leaderboard.scale_report import against_best, costs, draw, exponents, records_of, sizes
from leaderboard.tables import per_set
from sklearn.svm import SVC
from timing import best_times, in_new_process

from kernsemble.datasets import make_threenorm
from kernsemble.experiments import Cell, Record
from kernsemble.svm import InfiniteEnsembleClassifier

STORE = Path(__file__).parent / "results" / "scale"
ROWS = [10_000, 100_000, 1_000_000]
SUPPORT_VECTORS, NEW_ROWS = 5_000, 100_000
PRELOADED = ["leaderboard.scale", "lightgbm", "xgboost", "catboost"]
PACKAGES = {"ebm": "interpret", "svc_intelex": "sklearnex", "lightgbm": "lightgbm"}
PACKAGES |= {name: name for name in ("catboost", "xgboost")}


def run(options: argparse.Namespace) -> None:
    """Compute the missing cells: problem after problem, method after method."""
    CONTEXT.set_forkserver_preload(PRELOADED)
    for name in dict.fromkeys([*options.sets, *threenorm_cells(options.rows)]):
        for method in options.methods:
            if n_rows_of(name) > MOST_ROWS.get(method, np.inf):
                continue
            run_method(
                [Cell(name, method, 0)],
                store_of(options.store, method),
                options.limit,
                lambda record: skips(record, options),
                partial(attempt, compute=compute, guess=guess),
            )


def skips(record: Record, options: argparse.Namespace) -> bool:
    """Return whether a stored record is kept."""
    return not options.again and not (options.retry and record.failure)


def report(options: argparse.Namespace) -> None:
    """Print the tables of sets and of sizes."""
    main = [name for name in options.methods if name in {OURS, *RIVALS}]
    for methods, names in ((main, SETS), (options.methods, ADDITIVE_SETS)):
        wanted = [name for name in options.sets if name in names]
        board = read_board(options.store, methods, wanted, 1)
        if not board.sets:
            continue
        for measure in board.measures:
            print(f"\n### {measure.title}\n\n{per_set(board, measure)}")
        print(f"\n{costs(board)}")
        if {OURS, *BEST_OF} <= set(methods):
            print(f"\nAgainst the best of {' and '.join(BEST_OF)}:\n")
            print(against_best(board, OURS, BEST_OF))
    records = records_of(options.store, options.methods, threenorm_cells(options.rows))
    if records:
        print(f"\n### Threenorm\n\n{sizes(records, MEASURES[0])}\n")
    for method, slope in exponents(records).items():
        print(f"- {method}: time grows as rows to the power {slope:.2f}")
    if options.picture:
        draw(records, MEASURES[0], OURS, options.picture)


def predict_speed() -> tuple[float, float]:
    """Return the microseconds per row of predictions by tables, and by SVC with the same kernel."""
    X, y = make_threenorm(2 * SUPPORT_VECTORS, random_state=0)
    y = np.random.default_rng(0).permutation(y)  # so that nearly all rows are support vectors
    machine = InfiniteEnsembleClassifier(solver="additive").fit(X, y)
    scaled = machine.scaling_.transform(X[:SUPPORT_VECTORS])
    exact = SVC(kernel=machine.kernel_, C=machine.C_).fit(scaled, y[:SUPPORT_VECTORS])
    rows = make_threenorm(NEW_ROWS, random_state=1)[0]
    some = machine.scaling_.transform(rows[:2_000])
    times = best_times(
        lambda: machine.decision_function(rows), lambda: exact.decision_function(some)
    )
    return 1e6 * times[0] / len(rows), 1e6 * times[1] / len(some)


def compare_speed() -> None:
    """Print the time of predictions by tables and by support vectors."""
    tables, matrix = in_new_process(predict_speed)
    print(
        f"\nA prediction takes {tables:.2f} microseconds by tables and {matrix:.0f} by SVC with "
        f"{SUPPORT_VECTORS:,} support vectors: {matrix / tables:.0f} times as long."
    )


def read_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    known = [*SETS, *ADDITIVE_SETS]
    parser.add_argument("--sets", nargs="*", choices=known, default=SETS, metavar="SET")
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS, help="sizes of threenorm")
    parser.add_argument("--methods", nargs="+", choices=AT_SCALE, default=[OURS, *RIVALS])
    parser.add_argument("--limit", type=float, default=1_800.0, help="seconds per cell")
    parser.add_argument("--store", type=Path, default=STORE, help="folder of the records")
    parser.add_argument("--retry", action="store_true", help="try failed cells again")
    parser.add_argument("--again", action="store_true", help="compute stored cells again")
    parser.add_argument("--render", action="store_true", help="only print what is stored")
    parser.add_argument("--speed", action="store_true", help="compare the speed of predictions")
    parser.add_argument("--picture", type=Path, help="file to draw error against seconds to")
    options = parser.parse_args()
    if not options.render:
        missing = {name for name, package in PACKAGES.items() if find_spec(package) is None}
        options.methods = [name for name in options.methods if name not in missing]
    return options


def main() -> None:
    """Compute what is missing, and print the tables."""
    options = read_options()
    if not options.render:
        run(options)
    report(options)
    if options.speed:
        compare_speed()


if __name__ == "__main__":
    main()

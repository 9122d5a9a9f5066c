"""Leaderboard: ``kernel="auto"`` and nine other methods on all data sets, at their defaults.

The customs are those of TabArena: the same splits for all methods, no method is tuned by us,
several measures, ranks over sets, paired differences with bootstrap intervals, and times.

- Splits: see `leaderboard/problems.py`. At most 6,000 training rows and 20,000 test rows.
- Methods: see `leaderboard/methods.py`. Categories and missing values are passed on to methods
  that support them; they are one-hot encoded and imputed for the others. Two threads each.
- Measures: error, area under the ROC curve (AUROC; the mean over classes, each against the
  rest) and log-loss of classes (the probability of the true class is at least 1e-6); root mean
  squared error of numbers, divided by the standard deviation of the target on the test rows.
- Times are in seconds, after a first fit to 100 rows that loads and compiles code.

Each fit is a cell, computed in its own process and stored in the folder ``--store``, a file per
method, as soon as it is done: an interrupted run continues where it stopped. A cell is stopped
after ``--limit`` seconds. A failed cell is not tried again without ``--retry``. A method that
failed on a split of a set comes last there, has the measures of always guessing (the shares of
the classes, or the mean) in averages, and a dash in the table of the set.

The tables use the splits that all methods shown have. A rank is among these methods; "wins" is
the mean share of sets on which a method beats each other one, a tie counting half. Differences
are a rival's loss minus ours, averaged over the sets, with a 95 % bootstrap interval from draws
of sets; sets that share rows are drawn together. "Untouched" are the sets on which no default
of ours was chosen.

Run from the repository, with the data folder in ``KERNSEMBLE_DATA``:

- ``.venv/bin/python benchmarks/bench_accuracy.py`` computes what is missing and prints the tables;
- ``--render`` only prints them, ``--picture PATH`` draws them;
- ``--quick`` uses twelve small sets, one split and few methods;
- ``--methods auto --again`` computes ours again, on the sets and splits selected. To keep the
  previous version in the tables, first copy ``auto.jsonl`` to another name in the folder.
"""

import os

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "2"))
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait leave the core to others

import argparse
from pathlib import Path

from leaderboard.board import Board, read_board, stored_methods
from leaderboard.cells import run_method, store_of
from leaderboard.methods import METHODS, OURS
from leaderboard.problems import SMALL_SETS, TUNED_ON, all_sets
from leaderboard.processes import CONTEXT
from leaderboard.tables import averages, differences, per_set

from kernsemble.experiments import Cell, Record

STORE = Path(__file__).parent / "results" / "accuracy"
QUICK_METHODS = [OURS, "forest", "boosting", "lightgbm", "linear"]
PRELOADED = ["leaderboard.tables", "lightgbm", "xgboost", "catboost", "interpret.glassbox"]


def run(options: argparse.Namespace) -> None:
    """Compute the missing cells: split after split, method after method, set after set."""
    CONTEXT.set_forkserver_preload(PRELOADED)
    for split in range(options.splits):
        for method in options.methods:
            cells = [Cell(name, method, split) for name in options.sets]
            store = store_of(options.store, method)
            run_method(cells, store, options.limit, lambda record: skips(record, options))


def skips(record: Record, options: argparse.Namespace) -> bool:
    """Return whether a stored record is kept."""
    return not options.again and not (options.retry and record.failure)


def report(board: Board, reference: str) -> None:
    """Print the tables of all sets, those of the untouched ones, and those of single sets."""
    untouched = [name for name in board.sets if name not in TUNED_ON]
    for title, sets in (("All sets", board.sets), ("Untouched sets", untouched)):
        part = board.only(sets)
        if not part.sets:
            continue
        print(f"\n### {title}: {len(part.sets)}\n\n{averages(part)}")
        if reference in board.methods and len(board.methods) > 1:
            print(f"\n{differences(part, reference)}")
    for measure in board.measures:
        print(f"\n### {measure.title}, set by set\n\n{per_set(board, measure)}")


def read_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=all_sets(), metavar="SET")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help=", ".join(METHODS))
    parser.add_argument("--splits", type=int, help="number of splits per set (default: 3)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds per cell")
    parser.add_argument("--store", type=Path, default=STORE, help="folder of the records")
    parser.add_argument("--reference", default=OURS, help="method to compare the others with")
    parser.add_argument("--retry", action="store_true", help="try failed cells again")
    parser.add_argument("--again", action="store_true", help="compute stored cells again")
    parser.add_argument("--quick", action="store_true", help="small sets, one split, few methods")
    parser.add_argument("--render", action="store_true", help="only print what is stored")
    parser.add_argument("--picture", type=Path, help="file to draw the leaderboard to")
    options = parser.parse_args()
    options.sets = options.sets or (SMALL_SETS if options.quick else all_sets())
    options.splits = options.splits or (1 if options.quick else 3)
    options.methods = options.methods or default_methods(options)
    known = {*METHODS, *(stored_methods(options.store) if options.render else ())}
    if unknown := set(options.methods) - known:
        parser.error(f"no such method: {', '.join(unknown)}; choose from {', '.join(known)}")
    return options


def default_methods(options: argparse.Namespace) -> list[str]:
    """Return the stored methods for printing, few for a quick run, or all."""
    if options.render:
        return stored_methods(options.store)
    return QUICK_METHODS if options.quick else list(METHODS)


def main() -> None:
    """Compute what is missing, and print the tables."""
    options = read_options()
    if not options.render:
        run(options)
    board = read_board(options.store, options.methods, options.sets, options.splits)
    report(board, options.reference)
    if options.picture:
        from leaderboard.picture import draw

        draw(board, options.reference, options.picture)


if __name__ == "__main__":
    main()

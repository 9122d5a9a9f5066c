"""Compare LAGO with a support vector machine, a forest and boosted trees on rare classes.

For each set, by repeated stratified cross-validation: the average precision on the test folds, and
the processor time to tune and fit, in seconds. All tuning is on training folds only:

- LAGO: `LagoClassifier()` with its defaults, alpha by five inner folds.
- LAGO, tuned: the best, by the inner folds, of both shapes with features scaled to a range, to
  ranks or to a standard deviation of one; the time is that of all six. On kdd04_protein only
  the three spherical ones.
- SVC: class_weight="balanced" on standardised features, the best of C in 1, 10, 100 and gamma in
  0.1, 1, 10 over the number of features by three inner folds, average precision.
- forest: RandomForestClassifier(200, class_weight="balanced_subsample"); 50 trees on
  kdd04_protein.
- boosting: HistGradientBoostingClassifier(class_weight="balanced").

On kdd04_protein the SVC is trained on 5,000 rows: all rare ones, and a sample of the background.
Part "growth" prints the growth of its time for one setting with the number of rows.

Run from the repository, with the data folder in ``KERNSEMBLE_DATA``:
``.venv/bin/python benchmarks/bench_rare_classes.py [--sets ...] [--parts table growth]
[--folds 1] [--figure hit-curves.png]``.
"""

import argparse
import os
import sys
import time
from typing import Any

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernsemble.detection import HitCurveDisplay, LagoClassifier, average_precision
from kernsemble.experiments.methods.rare_classes import (
    boosted_trees,
    forest,
    lago,
    ranking_scores,
    tuned_lago,
    tuned_svc,
)
from kernsemble.experiments.paper_data import RARE_CLASSES, draw, n_draws, rare_rows

METHODS = {
    "LAGO": lago,
    "LAGO, tuned": tuned_lago,
    "SVC": tuned_svc,
    "forest": forest,
    "boosting": boosted_trees,
}


def run_table(names: list[str], methods: list[str], most: int, figure: str | None) -> None:
    """Print average precision and time, one row per set."""
    print("| set | rows x features | rare | folds |", " | ".join(methods), "|")
    print("|" + "---|" * (4 + len(methods)), flush=True)
    curves: dict[str, Any] = {}
    for name in names:
        n_folds = n_draws(name)
        precision: dict[str, list[float]] = {method: [] for method in methods}
        seconds: dict[str, list[float]] = {method: [] for method in methods}
        for place in range(min(n_folds, most)):
            problem = draw(name, place)
            for method in methods:
                start = time.process_time()
                model = METHODS[method](problem.X, problem.y)
                seconds[method].append(time.process_time() - start)
                scores = ranking_scores(model, problem.X_test)
                precision[method].append(average_precision(problem.y_test, scores))
                result = f"{precision[method][-1]:.3f}, {seconds[method][-1]:.2f} s"
                print(f"{name}, fold {place}, {method}: {result}", file=sys.stderr, flush=True)
                if place == 0:
                    curves.setdefault(name, {})[method] = problem.y_test, scores
        cells = [f"{np.mean(precision[m]):.3f}, {np.mean(seconds[m]):.2f} s" for m in methods]
        X, y = rare_rows(name)
        used = f"{min(n_folds, most)} of {n_folds}"
        shape = f"{len(X):,} x {X.shape[1]}"
        print(f"| {name} | {shape} | {y.sum()} | {used} |", " | ".join(cells), "|", flush=True)
    if figure is not None:
        draw_curves(curves, figure)


def draw_curves(curves: dict[str, Any], path: str) -> None:
    """Draw the beginning of the hit curves of the first test fold of every set."""
    import matplotlib.pyplot as plt

    n_columns = min(len(curves), 4)
    n_lines = -(-len(curves) // n_columns)
    figure, panels = plt.subplots(
        n_lines, n_columns, figsize=(4 * n_columns, 3.4 * n_lines), squeeze=False
    )
    for panel, (name, methods) in zip(panels.flat, curves.items(), strict=False):
        for method, (y, scores) in methods.items():
            HitCurveDisplay.from_predictions(y, scores, name=method, ax=panel)
        panel.set(title=name, xlim=(0, min(6 * y.sum(), len(y))))
        panel.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def run_growth() -> None:
    """Print the times of one fit of the SVC, and of tuning and fitting LAGO."""
    X, y = rare_rows("kdd04_protein, rare")
    order = np.random.default_rng(0).permutation(len(X))
    print("\n| rows of kdd04_protein | one SVC, s | LAGO, tuned and fitted, s |")
    print("|---|---|---|", flush=True)
    machine = make_pipeline(
        StandardScaler(), SVC(C=10.0, gamma=1.0 / 74, class_weight="balanced", cache_size=1000)
    )
    for n in (10_000, 20_000, 40_000, 80_000):
        rows, seconds = order[:n], []
        for model in (clone(machine), LagoClassifier()):
            start = time.process_time()
            model.fit(X[rows], y[rows])
            seconds.append(time.process_time() - start)
        print(f"| {n:,} | {seconds[0]:.1f} | {seconds[1]:.1f} |", flush=True)


def main() -> None:
    """Run the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(RARE_CLASSES), choices=list(RARE_CLASSES))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--parts", nargs="+", default=["table", "growth"])
    parser.add_argument("--folds", type=int, default=100, help="maximum number of folds per set")
    parser.add_argument("--figure")
    arguments = parser.parse_args()
    X, y = make_classification(500, weights=[0.9], random_state=0)
    tuned_lago(X, y)  # compiles
    if "table" in arguments.parts:
        run_table(arguments.sets, arguments.methods, arguments.folds, arguments.figure)
    if "growth" in arguments.parts:
        run_growth()


if __name__ == "__main__":
    main()

"""LAGO beside a support vector machine, a forest and boosted trees, on rare classes.

For each set, by repeated stratified cross-validation: the average precision on the test folds, and
the seconds of one core (processor time) to tune and fit. Everything is chosen on training folds
only:

- LAGO: `LagoClassifier()` as it comes, its alpha by five inner folds.
- LAGO, chosen: the best, by the inner folds, of both shapes with features scaled to a range, to
  ranks or to a standard deviation of one; seconds are those of all six. On kdd04_protein only
  the spherical three.
- SVC: class_weight="balanced" on standardised features, the best of C in 1, 10, 100 and gamma in
  0.1, 1, 10 over the number of features by three inner folds, average precision.
- forest: RandomForestClassifier(200, class_weight="balanced_subsample"); 50 trees on
  kdd04_protein.
- boosting: HistGradientBoostingClassifier(class_weight="balanced").

On kdd04_protein the SVC learns from all rare rows and so many of the background that there are
5,000; part "growth" tells how its seconds for one setting grow with the rows.

Run from the repository, with the data folder in ``KERNSEMBLE_DATA``:
``.venv/bin/python benchmarks/bench_rare_classes.py [--sets ...] [--parts table growth]
[--folds 1] [--figure hit-curves.png]``.
"""

import argparse
import os
import sys
import time
from itertools import islice
from typing import Any, NamedTuple

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernsemble.datasets import load
from kernsemble.detection import HitCurveDisplay, LagoClassifier, average_precision

METHODS = ("LAGO", "LAGO, chosen", "SVC", "forest", "boosting")
SHAPES = ("spherical", "elliptical")
SVC_ROWS = 5_000  # of kdd04_protein


class Case(NamedTuple):
    """A set, the class of it that is rare, and how often it is split."""

    set: str
    rare: int
    n_folds: int
    n_repeats: int
    n_used: int  # of all the folds, the first so many


CASES = {
    "yeast, ME2": Case("yeast", 4, 5, 2, 10),
    "yeast, ME1": Case("yeast", 5, 5, 2, 10),
    "yeast, EXC": Case("yeast", 6, 5, 2, 10),
    "abalone, 19 rings": Case("abalone", 19, 4, 2, 8),
    "hiva": Case("hiva", 1, 3, 1, 3),
    "mammography": Case("mammography", 1, 3, 1, 3),
    "coil2000": Case("coil2000", 1, 3, 1, 3),
    "kdd04_protein": Case("kdd04_protein", 1, 2, 1, 2),
}


def chosen_lago(X: Any, y: Any, shapes: tuple[Any, ...]) -> Any:
    """Return the best machine, three of each shape, by the average precision on inner folds."""
    machines = []
    for shape in shapes:
        machines += [
            make_pipeline(LagoClassifier(shape, scaling="range")),
            make_pipeline(LagoClassifier(shape, scaling="rank")),
            make_pipeline(StandardScaler(), LagoClassifier(shape, scaling=None)),
        ]
    return max((each.fit(X, y) for each in machines), key=lambda each: each[-1].best_score_[0])


def tuned_svc(X: Any, y: Any, most_rows: int | None) -> Any:
    """Return the SVC with the best C and gamma, on some of the background if there is too much."""
    if most_rows is not None:
        background = np.random.default_rng(0).permutation(np.flatnonzero(y == 0))
        rows = np.append(np.flatnonzero(y == 1), background[: most_rows - y.sum()])
        X, y = X[rows], y[rows]
    grid = {
        "svc__C": [1.0, 10.0, 100.0],
        "svc__gamma": [factor / X.shape[1] for factor in (0.1, 1.0, 10.0)],
    }
    machine = make_pipeline(StandardScaler(), SVC(class_weight="balanced", cache_size=1000))
    return GridSearchCV(machine, grid, scoring="average_precision", cv=3).fit(X, y)


def fitted(method: str, X: Any, y: Any, is_largest: bool) -> Any:
    """Return a method, tuned and fitted."""
    if method == "LAGO":
        return LagoClassifier(rare=1).fit(X, y)
    if method == "LAGO, chosen":
        return chosen_lago(X, y, SHAPES[:1] if is_largest else SHAPES)
    if method == "SVC":
        return tuned_svc(X, y, SVC_ROWS if is_largest else None)
    if method == "forest":
        n_trees = 50 if is_largest else 200
        forest = RandomForestClassifier(n_trees, class_weight="balanced_subsample", random_state=0)
        return forest.fit(X, y)
    return HistGradientBoostingClassifier(class_weight="balanced", random_state=0).fit(X, y)


def scores_of(model: Any, X: Any) -> Any:
    """Return what a model ranks rows by."""
    if hasattr(model, "decision_function") and not isinstance(model, RandomForestClassifier):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1]


def read(case: Case) -> tuple[Any, Any]:
    """Return rows, and ones for the rare."""
    data = load(case.set)
    return np.asarray(data.X), (data.y == case.rare).astype(int)


def run_table(names: list[str], methods: list[str], most: int, figure: str | None) -> None:
    """Print average precision and seconds of each set when it is done."""
    print("| set | rows x features | rare | folds |", " | ".join(methods), "|")
    print("|" + "---|" * (4 + len(methods)), flush=True)
    curves: dict[str, Any] = {}
    for name in names:
        case = CASES[name]
        n_used = min(case.n_used, most)
        X, y = read(case)
        folds = RepeatedStratifiedKFold(
            n_splits=case.n_folds, n_repeats=case.n_repeats, random_state=0
        )
        precision = {method: [] for method in methods}
        seconds = {method: [] for method in methods}
        for place, (train, test) in enumerate(islice(folds.split(X, y), n_used)):
            for method in methods:
                start = time.process_time()
                model = fitted(method, X[train], y[train], case.set == "kdd04_protein")
                seconds[method].append(time.process_time() - start)
                scores = scores_of(model, X[test])
                precision[method].append(average_precision(y[test], scores))
                told = f"{precision[method][-1]:.3f}, {seconds[method][-1]:.2f} s"
                print(f"{name}, fold {place}, {method}: {told}", file=sys.stderr, flush=True)
                if place == 0:
                    curves.setdefault(name, {})[method] = y[test], scores
        cells = [f"{np.mean(precision[m]):.3f}, {np.mean(seconds[m]):.2f} s" for m in methods]
        shape = f"{len(X):,} x {X.shape[1]}"
        n_folds = f"{n_used} of {case.n_repeats} x {case.n_folds}"
        print(f"| {name} | {shape} | {y.sum()} | {n_folds} |", " | ".join(cells), "|", flush=True)
    if figure is not None:
        draw(curves, figure)


def draw(curves: dict[str, Any], path: str) -> None:
    """Draw the hit curves of the first test fold of every set, as far as they are of interest."""
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
    """Print the seconds of one fit of the SVC, and of the whole choice and fit of LAGO."""
    X, y = read(CASES["kdd04_protein"])
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
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--parts", nargs="+", default=["table", "growth"])
    parser.add_argument("--folds", type=int, default=100, help="at most so many of each set")
    parser.add_argument("--figure")
    arguments = parser.parse_args()
    X, y = make_classification(500, weights=[0.9], random_state=0)
    chosen_lago(X, y, SHAPES)  # compiles
    if "table" in arguments.parts:
        run_table(arguments.sets, arguments.methods, arguments.folds, arguments.figure)
    if "growth" in arguments.parts:
        run_growth()


if __name__ == "__main__":
    main()

"""Measure the time of ``kernel="auto"`` with many classes.

Each class is a Gaussian cluster of scikit-learn's `make_classification`. Run
``.venv/bin/python benchmarks/bench_many_classes.py``, or with ``10 1000 20`` for one size (classes,
rows, columns).
"""

import sys
from time import perf_counter

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from kernsemble.svm import InfiniteEnsembleClassifierCV

SIZES = ((10, 1_000, 20), (40, 2_000, 20), (165, 3_900, 20))


def compare(n_classes: int, n_rows: int, n_columns: int) -> None:
    """Print the accuracies on other rows, and the seconds of both fits."""
    X, y = make_classification(
        int(1.5 * n_rows),
        n_columns,
        n_informative=12,
        n_redundant=4,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=2.0,
        random_state=0,
    )
    X, X_test, y, y_test = train_test_split(X, y, train_size=n_rows, stratify=y, random_state=0)
    forest = RandomForestClassifier(200, n_jobs=-1, random_state=0)
    machine = InfiniteEnsembleClassifierCV("auto", random_state=0)
    cells = []
    for model in (machine, forest):
        start = perf_counter()
        model.fit(X, y)
        cells += [f"{perf_counter() - start:.1f}", f"{model.score(X_test, y_test):.3f}"]
    print(f"| {n_classes} | {n_rows:,} | {n_columns} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    print("| classes | rows | columns | auto, s | accuracy | forest, s | accuracy |")
    print("|---|---|---|---|---|---|---|")
    for size in [tuple(map(int, sys.argv[1:]))] if sys.argv[1:] else SIZES:
        compare(*size)

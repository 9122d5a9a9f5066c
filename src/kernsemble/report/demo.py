"""The demonstration: a leaderboard on two data sets, and a report about one model."""

import os
import time
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from kernsemble._typing import Array
from kernsemble.datasets import make_mixed_table
from kernsemble.report.report import write_report
from kernsemble.report.row_samples import rows_at
from kernsemble.svm import InfiniteEnsembleClassifierCV

__all__ = ["DemoDataset", "MethodScore", "compare_methods", "demo"]

N_FOLDS = 3
READING = """\
from sklearn.model_selection import train_test_split
from kernsemble.datasets import make_mixed_table
X, y = make_mixed_table({n_rows}, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
"""


class MethodScore(NamedTuple):
    """Cross-validated error and fit time of a method on a data set."""

    data: str
    method: str
    error: float  # mean error rate over the folds
    standard_error: float
    seconds: float  # median fit time, including model selection

    def line(self) -> dict[str, str]:
        """Return the row of the leaderboard."""
        return {
            "data": self.data,
            "method": self.method,
            "error": f"{100 * self.error:.1f} ± {100 * self.standard_error:.1f} %",
            "seconds per fit": f"{self.seconds:.2f}",
        }


class DemoDataset(NamedTuple):
    """A data set, and the methods to compare on it."""

    data: str
    X: Any
    y: Array
    methods: dict[str, Any]


def compare_methods(dataset: DemoDataset, n_folds: int = N_FOLDS) -> list[MethodScore]:
    """Cross-validate every method on the same folds, and return the best first."""
    splits = StratifiedKFold(n_folds, shuffle=True, random_state=0).split(dataset.X, dataset.y)
    folds = list(splits)
    found = []
    for name, method in dataset.methods.items():
        errors, seconds = [], []
        for train, test in folds:
            start = time.perf_counter()
            model = clone(method).fit(rows_at(dataset.X, train), dataset.y[train])
            seconds.append(time.perf_counter() - start)
            errors.append(1.0 - model.score(rows_at(dataset.X, test), dataset.y[test]))
        spread = float(np.std(errors, ddof=1) / np.sqrt(n_folds))
        result = float(np.mean(errors)), spread, float(np.median(seconds))  # the first fit compiles
        found.append(MethodScore(dataset.data, name, *result))
    return sorted(found, key=lambda each: each.error)


def breast_cancer() -> DemoDataset:
    """Return scikit-learn's breast cancer data, and methods."""
    X, y = load_breast_cancer(return_X_y=True)
    return DemoDataset(
        "breast cancer",
        X,
        y,
        {
            "all stumps": InfiniteEnsembleClassifierCV("stump"),
            "all perceptrons": InfiniteEnsembleClassifierCV("perceptron"),
            "all trees (Laplacian)": InfiniteEnsembleClassifierCV("laplacian"),
            "random forest": RandomForestClassifier(random_state=0),
            "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
        },
    )


def mixed_table(n_rows: int) -> DemoDataset:
    """Return a table of numbers and categories with missing values, and methods."""
    X, y = make_mixed_table(n_rows, random_state=0)
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoded = make_column_transformer(
        (one_hot, make_column_selector(dtype_include="category")), remainder="passthrough"
    )
    boosting = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    return DemoDataset(
        "mixed table",
        X,
        y,
        {
            "all stumps and categories": InfiniteEnsembleClassifierCV(
                "stump", scaling=["range", "rank"], solver="additive", loss="logistic"
            ),
            "random forest, one-hot": make_pipeline(
                encoded, RandomForestClassifier(random_state=0)
            ),
            "HistGradientBoosting": boosting,
        },
    )


def demo(path: str | os.PathLike[str], write: Callable[[str], None], n_rows: int = 3000) -> Path:
    """Compare ensembles of infinitely many hypotheses with forests and boosting, and report on one.

    Parameters
    ----------
    path : str or path
        Report to write.
    write : callable
        Function that prints a line of text, such as ``print``.
    n_rows : int, default=3000
        Number of rows of the mixed table.

    Returns
    -------
    Path
        The report written.
    """
    start = time.perf_counter()
    mixed = mixed_table(n_rows)
    for dataset in (breast_cancer(), mixed):
        write(
            f"\n{dataset.data}: {len(dataset.y):,} rows, the same {N_FOLDS} folds for every method"
        )
        found = compare_methods(dataset)
        for line in table([each.line() for each in found]):
            write(line)
    train, test = train_test_split(
        np.arange(len(mixed.y)), test_size=0.3, stratify=mixed.y, random_state=0
    )
    model = clone(mixed.methods["all stumps and categories"])
    model.fit(rows_at(mixed.X, train), mixed.y[train])
    page = write_report(
        model,
        path,
        rows_at(mixed.X, train),
        mixed.y[train],
        X_test=rows_at(mixed.X, test),
        y_test=mixed.y[test],
        title="Predicting high income with all stumps and categories",
        target="income",
        leaderboard=[each.line() for each in found],  # of the data of the report
        reading=READING.format(n_rows=n_rows),
    )
    write(f"\nDone in {time.perf_counter() - start:.0f} s. Open {page} in a browser.")
    return page


def table(lines: Sequence[dict[str, str]]) -> list[str]:
    """Return the lines of a text table with a header."""
    from rich.console import Console
    from rich.table import Table

    grid = Table(*lines[0], box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for each in lines:
        grid.add_row(*each.values())
    console = Console(width=120, file=StringIO(), color_system=None, markup=False)
    with console.capture() as captured:
        console.print(grid)
    return [line.rstrip() for line in captured.get().splitlines()]

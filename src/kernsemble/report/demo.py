"""What the library does, on data that come with it: a leaderboard and a report."""

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
from kernsemble.report.samples import rows_at
from kernsemble.svm import InfiniteEnsembleClassifierCV

__all__ = ["Contest", "Standing", "demo", "hold"]

N_FOLDS = 3


class Standing(NamedTuple):
    """How a method fared on the folds of a data set."""

    data: str
    method: str
    error: float  # the mean share of wrong classes
    standard_error: float
    seconds: float  # of a fit, with the choice of settings

    def line(self) -> dict[str, str]:
        """Return the standing as a line of a table."""
        return {
            "data": self.data,
            "method": self.method,
            "error": f"{100 * self.error:.1f} ± {100 * self.standard_error:.1f} %",
            "seconds a fit": f"{self.seconds:.2f}",
        }


class Contest(NamedTuple):
    """A data set, and who contends for it."""

    data: str
    X: Any
    y: Array
    methods: dict[str, Any]


def hold(contest: Contest, n_folds: int = N_FOLDS) -> list[Standing]:
    """Fit every method on the same folds, and return how they fared, the best first."""
    splits = StratifiedKFold(n_folds, shuffle=True, random_state=0).split(contest.X, contest.y)
    folds = list(splits)
    found = []
    for name, method in contest.methods.items():
        errors, seconds = [], []
        for learned, tested in folds:
            start = time.perf_counter()
            model = clone(method).fit(rows_at(contest.X, learned), contest.y[learned])
            seconds.append(time.perf_counter() - start)
            errors.append(1.0 - model.score(rows_at(contest.X, tested), contest.y[tested]))
        spread = float(np.std(errors, ddof=1) / np.sqrt(n_folds))
        standing = float(np.mean(errors)), spread, float(np.median(seconds))  # the first compiles
        found.append(Standing(contest.data, name, *standing))
    return sorted(found, key=lambda each: each.error)


def breast_cancer() -> Contest:
    """Return the contest for scikit-learn's breast cancer data."""
    X, y = load_breast_cancer(return_X_y=True)
    return Contest(
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


def mixed_table(n_rows: int) -> Contest:
    """Return the contest for a table of numbers and categories with gaps."""
    X, y = make_mixed_table(n_rows, random_state=0)
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoded = make_column_transformer(
        (one_hot, make_column_selector(dtype_include="category")), remainder="passthrough"
    )
    boosting = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    return Contest(
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


def demo(path: str | os.PathLike[str], tell: Callable[[str], None], n_rows: int = 3000) -> Path:
    """Compare ensembles of infinitely many hypotheses with forests and boosting, and report on one.

    Parameters
    ----------
    path : str or path
        The page to write.
    tell : callable
        What is told line by line, such as ``print``.
    n_rows : int, default=3000
        How many rows the mixed table has.

    Returns
    -------
    Path
        The page.
    """
    start = time.perf_counter()
    standings: list[Standing] = []
    mixed = mixed_table(n_rows)
    for contest in (breast_cancer(), mixed):
        tell(f"\n{contest.data}: {len(contest.y):,} rows, the same {N_FOLDS} folds for everyone")
        found = hold(contest)
        for line in table([each.line() for each in found]):
            tell(line)
        standings += found
    learned, tested = train_test_split(
        np.arange(len(mixed.y)), test_size=0.3, stratify=mixed.y, random_state=0
    )
    model = clone(mixed.methods["all stumps and categories"])
    model.fit(rows_at(mixed.X, learned), mixed.y[learned])
    page = write_report(
        model,
        path,
        rows_at(mixed.X, learned),
        mixed.y[learned],
        X_test=rows_at(mixed.X, tested),
        y_test=mixed.y[tested],
        title="Who earns much? A vote of all stumps and categories",
        leaderboard=[each.line() for each in standings],
    )
    tell(f"\nDone in {time.perf_counter() - start:.0f} s. Open {page} in a browser.")
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

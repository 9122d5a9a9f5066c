"""Problems and methods of the benchmark at scale: all rows of large sets, and threenorm."""

import resource
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from kernsemble.datasets import Dataset, Split, load, make_threenorm
from kernsemble.experiments import Cell
from kernsemble.kernels import Stump
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV
from leaderboard.cells import measure
from leaderboard.measures import of_guessing
from leaderboard.methods import METHODS, OURS, Method
from leaderboard.problems import Problem, as_table

THREENORM, TEST_ROWS = "threenorm", 20_000
SETS = [
    "adult",
    "bank_marketing",
    "magic",
    "covtype20k",
    "ijcnn1",
    "cod_rna",
    "kdd04_protein",
    "skin_nonskin",
    "diamonds",
    "california_housing",
    f"{THREENORM} 100000",
]
ADDITIVE_SETS = ["mammography", "coil2000", "spam"]  # of the explainable boosting machine
RIVALS = ["boosting", "lightgbm", "catboost", "xgboost"]
BEST_OF = ("boosting", "lightgbm")  # the rivals whose better one is to be beaten
MEASURES_OF_STUMPS = ["stump", Stump(measure="empirical"), Stump(measure="distinct")]


def classifier(is_category: np.ndarray, seed: int, task: str, kernel: Any) -> Any:  # noqa: ARG001
    """Return our classifier with the additive solver."""
    return InfiniteEnsembleClassifier(kernel, solver="additive", random_state=seed)


def tuned(is_category: np.ndarray, seed: int, task: str, loss: str, scoring: Any) -> Any:  # noqa: ARG001
    """Return the classifier of stumps that selects C and the measure on thresholds."""
    return InfiniteEnsembleClassifierCV(MEASURES_OF_STUMPS, loss=loss, scoring=scoring, cv=3)


def support_vectors(is_category: np.ndarray, seed: int, task: str) -> Any:  # noqa: ARG001
    """Return scikit-learn's support vector classifier."""
    return SVC()


def squared_trees(is_category: np.ndarray, seed: int, task: str, solver: str) -> Any:  # noqa: ARG001
    """Return our classifier of trees for the squared loss, on rows in single precision."""
    machine = InfiniteEnsembleClassifier(
        "laplacian", loss="squared", solver=solver, random_state=seed
    )
    return make_pipeline(FunctionTransformer(np.float32), machine)


def intelex(is_category: np.ndarray, seed: int, task: str) -> Any:  # noqa: ARG001
    """Return the support vector classifier of scikit-learn-intelex."""
    from sklearnex import svm

    return svm.SVC()


AT_SCALE: dict[str, Method] = {
    **{name: METHODS[name] for name in (OURS, *RIVALS, "ebm")},
    "stumps": partial(classifier, kernel="stump"),
    "perceptrons": partial(classifier, kernel="perceptron"),
    "trees": partial(classifier, kernel="laplacian"),
    "trees_local": partial(squared_trees, solver="local"),
    "trees_gpu": partial(squared_trees, solver="cuda"),
    "logistic_tuned": partial(tuned, loss="logistic", scoring="roc_auc"),
    "hinge_tuned": partial(tuned, loss="hinge", scoring=None),
    "svc": support_vectors,
    "svc_intelex": intelex,
}
MOST_ROWS = {  # number of rows above which a method is left out, for its time
    "ebm": 200_000,
    "perceptrons": 200_000,
    "trees": 200_000,
    "svc": 20_000,
    "svc_intelex": 20_000,
}


def threenorm_cells(rows: list[int]) -> list[str]:
    """Return the names of threenorm with numbers of rows."""
    return [f"{THREENORM} {n}" for n in rows]


def n_rows_of(name: str) -> int:
    """Return the number of rows in the name of a problem, 0 for a data set."""
    return int(name.split()[1]) if name.startswith(THREENORM) else 0


def problem_at_scale(name: str) -> Problem:
    """Return the training and test rows of a data set, or of threenorm, all of them."""
    if name.startswith(THREENORM):
        X, y = make_threenorm(n_rows_of(name), random_state=0)
        X_test, y_test = make_threenorm(TEST_ROWS, random_state=1)
        tables = (pd.DataFrame(each).add_prefix("x") for each in (X, X_test))
        return Problem(
            *tables, *(np.where(each > 0, 1, 0) for each in (y, y_test)), "classification"
        )
    dataset = load(name)
    table, y = as_table(dataset), dataset.y
    if dataset.task == "classification":
        y = np.unique(y, return_inverse=True)[1]
    split = whole_split(dataset)
    tables = (table.iloc[rows].reset_index(drop=True) for rows in split)
    return Problem(*tables, *(y[rows] for rows in split), dataset.task)


def whole_split(dataset: Dataset) -> Split:
    """Return the split of a data set, or 70 % of its rows at random; groups stay together."""
    if dataset.splits:
        return dataset.splits[0]
    rows = np.arange(len(dataset.y))
    if dataset.groups is not None:
        split = GroupShuffleSplit(1, test_size=0.3, random_state=0)
        return Split(*next(split.split(rows, dataset.y, dataset.groups)))
    strata = dataset.y if dataset.task == "classification" else None
    return Split(*train_test_split(rows, test_size=0.3, stratify=strata, random_state=0))


def compute(cell: Cell) -> dict[str, float]:
    """Return the measures of a method, its peak memory and its time per predicted row."""
    problem = problem_at_scale(cell.data)
    found = measure(AT_SCALE[cell.method], problem, cell.seed)
    peak = 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    per_row = 1e6 * found["predict_seconds"] / len(problem.y_test)
    return {**found, "predict_microseconds": per_row, "peak_gigabytes": peak / 2**30}


def guess(cell: Cell) -> dict[str, float]:
    """Return the measures of always guessing, for a cell that failed."""
    problem = problem_at_scale(cell.data)
    return of_guessing(problem.task, problem.y_train, problem.y_test)

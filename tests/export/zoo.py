"""Fitted models of every kind that can be exported, and rows to compare predictions on."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.tree import DecisionTreeClassifier

from kernsemble.boosting import AdaBoostClassifier, LPBoostClassifier
from kernsemble.datasets import make_mixed_table
from kernsemble.detection import LagoClassifier
from kernsemble.kernels import (
    Category,
    Constant,
    DecisionTree,
    Exponential,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    MiddleStump,
    Mixed,
    Perceptron,
    Polynomial,
    Stump,
    StumpRegion,
)
from kernsemble.kernels.learned import Boosted
from kernsemble.learners import C45Tree, RCDPerceptron
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
    MultiplicativeSVC,
)

TABLES = {"solver": "additive", "loss": "logistic"}
EXACT = {"solver": "exact", "calibration": "sigmoid"}


TEMPLATES = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])


class Case(NamedTuple):
    """A model to fit, and the name of the data that it is fitted to."""

    model: Any
    data: str


def _classifier(kernel, data="cancer", **settings):
    return Case(InfiniteEnsembleClassifier(kernel, **settings), data)


def _vote(data):
    return Case(InfiniteEnsembleClassifierCV("auto", loss="squared", cv=2, random_state=0), data)


ADDITIVE = {
    "stump": _classifier("stump", **EXACT),
    "stump on ranks": _classifier("stump", scaling="rank", calibration="isotonic"),
    "middle stumps": _classifier(MiddleStump(), scaling=None, **EXACT),
    "intersection": _classifier(HistogramIntersection(), **EXACT),
    "lines": _classifier(Linear() + Stump(), **EXACT),
    "tables": _classifier("stump", **TABLES),
    "pairs": _classifier("stump", "iris", calibration="sigmoid"),
    "pairs, isotonic": _classifier("stump", "iris", calibration="isotonic"),
    "one per class": _classifier("stump", "iris", multiclass="one-vs-rest", calibration="sigmoid"),
    "mixed": _classifier("stump", "mixed", **TABLES),
    "mixed, no probabilities": _classifier("stump", "mixed", solver="additive"),
    "points": _classifier(Stump() + Category().on(["education"]), "points", **EXACT),
    "dates": _classifier("stump", "dates", **TABLES),
    "AdaBoost": Case(AdaBoostClassifier(n_estimators=20), "cancer"),
    "AdaBoost of classes": Case(AdaBoostClassifier(n_estimators=20), "iris"),
    "LPBoost": Case(LPBoostClassifier(C=0.1), "cancer"),
    "regression": Case(InfiniteEnsembleRegressor("stump", solver="additive"), "amounts"),
}
OTHERS = {
    "perceptron": _classifier("perceptron", **EXACT),
    "laplacian": _classifier("laplacian", "iris", calibration="isotonic"),
    "exponential": _classifier(Exponential(), "iris", multiclass="one-vs-rest", **EXACT),
    "gaussian": _classifier(Gaussian(), scaling="rank", **EXACT),
    "polynomial": _classifier(Polynomial(3), **EXACT),
    "regions": _classifier(StumpRegion(3), **EXACT),
    "trees": _classifier(DecisionTree(0.1), **EXACT),
    "sum": _classifier(Stump() + 0.5 * Perceptron() + Constant(), **EXACT),
    "product": _classifier(Stump("empirical") * Perceptron(), **EXACT),
    "and": _classifier(Stump() & MiddleStump(), **EXACT),
    "logic": _classifier(Perceptron().logic, **EXACT),
    "simplified": _classifier(Perceptron().simplified + Stump().simplified, **EXACT),
    "intersection and perceptron": _classifier(HistogramIntersection() + Perceptron(), **EXACT),
    "boosted": _classifier(
        Boosted(Gaussian(1.0).bind(TEMPLATES), TEMPLATES, np.array([[1.0, -1.0, 0.5]])),
        "iris",
        **{**EXACT, "scaling": None},
    ),
    "on columns": _classifier(Stump().on([0, 1]) + Gaussian().on([2, 3]), **EXACT),
    "categories": _classifier(
        Laplacian().on(["age"]) * Category().on(["education"]), "points", **EXACT
    ),
    "Mixed": _classifier(Mixed(Laplacian()), "mixed", **EXACT),
    "learned": _classifier(Laplacian(), scaling="learned", **EXACT),
    "learned directions": _classifier(Exponential(), scaling="learned-directions", **EXACT),
    "effects": _classifier(Laplacian(), "mixed", scaling="effects", **EXACT),
    "learned effects": _classifier(Laplacian(), "mixed", scaling="learned-effects", **EXACT),
    "directions": _classifier("perceptron", n_slices=20, random_state=0, **TABLES),
    "stumps and directions": _classifier(
        Stump() + Perceptron(), n_slices=20, random_state=0, **TABLES
    ),
    "multiplicative": Case(MultiplicativeSVC("laplacian"), "cancer"),
    "kernel regression": Case(InfiniteEnsembleRegressor("laplacian"), "cancer radius"),
    "vote": _vote("mixed"),
    "vote of classes": _vote("iris"),
    "vote of numbers": Case(
        InfiniteEnsembleRegressorCV("auto", loss="squared", cv=2, random_state=0),
        "cancer radius",
    ),
    "AdaBoost of trees": Case(
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=10), "iris"
    ),
    "LPBoost of trees": Case(
        LPBoostClassifier(DecisionTreeClassifier(max_depth=2), C=0.1), "cancer"
    ),
    "AdaBoost of C4.5": Case(AdaBoostClassifier(C45Tree(), n_estimators=5), "iris"),
    "AdaBoost of perceptrons": Case(
        AdaBoostClassifier(RCDPerceptron(n_epochs=20, random_state=0), n_estimators=5), "cancer"
    ),
    "LAGO": Case(LagoClassifier(rare=["no"]), "cancer"),
    "LAGO, elliptical": Case(LagoClassifier("elliptical", rare=[0, 1]), "iris"),
    "LAGO, uniform": Case(LagoClassifier(kernel="uniform", rare=[0]), "iris"),
    "LAGO, triangular": Case(LagoClassifier(kernel="triangular", threshold=0.1), "iris"),
}
CASES = ADDITIVE | OTHERS
LONG = {  # without compilation
    *("effects", "learned", "learned directions", "learned effects", "vote", "vote of classes"),
    *("AdaBoost of perceptrons", "AdaBoost of C4.5"),
}
NAMES = [pytest.param(name, marks=[pytest.mark.large] * (name in LONG)) for name in CASES]


@cache
def data(name: str) -> tuple[Any, Any]:
    """Return rows, as a table or an array, and their targets."""
    rng = np.random.default_rng(0)
    if name == "iris":
        X, y = load_iris(return_X_y=True)
        return X[::2], y[::2]
    if name.startswith("cancer"):
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        X, y = X.iloc[::5, :6], y.iloc[::5]
        return X, X.iloc[:, 0].to_numpy() + y if name.endswith("radius") else np.array(
            ["no", "yes"]
        )[y]
    if name == "dates":
        seconds = rng.integers(0, 3 * 365 * 86_400, size=150)
        when = pd.Timestamp("2020-01-01") + pd.to_timedelta(seconds, unit="s")
        table = pd.DataFrame({"when": when, "x": rng.normal(size=150)})
        return table, (table["when"].dt.month > 6) ^ (table["x"] > 0) ^ (seconds % 86_400 < 3e4)
    mixed, income = make_mixed_table(150, random_state=1)
    if name == "points":
        return mixed[["age", "education"]].fillna(10.0), income
    return mixed, np.arange(150.0) if name == "amounts" else income


@cache
def fitted(name: str) -> Any:
    """Return a fitted model."""
    case = CASES[name]
    return case.model.fit(*data(case.data))


@cache
def rows(name: str, n: int = 300) -> Any:
    """Return random rows: between and beyond the training rows, with missing values and others."""
    known, model, rng = data(CASES[name].data)[0], fitted(name), np.random.default_rng(1)
    drawn = rng.integers(len(known), size=n)
    if isinstance(known, np.ndarray):
        return known[drawn] + known.std(axis=0) * rng.normal(size=(n, known.shape[1]))
    table = known.iloc[drawn].reset_index(drop=True)
    for column in table.columns:
        table[column] = _varied(table[column], rng, supports_missing(model))
    return table


def supports_missing(model: Any) -> bool:
    """Return whether a model predicts rows with missing numbers."""
    table = getattr(model, "mixed_table_", None)
    return table is not None and model.machines_.supports_missing


def _varied(column: Any, rng: Any, has_missing: bool) -> Any:
    n = len(column)
    if column.dtype.kind == "M":
        spread = pd.to_timedelta(rng.integers(-30_000, 30_000, size=n), unit="D")
        return column + spread
    if column.dtype.kind == "f":
        moved = column + column.std() * rng.normal(size=n) * (rng.random(n) < 0.5)
        moved = moved.round() if column.name == "education" else moved
        return moved.mask(rng.random(n) < 0.1) if has_missing else moved
    names = column.astype(object).to_numpy(copy=True)
    names[rng.random(n) < 0.1] = "never seen"
    names[rng.random(n) < 0.05] = None
    return pd.Series(names, dtype=object)

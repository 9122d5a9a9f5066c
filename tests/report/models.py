"""Small fitted models of every kind, with their training rows."""

from collections.abc import Mapping
from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import train_test_split

from kernsemble.boosting import AdaBoostClassifier
from kernsemble.datasets import make_mixed_table
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressorCV,
    MultiplicativeSVC,
    SVMPath,
)

GRID = (0.01, 0.1, 1.0)


@cache
def cancer():
    """Return training and test rows of three columns, and their classes."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.iloc[:200, [0, 1, 27]], np.array(["malignant", "benign"])[y.iloc[:200]]
    return train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)


@cache
def stumps():
    X, _, y, _ = cancer()
    return InfiniteEnsembleClassifierCV("stump", Cs=GRID, cv=3).fit(X, y)


class FittedModels(Mapping):
    """Models by name, with their rows and targets; a model is fitted when it is first needed."""

    def __init__(self, models):
        self.models, self.fitted = models, {}

    def __getitem__(self, name):
        if name not in self.fitted:
            model, X, y = self.models[name]
            self.fitted[name] = model.fit(X, y), X, y
        return self.fitted[name]

    def __iter__(self):
        return iter(self.models)

    def __len__(self):
        return len(self.models)


@cache
def every_model():
    """Return models by name, with their rows and targets."""
    X, _, y, _ = cancer()
    iris, species = load_iris(return_X_y=True)
    iris, species = iris[::3], species[::3]
    diabetes, numbers = load_diabetes(return_X_y=True, as_frame=True)
    diabetes, numbers = diabetes.iloc[:80, :4], numbers.iloc[:80]
    mixed, income = make_mixed_table(200, random_state=0)
    additive = {"solver": "additive", "loss": "logistic"}
    models = {
        "stumps": (stumps(), X, y),
        "trees": (InfiniteEnsembleClassifier("laplacian"), X, y),
        "classes": (InfiniteEnsembleClassifierCV("stump", Cs=GRID, cv=3), iris, species),
        "one class each": (
            InfiniteEnsembleClassifier("perceptron", multiclass="one-vs-rest"),
            iris,
            species,
        ),
        "pairs": (InfiniteEnsembleClassifier(decision_function_shape="ovo"), iris, species),
        "numbers": (InfiniteEnsembleRegressorCV("stump", Cs=GRID, cv=3), diabetes, numbers),
        "mixed": (InfiniteEnsembleClassifierCV("stump", Cs=GRID, cv=3, **additive), mixed, income),
        "pairs of columns": (
            InfiniteEnsembleClassifier(n_pairs=3, **additive),
            mixed,
            income,
        ),
        "boosted": (AdaBoostClassifier(n_estimators=10), X, y),
        "multiplicative": (MultiplicativeSVC(), X, y),
        "path": (SVMPath(), X.iloc[:60], y[:60]),
        "vote": (InfiniteEnsembleClassifierCV(cv=3, random_state=0), X, y),
        "vote of classes": (InfiniteEnsembleClassifierCV(cv=3, random_state=0), iris, species),
        "vote of numbers": (InfiniteEnsembleRegressorCV(cv=3, random_state=0), diabetes, numbers),
        "vote on a mixed table": (
            InfiniteEnsembleClassifierCV(cv=3, random_state=0),
            mixed,
            income,
        ),
    }
    return FittedModels(models)


NAMES = (
    *("stumps", "trees", "classes", "one class each", "pairs", "numbers", "mixed", "boosted"),
    *("multiplicative", "path", "vote", "vote of classes", "vote of numbers"),
    *("vote on a mixed table", "pairs of columns"),
)

"""Mistakes of SVMs and forests as functions of their settings (Zhu 2008, Figure 3)."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import StandardScaler

from kernsemble._typing import FloatArray
from kernsemble.experiments.methods.measures import Method, Values
from kernsemble.experiments.paper_data import TrainTestData
from kernsemble.kernels import Gaussian
from kernsemble.svm import InfiniteEnsembleClassifier

PENALTIES = np.logspace(-1, 3, 5)
WIDTHS = np.logspace(-5, 1, 7)
FEATURES = (1, 2, 4, 7, 10, 20, 57)
TREES = (10, 30, 100, 200)
STABLE = 100  # number of trees above which the paper calls a forest stable


def machines(
    is_standardised: bool,
    data: TrainTestData,
    _: int,
    widths: FloatArray = WIDTHS,
    penalties: FloatArray = PENALTIES,
) -> Values:
    """Count mistakes over C and h of exp(-h|u - v|²), on raw or standardised features."""
    X, X_test = data.X, data.X_test
    if is_standardised:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    counts = np.zeros((len(widths), len(penalties)))
    for row, h in enumerate(widths):
        for column, C in enumerate(penalties):
            machine = InfiniteEnsembleClassifier(Gaussian(h), C=C, scaling=None)
            counts[row, column] = np.sum(machine.fit(X, data.y).predict(X_test) != data.y_test)
    return {
        **_best_and_lines(counts),
        **{
            f"h = {h:g}@{C:g}": count
            for h, line in zip(widths, counts, strict=True)
            for C, count in zip(penalties, line, strict=True)
        },
    }


def forests(
    data: TrainTestData,
    seed: int,
    features: Sequence[int] = FEATURES,
    trees: Sequence[int] = TREES,
) -> Values:
    """Count mistakes over the number m of features per split and the number B of trees."""
    features = [m for m in features if m <= data.X.shape[1]]
    counts = np.zeros((len(features), len(trees)))
    for row, m in enumerate(features):
        forest = RandomForestClassifier(max_features=m, warm_start=True, random_state=seed)
        for column, n_trees in enumerate(trees):
            forest.set_params(n_estimators=n_trees).fit(data.X, data.y)
            counts[row, column] = np.sum(forest.predict(data.X_test) != data.y_test)
    stable = counts[:, np.array(trees) >= STABLE]
    return {
        **_best_and_lines(stable),
        **{
            f"m = {m}@{n_trees}": count
            for m, line in zip(features, counts, strict=True)
            for n_trees, count in zip(trees, line, strict=True)
        },
    }


def _best_and_lines(counts: FloatArray) -> Values:
    """Return the fewest mistakes, and the numbers of additional mistakes of other settings.

    "by line" compares the best of the worst line with the overall best, "within a line" the worst
    of the best line.
    """
    best = counts.min()
    best_line = counts[np.argmin(counts.min(axis=1))]
    return {
        "best": float(best),
        "by line": float(counts.min(axis=1).max() - best),
        "within a line": float(best_line.max() - best),
    }


METHODS: dict[str, Method] = {
    "SVM over h": partial(machines, False),
    "SVM over h, standardised": partial(machines, True),
    "forests over m": forests,
}

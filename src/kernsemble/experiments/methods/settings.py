"""How mistakes depend on the settings of a machine and of a forest (Zhu 2008, Figure 3)."""

from functools import partial

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import StandardScaler

from kernsemble._typing import FloatArray
from kernsemble.experiments.methods.measures import Method, Values
from kernsemble.experiments.problems import Problem
from kernsemble.kernels import Gaussian
from kernsemble.svm import InfiniteEnsembleClassifier

PENALTIES = np.logspace(-1, 3, 5)
WIDTHS = np.logspace(-5, 1, 7)
FEATURES = (1, 2, 4, 7, 10, 20, 57)
TREES = (10, 30, 100, 200)
STABLE = 100  # trees, from which on the paper calls a forest stable


def machines(is_standardised: bool, problem: Problem, _: int) -> Values:
    """Count mistakes over C and h of exp(-h|u - v|²), on features as they are or standardised."""
    X, X_test = problem.X, problem.X_test
    if is_standardised:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    counts = np.zeros((len(WIDTHS), len(PENALTIES)))
    for row, h in enumerate(WIDTHS):
        for column, C in enumerate(PENALTIES):
            machine = InfiniteEnsembleClassifier(Gaussian(h), C=C, scaling=None)
            counts[row, column] = np.sum(
                machine.fit(X, problem.y).predict(X_test) != problem.y_test
            )
    return {
        **_best_and_lines(counts),
        **{
            f"h = {h:g}@{C:g}": count
            for h, line in zip(WIDTHS, counts, strict=True)
            for C, count in zip(PENALTIES, line, strict=True)
        },
    }


def forests(problem: Problem, seed: int) -> Values:
    """Count mistakes over the number m of features a split looks at, and B of trees."""
    features = [m for m in FEATURES if m <= problem.X.shape[1]]
    counts = np.zeros((len(features), len(TREES)))
    for row, m in enumerate(features):
        forest = RandomForestClassifier(max_features=m, warm_start=True, random_state=seed)
        for column, n_trees in enumerate(TREES):
            forest.set_params(n_estimators=n_trees).fit(problem.X, problem.y)
            counts[row, column] = np.sum(forest.predict(problem.X_test) != problem.y_test)
    stable = counts[:, np.array(TREES) >= STABLE]
    return {
        **_best_and_lines(stable),
        **{
            f"m = {m}@{n_trees}": count
            for m, line in zip(features, counts, strict=True)
            for n_trees, count in zip(TREES, line, strict=True)
        },
    }


def _best_and_lines(counts: FloatArray) -> Values:
    """Return the fewest mistakes, and how many more bad settings make.

    "by line" is how many more the worst line has at its best than the best, "within a line" how
    many more the best line has at its worst.
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

"""The papers' choice of C and width as LIBSVM makes it: each problem from scratch."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from kernsemble._typing import FloatArray
from kernsemble.experiments.methods.machines import RADIAL_CS, SCALE_FREE_CS, WIDTHS
from kernsemble.experiments.methods.measures import Method, Values, timed
from kernsemble.experiments.problems import Problem
from kernsemble.kernels import Gaussian, Laplacian, Perceptron, Stump

FOLDS = 5


def _chosen(kernels: Sequence[Any], Cs: FloatArray, problem: Problem, _: int) -> Values:
    """Return the test error in per cent of the best kernel and C of five folds, and the seconds.

    `kernels` times `Cs` times five problems are solved, each without knowledge of the others;
    the matrix of a kernel is computed once.
    """
    bound = [kernel.bind(problem.X) for kernel in kernels]
    for kernel in bound:
        kernel(problem.X[:1])  # compiled before it is timed
    searches, seconds = timed(
        lambda: [
            GridSearchCV(SVC(kernel="precomputed"), {"C": Cs}, cv=FOLDS).fit(
                kernel(problem.X), problem.y
            )
            for kernel in bound
        ]
    )
    best = int(np.argmax([search.best_score_ for search in searches]))
    right = searches[best].score(bound[best](problem.X_test, problem.X), problem.y_test)
    return {"error": 100.0 * (1.0 - right), "fit": seconds}


METHODS: dict[str, Method] = {
    "SVM-Stump LIBSVM": partial(_chosen, [Stump()], SCALE_FREE_CS),
    "SVM-Perc LIBSVM": partial(_chosen, [Perceptron()], SCALE_FREE_CS),
    "SVM-Dec LIBSVM": partial(_chosen, [Laplacian(gamma) for gamma in WIDTHS], RADIAL_CS),
    "SVM-Gauss LIBSVM": partial(_chosen, [Gaussian(gamma) for gamma in WIDTHS], RADIAL_CS),
}

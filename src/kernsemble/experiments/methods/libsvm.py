"""Selection of C and width with LIBSVM, which solves each problem from scratch."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from kernsemble._typing import FloatArray
from kernsemble.experiments.methods.machines import RADIAL_CS, SCALE_FREE_CS, WIDTHS
from kernsemble.experiments.methods.measures import Method, Values, timed
from kernsemble.experiments.paper_data import TrainTestData
from kernsemble.kernels import Gaussian, Laplacian, Perceptron, Stump

FOLDS = 5


def _select(kernels: Sequence[Any], Cs: FloatArray, data: TrainTestData, _: int) -> Values:
    """Select kernel and C by five folds; return the test error in per cent, and the seconds.

    `kernels` times `Cs` times five problems are solved independently; the matrix of a kernel is
    computed once.
    """
    bound = [kernel.bind(data.X) for kernel in kernels]
    for kernel in bound:
        kernel(data.X[:1])  # compile before timing
    searches, seconds = timed(
        lambda: [
            GridSearchCV(SVC(kernel="precomputed"), {"C": Cs}, cv=FOLDS).fit(kernel(data.X), data.y)
            for kernel in bound
        ]
    )
    best = int(np.argmax([search.best_score_ for search in searches]))
    right = searches[best].score(bound[best](data.X_test, data.X), data.y_test)
    return {"error": 100.0 * (1.0 - right), "fit": seconds}


METHODS: dict[str, Method] = {
    "SVM-Stump LIBSVM": partial(_select, [Stump()], SCALE_FREE_CS),
    "SVM-Perc LIBSVM": partial(_select, [Perceptron()], SCALE_FREE_CS),
    "SVM-Dec LIBSVM": partial(_select, [Laplacian(gamma) for gamma in WIDTHS], RADIAL_CS),
    "SVM-Gauss LIBSVM": partial(_select, [Gaussian(gamma) for gamma in WIDTHS], RADIAL_CS),
}

"""Tables of kernels that tests run over (add a row to test a new kernel), and helpers."""

from collections import Counter
from itertools import product

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.svm import SVC

from kernsemble.hypotheses import MiddleStumpSet
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
    Perceptron,
    Polynomial,
    Stump,
    StumpRegion,
)

SIMPLE_ENSEMBLES = [
    Stump(),
    Stump(measure="empirical"),
    Stump(measure="distinct", margin=0.5),
    MiddleStump(),
    Perceptron(),
    Category(),
]

ENSEMBLES = [
    *SIMPLE_ENSEMBLES,
    Constant(2.0),
    Stump() + Perceptron(),
    0.25 * Stump() + MiddleStump(),
    Stump() * Perceptron(),
    2.0 * (MiddleStump() * Stump()),
    Stump() & Perceptron(),
    (Stump() & MiddleStump()) & Stump(),
    (Stump() + Constant()) & (0.5 * Category()),
    StumpRegion(level=1),
    StumpRegion(level=3),
    DecisionTree(gamma=0.01),
    DecisionTree(gamma=0.01, stump=Stump(measure="empirical")),
    Laplacian(gamma=0.05),
    Laplacian(),
    Exponential(gamma=0.05),
    Perceptron() * Laplacian(gamma=0.05),
    Stump().on([0]) + Perceptron().on([0, -1]),
    (Stump() + Perceptron()) * (Stump() + Perceptron()),
    (Stump() + Constant(3.0)) & (Perceptron() + Constant()),
    Stump().logic,
    Stump().logic * Perceptron().logic,
]

DEFINITE = [
    *ENSEMBLES,
    Gaussian(),
    Gaussian(gamma=0.1),
    Gaussian(gamma="spread"),
    Exponential(),
    Linear(),
    Polynomial(degree=3, offset=0.5),
    HistogramIntersection(),
    Gaussian(gamma=0.5) * Linear() + Stump(),
]

CONDITIONAL = [
    *(kernel.simplified for kernel in SIMPLE_ENSEMBLES),
    (Stump() + 0.5 * Perceptron()).simplified,
    (Stump() + Perceptron()).on([0]).simplified,
    Stump().simplified + Gaussian(),
]

KERNELS = [*DEFINITE, *CONDITIONAL]


def samples(min_rows=1, max_rows=12, min_columns=1, max_columns=4):
    """Rows on a coarse grid, so that ties, duplicates and constant columns are common."""
    shapes = st.tuples(st.integers(min_rows, max_rows), st.integers(min_columns, max_columns))
    grid = st.integers(-40, 40).map(lambda k: k / 8)
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=grid))


@st.composite
def pairs_of_samples(draw, max_rows=12, max_columns=4):
    """Two samples with equally many columns."""
    n_columns = draw(st.integers(1, max_columns))
    sample = samples(max_rows=max_rows, min_columns=n_columns, max_columns=n_columns)
    return draw(sample), draw(sample)


def random_rows(n=30, n_features=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_features))


def svm_decisions(kernel, X, y, Z, C=1.0):
    """The decision values at Z of the SVM, by LIBSVM (whose matrix is float32) on the kernel."""
    machine = SVC(kernel="precomputed", C=C, tol=1e-10).fit(kernel(X), y)
    return machine.decision_function(kernel(Z, X))


def all_stumps(X, n_classes):
    """The predictions of every middle stump and constant at the rows, as codes of classes."""
    said = [np.full(len(X), k) for k in range(n_classes)]
    for d, thresholds in enumerate(MiddleStumpSet.between(X).thresholds):
        for threshold, below, above in product(thresholds, range(n_classes), range(n_classes)):
            said += [np.where(X[:, d] > threshold, above, below)]
    return said


class Recorder:
    """A callback of scikit-learn that counts its calls."""

    max_propagation_depth = None

    def __init__(self):
        self.begun, self.ended, self.n_setups = Counter(), Counter(), 0

    def setup(self, estimator, context):
        self.n_setups += 1

    def teardown(self, estimator, context):
        self.n_setups -= 1

    def on_fit_task_begin(self, estimator, context):
        self.begun[context.task_name] += 1

    def on_fit_task_end(self, estimator, context):
        self.ended[context.task_name] += 1

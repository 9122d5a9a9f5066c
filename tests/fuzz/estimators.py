"""The catalogue: every estimator, with the settings to draw from."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from kernsemble.boosting import (
    AdaBoostClassifier,
    AdaBoostClassifierCV,
    KernelBoost,
    LPBoostClassifier,
    LPBoostClassifierCV,
)
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
from kernsemble.learners import C45Tree, DecisionStump, RCDPerceptron
from kernsemble.preprocessing import TableEncoder
from kernsemble.selection import ParallelEvolutionSelector
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
    KernelPerceptron,
    MultiplicativeSVC,
    SVMPath,
)

Options = dict[str, Sequence[Any]]

KERNELS = [
    Stump(),
    Stump("empirical"),
    Stump("distinct", margin=0.5),
    MiddleStump(),
    Perceptron(),
    Category(),
    Constant(2.0),
    Stump() + Perceptron(),
    0.25 * Stump() + MiddleStump(),
    1e-300 * Stump(),
    1e300 * Perceptron(),
    Stump() * Perceptron(),
    Stump() & Perceptron(),
    (Stump() + Constant()) & (0.5 * Category()),
    StumpRegion(3),
    DecisionTree(0.01),
    DecisionTree(100.0),
    Laplacian(),
    Laplacian(1e-5),
    Laplacian(1e5),
    Exponential(),
    Gaussian(),
    Gaussian("spread"),
    Gaussian(1e300),
    Linear(),
    Polynomial(3, offset=0.5),
    Polynomial(30),
    HistogramIntersection(),
    Mixed(Laplacian()),
    Mixed(Stump(), (0,)),
    Stump().on([0]) + Perceptron().on([-1]),
    Stump().on("c0"),
    Category().on([0]) * Laplacian().on([-1]),
    Stump().logic * Perceptron().logic,
    Stump().simplified,
    Perceptron().simplified + Gaussian(),
]
NAMES = ["stump", "perceptron", "laplacian", "gaussian-spread", "category", "linear", "auto", ""]
KERNEL_OPTIONS = [*KERNELS, *NAMES]
SCALINGS = ["range", "rank", "distinct", None]
LEARNED = ["learned", "learned-range", "learned-directions", "effects", "learned-effects"]
MULTICLASS = ["auto", "one-vs-one", "one-vs-rest"]
TREE = DecisionTreeClassifier(max_depth=2, random_state=0)

MACHINE: Options = {
    "kernel": KERNEL_OPTIONS,
    "C": ["scale", 1.0, 1e-300, 1e-6, 1e6, 1e300, np.inf],
    "scaling": [*SCALINGS, *SCALINGS, *LEARNED],
    "solver": ["auto", "exact", "additive", "local"],
    "tol": [1e-3, 1e-10, 1.0],
    "max_iter": [None, 1, 1000],
    "cache_size": [None, 1e-6],
    "warm_start": [False, True],
    "max_levels": [256, 2, 5],
    "n_slices": [None, 3],
    "n_grids": [4],
    "n_pairs": [0, 1, "auto"],
    "n_jobs": [None, 2],
}
CLASSIFIER: Options = {
    "multiclass": MULTICLASS,
    "decision_function_shape": ["ovr", "ovo"],
    "class_weight": [None, "balanced", {0: 2.0}, {0: 0.0}, {0: np.nan}, {"x": 1.0}],
}
LOSSES = ["hinge", "logistic", "squared_hinge", "squared"]
SELECTION: Options = {
    "Cs": [[1.0], [0.1, 10.0], [1e-300, 1e300], [], [-1.0], [np.nan]],
    "cv": [2, 3, 5, 10**6],
    "n_jobs": [None, 2],
}


class Subject(NamedTuple):
    """An estimator, the settings to draw from, and how often it is drawn."""

    estimator: Any
    options: Options
    weight: float = 1.0
    fixed: dict[str, Any] = {}  # noqa: RUF012


SUBJECTS = [
    Subject(
        InfiniteEnsembleClassifier(),
        MACHINE
        | CLASSIFIER
        | {"loss": [*LOSSES, "auto"], "calibration": [None, "sigmoid", "isotonic"]},
        6.0,
        {"n_grids": 8},
    ),
    Subject(
        InfiniteEnsembleRegressor(),
        MACHINE
        | {
            "loss": ["epsilon_insensitive", "squared"],
            "epsilon": ["scale", 0.0, 0.1, 1e300],
        },
        5.0,
        {"n_grids": 8},
    ),
    Subject(
        InfiniteEnsembleClassifierCV("stump", Cs=[0.1, 1.0], cv=2, scaling="range"),
        {
            name: values
            for name, values in (MACHINE | CLASSIFIER | SELECTION).items()
            if name not in ("C", "warm_start", "kernel")
        }
        | {
            "kernel": ["stump", ["stump", Laplacian()], Perceptron(), []],
            "calibration": [None, "sigmoid", "isotonic"],
            "loss": [*LOSSES, "auto"],
        },
        1.5,
        {"n_grids": 8},
    ),
    Subject(
        InfiniteEnsembleRegressorCV("stump", Cs=[0.1, 1.0], cv=2, scaling="range"),
        {
            name: values
            for name, values in (MACHINE | SELECTION).items()
            if name not in ("C", "warm_start", "kernel")
        }
        | {
            "kernel": ["stump", ["stump", Laplacian()], Perceptron()],
            "epsilons": [(0.1,), (), (1e300,)],
            "loss": ["epsilon_insensitive", "squared", "auto"],
        },
        1.0,
        {"n_grids": 8},
    ),
    Subject(InfiniteEnsembleClassifierCV(cv=2, max_members=2), {"calibration": [None]}, 0.05),
    Subject(InfiniteEnsembleRegressorCV(cv=2, max_members=2), {}, 0.05),
    Subject(
        SVMPath(),
        {
            "kernel": KERNEL_OPTIONS,
            "C": ["loo", 1.0, 1e-300, 1e300],
            "scaling": SCALINGS,
            "multiclass": MULTICLASS,
            "class_weight": CLASSIFIER["class_weight"],
            "smallest_C": [None, 1e-3, 1e300],
            "largest_C": [None, 1e3, 1e-300],
            "max_breakpoints": [None, 1, 20],
        },
        2.0,
    ),
    Subject(
        MultiplicativeSVC(tol=0.1),
        {
            "kernel": KERNEL_OPTIONS,
            "hypothesis": ["ensemble", "last", "first"],
            "rank": [None, 1, 5, 10**6],
            "scaling": SCALINGS,
            "multiclass": MULTICLASS,
            "max_iter": [None, 1, 50],
            "sparsity": [None, 0.1, 0.0],
        },
        2.0,
    ),
    Subject(
        KernelPerceptron(n_epochs=2),
        {
            "kernel": KERNEL_OPTIONS,
            "variant": ["last", "averaged", "voted"],
            "n_epochs": [1, 3],
            "shuffle": [True, False],
            "multiclass": MULTICLASS,
        },
        2.0,
    ),
    Subject(
        AdaBoostClassifier(n_estimators=4),
        {
            "estimator": [None, TREE, DecisionStump(), C45Tree(), RCDPerceptron(n_epochs=3)],
            "learning_rate": [1.0, 1e-300, 1e300, 0.1],
            "n_iter_no_change": [None, 1],
            "validation_fraction": [0.1, 0.5, 0.999],
            "warm_start": [False, True],
            "n_jobs": [None, 2],
        },
        2.0,
    ),
    Subject(
        AdaBoostClassifierCV(ns_estimators=[1, 3], cv=2),
        {"estimator": [None, C45Tree()], "learning_rate": [1.0, 1e300], "cv": SELECTION["cv"]},
        0.5,
    ),
    Subject(
        LPBoostClassifier(),
        {
            "estimator": [None, TREE],
            "C": ["scale", 1.0, 1e-300, 1e300, np.inf],
            "nu": [None, 0.1, 1.0, 1e-300],
            "max_columns": [1, 5],
            "pricing": ["several", "one"],
            "warm_start": [False, True],
        },
        1.5,
    ),
    Subject(
        LPBoostClassifierCV(Cs=[0.1, 1.0], cv=2, max_columns=20),
        {"Cs": SELECTION["Cs"], "nus": [None, [0.1, 0.5], [0.0]], "cv": SELECTION["cv"]},
        0.3,
    ),
    Subject(
        KernelBoost(n_rounds=2),
        {
            "kernel": KERNEL_OPTIONS,
            "loss": ["log", "exp"],
            "n_templates": [None, 1, 10**6],
            "step": ["bound", "line-search"],
            "target": ["auto", "classes", "numbers"],
            "n_iter_no_change": [None, 1],
        },
        2.0,
    ),
    Subject(
        C45Tree(),
        {
            "min_cases": [2, 1, 1e300],
            "confidence": [0.25, 1e-300, 0.5],
            "prune": [True, False],
            "max_depth": [None, 1],
            "subtree_raising": [True, False],
        },
        2.0,
    ),
    Subject(DecisionStump(), {}, 1.0),
    Subject(
        RCDPerceptron(n_epochs=3),
        {"variant": ["random-bias", "random", "coordinate"], "start": ["zero", "fisher"]},
        1.0,
    ),
    Subject(
        LagoClassifier(cv=2),
        {
            "shape": ["spherical", "elliptical"],
            "alpha": ["cv", 1.0, 1e-300, 1e300],
            "n_neighbors": [5, 1, 10**6],
            "kernel": ["gaussian", "uniform", "triangular"],
            "rare": [None, 0, [0], "red", [0, 1], True],
            "threshold": ["f1", 0.0, -1e300, "rate"],
            "scaling": SCALINGS,
            "metric": ["euclidean", "manhattan", "chebyshev"],
            "algorithm": ["auto", "kd_tree", "ball_tree", "brute"],
            "alphas": [None, [1.0], [1e-300, 1e300]],
        },
        2.0,
    ),
    Subject(
        ParallelEvolutionSelector(n_universes=2, n_generations=2, population=6),
        {
            "criterion": ["aic", "bic", "gcv", "logistic-aic", "poisson-bic", "cox-aic"],
            "select": ["gap", 0.5, ("top", 1), ("top", 10**6)],
            "initial_size": ["auto", 0.5],
            "mutation": ["auto", 0.1],
            "entropy_share": [0.65, 1e-9],
        },
        1.5,
    ),
    Subject(TableEncoder(), {"max_categories": [1, 2, 20], "reference": [True, False]}, 2.0),
]

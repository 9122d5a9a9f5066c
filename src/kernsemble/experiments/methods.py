"""The papers' methods: a name tells what is fitted to a problem, and which numbers come of it."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from kernsemble.boosting import (
    AdaBoostClassifier,
    AdaBoostClassifierCV,
    LPBoostClassifier,
    LPBoostClassifierCV,
)
from kernsemble.experiments.methods_figures import FIGURE_METHODS
from kernsemble.experiments.problems import Problem
from kernsemble.kernels import Exponential, Gaussian, Laplacian, MiddleStump, Perceptron, Stump
from kernsemble.learners import C45Tree, RCDPerceptron
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    MultiplicativeSVC,
    SVMPath,
)

Values: TypeAlias = dict[str, float]
Method: TypeAlias = Callable[[Problem, int], Values]

WIDTHS = 2.0 ** np.arange(-15, 4, 2)
N_ORDERS = 5
SCALE_FREE_CS, RADIAL_CS = 2.0 ** np.arange(-17, 4, 2), 2.0 ** np.arange(-5, 16, 2)


def values_of(method: str, problem: Problem, seed: int) -> Values:
    """Return the numbers that a method tells of a problem."""
    if method in ESTIMATORS:
        return _tested(ESTIMATORS[method], problem, seed)
    if method in METHODS:
        return METHODS[method](problem, seed)
    known = ", ".join(sorted([*ESTIMATORS, *METHODS]))
    raise ValueError(f"method = {method!r}: give one of {known}")


def _tested(estimator: Any, problem: Problem, seed: int) -> Values:
    """Fit an estimator; return its test error in per cent and the seconds of the fit."""
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    seconds = _seconds_of_fit(model, problem)
    return {"error": _error(model, problem), "fit": seconds}


def _seconds_of_fit(model: Any, problem: Problem) -> float:
    start = time.perf_counter()
    model.fit(problem.X, problem.y)
    return time.perf_counter() - start


def _error(model: Any, problem: Problem) -> float:
    return 100.0 * float(np.mean(model.predict(problem.X_test) != problem.y_test))


def _machine(kernel: Any, Cs: Any) -> InfiniteEnsembleClassifierCV:
    """Return a machine whose C, and width, five folds choose; the problem is scaled already."""
    return InfiniteEnsembleClassifierCV(kernel, Cs, scaling=None)


def _largest_margin(problem: Problem, seed: int) -> Values:
    """Vote with the largest margin, negative where no vote separates the classes."""
    return _tested(LPBoostClassifier(nu=1.0 / len(problem.y)), problem, seed)


def _partially_trained(problem: Problem, _: int) -> Values:
    """Return the errors of the Parzen window, the last machine and the ensemble of all."""
    values: Values = {}
    for hypothesis in ("first", "last", "ensemble"):
        machine = MultiplicativeSVC(hypothesis=hypothesis)
        values["fit"] = _seconds_of_fit(machine, problem)  # in the end that of the ensemble
        values[hypothesis] = _error(machine, problem)
    return {**values, "iterations": machine.n_iter_}


def _ended_after(n_steps: int) -> Method:
    """Return what tells the error of the ensemble after so many steps."""
    return lambda problem, seed: _tested(MultiplicativeSVC(max_iter=n_steps), problem, seed)


def _in_other_orders(problem: Problem, seed: int) -> Values:
    """Return the error of the last machine, which rounding moves, over orders of the rows."""
    rng, errors = np.random.default_rng(seed), []
    for _ in range(N_ORDERS):
        order = rng.permutation(len(problem.y))
        machine = MultiplicativeSVC(hypothesis="last").fit(problem.X[order], problem.y[order])
        errors.append(_error(machine, problem))
    return {"last": float(np.mean(errors)), "least": min(errors), "largest": max(errors)}


def _path(problem: Problem, _: int) -> Values:
    """Return the errors along the path of C: at the least bound, and the least of all."""
    kernel = MultiplicativeSVC(hypothesis="first").fit(problem.X, problem.y).kernel_
    path = SVMPath(kernel, scaling=None)
    seconds = _seconds_of_fit(path, problem)
    best = 1.0 - path.score_path(problem.X_test, problem.y_test)[1].max()
    return {
        "loo": _error(path, problem),
        "best": 100.0 * best,
        "fit": seconds,
        "breakpoints": len(path.Cs_),
    }


ESTIMATORS: dict[str, Any] = {
    "SVM-Stump": _machine(Stump(), SCALE_FREE_CS),
    "SVM-Mid": _machine(MiddleStump(), SCALE_FREE_CS),
    "SVM-Perc": _machine(Perceptron(), SCALE_FREE_CS),
    "SVM-Dec": _machine([Laplacian(gamma) for gamma in WIDTHS], RADIAL_CS),
    "SVM-Exponential": _machine([Exponential(gamma) for gamma in WIDTHS], RADIAL_CS),
    "SVM-Gauss": _machine([Gaussian(gamma) for gamma in WIDTHS], RADIAL_CS),
    "SVM-Stump hard margin": InfiniteEnsembleClassifier(Stump(), C=np.inf, scaling=None),
    "AdaBoost-Stump": AdaBoostClassifierCV(),
    "AdaBoost-Perc": AdaBoostClassifierCV(RCDPerceptron()),
    "AdaBoost-Dec": AdaBoostClassifierCV(C45Tree()),
    "AdaBoost-Stump T=100": AdaBoostClassifier(n_estimators=100),
    "AdaBoost-Stump T=1000": AdaBoostClassifier(n_estimators=1000),
    "LPBoost-Stump": LPBoostClassifierCV(),
    "LPBoost-Perc": LPBoostClassifierCV(RCDPerceptron()),
    "LPBoost-Dec": LPBoostClassifierCV(C45Tree()),
    "LPBoost-Stump C=8": LPBoostClassifier(C=8.0),
    "LPBoost-Perc C=8": LPBoostClassifier(RCDPerceptron(), C=8.0),
    "LPBoost-Dec C=8": LPBoostClassifier(C45Tree(), C=8.0),
    "AdaBoost-Perc from Fisher": AdaBoostClassifierCV(RCDPerceptron(start="fisher")),
    "random forest": RandomForestClassifier(),
    "HistGradientBoosting": HistGradientBoostingClassifier(),
    "auto": InfiniteEnsembleClassifierCV("auto"),
}
METHODS: dict[str, Method] = {
    "LPBoost-Stump hard margin": _largest_margin,
    "partially trained": _partially_trained,
    "path": _path,
    "partially trained, other orders": _in_other_orders,
    **{f"partially trained, {n} steps": _ended_after(n) for n in (42, 62, 66)},
    **FIGURE_METHODS,
}

"""Machines and boosters of Lin and Li, of the thesis, and of Tsang and Kwok."""

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

from kernsemble.boosting import (
    AdaBoostClassifier,
    AdaBoostClassifierCV,
    LPBoostClassifier,
    LPBoostClassifierCV,
)
from kernsemble.experiments.methods.measures import (
    Method,
    Values,
    error_of,
    seconds_of_fit,
    tested,
)
from kernsemble.experiments.problems import Problem
from kernsemble.kernels import Exponential, Gaussian, Laplacian, MiddleStump, Perceptron, Stump
from kernsemble.learners import C45Tree, RCDPerceptron
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    MultiplicativeSVC,
    SVMPath,
)

WIDTHS = 2.0 ** np.arange(-15, 4, 2)
N_REPEATS = 5
SCALE_FREE_CS, RADIAL_CS = 2.0 ** np.arange(-17, 4, 2), 2.0 ** np.arange(-5, 16, 2)


def _machine(kernel: Any, Cs: Any) -> InfiniteEnsembleClassifierCV:
    """Return a machine whose C, and width, five folds choose; the problem is scaled already."""
    return InfiniteEnsembleClassifierCV(kernel, Cs, scaling=None)


def _by_other_folds(problem: Problem, seed: int) -> Values:
    """Return the error of SVM-Stump over choices of C by random folds."""
    errors = []
    for repeat in range(N_REPEATS):
        folds = StratifiedKFold(5, shuffle=True, random_state=repeat)
        machine = _machine(Stump(), SCALE_FREE_CS).set_params(cv=folds)
        errors.append(tested(machine, problem, seed)["error"])
    return _spread(errors, "error")


def _spread(errors: list[float], name: str) -> Values:
    return {name: float(np.mean(errors)), "least": min(errors), "largest": max(errors)}


def _largest_margin(problem: Problem, seed: int) -> Values:
    """Vote with the largest margin, negative where no vote separates the classes."""
    return tested(LPBoostClassifier(nu=1.0 / len(problem.y)), problem, seed)


def _partially_trained(problem: Problem, _: int) -> Values:
    """Return the errors of the Parzen window, the last machine and the ensemble of all."""
    values: Values = {}
    for hypothesis in ("first", "last", "ensemble"):
        machine = MultiplicativeSVC(hypothesis=hypothesis)
        values["fit"] = seconds_of_fit(machine, problem)  # in the end that of the ensemble
        values[hypothesis] = error_of(machine, problem)
    return {**values, "iterations": machine.n_iter_}


def _ended_after(n_steps: int) -> Method:
    """Return what tells the error of the ensemble after so many steps."""
    return lambda problem, seed: tested(MultiplicativeSVC(max_iter=n_steps), problem, seed)


def _in_other_orders(problem: Problem, seed: int) -> Values:
    """Return the error of the last machine, which rounding moves, over orders of the rows."""
    rng, errors = np.random.default_rng(seed), []
    for _ in range(N_REPEATS):
        order = rng.permutation(len(problem.y))
        machine = MultiplicativeSVC(hypothesis="last").fit(problem.X[order], problem.y[order])
        errors.append(error_of(machine, problem))
    return _spread(errors, "last")


def _path(problem: Problem, _: int) -> Values:
    """Return the errors along the path of C: at the least bound, and the least of all."""
    kernel = MultiplicativeSVC(hypothesis="first").fit(problem.X, problem.y).kernel_
    path = SVMPath(kernel, scaling=None)
    seconds = seconds_of_fit(path, problem)
    best = 1.0 - path.score_path(problem.X_test, problem.y_test)[1].max()
    return {
        "loo": error_of(path, problem),
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
    "SVM-Stump ranks": _machine(Stump(), SCALE_FREE_CS).set_params(scaling="rank"),
}
METHODS: dict[str, Method] = {
    "SVM-Stump, other folds": _by_other_folds,
    "LPBoost-Stump hard margin": _largest_margin,
    "partially trained": _partially_trained,
    "path": _path,
    "partially trained, other orders": _in_other_orders,
    **{f"partially trained, {n} steps": _ended_after(n) for n in (42, 62, 66)},
}

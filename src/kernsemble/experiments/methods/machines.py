"""SVMs and boosting of Lin and Li, of the thesis, and of Tsang and Kwok."""

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
    error_percent,
    fit_and_test,
    fit_seconds,
)
from kernsemble.experiments.paper_data import TrainTestData
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
    """Return a machine with C and width selected by five folds; the data are already scaled."""
    return InfiniteEnsembleClassifierCV(kernel, Cs, scaling=None, loss="hinge")


def _by_other_folds(data: TrainTestData, seed: int) -> Values:
    """Return the errors of SVM-Stump with C selected by random folds."""
    errors = []
    for repeat in range(N_REPEATS):
        folds = StratifiedKFold(5, shuffle=True, random_state=repeat)
        machine = _machine(Stump(), SCALE_FREE_CS).set_params(cv=folds)
        errors.append(fit_and_test(machine, data, seed)["error"])
    return _spread(errors, "error")


def _spread(errors: list[float], name: str) -> Values:
    return {name: float(np.mean(errors)), "least": min(errors), "largest": max(errors)}


def _largest_margin(data: TrainTestData, seed: int) -> Values:
    """Fit the vote with the largest margin, which is negative for inseparable classes."""
    return fit_and_test(LPBoostClassifier(nu=1.0 / len(data.y)), data, seed)


def _partially_trained(data: TrainTestData, _: int) -> Values:
    """Return the errors of the Parzen window, of the last machine and of the ensemble."""
    values: Values = {}
    for hypothesis in ("first", "last", "ensemble"):
        machine = MultiplicativeSVC(hypothesis=hypothesis)
        values["fit"] = fit_seconds(machine, data)  # finally that of the ensemble
        values[hypothesis] = error_percent(machine, data)
    return {**values, "iterations": machine.n_iter_}


def _stopped_after(n_steps: int) -> Method:
    """Return the method that stops the ensemble after `n_steps` steps."""
    return lambda data, seed: fit_and_test(MultiplicativeSVC(max_iter=n_steps), data, seed)


def _in_other_orders(data: TrainTestData, seed: int) -> Values:
    """Return the errors of the last machine, sensitive to rounding, over orders of the rows."""
    rng, errors = np.random.default_rng(seed), []
    for _ in range(N_REPEATS):
        order = rng.permutation(len(data.y))
        machine = MultiplicativeSVC(hypothesis="last").fit(data.X[order], data.y[order])
        errors.append(error_percent(machine, data))
    return _spread(errors, "last")


def _path(data: TrainTestData, _: int) -> Values:
    """Return the errors along the path of C: at the least leave-one-out bound, and the least."""
    kernel = MultiplicativeSVC(hypothesis="first").fit(data.X, data.y).kernel_
    path = SVMPath(kernel, scaling=None)
    seconds = fit_seconds(path, data)
    best = 1.0 - path.score_path(data.X_test, data.y_test)[1].max()
    return {
        "loo": error_percent(path, data),
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
    "auto": InfiniteEnsembleClassifierCV("auto", loss="hinge"),
    "SVM-Stump ranks": _machine(Stump(), SCALE_FREE_CS).set_params(scaling="rank"),
}
METHODS: dict[str, Method] = {
    "SVM-Stump, other folds": _by_other_folds,
    "LPBoost-Stump hard margin": _largest_margin,
    "partially trained": _partially_trained,
    "path": _path,
    "partially trained, other orders": _in_other_orders,
    **{f"partially trained, {n} steps": _stopped_after(n) for n in (42, 62, 66)},
}

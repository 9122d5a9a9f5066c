"""scikit-learn's estimator checks, for every machine."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernsemble.kernels import Exponential, Laplacian
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
    KernelPerceptron,
    MultiplicativeSVC,
    SVMPath,
)

TIGHT = 1e-10  # weights are compared with repetitions to nine digits
TIGHTER = 1e-12  # of a duality gap, which is as the square of what is left to go
ESTIMATORS = [
    InfiniteEnsembleClassifier(),
    InfiniteEnsembleClassifierCV(),
    InfiniteEnsembleRegressor(),
    InfiniteEnsembleRegressorCV(),
    InfiniteEnsembleClassifier(solver="additive"),
    InfiniteEnsembleRegressor(Laplacian(), solver="additive", n_grids=8),
    InfiniteEnsembleClassifier(tol=TIGHT),
    InfiniteEnsembleClassifier(calibration="sigmoid", tol=TIGHT),
    InfiniteEnsembleClassifier("perceptron", C=1.0, scaling="rank", tol=TIGHT),
    InfiniteEnsembleClassifier(multiclass="one-vs-rest", class_weight="balanced", tol=TIGHT),
    InfiniteEnsembleClassifierCV("stump", Cs=(0.1, 1.0), cv=3, tol=TIGHT),
    InfiniteEnsembleClassifierCV(
        [Laplacian(0.1), Laplacian()],
        Cs=(0.1, 1.0),
        cv=3,
        calibration="isotonic",
        multiclass="one-vs-rest",
        tol=TIGHT,
    ),
    InfiniteEnsembleClassifier(solver="additive", tol=TIGHTER),
    InfiniteEnsembleClassifier(solver="additive", loss="logistic", tol=TIGHT),
    InfiniteEnsembleClassifier(
        "perceptron", solver="additive", loss="squared_hinge", n_slices=8, tol=TIGHT
    ),
    InfiniteEnsembleClassifier(
        Laplacian(), solver="additive", loss="logistic", n_grids=8, tol=TIGHT
    ),
    InfiniteEnsembleClassifierCV(
        "stump", solver="additive", loss="squared_hinge", Cs=(0.1, 1.0), cv=3, tol=1e-14
    ),
    InfiniteEnsembleClassifierCV(
        "stump", loss="logistic", Cs=(0.1, 1.0), cv=3, multiclass="one-vs-rest", tol=TIGHT
    ),
    KernelPerceptron(),
    KernelPerceptron("gaussian", variant="voted", multiclass="one-vs-rest"),
    MultiplicativeSVC(),
    MultiplicativeSVC("stump", scaling="range", multiclass="one-vs-rest", sparsity=0.01),
    InfiniteEnsembleClassifier(Laplacian(), loss="squared", calibration=None),
    InfiniteEnsembleClassifier(Exponential(), scaling="learned-range", tol=TIGHT),
    InfiniteEnsembleRegressor(Laplacian(), loss="squared", solver="exact"),
    InfiniteEnsembleRegressor(Laplacian(), scaling="effects", tol=TIGHT),
    InfiniteEnsembleRegressor(tol=TIGHT),
    InfiniteEnsembleRegressor(Laplacian(0.5), epsilon=0.1, scaling=None, tol=TIGHT),
    InfiniteEnsembleRegressor(solver="additive", tol=TIGHTER),
    InfiniteEnsembleRegressorCV("stump", loss="squared", Cs=(0.1, 1.0), cv=3, tol=TIGHT),
    InfiniteEnsembleRegressorCV("stump", Cs=(0.1, 1.0), epsilons=(0.1,), cv=3, tol=TIGHT),
    SVMPath(),
    SVMPath("stump", C=1.0, multiclass="one-vs-rest", class_weight="balanced"),
]


def not_applicable(estimator):
    if type(estimator) is not InfiniteEnsembleClassifier or estimator.calibration is None:
        return {}
    reason = "repeated rows are in other folds of the calibration than weighted ones"
    checks = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
    return dict.fromkeys(checks, reason)


@pytest.mark.large
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=not_applicable)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)

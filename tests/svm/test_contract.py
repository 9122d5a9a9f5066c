"""scikit-learn's contract, for every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernsemble.kernels import Laplacian
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
)

TIGHT = 1e-10  # weights are compared with repetitions to nine digits
ESTIMATORS = [
    InfiniteEnsembleClassifier(tol=TIGHT),
    InfiniteEnsembleClassifier("perceptron", C=1.0, scaling="rank", tol=TIGHT),
    InfiniteEnsembleClassifierCV(Cs=(0.1, 1.0), cv=3),
    InfiniteEnsembleClassifierCV(Cs=(1.0,), cv=3, tol=TIGHT),
    InfiniteEnsembleRegressor(tol=TIGHT),
    InfiniteEnsembleRegressor(Laplacian(0.5), scaling=None, tol=TIGHT),
]


def explained(estimator):
    """Return what cannot hold: repeated rows fall into several folds, and move the choice."""
    if isinstance(estimator, InfiniteEnsembleClassifierCV) and len(estimator.Cs) > 1:
        name = "check_sample_weight_equivalence_on"
        return {f"{name}_{kind}_data": "repeated rows change folds" for kind in ("dense", "sparse")}
    return {}


@pytest.mark.large
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=explained)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)

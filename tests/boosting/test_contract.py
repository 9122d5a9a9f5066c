"""scikit-learn's estimator checks, for every booster."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernsemble.boosting import (
    AdaBoostClassifier,
    AdaBoostClassifierCV,
    KernelBoost,
    LPBoostClassifier,
    LPBoostClassifierCV,
)
from kernsemble.learners import C45Tree

ESTIMATORS = [
    AdaBoostClassifier(n_estimators=10),
    AdaBoostClassifier(LogisticRegression(), n_estimators=5),
    AdaBoostClassifierCV(ns_estimators=(2, 5), cv=3),
    KernelBoost(n_rounds=5),
    KernelBoost("gaussian", loss="exp", step="line-search", n_rounds=4, target="classes"),
    LPBoostClassifier(),
    LPBoostClassifier(C=1.0),
    LPBoostClassifier(C45Tree(), nu=0.2),
    LPBoostClassifierCV(Cs=(0.3, 1.0), cv=3),
]


@pytest.mark.large
@parametrize_with_checks(ESTIMATORS)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)

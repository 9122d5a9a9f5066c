"""scikit-learn's contract, for every booster."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernsemble.boosting import AdaBoostClassifier, AdaBoostClassifierCV

ESTIMATORS = [
    AdaBoostClassifier(n_estimators=10),
    AdaBoostClassifier(LogisticRegression(), n_estimators=5),
    AdaBoostClassifierCV(ns_estimators=(2, 5), cv=3),
]


@pytest.mark.large
@parametrize_with_checks(ESTIMATORS)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)

"""scikit-learn's estimator checks, for detectors."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernsemble.detection import LagoClassifier

ESTIMATORS = [
    LagoClassifier(),
    LagoClassifier("elliptical"),
    LagoClassifier(kernel="triangular", scaling=None),
    LagoClassifier(alpha=1.0, threshold=("recall", 0.9)),
]


@pytest.mark.large
@parametrize_with_checks(ESTIMATORS)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)

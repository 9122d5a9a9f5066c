"""scikit-learn's estimator checks, for detectors."""

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_classifiers_train, parametrize_with_checks

from kernsemble.detection import LagoClassifier

ESTIMATORS = [
    LagoClassifier(),
    LagoClassifier("elliptical"),
    LagoClassifier(kernel="triangular", scaling=None),
    LagoClassifier(alpha=1.0, threshold=("recall", 0.9)),
]


def not_applicable(estimator):
    reason = "predict compares scores with a tuned threshold, not probabilities with a half"
    return {"check_classifiers_train": reason}


@pytest.mark.large
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=not_applicable)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


class WithoutProbabilities(LagoClassifier):
    """The detector as it is without `predict_proba`, for all other parts of a check."""

    @property
    def predict_proba(self):
        raise AttributeError("predict_proba")


@pytest.mark.large
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_training_apart_from_probabilities(estimator, dtype):
    ranking = WithoutProbabilities(**clone(estimator).get_params())
    check_classifiers_train("LagoClassifier", ranking, readonly_memmap=True, X_dtype=dtype)

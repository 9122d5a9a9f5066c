"""scikit-learn's tags describe the rows and targets that estimators accept."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags

from kernsemble.boosting import AdaBoostClassifier, KernelBoost, LPBoostClassifier
from kernsemble.datasets import make_threenorm
from kernsemble.detection import LagoClassifier
from kernsemble.learners import C45Tree, DecisionStump, RCDPerceptron
from kernsemble.selection import ParallelEvolutionSelector
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleRegressor,
    KernelPerceptron,
    MultiplicativeSVC,
    SVMPath,
)

X, y = make_threenorm(30, n_features=4, random_state=0)
ESTIMATORS = [
    InfiniteEnsembleClassifier(),
    InfiniteEnsembleClassifier("gaussian"),
    InfiniteEnsembleClassifier(solver="exact"),
    InfiniteEnsembleRegressor(),
    SVMPath("stump"),
    MultiplicativeSVC("stump"),
    KernelPerceptron("stump"),
    AdaBoostClassifier(n_estimators=3),
    AdaBoostClassifier(C45Tree(), n_estimators=3),
    LPBoostClassifier(),
    KernelBoost(n_rounds=2),
    LagoClassifier(cv=2),
    ParallelEvolutionSelector(n_universes=2, n_generations=1, random_state=0),
    C45Tree(),
    DecisionStump(),
    RCDPerceptron(random_state=0),
]


def accepts(estimator, rows):
    try:
        estimator.fit(rows, y)
    except (TypeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_tags_state_whether_missing_values_and_sparse_rows_are_accepted(estimator):
    tags = get_tags(estimator)
    holes = X.copy()
    holes[0, 0] = np.nan
    assert accepts(estimator, holes) == tags.input_tags.allow_nan
    assert accepts(estimator, sparse.csr_array(X)) == tags.input_tags.sparse
    assert tags.target_tags.required
    assert tags.target_tags.single_output
    assert (tags.classifier_tags is not None) == is_classifier(estimator)
    assert (tags.regressor_tags is not None) == is_regressor(estimator)


def test_tags_of_a_selector_describe_its_response():
    def tags(criterion):
        return get_tags(ParallelEvolutionSelector(criterion)).target_tags

    def two_columns(rows, target):
        return float(target.sum())

    assert (tags("cox-aic").multi_output, tags("cox-aic").single_output) == (True, False)
    assert (tags(two_columns).multi_output, tags(two_columns).single_output) == (True, True)
    assert tags("poisson-bic").positive_only
    assert not tags("aic").multi_output

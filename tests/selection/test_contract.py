"""scikit-learn's estimator checks, for the selector."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernsemble.selection import ParallelEvolutionSelector


class Spread:
    """A criterion that prefers columns of large variance, with a short name for test ids."""

    def __call__(self, columns, y, sample_weight=None):
        mean = np.average(columns, axis=0, weights=sample_weight)
        return -float(np.average((columns - mean) ** 2, axis=0, weights=sample_weight).sum())

    def __repr__(self):
        return "Spread()"


@pytest.mark.large
@pytest.mark.filterwarnings("ignore::kernsemble.selection.NoiseGapWarning")
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(
    [
        ParallelEvolutionSelector(n_universes=5),
        ParallelEvolutionSelector("gcv", n_universes=3, n_generations=2, select=("top", 1)),
        ParallelEvolutionSelector(Spread(), n_universes=2, n_generations=1, select=0.5),
    ]
)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)

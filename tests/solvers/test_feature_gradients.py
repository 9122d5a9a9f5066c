"""Slopes of kernel expansions, against differences of their values."""

import numpy as np
import pytest
from cases import random_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from kernsemble.solvers.feature_gradients import slopes

STEP = 1e-6
KERNELS = {  # metric, kernel of the distance, weight of a pair, factor of the slopes
    "l1": ("cityblock", lambda d: np.exp(-0.7 * d), lambda K, d: K, -0.7),
    "l2": ("euclidean", lambda d: np.exp(-0.7 * d), lambda K, d: K / d, -0.7),
    "squared l2": ("sqeuclidean", lambda d: np.exp(-0.3 * d), lambda K, d: K, -0.6),
}


@pytest.mark.parametrize("name", KERNELS)
def test_slopes_are_the_derivatives_of_the_expansion(name):
    metric, kernel, weight, factor = KERNELS[name]
    rows, at = random_rows(40, 4, seed=1), random_rows(130, 4, seed=2)  # several tasks, no ties
    beta = random_rows(40, 3, seed=3)
    D = cdist(at, rows, metric)
    found = factor * slopes(weight(kernel(D), D), beta, at, rows, has_signs=name == "l1")
    assert found.shape == (3, 130, 4)
    for d in range(4):
        step = STEP * np.eye(4)[d]
        above, below = (kernel(cdist(each, rows, metric)) @ beta for each in (at + step, at - step))
        expected = (above - below) / (2.0 * STEP)
        assert np.abs(expected).max() > 0.1
        assert_allclose(found[:, :, d].T, expected, atol=1e-7)


def test_rows_that_tie_on_a_feature_add_no_slope_along_it():
    rows = np.array([[0.0, 1.0], [0.0, -1.0]])
    found = slopes(np.ones((1, 2)), np.array([[2.0], [5.0]]), np.zeros((1, 2)), rows, True)
    assert_array_equal(found, [[[0.0, 3.0]]])

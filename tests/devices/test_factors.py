"""Inverses by blocks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import cholesky, solve_triangular

from kernsemble.devices.factors import invert_factor


@pytest.mark.parametrize("height", [1, 7, 16, 40, 100])
def test_the_inverse_is_written_over_the_factor(height):
    A = np.random.default_rng(height).normal(size=(40, 60))
    A = A @ A.T
    U = cholesky(A)
    U[np.tril_indices(40, -1)] = np.nan  # not valid

    def inverse_of_triangle(block):
        return np.triu(solve_triangular(np.triu(block), np.eye(len(block))))

    found = invert_factor(U, inverse_of_triangle, height)
    assert found is U
    assert_allclose(np.triu(found), np.triu(np.linalg.inv(A)), rtol=1e-8)

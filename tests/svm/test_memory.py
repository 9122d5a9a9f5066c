"""Memory is estimated before it is allocated."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from kernsemble._memory import Budget
from kernsemble.datasets import make_threenorm
from kernsemble.exceptions import GramTooLargeError, RowsOnDemandWarning
from kernsemble.kernels import Laplacian, Stump
from kernsemble.solvers.kernel_matrix import RowsOnDemand
from kernsemble.svm.backends.matrix import matrix_within

X, _ = make_threenorm(200, random_state=0)
SIZE = 200 * 200 * 8 / 2**20  # megabytes of the whole matrix


def test_a_matrix_within_the_budget_is_held_whole():
    kernel = Stump().bind(X)
    assert_allclose(matrix_within(Budget.from_megabytes(SIZE), kernel, X), kernel(X))


def test_float32_rows_take_half():
    assert Budget.from_megabytes(SIZE).holds(X.astype(np.float32), n_matrices=2)
    assert not Budget.from_megabytes(SIZE).holds(X, n_matrices=2)


@pytest.mark.parametrize("rows", [X, X.astype(np.float32), sparse.csr_matrix(X)])
def test_a_larger_matrix_is_computed_on_demand_with_a_warning(rows):
    kernel = Laplacian().bind(rows)
    size = SIZE * rows.dtype.itemsize / 8
    with pytest.warns(RowsOnDemandWarning, match="200 x 200 .* 120 are cached; raise cache_size"):
        demanded = matrix_within(Budget.from_megabytes(0.6 * size + 1e-9), kernel, rows)
    assert isinstance(demanded, RowsOnDemand)
    some = np.array([3, 150, 7])
    assert_allclose(demanded.block(some), kernel(rows)[np.ix_(some, some)], rtol=1e-6)


def test_a_budget_that_is_too_small_is_refused_with_the_remedy():
    with pytest.raises(GramTooLargeError, match="20 of its rows: raise cache_size"):
        matrix_within(Budget.from_megabytes(0.1 * SIZE + 1e-9), Stump().bind(X), X)
    with pytest.raises(ValueError, match="cache_size = 0"):
        Budget.from_megabytes(0)


def test_by_default_half_of_the_memory_is_used():
    assert Budget.from_megabytes(None, memory=2 * 2**20 * SIZE).holds(X)
    assert not Budget.from_megabytes(None, memory=1.9 * 2**20 * SIZE).holds(X)

"""Compiled distances against SciPy, dense and sparse, float32 and float64."""

import numpy as np
import pytest
from cases import pairs_of_samples, random_rows
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from kernsemble.kernels import l1_distances, l2_distances
from kernsemble.kernels.gram import TILE_ROWS

DISTANCES = [(l1_distances, "cityblock"), (l2_distances, "euclidean")]
EDGES = [1, 2, TILE_ROWS - 1, TILE_ROWS, TILE_ROWS + 1, 2 * TILE_ROWS + 3]


@pytest.mark.parametrize(("distances", "metric"), DISTANCES)
@given(rows=pairs_of_samples(max_columns=5), data=st.data())
def test_distances_are_those_of_scipy(distances, metric, rows, data):
    X, Y = rows
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    as_rows = data.draw(st.sampled_from([np.asarray, sparse.csr_array, sparse.csr_matrix]))
    A, B = as_rows(X.astype(dtype)), as_rows(Y.astype(dtype))
    for result, expected in (
        (distances(A, B), cdist(X, Y, metric)),
        (distances(A), cdist(X, X, metric)),
    ):
        assert result.dtype == dtype
        assert_allclose(result, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.large
@pytest.mark.parametrize(("distances", "metric"), DISTANCES)
@pytest.mark.parametrize("n", EDGES)
def test_tiles_fit_together(distances, metric, n):
    X, Y = random_rows(n, 2), random_rows(TILE_ROWS + 7, 2, seed=1)
    assert_allclose(distances(X), cdist(X, X, metric), atol=1e-12)
    assert_allclose(distances(X, Y), cdist(X, Y, metric), atol=1e-12)


@pytest.mark.parametrize(("distances", "metric"), DISTANCES)
def test_mixed_input(distances, metric):
    X, Y = random_rows(9, 5), random_rows(8, 5, seed=1)
    expected = cdist(X, Y, metric)
    assert distances(X.astype(np.float32), Y).dtype == np.float64
    assert_allclose(distances(X.astype(np.float32), Y), expected, rtol=1e-6)
    assert_allclose(distances(sparse.csr_array(X), Y), expected)
    assert_allclose(distances(X, sparse.csc_array(Y)), expected)


@pytest.mark.parametrize(("distances", "metric"), DISTANCES)
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
def test_equal_rows_are_at_distance_zero_exactly(distances, metric, as_rows):
    X = random_rows(30, 7)
    X[X < 0] = 0.0
    twice = as_rows(np.vstack([X, X]))
    assert_array_equal(np.diagonal(distances(twice), offset=30), 0.0)


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_clusters", [1, 2, 30])
def test_nearby_rows_lose_no_digits(as_rows, n_clusters):
    centres = 1e6 + random_rows(n_clusters, 9)
    X = np.repeat(centres, 60 // n_clusters, axis=0) + 1e-6 * random_rows(60, 9, seed=1)
    assert_allclose(l2_distances(as_rows(X)), cdist(X, X), rtol=1e-12)


@pytest.mark.parametrize(("distances", "metric"), DISTANCES)
def test_small_differences_between_sparse_rows_are_kept_in_either_order(distances, metric):
    X = np.array([[1e9, 1.0, 0.0], [1e9, 0.0, 0.0], [1e9, 0.0, 1e-3]])
    for A, B in ((X, X[::-1]), (X[::-1], X)):
        result = distances(sparse.csr_array(A), sparse.csr_array(B))
        assert_allclose(result, cdist(A, B, metric), rtol=1e-12)


def test_mixed_precision_is_as_good_as_its_input():
    single, double = random_rows(50, 9).astype(np.float32), random_rows(40, 9, seed=1)
    for distances, metric in DISTANCES:
        expected = cdist(single.astype(np.float64), double, metric)
        assert_allclose(distances(single, double), expected, rtol=1e-12)


def test_stored_zeros_and_repeated_entries_count_once():
    tidy = np.array([[0.0, 3.0, 0.0], [1.0, 0.0, 2.0]])
    untidy = sparse.csr_array(
        (np.array([0.0, 1.0, 2.0, 1.0, 2.0]), np.array([0, 1, 1, 0, 2]), np.array([0, 3, 5])),
        shape=(2, 3),
    )
    assert_allclose(l1_distances(untidy), l1_distances(tidy))
    assert_allclose(l2_distances(untidy), l2_distances(tidy))
    assert untidy.nnz == 5  # left as it was


@pytest.mark.parametrize("distances", [l1_distances, l2_distances])
def test_other_columns_are_refused(distances):
    with pytest.raises(ValueError, match="Y has 3 features"):
        distances(random_rows(4, 2), random_rows(4, 3))

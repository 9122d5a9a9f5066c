"""Sums of kernels are sums, and means over neighbours are means over repeated rows."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from kernsemble.solvers.kernel_sums import (
    LARGEST,
    elliptical_squares,
    kernel_sums,
    neighbour_shares,
)

ALPHAS = 2.0 ** (0.5 * np.arange(-8, 11))


def squares_and_weights(seed=0, n=20, n_centres=30):
    rng = np.random.default_rng(seed)
    weight = rng.random(n_centres)
    weight[3] = 0.0
    return 10.0 ** rng.uniform(-3.0, 4.0, (n, n_centres)), weight / weight.sum()


@pytest.mark.parametrize("alphas", [ALPHAS, np.array([0.3, 0.31, 5.0]), np.array([1.0])])
def test_gaussians_are_summed_in_logarithms(alphas):
    squares, weight = squares_and_weights()
    expected = [logsumexp(-0.5 * squares / a**2, b=weight, axis=1) for a in alphas]
    got = kernel_sums(squares, weight, alphas, "gaussian")
    assert_allclose(got, np.transpose(expected), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("profile", ["uniform", "triangular"])
def test_compact_kernels_are_summed_as_they_are(profile):
    squares, weight = squares_and_weights()
    u = np.sqrt(squares)[:, :, np.newaxis] / ALPHAS
    heights = u <= 1.0 if profile == "uniform" else np.maximum(1.0 - u, 0.0)
    expected = np.einsum("ika,k->ia", heights, weight)
    assert_allclose(kernel_sums(squares, weight, ALPHAS, profile), expected, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_squares_in_widths_of_ellipses(dtype):
    rng = np.random.default_rng(0)
    X, centres = (rng.normal(size=(n, 3)).astype(dtype) for n in (7, 200))
    widths = rng.random((200, 3)) + 0.1
    widths[:, 1] = np.inf
    expected = (((X[:, np.newaxis] - centres) / widths) ** 2).sum(axis=2)
    got = elliptical_squares(X, centres, widths)
    assert got.dtype == dtype
    assert_allclose(got, expected, rtol=1e-12 if dtype == np.float64 else 1e-4)


def test_infinite_distances_become_the_largest_finite_one():
    squares = elliptical_squares(np.array([[1e200]]), np.array([[0.0]]), np.array([[1e-10]]))
    assert_array_equal(squares, [[LARGEST]])
    assert np.isfinite(kernel_sums(squares, np.ones(1), ALPHAS, "gaussian")).all()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=8), st.data())
def test_shares_are_means_over_all_choices_of_repeated_neighbours(neighbours, data):
    """Rows at the distance at which K is reached are as likely as each other to be among the K."""
    n_neighbors = data.draw(st.integers(1, 6))
    distances, counts = np.array(sorted(neighbours), dtype=float).T.copy()
    starts, rows = np.array([0, len(counts)]), np.arange(len(counts))
    shares, reaches, goes_on = neighbour_shares(starts, rows, distances, counts, n_neighbors)
    repeated = np.repeat(distances, counts.astype(int))
    if len(repeated) == 0:
        assert not shares.any()
        return
    assert_allclose(shares.sum(), 1.0)
    assert_allclose(shares @ distances, repeated[:n_neighbors].mean())
    for distance in set(distances):
        tied = (distances == distance) & (counts > 0)
        if not tied.any():
            continue
        assert_allclose(shares[tied] / counts[tied], shares[tied].sum() / counts[tied].sum())
    assert reaches[0] == (len(repeated) >= n_neighbors)
    last = repeated[min(n_neighbors, len(repeated)) - 1]
    assert goes_on[0] == (reaches[0] and distances[-1] > last)

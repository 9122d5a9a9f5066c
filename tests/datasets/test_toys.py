import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm, spearmanr

from kernsemble.datasets import (
    make_rotated_gaussians,
    make_sparse_sum,
    make_spheres,
    make_xor,
)

N = 200_000
GENERATORS = [make_xor, make_spheres, make_rotated_gaussians, make_sparse_sum]


def test_every_stump_errs_on_half_of_the_xor_corners():
    X, y = make_xor()
    assert len({tuple(row) for row in X}) == 4
    for feature in X.T:
        for threshold in (-2.0, 0.0, 2.0):
            assert np.sum(np.sign(feature - threshold) != y) == 2


def test_xor_label_is_true_where_exactly_one_coordinate_is():
    X, y = make_xor()
    assert_array_equal(y == 1, (X[:, 0] > 0) ^ (X[:, 1] > 0))


def test_xor_corners_have_equal_shares_and_gaussian_noise():
    X, y = make_xor(N, noise=0.3, random_state=0)
    clean, labels = make_xor(N)
    assert_array_equal(y, labels)
    assert_array_equal(np.unique(clean, axis=0, return_counts=True)[1], N // 4)
    assert_allclose(np.cov((X - clean).T), 0.09 * np.eye(2), atol=0.002)
    assert_allclose((X - clean).mean(axis=0), 0.0, atol=0.003)


def test_no_direction_of_the_spheres_has_more_variance_and_y_is_the_radius():
    X, y = make_spheres(N, 3, random_state=0)
    assert_allclose(np.cov(X.T), np.eye(3), atol=0.02)
    assert_allclose(y**2, np.sum(X**2, axis=1))


def test_leading_eigenvector_of_a_gaussian_gram_matrix_orders_the_spheres_by_radius():
    X, y = make_spheres(500, random_state=0)
    K = np.exp(-np.sum((X[:, np.newaxis] - X) ** 2, axis=2))
    leading = np.abs(np.linalg.eigh(K)[1][:, -1])
    assert spearmanr(leading, y).statistic < -0.97


@pytest.mark.parametrize(
    ("sigma", "long_axis", "deviation_between_means"),
    [
        ("variance", "along", np.sqrt(0.1)),
        ("variance", "across", np.sqrt(0.01)),
        ("deviation", "along", 0.1),
        ("deviation", "across", 0.01),
    ],
)
def test_bayes_error_of_rotated_gaussians_in_each_reading(
    sigma, long_axis, deviation_between_means
):
    X, y = make_rotated_gaussians(N, 2, sigma, long_axis, random_state=0)
    bayes_error = norm.cdf(-0.03 * np.sqrt(2.0) / deviation_between_means)
    found = np.mean(np.sign(X.sum(axis=1)) != y)
    assert_allclose(found, bayes_error, atol=0.0045)


@pytest.mark.parametrize("sign", [-1, 1])
def test_rotated_gaussians_have_the_printed_moments(sign):
    X, y = make_rotated_gaussians(N, 4, random_state=1)
    Delta = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0)
    plane, rest = X[y == sign, :2], X[y == sign, 2:]
    assert_allclose(plane.mean(axis=0), sign * 0.03, atol=0.003)
    assert_allclose(
        np.cov(plane.T), Delta @ np.diag([0.1, 0.01]) @ np.linalg.inv(Delta), atol=0.001
    )
    assert_allclose(rest.mean(axis=0), 0.0, atol=0.0007)
    assert_allclose(np.cov(rest.T), 0.05**2 * np.eye(2), atol=3e-5)


def test_noise_of_rotated_gaussians_moves_only_the_first_two_features():
    X, y = make_rotated_gaussians(N, 3, random_state=2)
    X_noisy, y_noisy = make_rotated_gaussians(N, 3, noise=0.03, random_state=2)
    assert_array_equal(y, y_noisy)
    assert_array_equal(X[:, 2], X_noisy[:, 2])
    assert_allclose(np.cov((X_noisy - X)[:, :2].T), 0.03**2 * np.eye(2), atol=2e-5)


def test_least_squares_finds_the_predictors_of_the_sparse_sum():
    X, y = make_sparse_sum(N, random_state=0)
    coefficients, squared_error, *_ = np.linalg.lstsq(X, y)
    assert_allclose(coefficients, [0, 1, 0, 0, 1, 0, 0, 1, 0, 0], atol=0.01)
    assert_allclose(squared_error / N, 1.0, atol=0.015)
    assert_allclose(np.cov(X.T), np.eye(10), atol=0.015)


def test_default_sizes_are_those_of_the_papers():
    shapes = [generator(random_state=0)[0].shape for generator in GENERATORS]
    assert shapes == [(4, 2), (200, 2), (300, 100), (50, 10)]


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_seed_and_a_generator_of_that_seed_draw_the_same(generator):
    for first, second in zip(
        generator(30, random_state=4),
        generator(30, random_state=np.random.default_rng(4)),
        strict=True,
    ):
        assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("generator", "argument", "value", "remedy"),
    [
        (make_xor, "n_samples", 0, "at least 1"),
        (make_xor, "noise", -0.1, "0 or above"),
        (make_xor, "noise", float("inf"), "0 or above"),
        (make_spheres, "n_samples", -3, "at least 1"),
        (make_spheres, "n_features", 0, "at least 1"),
        (make_rotated_gaussians, "n_features", 1, "at least 2"),
        (make_rotated_gaussians, "sigma", "precision", "'variance', 'deviation'"),
        (make_rotated_gaussians, "long_axis", "up", "'along', 'across'"),
        (make_rotated_gaussians, "noise", None, "0 or above"),
        (make_sparse_sum, "n_samples", 0, "at least 1"),
        (make_sparse_sum, "n_features", 0, "at least 1"),
        (make_sparse_sum, "noise", -1.0, "0 or above"),
    ],
)
def test_a_bad_argument_is_named_with_its_value_and_a_remedy(generator, argument, value, remedy):
    with pytest.raises(ValueError, match=f"{argument} = .*{value}.*{remedy}"):
        generator(**{argument: value})


@pytest.mark.parametrize("informative", [(0, 10), (-1,), (2, 2)])
def test_informative_columns_must_exist_and_differ(informative):
    with pytest.raises(ValueError, match=r"informative = .* distinct columns between 0 and 9"):
        make_sparse_sum(informative=informative)

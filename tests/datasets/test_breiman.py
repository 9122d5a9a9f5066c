import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import ncx2, norm

from kernsemble.datasets import make_ringnorm, make_threenorm, make_twonorm

N, D = 200_000, 20
GENERATORS = [make_twonorm, make_threenorm, make_ringnorm]


def error_of(votes, y):
    return np.mean(np.sign(votes) != y)


def within_sampling_error(error):
    return 4.0 * np.sqrt(error * (1.0 - error) / N)


@pytest.mark.parametrize("n_features", [1, 2, 20])
def test_bayes_error_of_twonorm_is_phi_of_minus_two(n_features):
    X, y = make_twonorm(N, n_features, random_state=0)
    bayes_error = norm.cdf(-2.0)
    found = error_of(X.sum(axis=1), y)
    assert_allclose(found, bayes_error, atol=within_sampling_error(bayes_error))


def test_bayes_error_of_threenorm_is_its_integral():
    # In the plane of the means the rule is t < log cosh(2s) / 2, and the means are
    # (2, 0), (-2, 0) and (0, 2).
    def border(s):
        return np.log(np.cosh(2.0 * s)) / 2.0

    missed = quad(lambda s: norm.pdf(s - 2.0) * norm.cdf(-border(s)), -8, 12)[0]
    false_alarm = quad(lambda s: norm.pdf(s) * norm.cdf(border(s) - 2.0), -10, 10)[0]
    bayes_error = (missed + false_alarm) / 2.0
    assert_allclose(bayes_error, 0.105, atol=0.001)

    X, y = make_threenorm(N, D, random_state=0)
    a = 2.0 / np.sqrt(D)
    m, alternating = np.full(D, a), a * np.resize([1.0, -1.0], D)
    found = error_of(np.log(np.cosh(X @ m)) - X @ alternating, y)
    assert_allclose(found, bayes_error, atol=within_sampling_error(bayes_error))


def test_bayes_error_of_ringnorm_is_that_of_noncentral_chi_square():
    # The rule is a sphere around 4m/3, and |m| = 1.
    squared_radius = (D * np.log(2.0) + 1.0 / 6.0) * 8.0 / 3.0
    missed = ncx2.cdf(squared_radius / 4.0, D, 4.0 / 9.0)
    false_alarm = ncx2.sf(squared_radius, D, 1.0 / 9.0)
    bayes_error = (missed + false_alarm) / 2.0
    assert_allclose(bayes_error, 0.015, atol=0.0005)

    X, y = make_ringnorm(N, D, random_state=0)
    found = error_of(np.sum((X - 4.0 / 3.0 / np.sqrt(D)) ** 2, axis=1) - squared_radius, y)
    assert_allclose(found, bayes_error, atol=within_sampling_error(bayes_error))


@pytest.mark.parametrize("sign", [-1, 1])
def test_twonorm_classes_are_unit_gaussians_with_opposite_means(sign):
    X, y = make_twonorm(N, 5, random_state=1)
    part = X[y == sign]
    assert_allclose(part.mean(axis=0), sign * 2.0 / np.sqrt(5.0), atol=0.015)
    assert_allclose(np.cov(part.T), np.eye(5), atol=0.03)


def test_threenorm_positives_mix_two_opposite_gaussians():
    X, y = make_threenorm(N, 4, random_state=1)
    positives, negatives = X[y == 1], X[y == -1]
    assert_allclose(positives.mean(axis=0), 0.0, atol=0.02)
    assert_allclose(np.cov(positives.T), np.eye(4) + np.ones((4, 4)), atol=0.04)
    assert_allclose(negatives.mean(axis=0), [1.0, -1.0, 1.0, -1.0], atol=0.015)
    assert_allclose(np.cov(negatives.T), np.eye(4), atol=0.03)


def test_ringnorm_is_a_wide_gaussian_around_a_narrow_one():
    X, y = make_ringnorm(N, 4, random_state=1)
    positives, negatives = X[y == 1], X[y == -1]
    assert_allclose(positives.mean(axis=0), 0.0, atol=0.03)
    assert_allclose(np.cov(positives.T), 4.0 * np.eye(4), atol=0.1)
    assert_allclose(negatives.mean(axis=0), 0.5, atol=0.015)
    assert_allclose(np.cov(negatives.T), np.eye(4), atol=0.03)


@pytest.mark.parametrize("generator", GENERATORS)
def test_labels_are_signs_with_probability_one_half(generator):
    _, y = generator(N, 1, random_state=2)
    assert_array_equal(np.unique(y), [-1, 1])
    assert abs(y.mean()) < 4.0 / np.sqrt(N)


@pytest.mark.parametrize("generator", GENERATORS)
def test_flip_mislabels_exactly_its_share_and_moves_no_example(generator):
    X, y = generator(305, random_state=3)
    X_noisy, y_noisy = generator(305, flip=0.1, random_state=3)
    assert_array_equal(X, X_noisy)
    assert np.sum(y != y_noisy) == 30
    assert_array_equal(np.unique(y_noisy), [-1, 1])


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_seed_and_a_generator_of_that_seed_draw_the_same(generator):
    X, y = generator(random_state=4)
    again_X, again_y = generator(random_state=np.random.default_rng(4))
    assert X.shape == (300, 20)
    assert X.dtype == np.float64
    assert_array_equal(X, again_X)
    assert_array_equal(y, again_y)
    assert not np.array_equal(X, generator(random_state=5)[0])


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize(
    ("argument", "value", "remedy"),
    [
        ("n_samples", 0, "at least 1"),
        ("n_samples", 2.5, "whole number"),
        ("n_features", -1, "at least 1"),
        ("flip", 1.5, "between 0 and 1"),
        ("flip", float("nan"), "between 0 and 1"),
        ("flip", "much", "between 0 and 1"),
    ],
)
def test_a_bad_argument_is_named_with_its_value_and_a_remedy(generator, argument, value, remedy):
    with pytest.raises(ValueError, match=f"{argument} = .*{value}.*{remedy}"):
        generator(**{argument: value})

"""Random coordinate descent on the 0/1 error: exact line searches, monotone error, weights."""

import os

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import Perceptron, RidgeClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernsemble.datasets import load, make_ringnorm, make_threenorm, make_twonorm
from kernsemble.learners.rcd_perceptron import (
    RCDPerceptron,
    draw_directions,
    fisher_discriminant,
)
from kernsemble.learners.zero_one_descent import minimise_error

VARIANTS = ("random-bias", "random", "coordinate")
ARTIFICIAL = [make_twonorm, make_threenorm, make_ringnorm]
REAL = ["australian", "breast", "german", "heart", "ionosphere", "pima", "sonar", "votes84"]


@st.composite
def problems(draw):
    """Rows of small integers, with many ties, their classes and their weights."""
    n, D = draw(st.integers(2, 15)), draw(st.integers(1, 4))
    X = draw(arrays(np.float64, (n, D), elements=st.integers(-2, 2).map(float)))
    signs = draw(arrays(np.float64, n, elements=st.sampled_from([-1.0, 1.0])))
    weight = draw(arrays(np.float64, n, elements=st.integers(1, 4).map(float)))
    return X, signs, weight


def extended(X):
    return np.column_stack([X, np.ones(len(X))])


def error_of(w, X, signs, weight):
    return weight[(extended(X) @ w > 0.0) != (signs > 0.0)].sum() / weight.sum()


def direction(n, seed):
    d = np.random.default_rng(seed).standard_normal(n)
    return d / np.linalg.norm(d)


def exhaustive(w, d, X, signs, weight):
    """The least error on the line: in the middle of each interval, or at w itself."""
    a, b = extended(X) @ w, extended(X) @ d
    moves = np.abs(b) > 1e-12
    crossings = np.sort(-a[moves] / b[moves])
    crossings = np.concatenate([crossings[:1] - 1.0, crossings, crossings[-1:] + 1.0])
    middles = 0.5 * (crossings[1:] + crossings[:-1])[np.diff(crossings) > 1e-9]
    steps = [0.0, *middles]
    return min(error_of(w + t * d, X, signs, weight) for t in steps)


@given(problem=problems(), seed=st.integers(0, 99), from_zero=st.booleans())
def test_a_line_search_finds_the_least_error_of_all_intervals(problem, seed, from_zero):
    X, signs, weight = problem
    D = X.shape[1]
    w0 = np.zeros(D + 1) if from_zero else direction(D + 1, seed + 100)
    d = direction(D + 1, seed)
    w, errors = minimise_error(X, signs, weight, d[np.newaxis], w0)
    assert_allclose(errors[1], exhaustive(w0, d, X, signs, weight), atol=1e-12)
    assert_allclose(errors[1], error_of(w, X, signs, weight), atol=1e-12)


def test_a_line_search_is_exact_where_crossings_crowd_in_one_bucket():
    rng = np.random.default_rng(0)
    X = np.append(rng.uniform(0.0, 0.01, 300), 1e3)[:, np.newaxis]
    signs = np.where(rng.random(301) < 0.3, -1.0, np.sign(X[:, 0] - 0.005))
    w0, d, weight = np.array([1.0, 0.0]), np.array([0.0, 1.0]), rng.random(301)
    _, errors = minimise_error(X, signs, weight, d[np.newaxis], w0)
    assert_allclose(errors[1], exhaustive(w0, d, X, signs, weight))
    assert errors[1] < 0.3


@pytest.mark.parametrize("is_whole", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_line_search_in_many_buckets_is_exact(seed, is_whole):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 3))
    X = np.round(X) if is_whole else X  # many rows are equal, and change sides together
    signs = np.where(rng.random(120) < 0.2, -1.0, 1.0) * np.sign(X[:, 0] + 0.1)
    weight = np.ones(120) if seed % 2 else np.exp(3.0 * rng.standard_normal(120))
    w0, d = direction(4, seed + 100), direction(4, seed)
    w, errors = minimise_error(X, signs, weight, d[np.newaxis], w0)
    assert_allclose(errors[1], exhaustive(w0, d, X, signs, weight), atol=1e-12)
    assert_allclose(errors[1], error_of(w, X, signs, weight), atol=1e-12)


@given(problem=problems(), variant=st.sampled_from(VARIANTS), seed=st.integers(0, 99))
def test_the_error_never_rises_and_is_that_of_the_last_vector(problem, variant, seed):
    X, signs, weight = problem
    directions = draw_directions(variant, X.shape[1], 12, np.random.default_rng(seed))
    w, errors = minimise_error(X, signs, weight, directions, np.zeros(X.shape[1] + 1))
    assert (np.diff(errors) <= 0.0).all()
    assert_allclose(errors[-1], error_of(w, X, signs, weight), atol=1e-12)


def test_rows_that_do_not_move_leave_the_vector_alone():
    X, signs = np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([1.0, -1.0])
    w0 = np.array([0.0, 0.6, 0.8])
    w, errors = minimise_error(X, signs, np.ones(2), np.eye(3)[:1], w0)
    assert_array_equal(w, w0)
    assert_array_equal(errors, [0.5, 0.5])


@pytest.mark.parametrize("n_epochs", [1, 3, 4, 5, 8, 11])
def test_directions_are_orthonormal_until_all_are_used(n_epochs):
    for variant in VARIANTS:
        directions = draw_directions(variant, 3, n_epochs, np.random.default_rng(0))
        assert directions.shape == (n_epochs, 4)
        for first in range(0, n_epochs, 4):
            basis = directions[first : first + 4]
            assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-12)
        if variant == "random-bias":
            assert_array_equal(directions[3::4], np.tile(np.eye(4)[3], (n_epochs // 4, 1)))
    with_bias = draw_directions("random", 3, 8, np.random.default_rng(0))
    assert (with_bias != 0.0).all()
    assert not np.allclose(with_bias[:4], with_bias[4:])


@given(problem=problems(), start=st.sampled_from(["zero", "fisher"]))
def test_a_weight_is_a_repetition_and_zero_is_absence(problem, start):
    X, signs, weight = problem
    weight = weight - 1.0
    weight[0] = 1.0
    times = weight.astype(int)
    asked = RCDPerceptron(n_epochs=10, start=start, random_state=0)
    weighted = clone(asked).fit(X, signs, weight)
    repeated = clone(asked).fit(np.repeat(X, times, axis=0), np.repeat(signs, times))
    if start == "zero" and len(repeated.classes_) == len(weighted.classes_):
        assert_array_equal(weighted.coef_, repeated.coef_)
        assert_array_equal(weighted.error_path_, repeated.error_path_)
    # Fisher's means are rounded differently, so the descents may diverge
    assert_allclose(weighted.error_path_[:, 0], repeated.error_path_[:, 0], atol=1e-12)


def test_only_the_proportions_of_weights_matter():
    X, y = make_threenorm(100, random_state=0)
    weight = np.random.default_rng(0).random(100)
    perceptron = RCDPerceptron(n_epochs=30, random_state=0)
    expected = perceptron.fit(X, y, weight).error_path_
    for factor in (1e-30, 0.1, 3.0, 1e30):
        assert_allclose(perceptron.fit(X, y, factor * weight).error_path_, expected)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("factor", [1e-300, 1.0, 1e300])
def test_shift_and_scale_of_all_features_do_not_matter(variant, factor):
    X, y = make_threenorm(60, n_features=4, random_state=0)
    X = np.column_stack([X, np.ones(60), X[:, 0]])  # a constant and a duplicate
    perceptron = RCDPerceptron(variant, n_epochs=30, random_state=0)
    errors = perceptron.fit(X, y).error_path_[0]
    moved = factor * (X + 1e3)
    assert_allclose(perceptron.fit(moved, y).error_path_[0], errors)
    assert_allclose(1.0 - perceptron.score(moved, y), errors[-1])


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_path_ends_at_the_training_error(variant):
    X, y = make_ringnorm(100, n_features=5, random_state=0)
    perceptron = RCDPerceptron(variant, n_epochs=40, random_state=0).fit(X, y)
    assert perceptron.error_path_.shape == (1, 41)
    assert perceptron.n_iter_ == 40
    assert_allclose(1.0 - perceptron.score(X, y), perceptron.error_path_[0, -1])
    assert_allclose(np.linalg.norm(perceptron.coef_), 1.0)


def test_separable_rows_are_separated_and_the_descent_ends():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (100, 3))
    margin = X @ [1.0, -2.0, 0.5] - 0.3
    X, y = X[np.abs(margin) > 0.3], np.sign(margin[np.abs(margin) > 0.3])
    perceptron = RCDPerceptron(random_state=0).fit(X, y)
    assert perceptron.score(X, y) == 1.0
    assert perceptron.n_iter_ < 200
    assert perceptron.error_path_[0, perceptron.n_iter_] == 0.0


def test_fishers_discriminant_is_the_bayes_direction_of_gaussians():
    X, y = make_twonorm(100_000, n_features=3, random_state=0)
    w = fisher_discriminant(X, y, np.ones(len(X)))
    assert_allclose(w[:3] / w[0], 1.0, atol=0.02)
    assert_allclose(w[3] / w[0], 0.0, atol=0.02)
    two_points = fisher_discriminant(np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2))
    assert_allclose(two_points, [1.0, -0.5])


def test_one_class_is_predicted_everywhere():
    X = np.arange(6.0).reshape(3, 2)
    assert_array_equal(RCDPerceptron().fit(X, ["a", "a", "a"]).predict(X), ["a", "a", "a"])
    for start in ("zero", "fisher", LinearSVC()):  # a class that is absent
        perceptron = RCDPerceptron(start=start).fit(X, ["a", "b", "b"], [0.0, 1.0, 2.0])
        assert_array_equal(perceptron.predict(X), ["b", "b", "b"])
        perceptron.fit(X, ["a", "b", "c"], [0.0, 1.0, 2.0])
        assert_array_equal(perceptron.predict(X[1:]), ["b", "c"])


def test_several_classes_are_predicted_by_the_largest_distance():
    X, y = load_iris(return_X_y=True)
    perceptron = RCDPerceptron(start="fisher", random_state=0).fit(X, y)
    distances = perceptron.decision_function(X)
    assert_array_equal(perceptron.predict(X), distances.argmax(axis=1))
    assert_allclose(np.linalg.norm(perceptron.coef_, axis=1), 1.0)
    assert perceptron.error_path_.shape == (3, 201)
    assert perceptron.score(X, y) > 0.9
    errors = [((distances[:, each] > 0.0) != (y == each)).mean() for each in range(3)]
    assert_allclose(perceptron.error_path_[:, -1], errors)


@pytest.mark.parametrize("start", [LinearSVC(), Perceptron(), LinearSVC(fit_intercept=False)])
def test_the_error_is_at_most_that_of_the_classifier_it_starts_from(start):
    X, y = make_ringnorm(100, n_features=5, random_state=0)
    X += 10.0
    perceptron = RCDPerceptron(start=start, n_epochs=20, random_state=0).fit(X, y)
    assert perceptron.error_path_[0, 0] <= 1.0 - start.fit(X, y).score(X, y) + 1e-12
    assert perceptron.error_path_[0, -1] < perceptron.error_path_[0, 0]


def paper_set(name):
    if callable(name):
        return name(300, random_state=0)
    if not os.environ.get("KERNSEMBLE_DATA"):
        pytest.skip("needs the data folder that KERNSEMBLE_DATA names")
    data = load(name)
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    return 2.0 * (data.X - low) / np.where(high > low, high - low, 1.0) - 1.0, data.y


@pytest.mark.large
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [*ARTIFICIAL, *REAL])
def test_the_error_is_at_most_that_of_surrogates_on_the_sets_of_the_papers(name):
    X, y = paper_set(name)
    error = (
        RCDPerceptron(start="fisher", n_epochs=1000, random_state=0).fit(X, y).error_path_[0, -1]
    )
    for rival in (LinearSVC(), Perceptron()):
        assert error <= 1.0 - rival.fit(X, y).score(X, y) + 1e-12


def test_the_same_seed_finds_the_same_perceptron():
    X, y = make_threenorm(100, random_state=0)
    first, second = (RCDPerceptron(random_state=3).fit(X, y) for _ in range(2))
    assert_array_equal(first.coef_, second.coef_)
    assert (first.coef_ != RCDPerceptron(random_state=4).fit(X, y).coef_).any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "gradient"}, "variant = 'gradient'.*'coordinate'"),
        ({"start": "somewhere"}, "start = 'somewhere'.*'fisher'"),
        ({"n_epochs": 0}, "n_epochs = 0: use a whole number"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        RCDPerceptron(**settings).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.large
@parametrize_with_checks(
    [
        RCDPerceptron(n_epochs=20),
        RCDPerceptron("coordinate", n_epochs=20, start="fisher"),
        RCDPerceptron("random", n_epochs=20, start=RidgeClassifier()),
    ]
)
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)

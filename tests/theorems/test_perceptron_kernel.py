"""Lin & Li 2008, section 5."""

from itertools import pairwise

import numpy as np
import pytest
from cases import random_rows, samples, svm_decisions
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group

from kernsemble.datasets import make_threenorm
from kernsemble.hypotheses import PerceptronSet
from kernsemble.hypotheses.perceptrons import mean_absolute_cosine
from kernsemble.kernels import Exponential, Gaussian, Perceptron, definiteness
from kernsemble.kernels.geometry import DefinitenessKind


@pytest.mark.parametrize("n_features", [1, 2, 3, 20, 500])
def test_definition_9_constant_is_the_mean_absolute_cosine_on_the_sphere(n_features):
    if n_features == 1:
        assert mean_absolute_cosine(1) == pytest.approx(1.0)
        return
    power = n_features - 2  # the angle to an axis has density proportional to sin^(D-2)
    numerator = quad(lambda t: abs(np.cos(t)) * np.sin(t) ** power, 0, np.pi)[0]
    denominator = quad(lambda t: np.sin(t) ** power, 0, np.pi)[0]
    assert mean_absolute_cosine(n_features) == pytest.approx(numerator / denominator, rel=1e-6)


@given(X=samples(min_rows=2))
def test_definition_9_kernel_is_delta_minus_the_distance(X):
    bound = Perceptron(margin=0.5).bind(X)
    radius = 1.5 * np.linalg.norm(X - X.mean(axis=0), axis=1).max()
    assert bound.delta == pytest.approx(radius / mean_absolute_cosine(X.shape[1]))
    assert_allclose(bound(X), bound.delta - cdist(X, X), atol=1e-10)


@given(x=samples(min_rows=2, max_columns=1))
def test_in_one_dimension_perceptrons_are_stumps(x):
    perceptrons = PerceptronSet.spanning(x)
    edges = np.concatenate(
        [
            [perceptrons.centre[0] - perceptrons.radius],
            np.unique(x),
            [perceptrons.centre[0] + perceptrons.radius],
        ]
    )
    expected = np.zeros((len(x), len(x)))
    for lower, upper in pairwise(edges):
        vote = np.where(x.ravel() > lower, 1.0, -1.0)
        expected += (upper - lower) / 2.0 * np.outer(vote, vote)  # two directions, r^2 = 1/4
    assert_allclose(Perceptron().bind(x)(x), expected, atol=1e-10)


@pytest.mark.parametrize("C", [2.0**-9, 1.0, 2.0**9])
@given(seed=st.integers(0, 2**31))
@settings(max_examples=10)
def test_theorem_10_simplified_and_full_kernels_give_the_same_svm(C, seed):
    X, y = make_threenorm(60, random_state=seed)
    Z, _ = make_threenorm(40, random_state=seed + 1)
    full = Perceptron().bind(X)
    assert_allclose(
        svm_decisions(full, X, y, Z, C), svm_decisions(full.simplified, X, y, Z, C), atol=1e-4
    )


@given(rows=st.integers(2, 10), n_features=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_theorem_11_positive_definite_when_all_rows_differ(rows, n_features, seed):
    X = np.random.default_rng(seed).normal(size=(rows, n_features))
    X[:, 0] = np.arange(rows)
    assert definiteness(Perceptron().bind(X)(X)).kind is DefinitenessKind.PD


def test_theorem_11_needs_different_rows():
    X = np.vstack([random_rows(5), random_rows(5)])
    assert definiteness(Perceptron().bind(X)(X)).kind is DefinitenessKind.PSD


@pytest.mark.parametrize("kernel", [Perceptron(), Exponential(0.3), Gaussian(0.3)])
def test_kernels_of_the_two_norm_are_invariant_to_rotations(kernel):
    X = random_rows(n_features=5)
    rotated = X @ ortho_group.rvs(5, random_state=0)
    assert_allclose(kernel.bind(rotated)(rotated), kernel.bind(X)(X), atol=1e-10)

"""Kernels on rows with categories and missing values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.exceptions import UnboundKernelError
from kernsemble.kernels import (
    Category,
    Exponential,
    Gaussian,
    Laplacian,
    Mixed,
    Perceptron,
    Stump,
    mixed,
)
from kernsemble.kernels.columns import leaves, located
from kernsemble.preprocessing import FeatureScaling

INNER = [Laplacian(0.3), Exponential(0.3), Gaussian(), Perceptron(), Stump(), Stump() * Laplacian()]


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 4, n), rng.normal(size=n)])
    X[rng.random(n) < 0.2, 1] = np.nan
    return X


@pytest.mark.parametrize("inner", INNER, ids=str)
def test_without_categories_and_missing_values_it_is_the_inner_kernel(inner):
    X = rows()[:, [0, 3]]
    assert_allclose(Mixed(inner).bind(X)(X), inner.bind(X)(X))
    assert_allclose(Mixed(inner).bind(X).diagonal(X), inner.bind(X).diagonal(X))


@pytest.mark.parametrize("inner", INNER, ids=str)
def test_the_matrix_is_that_of_expanded_rows_and_is_definite(inner):
    X = rows()
    kernel = Mixed(inner, categories=(2,)).bind(X)
    Z = kernel.expanded(X)
    assert Z.shape == (40, 3 + 1 + 4)
    assert_allclose(kernel(X), inner.bind(Z)(Z))
    assert np.linalg.eigvalsh(kernel(X)).min() > -1e-8
    assert kernel.n_features == 4


def test_a_missing_number_is_the_median_with_an_indicator():
    X = np.array([[0.0], [1.0], [5.0], [np.nan]])
    kernel = Mixed(Laplacian(1.0)).bind(X)
    h = kernel.bound.height
    assert h == pytest.approx(2 * (1 + 5 + 4) / 9)  # the mean distance of two known values
    assert_allclose(kernel.expanded(X), [[0.0, 0.0], [1.0, 0.0], [5.0, 0.0], [1.0, h]])


def test_categories_differ_by_two_indicators_and_unknown_ones_by_one():
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    kernel = Mixed(Laplacian(1.0), categories=(0,)).bind(X)
    h = kernel.bound.height
    found = -np.log(kernel(X, np.array([[0.0], [1.0], [-1.0], [7.0]])))
    assert_allclose(found[0], [0.0, 2 * h, h, h], atol=1e-12)
    expected = 2 * h * (Category().bind(X).delta - Category().bind(X)(X))
    assert_allclose(-np.log(kernel(X)), expected, atol=1e-12)


def test_rare_categories_share_an_indicator(monkeypatch):
    monkeypatch.setattr(mixed, "MAX_INDICATORS", 3)
    X = np.column_stack([[0, 0, 0, 1, 1, 2, 3], [0, 0, 1, 1, 2, 2, 2]]).astype(float)
    Z = Mixed(Laplacian(1.0), categories=(0, 1)).bind(X).expanded(X) > 0.0
    assert_array_equal(Z.sum(axis=1), 2)
    assert Z.shape[1] == 5
    assert_array_equal(Z[5], Z[6])


def test_weights_are_repetitions():
    X, weight = rows(), np.arange(40) % 3
    repeated = np.repeat(X, weight, axis=0)
    for inner in (Laplacian(), Perceptron()):
        kernel = Mixed(inner, categories=(2,))
        weighted, plain = kernel.bind(X, weight), kernel.bind(repeated)
        assert_allclose(weighted(X), plain(X), rtol=1e-10)


def test_columns_of_the_parts_are_those_of_expanded_rows():
    kernel = Mixed(Stump().on([0]), categories=(2,))
    assert located(kernel, 4, list("abcd")) == kernel
    assert [leaf.columns(4).tolist() for leaf in leaves(kernel)] == [[0, 1, 2, 3]]


def test_other_rows_are_refused():
    X = rows()
    with pytest.raises(UnboundKernelError, match="bind it first"):
        Mixed(Laplacian())(X)
    with pytest.raises(ValueError, match="3 features, but the kernel is bound to 4"):
        Mixed(Laplacian()).bind(X)(X[:, :3])


@pytest.mark.parametrize("kind", ["range", "rank", "distinct"])
def test_a_scaling_ignores_missing_values_and_keeps_them(kind):
    X, weight = rows(), np.arange(40) % 4 * 1.0
    X[:, 3] = np.nan
    scaled = FeatureScaling.from_rows(X, kind, weight).transform(X)
    assert_array_equal(np.isnan(scaled), np.isnan(X))
    known = ~np.isnan(X[:, 1])
    alone = FeatureScaling.from_rows(X[known, 1:2], kind, weight[known]).transform(X[known, 1:2])
    assert_allclose(scaled[known, 1], alone[:, 0])

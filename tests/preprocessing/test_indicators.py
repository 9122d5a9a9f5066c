"""Ranks and indicators as coordinates of numbers, categories and missing values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.preprocessing.indicators import IndicatorScaling
from kernsemble.preprocessing.supervised import TargetScaling

IS_CATEGORY = np.array([False, True, False])


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 4, n), rng.normal(size=n)])
    X[rng.random(n) < 0.1, 2] = np.nan
    return X


def test_coordinates_are_ranks_gaps_and_indicators():
    X = table()
    scaling = IndicatorScaling.from_rows(X, np.ones(len(X)), IS_CATEGORY, fewest=1.0)
    found = scaling.transform(X)
    assert_array_equal(scaling.columns_of(np.arange(7)), [0, 2, 2, 1, 1, 1, 1])
    order = np.argsort(X[:, 0])
    assert (np.diff(found[order, 0]) >= 0.0).all()
    assert found[:, 0].min() == pytest.approx(0.0)
    assert found[:, 0].max() == pytest.approx(1.0)
    assert_array_equal(found[:, 2], np.isnan(X[:, 2]))
    assert_allclose(found[np.isnan(X[:, 2]), 1], 0.5)
    assert_array_equal(found[:, 3:].argmax(axis=1), X[:, 1])
    assert_array_equal(found[:, 3:].sum(axis=1), np.ones(len(X)))


def test_rare_and_unknown_categories_have_no_indicator():
    X = table()
    X[:3, 1] = 4.0
    scaling = IndicatorScaling.from_rows(X, np.ones(len(X)), IS_CATEGORY, fewest=5.0)
    assert_array_equal(scaling.codes, [0, 1, 2, 3])
    X[0, 1], X[1, 1], X[2, 1] = np.nan, 4.0, 9.0
    assert not scaling.transform(X[:3])[:, 3:].any()
    few = IndicatorScaling.from_rows(X, np.ones(len(X)), IS_CATEGORY, fewest=1.0, most=2)
    assert len(few.codes) == 2


def test_weights_count_as_repetition():
    X, weight = table(60), np.random.default_rng(1).integers(0, 3, 60).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    found = IndicatorScaling.from_rows(X, weight, IS_CATEGORY, fewest=10.0)
    expected = IndicatorScaling.from_rows(repeated, np.ones(len(repeated)), IS_CATEGORY, 10.0)
    assert_allclose(found.transform(X), expected.transform(X), atol=1e-12)


def test_learned_indicators_prefer_what_matters():
    X = table(600)
    y = np.where((X[:, 1] == 2.0) | (X[:, 0] > 1.0), 1.0, -1.0)[:, np.newaxis]
    weight = np.ones(len(X))
    learner = TargetScaling.from_rows("learned-indicators", X, weight, IS_CATEGORY, y)
    scaling, coordinates = learner.fit()
    assert scaling.kind == "learned-indicators"
    assert_allclose(scaling.transform(X), coordinates)
    shares = scaling.feature_shares(3)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[2] < min(shares[0], shares[1])


def test_columns_of_one_kind_only_have_coordinates():
    X = table()
    for some, kinds in (([0], [False]), ([1], [True])):
        part = X[:, some]
        scaling = IndicatorScaling.from_rows(part, np.ones(len(part)), np.array(kinds))
        assert np.isfinite(scaling.transform(part)).all()


def test_weights_that_are_shares_count_as_rows():
    X = table()
    found, expected = (
        IndicatorScaling.from_rows(X, np.full(len(X), weight), IS_CATEGORY)
        for weight in (1.0 / len(X), 1.0)
    )
    assert_array_equal(found.codes, expected.codes)
    assert len(found.codes) == 4


def test_rare_categories_have_indicators_if_there_is_nothing_else():
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(50.0), 4))
    X, y = codes[:, np.newaxis], np.where(codes < 25.0, 1.0, -1.0)[:, np.newaxis]
    weight, is_category = np.ones(200), np.array([True])
    scaling = IndicatorScaling.from_rows(X, weight, is_category, most=8)
    assert_array_equal(scaling.transform(X).sum(axis=0), np.full(8, 4.0))
    learner = TargetScaling.from_rows("learned-indicators", X, weight, is_category, y)
    assert learner.fit().coordinates.shape[1] > 0
    missing = IndicatorScaling.from_rows(np.full((5, 1), np.nan), np.ones(5), is_category)
    assert_array_equal(missing.transform(X), codes[:, np.newaxis] == 0.0)

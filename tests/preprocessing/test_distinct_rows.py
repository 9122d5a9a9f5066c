"""Equal rows share what is random, so that weights of learned scalings are repetitions."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.preprocessing.distinct_rows import DistinctRows
from kernsemble.preprocessing.supervised import TargetScaling

KINDS = [
    ("learned", "l1"),
    ("learned-range", "l2"),
    ("learned-directions", "l2"),
    ("effects", "l1"),
    ("learned-effects", "l1"),
]


@given(seed=st.integers(0, 2**16), n=st.integers(1, 30))
def test_groups_are_of_equal_rows_and_their_order_is_that_of_contents(seed, n):
    rng = np.random.default_rng(seed)
    table = rng.choice([0.0, -1.0, np.nan], size=(n, 2))
    found = DistinctRows.of(table[:, :1], table[:, 1:])
    for i in range(n):
        same = [np.array_equal(table[i], each, equal_nan=True) for each in table]
        assert_array_equal(found.group == found.group[i], same)
    assert_array_equal(table[found.first][found.group], table)
    order = rng.permutation(n)
    again = DistinctRows.of(table[order][:, :1], table[order][:, 1:])
    assert_array_equal(table[order][again.first], table[found.first])


@pytest.mark.large
@pytest.mark.parametrize(("kind", "norm"), KINDS)
def test_weights_are_repetitions(kind, norm):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    targets = np.where(X[:, :1] + X[:, 1:2] ** 2 + 0.3 * rng.normal(size=(150, 1)) > 0, 1.0, -1.0)
    counts, plain = rng.integers(0, 4, 150), np.zeros(5, dtype=bool)
    repeated = rng.permutation(np.repeat(np.arange(150), counts))
    found = TargetScaling.from_rows(kind, X, counts.astype(float), plain, targets, norm).fit()
    ones = np.ones(len(repeated))
    same = TargetScaling.from_rows(kind, X[repeated], ones, plain, targets[repeated], norm).fit()
    assert_allclose(found.scaling.transform(X), same.scaling.transform(X), atol=1e-5)
    assert_allclose(found.coordinates[repeated], same.coordinates, atol=1e-5)
    assert same.coordinates.std() > 0.05

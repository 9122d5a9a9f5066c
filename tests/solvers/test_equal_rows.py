"""Equal rows are grouped by their contents, whatever their order."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from kernsemble.solvers.equal_rows import EqualRows, _hashes, distinct_rows

SEEDS = st.integers(0, 2**16)


@given(seed=SEEDS, n=st.integers(1, 30))
def test_groups_are_of_equal_rows_and_their_order_is_that_of_contents(seed, n):
    rng = np.random.default_rng(seed)
    table = rng.choice([0.0, -0.0, -1.0, 1e300, np.nan], size=(n, 2))
    found = EqualRows.of(table[:, :1], table[:, 1:])
    for i in range(n):
        same = [np.array_equal(table[i], each, equal_nan=True) for each in table]
        assert_array_equal(found.group == found.group[i], same)
        assert found.first[found.group[i]] == np.argmax(same)
    order = rng.permutation(n)
    again = EqualRows.of(table[order][:, :1], table[order][:, 1:])
    assert_array_equal(table[order][again.first], table[found.first])


@given(seed=SEEDS)
def test_values_of_equal_rows_add_up(seed):
    rng = np.random.default_rng(seed)
    table, values = rng.integers(3, size=(20, 2)).astype(float), rng.normal(size=20)
    sums = EqualRows.of(table).sums(values)
    for row, total in zip(table[EqualRows.of(table).first], sums, strict=True):
        assert total == pytest.approx(values[(table == row).all(axis=1)].sum())


def test_no_rows_have_no_groups():
    assert [len(each) for each in EqualRows.of(np.empty((0, 3)))] == [0, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_column_of_large_numbers_hides_no_other(dtype):
    table = np.column_stack([np.full(100, 1e30), np.arange(100) % 50]).astype(dtype)
    assert len(EqualRows.of(table).first) == 50


@given(seed=SEEDS, n=st.integers(1, 30))
def test_weights_and_repetitions_give_the_same_distinct_rows(seed, n):
    rng = np.random.default_rng(seed)
    X, y = rng.choice([0.0, -0.0, 1.0, 1e-300, np.nan], size=(n, 2)), rng.integers(2, size=(n, 1))
    weight = rng.integers(4, size=n)
    repeated = rng.permutation(np.repeat(np.arange(n), weight))
    weighted = distinct_rows(weight, X, y)
    again = distinct_rows(np.ones(len(repeated)), X[repeated], y[repeated])
    contents = np.nan_to_num(np.column_stack([X, y]), nan=9.0) + 0.0
    assert len(weighted.rows) == len({tuple(each) for each in contents[weight > 0]})
    assert weighted.n_given == n
    if (weighted.weight > 1.0).any():  # without repetitions the order is kept
        assert_array_equal(contents[weighted.rows], contents[repeated][again.rows])
        assert_array_equal(weighted.weight, again.weight)


def test_distinct_rows_of_weight_one_keep_their_order():
    X = np.random.default_rng(0).normal(size=(200, 3))
    assert distinct_rows(np.ones(200), X).are_as_given
    weight = np.arange(200) % 3 == 0
    found = distinct_rows(weight.astype(float), X)
    assert_array_equal(found.rows, np.flatnonzero(weight))
    assert not found.are_as_given


def test_sparse_and_dense_rows_are_merged_alike():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, -0.0], [2.0, 0.0]])
    codes = np.array([0, 0, 1, 1, 1, 0])[:, np.newaxis]
    weight = np.array([1.0, 2.0, 1.0, 1.0, 4.0, 0.0])
    stored = sparse.csr_array((X.ravel(), (np.repeat(range(6), 2), np.tile([0, 1], 6))), X.shape)
    dense, found = (distinct_rows(weight, each, codes) for each in (X, stored))
    assert_array_equal(np.sort(dense.rows), [0, 2, 3])
    assert_array_equal(dense.weight[np.argsort(dense.rows)], [3.0, 5.0, 1.0])
    assert_array_equal(found.rows, dense.rows)
    assert_array_equal(found.weight, dense.weight)


@pytest.mark.parametrize("scale", [1.0, 1e-300, 2.0**60])
def test_hashes_of_small_numbers_and_of_columns_in_another_order_differ(scale):
    X = scale * np.array(np.meshgrid(*[np.arange(6.0)] * 5)).reshape(5, -1).T
    hashes = _hashes((X,))
    assert len(np.unique(hashes)) == len(X) == 6**5
    assert len(np.unique(hashes >> np.uint64(32))) > 0.99 * len(X)

"""Partitions of rows by median splits, and rows routed to their leaves."""

import numpy as np
import pytest
from cases import samples
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from kernsemble.solvers.partition import Partition, merge_equal_rows

SEEDS = st.integers(0, 2**16)


def partition_of(X, leaf_rows=5, seed=0, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    return Partition.from_rows(X, weight, leaf_rows, np.random.default_rng(seed))


def routed(partition, x):
    """Return the leaf of a row by following the splits."""
    split = 0 if len(partition.thresholds) else -1
    while split >= 0:
        total = 0.0
        for v, each in zip(partition.directions[split].tolist(), x.tolist(), strict=True):
            total += v * each
        split = partition.children[split, int(total > partition.thresholds[split])]
    return -1 - split


@given(X=samples(), seed=SEEDS)
def test_leaves_contain_every_distinct_row_once_and_route_it_back(X, seed):
    first, _ = merge_equal_rows(X)
    distinct = X[first]
    partition = partition_of(distinct, 3, seed)
    assert_array_equal(np.sort(partition.rows), np.arange(len(distinct)))
    assert np.diff(partition.ends).max() <= 3
    leaves = partition.route(distinct)
    for leaf in range(partition.n_leaves):
        assert_array_equal(np.flatnonzero(leaves == leaf), np.sort(partition.rows_of(leaf)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_routing_is_that_of_plain_python(dtype):
    rng = np.random.default_rng(0)
    X, Z = (rng.normal(size=(n, 4)).astype(dtype) for n in (300, 200))
    partition = partition_of(X, 10)
    assert partition.n_leaves >= 30
    assert_array_equal(partition.route(Z), [routed(partition, z) for z in Z])


def test_splits_are_at_the_median():
    X = np.random.default_rng(0).normal(size=(1024, 3))
    assert_array_equal(np.diff(partition_of(X, 128).ends), [128] * 8)


@given(X=samples(), seed=SEEDS)
def test_equal_rows_are_merged_into_the_first(X, seed):
    X = X[np.random.default_rng(seed).integers(len(X), size=40)]
    first, places = merge_equal_rows(X)
    assert_array_equal(X[first][places], X)
    assert len(np.unique(X, axis=0)) == len(first)
    assert_array_equal(first, [np.flatnonzero(places == k)[0] for k in range(len(first))])
    assert (np.diff(first) > 0).all()


def test_weights_move_the_median():
    X = np.arange(100.0)[:, np.newaxis]
    weight = np.where(X[:, 0] < 10, 9.0, 1.0)
    sizes = np.diff(partition_of(X, 90, weight=weight).ends)
    assert sorted(sizes) == [10, 90]


def test_a_heavy_row_does_not_stop_the_splits():
    X = np.random.default_rng(0).normal(size=(200, 2))
    weight = np.ones(200)
    weight[17] = 1e6
    assert np.diff(partition_of(X, 20, weight=weight).ends).max() <= 20


def test_constant_columns_and_a_single_row_are_a_leaf():
    assert partition_of(np.zeros((1, 3)), 1).n_leaves == 1
    X = np.column_stack([np.zeros(50), np.arange(50.0)])
    assert np.diff(partition_of(X, 10).ends).max() <= 10

"""Partitions of rows by median splits, and rows routed to their leaves."""

import numpy as np
import pytest
from cases import samples
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from kernsemble.solvers.equal_rows import EqualRows
from kernsemble.solvers.partition import Partition

SEEDS = st.integers(0, 2**16)


def partition_of(X, leaf_rows=5, seed=0, weight=None, overlap=0.0):
    weight = np.ones(len(X)) if weight is None else weight
    return Partition.from_rows(X, weight, leaf_rows, np.random.default_rng(seed), overlap)


def routed(partition, x, node=0, share=1.0):
    """Return the leaves of a row and their shares, by following the splits."""
    if node < 0 or not len(partition.lower):
        return {-1 - node if node < 0 else 0: share}
    total = 0.0
    for v, each in zip(partition.directions[node].tolist(), x.tolist(), strict=True):
        total += v * each
    low, high = partition.lower[node], partition.upper[node]
    second = float(total > low) if low == high else np.clip((total - low) / (high - low), 0.0, 1.0)
    found = {}
    for side, part in enumerate((1.0 - second, second)):
        if part > 0.0:
            found |= routed(partition, x, partition.children[node, side], share * part)
    return found


@given(X=samples(), seed=SEEDS, overlap=st.sampled_from([0.0, 0.1]))
def test_every_distinct_row_is_routed_to_the_leaves_that_contain_it(X, seed, overlap):
    distinct = X[EqualRows.of(X).first]
    partition = partition_of(distinct, 3, seed, overlap=overlap)
    assert_array_equal(np.unique(partition.rows), np.arange(len(distinct)))
    assert np.diff(partition.ends).max() <= 3
    routes = partition.route(distinct)
    row = np.repeat(np.arange(len(distinct)), np.diff(routes.ends))
    for leaf in range(partition.n_leaves):
        assert_array_equal(row[routes.leaves == leaf], np.sort(partition.rows_of(leaf)))
    if overlap == 0.0:
        assert len(partition.rows) == len(distinct)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("overlap", [0.0, 0.1])
def test_compiled_routing_is_that_of_plain_python(dtype, overlap):
    rng = np.random.default_rng(0)
    X, Z = (rng.normal(size=(n, 4)).astype(dtype) for n in (300, 200))
    partition = partition_of(X, 20, overlap=overlap)
    assert partition.n_leaves >= 16
    routes = partition.route(Z)
    for i, z in enumerate(Z):
        mine = slice(routes.ends[i], routes.ends[i + 1])
        expected = routed(partition, z)
        found = dict(zip(routes.leaves[mine].tolist(), routes.shares[mine].tolist(), strict=True))
        assert found == pytest.approx(expected, rel=1e-12)
        assert routes.shares[mine].sum() == pytest.approx(1.0)


def test_the_blend_of_leaves_is_continuous():
    X = np.random.default_rng(0).normal(size=(500, 2))
    partition = partition_of(X, 80, overlap=0.1)
    line = np.linspace(-2.0, 2.0, 20_001)[:, np.newaxis] * [[1.0, 0.5]]
    routes, shares = partition.route(line), np.zeros((len(line), partition.n_leaves))
    shares[np.repeat(np.arange(len(line)), np.diff(routes.ends)), routes.leaves] = routes.shares
    assert np.abs(np.diff(shares, axis=0)).max() < 0.01


def test_leaves_overlap_by_a_bounded_factor():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    sizes = [len(partition_of(X[:n], 50, overlap=0.1).rows) / n for n in (2_000, 20_000)]
    assert 1.3 < sizes[0] < 1.2**5
    assert sizes[1] < 1.2**5


def test_a_crowd_of_light_rows_is_not_in_both_children():
    X = np.random.default_rng(0).normal(size=(3_000, 2))
    weight = np.full(3_000, 1e-9)
    weight[:40] = 1.0
    X[:40] *= 10.0
    assert len(partition_of(X, 200, weight=weight, overlap=0.1).rows) < 12_000


def test_splits_are_at_the_median():
    X = np.random.default_rng(0).normal(size=(1024, 3))
    assert_array_equal(np.diff(partition_of(X, 128).ends), [128] * 8)


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

"""Equal rows are grouped by their contents, whatever their order."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_array_equal

from kernsemble.solvers.equal_rows import EqualRows

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

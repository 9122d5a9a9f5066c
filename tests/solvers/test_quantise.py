"""Levels and codes: exact for few distinct values, quantiles with means for many."""

import numpy as np
import pytest
from cases import samples
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.solvers.additive import look_up
from kernsemble.solvers.additive.look_up import encode, evaluate
from kernsemble.solvers.additive.quantise import quantise


def normal_rows(n=5_000, n_columns=3):
    return np.random.default_rng(0).normal(size=(n, n_columns))


def values_of(levels, codes):
    """The value of the level of every entry, NaN for loose levels."""
    columns = [np.append(each.values, np.full(each.n_loose, np.nan)) for each in levels]
    return np.array([column[code] for column, code in zip(columns, codes, strict=True)]).T


@given(X=samples(max_rows=30))
def test_few_distinct_values_are_kept_as_they_are(X):
    levels, codes = quantise(X, max_levels=81)
    assert_array_equal(values_of(levels, codes), X)
    for each, column in zip(levels, X.T, strict=True):
        assert_array_equal(each.values, np.unique(column))
        assert each.is_exact


@given(X=samples(min_rows=5, max_rows=40), max_levels=st.integers(2, 9))
def test_codes_keep_the_order_and_levels_are_the_means_of_their_members(X, max_levels):
    levels, codes = quantise(X, max_levels=max_levels)
    for each, code, column in zip(levels, codes, X.T, strict=True):
        assert each.n_levels <= max_levels
        assert (np.diff(each.values) > 0.0).all()
        order = np.argsort(column, kind="stable")
        assert (np.diff(code[order].astype(int)) >= 0).all()
        for k, value in enumerate(each.values):
            assert_allclose(value, column[code == k].mean(), atol=1e-12)
            assert each.weight[k] == (code == k).sum()
            assert each.distinct[k] == len(np.unique(column[code == k]))


def test_levels_of_a_continuous_column_hold_equally_many_rows():
    levels, _ = quantise(normal_rows(), max_levels=50)
    for each in levels:
        assert each.n_levels == 50
        assert_allclose(each.weight, 100, atol=1)


def test_a_frequent_value_has_a_level_of_its_own_and_leaves_most_levels_to_the_others():
    is_zero = np.random.default_rng(1).random((5_000, 1)) < 0.9
    X = np.where(is_zero, 0.0, normal_rows(n_columns=1))
    (levels,), _ = quantise(X, max_levels=64)
    assert 0.0 in levels.values
    assert levels.weight[list(levels.values).index(0.0)] == (X == 0.0).sum()
    assert 55 <= levels.n_levels <= 64


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_other_rows_find_the_level_of_their_values(dtype, order):
    X = np.asarray(normal_rows(), dtype=dtype, order=order)
    levels, codes = quantise(X, max_levels=40)
    assert codes.dtype == np.uint8
    assert codes.flags.c_contiguous
    assert_array_equal(encode(X, levels), codes)
    for each, code, column in zip(levels, codes, X.T, strict=True):
        assert_array_equal(code, np.searchsorted(each.cuts, column.astype(float)))


def test_more_than_256_levels_need_wider_codes():
    levels, codes = quantise(normal_rows(), max_levels=1_000)
    assert codes.dtype == np.uint16
    assert max(each.n_levels for each in levels) == 1_000
    with pytest.raises(ValueError, match="65,535"):
        quantise(normal_rows(), max_levels=70_000)


def test_a_missing_value_is_a_level_outside_the_order():
    X = normal_rows()
    X[::7, 1] = np.nan
    levels, codes = quantise(X, max_levels=16)
    assert [each.holds_missing for each in levels] == [False, True, False]
    assert [each.n_levels for each in levels] == [16, 16, 16]
    assert_array_equal(codes[1] == levels[1].n_ordered, np.isnan(X[:, 1]))
    assert levels[1].weight[-1] == np.isnan(X[:, 1]).sum()
    assert (levels[1].distinct == levels[1].weight[:-1]).all()


def test_a_missing_value_that_the_sample_did_not_hold_counts_as_the_median():
    levels, _ = quantise(normal_rows(), max_levels=16)
    codes = encode(np.full((1, 3), np.nan), levels)
    for each, code in zip(levels, codes[:, 0], strict=True):
        assert code == each.middle
        assert each.weight[: each.middle].sum() < 2_500 <= each.weight[: each.middle + 1].sum()


@given(
    X=arrays(np.float64, (25, 2), elements=st.integers(0, 60).map(float)),
    weight=arrays(np.float64, 25, elements=st.integers(0, 3).map(float)),
    max_levels=st.integers(2, 40),
)
def test_weights_are_repetition_and_zero_is_absence(X, weight, max_levels):
    weight[0] = 1.0
    X[1, 0] = np.nan
    levels, codes = quantise(X, max_levels=max_levels, weight=weight)
    rows = np.repeat(np.arange(25), weight.astype(int))
    repeated, repeated_codes = quantise(X[rows], max_levels=max_levels)
    assert_array_equal(codes[:, rows], repeated_codes)
    for each, other in zip(levels, repeated, strict=True):
        assert_allclose(each.values, other.values, rtol=1e-13)
        assert_array_equal(each.cuts, other.cuts)
        assert_allclose(each.weight, other.weight)
        assert (each.middle, each.n_loose) == (other.middle, other.n_loose)


def test_categories_are_loose_levels_and_unknown_ones_have_the_first():
    X = np.array([[0.0, 5.0], [2.0, 6.0], [1.0, 7.0], [2.0, 7.0], [np.nan, 5.0]])
    levels, codes = quantise(X, is_category=np.array([True, False]))
    assert_array_equal(codes[0], [1, 3, 2, 3, 0])
    assert_array_equal(levels[0].weight, [1, 1, 1, 2])
    assert levels[0].holds_categories
    assert (levels[0].n_ordered, levels[0].n_loose) == (1, 3)
    new = np.array([[3.0, 5.0], [-1.0, 5.0], [1.0, 5.0]])
    assert_array_equal(encode(new, levels)[0], [0, 0, 2])
    assert_allclose(evaluate(new, levels, [np.array([0.5, 1, 2, 3]), np.zeros(3)]), [0.5, 0.5, 2])


def test_a_table_is_linear_between_levels_and_constant_beyond():
    X = np.array([[1.0], [2.0], [4.0], [np.nan]])
    levels, _ = quantise(X)
    new = np.array([-9.0, 1.0, 1.25, 2.0, 3.0, 4.0, 99.0, np.nan])[:, np.newaxis]
    found = evaluate(new, levels, [np.array([10.0, 20.0, 40.0, 7.0])])
    assert_allclose(found, [10, 10, 12.5, 20, 30, 40, 40, 7])


@given(X=samples(max_rows=20), seed=st.integers(0, 99))
def test_at_the_rows_of_the_sample_interpolation_is_a_look_up(X, seed):
    levels, codes = quantise(X)
    tables = [np.random.default_rng(seed).normal(size=each.n_levels) for each in levels]
    expected = sum(table[code] for table, code in zip(tables, codes, strict=True))
    assert_allclose(evaluate(X, levels, tables), expected, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-310, 1e300])
@pytest.mark.parametrize(
    "spread",
    [
        lambda rng, n: rng.random(n),
        lambda rng, n: rng.standard_cauchy(n),
        lambda rng, n: 1.0 / rng.random(n),
    ],
    ids=["uniform", "cauchy", "inverse"],
)
def test_a_search_counts_the_numbers_below(scale, spread):
    rng = np.random.default_rng(0)
    numbers = np.unique(scale * spread(rng, 300))
    numbers = numbers[np.isfinite(numbers)]
    x = np.concatenate([numbers, np.nextafter(numbers, np.inf), scale * spread(rng, 800)])
    x = np.concatenate([x, [-np.inf, np.inf, 0.0, -1e308, 1e308]])
    search, place = (
        look_up.BucketSearch.from_columns([numbers, numbers[:0]]),
        np.empty(len(x), dtype=np.int32),
    )
    look_up._search(search, 0, len(x), x, place)
    assert_array_equal(place, np.searchsorted(numbers, x))
    look_up._search(search, 1, len(x), x, place)
    assert_array_equal(place, 0)


def test_a_search_among_evenly_spread_numbers_takes_a_step():
    search = look_up.BucketSearch.from_columns(
        [np.linspace(-3.0, 5.0, 255), np.geomspace(1e-9, 1e9, 255)]
    )
    assert_array_equal(search.n_steps, [1, 8])


def test_tables_of_several_machines_are_evaluated_at_once_with_steps_or_without():
    X, rng = normal_rows(), np.random.default_rng(1)
    levels, codes = quantise(X, max_levels=20)
    tables = [rng.normal(size=(3, each.n_levels)) for each in levels]
    is_stepped = np.arange(len(levels)) % 2 == 0
    found = np.zeros((3, len(X)))
    look_up.Evaluator.from_tables(levels, tables, is_stepped).add_to(found, X)
    for machine in range(3):
        straight, stepped = (
            [table[machine] * chosen for table, chosen in zip(tables, which, strict=True)]
            for which in (~is_stepped, is_stepped)
        )
        steps = sum(table[code] for table, code in zip(stepped, codes, strict=True))
        assert_allclose(found[machine], evaluate(X, levels, straight) + steps, atol=1e-12)


def test_values_outside_the_rows_of_the_quantiles_are_found():
    rng = np.random.default_rng(0)
    X = np.column_stack([
        rng.integers(0, 5, 5_000), rng.integers(0, 40, 5_000), rng.integers(0, 5, 5_000),
        rng.integers(0, 3, 5_000), rng.normal(size=5_000),
    ]).astype(float)  # fmt: skip
    X[0], X[1, 2] = (99.0, 99.0, 4.0, 9.0, 0.0), np.nan
    categories = np.array([False, False, False, True, False])
    levels, codes = quantise(X, max_levels=32, is_category=categories, max_quantile_rows=100)
    assert_array_equal(values_of(levels, codes)[:, [0, 2]], X[:, [0, 2]])
    assert_array_equal(levels[0].values, [0, 1, 2, 3, 4, 99])
    assert levels[1].n_levels <= 32
    assert levels[1].weight.sum() == 5_000
    assert levels[2].holds_missing
    assert levels[3].n_loose == 10
    assert_array_equal(codes[3], X[:, 3] + 1)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_number_of_threads_changes_nothing(threads, monkeypatch):
    X = normal_rows()
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    expected, expected_codes = quantise(X, max_levels=20, rows_per_task=500)
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    levels, codes = quantise(X, max_levels=20, rows_per_task=500)
    assert_array_equal(codes, expected_codes)
    for each, other in zip(levels, expected, strict=True):
        assert_array_equal(each.values, other.values)


def test_neighbouring_floats_have_different_levels():
    X = np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0)])
    _, codes = quantise(X[:, np.newaxis])
    assert_array_equal(codes[0], [0, 1, 2])


def test_constant_and_wholly_missing_columns_have_one_ordered_level():
    X = np.column_stack([np.full(9, 3.0), np.full(9, np.nan)])
    levels, codes = quantise(X)
    assert [each.n_ordered for each in levels] == [1, 1]
    assert_array_equal(codes, [[0] * 9, [1] * 9])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.array([[0.0], [np.inf]])}, "infinite"),
        ({"X": np.zeros((3, 1)), "weight": np.zeros(3)}, "weight"),
        ({"X": np.zeros((3, 1)), "max_levels": 1}, "max_levels"),
        ({"X": np.full((3, 1), 7e4), "is_category": np.ones(1, dtype=bool)}, "70,001 categories"),
    ],
)
def test_invalid_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        quantise(**arguments)

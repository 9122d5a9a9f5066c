"""Tables of numbers and categories, with missing values, as users have them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import kernsemble
from kernsemble.kernels import Category, Laplacian, Stump
from kernsemble.solvers import solve_dual
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
)
from kernsemble.svm.columns import MixedTable, is_mixed

N = 120
rng = np.random.default_rng(0)
AGE = rng.integers(20, 60, N).astype(float)
CITY = rng.choice(["Bern", "Rome", "Oslo"], N)
MEMBER = rng.random(N) < 0.5
y = np.where((AGE > 40) ^ (CITY == "Rome"), "yes", "no")
SIGNS = np.where(y == "yes", 1.0, -1.0)
HOLES = rng.random(N) < 0.2


def frame():
    return pd.DataFrame({"age": AGE, "city": CITY, "member": MEMBER})


def with_holes():
    table = frame()
    table.loc[HOLES, "age"] = np.nan
    table.loc[HOLES[::-1], "city"] = None
    return table


def polars_with_holes():
    table = with_holes()
    city = [None if hole else name for name, hole in zip(CITY.tolist(), HOLES[::-1], strict=True)]
    return pl.DataFrame({"age": table["age"].to_numpy(), "city": city, "member": MEMBER})


def machine(**settings):
    return InfiniteEnsembleClassifier(tol=1e-9, **settings)


def decisions_of(K, C):
    """The exact solution on a matrix."""
    lower, upper = np.minimum(0.0, C * SIGNS), np.maximum(0.0, C * SIGNS)
    solution = solve_dual(K, SIGNS, lower, upper, tol=1e-9)
    return SIGNS - solution.residual + solution.bias


def test_numbers_are_stumps_and_the_rest_categories():
    fitted = machine(scaling=None, C=0.1).fit(frame(), y)
    assert fitted.solver_ == "additive"
    numbers = np.column_stack([AGE, MEMBER])
    K = Stump().bind(numbers)(numbers) + Category().bind(CITY[:, None])(CITY[:, None])
    assert_allclose(fitted.decision_function(frame()), decisions_of(K, 0.1), atol=1e-3)


def test_a_missing_number_is_the_median_and_a_hypothesis_more():
    rows = AGE[:, np.newaxis].copy()
    rows[HOLES] = np.nan
    fitted = machine(scaling=None, C=0.1).fit(rows, y)
    assert fitted.solver_ == "additive"
    levels = fitted.tables_.blocks[0].levels[0]
    filled = np.where(np.isnan(rows), levels.values[levels.middle], rows)
    K = Stump().bind(filled)(filled) + 2.0 * np.outer(HOLES, HOLES)
    assert_allclose(fitted.decision_function(rows), decisions_of(K, 0.1), atol=1e-3)


@pytest.mark.parametrize("scaling", ["range", "rank", "distinct", None])
def test_tables_of_pandas_and_polars_are_the_same(scaling):
    one = machine(scaling=scaling).fit(with_holes(), y)
    table = polars_with_holes()
    other = machine(scaling=scaling).fit(table, y)
    assert_array_equal(one.decision_function(with_holes()), other.decision_function(table))
    assert one.score(with_holes(), y) > 0.6


@pytest.mark.parametrize("kind", ["category", "string", "object"])
def test_the_type_of_a_category_does_not_matter(kind):
    expected = machine().fit(with_holes(), y).decision_function(with_holes())
    table = with_holes().astype({"city": kind})
    assert_array_equal(machine().fit(table, y).decision_function(table), expected)
    cast = {"category": pl.Categorical, "string": pl.String, "object": pl.Enum(sorted(set(CITY)))}
    polars = polars_with_holes().with_columns(pl.col("city").cast(cast[kind]))
    assert_array_equal(machine().fit(polars, y).decision_function(polars), expected)


def test_numbers_that_may_be_missing_are_numbers():
    table = with_holes().convert_dtypes()
    expected = machine().fit(with_holes(), y).decision_function(with_holes())
    assert_array_equal(machine().fit(table, y).decision_function(table), expected)


def test_an_unseen_category_contributes_nothing():
    fitted = machine().fit(frame(), y)
    table = frame().assign(city="Paris")
    numbers = frame()[["age", "member"]]
    values = fitted.intercept_ + _from_numbers(fitted, numbers)
    assert_allclose(fitted.decision_function(table), values)
    table["city"] = None
    assert_array_equal(
        fitted.decision_function(table), fitted.decision_function(table.assign(city="Paris"))
    )


def _from_numbers(fitted, numbers):
    """The part of the decision that comes from stumps, by the tables at the exact levels."""
    total = np.zeros(len(numbers))
    for k, name in enumerate(numbers):
        levels, heights = fitted.tables_.blocks[0].levels[k], fitted.tables_.blocks[0].heights[k][0]
        total += np.interp(numbers[name].astype(float), levels.values, heights)
    return total


def test_a_table_of_numbers_only_is_no_mixed_table():
    assert is_mixed(frame())
    assert not is_mixed(frame()[["age", "member"]])
    assert not is_mixed(pl.DataFrame({"a": [1.0, None], "b": [True, False]}))
    assert not is_mixed(pd.DataFrame({"a": np.array([1, 2.5], dtype=object)}))
    assert not is_mixed(np.zeros((2, 2)))
    assert machine().fit(frame()[["age", "member"]], y).solver_ == "exact"


def test_all_columns_may_be_categories():
    table = frame()[["city"]]
    fitted = machine().fit(table, y)
    assert len(np.unique(fitted.decision_function(table).round(9))) == 3


def test_text_where_numbers_were_is_refused():
    fitted = machine().fit(frame(), y)
    with pytest.raises(ValueError, match="column 'age' of X held numbers"):
        fitted.predict(frame().assign(age="old"))


def test_other_columns_are_refused():
    with pytest.raises(ValueError, match="feature names"):
        machine().fit(frame(), y).predict(frame()[["city", "age", "member"]])


def test_missing_values_need_stumps():
    with pytest.raises(ValueError, match="NaN"):
        machine(kernel=Laplacian()).fit(
            AGE[:, np.newaxis] * np.where(HOLES, np.nan, 1.0)[:, None], y
        )
    with pytest.raises(ValueError, match="NaN"):
        machine(kernel="perceptron").fit(with_holes(), y)
    with pytest.raises(ValueError, match="NaN"):
        machine(solver="exact").fit(with_holes(), y)


@pytest.mark.large
def test_selection_and_probabilities_on_a_mixed_table():
    kernels = ["stump", Stump(measure="distinct"), "perceptron"]
    chosen = InfiniteEnsembleClassifierCV(kernels, loss="logistic", cv=3, n_slices=8)
    chosen.fit(frame(), y)
    assert chosen.solver_ == "additive"
    assert chosen.predict_proba(frame()).shape == (N, 2)
    with_missing = InfiniteEnsembleClassifierCV(kernels[:2], cv=3).fit(with_holes(), y)
    assert with_missing.score(with_holes(), y) > 0.6


def test_numbers_are_fitted_to_a_mixed_table():
    fitted = InfiniteEnsembleRegressor().fit(with_holes(), AGE)
    assert fitted.score(with_holes(), AGE) > 0.4


def test_a_machine_of_a_mixed_table_can_be_saved(tmp_path):
    fitted = machine().fit(with_holes(), y)
    again = kernsemble.load(kernsemble.save(fitted, tmp_path / "machine.skops"))
    assert_array_equal(
        again.decision_function(with_holes()), fitted.decision_function(with_holes())
    )
    assert again.mixed_table_ == fitted.mixed_table_


def test_categories_are_numbered_by_their_names():
    table = MixedTable.from_table(with_holes())
    assert table.categories == (None, ("Bern", "Oslo", "Rome", None), None)
    assert_array_equal(table.is_category, [False, True, False])

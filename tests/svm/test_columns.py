"""Kernels on the columns of a table: selected by name, of any type, with missing values."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import kernsemble
from kernsemble.kernels import (
    Category,
    Constant,
    Laplacian,
    MiddleStump,
    Mixed,
    Perceptron,
    Stump,
    StumpRegion,
)
from kernsemble.kernels.columns import leaves, located
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
)

N = 60
rng = np.random.default_rng(0)
AGE = rng.integers(20, 60, N).astype(float)
HEIGHT = rng.normal(170.0, 10.0, N).round()
COLOUR = rng.choice(["red", "green", "blue"], N)
MEMBER = rng.random(N) < 0.5
y = np.where((AGE > 40) ^ (COLOUR == "red"), "yes", "no")
HOLES = np.arange(N) % 5 == 0
NULLABLE = {"b": "boolean", "f": "Float64", "i": "Int64"}  # of pandas
NAMES = ["age", "height", "year"]
NUMBERS = np.column_stack([AGE, HEIGHT, rng.normal(size=N)])


def numbers(library=pd):
    return library.DataFrame(dict(zip(NAMES, NUMBERS.T, strict=True)))


def mixed(library=pd):
    return library.DataFrame({"age": AGE, "colour": COLOUR.tolist(), "height": HEIGHT})


def holed(values):
    """The same values, some of them missing."""
    return [None if hole else value for value, hole in zip(values.tolist(), HOLES, strict=True)]


def machine(kernel="stump", **settings):
    return InfiniteEnsembleClassifier(kernel, tol=1e-6, **settings)


def decisions(kernel, table, **settings):
    return machine(kernel, **settings).fit(table, y).decision_function(table)


# -- by name


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("solver", ["exact", "additive"])
@pytest.mark.parametrize(
    ("by_name", "by_position"),
    [
        (Stump().on("height"), Stump().on(1)),
        (
            0.5 * Stump().on(["age", "year"]) + MiddleStump().on("age").simplified,
            0.5 * Stump().on([0, 2]) + MiddleStump().on(0).simplified,
        ),
        (
            (Stump() + Stump().on("year")).on(["year", "age"]) + Constant(),
            (Stump() + Stump().on(0)).on([2, 0]) + Constant(),
        ),
        (Stump().on([False, True, False]).logic, Stump().on(-2).logic),
    ],
)
def test_names_are_positions(by_name, by_position, solver, library):
    table = numbers(library)
    fitted = machine(by_name, solver=solver).fit(table, y)
    expected = decisions(by_position, NUMBERS, solver=solver)
    assert_array_equal(fitted.decision_function(table), expected)
    assert fitted.kernel == by_name
    with pytest.warns(UserWarning, match="feature names"):
        assert_array_equal(fitted.decision_function(NUMBERS), expected)


def test_products_and_regions_are_of_columns_by_name_too():
    kernel = Laplacian().on("age") * StumpRegion(2).on(["height"]) + (
        Stump().on("age") & Stump().on("year")
    )
    expected = Laplacian().on(0) * StumpRegion(2).on(1) + (Stump().on(0) & Stump().on(2))
    assert located(kernel, 3, NAMES) == expected
    assert_array_equal(decisions(kernel, numbers()), decisions(expected, NUMBERS))


def test_leaves_see_their_columns():
    kernel = Stump() + 2.0 * (Category().on(1) + Perceptron()).on([2, 0]) + Constant()
    assert [(leaf.kernel, leaf.columns(3).tolist()) for leaf in leaves(kernel)] == [
        (Stump(), [0, 1, 2]),
        (Category(), [0]),
        (Perceptron(), [2, 0]),
    ]


@pytest.mark.parametrize("solver", ["exact", "additive"])
def test_kernels_on_named_columns_can_be_selected(solver):
    kernels = [Stump().on("year"), Stump().on(["age", "height"])]
    settings = {"kernel": kernels, "cv": 3, "solver": solver, "scaling": "range"}
    classes = InfiniteEnsembleClassifierCV(**settings).fit(numbers(), AGE > 40)
    values = InfiniteEnsembleRegressorCV(**settings, epsilons=[0.1]).fit(numbers(), AGE)
    for chosen in (classes, values):
        assert chosen.best_params_["kernel"] == kernels[1]
        assert chosen.kernel_.columns == (0, 1)
    assert values.score(numbers(), AGE) > 0.9


def test_numbers_are_fitted_on_named_columns():
    fitted = InfiniteEnsembleRegressor(Stump().on("age"), C=100.0).fit(numbers(), AGE)
    assert fitted.score(numbers(), AGE) > 0.95


@pytest.mark.parametrize("solver", ["exact", "additive"])
def test_a_machine_of_named_columns_survives_pickle_and_files(solver, tmp_path):
    kernel = Category().on(["colour"]) + Stump().on(["age", "height"])
    asked = clone(machine(kernel, solver=solver))
    assert asked.kernel == kernel
    fitted = asked.fit(mixed(), y)
    for again in (
        pickle.loads(pickle.dumps(fitted)),
        kernsemble.load(kernsemble.save(fitted, tmp_path / "machine.skops")),
    ):
        assert again.kernel == kernel
        assert_array_equal(again.decision_function(mixed()), fitted.decision_function(mixed()))


@pytest.mark.parametrize("estimator", [machine(), InfiniteEnsembleClassifierCV("stump", cv=3)])
def test_names_need_names(estimator):
    estimator = clone(estimator).set_params(kernel=Stump().on("age"))
    for table in (NUMBERS, pd.DataFrame(NUMBERS)):
        with pytest.raises(ValueError, match=r"on\('age'\): .* position"):
            estimator.fit(table, y)
    with pytest.raises(ValueError, match=r"on\('agee'\): no such column; did you mean 'age'"):
        estimator.set_params(kernel=Stump().on("agee")).fit(numbers(), y)
    with pytest.raises(ValueError, match=r"on\('z'\): no such column; use one of \['age'"):
        estimator.set_params(kernel=Stump() + Stump().on("z")).fit(numbers(), y)


# -- numbers and categories


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_a_kernel_on_named_columns_ignores_the_others(solver, library):
    kernel = Stump().on("age") + Category().on("colour")
    table = mixed(library)
    fitted = machine(kernel, solver=solver).fit(table, y)
    assert fitted.kernel_._expression == "Stump().on([0]) + Category().on([1])"
    expected = decisions("stump", mixed()[["age", "colour"]])
    assert_allclose(fitted.decision_function(table), expected, atol=1e-4)


@pytest.mark.parametrize("kernel", ["stump", "perceptron", Category(), Constant()])
@pytest.mark.parametrize("scaling", ["range", "rank", "distinct", None])
def test_both_solvers_support_categories(kernel, scaling):
    table = mixed()[["age", "colour"]]  # with one number, on which perceptrons are exact too
    exact = machine(kernel, solver="exact", scaling=scaling).fit(table, y)
    tables = machine(kernel, solver="additive", scaling=scaling, n_slices=1).fit(table, y)
    for rows in (table, table.assign(colour="violet")):
        assert_allclose(exact.decision_function(rows), tables.decision_function(rows), atol=1e-4)


def test_kernels_without_slices_are_compared_with_categories_too():
    kernel = Laplacian().on(["age", "height"]) * Category().on("colour")
    assert machine(kernel).fit(mixed(), y).solver_ == "exact"
    assert machine(Laplacian()).fit(mixed(), y).solver_ == "exact"
    assert machine(C=np.inf).fit(mixed(), AGE > 40).solver_ == "exact"
    with pytest.raises(ValueError, match="solver = 'additive' supports"):
        machine(kernel, solver="additive").fit(mixed(), y)


@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_categories_are_not_for_numeric_kernels(solver):
    with pytest.raises(
        ValueError,
        match=r"Stump\(\) compares numbers, and column 'colour' .* Category\(\).on\('colour'\)",
    ):
        machine(Stump().on(["age", "colour"]), solver=solver).fit(mixed(), y)
    with pytest.raises(ValueError, match="only some parts of the kernel name their columns"):
        machine(Stump().on("age") + Stump(), solver=solver).fit(mixed(), y)


def test_a_number_may_be_a_category():
    kernel = Category().on(["age", "colour"])
    text = pd.DataFrame({"age": AGE.astype(str), "colour": COLOUR})
    for solver in ("additive", "exact"):
        found = decisions(kernel, mixed(), solver=solver)
        assert_allclose(found, decisions("category", text), atol=1e-4)


# -- missing values


def test_missing_values_need_a_kernel_that_supports_them():
    table = numbers().assign(age=np.where(HOLES, np.nan, AGE))
    kernel = 2.0 * Stump().on("age") + Perceptron().on(["height", "year"])
    fitted = machine(kernel, n_slices=20).fit(table, y)
    assert fitted.solver_ == "additive"
    alone = machine(2.0 * Stump().on("age"), scaling=None).fit(table, y)
    assert alone.tables_.blocks[0].levels[0].holds_missing
    with pytest.raises(
        ValueError, match=r"column 'age' .* \(NaN\), and kernel = Perceptron\(\) has no hypothesis"
    ):
        machine(Stump() + Perceptron()).fit(table, y)
    with pytest.raises(ValueError, match=r"column 'height' .* kernel = Perceptron"):
        fitted.predict(table.assign(height=np.nan))
    assert_array_equal(
        decisions(Stump().on("age") + Stump().on(["height", "year"]), table),
        decisions("stump", table),
    )


def test_a_missing_number_under_category_is_a_category():
    table = pd.DataFrame({"age": np.where(HOLES, np.nan, AGE), "height": HEIGHT})
    kernel = Category().on("age") + Stump().on("height")
    expected = decisions(
        "stump", pd.DataFrame({"age": pd.Series(holed(AGE)).astype(str), "height": HEIGHT})
    )
    assert_allclose(decisions(kernel, table), expected, atol=1e-4)
    fitted = machine(kernel, solver="additive").fit(table.assign(age=AGE), y)
    unknown = fitted.decision_function(table.assign(age=-1.0))
    assert_array_equal(fitted.decision_function(table.assign(age=np.nan)), unknown)


@pytest.mark.parametrize("solver", ["auto", "exact"])
@pytest.mark.parametrize("scaling", ["range", "rank"])
def test_unused_columns_may_have_missing_values(solver, scaling):
    kernel = Laplacian().on("age")
    table = numbers().assign(year=np.where(HOLES, np.nan, AGE))
    fitted = machine(kernel, solver=solver, scaling=scaling).fit(table, y)
    assert fitted.solver_ == "exact"
    expected = decisions(kernel, numbers(), scaling=scaling)
    assert_allclose(fitted.decision_function(table), expected, atol=1e-5)  # both within tol


def test_matrices_support_missing_values_only_within_mixed_kernels():
    table = numbers().assign(age=np.where(HOLES, np.nan, AGE))
    message = r"column 'age' of X .* solver = 'exact' .* solver='additive' .* Mixed\(kernel\)"
    with pytest.raises(ValueError, match=message):
        InfiniteEnsembleClassifierCV("stump", solver="exact", cv=3).fit(table, y)
    for kernel in (Mixed(Stump()), Mixed(Laplacian())):
        assert machine(kernel, solver="exact").fit(table, y).score(table, y) > 0.6
        assert machine(kernel).fit(table, y).solver_ == "exact"
        with pytest.raises(ValueError, match="Mixed"):
            machine(kernel, solver="additive").fit(table, y)
    fitted = machine().fit(numbers(), y)
    assert fitted.solver_ == "exact"
    with pytest.raises(ValueError, match=message):
        fitted.predict(table)
    with pytest.raises(ValueError, match="column 0 of X"):
        machine(solver="exact").fit(table.to_numpy(), y)


def test_tags_report_support_of_missing_values():
    def allows(kernel, **settings):
        return machine(kernel, **settings).__sklearn_tags__().input_tags.allow_nan

    assert allows("stump")
    assert allows(0.5 * Stump().on("age") + Category().on("colour") + MiddleStump().simplified)
    assert not allows("stump", solver="exact")
    assert not allows(Stump() + Perceptron())
    assert allows(Mixed(Laplacian()), solver="exact")
    assert InfiniteEnsembleClassifierCV("auto").__sklearn_tags__().input_tags.allow_nan
    assert not allows("auto")


# -- types of columns


@pytest.mark.parametrize("beside", [{}, {"colour": COLOUR.tolist()}])
@pytest.mark.parametrize("values", [MEMBER, AGE, AGE.astype(int)])
def test_types_of_numbers_do_not_matter(values, beside):
    """A column of truth values is one of zeros and ones; whatever is missing is NaN."""
    plain = values.astype(float)
    for column, expected in [(values, plain), (holed(values), np.where(HOLES, np.nan, plain))]:
        told = decisions("stump", pd.DataFrame({"x": expected, **beside}))
        nullable = pd.array(column, dtype=NULLABLE[values.dtype.kind])
        for table in (
            pd.DataFrame({"x": nullable, **beside}),
            pl.DataFrame({"x": column, **beside}),
        ):
            assert_array_equal(decisions("stump", table), told)
    if not beside:
        assert_array_equal(
            decisions("stump", values[:, np.newaxis]), decisions("stump", plain[:, np.newaxis])
        )


@pytest.mark.parametrize("kernel", ["stump", Stump().on("age") + Category().on("x")])
@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(AGE // 10),
        pd.Categorical(holed(AGE // 10)),
        pd.Categorical((AGE // 10).astype(int), categories=[9, 5, 4, 3, 2], ordered=True),
        pd.Categorical(COLOUR, categories=["red", "violet", "green", "blue"]),
        pd.Series(([1, "1", None, 2.5] * N)[:N], dtype=object),
        pd.Series(holed(MEMBER), dtype=object),
        pd.Series(["red"] * N),
        pd.Series([None] * N, dtype=object),
        pd.Categorical([None] * N),
        pl.Series(COLOUR.tolist()).cast(pl.Categorical),
        pl.Series(holed(COLOUR)).cast(pl.Enum(["blue", "violet", "green", "red"])),
        pl.Series([None] * N),
    ],
    ids=str,
)
def test_types_of_categories_do_not_matter(column, kernel):
    text = ["nothing" if item is None or item != item else repr(item) for item in list(column)]
    library = pl if isinstance(column, pl.Series) else pd
    table = library.DataFrame({"age": AGE, "x": column})
    expected = decisions("stump", pd.DataFrame({"age": AGE, "x": text}))
    assert_allclose(decisions(kernel, table), expected, atol=1e-4)


def test_unseen_categories_may_be_predicted():
    fitted = machine().fit(mixed(), y)
    expected = fitted.decision_function(mixed().assign(colour="violet"))
    others = pd.Categorical(["violet"] * N, categories=["blue", "violet"])
    assert_array_equal(fitted.decision_function(mixed().assign(colour=others)), expected)
    known = pd.Categorical(COLOUR, categories=["violet", *sorted(set(COLOUR), reverse=True)])
    assert_array_equal(
        fitted.decision_function(mixed().assign(colour=known)), fitted.decision_function(mixed())
    )


@pytest.mark.parametrize("beside", [{}, {"colour": COLOUR}])
def test_a_column_may_be_missing_entirely(beside):
    table = pd.DataFrame({"age": AGE, **beside})
    for nothing in (np.full(N, np.nan), pd.array([None] * N, dtype="Int64")):
        assert_allclose(
            decisions("stump", table.assign(x=nothing), solver="additive"),
            decisions("stump", table, solver="additive"),
            atol=1e-4,
        )


def test_truth_values_may_be_missing_at_prediction_only():
    table = mixed().assign(member=MEMBER)
    fitted = machine().fit(table, y)
    median = fitted.decision_function(table.assign(member=np.median(MEMBER) > 0.5))
    later = fitted.decision_function(table.assign(member=pd.Series(holed(MEMBER), dtype=object)))
    assert_array_equal(later[HOLES], median[HOLES])
    assert_array_equal(later[~HOLES], fitted.decision_function(table)[~HOLES])


def test_columns_of_equal_names_cannot_be_selected_by_name():
    twins = pd.DataFrame(NUMBERS, columns=["age", "age", "year"])
    with pytest.raises(ValueError, match=r"several columns of that name, at \[0, 1\]"):
        Stump().on("age").bind(twins)

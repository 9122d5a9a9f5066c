"""Shape functions, densities and contributions of additive machines add up to the machines."""

import numpy as np
import pandas as pd
import pytest
from cases import samples
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from kernsemble.boosting import (
    AdaBoostClassifier,
    AdaBoostClassifierCV,
    LPBoostClassifier,
    LPBoostClassifierCV,
)
from kernsemble.inspection import EnsembleView
from kernsemble.kernels import (
    Category,
    Constant,
    HistogramIntersection,
    Linear,
    MiddleStump,
    Stump,
)
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressor,
    InfiniteEnsembleRegressorCV,
    MultiplicativeSVC,
    SVMPath,
)

KERNELS = [
    Stump(),
    Stump("empirical"),
    Stump("distinct", margin=0.5),
    MiddleStump(),
    Category(),
    HistogramIntersection(),
    Linear(),
    Stump().logic,
    Stump() + Constant(2.0),
    2.0 * Stump().on([0, 2]) + 0.5 * Category().on(1),
    (0.5 * Linear()).on([2, 1]) + MiddleStump().on([1]) + Stump(),
    (3.0 * HistogramIntersection()).on([2, 0]) + Category().on([1]),
]
SCALINGS = ["range", "rank", "distinct", None]


def sample(n=60, seed=0):
    """Return rows with ties on three scales, their classes, and rows to explain, some beyond."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 3)), 1) * [1.0, 10.0, 1000.0] + [0.0, 5.0, -2000.0]
    y = (X[:, 0] + X[:, 1] / 10.0 + rng.normal(size=n) > 0.5).astype(int)
    beyond = rng.normal(size=(20, 3)) * [3.0, 30.0, 3000.0] + [0.0, 5.0, -2000.0]
    return X, y, np.vstack([X[::2], beyond])


def mixed_table(n=80, seed=0):
    """Return a table with missing numbers and categories, its first column, and rows to explain."""
    rng = np.random.default_rng(seed)
    a = np.round(rng.normal(size=n), 1)
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.2, np.nan, a),
            "size": rng.normal(size=n),
            "city": rng.choice(["Bern", "Rome", "Oslo", None], n),
        }
    )
    strange = pd.DataFrame({"age": [99.0, None], "size": [None, -1e4], "city": ["Lima", None]})
    return table, a, pd.concat([table.head(25), strange], ignore_index=True)


def values_of(model, X):
    """Return the value of every machine, by public methods where possible."""
    if hasattr(model, "classes_") and len(model.classes_) == 2:
        return model.decision_function(X)[:, np.newaxis]
    if not hasattr(model, "classes_"):
        return model.predict(X)[:, np.newaxis]
    return EnsembleView.from_estimator(model, machine=0).model.values(X)


def assert_view_is_the_machine(model, X, Z, tol=1e-9):
    """Check that shapes and contributions add up to the values of each machine."""
    expected = values_of(model, Z)
    views = EnsembleView.each(model, X)
    assert len(views) == expected.shape[1]
    for machine, view in enumerate(views.values()):
        scale = max(np.abs(expected[:, machine]).max(), 1.0)
        assert view.is_additive
        found = view.explain(Z)
        assert found.method == "exact, additive"
        assert found.is_exact
        together = found.intercept + found.contributions.sum(axis=1)
        assert_allclose(together, expected[:, machine], atol=tol * scale)
        assert_allclose(found.values, expected[:, machine], rtol=0, atol=0)
        rows = view.model.encode(Z)
        shapes = sum(view.shape(d)(rows[:, d]) for d in range(rows.shape[1]))
        assert_allclose(view.intercept + shapes, expected[:, machine], atol=tol * scale)
        assert sum(view.importances().shares.values()) == pytest.approx(1.0)
        means = view.explain(X).contributions.mean(axis=0)
        assert_allclose(means, 0.0, atol=tol * scale)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_views_of_exact_machines(kernel, scaling):
    X, y, Z = sample()
    assert_view_is_the_machine(InfiniteEnsembleClassifier(kernel, scaling=scaling).fit(X, y), X, Z)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_views_of_machines_without_a_bias(kernel, scaling):
    X, y, Z = sample(seed=1)
    model = MultiplicativeSVC(kernel, scaling=scaling).fit(X, y)
    assert abs(model.dual_coef_.sum()) > 1e-6  # the second sum of the density is not zero
    assert_view_is_the_machine(model, X, Z)


@given(
    X=samples(min_rows=4, max_rows=10, max_columns=3),
    kernel=st.sampled_from([Stump("distinct"), MiddleStump(), Category(), HistogramIntersection()]),
    scaling=st.sampled_from(SCALINGS),
)
@settings(max_examples=25)
def test_views_with_few_rows_ties_and_constant_columns(X, kernel, scaling):
    y = np.arange(len(X)) % 2
    for model in (
        InfiniteEnsembleClassifier(kernel, scaling=scaling),
        MultiplicativeSVC(kernel + Constant(), scaling=scaling),
    ):
        model.fit(X, y)
        Z = np.vstack([X, 0.5 * np.pi * X])  # off the thresholds, where rounding matters
        found = EnsembleView.from_estimator(model, X).explain(Z)
        together = found.intercept + found.contributions.sum(axis=1)
        assert_allclose(together, model.decision_function(Z), atol=1e-9)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("max_levels", [8, 256])
@pytest.mark.parametrize(
    "kernel",
    [each for each in KERNELS if not any(word in str(each) for word in ("Linear", "Histogram"))],
    ids=str,
)
def test_views_of_machines_on_tables(kernel, max_levels, scaling):
    X, y, Z = sample()
    model = InfiniteEnsembleClassifier(
        kernel, scaling=scaling, solver="additive", max_levels=max_levels
    ).fit(X, y)
    assert_view_is_the_machine(model, X, Z)


@pytest.mark.parametrize(
    "model",
    [
        InfiniteEnsembleClassifier(),
        InfiniteEnsembleClassifier(multiclass="one-vs-rest", loss="logistic"),
        InfiniteEnsembleClassifier(Category(), scaling="rank"),
        InfiniteEnsembleClassifier(max_levels=8),
        InfiniteEnsembleClassifier(
            MiddleStump().on("size") + Stump().on(["age", "size"]) + 2.0 * Category().on("city")
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_views_with_missing_values_and_categories(model, n_classes):
    table, a, Z = mixed_table()
    y = np.digitize(a, [0.0, 0.7][: n_classes - 1])
    assert_view_is_the_machine(model.fit(table, y), table, Z)


def test_regression_on_a_mixed_table():
    table, a, Z = mixed_table()
    assert_view_is_the_machine(InfiniteEnsembleRegressor().fit(table, 100.0 * a), table, Z)


@pytest.mark.parametrize("solver", ["exact", "additive"])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_views_with_categories_and_no_missing_values(solver, scaling):
    table, a, _ = mixed_table()
    full = table.dropna()
    y = a[full.index] > 0.0
    model = InfiniteEnsembleClassifier(solver=solver, scaling=scaling).fit(full, y)
    asked = full.iloc[::-1].assign(city=["Lima", *full["city"].iloc[1:]])  # one category is unknown
    assert_view_is_the_machine(model, full, asked)
    view = EnsembleView.from_estimator(model, full)
    assert view.shape("city").is_category
    found = dict(zip(*view.shape("city").table().values(), strict=True))
    assert list(found) == ["Bern", "Oslo", "Rome"]
    for city, value in found.items():
        place = int(np.flatnonzero(full["city"] == city)[0])
        contributions = view.explain(full.iloc[[place]]).contributions[0]
        assert contributions[2] == pytest.approx(value, abs=1e-12)


def test_views_with_numbers_as_categories_and_missing_values():
    X, y, _ = sample()
    X = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
    for kernel in (Category(), Stump() + Category().on(1)):
        model = InfiniteEnsembleClassifier(kernel, solver="additive").fit(X, y)
        assert_view_is_the_machine(model, X, X)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(n_estimators=30),
        AdaBoostClassifierCV(ns_estimators=[5, 10], cv=3),
        LPBoostClassifier(C=0.1),
        LPBoostClassifierCV(Cs=[0.05, 0.1], cv=3),
        SVMPath("stump"),
        InfiniteEnsembleClassifierCV("stump", Cs=[0.1, 1.0], cv=3, calibration=None),
    ],
    ids=lambda model: type(model).__name__,
)
def test_views_of_other_models(model, n_classes):
    X, _, Z = sample()
    y = np.digitize(X[:, 0] + X[:, 1] / 10.0, [0.0, 1.5][: n_classes - 1])
    assert_view_is_the_machine(model.fit(X, y), X, Z)


def test_views_of_regressors_with_model_selection():
    X, _, Z = sample()
    model = InfiniteEnsembleRegressorCV("stump", Cs=[0.1, 1.0], cv=3).fit(X, X[:, 0] ** 2)
    assert_view_is_the_machine(model, X, Z)


def test_sparse_rows_and_single_precision():
    from scipy import sparse

    X, y, _ = sample()
    X = np.where(X > 0.0, X, 0.0)
    model = InfiniteEnsembleClassifier().fit(sparse.csr_array(X), y)
    assert_view_is_the_machine(model, sparse.csr_array(X), sparse.csr_array(X[::3]))
    model = InfiniteEnsembleClassifier().fit(X.astype(np.float32), y)
    assert_view_is_the_machine(model, X.astype(np.float32), X[::3].astype(np.float32), tol=1e-4)


def test_constant_and_duplicate_columns_and_extreme_scales():
    X, y, Z = sample()
    for factor in (1e-12, 1e12):
        wide, asked = (
            np.column_stack([rows * factor, rows[:, 0] * factor, np.full(len(rows), 7.0)])
            for rows in (X, Z)
        )
        model = InfiniteEnsembleClassifier().fit(wide, y)
        assert_view_is_the_machine(model, wide, asked)
        view = EnsembleView.from_estimator(model, wide)
        assert view.importances().shares["x4"] == 0.0
        assert view.importances().shares["x3"] == pytest.approx(view.importances().shares["x0"])


def test_without_rows_views_are_centred_on_stored_rows():
    X, y, Z = sample()
    exact = InfiniteEnsembleClassifier(solver="exact").fit(X, y)
    cases = {
        "the support vectors": (exact, exact.support_vectors_),
        "the training rows, at their levels": (
            InfiniteEnsembleClassifier(solver="additive").fit(X, y),
            X,
        ),
        "the distinct training rows": (SVMPath("stump").fit(X, y), np.unique(X, axis=0)),
    }
    for name, (model, rows) in cases.items():
        view = EnsembleView.from_estimator(model)
        assert view.centred_on == name
        found = view.explain(Z)
        together = found.intercept + found.contributions.sum(axis=1)
        assert_allclose(together, model.decision_function(Z), atol=1e-9)
        assert_allclose(view.explain(rows).contributions.mean(axis=0), 0.0, atol=1e-9)


def test_boosted_stumps_store_no_rows():
    X, y, Z = sample()
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    view = EnsembleView.from_estimator(model)
    assert view.centred_on == "nothing"
    found = view.explain(Z)
    together = found.intercept + found.contributions.sum(axis=1)
    assert_allclose(together, model.decision_function(Z), atol=1e-9)

"""Functions of pairs of features in ensemble views: purity, exact contributions, displays."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from kernsemble.inspection import EnsembleView, PairDisplay, ShapeDisplay, feature_importances
from kernsemble.inspection.class_machines import by_class
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor
from kernsemble.svm.backends.tables.pairs import FittedPairs

pytestmark = pytest.mark.large
PAIRS = [("age", "job"), ("income", "town"), ("age", "income")]


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(40.0, 10.0, n).round(),
            "income": rng.gamma(2.0, 1.0, n),
            "job": pd.Categorical(rng.choice(list("abcd"), n)),
            "town": pd.Categorical(rng.choice([f"t{k:02}" for k in range(40)], n)),
            "other": rng.normal(size=n),
        }
    )
    X.loc[rng.random(n) < 0.1, "income"] = np.nan
    f = np.where(X["age"] > 40.0, 2.0, -2.0) * np.where(X["job"] == "a", 1.5, -0.5)
    return X, f + X["other"] + rng.logistic(size=n) > 0.0


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    return InfiniteEnsembleClassifier(loss="logistic", pairs=PAIRS, n_pairs=4).fit(X, y), X


@pytest.fixture(scope="module")
def others():
    """Rows with values between levels, missing values and categories that are not known."""
    X, _ = table(60, seed=1)
    X["town"] = X["town"].astype(object).where(X.index % 5 > 0, "new").astype("category")
    X.loc[X.index % 7 == 0, "age"] = np.nan
    X.loc[X.index % 11 == 0, "age"] = 1_000.0
    return X


def test_contributions_add_up_to_the_decision(fitted, others):
    model, X = fitted
    view = EnsembleView.from_estimator(model, X)
    assert view.is_additive
    for rows in (X, others):
        found = view.explain(rows)
        assert found.is_exact
        assert found.method == "exact, additive"
        total = found.intercept + found.contributions.sum(axis=1)
        assert_allclose(total, model.decision_function(rows), rtol=0, atol=1e-9)


def test_functions_of_pairs_are_pure_for_independent_columns_of_the_training_rows(fitted):
    model, X = fitted
    for pair in EnsembleView.from_estimator(model, X).pairs():
        assert_allclose(pair.first.weight @ pair.heights, 0.0, atol=1e-12)
        assert_allclose(pair.heights @ pair.second.weight, 0.0, atol=1e-12)
        assert_allclose(pair.first.weight.sum(), 1.0)


def test_halves_of_pairs_are_the_shapley_values_for_independent_columns(fitted):
    model, X = fitted
    view = EnsembleView.from_estimator(model, X)
    rows = view.background[:1]
    for pair in view.pairs():
        codes = [side(rows[:, side.column])[0] for side in (pair.first, pair.second)]
        values = {}  # mean of the function if some of the columns are known
        for known in product((False, True), repeat=2):
            weights = [
                np.eye(len(side.weight))[code] if is_known else side.weight
                for side, code, is_known in zip(
                    (pair.first, pair.second), codes, known, strict=True
                )
            ]
            values[known] = weights[0] @ pair.heights @ weights[1]
        alone, after = (
            values[True, False] - values[False, False],
            values[True, True] - values[False, True],
        )
        assert_allclose(0.5 * (alone + after), 0.5 * pair(rows)[0], atol=1e-12)


def test_pairs_are_evaluated_as_the_machine_does(fitted, others):
    model, X = fitted
    view = EnsembleView.from_estimator(model, X)
    (block,) = (each for each in model.tables_.blocks if isinstance(each, FittedPairs))
    rows = view.model.encode(others)
    expected = np.zeros((1, len(rows)))
    block.add_to(expected, rows)
    assert_allclose(sum(pair(rows) for pair in view.pairs()), expected[0], atol=1e-12)


def test_shares_of_columns_and_pairs(fitted):
    model, X = fitted
    view = EnsembleView.from_estimator(model, X)
    pairs, found = view.pairs(), view.importances()
    assert [pair.share for pair in pairs] == sorted((pair.share for pair in pairs), reverse=True)
    assert pairs[0].names == ("age", "job")
    assert pairs[0].share > 0.3
    assert_allclose(sum(found.shares.values()), 1.0)
    alone = {
        name: found.shares[name] - sum(0.5 * pair.share for pair in pairs if name in pair.names)
        for name in view.feature_names
    }
    assert all(share >= -1e-12 for share in alone.values())
    assert_allclose(sum(alone.values()) + sum(pair.share for pair in pairs), 1.0)
    assert "variance of all functions" in found.method
    assert feature_importances(model)[view.label].shares == pytest.approx(found.shares)


def test_the_norm_is_that_of_the_objective():
    X, y = table()
    model = InfiniteEnsembleClassifier(loss="logistic", pairs=PAIRS, tol=1e-9).fit(X, y)
    norm = EnsembleView.from_estimator(model, X).decomposition.squared_norm
    margins = np.where(y, 1.0, -1.0) * model.decision_function(X)
    primal = 0.5 * norm + model.C_ * np.logaddexp(0.0, -margins).sum()
    assert primal == pytest.approx(-model.objective_[0], rel=1e-2)


def test_frames_have_the_names_of_levels(fitted):
    model, X = fitted
    frame = {pair.names: pair for pair in EnsembleView.from_estimator(model, X).pairs()}
    ages = frame["age", "job"].to_frame()
    assert list(ages.columns) == ["unknown", "a", "b", "c", "d"]
    assert ages.index[0].startswith("≤ ")
    assert ages.index[-1].startswith("> ")
    towns = frame["income", "town"]
    assert towns.first.labels[-1] == "missing"
    assert towns.second.labels[-1] == "other categories"
    first, second, heights = towns.present()
    assert heights.shape == (len(first), len(second))
    assert "unknown" not in second


def test_shapes_and_other_views_leave_pairs_out(fitted):
    model, X = fitted
    view = EnsembleView.from_estimator(model, X)
    rows = view.model.encode(X)
    mains = np.column_stack([shape(rows[:, d]) for d, shape in enumerate(view.shapes.values())])
    assert_allclose(mains.mean(axis=0), 0.0, atol=1e-9)
    pairs = sum(pair(rows) for pair in view.pairs())
    total = view.intercept + mains.sum(axis=1) + pairs
    assert_allclose(total, model.decision_function(X), atol=1e-9)
    ShapeDisplay.from_estimator(model, X)
    numbers = X[["age", "other"]]
    machine = InfiniteEnsembleClassifier(loss="logistic", pairs=[(0, 1)]).fit(numbers, table()[1])
    with pytest.raises(ValueError, match="does not consist of stumps only"):
        EnsembleView.from_estimator(machine).averaged_stumps()


def test_machines_of_classes_combine_pairs():
    X, y = load_iris(return_X_y=True)
    settings = {"loss": "logistic", "solver": "additive", "pairs": [(0, 1), (2, 3)]}
    model = InfiniteEnsembleClassifier(**settings).fit(X, y)
    combined = by_class(model)
    for k, view in enumerate(EnsembleView.each(combined, X).values()):
        found = view.explain(X)
        total = found.intercept + found.contributions.sum(axis=1)
        assert_allclose(total, combined.values(X)[:, k], atol=1e-9)
        assert len(view.pairs()) == 2


def test_regression_in_the_unit_of_the_target():
    X, y = table()
    y = 1e6 + 1e3 * y
    model = InfiniteEnsembleRegressor(loss="squared", pairs=PAIRS).fit(X, y)
    found = EnsembleView.from_estimator(model, X).explain(X)
    total = found.intercept + found.contributions.sum(axis=1)
    assert_allclose(total, model.predict(X), rtol=1e-12)


def test_heat_maps_are_plotted(fitted):
    model, X = fitted
    display = PairDisplay.from_estimator(model, X, n_pairs=2)
    assert len(display.axes_) == len(display.images_) == 2
    heights = EnsembleView.from_estimator(model, X).pairs()[0].present()[2]
    assert_array_equal(display.images_[0].get_array(), heights)
    assert display.images_[0].get_clim() == (-np.abs(heights).max(), np.abs(heights).max())
    with pytest.raises(ValueError, match="fit it with n_pairs"):
        PairDisplay.from_estimator(InfiniteEnsembleClassifier().fit(X, table()[1]), X)


def test_the_average_effect_contains_the_pairs_exactly(fitted):
    model, X = fitted
    rows = X[X["job"] == "a"].assign(other=0.0)  # of another distribution than the training rows
    view = EnsembleView.from_estimator(model, rows)
    assert view.exactness == "exact: functions of 5 features and 4 pairs; averaged over rows: none"
    found, expected = view.average_effect("age", n_points=6), []
    for value in found.values:
        changed = model.decision_function(rows.assign(age=value))
        expected.append(changed.mean() - model.decision_function(rows).mean())
    assert np.ptp(expected) > 1.0
    assert_allclose(found.effects, expected, atol=1e-8)
    assert found.is_exact


def test_names_of_intervals_differ_for_large_numbers_too():
    rng = np.random.default_rng(0)
    time = 1.6e9 + rng.uniform(0.0, 1e5, 500)
    X = np.column_stack([rng.normal(size=500), time])
    y = X[:, 0] * (time > time.mean())
    model = InfiniteEnsembleRegressor(loss="squared", solver="additive", pairs=[(0, 1)]).fit(X, y)
    (pair,) = EnsembleView.from_estimator(model).pairs()
    assert len(set(pair.second.labels)) == len(pair.second.weight)
    frame = pair.to_frame()
    assert_array_equal(frame.to_numpy(), pair.heights)

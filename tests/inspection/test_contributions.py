"""Contributions are Shapley values, by brute force over all coalitions of features."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from kernsemble.boosting import AdaBoostClassifier, LPBoostClassifier
from kernsemble.inspection import EnsembleView
from kernsemble.inspection.shapley import permutation_values
from kernsemble.kernels import (
    Category,
    DecisionTree,
    Exponential,
    Gaussian,
    Laplacian,
    MiddleStump,
    Perceptron,
    Stump,
    StumpRegion,
)
from kernsemble.learners import C45Tree, RCDPerceptron
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor, MultiplicativeSVC


def sample(n=30, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, n_features)), 1) * np.arange(1, n_features + 1)
    return X, (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0.0).astype(int)


def brute_force(function, x, background):
    """Return the interventional Shapley values of one row of a table, and the base value."""
    names = list(background.columns)

    def value(known):
        mixed = background.copy()
        for name in known:
            mixed[name] = x[name].iloc[0] if len(x) else None
            mixed[name] = mixed[name].astype(background[name].dtype)
        return function(mixed).mean()

    values = []
    for name in names:
        others = [each for each in names if each != name]
        values.append(
            sum(
                (value([*known, name]) - value(known)) / (len(names) * comb(len(others), size))
                for size in range(len(names))
                for known in combinations(others, size)
            )
        )
    return np.array(values), value([])


MODELS = [
    InfiniteEnsembleClassifier(Stump(), solver="exact"),
    InfiniteEnsembleClassifier(Stump("empirical") + Category().on("x1"), solver="additive"),
    InfiniteEnsembleClassifier(MiddleStump()),
    InfiniteEnsembleClassifier(Laplacian(), scaling="rank"),
    InfiniteEnsembleClassifier(2.0 * Laplacian(0.3).on(["x3", "x0"]) + Stump()),
    InfiniteEnsembleClassifier(Gaussian()),
    InfiniteEnsembleClassifier(DecisionTree(0.05)),
    InfiniteEnsembleClassifier(Exponential()),
    InfiniteEnsembleClassifier(StumpRegion(2)),
    InfiniteEnsembleClassifier(Stump().on("x0") * Stump().on("x1") + Stump().on("x2")),
    InfiniteEnsembleClassifier(Perceptron()),
    InfiniteEnsembleClassifier(Perceptron(), solver="additive", n_slices=16, random_state=0),
    InfiniteEnsembleClassifier(
        Laplacian().on(["x0", "x2"]) + Stump(), solver="additive", n_grids=16, random_state=0
    ),
    InfiniteEnsembleRegressor(Gaussian()),
    MultiplicativeSVC(),
    MultiplicativeSVC(Stump()),
    AdaBoostClassifier(n_estimators=10),
    AdaBoostClassifier(C45Tree(max_depth=2), n_estimators=5),
    LPBoostClassifier(RCDPerceptron(n_epochs=10), C=0.5, max_columns=20, tol=0.5, random_state=0),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:70])
def test_contributions_are_shapley_values(model):
    X, y = sample()
    table = pd.DataFrame(X, columns=[f"x{d}" for d in range(4)])
    model.fit(table, y)
    function = model.decision_function if hasattr(model, "classes_") else model.predict
    found = EnsembleView.from_estimator(model, table).explain(table.head(2))
    assert found.is_exact
    for place in range(2):
        expected, base = brute_force(function, table.iloc[[place]], table)
        assert_allclose(found.contributions[place], expected, atol=1e-9)
        assert found.intercept == pytest.approx(base, abs=1e-9)
    together = found.intercept + found.contributions.sum(axis=1)
    assert_allclose(together, function(table.head(2)), atol=1e-9)


def test_missing_values_and_categories_have_shapley_values():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(40) < 0.3, np.nan, rng.normal(size=40)),
            "city": rng.choice(["Bern", "Rome", None], 40),
            "size": rng.normal(size=40),
        }
    ).astype({"city": object})
    model = InfiniteEnsembleClassifier().fit(table, rng.integers(0, 2, 40))
    found = EnsembleView.from_estimator(model, table).explain(table)
    for place in np.flatnonzero(table.isna().any(axis=1))[:3]:
        expected, base = brute_force(model.decision_function, table.iloc[[place]], table)
        assert_allclose(found.contributions[place], expected, atol=1e-9)
        assert found.intercept == pytest.approx(base, abs=1e-9)


@pytest.mark.large
@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), DecisionTree(0.01)], ids=str)
def test_factors_of_a_kernel_and_all_coalitions_agree(kernel):
    X, y = sample(n_features=7)
    model = InfiniteEnsembleClassifier(kernel).fit(X, y)
    view = EnsembleView.from_estimator(model, X)
    by_factors = view.explain(X[:3])
    (interaction,) = view.decomposition.interactions
    object.__setattr__(interaction, "product", None)
    by_coalitions = view.explain(X[:3])
    assert "factors" in by_factors.method
    assert "coalitions" in by_coalitions.method
    assert_allclose(by_factors.contributions, by_coalitions.contributions, atol=1e-10)


@pytest.mark.large
def test_sampled_contributions_are_within_their_standard_errors():
    X, y = sample(n=40, n_features=6)
    view = EnsembleView.from_estimator(InfiniteEnsembleClassifier(Perceptron()).fit(X, y), X)
    exact = view.explain(X[:8], method="exact")
    found = view.explain(X[:8], method="sampled", n_permutations=400, random_state=1)
    assert found.method == "sampled, random orders, 40 background rows"
    assert not found.is_exact
    together = found.intercept + found.contributions.sum(axis=1)
    assert_allclose(together, found.values, atol=1e-9)
    z = (found.contributions - exact.contributions) / found.standard_error
    assert 0.0 < np.abs(z).max() < 4.0
    assert found.standard_error.max() < 0.2 * np.abs(exact.contributions).max()
    again = view.explain(X[:8], method="sampled", n_permutations=400, random_state=1)
    assert_allclose(again.contributions, found.contributions, rtol=0, atol=0)


def test_sampled_contributions_to_a_sum_are_exact():
    X = np.random.default_rng(0).normal(size=(20, 3))
    found = permutation_values(
        lambda rows: rows @ np.array([1.0, -2.0, 0.0]) + 5.0,
        X[:2],
        X,
        np.array([0, 1]),
        n_permutations=1,
        rng=np.random.default_rng(0),
    )
    assert_allclose(found.values, (X[:2, :2] - X[:, :2].mean(axis=0)) * [1.0, -2.0], atol=1e-12)


def test_many_columns_are_sampled_and_exact_contributions_refused():
    X, y = sample(n_features=17)
    view = EnsembleView.from_estimator(InfiniteEnsembleClassifier(Perceptron()).fit(X, y), X)
    found = view.explain(X[:1], n_background=10, n_permutations=20)
    assert "random orders, 10 background rows" in found.method
    with pytest.raises(ValueError, match="depends on 17 columns"):
        view.explain(X[:1], method="exact")
    shares = view.importances(n_background=5, n_permutations=10)
    assert sum(shares.shares.values()) == pytest.approx(1.0)
    assert "sampled" in shares.method


def test_explanations_by_row_and_as_a_table():
    X, y = sample()
    model = InfiniteEnsembleClassifier().fit(X, y)
    found = EnsembleView.from_estimator(model, X).explain(X[:5])
    sizes = list(map(abs, found.row(2).values()))
    assert sizes == sorted(sizes, reverse=True)
    assert found.row(2)["x1"] == found.contributions[2, 1]
    frame = found.to_frame()
    assert list(frame.columns) == ["intercept", "x0", "x1", "x2", "x3", "value"]
    assert_allclose(frame.drop(columns="value").sum(axis=1), frame["value"], atol=1e-9)

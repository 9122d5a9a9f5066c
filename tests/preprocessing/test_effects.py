"""Effects of the additive machine as coordinates, cross-fitted on training rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.preprocessing.effects import EffectLearner
from kernsemble.preprocessing.supervised import TargetScaling
from kernsemble.solvers.losses import Logistic, Squared
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor

N = 300
IS_CATEGORY = np.array([False, False, True])
LOSSES = {"numbers": Squared, "classes": Logistic}


def mixed_rows(kind):
    """Return two columns of numbers and one of categories, and targets of a kind."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 12, N) / 4.0, rng.integers(0, 9, N) / 3.0
    X = np.column_stack([first, second, rng.integers(0, 4, N)])
    y = np.sin(2.0 * X[:, 0]) + (X[:, 2] == 1.0) + 0.3 * rng.normal(size=N)
    y = (y - y.mean()) / y.std()
    return X, np.where(y > 0.0, 1.0, -1.0) if kind == "classes" else y


def as_table(X):
    names = pd.Categorical([f"c{code:.0f}" for code in X[:, 2]])
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": names})


def learner(X, y, is_category=IS_CATEGORY, weight=None, **settings):
    weight = np.ones(len(X)) if weight is None else weight
    targets = y[:, np.newaxis] if y.ndim == 1 else y
    return EffectLearner.from_rows(X, weight, is_category, targets, **settings)


@pytest.mark.parametrize("kind", LOSSES)
def test_coordinates_are_the_functions_of_the_additive_machine(kind):
    X, y = mixed_rows(kind)
    found = learner(X, y)
    scaling, _ = found.fit()
    settings = {
        "solver": "additive",
        "scaling": "rank",
        "loss": LOSSES[kind].name,
        "C": float(found.losses[0].strengths[0]),
        "tol": 1e-6,
    }
    if kind == "numbers":
        machine = InfiniteEnsembleRegressor("stump", **settings).fit(as_table(X), y)
        values = machine.predict(as_table(X))
    else:
        machine = InfiniteEnsembleClassifier("stump", **settings).fit(as_table(X), y)
        values = machine.decision_function(as_table(X))
    rest = values - scaling.transform(X).sum(axis=1)
    assert values.std() > 0.5
    assert_allclose(rest, rest[0], atol=0.02)  # of the bias only; tol of effects is 1e-3
    moved = X.copy()
    moved[:, 1:] = X[0, 1:]  # so that only the first column varies
    change = scaling.transform(moved) - scaling.transform(moved[:1])
    assert_array_equal(change[:, 1:], np.zeros((N, 2)))
    assert change[:, 0].std() > 0.3


@pytest.mark.parametrize("kind", LOSSES)
def test_the_cross_fitted_coordinates_of_a_part_do_not_depend_on_its_targets(kind):
    X, y = mixed_rows(kind)
    found = learner(X, y)
    C, is_mine = float(found.losses[0].strengths[0]), found.parts == 2
    other = y.copy()
    other[is_mine] = -y[is_mine]
    first, copies = np.unique(found.group, return_index=True, return_counts=True)[1:]
    loss = LOSSES[kind].from_targets(other[first], copies.astype(float)).times(C)
    changed = replace(found, losses=(loss,)).fit()[1]
    coordinates = found.fit()[1]
    assert_array_equal(changed[is_mine], coordinates[is_mine])
    assert np.abs(changed - coordinates)[~is_mine].max() > 0.01


def test_cross_fitted_coordinates_are_those_of_a_machine_without_the_part():
    X, y = mixed_rows("numbers")
    found = learner(X, y)
    _, coordinates = found.fit()
    for part in range(5):
        without, _ = found.fit(np.flatnonzero(found.parts != part))
        mine = found.parts == part
        assert_allclose(without.transform(X[mine]), coordinates[mine], atol=1e-9)


def test_given_parts_are_those_left_out():
    X, y = mixed_rows("numbers")
    parts = np.arange(N) % 3
    found = learner(X, y, parts=parts)
    assert_array_equal(found.parts, parts)
    random = learner(X, y, seed=1).parts
    assert_array_equal(np.bincount(random), [60] * 5)
    assert (random != learner(X, y, seed=2).parts).any()


@pytest.mark.parametrize("kind", LOSSES)
def test_effects_of_a_noisy_category_fit_the_target_unless_they_are_cross_fitted(kind):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 200, 600)[:, np.newaxis].astype(float)
    y = rng.normal(size=600)
    y = np.sign(y) if kind == "classes" else (y - y.mean()) / y.std()
    scaling, coordinates = learner(codes, y, np.array([True])).fit()
    in_sample = np.corrcoef(scaling.transform(codes)[:, 0], y)[0, 1]
    assert in_sample > 0.35
    assert np.corrcoef(coordinates[:, 0], y)[0, 1] < 0.05


def test_a_missing_value_has_an_effect_of_its_own_and_an_unknown_category_none():
    X, y = mixed_rows("numbers")
    is_missing = np.random.default_rng(1).random(N) < 0.3
    X[is_missing, 1] = np.nan
    y = y + 2.0 * is_missing
    scaling, coordinates = learner(X, y).fit()
    assert np.isfinite(coordinates).all()
    rows = np.array([[1.0, np.nan, 1.0], [1.0, 1.0, -1.0], [1.0, 1.0, 1.0]])
    missing, unknown, known = scaling.transform(rows)
    seen = scaling.transform(X[~is_missing])[:, 1]
    assert missing[1] > seen.max() + 1.0
    assert unknown[2] == 0.0
    assert known[2] != 0.0


def test_each_target_has_coordinates_of_its_own():
    X, y = mixed_rows("numbers")
    other = np.random.default_rng(2).permutation(y)
    both, _ = learner(X, np.column_stack([y, other])).fit()
    assert both.n_per_column == 2
    assert both.transform(X).shape == (N, 6)


def test_weights_of_rows_count_as_repetition():
    X, y = mixed_rows("numbers")
    weight = np.random.default_rng(3).integers(0, 4, N)
    parts = np.arange(N) % 5
    repeated = np.repeat(np.arange(N), weight)
    present = np.flatnonzero(weight)
    found, _ = learner(X, y, weight=weight.astype(float), parts=parts).fit(present)
    expected, _ = learner(X[repeated], y[repeated], parts=parts[repeated]).fit()
    assert_allclose(found.transform(X), expected.transform(X), atol=0.01)


def test_effects_keep_the_mean_distance_one_and_treat_categories():
    X, y = mixed_rows("classes")
    X[::7, 0] = np.nan
    known = np.ones(N), IS_CATEGORY, y[:, np.newaxis]
    for kind in ("effects", "learned-effects"):
        scaling, u = TargetScaling.from_rows(kind, X, *known).fit()
        distances = np.abs(u[:, np.newaxis] - u).sum(axis=2)
        assert distances.sum() == pytest.approx(N * (N - 1))  # of pairs of rows
        assert scaling.accepts_categories
        assert np.isfinite(scaling.transform(X)).all()
    assert scaling.feature_shares(3)[1] <= scaling.feature_shares(3)[[0, 2]].min()

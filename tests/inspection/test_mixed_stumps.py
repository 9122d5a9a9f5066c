"""Views of stumps on tables with categories and missing values, fitted on a kernel matrix."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from kernsemble.inspection import EnsembleView
from kernsemble.kernels import Mixed, Stump
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor


def table(n=60):
    rng = np.random.default_rng(0)
    found = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "d"])
    found = found.assign(c=rng.choice(["x", "y", "z"], n))[["a", "c", "b", "d"]]
    target = found["a"] + (found["c"] == "x") + 0.2 * rng.normal(size=n)
    found.loc[rng.random(n) < 0.2, "b"] = np.nan
    return found, target


@pytest.mark.parametrize("scaling", ["range", "rank", None])
def test_the_shapes_of_mixed_stumps_add_up_to_the_machine(scaling):
    X, target = table()
    machine = InfiniteEnsembleRegressor(Mixed(Stump()), scaling=scaling).fit(X, target)
    view = EnsembleView.from_estimator(machine)
    assert view.is_additive
    new = X.copy()
    new.loc[0, "c"] = "unknown"
    new.loc[1, ["a", "b"]] = np.nan
    rows = view.model.encode(new)
    values = view.intercept + sum(view.shape(d)(rows[:, d]) for d in range(X.shape[1]))
    assert_allclose(values, machine.predict(new), atol=1e-8)
    explained = view.explain(new)
    assert explained.is_exact
    assert_allclose(explained.intercept + explained.contributions.sum(axis=1), values, atol=1e-8)
    beta, support = machine.dual_coef_[0], machine.support_vectors_
    K = machine.kernel_(machine.scaling_.transform(support))
    assert_allclose(view.decomposition.squared_norm, beta @ K @ beta, rtol=1e-6)


def test_missing_values_and_categories_have_heights():
    X, target = table()
    machine = InfiniteEnsembleClassifier(Mixed(Stump()), solver="exact").fit(X, target > 0.5)
    view = EnsembleView.from_estimator(machine)
    assert view.shape("c").labels == ("x", "y", "z")
    assert view.shape("c").heights[0] > view.shape("c").heights[1:].max()
    assert np.isfinite(view.shape("b").missing)
    assert view.importances().shares["a"] > 0.3

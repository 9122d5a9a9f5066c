"""Standard errors of shape functions, by the jackknife."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from report.models import cancer, every_model, stumps

from kernsemble.inspection import EnsembleView
from kernsemble.report.selected_setting import selected_estimator
from kernsemble.report.shape_bands import shape_bands
from kernsemble.svm import InfiniteEnsembleRegressor

LINE = {"kernel": "stump", "solver": "additive", "loss": "squared", "scaling": "range"}


def test_the_selected_setting_makes_the_same_machine():
    for name in ("stumps", "classes", "numbers", "mixed"):
        model, X, y = every_model()[name]
        again = selected_estimator(model).fit(X, y)
        assert type(again).__name__ == type(model).__name__.removesuffix("CV")
        assert_allclose(again._values(X), model._values(X), rtol=1e-3, atol=1e-3)


def test_models_without_selection_are_cloned():
    model, *_ = every_model()["trees"]
    assert repr(selected_estimator(model)) == repr(model)
    assert selected_estimator(InfiniteEnsembleRegressor(C=2.0), 1.5).C == 3.0


@pytest.mark.large
def test_the_band_is_as_wide_as_the_spread_over_samples():
    """The standard error agrees with the spread of shape functions over fresh samples."""
    rng = np.random.default_rng(0)
    grid, noise, n = np.array([-0.8, -0.4, 0.4, 0.8]), 1.0, 400
    shapes, errors = [], []
    for k in range(40):
        X = rng.uniform(-1.0, 1.0, size=(n, 1))
        y = np.sin(2.0 * X[:, 0]) + noise * rng.normal(size=n)
        model = InfiniteEnsembleRegressor(C=0.05, **LINE).fit(X, y)
        shapes.append(EnsembleView.from_estimator(model, X).shapes["x0"](grid))
        if k < 5:
            bands = shape_bands(model, X, y, X)
            errors.append(bands.standard_error(0, "x0", grid, None))
    ratio = np.mean(errors, axis=0) / np.std(shapes, axis=0)
    assert np.all((ratio > 0.6) & (ratio < 1.7))


def test_categories_of_refits_are_matched_by_name():
    model, X, y = every_model()["mixed"]
    bands = shape_bands(model, X, y, X, n_groups=4)
    names = list(X.columns)
    name = next(each for each in names if str(X[each].dtype) == "category")
    known = model.mixed_table_.categories[names.index(name)]
    error = bands.standard_error(0, name, np.arange(float(len(known))), known)
    assert error.shape == (len(known),)
    assert np.all(error >= 0.0)
    assert error.max() > 0.0
    assert "without another 1/4 of the rows" in bands.method


def test_small_classes_have_no_bands():
    X, _, y, _ = cancer()
    few = np.flatnonzero(y == "malignant")[:5].tolist() + np.flatnonzero(y == "benign").tolist()
    assert shape_bands(stumps(), X.iloc[few], y[few], X) is None
    assert shape_bands(stumps(), X.iloc[:12], y[:12], X) is None

"""Displays plot the numbers."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

mpl.use("Agg")
import matplotlib.pyplot as plt

from kernsemble.boosting import AdaBoostClassifier
from kernsemble.datasets import make_twonorm
from kernsemble.inspection import (
    ContributionDisplay,
    DecisionBoundaryDisplay,
    EnsembleDisplay,
    EnsembleView,
    MarginDisplay,
    ShapeDisplay,
)
from kernsemble.kernels import MiddleStump, Perceptron
from kernsemble.learners import C45Tree
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor

X, y = make_twonorm(80, n_features=4, random_state=0)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def drawn(figure):
    figure.canvas.draw()
    return figure


@pytest.mark.parametrize(
    "model",
    [
        InfiniteEnsembleClassifier(),
        InfiniteEnsembleClassifier(MiddleStump()),
        AdaBoostClassifier(n_estimators=20),
    ],
    ids=["stumps", "middle", "boosted"],
)
def test_lines_are_shape_functions(model):
    display = ShapeDisplay.from_estimator(model.fit(X, y), X)
    view = EnsembleView.from_estimator(model, X)
    drawn(display.figure_)
    assert len(display.axes_) == 4
    shares = view.importances().shares
    sizes = [shares[name] for name in display.shapes]
    assert sizes == sorted(sizes, reverse=True)
    for panel, (name, line) in zip(display.axes_, display.lines_.items(), strict=True):
        assert panel.get_xlabel() == name
        x, heights = line.get_data()
        assert (np.diff(x) >= 0.0).all()
        values = X[:, view.feature_names.index(name)]
        assert x[0] <= values.min()
        assert x[-1] >= values.max()
        inside = np.interp(values, x, heights)
        shape = view.shapes[name]
        if np.array_equal(shape.left, shape.right):
            assert_allclose(inside, shape(values), atol=1e-9)
        else:
            assert_allclose(heights[1:-1:2], shape.left)
            assert_allclose(heights[2:-1:2], shape.right)


def test_bars_are_categories_and_missing_values_are_a_line():
    people = pd.DataFrame(
        {"age": [25, 40, None, 61, 33, 20], "city": ["Bern", "Rome", "Rome", "Oslo", "Bern", None]}
    )
    model = InfiniteEnsembleClassifier().fit(people, [0, 1, 1, 0, 0, 1])
    display = ShapeDisplay.from_estimator(model, people, features=["city", "age"])
    drawn(display.figure_)
    city, age = display.axes_
    shapes = EnsembleView.from_estimator(model, people).shapes
    assert_allclose([bar.get_height() for bar in display.lines_["city"]], shapes["city"].heights)
    assert [text.get_text() for text in city.get_xticklabels()] == [
        "Bern",
        "Oslo",
        "Rome",
        "missing",
    ]
    labels = [text.get_text() for text in age.get_legend().get_texts()]
    assert labels == ["missing"]
    missing = [line for line in age.get_lines() if line.get_label() == "missing"]
    assert missing[0].get_ydata()[0] == shapes["age"].missing


def test_steps_are_densities():
    model = InfiniteEnsembleClassifier().fit(X, y)
    display = EnsembleDisplay.from_estimator(model, features=["x2", 0])
    drawn(display.figure_)
    view = EnsembleView.from_estimator(model)
    assert list(display.lines_) == ["x2", "x0"]
    for name, (line,) in display.lines_.items():
        (density,) = view.densities[name]
        x, heights = line.get_data()
        assert_allclose(x[::2], density.lower)
        assert_allclose(x[1::2], density.upper)
        assert_allclose(heights[::2], density.density)
        assert_allclose(heights[1::2], density.density)


def test_stems_are_weights_of_boosted_stumps():
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    display = EnsembleDisplay.from_estimator(model)
    drawn(display.figure_)
    view = EnsembleView.from_estimator(model)
    for name, (stems,) in display.lines_.items():
        (density,) = view.densities[name]
        ends = np.array([segment[1] for segment in stems.get_segments()])
        assert_allclose(ends[:, 0], density.lower)
        assert_allclose(ends[:, 1], density.density)


def test_bars_are_weights_of_other_hypotheses():
    model = AdaBoostClassifier(C45Tree(max_depth=2), n_estimators=20).fit(X, y)
    display = EnsembleDisplay.from_estimator(model)
    drawn(display.figure_)
    weights = EnsembleView.from_estimator(model).hypotheses().weights
    widths = [bar.get_width() for bar in display.lines_["weight"]]
    assert_allclose(widths, weights[:15])


def test_displays_of_stumps_refuse_other_machines():
    model = InfiniteEnsembleClassifier(Perceptron()).fit(X, y)
    with pytest.raises(ValueError, match="not a sum over features"):
        ShapeDisplay.from_estimator(model, X)
    with pytest.raises(ValueError, match="has no stumps"):
        EnsembleDisplay.from_estimator(model)


@pytest.mark.parametrize(
    "as_rows", [np.asarray, pd.DataFrame, list], ids=lambda each: each.__name__
)
def test_bars_are_contributions(as_rows):
    rows = as_rows(X)
    if isinstance(rows, pd.DataFrame):
        rows.columns = [f"x{d}" for d in range(4)]
    model = InfiniteEnsembleClassifier().fit(rows, y)
    found = EnsembleView.from_estimator(model, rows).explain(rows)
    display = ContributionDisplay.from_estimator(model, rows, row=7)
    drawn(display.figure_)
    widths = [bar.get_width() for bar in display.bars_]
    assert_allclose(widths, list(found.row(7).values()))
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == list(found.row(7))
    short = ContributionDisplay(found, row=7, max_features=3).plot()
    widths = [bar.get_width() for bar in short.bars_]
    assert len(widths) == 3
    assert sum(widths) + found.intercept == pytest.approx(found.values[7])
    assert short.ax_.get_yticklabels()[2].get_text() == "2 others"


def test_lines_are_distributions_of_margins():
    figure, ax = plt.subplots()
    models = {
        "every": InfiniteEnsembleClassifier().fit(X, y),
        "some": AdaBoostClassifier().fit(X, y),
    }
    for name, model in models.items():
        display = MarginDisplay.from_estimator(model, X, y, name=name, ax=ax)
        assert display.figure_ is figure
        x, share = display.lines_[name].get_data()
        expected = np.sort(EnsembleView.from_estimator(model).margins(X, y).normalised)
        assert_allclose(x, expected)
        assert_allclose(share, np.arange(1, 81) / 80)
    both = MarginDisplay(
        {name: EnsembleView.from_estimator(model).margins(X, y) for name, model in models.items()},
        False,
    ).plot()
    assert both.ax_.get_xlabel() == "margin"
    drawn(figure)


def test_the_boundary_is_where_the_decision_value_is_zero():
    model = InfiniteEnsembleClassifier().fit(X[:, :2], y)
    display = DecisionBoundaryDisplay.from_estimator(model, X[:, :2], y, grid_resolution=80)
    drawn(display.figure_)
    grid = np.column_stack([display.first.ravel(), display.second.ravel()])
    assert_allclose(display.response.ravel(), model.decision_function(grid))
    on_boundary = np.vstack(display.boundary_.allsegs[0])
    values = np.abs(model.decision_function(on_boundary))
    assert values.max() < 0.05 * np.abs(display.response).max()
    offsets = [points.get_offsets() for points in display.points_]
    assert_allclose(offsets[0], X[y == -1, :2])
    assert_allclose(offsets[1], X[y == 1, :2])


def test_boundaries_of_several_classes_of_a_table():
    rows, target = load_iris(return_X_y=True, as_frame=True)
    model = InfiniteEnsembleClassifier().fit(rows, target)
    names = ["petal length (cm)", "petal width (cm)"]
    display = DecisionBoundaryDisplay.from_estimator(
        model, rows, target, features=names, grid_resolution=20
    )
    drawn(display.figure_)
    assert display.ax_.get_xlabel() == names[0]
    grid = pd.DataFrame(np.tile(rows.median(), (400, 1)), columns=rows.columns)
    grid[names[0]], grid[names[1]] = display.first.ravel(), display.second.ravel()
    assert_allclose(display.response.ravel(), model.predict(grid))
    assert [len(points.get_offsets()) for points in display.points_] == [50, 50, 50]


def test_displays_accept_polars_tables():
    rows = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = InfiniteEnsembleClassifier().fit(rows, y)
    display = DecisionBoundaryDisplay.from_estimator(model, rows, y, grid_resolution=10)
    assert display.labels == ("a", "b")
    found = EnsembleView.from_estimator(model, rows).explain(rows[3:4])
    display = ContributionDisplay.from_estimator(model, rows, row=3)
    assert_allclose([bar.get_width() for bar in display.bars_], list(found.row(0).values()))


def test_surfaces_of_regressors():
    model = InfiniteEnsembleRegressor().fit(X[:, :2], X[:, 0])
    display = DecisionBoundaryDisplay.from_estimator(model, X[:, :2], X[:, 0], grid_resolution=20)
    drawn(display.figure_)
    assert display.boundary_ is None
    assert_allclose(display.points_[0].get_array(), X[:, 0])


def test_boundaries_need_two_numeric_features():
    model = InfiniteEnsembleClassifier().fit(X, y)
    with pytest.raises(ValueError, match="two different features"):
        DecisionBoundaryDisplay.from_estimator(model, X, y, features=(1, 1))
    with pytest.raises(ValueError, match="feature 4"):
        DecisionBoundaryDisplay.from_estimator(model, X, y, features=(1, 4))
    table = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.0, "u", "v")})
    model = InfiniteEnsembleClassifier().fit(table, y)
    with pytest.raises(ValueError, match="contains categories or missing values"):
        DecisionBoundaryDisplay.from_estimator(model, table, y)


def test_axes_can_be_given():
    model = InfiniteEnsembleClassifier().fit(X, y)
    figure, axes = plt.subplots(1, 2)
    display = ShapeDisplay.from_estimator(model, X, features=[0, 1], ax=axes)
    assert display.axes_ == list(axes)
    with pytest.raises(ValueError, match="ax has 1 axes: pass 2"):
        ShapeDisplay.from_estimator(model, X, features=[0, 1], ax=axes[0])
    assert EnsembleDisplay.from_estimator(model, features=[0], ax=axes[1]).figure_ is figure


def test_matplotlib_is_imported_on_demand():
    code = (
        "import sys, kernsemble.inspection as inspection\n"
        "assert 'matplotlib' not in sys.modules\n"
        "sys.modules['matplotlib'] = None\n"
        "try:\n    inspection.ShapeDisplay({'a': inspection.Shape()}).plot()\n"
        "except ImportError as error:\n    assert 'kernsemble[plot]' in str(error)\n"
        "else:\n    sys.exit('drawn')\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr

"""The numbers of a report, against direct computation."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from report.models import NAMES, cancer, every_model, stumps
from scipy import sparse
from scipy.stats import binomtest, t
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
)

from kernsemble.datasets import make_mixed_table, make_threenorm
from kernsemble.inspection import EnsembleView, Shape, StumpDensity, by_class
from kernsemble.inspection.class_machines import n_background
from kernsemble.inspection.predictions import Predictions
from kernsemble.inspection.scores import scores
from kernsemble.kernels import Laplacian
from kernsemble.report import Summary
from kernsemble.report.data_summary import column_summary
from kernsemble.report.feature_plots import MAX_KNOTS, density_steps, histogram, shape_points
from kernsemble.report.roc_and_calibration import calibration, roc
from kernsemble.report.row_samples import RowSample
from kernsemble.report.selection_curve import selection_curve
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleClassifierCV


@pytest.fixture(scope="module")
def summary():
    X, X_test, y, y_test = cancer()
    return Summary.from_estimator(stumps(), X, y, X_test=X_test, y_test=y_test)


def test_scores_are_those_of_scikit_learn_on_the_test_rows(summary):
    _, X_test, _, y_test = cancer()
    model = stumps()
    P = model.predict_proba(X_test)
    expected = {
        "accuracy": model.score(X_test, y_test),
        "ROC AUC": roc_auc_score(y_test, model.decision_function(X_test)),
        "Brier score": brier_score_loss(y_test == "malignant", P[:, 1]),
        "log loss": log_loss(y_test, P),
    }
    found = {score.name: score for score in summary.scores}
    assert summary.predictions.where == "test rows"
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value)
        assert found[name].low <= value <= found[name].high
    n_right = int((model.predict(X_test) == y_test).sum())
    interval = binomtest(n_right, len(y_test)).proportion_ci(0.95, "wilson")
    assert (found["accuracy"].low, found["accuracy"].high) == pytest.approx(tuple(interval))


def test_scores_of_numbers_are_those_of_scikit_learn():
    model, X, y = every_model()["numbers"]
    summary = Summary.from_estimator(model, X, y, X_test=X, y_test=y)
    found = {score.name: score.value for score in summary.scores}
    assert found["R²"] == pytest.approx(r2_score(y, model.predict(X)))
    assert found["mean absolute error"] == pytest.approx(mean_absolute_error(y, model.predict(X)))


@pytest.mark.parametrize("n", [200, 20_000])
def test_bootstrap_intervals_are_as_wide_as_in_theory(n):
    """The mean of n absolute errors has the standard error s / sqrt(n) for any n."""
    y = np.random.default_rng(0).normal(size=n)
    found = {score.name: score for score in scores(Predictions("test rows", y, np.zeros(n)))}
    error = found["mean absolute error"]
    width = 2 * 1.96 * np.abs(y).std() / np.sqrt(n)
    assert error.high - error.low == pytest.approx(width, rel=0.15)


def test_the_selection_curve_has_the_scores_of_the_folds(summary):
    results = stumps().cv_results_
    folds = np.column_stack([results[f"split{k}_test_score"] for k in range(3)])
    (line,) = summary.selection.lines
    assert line.values == [each["C"] for each in results["params"]]
    assert_allclose(line.scores, 1.0 - results["mean_test_score"])
    corrected = np.sqrt((1 / 3 + 1 / 2) * folds.var(axis=1, ddof=1))
    assert_allclose(line.standard_errors, corrected)
    assert summary.selection.selected[0] == stumps().best_params_["C"]
    best = folds[stumps().best_index_]
    width = t.ppf(0.975, 2) * np.sqrt((1 / 3 + 1 / 2) * best.var(ddof=1))
    assert summary.cross_validated.value == pytest.approx(best.mean())
    assert summary.cross_validated.low == pytest.approx(best.mean() - width)
    assert summary.cross_validated.high == pytest.approx(min(best.mean() + width, 1.0))


def test_lines_of_the_selection_curve_have_short_names():
    X, y = make_threenorm(40, random_state=0)
    kernels = [Laplacian(gamma=1 / 3), Laplacian(gamma=2 / 3)]
    model = InfiniteEnsembleClassifierCV(kernels, Cs=[0.1, 1.0], scaling="range", cv=2).fit(X, y)
    names = sorted(line.name for line in selection_curve(model).lines)
    assert names == ["Laplacian(gamma=0.3333)", "Laplacian(gamma=0.6667)"]


def test_curves_have_the_areas_of_scikit_learn(summary):
    _, X_test, _, y_test = cancer()
    value, is_class = stumps().decision_function(X_test), y_test == "malignant"
    (found,) = summary.curves.roc
    assert found.area == pytest.approx(roc_auc_score(is_class, value))
    assert summary.curves.precision_recall[0].area == pytest.approx(
        average_precision_score(is_class, value)
    )
    assert np.trapezoid(found.y, found.x) == pytest.approx(found.area)


def test_thinned_roc_keeps_its_area():
    rng = np.random.default_rng(0)
    is_class = rng.random(5000) < 0.3
    found = roc("yes", is_class, is_class + rng.normal(size=5000))
    assert len(found.x) <= 200
    assert np.trapezoid(found.y, found.x) == pytest.approx(found.area, abs=2e-3)


def test_calibration_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    probability = rng.random(500)
    is_class = rng.random(500) < probability
    share, mean = calibration_curve(is_class, probability, n_bins=10, strategy="quantile")
    found = calibration("yes", is_class, probability)
    assert_allclose(found.share, share)
    assert_allclose(found.probability, mean)
    assert sum(found.n_rows) == 500
    assert np.all(np.array(found.low) <= share)
    assert np.all(share <= np.array(found.high))


@pytest.mark.parametrize("name", NAMES)
def test_contributions_add_up_to_decision_values(name):
    model, X, y = every_model()[name]
    summary = Summary.from_estimator(model, X, y, rows=[3, 0])
    view = EnsembleView.from_estimator(by_class(model), X, 0)
    rows = X.iloc[[3, 0]] if hasattr(X, "iloc") else X[[3, 0]]
    expected = view.explain(rows).values
    for row, value in zip(summary.machines[0].rows, expected, strict=True):
        shown = sum(each.contribution for each in row.contributions)
        assert row.decision == pytest.approx(value)
        assert row.intercept + shown + row.others == pytest.approx(value, abs=1e-6)
    assert [row.row_index for row in summary.machines[0].rows] == [3, 0]
    assert sum(summary.importances.values()) == pytest.approx(1.0)
    assert summary.predictions.where == "out-of-fold rows"


@pytest.mark.parametrize("name", ["stumps", "classes", "numbers", "mixed", "boosted"])
def test_plotted_points_lie_on_the_shape_function(name):
    model, X, y = every_model()[name]
    view = EnsembleView.from_estimator(by_class(model), X, 0)
    for plot in Summary.from_estimator(model, X, y).machines[0].features:
        values = view.background[:, view.feature_names.index(plot.name)]
        values, shape = values[np.isfinite(values)], view.shapes[plot.name]
        if plot.categories is not None:
            named = dict(zip(plot.categories, plot.shape, strict=True))
            known = model.mixed_table_.categories[view.feature_names.index(plot.name)]
            expected = {
                str(item or "missing"): float(shape(float(k))) for k, item in enumerate(known)
            }
            assert named == pytest.approx(expected)
            continue
        x, heights = np.array(plot.x), np.array(plot.shape)
        assert np.all(np.diff(x) >= 0.0)
        between = values[~np.isin(values, x)]
        assert_allclose(np.interp(between, x, heights), shape(between), atol=1e-9)
        first = np.searchsorted(x, x)  # at a jump the value comes first
        assert_allclose(heights[first], shape(x), atol=1e-9)


def test_jumps_are_vertical():
    shape = Shape(np.array([1.0]), np.array([0.0]), np.array([2.0]))
    assert shape_points(shape, np.array([0.0, 3.0])) == ([0.0, 1.0, 1.0, 3.0], [0.0, 0.0, 2.0, 2.0])


def test_averaged_steps_keep_the_weight_of_stumps():
    rng = np.random.default_rng(0)
    edges = np.sort(rng.random(1001))
    density = StumpDensity(edges[:-1], edges[1:], np.diff(edges), rng.normal(size=1000))
    x, y = map(np.array, density_steps(density))
    assert len(x) == 2 * MAX_KNOTS
    assert (np.diff(x)[::2] @ y[::2]) == pytest.approx(density.weight.sum())


@pytest.mark.parametrize("values", [[2.0], [0.0, 1.0, 1.0, 4.0], list(np.arange(100.0)), []])
def test_histograms_count_every_value(values):
    edges, counts = histogram(np.array(values))
    assert sum(counts) == len(values)
    assert len(edges) == (len(counts) + 1 if counts else 0)
    assert len(counts) <= 30


def test_column_summaries_agree_with_pandas():
    X, y = make_mixed_table(300, missing=0.1, random_state=1)
    model = InfiniteEnsembleClassifier(solver="additive").fit(X, y)
    data = Summary.from_estimator(model, X, y).data
    assert [each.name for each in data.columns] == list(X.columns)
    assert [each.n_missing for each in data.columns] == X.isna().sum().tolist()
    assert [each.n_distinct for each in data.columns] == X.nunique().tolist()
    assert [each.kind for each in data.columns] == ["number"] * 4 + ["category"] * 3
    assert data.targets == pd.Series(y).value_counts().to_dict()
    assert (data.n_rows, data.n_categories) == (300, 3)


def test_a_column_without_values_has_a_summary():
    assert column_summary("x", np.full(3, np.nan)) == ("x", "number", 3, 0, "", (), None)


def test_pandas_and_polars_tables_have_the_same_summary():
    X, _, y, _ = cancer()
    model = stumps()
    as_pandas = Summary.from_estimator(model, X, y)
    as_polars = Summary.from_estimator(model, pl.from_pandas(X), y)
    assert as_pandas.scores == as_polars.scores
    assert as_pandas.importances == as_polars.importances


def test_sparse_rows_have_a_summary():
    X, y = np.eye(12)[np.arange(60) % 12], np.arange(60) % 12 < 5
    model = InfiniteEnsembleClassifier().fit(sparse.csr_array(X), y)
    summary = Summary.from_estimator(model, sparse.csr_array(X), y)
    assert summary.data.n_columns == 12
    assert summary.training[0].value == 1.0


def test_a_sample_of_many_rows_is_scored():
    X, _, y, _ = cancer()
    summary = Summary.from_estimator(stumps(), X, y, max_scored_rows=50)
    assert (len(summary.predictions.y), summary.n_available) == (50, len(y))
    assert_array_equal(summary.predictions.y, y[summary.held_out.indices])


def test_drawn_rows_keep_their_targets():
    X = np.arange(1000.0)[:, np.newaxis]
    sample = RowSample.draw(X, np.arange(1000), 100)
    assert len(sample.y) == 100
    assert sample.is_sampled
    assert_allclose(sample.X[:, 0], sample.y)
    assert_allclose(sample.indices, sample.y)


def test_interactions_of_many_columns_use_fewer_background_rows():
    assert n_background(3, 1) == 40
    assert n_background(10_000, 12) == 4


def test_explained_rows_are_the_most_confident_the_closest_and_the_worst(summary):
    _, X_test, _, y_test = cancer()
    margins = np.where(y_test == "malignant", 1, -1) * stumps().decision_function(X_test)
    indices = [row.row_index for row in summary.machines[0].rows]
    assert {margins.argmin(), np.abs(margins).argmin(), margins.argmax()} <= set(indices)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"X_test": np.zeros((1, 3))}, "X_test and y_test belong together"),
        ({"rows": [10_000]}, "pass between 1 and 12 row indices"),
        ({"rows": []}, "pass between 1 and 12 row indices"),
        ({"rows": [0.5]}, "pass between 1 and 12 row indices"),
        ({"X_test": np.zeros((0, 3)), "y_test": []}, "0 sample|has no rows"),
        ({"X_test": np.zeros((2, 3)), "y_test": ["benign"]}, "pass one target per row"),
    ],
)
def test_invalid_arguments_are_refused(settings, message):
    X, _, y, _ = cancer()
    with pytest.raises(ValueError, match=message):
        Summary.from_estimator(stumps(), X, y, **settings)


def test_unknown_classes_are_refused():
    X, X_test, y, y_test = cancer()
    strange = np.where(np.arange(len(y_test)) == 0, "strange", y_test)
    with pytest.raises(ValueError, match="y of the test rows contains the class 'strange'"):
        Summary.from_estimator(stumps(), X, y, X_test=X_test, y_test=strange)


def test_test_rows_of_one_class_have_no_curves():
    X, X_test, y, y_test = cancer()
    mine = y_test == "benign"
    summary = Summary.from_estimator(stumps(), X, y, X_test=X_test[mine], y_test=y_test[mine])
    assert summary.curves is None
    assert [score.name for score in summary.scores] == ["accuracy", "balanced accuracy"]


def test_versions_and_code_reproduce_the_model(summary):
    settings = summary.settings
    assert settings.versions["numpy"] == np.__version__
    assert settings.learned["C_"] == f"{stumps().C_:.6g}"
    assert "Cs=(0.01, 0.1, 1.0), cv=3, kernel='stump')" in settings.code

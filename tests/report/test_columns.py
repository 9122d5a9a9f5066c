"""The overview of columns: association with the target, histograms, dates, readable axes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import f_oneway, pearsonr
from scipy.stats.contingency import association as scipy_association

from kernsemble.report import Summary
from kernsemble.report.association import association, correlation_ratio, cramers_v
from kernsemble.report.data_summary import column_summary
from kernsemble.report.feature_figure import feature_figure
from kernsemble.report.feature_plots import FeaturePlot, histogram
from kernsemble.report.page import bar_path
from kernsemble.report.readable_axis import readable_axis
from kernsemble.svm import InfiniteEnsembleClassifier


def test_associations_are_those_of_scipy():
    rng = np.random.default_rng(0)
    x, group = rng.normal(size=200), rng.integers(0, 3, 200)
    y = x + 0.5 * group + rng.normal(size=200)
    is_high = y > 0
    assert association(x, False, y, False) == ("r", pytest.approx(pearsonr(x, y)[0]))
    assert association(x, False, is_high, True) == ("r", pytest.approx(pearsonr(x, is_high)[0]))
    names = np.array(["a", "b", "c"])[group]
    F = f_oneway(*(y[group == k] for k in range(3)))[0]
    ratio = np.sqrt(2 * F / (2 * F + 197))  # of the sums of squares
    assert association(group.astype(float), True, y, False) == ("η", pytest.approx(ratio))
    assert association(y, False, names, True) == ("η", pytest.approx(ratio))
    counts = pd.crosstab(group, is_high).to_numpy()
    V = scipy_association(counts, method="cramer", correction=False)
    assert association(group.astype(float), True, is_high, True) == ("V", pytest.approx(V))


def test_missing_numbers_are_left_out_and_constants_have_no_association():
    x, y = np.array([1.0, np.nan, 2.0, 4.0]), np.array([2.0, 9.0, 4.0, 8.0])
    assert association(x, False, y, False).value == pytest.approx(1.0)
    for constant in (np.zeros(4), np.full(4, np.nan)):
        assert np.isnan(association(constant, False, y, False).value)
    assert np.isnan(correlation_ratio(np.array([0, 1]), np.ones(2)))
    assert np.isnan(cramers_v(np.zeros(3), np.array([0, 1, 1])))


def test_histograms_of_columns_count_every_row():
    found = column_summary("x", np.r_[np.arange(24.0), np.nan])
    assert found.histogram == (2,) * 12
    named = column_summary("c", np.array([0.0, 1.0, 1.0]), ("a", "b"))
    assert named.histogram == (2, 1)
    assert bar_path((2, 1, 0)) == "M0 24v-24h5v24zM6 24v-12h5v12zM12 24v-0h5v0z"


def test_dates_are_shown_as_dates():
    rng = np.random.default_rng(0)
    day = pd.to_datetime("2020-02-28") + pd.to_timedelta(np.arange(60), unit="D")
    X = pd.DataFrame({"day": day, "a": rng.normal(size=60)})
    y = np.arange(60) > 30
    model = InfiniteEnsembleClassifier(solver="additive").fit(X, y)
    summary = Summary.from_estimator(model, X, y, rows=[1])
    column = summary.data.columns[0]
    assert (column.kind, column.values[:10]) == ("date", "2020-02-28")
    values = {each.feature: each.value for each in summary.machines[0].rows[0].contributions}
    assert values["day"] == "2020-02-29"
    (plot,) = [each for each in summary.machines[0].features if each.name == "day"]
    assert plot.axis.ticks[1][0] == "2020-02-28"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.arange(100.0), "linear"),
        (np.exp(np.linspace(0.0, 8.0, 200)), "log"),
        (np.r_[np.zeros(300), np.exp(np.linspace(0.0, 8.0, 100))], "quantile"),
        (-np.exp(np.linspace(0.0, 8.0, 200)), "quantile"),
        (np.r_[np.zeros(95), np.full(5, 1e6)], "linear"),  # few values
    ],
)
def test_skewed_features_have_a_readable_axis(values, kind):
    axis = readable_axis(values)
    assert axis.kind == kind
    assert axis.note == ("" if kind == "linear" else f"{kind} axis")
    _, counts = histogram(values, axis)
    assert sum(counts) == len(values)
    if kind == "quantile":
        places = axis.place(np.unique(values))
        assert np.all(np.diff(places) > 0.0)
        assert places[0] > 0.0
        assert places[-1] < 1.0
        assert len(set(axis.ticks[1])) == len(axis.ticks[0]) >= 2
        assert_allclose(axis.place(np.array(axis.values)), axis.positions)


def test_the_figure_names_its_axis_and_shows_missing_values():
    values = np.exp(np.linspace(0.0, 8.0, 200))
    axis = readable_axis(values)
    edges, counts = histogram(values, axis)
    plot = FeaturePlot("income", None, [1.0, 3000.0], [0.0, 1.0], 2.0, edges=edges, counts=counts)
    plot = FeaturePlot(**{**vars(plot), "axis": axis, "n_missing": 7, "errors": [0.1, 0.2]})
    figure = feature_figure(plot, "log-odds")
    named = {trace.name: trace for trace in figure.data}
    assert tuple(named["missing value"].y) == (2.0,)
    assert tuple(named["missing rows"].y) == (7,)
    assert_allclose(named["± 2 standard errors"].y, [0.2, 1.4, 0.6, -0.2])
    titles = [figure.layout[name].title.text for name in ("xaxis", "xaxis3")]
    assert "income (log axis)" in titles
    assert "log-odds" in figure.layout.yaxis.title.text
    assert figure.layout.yaxis.range == figure.layout.yaxis2.range

"""Columns of dates and times, in pandas and polars tables."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble import load, save
from kernsemble.inspection import EnsembleView
from kernsemble.kernels import Stump
from kernsemble.preprocessing.calendar import calendar_part, days
from kernsemble.svm import InfiniteEnsembleClassifier, SVMPath
from kernsemble.svm.columns import MixedTable, is_mixed

N = 60
WHEN = pd.Series(pd.date_range("2023-12-30 06:30", periods=N, freq="31h"), name="when")


def table():
    return pd.DataFrame({"x": np.arange(N) % 7, "when": WHEN})


def test_a_date_is_the_number_of_days_since_1970_and_its_calendar_parts():
    assert_allclose(days(WHEN)[:2], [19721 + 6.5 / 24, 19722 + 13.5 / 24])
    for part, expected in (
        ("month", WHEN.dt.month),
        ("weekday", WHEN.dt.day_of_week + 1),
        ("hour", WHEN.dt.hour),
    ):
        assert_array_equal(calendar_part(WHEN, part), expected)
        assert_array_equal(calendar_part(pl.from_pandas(WHEN), part), expected)


@pytest.mark.parametrize(
    "dates",
    [
        WHEN,
        WHEN.dt.tz_localize("Europe/Dublin"),
        WHEN.astype("datetime64[s]"),
        pl.from_pandas(WHEN),
        pl.from_pandas(WHEN).dt.replace_time_zone("Asia/Tokyo"),
        pl.from_pandas(WHEN).cast(pl.Datetime("ms")),
    ],
)
def test_all_types_of_times_have_the_same_encoding(dates):
    frame = type(dates.to_frame())({"when": dates})
    encoding = MixedTable.from_table(frame)
    assert is_mixed(frame)
    assert encoding.encoded_names(["when"]) == ["when", "when.month", "when.weekday", "when.hour"]
    expected = MixedTable.from_table(WHEN.to_frame())
    assert_allclose(encoding.transform(frame), expected.transform(WHEN.to_frame()))


def test_dates_without_times_have_no_hour():
    dates = WHEN.dt.date  # Python's dates
    for frame in (dates.to_frame(), pl.DataFrame({"when": dates.tolist()})):
        encoding = MixedTable.from_table(frame)
        assert [part for _, part in encoding.parts] == ["month", "weekday"]
        assert_array_equal(encoding.transform(frame)[:, 0] % 1, 0.0)
    same_day = pd.DataFrame({"when": pd.to_datetime(["2024-02-29"] * 3)})
    assert MixedTable.from_table(same_day).parts == ()
    months = pd.DataFrame({"when": pd.period_range("2024-01", periods=4, freq="M")})
    assert_array_equal(MixedTable.from_table(months).transform(months)[:, 1], [1, 2, 3, 4])


def test_missing_dates_are_missing_values():
    when = WHEN.copy()
    when[3] = pd.NaT
    for frame in (when.to_frame(), pl.from_pandas(when).to_frame()):
        rows = MixedTable.from_table(frame).transform(frame)
        assert np.isnan(rows[3]).all()
        assert not np.isnan(np.delete(rows, 3, axis=0)).any()


def test_durations_are_days_and_times_of_day_hours():
    spans = pd.DataFrame({"span": pd.to_timedelta([36, None], unit="h")})
    assert_allclose(MixedTable.from_table(spans).transform(spans), [[1.5], [np.nan]])
    clock = pl.DataFrame({"at": [datetime.time(14, 30), None], "span": [spans.span[0], None]})
    assert_allclose(MixedTable.from_table(clock).transform(clock)[0], [14.5, 1.5])


@pytest.mark.parametrize("family", [InfiniteEnsembleClassifier, SVMPath])
def test_a_model_learns_weekdays(family, tmp_path):
    X, y = table(), np.where(WHEN.dt.day_of_week >= 5, "weekend", "week")
    model = family("stump").fit(X, y)
    assert list(model.feature_names_in_) == ["x", "when"]
    assert (model.predict(X) == y).mean() > 0.95
    again = load(save(model, tmp_path / "m.skops"))
    assert_array_equal(again.predict(pl.from_pandas(X)), model.predict(X))
    view = EnsembleView.from_estimator(model, X)
    assert view.feature_names == ["x", "when", "when.month", "when.weekday", "when.hour"]
    shares = view.importances().shares
    assert max(shares, key=shares.get) == "when.weekday"
    explained = view.explain(X[:2])
    assert_allclose(explained.values, model.decision_function(X[:2]))


def test_kernels_select_parts_of_dates_by_name():
    y = WHEN.dt.day_of_week >= 5
    model = InfiniteEnsembleClassifier(Stump().on("when.weekday")).fit(table(), y)
    later = table().assign(when=WHEN + pd.Timedelta(days=364))
    assert_allclose(model.decision_function(later), model.decision_function(table()))
    assert not np.allclose(
        InfiniteEnsembleClassifier(Stump().on("when")).fit(table(), y).decision_function(later),
        model.decision_function(later),
    )


def test_text_where_dates_were_is_refused():
    model = InfiniteEnsembleClassifier("stump").fit(table(), WHEN.dt.day_of_week >= 5)
    with pytest.raises(ValueError, match="column 'when' of X held dates in training"):
        model.predict(table().assign(when=1.0))

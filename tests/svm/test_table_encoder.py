"""TableEncoder: tables with categories, dates and missing values as numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from kernsemble import load, save
from kernsemble.detection import LagoClassifier
from kernsemble.preprocessing import TableEncoder


def table():
    return pd.DataFrame(
        {
            "age": [30.0, None, 50.0, 40.0],
            "town": ["Cork", None, "Cork", "Bath"],
            "when": pd.to_datetime(["2024-01-31", None, "2024-02-01", "2024-02-02"]),
        }
    )


def test_tables_of_pandas_and_polars_have_the_same_encoding():
    names = ["age", "age is missing", "town=Cork", "town=Bath", "town=missing"]
    names += ["when", "when.month", "when.weekday", "when is missing"]
    expected = [
        [30, 0, 1, 0, 0, 19753, 1, 3, 0],
        [40, 1, 0, 0, 1, 19754, 0, 0, 1],
        [50, 0, 1, 0, 0, 19754, 2, 4, 0],
        [40, 0, 0, 1, 0, 19755, 2, 5, 0],
    ]
    columns = {name: column.tolist() for name, column in table().items()}
    columns["town"][1], columns["when"][1] = None, None
    for frame in (table(), pl.DataFrame(columns)):
        encoder = TableEncoder().fit(frame)
        assert encoder.get_feature_names_out().tolist() == names
        assert_array_equal(encoder.columns_, [0, 0, 1, 1, 1, 2, 2, 2, 2])
        assert_allclose(encoder.transform(frame), expected)


def test_rare_and_unseen_categories_have_no_indicator():
    frame = pd.DataFrame({"town": ["Cork"] * 3 + ["Bath"] * 2 + ["Ayr"]})
    encoder = TableEncoder(max_categories=2).fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["town=Cork", "town=Bath"]
    new = pd.DataFrame({"town": ["Ayr", "Bath", "Rome", None]})
    assert_array_equal(encoder.transform(new), [[0, 0], [0, 1], [0, 0], [0, 0]])
    linear = TableEncoder(reference=True).fit(frame)
    assert linear.get_feature_names_out().tolist() == ["town=Bath", "town=Ayr"]


def test_a_pipeline_ranks_the_rows_of_a_table(tmp_path):
    frame = pd.concat([table()] * 10, ignore_index=True)
    y = np.where(frame["town"] == "Bath", "rare", "usual")
    model = make_pipeline(TableEncoder(), LagoClassifier()).fit(frame, y)
    assert (model.predict(frame) == y).all()
    again = load(save(model, tmp_path / "m.skops"))
    assert_array_equal(again.decision_function(frame), model.decision_function(frame))


def test_arrays_of_numbers_are_encoded_by_position():
    rows = np.array([[1.0, np.nan], [3.0, 2.0]])
    encoder = TableEncoder().fit(rows)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x1 is missing"]
    assert_array_equal(encoder.transform(rows), [[1, 2, 1], [3, 2, 0]])


@pytest.mark.filterwarnings("ignore")
def test_it_is_a_transformer_of_scikit_learn():
    check_estimator(TableEncoder())


def test_text_where_numbers_were_is_refused():
    with pytest.raises(ValueError, match="max_categories"):
        TableEncoder(max_categories=0).fit(table())
    with pytest.raises(ValueError, match="could not convert"):
        TableEncoder().fit(table()).transform(table().assign(age="old"))

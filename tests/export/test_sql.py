"""SQL queries: DuckDB and SQLite predict as Python does."""

import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest
from export.zoo import ADDITIVE, fitted, rows
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.export import NotExportableError, to_sql
from kernsemble.inspection import EnsembleView

DIALECTS = ("duckdb", "sqlite")
EXACT = {"rtol": 0, "atol": 1e-9}


def as_table(X):
    """Return rows as a DataFrame with null for missing entries."""
    if isinstance(X, np.ndarray):
        X = pd.DataFrame(X, columns=[f"x{d}" for d in range(X.shape[1])])
    texts = X.select_dtypes(exclude=["number", "datetime"])
    return X.assign(**{name: each.where(each.notna(), None) for name, each in texts.items()})


def answer(dialect, query, X, table="rows"):
    """Return the answer of a database to a query about rows."""
    X = as_table(X)
    if dialect == "duckdb":
        with duckdb.connect() as connection:
            connection.register(table, X)
            return connection.execute(query).df()
    dates = X.select_dtypes("datetime")
    connection = sqlite3.connect(":memory:")
    X.assign(**{name: each.astype(str) for name, each in dates.items()}).to_sql(
        table, connection, index=False
    )
    found = pd.read_sql_query(query, connection)
    connection.close()
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ADDITIVE)
def test_databases_predict_as_the_model_does(name, dialect):
    model, X = fitted(name), rows(name)
    found = answer(dialect, to_sql(model, dialect), X)
    if not hasattr(model, "classes_"):
        assert_allclose(found["prediction"], model.predict(X), **EXACT)
        return
    assert_array_equal(found["prediction"].astype(model.classes_.dtype), model.predict(X))
    if hasattr(model, "predict_proba"):
        assert found.columns.tolist()[1:] == [f"probability_{each}" for each in model.classes_]
        assert_allclose(found.iloc[:, 1:], model.predict_proba(X), **EXACT)
    else:
        views = EnsembleView.each(model)
        assert found.columns.tolist()[1:] == [f"decision_{label}" for label in views]
        values = next(iter(views.values())).model.values(X)
        assert_allclose(found.iloc[:, 1:], values, **EXACT)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_contributions_and_columns_to_keep(dialect):
    model, X = fitted("mixed"), rows("mixed")
    table = X.assign(**{'the "key"': np.arange(len(X))})
    settings = {"table": "new rows", "keep": ['the "key"', "age"], "contributions": True}
    found = answer(dialect, to_sql(model, dialect, **settings), table, "new rows")
    assert_array_equal(found['the "key"'], table['the "key"'])
    view = EnsembleView.from_estimator(model)
    names = [f"contribution_{name}" for name in view.feature_names]
    assert found.columns.tolist()[-len(names) :] == names
    assert_allclose(found[names], view.explain(X).contributions, **EXACT)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_missing_number_that_a_model_does_not_support_has_no_prediction(dialect):
    X = pd.DataFrame(rows("pairs")[:3].copy())
    X.columns = [f"x{d}" for d in range(4)]
    X.iloc[1, 2] = np.nan
    found = answer(dialect, to_sql(fitted("pairs"), dialect), X)
    assert found.isna().all(axis=1).tolist() == [False, True, False]


def test_names_and_categories_are_quoted(tmp_path):
    X = pd.DataFrame({'a "b"\n{0} é': ["it's", "x; --\n/*", "it's", "ÿ"] * 5})
    from kernsemble.svm import InfiniteEnsembleClassifier

    model = InfiniteEnsembleClassifier(solver="additive", loss="logistic")
    model.fit(X, np.array(["o'k", "no", "o'k", "no"] * 5))
    for dialect in DIALECTS:
        query = to_sql(model, dialect, path=tmp_path / "query.sql")
        assert (tmp_path / "query.sql").read_text() == query
        found = answer(dialect, query, X)
        assert_array_equal(found["prediction"], model.predict(X))
        assert_allclose(found["probability_o'k"], model.predict_proba(X)[:, 1], **EXACT)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("absent", ["age", "region"])
def test_a_table_without_a_column_is_refused_by_the_database(dialect, absent):
    query = to_sql(fitted("mixed"), dialect)
    with pytest.raises((duckdb.Error, pd.errors.DatabaseError), match=absent):
        answer(dialect, query, rows("mixed").drop(columns=absent))


def test_other_databases_and_models_with_interactions_are_refused():
    with pytest.raises(ValueError, match="dialect = 'oracle'"):
        to_sql(fitted("stump"), "oracle")
    with pytest.raises(NotExportableError, match="is no sum over columns"):
        to_sql(fitted("gaussian"))

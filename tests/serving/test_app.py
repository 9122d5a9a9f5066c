"""The web application: predictions, explanations, refusals and limits."""

import json

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from kernsemble.boosting import AdaBoostClassifier
from kernsemble.datasets import make_mixed_table
from kernsemble.detection import LagoClassifier
from kernsemble.inspection import EnsembleView
from kernsemble.serving import create_app, rows as rows_of_bodies
from kernsemble.serving.rows import BodyReader, InvalidRowsError, RowReader
from kernsemble.svm import InfiniteEnsembleClassifier, InfiniteEnsembleRegressor


@pytest.fixture(scope="module")
def fitted():
    X, y = make_mixed_table(150, random_state=1)
    X = X.assign(when=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(150.0), unit="D"))
    return InfiniteEnsembleClassifier(solver="additive", loss="logistic").fit(X, y), X


@pytest.fixture(scope="module")
def client(fitted):
    model, _ = fitted
    page = "<!doctype html><title>Report</title>"
    with TestClient(
        create_app(model, page, max_rows=50, max_explained_rows=3, max_bytes=20_000)
    ) as found:
        yield found


def as_rows(X):
    """Return a table as the rows of a request."""
    return json.loads(X.to_json(orient="records", date_format="iso", date_unit="s"))


def test_predictions_are_those_of_the_model(client, fitted):
    model, X = fitted
    answer = client.post("/predict", json={"rows": as_rows(X.head(50))})
    assert answer.status_code == 200
    found = answer.json()["predictions"]
    assert [each["prediction"] for each in found] == model.predict(X.head(50)).tolist()
    shares = [list(each["probabilities"].values()) for each in found]
    assert_allclose(shares, model.predict_proba(X.head(50)), rtol=0, atol=1e-12)
    assert list(found[0]["probabilities"]) == model.classes_.tolist()


def test_contributions_are_those_of_views(client, fitted):
    model, X = fitted
    answer = client.post("/explain", json={"rows": as_rows(X.head(2))}).json()
    view = EnsembleView.from_estimator(model)
    explained = view.explain(X.head(2))
    for place, each in enumerate(answer["explanations"]):
        machine = each["machines"][view.label]
        assert machine["unit"] == "log-odds"
        assert list(machine["contributions"]) == view.feature_names
        values = list(machine["contributions"].values())
        assert_allclose(values, explained.contributions[place], atol=1e-12)
        assert_allclose(machine["intercept"] + sum(values), machine["value"], atol=1e-9)


def test_unseen_categories_and_missing_values_are_predicted(client, fitted):
    model, X = fitted
    row = as_rows(X.head(1))[0] | {"age": None, "region": "never seen", "household": None}
    table = X.head(1).astype({"region": object, "household": object})
    table = table.assign(age=np.nan, region="never seen", household=None)
    found = client.post("/predict", json={"rows": [row]}).json()["predictions"][0]
    shares = list(found["probabilities"].values())
    assert_allclose(shares, model.predict_proba(table)[0], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "column", "reason"),
    [
        ({"age": "old"}, "age", "no number"),
        ({"region": 3}, "region", "no text"),
        ({"when": "soon"}, "when", "no date"),
        ({"when": 20240301}, "when", "no date"),
        ({"when": "20240301"}, "when", "no date"),
        ({"extra": 1}, "extra", "no such column"),
        ({"hours": ...}, "hours", "the column is missing"),
    ],
)
def test_an_invalid_row_is_refused_with_its_column(client, fitted, change, column, reason):
    first, second = as_rows(fitted[1].head(2))
    changed = {key: each for key, each in (second | change).items() if each is not ...}
    answer = client.post("/predict", json={"rows": [first, changed]})
    assert answer.status_code == 422
    assert answer.json()["detail"] == "1 value was refused"
    (error,) = answer.json()["errors"]
    assert (error["row"], error["column"]) == (2, column)
    assert reason in error["reason"]
    assert error.get("value") == (None if change[column] is ... else change[column])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[]", "the body has no rows"),
        ("{}", "the body has no rows"),
        ('{"rows": 7}', "the body has no rows"),
        ('{"rows": []}', "no rows"),
        ('{"rows": [7]}', "the row is no object"),
        ('{"rows": [], "more": 1}', "no rows"),
        ('{"rows": [{}], "more": 1}', "the body contains rows only"),
    ],
)
def test_an_invalid_body_is_refused_with_the_reason(client, body, reason):
    answer = client.post("/predict", content=body)
    assert answer.status_code == 422
    reasons = [each["reason"] for each in answer.json()["errors"]]
    assert any(reason in each for each in reasons), reasons


def test_nan_is_no_number(client, fitted):
    text = json.dumps({"rows": [as_rows(fitted[1].head(1))[0] | {"age": float("nan")}]})
    answer = client.post("/predict", content=text)
    assert answer.status_code == 422
    assert "no finite number" in answer.json()["errors"][0]["reason"]


def test_at_most_twenty_errors_are_listed(client, fitted):
    rows = as_rows(fitted[1].head(30))
    answer = client.post("/predict", json={"rows": [each | {"age": "old"} for each in rows]})
    assert answer.json()["detail"] == "more than 20 values were refused"
    assert len(answer.json()["errors"]) == 20


@pytest.mark.parametrize("key", ["other", "other {}"])
def test_the_work_of_a_refusal_does_not_grow_with_the_errors_of_a_row(fitted, monkeypatch, key):
    reader = RowReader.of_model(fitted[0], 10)
    bodies, described = BodyReader(reader), []
    monkeypatch.setattr(rows_of_bodies, "_reason", lambda error: described.append(error) or "")
    cells = ",".join(f'"{key.format(place)}":0' for place in range(50_000))
    with pytest.raises(InvalidRowsError) as refused:
        bodies.rows(f'{{"rows":[{{{cells}}}]}}'.encode())
    assert len(refused.value.content["errors"]) <= 20
    assert len(described) <= len(reader.columns) + 21


def test_columns_and_rows_of_any_name_are_validated():
    X = pd.DataFrame({"rows": np.arange(20.0), "<b>": np.arange(20.0) % 3})
    client = TestClient(create_app(InfiniteEnsembleRegressor("laplacian").fit(X, X["rows"])))
    row = {"rows": 1.0, "<b>": 2.0}
    for name in row:
        (error,) = client.post("/predict", json={"rows": [row | {name: "x"}]}).json()["errors"]
        assert (error["row"], error["column"]) == (1, name)
    assert "<b>" not in client.get("/").text  # names come from /schema, as text
    long = json.dumps({"rows": [row | {"<b>": 7}]}).replace("7", "7" * 5_000)
    for body in (long, long.replace("7" * 5_000, "1e999")):
        answer = client.post("/predict", content=body)
        assert answer.status_code == 422


def test_rows_are_limited(client, fitted):
    for path, n in (("/predict", 51), ("/explain", 4)):
        rows = [{**as_rows(fitted[1].head(1))[0]}] * n
        answer = client.post(path, json={"rows": rows})
        assert answer.status_code == 422
        assert "too many rows" in answer.json()["errors"][0]["reason"]


def test_bytes_are_limited_also_without_a_declared_length(client):
    declared = client.post("/predict", content=b" " * 20_001)
    streamed = client.post("/predict", content=(b" " * 1_000 for _ in range(30)))
    for answer in (declared, streamed):
        assert answer.status_code == 413
        assert "more than 20,000 bytes" in answer.json()["detail"]


def test_schema_health_report_and_interface(client):
    schema = client.get("/schema").json()
    assert [each["name"] for each in schema["columns"]][-1] == "when"
    kinds = {each["name"]: each["kind"] for each in schema["columns"]}
    assert (kinds["age"], kinds["region"], kinds["when"]) == ("number", "category", "date")
    assert schema["classes"] == ["below", "high"]
    assert client.get("/health").json()["status"] == "ok"
    assert "<title>Report</title>" in client.get("/").text
    assert "http" not in client.get("/docs").text.replace("http-equiv", "")  # opens offline
    paths = client.get("/openapi.json").json()["paths"]
    row = paths["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert "household" in row["properties"]["rows"]["items"]["properties"]
    assert set(paths) == {"/predict", "/explain", "/schema", "/health"}


def test_a_model_that_needs_every_number():
    X, y = load_iris(return_X_y=True)
    client = TestClient(create_app(InfiniteEnsembleClassifier().fit(X[::3], y[::3])))
    assert not any(each["can_be_missing"] for each in client.get("/schema").json()["columns"])
    row = dict(zip(["x0", "x1", "x2", "x3"], X[0], strict=True))
    assert client.post("/predict", json={"rows": [row]}).json() == {
        "predictions": [{"prediction": 0}]
    }
    answer = client.post("/predict", json={"rows": [row | {"x2": None}]})
    assert answer.status_code == 422
    assert "fill it in" in answer.json()["errors"][0]["reason"]
    assert "<table" in client.get("/").text  # the interface, without a report


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (InfiniteEnsembleRegressor("laplacian"), float),
        (AdaBoostClassifier(n_estimators=3), int),
        (LagoClassifier(rare=[0]), int),
    ],
    ids=["regression", "AdaBoost", "LAGO"],
)
def test_other_models(model, kind):
    X, y = (each[::3] for each in load_iris(return_X_y=True))
    client = TestClient(create_app(model.fit(X, y)))
    rows = [dict(zip(["x0", "x1", "x2", "x3"], each, strict=True)) for each in X.tolist()]
    found = client.post("/predict", json={"rows": rows}).json()["predictions"]
    assert_allclose([each["prediction"] for each in found], model.predict(X), rtol=1e-12)
    assert isinstance(found[0]["prediction"], kind)
    answer = client.post("/explain", json={"rows": rows[:1]})
    assert answer.status_code == (422 if kind is int and "rare" in model.get_params() else 200)

"""JSON documents: Python and JavaScript read what the model computes."""

import json

import numpy as np
import pandas as pd
import pytest
from export.zoo import ADDITIVE, fitted, rows
from numpy.testing import assert_allclose, assert_array_equal

from kernsemble.export import NotExportableError, from_json, javascript_reader, to_json
from kernsemble.export.piecewise_tables import PiecewiseTable
from kernsemble.inspection import EnsembleView
from kernsemble.inspection.additive_model import VERSION, function_data
from kernsemble.inspection.fitted_models import as_fitted_model, column_categories

LABELS = {"rtol": 0, "atol": 1e-12}


@pytest.mark.parametrize("name", ADDITIVE)
def test_a_document_predicts_as_the_model_does(name):
    model, X = fitted(name), rows(name)
    portable = from_json(to_json(model))
    if portable.classes_ is None:
        assert_allclose(portable.predict(X), model.predict(X), rtol=1e-12)
        return
    assert_array_equal(portable.predict(X), model.predict(X))
    assert_allclose(portable.decision_function(X), model.decision_function(X), rtol=0, atol=1e-10)
    if hasattr(model, "predict_proba"):
        assert_allclose(portable.predict_proba(X), model.predict_proba(X), **LABELS)


@pytest.mark.parametrize("name", ADDITIVE)
def test_tables_of_functions_are_the_shape_functions(name):
    model = fitted(name)
    encoded, known = as_fitted_model(model).encode(rows(name)), column_categories(model)
    for view in EnsembleView.each(model).values():
        for d, shape in enumerate(view.shapes.values()):
            table = PiecewiseTable.from_functions([function_data(shape, known[d])], known[d])
            at = encoded[:, d]
            if known[d] is None and not len(shape.atoms):  # whose tolerance is arbitrary
                ends = np.nextafter(table.cuts, np.inf)
                at = np.concatenate([at, table.cuts, ends])
            assert_allclose(table.values(at)[:, 0], shape(at), rtol=1e-9, atol=1e-9)


def test_a_document_is_written_and_read(tmp_path):
    text = to_json(fitted("mixed"), tmp_path / "mixed.json")
    again = from_json(tmp_path / "mixed.json")
    assert again.plain == json.loads(text) == from_json(text).plain
    assert again.plain["version"] == VERSION
    assert max(map(len, text.splitlines())) < 20_000
    assert len(text.splitlines()) > 50


@pytest.mark.parametrize("name", ["laplacian", "LAGO", "Mixed", "vote of numbers"])
def test_a_model_with_interactions_is_refused(name):
    with pytest.raises(NotExportableError, match=r"is no sum over columns|cannot be exported"):
        to_json(fitted(name))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something"}, "is no kernsemble additive model"),
        ({"version": 99}, "version 99"),
        ({"link": ...}, "lacks 'link'"),
    ],
)
def test_other_documents_are_refused(change, message):
    plain = json.loads(to_json(fitted("AdaBoost"))) | change
    text = json.dumps({key: each for key, each in plain.items() if each is not ...})
    with pytest.raises(ValueError, match=message):
        from_json(text)


def test_columns_are_found_by_name_and_checked():
    portable, X = from_json(to_json(fitted("mixed"))), rows("mixed")
    assert_array_equal(portable.predict(X[X.columns[::-1]]), portable.predict(X))
    with pytest.raises(ValueError, match="lacks the column 'age'"):
        portable.predict(X.drop(columns="age"))
    with pytest.raises(ValueError, match="pass 4 columns"):
        from_json(to_json(fitted("pairs"))).predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="no probabilities"):
        from_json(to_json(fitted("LPBoost"))).predict_proba(rows("LPBoost"))


# -- JavaScript


def records(X):
    """Return rows as JSON, with null for missing values, and dates as text."""
    if isinstance(X, np.ndarray):
        X = pd.DataFrame(X, columns=[f"x{d}" for d in range(X.shape[1])])
    return [
        {name: _entry(value) for name, value in row.items()} for row in X.to_dict(orient="records")
    ]


def _entry(value):
    if value is None or value != value:
        return None
    return value.isoformat() if isinstance(value, pd.Timestamp) else value


def test_javascript_predicts_as_the_model_does(node):
    cases = [
        {"model": json.loads(to_json(fitted(name))), "rows": records(rows(name))}
        for name in ADDITIVE
    ]
    for name, found in zip(ADDITIVE, node(cases), strict=True):
        model, X = fitted(name), rows(name)
        if not hasattr(model, "classes_"):
            values = [each["values"][0] for each in found]
            assert_allclose(values, model.predict(X), rtol=1e-12)
            continue
        codes = [each["predicted"] for each in found]
        assert_array_equal(model.classes_[codes], model.predict(X))
        if hasattr(model, "predict_proba"):
            shares = [each["probabilities"] for each in found]
            assert_allclose(shares, model.predict_proba(X), **LABELS, err_msg=name)


def test_the_reader_is_short():
    text = javascript_reader().split("// Read an additive model")[1]
    lines = [line for line in text.splitlines() if line and not line.startswith("//")]
    assert len(lines) <= 50

"""Functions of pairs of columns, as the plain data of additive models has them."""

import json

import numpy as np
import pytest
from export.test_json import records
from export.test_onnx import run
from export.test_sql import DIALECTS, answer
from export.zoo import fitted, rows
from numpy.testing import assert_allclose

from kernsemble.export import machine_terms, to_json, to_onnx, to_sql
from kernsemble.export.portable_model import PortableModel
from kernsemble.export.sql import select

NAMES = ("mixed", "pairs")
LEVELS = {
    "mixed": {
        "age": {"cuts": [30.0, 40.0, 55.0], "missing": 4},
        "hours": {"cuts": [35.0], "missing": 0},
        "region": {"categories": [1, 0, 1, 2], "missing": 3},
    },
    "pairs": {"x0": {"cuts": [5.0, 6.0], "missing": 1}, "x3": {"cuts": [0.8, 1.8], "missing": 0}},
}
PAIRS = {"mixed": [("age", "region"), ("hours", "age")], "pairs": [("x0", "x3")]}
SIZES = {"age": 5, "hours": 2, "region": 4, "x0": 3, "x3": 3}


def with_pairs(name):
    """Return a model as plain data, with random functions of pairs of columns."""
    plain, rng = json.loads(to_json(fitted(name))), np.random.default_rng(0)
    columns = {each["name"]: d for d, each in enumerate(plain["columns"])}
    for column, levels in LEVELS[name].items():
        plain["columns"][columns[column]]["levels"] = levels
    for machine in plain["machines"]:
        machine["pairs"] = [
            {
                "columns": [columns[each] for each in pair],
                "heights": rng.normal(size=[SIZES[each] for each in pair]).tolist(),
            }
            for pair in PAIRS[name]
        ]
    plain["machines"][-1]["pairs"].pop()
    return plain


def added(plain, X):
    """Return what pairs add to the contributions of columns to machines, entry by entry."""
    found = np.zeros((len(X), len(plain["columns"]), len(plain["machines"])))
    for i, record in enumerate(records(X)):
        for k, machine in enumerate(plain["machines"]):
            for pair in machine["pairs"]:
                levels = [_level(plain["columns"][d], record) for d in pair["columns"]]
                for d in pair["columns"]:
                    found[i, d, k] += 0.5 * pair["heights"][levels[0]][levels[1]]
    return found


def _level(column, record):
    value, levels = record[column["name"]], column["levels"]
    if column["kind"] == "category":
        known = column["categories"]
        return levels["categories"][known.index(value)] if value in known else levels["missing"]
    return levels["missing"] if value is None else sum(cut < value for cut in levels["cuts"])


@pytest.fixture(params=NAMES)
def case(request, monkeypatch):
    """Return a model whose plain data has pairs, rows, and the contributions to its machines."""
    plain, X = with_pairs(request.param), rows(request.param)
    without = PortableModel(json.loads(to_json(fitted(request.param))))
    for module in (machine_terms, select):
        monkeypatch.setattr(module, "plain_additive_model", lambda _: plain)
    contributions = without.contributions(X) + added(plain, X)
    intercept = np.array([each["intercept"] for each in plain["machines"]])
    return fitted(request.param), plain, X, contributions, contributions.sum(axis=1) + intercept


def test_python_reads_pairs(case):
    _, plain, X, contributions, values = case
    portable = PortableModel(plain)
    assert_allclose(portable.contributions(X), contributions, atol=1e-12)
    assert_allclose(portable.values(X), values, atol=1e-12)


def test_onnxruntime_evaluates_pairs(case):
    model, plain, X, contributions, _ = case
    found = run(to_onnx(model, contributions=True), X)
    assert_allclose(found["contributions"], contributions, atol=1e-12)
    assert_allclose(found["probabilities"], PortableModel(plain).predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_databases_evaluate_pairs(case, dialect):
    model, plain, X, contributions, _ = case
    found = answer(dialect, to_sql(model, dialect, contributions=True), X).to_numpy()
    n_classes, n_columns = len(plain["classes"]), len(plain["columns"])
    shares = PortableModel(plain).predict_proba(X)
    assert_allclose(found[:, 1 : 1 + n_classes].astype(float), shares, atol=1e-9)
    in_order = found[:, 1 + n_classes :].astype(float).reshape(len(X), -1, n_columns)
    assert_allclose(in_order.transpose(0, 2, 1), contributions, atol=1e-9)


def test_javascript_evaluates_pairs(case, node):
    _, plain, X, contributions, values = case
    (found,) = node([{"model": plain, "rows": records(X)}])
    assert_allclose([each["values"] for each in found], values, atol=1e-12)
    in_order = np.array([each["contributions"] for each in found])
    assert_allclose(in_order.transpose(0, 2, 1), contributions, atol=1e-12)

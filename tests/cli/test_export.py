"""The commands export and serve."""

import json
import sqlite3

import onnxruntime
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

from kernsemble import load
from kernsemble.export import from_json


@pytest.fixture(scope="module")
def predicted(folder):
    """Return the model of the mixed table, rows, and the probabilities of its classes."""
    model, table = load(folder / "classes.skops"), pl.read_csv(folder / "new.csv")
    rows = table.select(model.feature_names_in_.tolist()).with_columns(
        pl.col("flag").cast(pl.Float64)
    )
    return model, rows, model.predict_proba(rows)


def test_onnx(run, folder, tmp_path, predicted):
    _, rows, shares = predicted
    out = tmp_path / "model.onnx"
    result = run("export", folder / "classes.skops", "--to", "onnx", "-o", out, "--contributions")
    assert result.exit_code == 0, result.output
    assert f"wrote {out}" in result.stderr
    session = onnxruntime.InferenceSession(out)
    given = {
        each.name: rows[each.name].fill_null("").to_numpy().astype(object)[:, None]
        if each.type == "tensor(string)"
        else rows[each.name].cast(pl.Float64).fill_null(float("nan")).to_numpy()[:, None]
        for each in session.get_inputs()
    }
    found = session.run(["probabilities", "contributions"], given)
    assert_allclose(found[0], shares, atol=1e-9)
    assert found[1].shape == (60, len(given), 1)


def test_json_and_its_reader(run, folder, tmp_path, predicted):
    _, rows, shares = predicted
    out, reader = tmp_path / "model.json", tmp_path / "reader.js"
    words = "--to", "json", "-o", out, "--reader", reader, "--json"
    result = run("export", folder / "classes.skops", *words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["bytes"] == out.stat().st_size
    assert "module.exports" in reader.read_text()
    assert_allclose(from_json(out).predict_proba(rows), shares, atol=1e-12)


def test_sql(run, folder, tmp_path, predicted):
    _, rows, shares = predicted
    out = tmp_path / "model.sql"
    words = "--to", "sql", "-o", out, "--dialect", "sqlite", "--table", "new", "--keep", "a"
    result = run("export", folder / "classes.skops", *words)
    assert result.exit_code == 0, result.output
    connection = sqlite3.connect(":memory:")
    pd.DataFrame(rows.to_dict(as_series=False)).to_sql("new", connection, index=False)
    found = connection.execute(out.read_text()).fetchall()
    connection.close()
    assert [row[0] for row in found] == rows["a"].to_list()
    assert_allclose([row[2:] for row in found], shares, atol=1e-9)


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (("--to", "onnx", "--keep", "a"), "--keep 'a' is for --to sql", 2),
        (("--to", "sql", "--reader", "r.js"), "--reader r.js is for --to json", 2),
        (("--to", "json", "--contributions"), "contain them already", 2),
        (("--to", "pmml"), "pmml", 2),
    ],
)
def test_wrong_usage(refused, folder, tmp_path, words, message, code):
    out = tmp_path / "model"
    line = refused("export", folder / "classes.skops", *words, "-o", out, code=code)
    assert message in line


def test_serve_refuses_what_it_cannot_serve(refused, folder, tmp_path):
    assert "no such file" in refused("serve", tmp_path / "none.skops")
    line = refused("serve", folder / "classes.skops", "--report", tmp_path / "none.html")
    assert "--report" in line
    (tmp_path / "other.skops").write_bytes(b"PK and more")
    assert "truncated or damaged" in refused("serve", tmp_path / "other.skops")

"""``kernsemble fit`` on several files, on folders and on files larger than memory."""

import json

import numpy as np
import polars as pl
import pytest

from kernsemble.cli.table_files import is_streamed
from kernsemble.datasets import make_threenorm
from kernsemble.persistence import load
from kernsemble.svm import InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV

QUICK = "--kernel", "stump", "--scaling", "range", "--folds", "2"


@pytest.fixture(scope="module")
def rows():
    X, y = make_threenorm(600, n_features=3, random_state=0)
    towns = np.random.default_rng(0).choice(["Cork", "Bern"], 600)
    return pl.DataFrame({f"x{d}": X[:, d] for d in range(3)}).with_columns(
        town=pl.Series(towns),
        number=pl.Series([f"id {k}" for k in range(600)]),
        price=pl.Series(X[:, 0] + (towns == "Cork")),
        y=pl.Series(np.where(y > 0, "yes", "no")),
    )


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    for k in range(3):
        rows[200 * k : 200 * (k + 1)].write_parquet(folder / f"{k}.parquet")
    return folder


def test_several_files_are_read_in_blocks(run, rows, folder, tmp_path):
    out = tmp_path / "model.skops"
    paths = sorted(folder.glob("*.parquet"))
    result = run("fit", *paths, "-t", "y", *QUICK, "--drop", "price", "-o", out, "--json")
    found = json.loads(result.stdout)
    assert (found["rows"], found["task"], found["classes"]) == (
        600,
        "classification",
        ["no", "yes"],
    )
    assert list(found["columns"]) == ["x0", "x1", "x2", "town"]
    assert "column 'number' has different text in each of the first 600 rows" in result.stderr
    model = load(out)
    assert type(model) is InfiniteEnsembleClassifierCV
    assert model.loss_ == "logistic"
    rows.write_csv(tmp_path / "rows.csv")
    predicted = run("predict", out, tmp_path / "rows.csv").stdout.splitlines()
    assert len(predicted) == 601
    assert predicted[0] == "prediction,probability_no,probability_yes"


def test_a_folder_of_numbers_is_a_regression(run, folder, tmp_path):
    out = tmp_path / "model.skops"
    words = "-t", "price", *QUICK, "--drop", "y", "--drop", "number", "-o", out
    lines = run("fit", folder, *words).stdout.splitlines()
    assert "600 rows, 3 numeric columns and 1 categorical, read in blocks" in lines[0]
    assert lines[1] == "price: regression"
    assert lines[-1].startswith("selected: stump, scaling range")
    assert type(load(out)) is InfiniteEnsembleRegressorCV


def test_the_model_is_that_of_all_rows_in_one_file(run, rows, folder, tmp_path):
    rows[:250].write_csv(tmp_path / "a.csv")
    rows[250:].write_csv(tmp_path / "b.csv")
    values = []
    for name, paths in (("p", [folder]), ("c", [tmp_path / "a.csv", tmp_path / "b.csv"])):
        out = tmp_path / f"{name}.skops"
        run("fit", *paths, "-t", "y", *QUICK, "--drop", "number", "--tol", "1e-8", "-o", out)
        model = load(out)
        values.append(model.decision_function(rows[model.feature_names_in_.tolist()]))
    np.testing.assert_allclose(values[0], values[1], atol=1e-6)


def test_files_larger_than_memory_are_read_in_blocks(folder, tmp_path):
    path = folder / "0.parquet"
    size = path.stat().st_size
    assert is_streamed([path], memory=10 * size)
    assert not is_streamed([path], memory=100 * size)
    assert is_streamed([folder])
    assert is_streamed([path, path])
    assert is_streamed([folder / "*.parquet"])
    (tmp_path / "t.csv").write_text("x\n1\n")
    assert not is_streamed([tmp_path / "t.csv"])
    assert not is_streamed([tmp_path / "missing.csv"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--report", "page.html"), "--report needs all rows in memory"),
        (("--holdout", "0.2"), "--holdout needs all rows in memory"),
        (("--target", "z"), "--target 'z'"),
        (("--solver", "exact"), "rows in blocks need the additive solver"),
        (("--scoring", "f1"), "rows in blocks need one of accuracy"),
        (("--drop", "nothing"), "--drop 'nothing'"),
    ],
)
def test_what_needs_rows_in_memory_is_refused_in_one_line(
    run, folder, monkeypatch, tmp_path, words, message
):
    monkeypatch.chdir(tmp_path)
    target = () if "--target" in words else ("--target", "y")
    result = run("fit", folder, *target, "--out", "m.skops", "--drop", "number", *words)
    assert result.exit_code in {1, 2}
    assert message in result.stderr.splitlines()[-1]
    assert not (tmp_path / "m.skops").exists()


def test_files_that_cannot_be_read_together_are_refused(refused, folder, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("a,y\n1,2\n")
    words = "--target", "y", "--out", tmp_path / "m.skops"
    assert "some files are Parquet and some CSV" in refused(
        "fit", folder / "0.parquet", other, *words
    )
    assert "no such file" in refused("fit", folder / "0.parquet", tmp_path / "no.parquet", *words)
    pl.DataFrame({"a": [1.0], "y": [2.0]}).write_parquet(tmp_path / "wide.parquet")
    line = refused("fit", folder / "0.parquet", tmp_path / "wide.parquet", *words)
    assert "same columns in every file" in line


def test_a_scheduler_that_does_not_exist_is_refused(run, folder, monkeypatch, tmp_path):
    pytest.importorskip("distributed")
    pytest.importorskip("pyarrow")
    from kernsemble.cli import fit_stream

    monkeypatch.setattr(fit_stream, "TIMEOUT", "1s")
    words = "--target", "y", "--out", tmp_path / "m.skops", "--dask", "tcp://127.0.0.1:9"
    result = run("fit", folder, *words)
    assert result.exit_code == 1
    assert "no scheduler answers there within 1s" in result.stderr.splitlines()[-1]

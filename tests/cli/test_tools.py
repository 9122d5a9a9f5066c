"""``explain``, ``select``, ``rare`` and ``--report``, where the library has these parts."""

import json

import numpy as np
import polars as pl
import pytest
from cases import has_part
from numpy.testing import assert_allclose

from kernsemble import load
from kernsemble.cli import fit as fitting
from kernsemble.datasets import make_sparse_sum, make_threenorm


def needs(module, name):
    """Return a mark that skips where a part of the library is not there."""
    reason = f"kernsemble.{module}.{name} is not there"
    return pytest.mark.skipif(not has_part(module, name), reason=reason)


explains = needs("inspection", "EnsembleView")
selects = needs("selection", "ParallelEvolutionSelector")
detects = needs("detection", "LagoClassifier")
reports = needs("report", "write_report")


@explains
@pytest.mark.parametrize("model", ["classes", "numbers", "exact"])
def test_contributions_sum_to_the_decision_value(run, folder, model):
    fitted = load(folder / f"{model}.skops")
    table = folder / ("new_numbers.csv" if model == "exact" else "new.csv")
    words = "explain", folder / f"{model}.skops", "--data", table, "--row", 5
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    ((_, told),) = json.loads(result.stdout)["machines"].items()
    total = told["intercept"] + sum(told["contributions"].values())
    row = pl.read_csv(table)[4:5].select(fitted.feature_names_in_.tolist())
    tell = fitted.predict if model == "numbers" else fitted.decision_function
    assert_allclose(total, tell(row)[0], rtol=1e-9)
    assert "the decision value" in run(*words).stdout


@explains
def test_importances_are_shares(run, folder):
    words = "explain", folder / "classes.skops"
    ((_, told),) = json.loads(run(*words, "--json").stdout)["importances"].items()
    assert_allclose(sum(told["shares"].values()), 1.0)
    assert max(told["shares"], key=told["shares"].get) == "a"
    assert "share, %" in run(*words).stdout


@explains
def test_rows_that_are_not_there(refused, folder):
    words = "explain", folder / "classes.skops"
    assert "needs --data too" in refused(*words, "--row", 1, code=2)
    assert "needs --row too" in refused(*words, "--data", folder / "new.csv", code=2)
    assert "has 60 rows" in refused(*words, "--data", folder / "new.csv", "--row", 61)
    assert "misses column 'b'" in refused(*words, "--data", folder / "new_numbers.csv", "--row", 1)


@selects
@pytest.mark.large
def test_the_columns_that_matter_are_selected(run, tmp_path):
    X, y = make_sparse_sum(random_state=0)
    table, out = tmp_path / "t.csv", tmp_path / "selected.csv"
    columns = {f"x{d}": X[:, d] for d in range(X.shape[1])} | {"y": y}
    pl.DataFrame(columns).write_csv(table)
    words = "select", table, "--target", "y", "--seed", 0
    told = json.loads(run(*words, "--out", out, "--json").stdout)
    assert told["selected"] == ["x1", "x4", "x7"]
    assert pl.read_csv(out).columns == ["x1", "x4", "x7", "y"]
    assert [each["rank"] for each in told["columns"]][:3] == [1, 1, 1]
    assert "selected: x1, x4, x7" in run(*words).stdout


def test_only_numbers_are_selected_from(refused, folder):
    line = refused("select", folder / "train.csv", "--target", "label")
    assert "column 'colour' holds text" in line
    assert "--drop 'colour'" in line
    line = refused("select", folder / "train.csv", "-t", "label", "--drop", "colour")
    assert "column 'b' misses" in line


def test_more_than_two_classes_are_not_selected_for(refused, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("x,y\n" + "1,a\n2,b\n3,c\n" * 5)
    assert "has 3 classes" in refused("select", table, "--target", "y")


@detects
def test_rare_rows_are_found_and_ranked(run, tmp_path):
    X, y = make_threenorm(600, random_state=0)
    rows = np.r_[np.flatnonzero(y < 0), np.flatnonzero(y > 0)[:30]]
    table, out = tmp_path / "t.csv", tmp_path / "m.skops"
    frame = pl.DataFrame({f"x{d}": X[rows, d] for d in range(5)})
    frame.with_columns(pl.Series("y", np.where(y > 0, "rare", "usual")[rows])).write_csv(table)
    words = "rare", table, "--target", "y", "--rare", "rare"
    result = run(*words, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    (told,) = json.loads(result.stdout)["rare"]
    assert told["n_rare"] == 30
    assert told["average_precision"] > 30 / len(rows)
    assert told["hits"]["10"] <= 10
    assert "by chance" in run(*words).stdout
    scores = run("predict", out, table, "-o", "-")
    assert scores.exit_code == 0, scores.output
    assert len(scores.stdout.splitlines()) == 1 + len(rows)


def test_a_rare_class_must_be_one(refused, folder):
    words = "rare", folder / "train_numbers.csv", "--target", "label", "--rare", "medium"
    assert "has the classes high, low" in refused(*words)


@reports
def test_a_report_is_written_beside_the_model(run, folder, tmp_path):
    out, report = tmp_path / "m.skops", tmp_path / "r.html"
    words = "fit", folder / "train_numbers.csv", "-t", "label", "-k", "stump", "--folds", 2
    tested = "--test", folder / "new_numbers.csv"
    result = run(*words, *tested, "--out", out, "--report", report)
    assert result.exit_code == 0, result.output
    page = report.read_text(encoding="utf-8")
    assert "<html" in page
    assert "label of train_numbers.csv" in page
    assert {path.name for path in tmp_path.iterdir()} == {"m.skops", "r.html"}


def test_a_report_that_fails_leaves_no_model(refused, monkeypatch, folder, tmp_path):
    def fail(model, path, **about):
        path.write_text("half a page")
        raise ValueError("no ink")

    monkeypatch.setattr(fitting, "_report_writer", lambda: fail)
    words = "fit", folder / "train_numbers.csv", "-t", "label", "-k", "stump", "--folds", 2
    out, report = tmp_path / "m.skops", tmp_path / "r.html"
    assert "no ink" in refused(*words, "--json", "--out", out, "--report", report)
    assert "give two names" in refused(*words, "--out", out, "--report", out)


@pytest.mark.skipif(has_part("report", "write_report"), reason="reports can be written")
def test_a_report_that_cannot_be_written_is_refused_before_the_fit(refused, folder, tmp_path):
    words = "fit", folder / "train_numbers.csv", "-t", "label", "-o", tmp_path / "m.skops"
    assert "--report" in refused(*words, "--report", tmp_path / "r.html")

"""``kernsemble explain``, ``select`` and ``rare``, and ``fit --report``."""

import json
import sys

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from kernsemble import load, save
from kernsemble.cli import fit as fitting
from kernsemble.datasets import make_sparse_sum, make_threenorm
from kernsemble.svm import InfiniteEnsembleClassifier


@pytest.mark.parametrize("model", ["classes", "numbers", "exact"])
def test_contributions_sum_to_the_decision_value(run, folder, model):
    fitted = load(folder / f"{model}.skops")
    table = folder / ("new_numbers.csv" if model == "exact" else "new.csv")
    words = "explain", folder / f"{model}.skops", "--data", table, "--row", 5
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    ((_, output),) = json.loads(result.stdout)["machines"].items()
    total = output["intercept"] + sum(output["contributions"].values())
    row = pl.read_csv(table)[4:5].select(fitted.feature_names_in_.tolist())
    decide = fitted.predict if model == "numbers" else fitted.decision_function
    assert_allclose(total, decide(row)[0], rtol=1e-9)
    result = run(*words).stdout
    unit = {"classes": "log-odds", "numbers": "units of level", "exact": "decision value"}[model]
    assert f"contribution, {unit}" in result


def test_explained_rows_show_the_prediction_and_its_probability(run, folder):
    model = load(folder / "classes.skops")
    row = pl.read_csv(folder / "new.csv")[4:5].select(model.feature_names_in_.tolist())
    words = "explain", folder / "classes.skops", "--data", folder / "new.csv", "--row", 5
    output = json.loads(run(*words, "--json").stdout)
    assert output["prediction"] == model.predict(row)[0]
    assert_allclose(list(output["probabilities"].values()), model.predict_proba(row)[0])
    *_, last = run(*words).stdout.splitlines()
    chance = output["probabilities"][output["prediction"]]
    assert last == f"prediction for row 5: {output['prediction']}, with probability {chance:.3f}"
    words = "explain", folder / "numbers.skops", "--data", folder / "new.csv", "--row", 5
    output = json.loads(run(*words, "--json").stdout)
    assert output["probabilities"] is None
    assert run(*words).stdout.splitlines()[-1] == (
        f"prediction for row 5: {output['prediction']:.4g}"
    )


def test_importances_are_shares(run, folder):
    words = "explain", folder / "classes.skops"
    ((_, output),) = json.loads(run(*words, "--json").stdout)["importances"].items()
    assert_allclose(sum(output["shares"].values()), 1.0)
    assert max(output["shares"], key=output["shares"].get) == "a"
    assert "share, %" in run(*words).stdout


def many_classes(n_classes, folder):
    rng = np.random.default_rng(0)
    y = np.repeat([f"c{k}" for k in range(n_classes)], 8)
    X = pl.DataFrame(rng.normal(size=(len(y), 2)), schema=["a", "b"])
    save(InfiniteEnsembleClassifier("stump").fit(X, y), folder / "many.skops")
    X.write_csv(folder / "many.csv")
    return folder / "many.skops", folder / "many.csv"


def test_several_classes_are_explained_side_by_side(run, tmp_path):
    model, table = many_classes(4, tmp_path)
    (header,) = [line for line in run("explain", model).stdout.splitlines() if "column" in line]
    assert header.split() == ["column", "mean", "of", "classes", "c0", "c1", "c2", "c3"]
    words = "explain", model, "--data", table, "--row", 2
    result = run(*words)
    assert result.stdout.count("(intercept)") == 3
    assert "the other class is in the output of --json" in result.stderr
    output = json.loads(run(*words, "--json").stdout)
    assert len(output["machines"]) == 4
    assert f"{output['prediction']}, row 2" in result.stdout.splitlines()[0]


def test_the_mean_importance_of_many_classes_is_shown(run, tmp_path):
    model, _ = many_classes(8, tmp_path)
    result = run("explain", model)
    found = json.loads(run("explain", model, "--json").stdout)["importances"]
    mean = np.mean([each["shares"]["a"] for each in found.values()])
    (row,) = [line.split() for line in result.stdout.splitlines() if line.startswith("  a ")]
    assert row == ["a", f"{100 * mean:.1f}"]
    assert "each of the 8 classes" in result.stderr


def test_models_of_other_kinds_cannot_be_explained(refused, folder, tmp_path):
    X = pl.read_csv(folder / "train_numbers.csv")
    other = save(
        LogisticRegression().fit(X.select("a"), X["label"].to_numpy()), tmp_path / "m.skops"
    )
    assert "contains LogisticRegression, which cannot be explained" in refused("explain", other)


def test_missing_rows_and_columns_are_errors(refused, folder):
    words = "explain", folder / "classes.skops"
    assert "--row 1 needs the table of that row: add --data TABLE" in refused(
        *words, "--row", 1, code=2
    )
    assert "needs the row to explain: add one, such as --row 1" in refused(
        *words, "--data", folder / "new.csv", code=2
    )
    assert "has 60 rows" in refused(*words, "--data", folder / "new.csv", "--row", 61)
    assert "has no column 'b'" in refused(*words, "--data", folder / "new_numbers.csv", "--row", 1)


@pytest.mark.large
def test_the_true_columns_are_selected(run, tmp_path):
    X, y = make_sparse_sum(random_state=0)
    table, out = tmp_path / "t.csv", tmp_path / "selected.csv"
    columns = {f"x{d}": X[:, d] for d in range(X.shape[1])} | {"y": y}
    pl.DataFrame(columns).write_csv(table)
    words = "select", table, "--target", "y", "--seed", 0
    output = json.loads(run(*words, "--out", out, "--json").stdout)
    assert output["selected"] == ["x1", "x4", "x7"]
    assert pl.read_csv(out).columns == ["x1", "x4", "x7", "y"]
    assert [each["rank"] for each in output["columns"]][:3] == [1, 1, 1]
    assert "selected: x1, x4, x7" in run(*words).stdout


def test_select_and_rare_take_the_tables_of_fit(run, folder, tmp_path):
    words = folder / "train.csv", "--target", "label", "--drop", "level"
    result = run("select", *words, "--universes", 5, "--out", tmp_path / "s.csv", "--json")
    assert result.exit_code == 0, result.output
    output = json.loads(result.stdout)
    assert {each["column"] for each in output["columns"]} == {"a", "b", "colour", "flag"}
    assert "a" in output["selected"]
    selected = pl.read_csv(tmp_path / "s.csv")
    assert set(selected.columns) == {*output["selected"], "label"}
    assert "no model was written: add --out" in run("rare", *words).stderr
    result = run("rare", *words, "--out", tmp_path / "m.skops", "--json")
    assert result.exit_code == 0, result.output
    result = run("predict", tmp_path / "m.skops", folder / "new.csv", "-o", "-")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 61


def test_messages_of_select_and_rare_name_their_options(run, refused, tmp_path):
    rng, table = np.random.default_rng(0), tmp_path / "t.csv"
    frame = pl.DataFrame({f"x{d}": rng.normal(size=40) for d in range(6)})
    frame.with_columns(pl.Series("y", rng.normal(size=40))).write_csv(table)
    result = run("select", table, "--target", "y", "--universes", 1)
    assert "raise --universes" in result.stderr
    assert "n_universes" not in result.stderr
    line = refused("rare", table, "--target", "y")
    assert "'y' contains numbers from -" in line
    assert "predict the numbers with kernsemble fit" in line
    table.write_text("x,y\n" + "1,a\n2,a\n" * 9 + "3,b\n")
    assert "class b of 'y' has only one row" in refused("rare", table, "--target", "y")


def test_select_supports_two_classes_only(refused, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("x,y\n" + "1,a\n2,b\n3,c\n" * 5)
    assert "has 3 classes" in refused("select", table, "--target", "y")


def test_rare_rows_are_found_and_ranked(run, tmp_path):
    X, y = make_threenorm(600, random_state=0)
    rows = np.r_[np.flatnonzero(y < 0), np.flatnonzero(y > 0)[:30]]
    table, out = tmp_path / "t.csv", tmp_path / "m.skops"
    frame = pl.DataFrame({f"x{d}": X[rows, d] for d in range(5)})
    frame.with_columns(pl.Series("y", np.where(y > 0, "rare", "usual")[rows])).write_csv(table)
    words = "rare", table, "--target", "y", "--rare", "rare"
    result = run(*words, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    (output,) = json.loads(result.stdout)["rare"]
    assert output["n_rare"] == 30
    assert output["average_precision"] > 30 / len(rows)
    assert output["hits"]["10"] <= 10
    assert "by chance" in run(*words).stdout
    scores = run("predict", out, table, "-o", "-")
    assert scores.exit_code == 0, scores.output
    assert len(scores.stdout.splitlines()) == 1 + len(rows)
    gaps = pl.read_csv(table).with_columns(pl.lit(None, dtype=pl.Float64).alias("x0"))
    gaps.write_csv(tmp_path / "gaps.csv")
    assert run("predict", out, tmp_path / "gaps.csv", "-o", "-").exit_code == 0


def test_the_rare_class_must_be_a_class(refused, folder):
    words = "rare", folder / "train_numbers.csv", "--target", "label", "--rare", "medium"
    assert "has the classes 'high', 'low'" in refused(*words)


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
    assert "use two names" in refused(*words, "--out", out, "--report", out)


def test_a_report_without_its_extra_is_an_error_before_the_fit(
    refused, monkeypatch, folder, tmp_path
):
    monkeypatch.setitem(sys.modules, "kernsemble.report", None)
    words = "fit", folder / "train_numbers.csv", "-t", "label", "-o", tmp_path / "m.skops"
    assert "pip install 'kernsemble[report]'" in refused(*words, "--report", tmp_path / "r.html")


def test_explained_rows_show_dates_and_large_numbers_readably(run, tmp_path):
    path, days = tmp_path / "homes.csv", np.datetime64("2020-01-01") + np.arange(0, 400, 10)
    prices = 2e5 + 1e3 * np.arange(40)
    lines = [f"{day},{price}" for day, price in zip(days, prices, strict=True)]
    path.write_text("\n".join(["sold,price", *lines]), encoding="utf-8")
    model = tmp_path / "m.skops"
    fitted = run(
        "fit", path, "--target", "price", "--out", model, "--kernel", "stump", "--folds", 2
    )
    assert "0 numeric, 0 categorical and 1 date column\n" in fitted.stdout
    assert "from 200,000 to 239,000" in fitted.stdout
    assert "always guessing the mean (219,500)" in fitted.stdout
    shown = run("explain", model, "--data", path, "--row", 2).stdout
    assert "2020-01-11 " in shown
    assert "00:00" not in shown
    assert "e+05" not in shown

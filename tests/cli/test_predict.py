"""``kernsemble predict``: columns by name, rows in chunks, unseen categories."""

import json
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from kernsemble import load, save
from kernsemble.cli.predict import TablePredictor
from kernsemble.kernels import Stump
from kernsemble.svm import InfiniteEnsembleClassifier


def features(folder, model="classes"):
    new = pl.read_parquet(folder / "new.parquet")
    return new.select(load(folder / f"{model}.skops").feature_names_in_.tolist())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_scores_are_those_of_the_model(run, folder, tmp_path, ending):
    out = tmp_path / "scores.csv"
    words = "predict", folder / "classes.skops", folder / f"new.{ending}", "-o", out, "--decision"
    result = run(*words, "--keep", "level", "--progress")
    assert result.exit_code == 0, result.output
    scores, model, X = pl.read_csv(out), load(folder / "classes.skops"), features(folder)
    assert scores.columns == [
        *("level", "prediction", "probability_high", "probability_low", "decision")
    ]
    assert_array_equal(scores["prediction"].to_numpy(), model.predict(X))
    assert_allclose(scores["decision"], model.decision_function(X), rtol=1e-12)
    chances = scores.select("probability_high", "probability_low").to_numpy()
    assert_allclose(chances, model.predict_proba(X), rtol=1e-12)


def test_predictions_do_not_depend_on_chunks(run, folder, tmp_path):
    out = tmp_path / "scores.csv.gz"
    words = "predict", folder / "numbers.skops", folder / "new.csv", "-o", out
    assert run(*words, "--chunk-rows", 7).exit_code == 0
    model = load(folder / "numbers.skops")
    assert_allclose(pl.read_csv(out)["prediction"], model.predict(features(folder, "numbers")))


def test_columns_are_found_by_name(run, folder, tmp_path):
    new = pl.read_csv(folder / "new.csv")
    shuffled = new.select(pl.lit(1).alias("more"), "flag", "colour", "b", "a")
    shuffled.write_csv(tmp_path / "shuffled.csv")
    results = []
    for table in (folder / "new.csv", tmp_path / "shuffled.csv"):
        result = run("predict", folder / "classes.skops", table, "-o", "-")
        assert result.exit_code == 0, result.output
        results.append(result.stdout)
    assert results[0] == results[1]
    assert "1 column is not used by the model: 'more'" in result.stderr


def test_without_out_predictions_go_to_standard_output(run, refused, folder):
    words = "predict", folder / "classes.skops", folder / "new.csv"
    assert run(*words).stdout == run(*words, "-o", "-").stdout != ""
    assert "write them to a file with --out" in refused(*words, "--json", code=2)


def test_missing_columns_and_text_in_numeric_columns_are_errors(refused, folder, tmp_path):
    new, out = pl.read_csv(folder / "new.csv"), tmp_path / "scores.csv"
    table = tmp_path / "table.csv"
    words = "predict", folder / "classes.skops", table, "-o", out
    new.drop("a", "flag").write_csv(table)
    line = refused(*words)
    assert "lacks 2 of the 4 columns" in line
    assert "'a', 'flag'" in line
    text = new.with_columns(pl.col("a").cast(pl.String))
    text[:5].with_columns(pl.Series("a", ["1", " 2.5", "", "many", "3"])).write_csv(table)
    line = refused(*words)
    assert "column 'a' contains numbers in the training data" in line
    assert "'many' in row 4" in line
    new.with_columns(a=pl.lit("-inf")).write_csv(table)
    assert "column 'a' is infinite in row 1" in refused(*words)
    assert "--keep 'who'" in refused(*words, "--keep", "who")


def test_no_rows_give_a_header(run, folder, tmp_path):
    new, table = pl.read_csv(folder / "new.csv"), tmp_path / "none.csv"
    new[:0].write_csv(table)
    for model in ("classes", "numbers"):
        whole = run("predict", folder / f"{model}.skops", folder / "new.csv", "-o", "-")
        none = run("predict", folder / f"{model}.skops", table, "-o", "-", "--decision")
        assert none.exit_code == 0, none.output
        assert none.stdout.startswith(whole.stdout.splitlines()[0])
        assert len(none.stdout.splitlines()) == 1


def test_unseen_categories_are_counted(run, folder, tmp_path):
    new, table = pl.read_csv(folder / "new.csv"), tmp_path / "table.csv"
    colours = ["pink" if k < 4 else "red" for k in range(new.height)]
    new.with_columns(pl.Series("colour", colours)).write_csv(table)
    out = tmp_path / "scores.csv"
    words = "predict", folder / "classes.skops", table, "-o", out
    output = json.loads(run(*words, "--json").stdout)
    assert output["unseen_categories"] == {"colour": 4}
    assert output["rows"] == new.height
    assert "column 'colour': 4 entries" in run(*words, "--force").stderr
    model, X = load(folder / "classes.skops"), pl.read_csv(table)
    expected = model.predict(X.select(model.feature_names_in_.tolist()))
    assert_array_equal(pl.read_csv(out)["prediction"].to_numpy(), expected)


def test_the_exact_solver_does_not_support_missing_values(refused, folder, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,c\n1,2\n,3\n")
    line = refused("predict", folder / "exact.skops", table, "-o", tmp_path / "s.csv")
    assert "column 'a' has a missing value in row 2" in line
    assert "--solver additive" in line


def test_an_interrupt_counts_the_rows_on_standard_output(run, folder, tmp_path, monkeypatch):
    """A file has no rows after an interrupt; standard output cannot be taken back."""
    predicted = TablePredictor._predict

    def interrupted(self, rows):
        if self.n_rows >= 14:
            raise KeyboardInterrupt
        return predicted(self, rows)

    monkeypatch.setattr(TablePredictor, "_predict", interrupted)
    words = "predict", folder / "classes.skops", folder / "new.csv", "--chunk-rows", 7, "-o"
    result = run(*words, "-")
    assert result.exit_code == 130
    assert len(result.stdout.splitlines()) == 15
    assert "interrupted: 14 rows of predictions were written to standard output" in result.stderr
    result = run(*words, tmp_path / "s.csv")
    assert (result.exit_code, list(tmp_path.iterdir())) == (130, [])
    assert result.stderr.endswith("interrupted: nothing was written\n")


def test_models_saved_in_python_can_be_used(run, folder, tmp_path):
    X = pl.read_csv(folder / "train.csv")
    save(
        InfiniteEnsembleClassifier().fit(X.select("a", "colour"), X["label"].to_numpy()),
        tmp_path / "m.skops",
    )
    result = run("predict", tmp_path / "m.skops", folder / "new.csv", "-o", "-")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "prediction,decision"


def wrong_models(folder, place):
    """Yield files that are not our models, and part of the error message."""
    text = place / "text.skops"
    text.write_text("hello")
    yield text, "was not written by kernsemble"
    cut = place / "cut.skops"
    cut.write_bytes((folder / "classes.skops").read_bytes()[:2000])
    yield cut, "damaged"
    archive = place / "archive.skops"
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("a.txt", "a")
    yield archive, "was not written by kernsemble"
    yield save(Stump(), place / "kernel.skops"), "not a fitted model"
    nameless = InfiniteEnsembleClassifier().fit(np.array([[0.0], [1.0]]), [0, 1])
    yield save(nameless, place / "nameless.skops"), "a model without column names"
    foreign = LogisticRegression().fit(pl.DataFrame({"a": [0.0, 1.0]}), [0, 1])
    foreign.spoilt_ = Foreign()
    yield save(foreign, place / "foreign.skops"), "not known to be harmless"
    coded = pd.DataFrame({"a": pd.Categorical([1, 2, 1, 2])})
    coded = InfiniteEnsembleClassifier().fit(coded, [0, 1, 0, 1])
    yield save(coded, place / "coded.skops"), "categories that are not text"
    yield place / "none.skops", "no such file"
    yield place, "is not a file"


class Foreign:
    """A type that the library does not trust."""


def test_only_our_models_are_opened(refused, folder, tmp_path):
    for model, part in wrong_models(folder, tmp_path):
        assert part in refused("predict", model, folder / "new.csv", "-o", tmp_path / "s.csv")


def test_outputs_are_checked_before_anything_is_read(refused, folder, tmp_path):
    words = "predict", folder / "classes.skops", folder / "new.csv", "-o"
    assert ".csv or .csv.gz" in refused(*words, tmp_path / "scores.parquet")
    (tmp_path / "scores.csv").write_text("precious")
    assert "exists" in refused(*words, tmp_path / "scores.csv")
    assert "write them to a file with --out" in refused(*words, "-", "--json", code=2)
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder" in refused(*words, tmp_path / "folder.csv", "--force")

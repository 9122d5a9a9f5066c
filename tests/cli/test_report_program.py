"""The program and the command in the report of ``kernsemble fit``, and its importances."""

import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from numpy.testing import assert_array_equal

import kernsemble
from kernsemble import load
from kernsemble.cli.reading_program import reading_program
from kernsemble.cli.table_files import Reading, TableFile


def program_of(page):
    """Return the program on a page."""
    return html.unescape(re.search(r'<code id="program">(.*?)</code>', page, re.DOTALL)[1])


@pytest.mark.large
def test_the_program_of_a_report_fits_the_same_model_in_an_empty_folder(
    run, folder, tmp_path, monkeypatch
):
    here, empty = tmp_path / "here", tmp_path / "empty"
    for place in (here, empty):
        place.mkdir()
        shutil.copy(folder / "train.csv", place / "train.csv")
    monkeypatch.chdir(here)
    words = "fit", "train.csv", "-t", "label", "--drop", "level", "-k", "stump,category"
    words = *words, "--scaling", "range", "--folds", 2, "--holdout", 0.2
    result = run(*words, "--out", "m.skops", "--report", "r.html")
    assert result.exit_code == 0, result.output
    page = Path("r.html").read_text(encoding="utf-8")
    assert f"kernsemble {' '.join(map(str, words))} --out m.skops --report r.html" in page
    done = subprocess.run(
        [sys.executable, "-c", program_of(page)],
        cwd=empty,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(kernsemble.__file__).parents[1]), "NUMBA_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    again, model = load(empty / "model.skops"), load(here / "m.skops")
    rows = pl.read_csv("train.csv").select(model.feature_names_in_.tolist())
    assert_array_equal(again.decision_function(rows), model.decision_function(rows))


@pytest.mark.large
def test_the_report_and_explain_show_the_same_importances(run, folder, tmp_path):
    out, report = tmp_path / "m.skops", tmp_path / "r.html"
    words = "fit", folder / "train_numbers.csv", "-t", "label", "-k", "perceptron", "--folds", 2
    assert run(*words, "--out", out, "--report", report).exit_code == 0
    ((_, found),) = json.loads(run("explain", out, "--json").stdout)["importances"].items()
    page = report.read_text(encoding="utf-8")
    assert set(found["shares"]) == {"a", "c"}
    for share in found["shares"].values():
        assert f"{100 * share:.1f} %" in page
    assert set(found["standard_errors"]) == {"a", "c"}


def test_options_of_reading_are_arguments_of_the_program(folder):
    table = TableFile(folder / "train.csv", Reading(encoding="utf-8"))
    lines = reading_program(table, "label", ["a"], None, "classification", 50, None, 3)
    names = {}
    exec(lines, names)
    assert len(names["y"]) == 50
    assert "a" not in names["X"].columns
    plain = reading_program(
        TableFile(folder / "train.csv"), "label", None, None, None, None, None, 3
    )
    assert "read_training_data(table, 'label')" in plain

"""Tables that are broken, hostile or enormous: one line, an exit code, and nothing written."""

import datetime
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from kernsemble.cli import file_contents
from kernsemble.cli.app import app
from kernsemble.cli.csv_layout import find_layout, unique_names
from kernsemble.cli.file_contents import read_content
from kernsemble.cli.table_files import MAX_COLUMNS, TableFile

QUICK = "--kernel", "stump", "--scaling", "range", "--folds", "2", "--no-progress"
N = 40


def rows(seed=0):
    """Return columns of a small table with a target."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=N).round(3)
    return {"a": a, "b": rng.choice(["u", "v"], N), "y": np.where(a > 0.0, "p", "q")}


LINES = pl.DataFrame(rows()).write_csv().splitlines(keepends=True)


def with_line(line, place=10):
    """Return the table as text, with one more line."""
    return "".join([*LINES[:place], line, *LINES[place:]])


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    """Return a model of a and b."""
    place = tmp_path_factory.mktemp("models")
    (place / "train.csv").write_text("".join(LINES))
    path = place / "model.skops"
    assert run("fit", place / "train.csv", "-t", "y", *QUICK, "-o", path).exit_code == 0
    return path


def refused(part, *words, out):
    """Check that a command fails with one line, and that the old file is as it was."""
    out.write_text("old")
    result = run(*words, "--out", out, "--force")
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    (line,) = [each for each in result.stderr.splitlines() if ": note: " not in each]
    assert line.startswith("kernsemble: error: ")
    assert part in line
    assert "this is a bug" not in line
    assert out.read_text() == "old"
    assert not list(out.parent.glob(".*part*"))


BROKEN_TEXT = {
    "one more field": (with_line("1,u,p,z\n"), "line 11 has 4 fields, the header has 3"),
    "one field less": (with_line("1,u\n"), "line 11 has 2 fields, the header has 3"),
    "open quote": (with_line('1,"u,p\n'), "line 11 has 2 fields"),
    "zero byte": (with_line("1,u\0,p\n"), "contains a zero byte (byte "),
    "late zero byte": (
        "".join(LINES) + "".join(LINES[1:]) * 4000 + "1,u\0,p\n",
        "zero byte (byte ",
    ),
    "zero bytes": ("\0" * 100, "is not text"),
    "half a character": ("".join(LINES).encode("utf-16")[:-1], "is not encoded in utf-16"),
    "long header": ("a" * 200_000 + ",b,y\n1,u,p\n", "is not a CSV file (field larger"),
    "empty": ("", "is empty"),
    "blank": ("\n\n\n", "the first line is empty"),
    "pattern": ("^a$,b,y\n1,u,p\n", "omit the ^ and the $"),
    "infinite": (with_line("1e400,u,p\n"), "is infinite in row 10"),
}


@pytest.mark.parametrize("name", BROKEN_TEXT)
def test_broken_text_is_refused_by_fit_and_predict(name, model, tmp_path):
    text, part = BROKEN_TEXT[name]
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(part, "fit", path, "-t", "y", *QUICK, out=tmp_path / "m.skops")
    refused(part, "predict", model, path, "--no-progress", out=tmp_path / "s.csv")


@pytest.mark.parametrize("name", ["one more field", "one field less"])
def test_predict_names_a_ragged_line_in_any_chunk(name, model, tmp_path):
    text, part = BROKEN_TEXT[name]
    path = tmp_path / "t.csv"
    path.write_text(text)
    words = "predict", model, path, "--no-progress", "--chunk-rows", 3
    refused(part, *words, out=tmp_path / "s.csv")


def test_a_header_alone_has_no_rows_to_fit(model, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(LINES[0])
    refused("has a header but no rows", "fit", path, "-t", "y", *QUICK, out=tmp_path / "m.skops")
    assert run("predict", model, path).stdout == "prediction,probability_p,probability_q\n"


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings_are_detected(coding, model, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("".join(LINES).replace("u", "ü").encode(coding))
    result = run("predict", model, path, "--no-progress")
    assert result.exit_code == 0
    assert result.stdout.count("\n") == N + 1


# -- sizes


def test_the_header_may_be_longer_than_the_sample(tmp_path):
    names = [f"column_{k}" for k in range(40_000)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(names) + "\n" + ",".join("1" * len(names)) + "\n")
    assert TableFile(path).columns == names


def test_a_hundred_thousand_columns_are_refused(model, tmp_path):
    names = [f"c{k}" for k in range(100_000)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(names) + ",y\n" + "1," * len(names) + "p\n")
    part = f"has 100,001 columns, and commands read at most {MAX_COLUMNS:,}: select columns"
    refused(part, "fit", path, "-t", "y", *QUICK, out=tmp_path / "m.skops")
    refused(part, "predict", model, path, "--no-progress", out=tmp_path / "s.csv")


def test_many_equal_names_are_numbered_in_linear_time():
    names = unique_names(["x"] * 50_000 + ["x_3"], Path("t.csv"))
    assert names[:4] == ("x", "x_2", "x_4", "x_5")
    assert names[-1] == "x_3"
    assert len(set(names)) == 50_001


@pytest.fixture
def small_memory(monkeypatch) -> None:
    """Pretend that a megabyte of memory is available."""
    monkeypatch.setattr(file_contents, "_available", lambda: 2.0**20)


def zipped(name, content):
    """Return a zip archive with one member."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr(name, content)
    return archive.getvalue()


BOMBS = {
    "t.csv.gz": lambda: gzip.compress(b"a,y\n" + b"1,p\n" * 2**20),
    "t.zip": lambda: zipped("t.csv", b"a,y\n" + b"1,p\n" * 2**20),
    "t.xlsx": lambda: zipped("xl/workbook.xml", bytes(2**22)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_more_than_memory_is_refused(name, small_memory, tmp_path):
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    part = "unpacks to more than the 1 MB of memory that are available"
    refused(part, "fit", path, "-t", "y", *QUICK, out=tmp_path / "m.skops")


def test_a_plain_file_may_be_larger_than_memory(small_memory, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,y\n" + b"1,p\n" * 2**19)
    content = read_content(path, None)
    assert find_layout(content, path, None).names == ("a", "y")


# -- formulas

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "@SUM(1)", "-a", "\t=1", "-5.2", "+3", "-", "plain", None]


def written(model, tmp_path, *words):
    """Return the predictions of a table whose column id has formulas, and the notes."""
    table, out = tmp_path / "t.parquet", tmp_path / "s.csv"
    pl.DataFrame({**rows(), "id": FORMULAS * 4}).write_parquet(table)
    result = run("predict", model, table, "--keep", "id", "-o", out, "--no-progress", *words)
    assert result.exit_code == 0
    return pl.read_csv(out), result.stderr


def test_formulas_are_written_as_they_are_with_a_note(model, tmp_path):
    frame, notes = written(model, tmp_path)
    assert frame["id"].to_list() == FORMULAS * 4
    assert "20 cells begin with =, +, - or @, which spreadsheets run as a formula: add" in notes


def test_formulas_are_escaped_on_request(model, tmp_path):
    frame, notes = written(model, tmp_path, "--escape-formulas")
    expected = [f"'{each}" for each in FORMULAS[:5]] + FORMULAS[5:]
    assert frame["id"].to_list() == expected * 4
    assert "cells begin" not in notes


def test_classes_that_are_formulas_are_escaped(tmp_path):
    table, path = tmp_path / "t.csv", tmp_path / "m.skops"
    table.write_text("".join(LINES).replace("p", "=1+1"))
    assert run("fit", table, "-t", "y", *QUICK, "-o", path).exit_code == 0
    frame = pl.read_csv(io.StringIO(run("predict", path, table, "--escape-formulas").stdout))
    assert set(frame["prediction"]) == {"'=1+1", "q"}
    assert frame.columns == ["prediction", "probability_=1+1", "probability_q"]


# -- Parquet

UNUSABLE = {
    "list": [[1, 2]],
    "struct": [{"x": 1, "s": "t"}],
    "nested": [{"x": [{"y": 1}]}],
    "array": pl.Series([[1.0, 2.0]], dtype=pl.Array(pl.Float64, 2)),
    "bytes": [b"\x00\xff"],
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_nested_columns_are_refused(kind, model, tmp_path):
    path = tmp_path / "t.parquet"
    values = pl.concat([pl.Series("z", UNUSABLE[kind])] * N)
    pl.DataFrame(rows()).with_columns(values).write_parquet(path)
    part = "column 'z' contains values of the type"
    refused(part, "fit", path, "-t", "y", *QUICK, out=tmp_path / "m.skops")
    words = "predict", model, path, "--no-progress", "--keep", "z"
    refused("which a CSV file cannot contain", *words, out=tmp_path / "s.csv")


def test_times_that_csv_cannot_contain_are_refused(model, tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({**rows(), "z": [datetime.timedelta(1)] * N}).write_parquet(path)
    words = "predict", model, path, "--no-progress", "--keep", "z"
    refused("values of the type Duration", *words, out=tmp_path / "s.csv")


def test_damaged_parquet_is_refused_or_read(model, tmp_path):
    path, out = tmp_path / "t.parquet", tmp_path / "s.csv"
    pl.DataFrame(rows()).write_parquet(path)
    whole = path.read_bytes()
    n_refused = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        damaged = bytearray(whole)
        for place in rng.integers(len(whole), size=4):
            damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        result = run("predict", model, path, "-o", out, "--force", "--no-progress")
        assert result.exit_code in (0, 1)
        if result.exit_code:
            (line,) = [each for each in result.stderr.splitlines() if ": note: " not in each]
            assert "this is a bug" not in line, f"seed {seed}: {line}"
            n_refused += 1
    assert n_refused > 20

"""Formats of numbers and dates, layouts of CSV files, and findings about columns."""

import datetime
import gzip
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from kernsemble.cli.column_findings import note_leaks, useless_columns
from kernsemble.cli.column_types import as_training_kinds, typed_table
from kernsemble.cli.console import CommandError
from kernsemble.cli.csv_layout import find_layout, unique_names
from kernsemble.cli.date_formats import find_date_format, parse_dates
from kernsemble.cli.file_contents import FileContent, read_content
from kernsemble.cli.number_formats import NumberFormat, times_as_hours
from kernsemble.cli.table_files import Reading, TableFile
from kernsemble.cli.training_data import read_test_data, read_training_data


@pytest.mark.parametrize(
    ("entry", "point", "comma"),
    [
        ("1.5", 1.5, None),
        ("1,5", None, 1.5),
        ("1,234", 1234.0, 1.234),
        ("1.234", 1.234, 1234.0),
        ("0,234", None, 0.234),
        ("0.234", 0.234, None),
        ("1,234.5", 1234.5, None),
        ("1.234,5", None, 1234.5),
        ("-1 234 567,25", None, -1234567.25),
        ("1'234.5", 1234.5, None),
        ("1\u202f234", 1234.0, 1234.0),
        ("−7", -7.0, -7.0),
        ("(1,200)", -1200.0, -1.2),
        ("1e-3", 0.001, 0.001),
        ("12,34,567", None, None),
        ("1,2,3", None, None),
        ("1.2.3", None, None),
        ("", None, None),
        ("-", None, None),
        ("Cork", None, None),
    ],
)
def test_numbers_with_a_decimal_point_or_comma(entry, point, comma):
    text = pl.Series("x", [entry])
    assert NumberFormat(".").parse(text)[0] == point
    assert NumberFormat(",").parse(text)[0] == comma


@pytest.mark.parametrize(
    ("unit", "entries"),
    [
        ("%", ["12 %", "12%", "12"]),
        ("$", ["$12", "$ 12", "12 $", "+$12"]),
        ("€", ["12 €", "€12", "12,00 €".replace(",", ".")]),
        ("CHF", ["CHF 12", "12 CHF"]),
    ],
)
def test_units_stand_before_or_after_numbers(unit, entries):
    assert NumberFormat(".", unit).parse(pl.Series(entries)).to_list() == [12.0] * len(entries)
    assert NumberFormat(".", "$").parse(pl.Series(["($5)", "-$5", "$-5"])).to_list() == [-5.0] * 3


def columns_of(**columns):
    return typed_table(pl.DataFrame(columns), separator=";")


def test_other_columns_decide_what_a_comma_means(capsys):
    frame, layouts = columns_of(a=["1,234", "2,345"], b=["1,5", "2,25"], c=["1", "2"])
    assert frame["a"].to_list() == [1.234, 2.345]
    assert layouts == {"a": ",", "b": ",", "c": ","}
    frame, layouts = columns_of(a=["1,234", "2,345"], b=["1.5", "2.25"], c=["1", "2"])
    assert frame["a"].to_list() == [1234, 2345]
    assert layouts == {"a": "."}
    frame, _ = columns_of(a=["1.234", "2.345"], b=["1,5", "2,25"])
    assert frame["a"].to_list() == [1234, 2345]
    frame, _ = columns_of(a=["1.234", "2.345"], b=["x", "y"])
    assert frame["a"].to_list() == [1.234, 2.345]
    notes = capsys.readouterr().err.splitlines()
    comma = "read as numbers, with a decimal comma"
    assert notes[0] == f"kernsemble: note: column 'a': {comma}; set it with --decimal"
    assert notes[1] == f"kernsemble: note: column 'b': {comma}"


def test_a_column_with_another_entry_stays_text():
    frame, layouts = columns_of(a=["1,5", "cheap"], d=["2024-01-01", "soon"], t=["14:30", "24:30"])
    assert set(frame.dtypes) == {pl.String}
    assert layouts == {}


def test_whole_numbers_stay_whole():
    frame, _ = columns_of(a=["1", None, "-3"], b=["1", "2.5", None], c=["true", "False", None])
    assert frame.dtypes == [pl.Int64, pl.Float64, pl.Boolean]


@pytest.mark.parametrize(
    ("entries", "layout"),
    [
        (["2024-12-31", "2024-1-5"], "%Y-%m-%d"),
        (["2024-12-31T23:59:01Z", "2024-12-31T23:59:01.5+02:00"], "%Y-%m-%d"),
        (["2024-12-31 23:59", "2024-12-31 23:59:30"], "%Y-%m-%d"),
        (["31.12.2024", "1.2.2024 14:30"], "%d.%m.%Y"),
        (["31.12.24"], "%d.%m.%y"),
        (["12/31/2024", "1/2/2024"], "%m/%d/%Y"),
        (["31/12/2024", "1/2/2024"], "%d/%m/%Y"),
        (["12/31/24 1:30 PM"], "%m/%d/%y"),
        (["31 Dec 2024", "1 Feb 2023"], "%d %B %Y"),
        (["31-Dec-2024"], "%d-%B-%Y"),
        (["December 31, 2024", "Jan 1, 2024"], "%B %d, %Y"),
        (["2024/12/31"], "%Y/%m/%d"),
    ],
)
def test_formats_of_dates(entries, layout):
    text = pl.Series(entries)
    found = find_date_format(text)
    assert found.layout == layout
    assert found.alternative is None
    last = datetime.date(2024, 12, 31)
    assert parse_dates(text, layout).dt.date()[0] == last


def test_dates_that_leave_the_order_open_have_two_formats():
    text = pl.Series(["01/02/2024", "03/04/2024"])
    assert find_date_format(text) == ("%m/%d/%Y", "%d/%m/%Y")
    assert find_date_format(text, day_first=True) == ("%d/%m/%Y", "%m/%d/%Y")
    assert find_date_format(pl.Series(["31/31/2024"])) is None
    assert find_date_format(pl.Series(["2024-13-01"])) is None


def test_times_keep_the_clock_of_their_zone():
    text = pl.Series(["2024-12-31T23:59:00+05:30", "2024-12-31 1:30 PM", None])
    times = parse_dates(text, "%Y-%m-%d")
    assert times.dt.hour().to_list() == [23, 13, None]
    assert times_as_hours(pl.Series(["14:30", "0:00:36", None])).to_list() == [14.5, 0.01, None]


def layout_of(text, header=None):
    return find_layout(FileContent("text", text.encode()), "t.csv", header)


@pytest.mark.parametrize(
    ("text", "names", "separator", "n_before"),
    [
        ("a,b\n1,2\n", ("a", "b"), ",", 1),
        ("a;b\n1,5;2,5\n", ("a", "b"), ";", 1),
        ("1,5;2,5\n3,5;4,5\n", ("column_1", "column_2"), ";", 0),
        ("a, b\n1,2;3\n", ("a", "b"), ",", 1),
        ('"a\nb",c\n1,2\n', ("a\nb", "c"), ",", 2),
        ("# note\n\n# more\na|b\n1|2\n", ("a", "b"), "|", 4),
        ("#a,b\n1,2\n", ("#a", "b"), ",", 1),
        ("y\n1\n2\n", ("y",), ",", 1),
        ("a,b\nr1,1,2\nr2,3,4\n", ("", "a", "b"), ",", 1),
        ("a,b\n1,2,\n3,4,\n", ("a", "b", ""), ",", 1),
    ],
)
def test_layouts_of_csv_files(text, names, separator, n_before):
    layout = layout_of(text)
    assert (layout.names, layout.separator, layout.n_lines_before) == (names, separator, n_before)


def test_ragged_lines_are_counted_from_the_top_of_the_file():
    text = '# note\na,b\n1,"two\nlines"\n\n3,4,5\n'
    assert layout_of(text).ragged_line(FileContent("text", text.encode())) == (6, 3)
    assert layout_of("a,b\n1,2\n").ragged_line(FileContent("text", b"a,b\n1,2\n")) is None


def test_equal_names_are_numbered():
    assert unique_names(["x", "x", " x_2 ", "y", "x"], "t.csv") == ("x", "x_3", "x_2", "y", "x_4")
    assert unique_names(["", "a", ""], "t.csv") == ("", "a", " ")


def test_undefined_bytes_of_windows_are_latin_1(tmp_path, capsys):
    (tmp_path / "t.csv").write_bytes(b"x,y\n\x81,1\n")
    content = read_content(tmp_path / "t.csv", None)
    assert content.source == "x,y\n\x81,1\n".encode()
    assert "read as Latin-1" in capsys.readouterr().err


def test_useless_columns_and_their_reasons():
    n = 30
    table = pl.DataFrame(
        {
            "orderId": [1000 + 7 * k for k in range(n)],
            "position": list(range(n, 0, -1)),
            "year": list(range(1990, 1990 + n)),
            "idea": [k * k for k in range(n)],
            "zero": [0] * n,
            "mostly": [1, None] * (n // 2),
            "none": [None] * n,
            "name": [f"n{k}" for k in range(n)],
            "town": ["Cork", "Bath"] * (n // 2),
        },
        schema_overrides={"none": pl.String},
    )
    texts = ("none", "name", "town")
    kinds = {name: "category" if name in texts else "number" for name in table.columns}
    found = useless_columns(table, kinds)
    assert found.keys() == {"orderId", "position", "zero", "none", "name"}
    assert found["position"] == "numbers the rows from 1 to 30"


def test_leaks_are_perfect_predictors_only(capsys):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(["u", "v"], 50))
    table = pl.DataFrame(
        {
            "copy": np.where(y == "u", "left", "right"),
            "later": np.where(y == "u", -1.0, 1.0) * (1.0 + rng.random(100)),
            "good": np.where(y == "u", -1.0, 1.0) + rng.normal(size=100),
            "free": [f"t{k}" for k in range(100)],
        }
    )
    assert note_leaks(table, y, "y", is_regression=False) == ["copy", "later"]
    assert "accuracy 1.000" in capsys.readouterr().err
    numbers = rng.normal(size=100)
    table = pl.DataFrame({"cube": numbers**3, "near": numbers + 0.3 * rng.normal(size=100)})
    assert note_leaks(table, numbers, "y", is_regression=True) == ["cube"]
    rare = np.where(np.arange(2000) < 1, "u", "v")
    column = pl.DataFrame({"free": rng.random(2000)})
    assert note_leaks(column, rare, "y", is_regression=False) == []


def test_dates_of_models_from_python_have_any_format():
    for entries in (["2024-12-31", None], ["31.12.2024", None], [None, "2024-12-31T08:00"]):
        frame = pl.DataFrame({"when": entries})
        when = as_training_kinds(frame, {"when": "date"}, "t.csv", 1)["when"]
        assert when.drop_nulls().dt.date().to_list() == [datetime.date(2024, 12, 31)]
    empty = pl.DataFrame({"when": [None]}, schema={"when": pl.String})
    assert as_training_kinds(empty, {"when": "date"}, "t.csv", 1)["when"].null_count() == 1


def test_new_files_are_read_with_the_formats_of_training():
    frame = pl.DataFrame({"price": ["1.234,5 €", "7"], "paid": ["Yes", "n"], "at": ["8:30", None]})
    kinds = dict.fromkeys(frame.columns, "number")
    layouts = {"price": ",€", "paid": "yes/no", "at": "%H:%M"}
    converted = as_training_kinds(frame, kinds, "t.csv", 1, layouts)
    assert converted.rows() == [(1234.5, 1.0, 8.5), (7.0, 0.0, None)]


def test_parquet_types_become_numbers_and_dates(tmp_path):
    n, noon = 30, datetime.time(12)
    table = pl.DataFrame(
        {
            "at": [noon, None] * 15,
            "span": [datetime.timedelta(hours=6 * k % 36) for k in range(n)],
            "when": pl.datetime_range(
                datetime.datetime(2024, 1, 1),
                interval="1h",
                end=datetime.datetime(2024, 1, 2, 5),
                eager=True,
                time_zone="Asia/Tokyo",
            ),
            "y": ["u", "v"] * 15,
        }
    )
    table.write_parquet(tmp_path / "t.parquet")
    data = read_training_data(TableFile(tmp_path / "t.parquet"), "y")
    assert data.kinds == {"at": "number", "span": "number", "when": "date"}
    assert data.X["at"].to_list()[:2] == [12.0, None]
    assert data.X["span"][1] == 0.25
    assert data.X["when"][3] == datetime.datetime(2024, 1, 1, 3)
    again = as_training_kinds(table, data.kinds, "t.parquet", 1)
    assert again.equals(data.X)
    with pytest.raises(CommandError, match="'when' contains dates in the training data, but Int"):
        as_training_kinds(pl.DataFrame({"when": [1]}), {"when": "date"}, "t.parquet", 1)
    dates = pl.DataFrame({"span": [datetime.date(2024, 1, 1)]})
    with pytest.raises(CommandError, match="'span' contains numbers in the training data, but D"):
        as_training_kinds(dates, {"span": "number"}, "t.parquet", 1)
    nested = pl.DataFrame({"x": [[1, 2]] * 9, "y": [1] * 9})
    nested.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(CommandError, match="'x' contains values of the type List"):
        read_training_data(TableFile(tmp_path / "t.parquet"), "y")


def test_a_file_without_a_header_needs_the_columns_of_training(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n3,4\n")
    names = ("column_1", "column_2", "column_3")
    file = TableFile(tmp_path / "t.csv", Reading(), names, "column_1")
    assert file.columns == ["column_2", "column_3"]
    with pytest.raises(CommandError, match=r"has 2 columns, and the training data, .* 4"):
        TableFile(tmp_path / "t.csv", Reading(), (*names, "column_4"))
    (tmp_path / "t.csv").write_text("1,2\n3,4\n")
    with pytest.raises(CommandError, match="use column_1 to column_2, or a number from 1 to 2"):
        read_training_data(TableFile(tmp_path / "t.csv"), "3")


def test_old_line_ends_and_archives_of_standard_input(tmp_path, monkeypatch):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("t.csv", "a,b\r1,2\r3,4\r")
    for data in (packed.getvalue(), gzip.compress(b"a,b\n1,2\n3,4\n")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert TableFile(Path("-")).read().frame.rows() == [(1, 2), (3, 4)]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(CommandError, match="- is empty"):
        TableFile(Path("-"))


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("t.zip", b"PK", "cannot be read"),
        ("t.xlsx", b"PK\x03\x04", "cannot be read as Excel"),
        ("t.parquet", b"PAR1", "cannot be read as Parquet"),
        ("t.parquet.gz", b"", "must end in .csv"),
        ("t.csv", b"a,b\n1,2\n" * 9 + b"1\xff\xfe\n", "has 1 fields, the header has 2"),
        ("t.csv", b"ab\xff", "has no such column"),
        ("t.csv", b"^a$,b\n1,2\n", "the column name '.a.': omit"),
        ("t.csv", b"# a\n# b\n#", "contains only comments"),
        ("t.csv", b"a,b\n1,2\n3,inf\n", "column 'b' is infinite in row 2"),
        ("t.csv", b"a,b\n" + b"1,1e30\n2,2\n" * 9, ""),
    ],
)
def test_broken_files_are_refused(tmp_path, name, content, part):
    (tmp_path / name).write_bytes(content)
    if not part:
        assert read_training_data(TableFile(tmp_path / name), "b").task == "regression"
        return
    with pytest.raises(CommandError, match=part):
        read_training_data(TableFile(tmp_path / name), "b")


@pytest.mark.parametrize(
    ("target", "task", "part"),
    [
        (["true", "false"], "regression", "contains truth values, not numbers"),
        (["u", "v"], "regression", "contains text, not numbers"),
        (["1.5", "2.5"], "classification", "contains numbers such as 1.5, not classes"),
        (["1.5 €", "2.5 €"], None, ""),
    ],
)
def test_targets_must_fit_the_task(tmp_path, target, task, part):
    rows = [f"{k % 7},{target[k % 2]}" for k in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]), encoding="utf-8")
    file = TableFile(tmp_path / "t.csv")
    if not part:
        data = read_training_data(file, "y", task=task, max_rows=9)
        assert (data.task, data.n_rows, data.layouts) == ("regression", 9, {"y": ".€"})
        return
    with pytest.raises(CommandError, match=part):
        read_training_data(file, "y", task=task)


def test_test_tables_may_lack_targets_but_not_columns(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,True\n2,False\n3,True\n" * 9)
    train = read_training_data(TableFile(tmp_path / "t.csv"), "y")
    (tmp_path / "u.csv").write_text("y,x\nTRUE,7\n,8\n")
    tested = read_test_data(TableFile(tmp_path / "u.csv"), train)
    assert tested.X.rows() == [(7.0,)]
    assert tested.y.tolist() == ["true"]
    assert "1 of 2 rows have no 'y' and are left out, the first is row 2" in capsys.readouterr().err
    (tmp_path / "u.csv").write_text("y\nTRUE\n")
    with pytest.raises(CommandError, match="has no column 'x', which the training data have"):
        read_test_data(TableFile(tmp_path / "u.csv"), train)
    (tmp_path / "u.csv").write_text("x,y\n")
    with pytest.raises(CommandError, match="has a header but no rows"):
        read_test_data(TableFile(tmp_path / "u.csv"), train)

"""Tables as people have them: small twins of each, with the line of output to expect.

Each table is fitted, and most are predicted again, in this process. The expected lines are parts
of what the command writes to standard output or standard error.
"""

import gzip
import io
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from kernsemble.cli.app import app
from kernsemble.cli.console import CommandError
from kernsemble.cli.options import reading
from kernsemble.cli.table_files import TableFile
from kernsemble.cli.training_data import read_training_data

CHEAP = ("-k", "stump", "--scaling", "range", "--folds", "2", "--target")
N = 40
FITTED = "t.csv: 40 rows, 2 numeric and 0 categorical columns"
RNG = np.random.default_rng(0)
A = RNG.normal(size=N).round(3) + 5.0
B = RNG.integers(1000, 3_000_000, size=N)
Y = np.where(A + RNG.normal(size=N) > 5.0, "yes", "no")
DAYS = np.datetime64("2024-01-29") + np.arange(N) * 3
CLOCK = DAYS.astype("datetime64[ms]") + np.arange(N) * np.timedelta64(4321, "s")
US_DAYS = [f"{day.month}/{day.day}/{day.year}" for day in DAYS.tolist()]
GERMAN_DAYS = [f"{day:%d.%m.%Y}" for day in DAYS.tolist()]
AMBIGUOUS = [f"0{k % 9 + 1}/0{k % 8 + 1}/2024" for k in range(N)]


class Twin(NamedTuple):
    """A table, and what the command line writes about it."""

    name: str
    content: bytes
    lines: tuple[str, ...]
    options: tuple[str, ...] = ()
    file: str = "t.csv"
    target: str = "y"
    new: bytes | None = None  # table to predict; None for the same one, b"" for none
    code: int = 0


def text(columns, sep=",", end="\n", header=True, encoding="utf-8"):
    """Return a table as the bytes of a text file."""
    rows = zip(*columns.values(), strict=True)
    lines = [sep.join(columns)] * header + [sep.join(map(str, row)) for row in rows]
    return end.join([*lines, ""]).encode(encoding)


def comma(values):
    return [f"{value}".replace(".", ",") for value in values]


def plain(**more):
    return {"a": A, "b": B, **more, "y": Y}


def quoted(values):
    return [f'"{value}"' for value in values]


def parquet(columns):
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def zipped(**files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return file.getvalue()


def workbook(columns):
    """Return the first sheet of an Excel file, written by hand."""

    def cell(value):
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    rows = [list(columns), *zip(*(list(each) for each in columns.values()), strict=True)]
    body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    schema = "http://schemas.openxmlformats.org"
    main = f'xmlns="{schema}/spreadsheetml/2006/main"'
    office = f"{schema}/officeDocument/2006/relationships"
    links = f'<Relationships xmlns="{schema}/package/2006/relationships">'
    link = '<Relationship Id="r1" Type="{}/{}" Target="{}"/></Relationships>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in {
            "[Content_Types].xml": f'<Types xmlns="{schema}/package/2006/content-types"/>',
            "_rels/.rels": links + link.format(office, "officeDocument", "xl/workbook.xml"),
            "xl/_rels/workbook.xml.rels": links
            + link.format(office, "worksheet", "worksheets/sheet1.xml"),
            "xl/workbook.xml": f'<workbook {main} xmlns:r="{office}"><sheets>'
            '<sheet name="data" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/worksheets/sheet1.xml": f"<worksheet {main}><sheetData>{body}</sheetData>"
            "</worksheet>",
        }.items():
            archive.writestr(name, content)
    return file.getvalue()


def with_line(content, place, line):
    lines = content.decode().splitlines()
    return "\n".join([*lines[:place], line, *lines[place:]]).encode()


BASE = text(plain())
ACCOUNTS = [f"({b:,}.50)" if k % 3 else f"{b:,}.50" for k, b in enumerate(B)]
TABLES = [
    Twin("plain numbers", BASE, (FITTED, "y: classification (inferred")),
    Twin(
        "semicolons and decimal commas",
        text({"a": comma(A), "b": B, "y": Y}, ";"),
        (FITTED, "column 'a': read as numbers, with a decimal comma"),
    ),
    Twin("tabs", text(plain(), "\t"), (FITTED,)),
    Twin("pipes", text(plain(), "|"), (FITTED,)),
    Twin("line ends of Windows", text(plain(), end="\r\n"), (FITTED,)),
    Twin("byte order mark", text(plain(), encoding="utf-8-sig"), (FITTED,)),
    Twin("UTF-16", text(plain(), encoding="utf-16"), (FITTED, "t.csv: read as UTF-16")),
    Twin(
        "UTF-16 without a mark",
        text(plain(), encoding="utf-16-le"),
        (FITTED, "not UTF-8, read as UTF-16-LE"),
    ),
    Twin(
        "Latin-1",
        text(plain(ort=["Köln", "Zürich"] * 20), encoding="latin-1"),
        ("2 numeric and 1 categorical", "not UTF-8, read as Windows-1252 (Latin-1)"),
    ),
    Twin(
        "Latin-1, given",
        text(plain(ort=["Köln", "Zürich"] * 20), encoding="latin-1"),
        ("2 numeric and 1 categorical",),
        ("--encoding", "latin-1"),
    ),
    Twin(
        "dates",
        text(plain(when=DAYS)),
        ("2 numeric, 0 categorical and 1 date columns", "'when': read as dates, yyyy-mm-dd"),
    ),
    Twin(
        "datetimes",
        text(plain(when=[f"{each}Z" for each in CLOCK])),
        ("2 numeric, 0 categorical and 1 date columns",),
    ),
    Twin(
        "German dates",
        text(plain(when=GERMAN_DAYS)),
        ("column 'when': read as dates, dd.mm.yyyy",),
    ),
    Twin("US dates", text(plain(when=US_DAYS)), ("'when': read as dates, mm/dd/yyyy",)),
    Twin(
        "ambiguous dates",
        text(plain(when=AMBIGUOUS)),
        ("read as dates, dd/mm/yyyy; no entry shows whether", "see --month-first"),
        ("--day-first",),
    ),
    Twin(
        "times of day",
        text(plain(at=[f"{k % 24}:{k:02}" for k in range(N)])),
        ("3 numeric and 0 categorical", "column 'at': read as times of day, in hours"),
    ),
    Twin(
        "Parquet with dates",
        parquet({"a": A, "b": B, "when": CLOCK, "y": Y}),
        ("t.parquet: 40 rows, 2 numeric, 0 categorical and 1 date columns",),
        file="t.parquet",
    ),
    Twin(
        "customer ids",
        text({"CustomerID": B * 2 + np.arange(N) % 2, **plain()}),
        (FITTED, "column 'CustomerID' is an identifier by its name"),
    ),
    Twin(
        "row numbers",
        text({"nr": range(1, N + 1), **plain()}),
        (FITTED, "column 'nr' numbers the rows from 1 to 40: it is left out (--keep 'nr' to use"),
    ),
    Twin(
        "row numbers, kept",
        text({"nr": range(1, N + 1), **plain()}),
        ("3 numeric and 0 categorical",),
        ("--keep", "nr"),
    ),
    Twin(
        "text ids",
        text(plain(who=[f"person {k}" for k in range(N)])),
        (FITTED, "column 'who' has different text in every row"),
    ),
    Twin(
        "nameless row numbers",
        text({"": range(N), **plain()}),
        (FITTED, "a column without a name, probably row numbers, is ignored"),
    ),
    Twin(
        "row names of R",
        text({"a": A, "b": B, "y": Y}).replace(b"\n", b"\nr1,").removesuffix(b"r1,"),
        (FITTED, "a column without a name"),
    ),
    Twin(
        "constant column",
        text(plain(unit=["cm"] * N)),
        (FITTED, "column 'unit' has the same value, cm, in all rows"),
    ),
    Twin(
        "empty column",
        text(plain(remark=[""] * N)),
        (FITTED, "column 'remark' has only missing values"),
    ),
    Twin(
        "leaking column",
        text(plain(outcome=np.where(Y == "yes", "paid", "open"))),
        ("column 'outcome' alone predicts 'y' (accuracy 1.000)", "with --drop 'outcome'"),
    ),
    Twin(
        "leaking number",
        text({"a": A, "b": B, "net": B / 1.19, "y": B + 0.5}),
        ("column 'net' alone predicts 'y' (rank correlation 1.0000)", "y: regression"),
    ),
    Twin(
        "rows without a target",
        text({"a": A, "b": B, "y": ["" if k in (3, 17) else y for k, y in enumerate(Y)]}),
        ("2 of 40 rows have no 'y' and are left out, the first is row 4", "t.csv: 38 rows"),
    ),
    Twin(
        "a line with more fields",
        with_line(BASE, 16, "1,2,3,yes,no"),
        ("t.csv: line 17 has 5 fields, the header has 3: correct the line",),
        code=1,
    ),
    Twin(
        "a line with fewer fields",
        with_line(BASE, 16, "1,2"),
        ("t.csv: line 17 has 2 fields, the header has 3: correct the line",),
        code=1,
    ),
    Twin(
        "equal names",
        BASE.replace(b"a,b,y", b"a,a,y"),
        (FITTED, "columns of equal names are renamed to 'a_2'"),
    ),
    Twin(
        "no header",
        text({"a": A, "b": B, "y": B % 2}, header=False),
        (FITTED, "the first line contains only numbers", "named column_1 to column_3"),
        target="3",
        new=text({"a": A, "b": B}, header=False),
    ),
    Twin(
        "no header, given",
        text({"y": Y, "a": A, "b": B}, header=False),
        (FITTED, "column_1: classification"),
        ("--no-header",),
        target="1",
        new=text({"a": A, "b": B}, header=False),
    ),
    Twin(
        "no header, unnoticed",
        text({"y": Y, "a": A, "b": B}, header=False),
        ("--target 'y': t.csv has no such column", "use --no-header"),
        code=1,
    ),
    Twin(
        "thousands separators",
        text({"a": A, "b": quoted(f"{b:,}" for b in B), "y": Y}),
        (FITTED, "column 'b': read as numbers, with a decimal point"),
    ),
    Twin(
        "spaces between thousands",
        text({"a": comma(A), "b": [f"{b:,}".replace(",", " ") for b in B], "y": Y}, ";"),
        (FITTED, "columns 'a', 'b': read as numbers, with a decimal comma"),
    ),
    Twin(
        "percentages",
        text({"a": [f"{a} %" for a in A], "b": B, "y": Y}),
        (FITTED, "column 'a': read as numbers in percent (12 % is 12)"),
    ),
    Twin(
        "dollars",
        text({"a": A, "b": quoted(f"${b:,}.25" for b in B), "y": Y}),
        (FITTED, "column 'b': read as numbers in dollars, with a decimal point"),
    ),
    Twin(
        "euros",
        text({"a": comma(A), "b": [f"{b:,} €".replace(",", ".") for b in B], "y": Y}, ";"),
        (FITTED, "column 'b': read as numbers in euros, with a decimal comma"),
    ),
    Twin(
        "accountants' negative numbers",
        text({"a": A, "b": quoted(ACCOUNTS), "y": Y}),
        (FITTED, "column 'b': read as numbers, with a decimal point"),
    ),
    Twin(
        "truth values",
        text(plain(new=["True", "FALSE"] * 20, paid=["yes", "no"] * 20, t=["t", "f"] * 20)),
        ("5 numeric and 0 categorical columns",),
    ),
    Twin(
        "truth values as the target",
        text({"a": A, "y": np.where(Y == "yes", "TRUE", "FALSE")}),
        ("2 classes: false", "true"),
    ),
    Twin("gzip", gzip.compress(BASE), ("t.csv.gz: 40 rows",), file="t.csv.gz"),
    Twin("zip", zipped(t_csv=BASE), ("t.zip: 40 rows",), file="t.zip"),
    Twin(
        "two tables in a zip",
        zipped(a_csv=BASE, b_csv=BASE),
        ("t.zip contains 2 tables ('a.csv', 'b.csv'): use an archive with one table",),
        file="t.zip",
        code=1,
    ),
    Twin("Excel", workbook(plain()), ("t.xlsx: 40 rows, 2 numeric and 0",), file="t.xlsx"),
    Twin("standard input", BASE, ("-: 40 rows, 2 numeric and 0 categorical",), file="-"),
    Twin("Parquet from standard input", parquet(plain()), ("-: 40 rows",), file="-"),
    Twin(
        "many classes",
        text({"a": A, "b": B, "y": [f"k{k % 14}" for k in range(N)]}),
        ("y: classification (inferred; set it with --task), 14 classes", "and 2 more"),
        new=b"",
    ),
    Twin("one class", text({"a": A, "y": ["u"] * N}), ("contains only one class, u",), code=1),
    Twin("empty", b"", ("t.csv is empty: use a file with a header and rows",), code=1),
    Twin("header only", b"a,b,y\n", ("t.csv has a header but no rows",), code=1),
    Twin("image", b"\x89PNG\r\n\0\0\x01" * 9, ("t.csv is not text: use a CSV",), code=1),
    Twin(
        "quoted line ends",
        text(plain(note=quoted(["two\nlines", 'one "line', "a, b", "c"] * 10))).replace(
            b'one "', b'one ""'
        ),
        ("t.csv: 40 rows, 2 numeric and 1 categorical columns",),
    ),
    Twin(
        "inches",
        text(plain(pipe=['5" long', "short"] * 20)),
        ("t.csv: line 2 has an odd number of quotation marks",),
        code=1,
    ),
    Twin("separator at line ends", BASE.replace(b"\n", b",\n"), (FITTED,)),
    Twin(
        "separator at the end of rows", BASE.replace(b"\n", b",\n").replace(b"y,", b"y"), (FITTED,)
    ),
    Twin("comment lines", b"# from the lab\n# in cm\n" + BASE, (FITTED,)),
    Twin(
        "other markers of missing values",
        text(plain(z=["?", 1.5, 3.5, 2.5] * 10)),
        (
            "column 'z': read as categories, since 10 of 40 entries are not numbers",
            "use --missing '?'",
        ),
    ),
    Twin("missing values", text(plain(z=["NA", 1.5, "", 2.5] * 10)), ("with missing values",)),
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words, given=None):
    return CliRunner().invoke(app, [str(word) for word in words], input=given)


EVERY = pytest.mark.parametrize("twin", TABLES, ids=[each.name for each in TABLES])


@EVERY
def test_a_table_is_read_with_the_expected_notes(here, monkeypatch, capsys, twin):
    """The notes and errors of reading, without a fit."""
    if twin.file == "-":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(twin.content)))
    else:
        (here / twin.file).write_bytes(twin.content)
    given = dict(zip(twin.options[::2], twin.options[1::2], strict=False))
    header = False if "--no-header" in twin.options else None
    day_first = True if "--day-first" in twin.options else None
    how = reading(None, given.get("--encoding"), None, header, day_first)
    keep = [given["--keep"]] if "--keep" in given else []
    error = ""
    try:
        read_training_data(TableFile(Path(twin.file), how), twin.target, keep=keep)
    except CommandError as refusal:
        error = str(refusal)
    assert bool(error) == bool(twin.code)
    output = capsys.readouterr().err + error
    about_the_fit = re.compile(
        r": \d+ rows|numeric and|numeric, |: (class|regress)|classes|true$|more$|^with m"
    )
    for line in twin.lines:
        if not about_the_fit.search(line):
            assert line in output


@EVERY
@pytest.mark.large
def test_a_table_has_the_expected_lines(here, twin):
    is_input = twin.file == "-"
    if not is_input:
        (here / twin.file).write_bytes(twin.content)
    words = "fit", twin.file, *CHEAP, twin.target, "-o", "m.skops", *twin.options
    result = run(*words, given=twin.content if is_input else None)
    assert result.exit_code == twin.code, result.output
    output = " ".join((result.stdout + result.stderr).split())
    for line in twin.lines:
        assert line in output
    if twin.code or twin.new == b"":
        return
    if twin.new is not None:
        (here / twin.file).write_bytes(twin.new)
    options = [each for each in twin.options if each in ("--encoding", "latin-1")]
    given = twin.content if is_input else None
    result = run("predict", "m.skops", twin.file, "-o", "-", *options, given=given)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 1 + N


def test_there_are_at_least_thirty_tables():
    assert len({each.name for each in TABLES}) >= 30


@pytest.mark.large
def test_every_format_of_a_table_leads_to_the_same_predictions(here):
    """The decimal commas, encodings and separators of one table change nothing."""
    names = [
        "plain numbers",
        "semicolons and decimal commas",
        "tabs",
        "UTF-16",
        "thousands separators",
    ]
    names += ["spaces between thousands", "zip", "Excel", "separator at the end of rows"]
    (here / "new.csv").write_bytes(BASE)
    found = []
    for twin in (each for each in TABLES if each.name in names):
        (here / twin.file).write_bytes(twin.content)
        assert run("fit", twin.file, *CHEAP, "y", "-o", "m.skops", "--force").exit_code == 0
        found.append(run("predict", "m.skops", twin.file, "-o", "-").stdout)
    assert len(found) == len(names)
    assert len(set(found)) == 1


@pytest.mark.large
def test_dates_of_a_model_are_explained_by_part(here):
    (here / "t.csv").write_bytes(text(plain(when=GERMAN_DAYS)))
    assert run("fit", "t.csv", *CHEAP, "y", "-o", "m.skops").exit_code == 0
    result = run("explain", "m.skops", "--data", "t.csv", "--row", 1, "--json")
    output = json.loads(result.stdout)
    assert output["values"]["when.month"] == 1.0
    (machine,) = output["machines"].values()
    assert machine["contributions"].keys() == {"a", "b", "when", "when.month", "when.weekday"}
    assert "when.weekday" in run("explain", "m.skops", "--data", "t.csv", "--row", 1).stdout
    (here / "new.csv").write_bytes(text(plain(when=DAYS)))  # as ISO dates
    assert run("predict", "m.skops", "new.csv", "-o", "-").stdout == (
        run("predict", "m.skops", "t.csv", "-o", "-").stdout
    )
    (here / "new.csv").write_bytes(text(plain(when=["soon"] * N)))
    stderr = run("predict", "m.skops", "new.csv", "-o", "-").stderr
    assert "column 'when' contains dates in the training data, but 'soon' in row 1" in stderr


def test_a_decimal_sign_of_new_files_can_be_given(here):
    (here / "t.csv").write_bytes(text({"a": comma(A), "b": B, "y": Y}, ";"))
    assert run("fit", "t.csv", *CHEAP, "y", "-o", "m.skops").exit_code == 0
    (here / "new.csv").write_bytes(BASE)
    stderr = run("predict", "m.skops", "new.csv", "-o", "-").stderr
    assert "use --decimal '.'" in stderr
    result = run("predict", "m.skops", "new.csv", "-o", "-", "--decimal", ".")
    assert result.stdout == run("predict", "m.skops", "t.csv", "-o", "-").stdout
    assert "use . or ," in run("predict", "m.skops", "new.csv", "-o", "-", "--decimal", ";").stderr


def test_test_tables_are_read_as_the_training_table(here):
    columns = {"a": comma(A), "b": B, "y": [f"{b} €" for b in B]}
    for name in ("t.csv", "u.csv"):
        (here / name).write_bytes(text(columns, ";"))
    result = run("fit", "t.csv", *CHEAP, "y", "--test", "u.csv", "-o", "m.skops", "--drop", "b")
    assert result.exit_code == 0, result.output
    assert "y: regression (inferred; set it with --task)" in result.stdout


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--encoding", "klingon"), "--encoding 'klingon' is unknown: use utf-8, utf-16"),
        (("--encoding", "ascii"), "is not encoded in ascii"),
        (("--keep", "y"), "--keep 'y' is the target"),
        (("--keep", "z"), "--keep 'z': t.csv has no such column"),
    ],
)
def test_wrong_reading_options_are_refused(here, options, part):
    (here / "t.csv").write_bytes(text(plain(ort=["Köln"] * N)))
    assert part in run("fit", "t.csv", *CHEAP, "y", "-o", "m.skops", *options).stderr


def test_excel_needs_its_library(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    (here / "t.xlsx").write_bytes(workbook(plain()))
    assert "pip install 'kernsemble[excel]'" in run("fit", "t.xlsx", *CHEAP, "y").stderr

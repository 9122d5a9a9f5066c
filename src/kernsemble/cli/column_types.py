"""Types of columns: text becomes numbers, dates or categories, the same in every file of a model.

A column has a kind, and a layout that describes its text: "" for plain numbers and categories,
the decimal sign and the unit of other numbers, the format of dates. Files for prediction are read
with the kinds and layouts of the training data: a column of numbers stays one, whatever its first
rows look like.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from kernsemble.cli.console import CommandError, join_names, note
from kernsemble.cli.date_formats import find_date_format, parse_dates
from kernsemble.cli.number_formats import (
    TIME_OF_DAY,
    UNITS,
    YES_NO,
    Decimal,
    NumberFormat,
    TruthValues,
    possible_formats,
    times_as_hours,
    usual_decimal,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ColumnKind",
    "TypedTable",
    "as_training_kinds",
    "cast_columns",
    "check_finite",
    "column_kinds",
    "import_polars",
    "typed_table",
]

MAX_WORDS, MIN_NUMBERS = 3, 0.5  # of a column that may be numbers with markers of missing values

ColumnKind: TypeAlias = Literal["number", "category", "date"]


class TypedTable(NamedTuple):
    """A table whose text has been converted, and the layouts of columns that were not plain."""

    frame: "pl.DataFrame"
    layouts: dict[str, str]


def import_polars() -> Any:
    """Return polars; raise an error with the install command if it is missing."""
    try:
        import polars
    except ModuleNotFoundError as error:
        raise CommandError(
            "reading tables needs polars, which is not installed: pip install 'kernsemble[cli]'"
        ) from error
    return polars


def typed_table(
    frame: "pl.DataFrame",
    separator: str = ",",
    decimal: Decimal | None = None,
    day_first: bool | None = None,
) -> TypedTable:
    """Return a table of text with columns of numbers, truth values, dates and text.

    A column becomes numbers or dates only if each of its entries is one. Notes name the columns
    that are not in plain formats.
    """
    pl = import_polars()
    columns = [each.str.strip_chars() if each.dtype == pl.String else each for each in frame]
    texts = {each.name: each for each in columns if each.dtype == pl.String}
    texts = {name: text for name, text in texts.items() if text.null_count() < len(text)}
    formats = _number_formats(texts, separator, decimal)
    converted, layouts = {}, {}
    notes: dict[str, list[str]] = {}
    for name, text in texts.items():
        converted[name], layout, remark = (
            _convert_numbers(text, formats[name]) if name in formats else _convert(text, day_first)
        )
        if layout:
            layouts[name] = layout
        if remark:
            notes.setdefault(remark, []).append(name)
    for remark, names in notes.items():
        note(f"column{'s' if len(names) > 1 else ''} {join_names(names)}: {remark}")
    columns = [converted.get(each.name, each) for each in columns]
    return TypedTable(frame.with_columns(columns), layouts)


def _number_formats(
    texts: Mapping[str, "pl.Series"], separator: str, decimal: Decimal | None
) -> dict[str, NumberFormat]:
    """Return the format of each column of numbers."""
    plain = {name for name, text in texts.items() if _is_plain(text)}
    others = {
        name: possible_formats(text.unique().drop_nulls())
        for name, text in texts.items()
        if name not in plain
    }
    possible = {name: formats for name, formats in others.items() if formats}
    if not possible and decimal != ",":
        return dict.fromkeys(plain, NumberFormat())
    for name in plain:  # 1.234 may be a thousand, and 12 leaves the decimal sign open
        possible[name] = possible_formats(texts[name].unique().drop_nulls()) or [NumberFormat()]
    usual = decimal or usual_decimal(possible.values(), separator)
    return {
        name: next((each for each in formats if each.decimal == usual), formats[0])
        for name, formats in possible.items()
    }


def _is_plain(text: "pl.Series") -> bool:
    numbers = text.cast(import_polars().Float64, strict=False)
    return bool(numbers.null_count() == text.null_count())


def _convert(text: "pl.Series", day_first: bool | None) -> tuple["pl.Series", str, str]:
    """Return the column of some text, its layout, and what a note says about it."""
    entries = text.unique().drop_nulls()
    pair = TruthValues.pair_of(entries)
    if pair == TruthValues.TRUE_FALSE:
        return TruthValues.parse(text).cast(import_polars().Boolean), "", ""
    if pair is not None:
        return text, YES_NO, ""  # the target keeps its words; features become numbers
    if times_as_hours(entries).null_count() == 0:
        return times_as_hours(text), TIME_OF_DAY, "read as times of day, in hours"
    dates = find_date_format(entries, day_first)
    if dates is None:
        return text, "", _remark_on_words(text)
    remark = f"read as dates, {dates.words}"
    if dates.alternative is not None:
        other = "--month-first" if dates.layout.startswith("%d") else "--day-first"
        remark += f"; no entry shows whether the day or the month is first, see {other}"
    return parse_dates(text, dates.layout), dates.layout, remark


def _convert_numbers(text: "pl.Series", numbers: NumberFormat) -> tuple["pl.Series", str, str]:
    """Return a column of numbers, whole if all are, its layout, and what a note says about it."""
    pl = import_polars()
    is_plain = numbers == NumberFormat() and _is_plain(text)
    whole = text.cast(pl.Int64, strict=False)
    if whole.null_count() == text.null_count():
        return whole, "" if is_plain else numbers.layout, ""
    if is_plain:
        return text.cast(pl.Float64), "", ""
    values = numbers.parse(text)
    if bool((values.drop_nulls() == values.drop_nulls().floor()).all()):
        whole = values.cast(pl.Int64, strict=False)
        values = whole if whole.null_count() == values.null_count() else values
    hint = "; set it with --decimal" if numbers.has_alternative(text) else ""
    return values, numbers.layout, _remark(numbers) + hint


def _remark_on_words(text: "pl.Series") -> str:
    """Return what a note says about a column of numbers with a few words, such as "unknown"."""
    known = text.drop_nulls()
    is_number = known.cast(import_polars().Float64, strict=False).is_not_null()
    words = sorted(known.filter(~is_number).unique().to_list())
    if len(words) > MAX_WORDS or is_number.mean() < MIN_NUMBERS:  # type: ignore[operator]
        return ""
    markers = " ".join(f"--missing {word!r}" for word in words)
    n = len(known) - int(is_number.sum())
    return (
        f"read as categories, since {n:,} of {len(known):,} entries are not numbers: if these are "
        f"missing values, use {markers}"
    )


def _remark(numbers: NumberFormat) -> str:
    sign = "comma" if numbers.decimal == "," else "point"
    unit = f" in {UNITS[numbers.unit]}" if numbers.unit else ""
    return f"read as numbers{unit}, with a decimal {sign}"


def column_kinds(
    frame: "pl.DataFrame", path: Path, layouts: Mapping[str, str] | None = None
) -> dict[str, ColumnKind]:
    """Return the kind of each column; raise an error for types that are not supported."""
    pl = import_polars()
    kinds: dict[str, ColumnKind] = {}
    for name, dtype in frame.schema.items():
        is_yes_no = (layouts or {}).get(name) == YES_NO
        if dtype.is_numeric() or dtype in (pl.Boolean, pl.Time, pl.Duration) or is_yes_no:
            kinds[name] = "number"
        elif dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            kinds[name] = "category"
        elif dtype.is_temporal():
            kinds[name] = "date"
        else:
            raise CommandError(
                f"{path}: column {name!r} contains values of the type {dtype}: convert them to "
                f"numbers or text, or ignore the column with --drop {name!r}"
            )
    return kinds


def cast_columns(
    frame: "pl.DataFrame", kinds: dict[str, ColumnKind], layouts: Mapping[str, str]
) -> "pl.DataFrame":
    """Return the columns of a table with inferred types as float64, text and datetimes."""
    pl = import_polars()
    columns = []
    for name, kind in kinds.items():
        column = frame[name]
        if kind == "number":
            is_yes_no = layouts.get(name) == YES_NO
            columns.append(TruthValues.parse(column) if is_yes_no else _as_numbers(column))
        else:
            columns.append(_as_dates(column) if kind == "date" else column.cast(pl.String))
    return pl.DataFrame(columns)


def _as_numbers(column: "pl.Series") -> "pl.Series":
    """Return numbers: hours for times of day, days for durations."""
    pl = import_polars()
    if column.dtype == pl.Time:
        return column.cast(pl.Int64) / 3.6e12
    if column.dtype == pl.Duration:
        return column.dt.total_seconds(fractional=True) / 86_400.0
    return column.cast(pl.Float64)


def _as_dates(column: "pl.Series") -> "pl.Series":
    """Return datetimes of the clock, without a time zone."""
    pl = import_polars()
    if getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.replace_time_zone(None)
    return column.cast(pl.Datetime("us"))


def as_training_kinds(
    frame: "pl.DataFrame",
    kinds: Mapping[str, ColumnKind],
    path: Path,
    first_row: int,
    layouts: Mapping[str, str] | None = None,
    decimal: Decimal | None = None,
) -> "pl.DataFrame":
    """Convert columns of text or any other type to their kinds in the training data.

    An entry that is not a number in a column of numbers, or not a date in one of dates, is an
    error. Messages count rows from 1; `first_row` is the number of the first row of the frame.
    `decimal` replaces the decimal sign of the layouts.
    """
    pl = import_polars()
    columns = []
    for name, kind in kinds.items():
        column, layout = frame[name], (layouts or {}).get(name, "")
        if kind == "category":
            column = column.cast(pl.String)
            columns.append(column.str.strip_chars())
        elif column.dtype == pl.String:
            columns.append(_parse_again(column, kind, layout, path, first_row, decimal))
        else:
            columns.append(_cast_again(column, kind, path))
    converted = pl.DataFrame(columns)
    check_finite(converted, path, first_row)
    return converted


def _parse_again(
    text: "pl.Series",
    kind: ColumnKind,
    layout: str,
    path: Path,
    first_row: int,
    decimal: Decimal | None,
) -> "pl.Series":
    """Return text of a file for prediction as the numbers or dates of the training data."""
    if kind == "date":
        found = None if layout or text.null_count() == len(text) else find_date_format(text)
        column = parse_dates(text, found.layout if found else layout or "%Y-%m-%d")
        if column.null_count() > text.null_count():
            column = column.fill_null(parse_dates(text, "%Y-%m-%d"))
        remedy = "write it as in the training data or as 2024-12-31"
    else:
        column = _numbers_again(text, layout, decimal)
        remedy = "correct the entry"
        if text.str.contains(r"\d[.,]\d").any():
            sign = "." if NumberFormat.from_layout(layout).decimal == "," else ","
            remedy += f", use --decimal {sign!r} if that is its decimal sign"
    is_lost = column.is_null() & text.is_not_null()
    if is_lost.any():
        place = int(is_lost.arg_max())  # type: ignore[arg-type]
        raise CommandError(
            f"{path}: column {text.name!r} contains {kind}s in the training data, but "
            f"{text[place]!r} in row {first_row + place}: {remedy}, or leave it empty if it is "
            "missing"
        )
    return column


def _numbers_again(text: "pl.Series", layout: str, decimal: Decimal | None) -> "pl.Series":
    pl = import_polars()
    if layout == TIME_OF_DAY:
        return times_as_hours(text)
    numbers = NumberFormat.from_layout("" if layout == YES_NO else layout)
    if decimal is not None:
        numbers = NumberFormat(decimal, numbers.unit)
    text = text.str.strip_chars()
    if numbers.decimal == ",":
        column = numbers.parse(text)
    else:
        column = text.cast(pl.Float64, strict=False)
        if column.null_count() > text.null_count():
            column = column.fill_null(numbers.parse(text))
    if column.null_count() > text.null_count():
        column = column.fill_null(TruthValues.parse(text))
    return column


def _cast_again(column: "pl.Series", kind: ColumnKind, path: Path) -> "pl.Series":
    pl = import_polars()
    dtype = column.dtype
    numbers = dtype.is_numeric() or dtype in (pl.Boolean, pl.Null, pl.Time, pl.Duration)
    dates = dtype in (pl.Date, pl.Datetime, pl.Null)
    if not (dates if kind == "date" else numbers):
        raise CommandError(
            f"{path}: column {column.name!r} contains {kind}s in the training data, but {dtype} "
            f"here: convert it to {kind}s"
        )
    return _as_dates(column) if kind == "date" else _as_numbers(column)


def check_finite(frame: "pl.DataFrame", path: Path, first_row: int = 1) -> None:
    """Raise an error if a number is infinite; missing ones may be NaN."""
    for column in frame:
        if column.dtype.is_float() and column.is_infinite().any():
            place = int(column.is_infinite().fill_null(False).arg_max())  # type: ignore[arg-type]
            raise CommandError(
                f"{path}: column {column.name!r} is infinite in row {first_row + place}: use a "
                "finite number, or leave it empty if it is missing"
            )

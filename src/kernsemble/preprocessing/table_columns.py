"""Columns of pandas and polars tables: their kinds, and their entries as NumPy arrays."""

import datetime
from collections.abc import Hashable
from typing import Any, Literal, TypeAlias

import numpy as np

from kernsemble._typing import FloatArray, IntArray

__all__ = [
    "TableColumnKind",
    "category_order",
    "clock_times",
    "column_at",
    "column_kind",
    "factors",
    "numbers",
]

TableColumnKind: TypeAlias = Literal["number", "category", "date", "duration", "time"]

MISSING = ("nan", "<NA>", "NaT")  # the text of missing entries


def column_at(X: Any, d: int) -> Any:
    """Return a column of a table, or of an array."""
    return X.iloc[:, d] if hasattr(X, "iloc") else X[:, d]


def column_kind(column: Any) -> TableColumnKind:
    """Return the kind of a column of a pandas or polars table."""
    dtype = column.dtype
    if hasattr(dtype, "is_numeric"):  # polars
        if dtype.is_temporal():
            return {"Time": "time", "Duration": "duration"}.get(
                str(dtype).partition("(")[0], "date"
            )  # type: ignore[return-value]
        return "number" if dtype.is_numeric() or str(dtype) == "Boolean" else "category"
    kind = column.infer_objects().dtype.kind if str(dtype) == "object" else dtype.kind
    if kind == "M" or str(dtype).startswith("period") or (kind == "O" and _has_dates(column)):
        return "date"
    if kind == "m":
        return "duration"
    return "number" if kind in "iufb" else "category"


def _has_dates(column: Any) -> bool:
    """Return whether all entries of a column of Python objects are dates."""
    if str(column.dtype) != "object":
        return False
    known = column.dropna()
    return len(known) > 0 and all(isinstance(each, datetime.date) for each in known)


def clock_times(column: Any) -> Any:
    """Return dates as datetime64[us] of the clock, without their time zone; NaT if missing."""
    if hasattr(column, "iloc"):  # pandas
        if str(column.dtype).startswith("period"):
            column = column.dt.to_timestamp()
        elif getattr(column.dtype, "tz", None) is not None:
            column = column.dt.tz_localize(None)
        elif column.dtype.kind not in "MO":
            raise TypeError(f"{column.dtype} is no type of dates")
        return _parsed(column.to_numpy())
    if hasattr(column, "dt"):  # polars
        import polars as pl

        if column.dtype == pl.Null:
            return np.full(len(column), np.datetime64("NaT"), dtype="datetime64[us]")
        if getattr(column.dtype, "time_zone", None) is not None:
            column = column.dt.replace_time_zone(None)
        elif column.dtype not in (pl.Date, pl.Datetime):
            raise TypeError(f"{column.dtype} is no type of dates")
        return column.cast(pl.Datetime("us")).to_numpy().astype("datetime64[us]")
    dates = np.asarray(column)
    if dates.dtype.kind not in "MOU":
        raise TypeError(f"{dates.dtype} is no type of dates")
    return _parsed(dates)


def _parsed(dates: Any) -> Any:
    """Return dates, objects or text as datetime64[us]."""
    try:
        return dates.astype("datetime64[us]")
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ValueError(
            f"a column of dates contains something else ({error}): pass dates"
        ) from error


def numbers(column: Any) -> FloatArray:
    """Return a column of numbers, days for durations, hours for times of day; NaN if missing."""
    try:
        found = _numbers(column)
        if np.isinf(found).any():
            raise ValueError("infinity")
        return found
    except (ArithmeticError, TypeError, ValueError) as error:
        raise ValueError(
            f"column {getattr(column, 'name', '')!r} of X contains values that are not numbers "
            f"({error}): pass numbers, as in training, or fit again"
        ) from error


def _numbers(column: Any) -> FloatArray:
    kind = column_kind(column) if hasattr(column, "dtype") and hasattr(column, "name") else "number"
    if kind == "duration":
        spans = column.to_numpy().astype("timedelta64[us]")
        days: FloatArray = spans / np.timedelta64(1, "D")
        return days
    if kind == "time":
        nanoseconds = np.asarray(column.to_physical().to_numpy(), dtype=np.float64)
        hours: FloatArray = nanoseconds / 3.6e12
        return hours
    if getattr(column.dtype, "kind", "f") == "c":
        raise TypeError("complex numbers")
    if hasattr(column, "iloc"):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    items = column.to_numpy() if hasattr(column, "to_numpy") else column
    return np.asarray(items, dtype=np.float64)


def factors(column: Any) -> tuple[IntArray, list[Any]]:
    """Return the code of each entry, and the distinct entries as plain objects, None if missing."""
    _refuse_containers(column)
    if hasattr(column, "factorize"):  # pandas
        codes, items = column.factorize()
        items = [_plain(item) for item in items.tolist()]
        return np.where(codes < 0, len(items), codes), [*items, None] if (
            codes < 0
        ).any() else items
    place: dict[Any, int] = {}
    entries = column.to_list() if hasattr(column, "to_list") else column.tolist()
    codes = [place.setdefault(_plain(entry), len(place)) for entry in entries]
    return np.array(codes, dtype=np.intp), list(place)


def _refuse_containers(column: Any) -> None:
    """Raise an error if an entry is a list or a dict, which is no category."""
    if str(column.dtype) != "object":
        return
    entries = column.to_list() if hasattr(column, "to_list") else column.tolist()
    wrong = next((each for each in entries if not isinstance(each, Hashable)), None)
    if wrong is not None:
        raise ValueError(
            f"column {getattr(column, 'name', '')!r} of X contains {type(wrong).__name__} "
            f"({str(wrong)[:40]}): categories are text or numbers; convert such entries first"
        )


def category_order(item: Any) -> tuple[bool, str, str]:
    """Return the sort key of categories of any types, the missing one last."""
    return item is None, str(item), type(item).__name__


def _plain(item: Any) -> Any:
    if item is None or (str(item) in MISSING and not isinstance(item, str)):
        return None
    return item if isinstance(item, (str, bool, int, float)) else str(item)

"""Dates as numbers: days since the start of 1970, and parts of the calendar."""

from typing import Any, Literal, TypeAlias

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.preprocessing.table_columns import clock_times

__all__ = ["PARTS", "CalendarPart", "calendar_part", "days", "varying_parts"]

CalendarPart: TypeAlias = Literal["month", "weekday", "hour"]

PARTS: tuple[CalendarPart, ...] = ("month", "weekday", "hour")
DAY = np.timedelta64(1, "D")
EPOCH = np.datetime64("1970-01-01", "us")
HOUR = np.timedelta64(1, "h")


def days(column: Any) -> FloatArray:
    """Return days since 1970-01-01, with fractions for the time of day; NaN if missing."""
    found: FloatArray = (clock_times(column) - EPOCH) / DAY
    return found


def calendar_part(column: Any, part: CalendarPart) -> FloatArray:
    """Return the month (1 to 12), weekday (1 for Monday to 7) or hour (0 to 23); NaN if missing."""
    times = clock_times(column)
    is_missing = np.isnat(times)
    times = np.where(is_missing, EPOCH, times)
    dates = times.astype("datetime64[D]")
    if part == "month":
        found = times.astype("datetime64[M]").astype(np.int64) % 12 + 1
    elif part == "weekday":
        found = (dates.astype(np.int64) + 3) % 7 + 1  # 1970 began on a Thursday
    else:
        found = (times - dates) // HOUR
    return np.where(is_missing, np.nan, found.astype(np.float64))


def varying_parts(column: Any) -> tuple[CalendarPart, ...]:
    """Return the parts that differ between the dates of a column."""
    parts = ((part, calendar_part(column, part)) for part in PARTS)
    return tuple(part for part, values in parts if len(np.unique(values[~np.isnan(values)])) > 1)

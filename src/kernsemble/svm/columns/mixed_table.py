"""Automatic encoding of tables of numbers, categories and dates.

Numbers and booleans stay numbers, NaN if missing. A column of text, or of a categorical type,
becomes the integer codes of its categories; a missing entry is a category of its own, and a
category that is not among the training rows is −1.

A column of dates becomes days since 1970-01-01. Month, weekday and hour, if they differ between
the training rows, follow after the columns of the table: ``when.month``, ``when.weekday`` and
``when.hour``. Durations become days, and times of day hours.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernsemble._typing import BoolArray, FloatArray
from kernsemble._validation import column_names
from kernsemble._value_object import Value
from kernsemble.preprocessing.calendar import CalendarPart, calendar_part, days, varying_parts
from kernsemble.preprocessing.table_columns import (
    category_order,
    column_at,
    column_kind,
    factors,
    numbers,
)


def is_mixed(X: object) -> bool:
    """Return whether rows are a pandas or polars table with a column of categories or dates."""
    if column_names(X) is None or not hasattr(X, "dtypes"):
        return False
    n_columns = X.shape[1]  # type: ignore[attr-defined]
    return any(column_kind(column_at(X, d)) != "number" for d in range(n_columns))


@dataclass(frozen=True, eq=False, repr=False)
class MixedTable(Value):
    """The encoding of a table of numbers, categories and dates as an array of numbers.

    Parameters
    ----------
    categories : tuple
        The categories of every encoded column, None for numbers.
    dates : tuple of int
        Positions of the columns of dates.
    parts : tuple of (int, str)
        The encoded columns that follow those of the table: a column of dates, and the part of the
        calendar.
    """

    categories: tuple[tuple[Any, ...] | None, ...]
    dates: tuple[int, ...] = ()
    parts: tuple[tuple[int, CalendarPart], ...] = ()

    @classmethod
    def from_table(cls, X: Any) -> Self:
        """Return the encoding of a table."""
        columns = [column_at(X, d) for d in range(X.shape[1])]
        kinds = [column_kind(column) for column in columns]
        known = [
            _distinct(column) if kind == "category" else None
            for column, kind in zip(columns, kinds, strict=True)
        ]
        dates = [d for d, kind in enumerate(kinds) if kind == "date"]
        parts = [(d, part) for d in dates for part in varying_parts(columns[d])]
        return cls((*known, *[None] * len(parts)), tuple(dates), tuple(parts))

    @property
    def is_category(self) -> BoolArray:
        """Mask of the encoded columns of categories."""
        return np.array([known is not None for known in self.categories])

    def encoded_names(self, names: Sequence[Any]) -> list[Any]:
        """Return the names of the encoded columns, given those of the table."""
        return [*names, *(f"{names[d]}.{part}" for d, part in self.parts)]

    def transform(self, X: Any) -> FloatArray:
        """Return the numbers and codes of a table with the same columns."""
        rows = np.empty((X.shape[0], len(self.categories)))
        n_columns = len(self.categories) - len(self.parts)
        for d, known in enumerate(self.categories[:n_columns]):
            column = column_at(X, d)
            if known is not None:
                rows[:, d] = _codes(column, known)
            else:
                rows[:, d] = _values(column, d, d in self.dates)
        for place, (d, part) in enumerate(self.parts, start=n_columns):
            rows[:, place] = calendar_part(column_at(X, d), part)
        return rows


def _values(column: Any, d: int, is_date: bool) -> FloatArray:
    """Return a column as numbers, which for dates are days."""
    try:
        found = days(column) if is_date else numbers(column)
        if found.ndim != 1:
            raise TypeError("several values in each row")
        return found
    except (TypeError, ValueError) as error:
        held = "dates" if is_date else "numbers"
        raise ValueError(
            f"column {getattr(column, 'name', d)!r} of X held {held} in training, and now "
            f"something else ({error}): pass {held}, or fit again"
        ) from error


def _distinct(column: Any) -> tuple[Any, ...]:
    _, items = factors(column)
    return tuple(sorted(set(items), key=category_order))


def _codes(column: Any, known: Iterable[Any]) -> FloatArray:
    place = {item: float(code) for code, item in enumerate(known)}
    codes, items = factors(column)
    return np.array([place.get(item, -1.0) for item in items])[codes]

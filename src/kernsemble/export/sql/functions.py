"""Functions of one column as CASE expressions."""

from collections.abc import Sequence
from typing import Any

from kernsemble.export.piecewise_tables import PiecewiseTable
from kernsemble.export.sql.dialects import literal, number
from kernsemble.inspection.additive_model import FunctionData


def piecewise(table: PiecewiseTable, machine: int, column: str) -> str:
    """Return the function of a column of numbers: comparisons that halve the cuts."""
    missing = _or_null(table.missing[machine])
    lines = [_line(table, interval, machine, column) for interval in range(len(table.origin))]
    found = lines[0] if len(set(lines)) == 1 else _halved(table, lines, column, 0, len(table.cuts))
    return f"CASE WHEN {column} IS NULL THEN {missing} ELSE {found} END"


def _or_null(value: float) -> str:
    return "NULL" if value != value else number(value)  # noqa: PLR0124 (NaN)


def _line(table: PiecewiseTable, interval: int, machine: int, column: str) -> str:
    start, slope = float(table.start[interval, machine]), float(table.slope[interval, machine])
    if slope == 0.0:
        return number(start)
    origin = number(table.origin[interval])
    return f"{number(start)} + {number(slope)} * ({column} - ({origin}))"


def _halved(table: PiecewiseTable, lines: list[str], column: str, first: int, last: int) -> str:
    """Return the line of the interval of a number between two intervals, both included."""
    if first == last:
        return lines[first]
    middle = (first + last) // 2
    lower = _halved(table, lines, column, first, middle)
    upper = _halved(table, lines, column, middle + 1, last)
    return f"CASE WHEN {column} <= {number(table.cuts[middle])} THEN {lower} ELSE {upper} END"


def of_categories(function: FunctionData, known: Sequence[Any], column: str) -> str:
    """Return the function of a column of categories."""
    missing = number(function["missing"] or 0.0)
    cases = " ".join(
        f"WHEN {literal(each)} THEN {number(height)}"
        for each, height in zip(known, function["heights"], strict=True)
        if each is not None
    )
    other = number(function["other"])
    chosen = f"CASE {column} {cases} ELSE {other} END" if cases else other
    return f"CASE WHEN {column} IS NULL THEN {missing} ELSE {chosen} END"

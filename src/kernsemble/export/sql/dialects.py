"""Databases: how each of them writes what standard SQL leaves open."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from kernsemble._arguments import check_choice

Dialect: TypeAlias = Literal["duckdb", "sqlite"]


def number(value: float) -> str:
    """Return a number in double precision; without an exponent it may be a decimal number."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def text(value: str) -> str:
    """Return a text."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """Return the name of a column or table."""
    return '"' + value.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Return a category or class: text, a whole number or another one."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return str(value).upper()
    return str(value) if isinstance(value, int) else number(value)


@dataclass(frozen=True)
class Database:
    """The functions of a database.

    Attributes
    ----------
    largest, smallest : str
        Functions of several numbers.
    materialized : str
        Keyword of subqueries that are computed once.
    double : str
        Type of numbers in double precision.
    day, parts : str and dict of str to str
        Days since 1970-01-01, and the parts of the calendar, of a column of dates.
    """

    largest: str
    smallest: str
    materialized: str
    double: str
    day: str
    parts: dict[str, str]

    def numbers(self, column: str) -> str:
        """Return a column as numbers, NULL if missing."""
        return f"NULLIF(CAST({column} AS {self.double}), CAST('nan' AS {self.double}))"


class _SQLite(Database):
    def numbers(self, column: str) -> str:
        return f"CAST({column} AS {self.double})"  # SQLite stores NaN as NULL


DATABASES: dict[str, Database] = {
    "duckdb": Database(
        "greatest",
        "least",
        "",
        "DOUBLE",
        "epoch(CAST({} AS TIMESTAMP)) / 86400e0",
        {
            "month": "month(CAST({} AS TIMESTAMP))",
            "weekday": "isodow(CAST({} AS TIMESTAMP))",
            "hour": "hour(CAST({} AS TIMESTAMP))",
        },
    ),
    "sqlite": _SQLite(
        "max",
        "min",
        "MATERIALIZED ",
        "REAL",
        "(strftime('%s', {0}) + (strftime('%f', {0}) - strftime('%S', {0}))) / 86400e0",
        {
            "month": "CAST(strftime('%m', {}) AS INTEGER)",
            "weekday": "(strftime('%w', {}) + 6) % 7 + 1",
            "hour": "CAST(strftime('%H', {}) AS INTEGER)",
        },
    ),
}


def database(dialect: Dialect) -> Database:
    """Return the database with a name."""
    check_choice("dialect", dialect, get_args(Dialect))
    return DATABASES[dialect]

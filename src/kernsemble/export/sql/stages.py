"""Queries in stages: each adds columns that are computed from those before."""

from collections.abc import Mapping, Sequence

from kernsemble.export.sql.dialects import Database


class Stages:
    """Common table expressions, each a SELECT of the one before with more columns."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._stages: list[str] = []

    @property
    def _last(self) -> str:
        return f"stage_{len(self._stages) - 1}"

    def start(self, columns: Mapping[str, str], table: str) -> None:
        """Select expressions from a table."""
        self._add(_listed(columns), table)

    def add(self, columns: Mapping[str, str]) -> None:
        """Add columns, given by name and expression."""
        self._add(f"*,\n{_listed(columns)}", self._last)

    def _add(self, selected: str, source: str) -> None:
        number, once = len(self._stages), self.database.materialized
        self._stages.append(f"stage_{number} AS {once}(\nSELECT {selected}\nFROM {source}\n)")

    def query(self, columns: Mapping[str, str]) -> str:
        """Return the query that selects columns of the last stage."""
        stages = ",\n".join(self._stages)
        return f"WITH {stages}\nSELECT\n{_listed(columns)}\nFROM {self._last};\n"

    def largest(self, expressions: Sequence[str]) -> str:
        """Return the largest of some numbers."""
        return _of_several(self.database.largest, expressions)

    def smallest(self, expressions: Sequence[str]) -> str:
        """Return the smallest of some numbers."""
        return _of_several(self.database.smallest, expressions)


def _of_several(function: str, expressions: Sequence[str]) -> str:
    several = ", ".join(expressions)
    return expressions[0] if len(expressions) == 1 else f"{function}({several})"


def _listed(columns: Mapping[str, str]) -> str:
    return ",\n".join(f"  {expression} AS {name}" for name, expression in columns.items())


def selected(code: str, expressions: Sequence[str]) -> str:
    """Return the expression at the place that a code, from 0, has; NULL if it is NULL."""
    cases = " ".join(f"WHEN {k} THEN {each}" for k, each in enumerate(expressions))
    return f"CASE {code} {cases} END"

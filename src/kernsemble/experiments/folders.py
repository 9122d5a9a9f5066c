"""Where the papers are, and which of their data."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

from kernsemble.exceptions import DatasetNotFoundError
from kernsemble.experiments.paper import Paper
from kernsemble.experiments.problems import draw
from kernsemble.experiments.tables import Figure, Table

HERE = Path(__file__).resolve()
PLACES = (HERE.with_name("papers"), HERE.parents[3] / "experiments")  # installed; in a clone


def papers() -> dict[str, Paper]:
    """Return the papers by name: those of the installed package, or of the clone it runs from.

    Examples
    --------
    >>> from kernsemble.experiments.folders import papers
    >>> list(papers()["lin-li-2008"].tables)[:3]
    ['table2', 'table3', 'table4']
    """
    for place in PLACES:
        folders = sorted(path.parent for path in place.glob("*/config.toml"))
        if folders:
            return {folder.name: Paper.of(folder) for folder in folders}
    places = " nor in ".join(map(str, PLACES))
    raise FileNotFoundError(f"there are no papers in {places}: install the package again")


class Presence(NamedTuple):
    """What of a paper can be computed here: all but the rows whose data are missing."""

    paper: Paper
    missing: dict[str, str]  # why, by row

    @classmethod
    def of(cls, paper: Paper, profile: str = "full", parts: Sequence[str] | None = None) -> Self:
        """Look for the data of tables and figures, of the rows that a profile asks for."""
        asked, names = paper.profiles[profile].rows, paper.parts(parts)
        place = os.environ.get("KERNSEMBLE_DATA")
        missing: dict[str, str] = {}

        def present(part: Table | Figure) -> tuple[str, ...]:
            table = part if isinstance(part, Table) else None
            if part.name not in names:
                return part.rows
            reasons = {
                row: _absence(paper.data_of(row, table), place)
                for row in part.rows
                if asked is None or row in asked
            }
            missing.update({row: why for row, why in reasons.items() if why is not None})
            return tuple(row for row in part.rows if reasons.get(row) is None)

        tables = {name: replace(each, rows=present(each)) for name, each in paper.tables.items()}
        figures = {name: replace(each, rows=present(each)) for name, each in paper.figures.items()}
        return cls(replace(paper, tables=tables, figures=figures), missing)


@cache
def _absence(data: str, _folder: str | None) -> str | None:
    """Return why a data set is not here, None if it is; looking for it online takes a while."""
    try:
        draw(data, 0)
    except DatasetNotFoundError as error:
        return str(error)
    return None

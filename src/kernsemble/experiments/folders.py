"""Folders of the papers, and the availability of their data."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

from kernsemble.datasets.loading import locate
from kernsemble.exceptions import DatasetNotFoundError
from kernsemble.experiments.paper import Paper
from kernsemble.experiments.paper_data import dataset_of, draw
from kernsemble.experiments.paper_tables import PaperFigure, PaperTable

HERE = Path(__file__).resolve()
PLACES = (HERE.with_name("papers"), HERE.parents[3] / "experiments")  # installed; in a clone


def papers(places: Sequence[Path] | None = None) -> dict[str, Paper]:
    """Return the papers by name.

    Parameters
    ----------
    places : sequence of Path, optional
        Folders to search; the first that has papers is used. By default, that of the installed
        package, then that of the clone it runs from.

    Examples
    --------
    >>> from kernsemble.experiments.folders import papers
    >>> list(papers()["lin-li-2008"].tables)[:3]
    ['table2', 'table3', 'table4']
    """
    places = PLACES if places is None else places
    for place in places:
        folders = sorted(path.parent for path in place.glob("*/config.toml"))
        if folders:
            return {folder.name: Paper.from_folder(folder) for folder in folders}
    searched = " nor in ".join(map(str, places))
    raise FileNotFoundError(f"there are no papers in {searched}: install the package again")


class Availability(NamedTuple):
    """The part of a paper that can be computed here: all rows whose data are available.

    Attributes
    ----------
    paper : Paper
        The paper without the rows whose data are missing.
    missing : dict of str to str
        Reason by row.
    """

    paper: Paper
    missing: dict[str, str]

    @classmethod
    def of_paper(
        cls,
        paper: Paper,
        profile: str = "full",
        parts: Sequence[str] | None = None,
        is_online: bool = True,
    ) -> Self:
        """Look for the data of the tables and figures of a profile.

        Parameters
        ----------
        paper : Paper
            Paper.
        profile : str
            "full" or "quick".
        parts : sequence of str, optional
            Names of tables and figures; all by default.
        is_online : bool
            Whether data sets are read, from OpenML if necessary. Otherwise nothing is read, and
            those of OpenML count as available (`from_network` lists them).
        """
        wanted, names = paper.profiles[profile].rows, paper.parts(parts)
        place = os.environ.get("KERNSEMBLE_DATA")
        missing: dict[str, str] = {}

        def available(part: PaperTable | PaperFigure) -> tuple[str, ...]:
            table = part if isinstance(part, PaperTable) else None
            if part.name not in names:
                return part.rows
            reasons = {
                row: _absence(paper.data_name(row, table), place, is_online)
                for row in part.rows
                if wanted is None or row in wanted
            }
            missing.update({row: why for row, why in reasons.items() if why is not None})
            return tuple(row for row in part.rows if reasons.get(row) is None)

        tables = {name: replace(each, rows=available(each)) for name, each in paper.tables.items()}
        figures = {
            name: replace(each, rows=available(each)) for name, each in paper.figures.items()
        }
        return cls(replace(paper, tables=tables, figures=figures), missing)

    def from_network(self) -> list[str]:
        """Return the rows whose data are fetched from OpenML when they are computed."""
        rows = [
            (row, self.paper.data_name(row, table))
            for table in self.paper.tables.values()
            for row in table.rows
        ]
        rows += [
            (row, self.paper.data_name(row))
            for figure in self.paper.figures.values()
            for row in figure.rows
        ]
        return list(dict.fromkeys(row for row, data in rows if is_remote(data)))


def is_remote(data: str) -> bool:
    """Return whether the data of a cell would be fetched from OpenML; nothing is read."""
    name = dataset_of(data)
    return name is not None and locate(name) is None


@cache
def _absence(data: str, _folder: str | None, is_online: bool) -> str | None:
    """Return the reason why a data set is missing, None if it is available.

    Cached by name and folder, since looking for a data set online takes a while.
    """
    try:
        if is_online:
            draw(data, 0)
        else:
            is_remote(data)
    except DatasetNotFoundError as error:
        return str(error)
    return None

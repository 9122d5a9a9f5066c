"""A paper: its tables as a configuration, its numbers as published, its cells as computed."""

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from kernsemble.experiments.cells import Cell
from kernsemble.experiments.claims import Claim, Found
from kernsemble.experiments.methods import values_of
from kernsemble.experiments.problems import draw, n_draws
from kernsemble.experiments.store import Store
from kernsemble.experiments.verdicts import Comparison, Mean


class Source(NamedTuple):
    """Where the numbers of a column come from: what a method tells."""

    method: str
    quantity: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the source that a configuration names, "method" or "method: quantity"."""
        method, _, quantity = text.partition(":")
        return cls(method.strip(), quantity.strip() or "error")


class Entry(NamedTuple):
    """A number of a table: ours, None if it has not been computed, and the published one."""

    row: str
    column: str
    ours: Mean | None
    published: Mean | None
    seconds: float  # of all its cells
    n_failures: int

    @property
    def comparison(self) -> Comparison | None:
        """Both numbers, where both are known."""
        if self.ours is None or self.published is None:
            return None
        return Comparison(self.ours, self.published)


@dataclass(frozen=True)
class Table:
    """A table of a paper: rows are data sets, columns are sources of numbers.

    Attributes
    ----------
    name, caption : str
        What it is called, and what it tells.
    rows : tuple of str
        Data sets.
    columns : dict of str to Source
        Where the numbers of each column come from.
    published : dict of str to dict of str to Mean
        The paper's numbers, by row and column, as far as it has them.
    is_judged : bool
        Whether less is better, so that numbers have verdicts.
    """

    name: str
    caption: str
    rows: tuple[str, ...]
    columns: dict[str, Source]
    published: dict[str, dict[str, Mean]]
    is_judged: bool


@dataclass(frozen=True)
class Profile:
    """How much of a paper is run.

    Attributes
    ----------
    runs : int
        How many draws of each data set, if there are so many.
    runs_of : dict of str to int
        The same for data sets or methods that have fewer.
    rows, columns : tuple of str or None
        Data sets and columns, None for all.
    """

    runs: int
    runs_of: dict[str, int]
    rows: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Self:
        """Return the profile of a configuration."""
        lists = {name: settings.get(name) for name in ("rows", "columns")}
        return cls(
            settings["runs"],
            settings.get("runs_of", {}),
            **{name: None if each is None else tuple(each) for name, each in lists.items()},
        )


@dataclass(frozen=True)
class Paper:
    """A paper whose tables can be computed again.

    Attributes
    ----------
    name, title : str
        Its short name, that of the folder, and what it is.
    folder : Path
        Where its configuration and its published numbers are.
    tables : dict of str to Table
        By name.
    data : dict of str to str
        The names that data sets have in `kernsemble.datasets`, where they differ.
    scaled : frozenset of str
        The data sets whose features are scaled to [-1, 1].
    profiles : dict of str to Profile
        "full" and "quick".
    claims : tuple of Claim
        What it says of its tables.
    """

    name: str
    title: str
    folder: Path
    tables: dict[str, Table]
    data: dict[str, str]
    scaled: frozenset[str]
    profiles: dict[str, Profile]
    claims: tuple[Claim, ...]

    @classmethod
    def of(cls, folder: str | Path) -> Self:
        """Read a folder that holds config.toml and published.json."""
        folder = Path(folder)
        config = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
        published = json.loads((folder / "published.json").read_text(encoding="utf-8"))
        runs = config["published_runs"]
        tables = {
            name: _table(name, settings, published.get(name, {"rows": {}}), runs)
            for name, settings in config["tables"].items()
        }
        return cls(
            name=folder.name,
            title=config["title"],
            folder=folder,
            tables=tables,
            data=config.get("data", {}),
            scaled=frozenset(config.get("scaled", [])),
            profiles={name: Profile.of(each) for name, each in config["profiles"].items()},
            claims=tuple(
                Claim.of(each, tables[each["table"]].rows) for each in config.get("claims", [])
            ),
        )

    def cells(
        self, profile: str = "full", tables: Sequence[str] | None = None, runs: int | None = None
    ) -> list[Cell]:
        """Return the cells of some tables, draw by draw, so that early stops leave all begun.

        Parameters
        ----------
        profile : str
            "full" or "quick".
        tables : sequence of str, optional
            Their names; all by default.
        runs : int, optional
            Another number of draws than the profile's, if there are so many.
        """
        asked = self.profiles[profile]
        cells = {
            Cell(row, source.method, seed)
            for table in self._asked(tables)
            for row in table.rows
            if asked.rows is None or row in asked.rows
            for column, source in table.columns.items()
            if asked.columns is None or column in asked.columns
            for seed in range(self._n_runs(asked, row, column, runs))
        }
        return sorted(cells, key=lambda cell: (cell.seed, cell.data, cell.method))

    def compute(self, cell: Cell) -> dict[str, float]:
        """Return the numbers of a cell."""
        problem = draw(self.data.get(cell.data, cell.data), cell.seed, cell.data in self.scaled)
        return values_of(cell.method, problem, cell.seed)

    def entries(self, table: str, store: Store) -> Iterator[Entry]:
        """Yield the numbers of a table as far as a store has them."""
        asked = self.tables[table]
        for row in asked.rows:
            for column, (method, quantity) in asked.columns.items():
                records = [
                    record
                    for cell, record in store.records.items()
                    if cell.data == row and cell.method == method
                ]
                told = [each.values[quantity] for each in records if each.failure is None]
                yield Entry(
                    row,
                    column,
                    Mean.of(told) if told else None,
                    asked.published.get(row, {}).get(column),
                    sum(each.seconds for each in records),
                    sum(each.failure is not None for each in records),
                )

    def look_at_claims(self, store: Store) -> Iterator[tuple[Claim, Found]]:
        """Yield each claim, and what the means of a store say of it."""
        for claim in self.claims:
            entries = self.entries(claim.table, store)
            means = {(entry.row, entry.column): entry.ours for entry in entries if entry.ours}
            yield claim, claim.look(means)

    def _asked(self, names: Sequence[str] | None) -> list[Table]:
        unknown = [name for name in names or () if name not in self.tables]
        if unknown:
            raise ValueError(
                f"{self.name} has no {unknown[0]!r}: give some of {', '.join(self.tables)}"
            )
        return [self.tables[name] for name in names or self.tables]

    def _n_runs(self, asked: Profile, row: str, column: str, runs: int | None) -> int:
        limits = [asked.runs if runs is None else runs, n_draws(self.data.get(row, row))]
        limits += [asked.runs_of.get(row), asked.runs_of.get(column)]
        return min(limit for limit in limits if limit is not None)


def _table(name: str, settings: dict[str, Any], published: dict[str, Any], runs: int) -> Table:
    numbers = {
        row: {
            column: Mean(
                cell["mean"], cell.get("se"), 1 if row in settings.get("one_run", []) else runs
            )
            for column, cell in cells.items()
        }
        for row, cells in published["rows"].items()
    }
    return Table(
        name=name,
        caption=settings["caption"],
        rows=tuple(settings.get("rows", numbers)),
        columns={column: Source.of(text) for column, text in settings["columns"].items()},
        published=numbers,
        is_judged=settings.get("is_judged", True),
    )

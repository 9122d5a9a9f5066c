"""A paper: its configuration (tables, figures, claims), published numbers and cells."""

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kernsemble.experiments.claims import Claim, ClaimResult
from kernsemble.experiments.methods import run_method
from kernsemble.experiments.paper_data import SCALED, draw, n_draws
from kernsemble.experiments.paper_tables import (
    KnownDifference,
    PaperFigure,
    PaperTable,
    TableEntry,
)
from kernsemble.experiments.records import Cell, Record, Store
from kernsemble.experiments.verdicts import Mean, Tally, Verdict


@dataclass(frozen=True)
class Profile:
    """The extent to which a paper is computed.

    Attributes
    ----------
    runs : int
        Maximum number of draws of each data set.
    runs_of : dict of str to int
        Smaller maximum for single data sets or methods.
    rows, methods : tuple of str or None
        Data sets and methods, None for all.
    """

    runs: int
    runs_of: dict[str, int]
    rows: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> Self:
        """Read a profile of a configuration."""
        lists = {name: settings.get(name) for name in ("rows", "methods")}
        return cls(
            settings["runs"],
            settings.get("runs_of", {}),
            **{name: None if each is None else tuple(each) for name, each in lists.items()},
        )

    def includes(self, row: str, method: str) -> bool:
        """Return whether a method is run on a data set."""
        return (self.rows is None or row in self.rows) and (
            self.methods is None or method in self.methods
        )


@dataclass(frozen=True)
class Paper:
    """A paper whose tables and figures can be computed again.

    Attributes
    ----------
    name, title : str
        Its short name, that of the folder, and its title.
    folder : Path
        Folder of its configuration and its published numbers.
    tables : dict of str to PaperTable
        Tables by name.
    figures : dict of str to PaperFigure
        Figures by name.
    data : dict of str to str
        Names for `paper_data.draw`, by the paper's names where they differ.
    profiles : dict of str to Profile
        Profiles "full" and "quick".
    claims : tuple of Claim
        Claims about its tables.
    differences : tuple of KnownDifference
        Known reasons why numbers differ.
    """

    name: str
    title: str
    folder: Path
    tables: dict[str, PaperTable]
    figures: dict[str, PaperFigure]
    data: dict[str, str]
    profiles: dict[str, Profile]
    claims: tuple[Claim, ...]
    differences: tuple[KnownDifference, ...]

    @classmethod
    def from_folder(cls, folder: str | Path) -> Self:
        """Read a folder that contains config.toml and published.json."""
        folder = Path(folder)
        config = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
        published = json.loads((folder / "published.json").read_text(encoding="utf-8"))
        tables = {
            name: PaperTable.from_settings(
                name,
                settings,
                published.get(settings.get("published", name), {}),
                config.get("published_runs", 1),
            )
            for name, settings in config.get("tables", {}).items()
        }
        figures = config.get("figures", {})
        return cls(
            name=folder.name,
            title=config["title"],
            folder=folder,
            tables=tables,
            figures={
                name: PaperFigure.from_settings(name, settings)
                for name, settings in figures.items()
            },
            data=_data_names(config),
            profiles={
                name: Profile.from_settings(each) for name, each in config["profiles"].items()
            },
            claims=tuple(
                Claim.from_settings(each, tables[each["table"]].rows)
                for each in config.get("claims", [])
            ),
            differences=tuple(
                KnownDifference.from_settings(each, tables[each["table"]].rows)
                for each in config.get("explanations", [])
            ),
        )

    def cells(
        self, profile: str = "full", parts: Sequence[str] | None = None, runs: int | None = None
    ) -> list[Cell]:
        """Return the cells of tables and figures, sorted by draw.

        Parameters
        ----------
        profile : str
            "full" or "quick".
        parts : sequence of str, optional
            Names of tables and figures; all by default.
        runs : int, optional
            Maximum number of draws; that of the profile by default.
        """
        limits = self.profiles[profile]
        cells = {
            Cell(data, method, seed)
            for row, data, method, most in self._wanted(self.parts(parts))
            if limits.includes(row, method)
            for seed in range(_n_runs(limits, row, data, method, runs, most))
        }
        return sorted(cells, key=lambda cell: (cell.seed, cell.data, cell.method))

    def _wanted(self, names: Sequence[str]) -> Iterator[tuple[str, str, str, int | None]]:
        """Yield the row, data, method and maximum number of draws of each number."""
        for table in (self.tables[name] for name in names if name in self.tables):
            for row in table.rows:
                for source in table.columns.values():
                    yield row, self.data_name(row, table), source.method, None
        for figure in (self.figures[name] for name in names if name in self.figures):
            for row in figure.rows:
                for method in figure.methods:
                    yield row, self.data_name(row), method, figure.runs

    def records(self, store: Store, parts: Sequence[str] | None = None) -> list[Record]:
        """Return the records of a store that belong to tables and figures, all by default."""
        pairs = {(data, method) for _, data, method, _ in self._wanted(self.parts(parts))}
        return [record for pair in sorted(pairs) for record in store.records_of(*pair)]

    def parts(self, names: Sequence[str] | None = None) -> list[str]:
        """Return the names of tables and figures, or check the given ones."""
        known = [*self.tables, *self.figures]
        unknown = [name for name in names or () if name not in known]
        if unknown:
            raise ValueError(
                f"{self.name} has no {unknown[0]!r}: use one or several of {', '.join(known)}"
            )
        return list(names or known)

    def data_name(self, row: str, table: PaperTable | None = None) -> str:
        """Return the name for `paper_data.draw` of a data set of the paper, or of a table."""
        return (self.data if table is None else self.data | table.data).get(row, row)

    def entries(self, name: str, store: Store) -> Iterator[TableEntry]:
        """Yield the numbers of a table, computed from the records of a store."""
        table = self.tables[name]
        for row in table.rows:
            for column, (method, quantity) in table.columns.items():
                records = store.records_of(self.data_name(row, table), method)
                numbers = [each.values[quantity] for each in records if quantity in each.values]
                yield TableEntry(
                    row,
                    column,
                    Mean.from_runs(numbers) if numbers else None,
                    table.published.get(row, {}).get(column),
                    sum(each.failure is not None for each in records),
                )

    def figure_records(self, figure: PaperFigure, store: Store) -> list[Record]:
        """Return the records without failure that a figure is drawn from."""
        records = [
            record
            for row in figure.rows
            for method in figure.methods
            for record in store.records_of(self.data_name(row), method)
        ]
        return [record for record in records if record.failure is None]

    def check_claims(self, store: Store) -> Iterator[tuple[Claim, ClaimResult]]:
        """Yield each claim, and whether it holds for the means of a store."""
        for claim in self.claims:
            entries = self.entries(claim.table, store)
            means = {(entry.row, entry.column): entry.ours for entry in entries if entry.ours}
            yield claim, claim.check(means)

    def tally(self, store: Store, parts: Sequence[str] | None = None) -> Tally:
        """Count the published numbers by verdict; one that is in two tables counts once.

        Parameters
        ----------
        store : Store
            Records.
        parts : sequence of str, optional
            Names of tables and figures; all by default.
        """
        verdicts: dict[tuple[Any, ...], tuple[Verdict, bool]] = {}
        names = self.parts(parts)
        for table in self.tables.values():
            if table.name not in names or table.is_ours or not table.is_judged:
                continue
            for entry in self.entries(table.name, store):
                if entry.comparison is not None:
                    key = (self.data_name(entry.row, table), *table.columns[entry.column])
                    verdict, before = verdicts.get(key, (entry.comparison.verdict, False))
                    is_explained = self.is_explained(table.name, entry, store)
                    verdicts[key] = (verdict, before or is_explained)
        counts = Counter(verdict for verdict, _ in verdicts.values())
        explained = sum(each == (Verdict.WORSE, True) for each in verdicts.values())
        return Tally(
            within=counts[Verdict.WITHIN],
            better=counts[Verdict.BETTER],
            missed=counts[Verdict.WORSE],
            explained=explained,
        )

    def is_explained(self, table: str, entry: TableEntry, store: Store) -> bool:
        """Return whether a number has a known difference whose testing table meets it."""
        return any(
            other.comparison is not None and other.comparison.verdict is not Verdict.WORSE
            for each in self.differences
            if each.tested_by is not None and each.concerns(table, entry.row, entry.column)
            for other in self.entries(each.tested_by, store)
            if (other.row, other.column) == (entry.row, entry.column)
        )


def compute(cell: Cell) -> dict[str, float]:
    """Return the numbers of a cell of any paper."""
    return run_method(cell.method, draw(cell.data, cell.seed), cell.seed)


def _data_names(config: dict[str, Any]) -> dict[str, str]:
    """Return the names of data sets that differ from the paper's, including scaled ones."""
    names: dict[str, str] = dict(config.get("data", {}))
    return names | {row: names.get(row, row) + SCALED for row in config.get("scaled", [])}


def _n_runs(
    profile: Profile, row: str, data: str, method: str, runs: int | None, most: int | None
) -> int:
    limits = [profile.runs if runs is None else runs, n_draws(data), most]
    limits += [profile.runs_of.get(row), profile.runs_of.get(method)]
    return min(limit for limit in limits if limit is not None)

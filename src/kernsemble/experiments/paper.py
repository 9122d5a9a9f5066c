"""A paper: its tables as a configuration, its numbers as published, its cells as computed."""

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from kernsemble.experiments.cells import Cell, Record
from kernsemble.experiments.claims import Claim, Found
from kernsemble.experiments.methods import values_of
from kernsemble.experiments.problems import SCALED, draw, n_draws
from kernsemble.experiments.store import Store
from kernsemble.experiments.tables import Entry, Explanation, Figure, Table
from kernsemble.experiments.verdicts import Mean, Verdict


@dataclass(frozen=True)
class Profile:
    """How much of a paper is run.

    Attributes
    ----------
    runs : int
        How many draws of each data set, if there are so many.
    runs_of : dict of str to int
        The same for data sets or methods that have fewer.
    rows, methods : tuple of str or None
        Data sets and methods, None for all.
    """

    runs: int
    runs_of: dict[str, int]
    rows: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Self:
        """Return the profile of a configuration."""
        lists = {name: settings.get(name) for name in ("rows", "methods")}
        return cls(
            settings["runs"],
            settings.get("runs_of", {}),
            **{name: None if each is None else tuple(each) for name, each in lists.items()},
        )

    def asks_for(self, row: str, method: str) -> bool:
        """Whether a method is run on a data set."""
        return (self.rows is None or row in self.rows) and (
            self.methods is None or method in self.methods
        )


class Tally(NamedTuple):
    """How many published numbers were met, beaten and missed, and of these explained by a test."""

    within: int
    better: int
    worse: int
    explained: int

    @property
    def share(self) -> float:
        """The share of numbers that were met or beaten."""
        return (self.within + self.better) / max(1, self.within + self.better + self.worse)


@dataclass(frozen=True)
class Paper:
    """A paper whose tables and figures can be computed again.

    Attributes
    ----------
    name, title : str
        Its short name, that of the folder, and what it is.
    folder : Path
        Where its configuration and its published numbers are.
    tables : dict of str to Table
        By name.
    figures : dict of str to Figure
        By name.
    data : dict of str to str
        What `problems.draw` calls the data sets, where the paper's names differ.
    profiles : dict of str to Profile
        "full" and "quick".
    claims : tuple of Claim
        What it says of its tables.
    explanations : tuple of Explanation
        Why some numbers differ.
    """

    name: str
    title: str
    folder: Path
    tables: dict[str, Table]
    figures: dict[str, Figure]
    data: dict[str, str]
    profiles: dict[str, Profile]
    claims: tuple[Claim, ...]
    explanations: tuple[Explanation, ...]

    @classmethod
    def of(cls, folder: str | Path) -> Self:
        """Read a folder that holds config.toml and published.json."""
        folder = Path(folder)
        config = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
        published = json.loads((folder / "published.json").read_text(encoding="utf-8"))
        tables = {
            name: Table.of(
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
            figures={name: Figure.of(name, settings) for name, settings in figures.items()},
            data=_names_of_data(config),
            profiles={name: Profile.of(each) for name, each in config["profiles"].items()},
            claims=tuple(
                Claim.of(each, tables[each["table"]].rows) for each in config.get("claims", [])
            ),
            explanations=tuple(
                Explanation.of(each, tables[each["table"]].rows)
                for each in config.get("explanations", [])
            ),
        )

    def cells(
        self, profile: str = "full", parts: Sequence[str] | None = None, runs: int | None = None
    ) -> list[Cell]:
        """Return the cells of tables and figures, draw by draw: early stops leave all begun.

        Parameters
        ----------
        profile : str
            "full" or "quick".
        parts : sequence of str, optional
            The names of tables and figures; all by default.
        runs : int, optional
            Another number of draws than the profile's, if there are so many.
        """
        asked = self.profiles[profile]
        cells = {
            Cell(data, method, seed)
            for row, data, method, most in self._wanted(self.parts(parts))
            if asked.asks_for(row, method)
            for seed in range(_n_runs(asked, row, data, method, runs, most))
        }
        return sorted(cells, key=lambda cell: (cell.seed, cell.data, cell.method))

    def _wanted(self, names: Sequence[str]) -> Iterator[tuple[str, str, str, int | None]]:
        """Yield rows of tables and figures, their data, methods, and limits to the draws."""
        for table in (self.tables[name] for name in names if name in self.tables):
            for row in table.rows:
                for source in table.columns.values():
                    yield row, self.data_of(row, table), source.method, None
        for figure in (self.figures[name] for name in names if name in self.figures):
            for row in figure.rows:
                for method in figure.methods:
                    yield row, self.data_of(row), method, figure.runs

    def records(self, store: Store) -> list[Record]:
        """Return all that a store has of the paper's tables and figures."""
        pairs = {(data, method) for _, data, method, _ in self._wanted(self.parts())}
        return [record for pair in sorted(pairs) for record in store.records_of(*pair)]

    def parts(self, names: Sequence[str] | None = None) -> list[str]:
        """Return the names of tables and figures, of all unless some are given."""
        known = [*self.tables, *self.figures]
        unknown = [name for name in names or () if name not in known]
        if unknown:
            raise ValueError(f"{self.name} has no {unknown[0]!r}: give some of {', '.join(known)}")
        return list(names or known)

    def data_of(self, row: str, table: Table | None = None) -> str:
        """Return what `problems.draw` calls a data set of the paper, or of a table of it."""
        return (self.data if table is None else self.data | table.data).get(row, row)

    def entries(self, table: str, store: Store) -> Iterator[Entry]:
        """Yield the numbers of a table as far as a store has them."""
        asked = self.tables[table]
        for row in asked.rows:
            for column, (method, quantity) in asked.columns.items():
                records = store.records_of(self.data_of(row, asked), method)
                told = [each.values[quantity] for each in records if quantity in each.values]
                yield Entry(
                    row,
                    column,
                    Mean.of(told) if told else None,
                    asked.published.get(row, {}).get(column),
                    sum(each.failure is not None for each in records),
                )

    def shown_in(self, figure: Figure, store: Store) -> list[Record]:
        """Return the records, without failure, that a figure is drawn from."""
        records = [
            record
            for row in figure.rows
            for method in figure.methods
            for record in store.records_of(self.data_of(row), method)
        ]
        return [record for record in records if record.failure is None]

    def look_at_claims(self, store: Store) -> Iterator[tuple[Claim, Found]]:
        """Yield each claim, and what the means of a store say of it."""
        for claim in self.claims:
            entries = self.entries(claim.table, store)
            means = {(entry.row, entry.column): entry.ours for entry in entries if entry.ours}
            yield claim, claim.look(means)

    def tally(self, store: Store) -> Tally:
        """Count the verdicts on the published numbers; those that stand in two tables, once."""
        verdicts: dict[tuple[Any, ...], tuple[Verdict, bool]] = {}
        for table in self.tables.values():
            if table.is_ours or not table.is_judged:
                continue
            for entry in self.entries(table.name, store):
                if entry.comparison is not None:
                    key = (self.data_of(entry.row, table), *table.columns[entry.column])
                    verdict, before = verdicts.get(key, (entry.comparison.verdict, False))
                    is_explained = self.is_explained(table.name, entry, store)
                    verdicts[key] = (verdict, before or is_explained)
        told = list(verdicts.values())
        n_of = {each: sum(verdict is each for verdict, _ in told) for each in Verdict}
        explained = sum(verdict is Verdict.WORSE and known for verdict, known in told)
        return Tally(n_of[Verdict.WITHIN], n_of[Verdict.BETTER], n_of[Verdict.WORSE], explained)

    def is_explained(self, table: str, entry: Entry, store: Store) -> bool:
        """Whether it is told why a number differs, and the table that tests it meets the number."""
        return any(
            other.comparison is not None and other.comparison.verdict is not Verdict.WORSE
            for each in self.explanations
            if each.tested_by is not None and each.explains(table, entry.row, entry.column)
            for other in self.entries(each.tested_by, store)
            if (other.row, other.column) == (entry.row, entry.column)
        )


def compute(cell: Cell) -> dict[str, float]:
    """Return the numbers of a cell of any paper."""
    return values_of(cell.method, draw(cell.data, cell.seed), cell.seed)


def _names_of_data(config: dict[str, Any]) -> dict[str, str]:
    """Return the names of data sets that differ from the paper's, scaled ones among them."""
    names: dict[str, str] = dict(config.get("data", {}))
    return names | {row: names.get(row, row) + SCALED for row in config.get("scaled", [])}


def _n_runs(
    asked: Profile, row: str, data: str, method: str, runs: int | None, most: int | None
) -> int:
    limits = [asked.runs if runs is None else runs, n_draws(data), most]
    limits += [asked.runs_of.get(row), asked.runs_of.get(method)]
    return min(limit for limit in limits if limit is not None)

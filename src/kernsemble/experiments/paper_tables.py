"""Tables and figures of a paper, and known differences from its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from kernsemble.experiments.verdicts import Mean, PublishedComparison


class ColumnSource(NamedTuple):
    """The source of the numbers of a column: a method, and one of the quantities it returns."""

    method: str
    quantity: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a source of a configuration, "method" or "method: quantity"."""
        method, _, quantity = text.partition(":")
        return cls(method.strip(), quantity.strip() or "error")


class TableEntry(NamedTuple):
    """A number of a table: ours, None if it has not been computed, and the published one."""

    row: str
    column: str
    ours: Mean | None
    published: Mean | None
    n_failures: int

    @property
    def comparison(self) -> PublishedComparison | None:
        """Comparison of both numbers, None if one is missing."""
        if self.ours is None or self.published is None:
            return None
        return PublishedComparison(self.ours, self.published)


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper: rows are data sets, columns are sources of numbers.

    Attributes
    ----------
    name, caption : str
        Its name and caption.
    rows : tuple of str
        Data sets, by the paper's names.
    columns : dict of str to ColumnSource
        Source of the numbers of each column.
    published : dict of str to dict of str to Mean
        Published numbers, by row and column.
    is_judged : bool
        Whether smaller numbers are better, so that there are verdicts.
    is_ours : bool
        Whether the table is not the paper's, but compares other methods with its numbers, to test
        a known difference.
    data : dict of str to str
        Names for `paper_data.draw` that differ from those of the paper's other tables, by row.
    """

    name: str
    caption: str
    rows: tuple[str, ...]
    columns: dict[str, ColumnSource]
    published: dict[str, dict[str, Mean]]
    is_judged: bool
    is_ours: bool = False
    data: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_settings(
        cls, name: str, settings: dict[str, Any], published: dict[str, Any], runs: int
    ) -> Self:
        """Read a table of a configuration; published numbers are means of `runs` runs."""
        single = settings.get("one_run", ())
        numbers = {
            row: {
                column: Mean(cell["mean"], cell.get("se"), 1 if row in single else runs)
                for column, cell in cells.items()
                if column in settings["columns"]
            }
            for row, cells in published.get("rows", {}).items()
        }
        columns = settings["columns"].items()
        return cls(
            name=name,
            caption=settings["caption"],
            rows=tuple(settings.get("rows", numbers)),
            columns={column: ColumnSource.parse(text) for column, text in columns},
            published=numbers,
            is_judged=settings.get("is_judged", True),
            is_ours="published" in settings,
            data=settings.get("data", {}),
        )


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper, drawn from the records of some methods on some data sets.

    Attributes
    ----------
    name, caption : str
        Its name and caption.
    picture : str
        Name of the function in `kernsemble.experiments.pictures` that draws it.
    rows, methods : tuple of str
        Data sets and methods of its records; none if the function computes what it shows.
    runs : int or None
        Number of draws, None for those of the profile.
    """

    name: str
    caption: str
    picture: str
    rows: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    runs: int | None = None

    @classmethod
    def from_settings(cls, name: str, settings: dict[str, Any]) -> Self:
        """Read a figure of a configuration."""
        lists = {key: tuple(settings.get(key, ())) for key in ("rows", "methods")}
        return cls(
            name, settings["caption"], settings["picture"], **lists, runs=settings.get("runs")
        )


@dataclass(frozen=True)
class KnownDifference:
    """A known reason why some numbers of a table differ from the published ones.

    Attributes
    ----------
    text : str
        The reason in words.
    table : str
        The table.
    columns, rows : tuple of str
        Columns and rows of the numbers that differ.
    tested_by : str or None
        A table with the same rows and columns in which the numbers agree if the reason is right;
        None if the text describes the test.
    """

    text: str
    table: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    tested_by: str | None = None

    @classmethod
    def from_settings(cls, settings: dict[str, Any], rows: Sequence[str]) -> Self:
        """Read an explanation of a configuration; `rows` are those of its table, the default."""
        return cls(
            settings["text"],
            settings["table"],
            tuple(settings["columns"]),
            tuple(settings.get("rows", rows)),
            settings.get("tested_by"),
        )

    def concerns(self, table: str, row: str, column: str) -> bool:
        """Return whether it is about a number of a table."""
        return table == self.table and row in self.rows and column in self.columns

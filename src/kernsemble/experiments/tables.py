"""Tables of a paper: where their numbers come from, ours beside the published ones."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

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
        Data sets, as the paper calls them.
    columns : dict of str to Source
        Where the numbers of each column come from.
    published : dict of str to dict of str to Mean
        The paper's numbers, by row and column, as far as it has them.
    is_judged : bool
        Whether less is better, so that numbers have verdicts.
    is_ours : bool
        Whether it is no table of the paper, but compares other methods with its numbers, to test
        an explanation.
    data : dict of str to str
        What `problems.draw` calls its data sets, where that differs from the paper's other tables.
    """

    name: str
    caption: str
    rows: tuple[str, ...]
    columns: dict[str, Source]
    published: dict[str, dict[str, Mean]]
    is_judged: bool
    is_ours: bool = False
    data: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, settings: dict[str, Any], published: dict[str, Any], runs: int) -> Self:
        """Return the table of a configuration, beside numbers that are means of so many runs."""
        single = settings.get("one_run", ())
        numbers = {
            row: {
                column: Mean(cell["mean"], cell.get("se"), 1 if row in single else runs)
                for column, cell in cells.items()
                if column in settings["columns"]
            }
            for row, cells in published.get("rows", {}).items()
        }
        return cls(
            name=name,
            caption=settings["caption"],
            rows=tuple(settings.get("rows", numbers)),
            columns={column: Source.of(text) for column, text in settings["columns"].items()},
            published=numbers,
            is_judged=settings.get("is_judged", True),
            is_ours="published" in settings,
            data=settings.get("data", {}),
        )


@dataclass(frozen=True)
class Figure:
    """A figure of a paper: a picture of what some methods tell of some data sets.

    Attributes
    ----------
    name, caption : str
        What it is called, and what it shows.
    picture : str
        Which of `kernsemble.experiments.pictures` draws it.
    rows, methods : tuple of str
        Data sets and methods whose records it is drawn from; none if it computes what it shows.
    runs : int or None
        How many draws, None for as many as the profile has.
    """

    name: str
    caption: str
    picture: str
    rows: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    runs: int | None = None

    @classmethod
    def of(cls, name: str, settings: dict[str, Any]) -> Self:
        """Return the figure of a configuration."""
        lists = {key: tuple(settings.get(key, ())) for key in ("rows", "methods")}
        return cls(
            name, settings["caption"], settings["picture"], **lists, runs=settings.get("runs")
        )


@dataclass(frozen=True)
class Explanation:
    """Why some numbers of a table are not the published ones, and what tests it.

    Attributes
    ----------
    text : str
        The reason in words.
    table : str
        The table.
    columns, rows : tuple of str
        Its numbers that are explained.
    tested_by : str or None
        A table with the same rows and columns in which, if the reason is right, the numbers
        agree; None if the test is told in the text.
    """

    text: str
    table: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    tested_by: str | None = None

    @classmethod
    def of(cls, settings: dict[str, Any], rows: Sequence[str]) -> Self:
        """Return the explanation of a configuration; without rows it is of all of the table's."""
        return cls(
            settings["text"],
            settings["table"],
            tuple(settings["columns"]),
            tuple(settings.get("rows", rows)),
            settings.get("tested_by"),
        )

    def explains(self, table: str, row: str, column: str) -> bool:
        """Whether it is about a number."""
        return table == self.table and row in self.rows and column in self.columns

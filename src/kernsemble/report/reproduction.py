"""The HTML page of reproduced papers: published and own numbers, verdicts, claims, figures."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, Self

from kernsemble._counts import counted, duration
from kernsemble._files import atomic_write
from kernsemble.experiments.claims import Claim, ClaimResult
from kernsemble.experiments.paper import Paper
from kernsemble.experiments.paper_tables import (
    KnownDifference,
    PaperFigure,
    PaperTable,
    TableEntry,
)
from kernsemble.experiments.pictures import PICTURES
from kernsemble.experiments.records import Record, Store
from kernsemble.experiments.rendering import (
    LEGEND,
    TableRow,
    as_markdown,
    difference_subject,
    difference_test,
    entry_verdict,
    outcome_text,
    table_rows,
    table_summary,
)
from kernsemble.experiments.results import write_results
from kernsemble.experiments.verdicts import Tally, Verdict
from kernsemble.report.content_policy import content_policy
from kernsemble.report.page import template

DOTS_PER_INCH = 130
SIGNS = {Verdict.WITHIN: "=", Verdict.BETTER: "▼", Verdict.WORSE: "▲"}


class Drawing(NamedTuple):
    """A reproduced figure, or the reason why it is missing."""

    figure: PaperFigure
    png: bytes | None
    problem: str

    @classmethod
    def from_store(cls, paper: Paper, figure: PaperFigure, store: Store) -> Self:
        """Draw a figure from its records in a store."""
        records = paper.figure_records(figure, store)
        if figure.methods and not records:
            return cls(figure, None, "none of its cells has been computed")
        try:
            return cls(figure, _png(figure, records), "")
        except Exception as error:  # an error in one picture must not prevent the page
            return cls(figure, None, f"{type(error).__name__}: {error}")

    @property
    def address(self) -> str:
        """The picture as a data URL."""
        return f"data:image/png;base64,{b64encode(self.png or b'').decode()}"


def _png(figure: PaperFigure, records: Sequence[Record]) -> bytes:
    from kernsemble._axes import pyplot

    plt, content = pyplot(), BytesIO()
    before = set(plt.get_fignums())
    try:
        PICTURES[figure.picture](records).savefig(content, format="png", dpi=DOTS_PER_INCH)
    finally:
        for number in set(plt.get_fignums()) - before:
            plt.close(number)
    return content.getvalue()


class ShownTable(NamedTuple):
    """A table with the rows that have numbers."""

    table: PaperTable
    rows: list[TableRow]
    summary: str


@dataclass(frozen=True, eq=False)
class PaperSummary:
    """Summary of a reproduced paper.

    Attributes
    ----------
    paper : Paper
        Paper.
    tally : Tally
        Numbers of published numbers that are met, better and missed.
    tables : list of ShownTable
        Tables that were asked for and have numbers.
    has_tables : bool
        Whether tables were asked for.
    elsewhere : list of str
        Names of other tables that have numbers.
    explanations : list of tuple
        Explanations of differences: the explanation, the numbers concerned, and the agreement of
        the table that tests it.
    claims : list of tuple
        Claims of the paper, whether each holds, and where it fails.
    drawings : list of Drawing
        Figures.
    n_cells, n_failures : int
        Numbers of cells, and of failed cells.
    processor : float
        Total processor time in seconds.
    """

    paper: Paper
    tally: Tally
    tables: list[ShownTable]
    has_tables: bool
    elsewhere: list[str]
    explanations: list[tuple[KnownDifference, str, str]]
    claims: list[tuple[Claim, ClaimResult, str]]
    drawings: list[Drawing]
    n_cells: int
    n_failures: int
    processor: float

    @classmethod
    def from_store(cls, paper: Paper, store: Store, parts: Sequence[str] | None = None) -> Self:
        """Return the summary of a paper, or of some tables and figures, from a store."""
        names, records = paper.parts(parts), paper.records(store, parts)
        tables = ((table, table_rows(paper, table, store)) for table in paper.tables.values())
        filled = [
            ShownTable(table, rows, table_summary(table, rows)) for table, rows in tables if rows
        ]
        return cls(
            paper,
            paper.tally(store, names),
            [each for each in filled if each.table.name in names],
            any(name in paper.tables for name in names),
            [each.table.name for each in filled if each.table.name not in names],
            [
                (
                    each,
                    difference_subject(paper, each),
                    difference_test(paper, each, store) if each.tested_by else "",
                )
                for each in paper.differences
            ],
            [
                (claim, found, outcome_text(found))
                for claim, found in paper.check_claims(store)
                if claim.table in names
            ],
            [
                Drawing.from_store(paper, figure, store)
                for name, figure in paper.figures.items()
                if name in names
            ],
            len(records),
            sum(record.failure is not None for record in records),
            sum(record.processor for record in records),
        )

    @property
    def n_holding(self) -> int:
        """Number of claims that hold."""
        return sum(found.holds is True for _, found, _ in self.claims)

    @property
    def n_looked_at(self) -> int:
        """Number of claims that have been tested."""
        return sum(found.holds is not None for _, found, _ in self.claims)


def reproduction_page(
    papers: Iterable[Paper],
    store: Store,
    parts: Mapping[str, Sequence[str]] | None = None,
    others: Iterable[Paper] = (),
) -> str:
    """Return one HTML page about papers, from the cells in a store; it opens offline.

    Parameters
    ----------
    papers : iterable of Paper
        Papers to show, such as those of `kernsemble.experiments.folders.papers`.
    store : Store
        Records. Drawing the figures may take some seconds each.
    parts : mapping of str to sequence of str, optional
        Tables and figures to show, by the name of the paper; all by default. The other tables
        that have numbers are only named.
    others : iterable of Paper
        Papers that are only named, with the command that shows them, if the store has their cells.
    """
    wanted = parts or {}
    summaries = [PaperSummary.from_store(each, store, wanted.get(each.name)) for each in papers]
    records = {
        record.cell: record
        for each in summaries
        for record in each.paper.records(store, wanted.get(each.paper.name))
    }
    named = [
        (paper, sum(each.cell not in records for each in paper.records(store))) for paper in others
    ]
    return template("reproduction.html").render(
        policy=content_policy(),
        papers=summaries,
        others=[(paper, n_cells) for paper, n_cells in named if n_cells],
        tally=Tally.total(each.tally for each in summaries),
        version=version("kernsemble"),
        n_cells=len(records),
        processor=sum(record.processor for record in records.values()),
        legend=LEGEND,
        verdict_of=_verdict,
        duration=duration,
        counted=counted,
    )


def keep_results(paper: Paper, store: Store) -> list[Path]:
    """Write the results of a paper that are kept with the code, and return the files.

    The files in the folder of the paper are ``results.jsonl`` (numbers of every cell, without
    times), ``tables.md`` and ``figures/<figure>.png``.

    Parameters
    ----------
    paper : Paper
        Paper of a clone, whose folder is written to.
    store : Store
        Records.
    """
    results, tables = paper.folder / "results.jsonl", paper.folder / "tables.md"
    write_results([record.cell for record in paper.records(store)], store, results)
    with atomic_write(tables) as part:
        part.write_text(as_markdown(paper, store), encoding="utf-8")
    written = [results, tables]
    for figure in paper.figures.values():
        drawing = Drawing.from_store(paper, figure, store)
        if drawing.png is not None:
            path = paper.folder / "figures" / f"{figure.name}.png"
            path.parent.mkdir(exist_ok=True)
            with atomic_write(path) as part:
                part.write_bytes(drawing.png)
            written.append(path)
    return written


def _verdict(table: PaperTable, entry: TableEntry) -> tuple[str, str]:
    """Return the word and the sign of a verdict, empty if there is none."""
    verdict = entry_verdict(table, entry)
    return ("", "") if verdict is None else (verdict.value, SIGNS[verdict])

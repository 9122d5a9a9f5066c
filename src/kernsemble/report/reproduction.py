"""The HTML page of reproduced papers: published and own numbers, verdicts, claims, figures."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, Self

from kernsemble.experiments.cells import Record
from kernsemble.experiments.claims import Claim, Found
from kernsemble.experiments.paper import Paper, Tally
from kernsemble.experiments.pictures import PICTURES
from kernsemble.experiments.rendering import (
    MARKS_TOLD,
    Row,
    agreement_of,
    as_markdown,
    duration,
    outcome_of,
    rows_of,
    subject_of,
    summary_of,
    told_of,
    verdict_of,
)
from kernsemble.experiments.results import write_results
from kernsemble.experiments.store import Store
from kernsemble.experiments.tables import Entry, Explanation, Figure, Table
from kernsemble.experiments.verdicts import Verdict
from kernsemble.report.page import template

DOTS_PER_INCH = 130
SIGNS = {Verdict.WITHIN: "=", Verdict.BETTER: "▼", Verdict.WORSE: "▲"}


class Drawing(NamedTuple):
    """A reproduced figure, or the reason why it is missing."""

    figure: Figure
    png: bytes | None
    problem: str

    @classmethod
    def from_store(cls, paper: Paper, figure: Figure, store: Store) -> Self:
        """Draw a figure from its records in a store."""
        records = paper.shown_in(figure, store)
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


def _png(figure: Figure, records: Sequence[Record]) -> bytes:
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

    table: Table
    rows: list[Row]
    summary: str


@dataclass(frozen=True, eq=False)
class PaperSummary:
    """Summary of a reproduced paper.

    Attributes
    ----------
    paper : Paper
        Paper.
    tally : Tally
        How many published numbers were met.
    tables : list of ShownTable
        Tables that have numbers.
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
    explanations: list[tuple[Explanation, str, str]]
    claims: list[tuple[Claim, Found, str]]
    drawings: list[Drawing]
    n_cells: int
    n_failures: int
    processor: float

    @classmethod
    def from_store(cls, paper: Paper, store: Store) -> Self:
        """Return the summary of a paper from the records of a store."""
        shown = ((table, rows_of(paper, table, store)) for table in paper.tables.values())
        records = paper.records(store)
        return cls(
            paper,
            paper.tally(store),
            [ShownTable(table, rows, summary_of(table, rows)) for table, rows in shown if rows],
            [
                (
                    each,
                    subject_of(paper, each),
                    agreement_of(paper, each, store) if each.tested_by else "",
                )
                for each in paper.explanations
            ],
            [(claim, found, outcome_of(found)) for claim, found in paper.look_at_claims(store)],
            [Drawing.from_store(paper, figure, store) for figure in paper.figures.values()],
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


def reproduction_page(papers: Iterable[Paper], store: Store) -> str:
    """Return one HTML page about papers, from the cells in a store; it opens offline.

    Parameters
    ----------
    papers : iterable of Paper
        Papers, such as those of `kernsemble.experiments.folders.papers`.
    store : Store
        Records. Drawing the figures may take some seconds each.
    """
    papers, records = list(papers), store.records.values()
    return template("reproduction.html").render(
        papers=[PaperSummary.from_store(paper, store) for paper in papers],
        told_of=told_of,
        version=version("kernsemble"),
        n_cells=len(records),
        processor=sum(record.processor for record in records),
        marks_told=MARKS_TOLD,
        verdict_of=_verdict,
        duration=duration,
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
    tables.write_text(as_markdown(paper, store), encoding="utf-8")
    written = [results, tables]
    for figure in paper.figures.values():
        drawing = Drawing.from_store(paper, figure, store)
        if drawing.png is not None:
            path = paper.folder / "figures" / f"{figure.name}.png"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(drawing.png)
            written.append(path)
    return written


def _verdict(table: Table, entry: Entry) -> tuple[str, str]:
    """Return the word and the sign of a verdict, empty if there is none."""
    verdict = verdict_of(table, entry)
    return ("", "") if verdict is None else (verdict.value, SIGNS[verdict])

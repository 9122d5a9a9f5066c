"""Console output of ``kernsemble reproduce``: tables, claims and failures."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kernsemble._counts import counted
from kernsemble.cli.console import one_line, show_table, write_line

if TYPE_CHECKING:
    from kernsemble.experiments import Record, Store
    from kernsemble.experiments.paper import Paper
    from kernsemble.experiments.paper_tables import PaperTable, TableEntry

__all__ = ["show_failures", "show_paper"]

COLOURS = {"within": "", "better": "green", "worse": "red"}
SIGNS = {True: "✓", False: "✗", None: "·"}
MAX_FAILURES = 20


def show_paper(paper: "Paper", parts: Sequence[str], store: "Store") -> None:
    """Write the tables that have numbers, the claims about them, and the counts of verdicts."""
    from kernsemble.experiments.rendering import outcome_text, table_rows, table_summary

    write_line(f"\n{paper.title}")
    shown = []
    for name in parts:
        table = paper.tables.get(name)
        rows = [] if table is None else table_rows(paper, table, store)
        if table is not None and rows:
            shown.append(name)
            lines = [[r.name, r.runs, *(_cell(table, e) for e in r.entries)] for r in rows]
            show_table(f"{name}: {table.caption}", ["", "runs", *table.columns], lines)
            write_line(f"{table_summary(table, rows)}\n")
    for claim, result in paper.check_claims(store):
        if claim.table in shown:
            write_line(f"{SIGNS[result.holds]} {claim.text}: {outcome_text(result)}")
    if shown:
        write_line(str(paper.tally(store, parts)))


def _cell(table: "PaperTable", entry: "TableEntry") -> Any:
    """Return our number, coloured by the verdict, and the published one below it."""
    from rich.text import Text

    from kernsemble.experiments.rendering import MARKS, entry_verdict

    verdict = entry_verdict(table, entry)
    ours = "–" if entry.ours is None else str(entry.ours)
    mark, colour = ("", "") if verdict is None else (MARKS[verdict], COLOURS[verdict.value])
    published = "" if entry.published is None else str(entry.published)
    return Text.assemble((f"{ours}{mark}", colour), "\n", (published, "dim"))


def show_failures(failures: Iterable["Record"]) -> None:
    """Write the cells that failed, and their errors."""
    failures = list(failures)
    if failures:
        again = "it" if len(failures) == 1 else "them"
        write_line(
            f"\n{counted(len(failures), 'cell')} failed; run the command again to retry {again}:"
        )
    for each in failures[:MAX_FAILURES]:
        data, method, seed = each.cell
        write_line(f"  {data}, {method}, draw {seed}: {one_line(each.failure)}")
    if len(failures) > MAX_FAILURES:
        write_line(f"  and {len(failures) - MAX_FAILURES} more")

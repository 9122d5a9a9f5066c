"""What a reproduction says on a console: numbers beside the published ones, claims, failures."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kernsemble.cli.console import one_line, say, show_table

if TYPE_CHECKING:
    from kernsemble.experiments import Record, Store
    from kernsemble.experiments.paper import Paper
    from kernsemble.experiments.tables import Entry, Table

__all__ = ["show_paper", "tell_failures"]

COLOURS = {"within": "", "better": "green", "worse": "red"}
SIGNS = {True: "✓", False: "✗", None: "·"}
MOST_FAILURES = 20


def show_paper(paper: "Paper", parts: Sequence[str], store: "Store") -> None:
    """Say the tables that have numbers, the claims about them, and how many numbers are met."""
    from kernsemble.experiments.rendering import outcome_of, rows_of, summary_of, told_of

    say(f"\n{paper.title}")
    shown = []
    for name in parts:
        table = paper.tables.get(name)
        rows = [] if table is None else rows_of(paper, table, store)
        if table is not None and rows:
            shown.append(name)
            lines = [[r.name, r.runs, *(_cell(table, e) for e in r.entries)] for r in rows]
            show_table(f"{name}: {table.caption}", ["", "runs", *table.columns], lines)
            say(f"{summary_of(table, rows)}\n")
    for claim, found in paper.look_at_claims(store):
        if claim.table in shown:
            say(f"{SIGNS[found.holds]} {claim.text}: {outcome_of(found)}")
    if shown:
        say(told_of(paper.tally(store)))


def _cell(table: "Table", entry: "Entry") -> Any:
    """Return ours, coloured by the verdict, and the published number below it."""
    from rich.text import Text

    from kernsemble.experiments.rendering import MARKS, verdict_of

    verdict = verdict_of(table, entry)
    ours = "–" if entry.ours is None else str(entry.ours)
    mark, colour = ("", "") if verdict is None else (MARKS[verdict], COLOURS[verdict.value])
    published = "" if entry.published is None else str(entry.published)
    return Text.assemble((f"{ours}{mark}", colour), "\n", (published, "dim"))


def tell_failures(failures: Iterable["Record"]) -> None:
    """Say which cells failed, and why."""
    failures = list(failures)
    if failures:
        say(f"\n{len(failures)} cells failed; another run tries them again:")
    for each in failures[:MOST_FAILURES]:
        data, method, seed = each.cell
        say(f"  {data}, {method}, draw {seed}: {one_line(each.failure)}")
    if len(failures) > MOST_FAILURES:
        say(f"  and {len(failures) - MOST_FAILURES} more")

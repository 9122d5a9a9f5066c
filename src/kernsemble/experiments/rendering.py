"""Tables and claims of a paper as text, for a console or a page."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from kernsemble._counts import counted, duration, is_or_are
from kernsemble.experiments.claims import ClaimResult
from kernsemble.experiments.paper import Paper
from kernsemble.experiments.paper_tables import KnownDifference, PaperTable, TableEntry
from kernsemble.experiments.records import Store
from kernsemble.experiments.verdicts import Verdict

MARKS = {Verdict.WITHIN: "", Verdict.BETTER: " ▼", Verdict.WORSE: " ▲"}
LEGEND = (
    "▼ better, ▲ worse by more than three combined standard errors, or half a point where there "
    "is one run"
)


class TableRow(NamedTuple):
    """A row of a table that has numbers: its number of runs, and the processor time they took."""

    name: str
    runs: str
    entries: list[TableEntry]
    processor: float
    n_failures: int


def as_markdown(paper: Paper, store: Store) -> str:
    """Return all tables of a paper that have numbers, and its claims, as Markdown."""
    parts = [f"# {paper.title}", ""]
    parts += [f"Ours ± standard error, in brackets the published number; {LEGEND}."]
    versions = sorted({record.version for record in paper.records(store)})
    parts += [f"kernsemble {', '.join(versions)}; times were measured on one computer."]
    for table in paper.tables.values():
        rows = table_rows(paper, table, store)
        if rows:
            parts += ["", f"## {table.name}: {table.caption}", "", *_lines(table, rows)]
            parts += ["", table_summary(table, rows)]
    parts += ["", str(paper.tally(store))]
    differences = list(_differences(paper, store))
    if differences:
        parts += ["", "## Why numbers differ", "", *differences]
    if paper.claims:
        parts += ["", "## Claims", ""]
        parts += [
            f"- {outcome_text(result)}: {claim.text}" for claim, result in paper.check_claims(store)
        ]
    return "\n".join(parts) + "\n"


def table_rows(paper: Paper, table: PaperTable, store: Store) -> list[TableRow]:
    """Return the rows of a table that have numbers; the cells of a method count once."""
    by_row: dict[str, list[TableEntry]] = {}
    for entry in paper.entries(table.name, store):
        by_row.setdefault(entry.row, []).append(entry)
    rows = []
    for name, entries in by_row.items():
        runs = sorted({entry.ours.n for entry in entries if entry.ours})
        if runs:
            spread = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]}-{runs[-1]}"
            methods = {source.method for source in table.columns.values()}
            data = paper.data_name(name, table)
            records = [record for each in methods for record in store.records_of(data, each)]
            processor = sum(record.processor for record in records)
            n_failures = sum(record.failure is not None for record in records)
            rows.append(TableRow(name, spread, entries, processor, n_failures))
    return rows


def table_summary(table: PaperTable, rows: list[TableRow]) -> str:
    """Return the number of entries per verdict, and the processor time."""
    failures = sum(row.n_failures for row in rows)
    summary = f"{duration(sum(row.processor for row in rows))} of processor time."
    if table.is_judged:
        entries = [entry for row in rows for entry in row.entries]
        counts = Counter(each.comparison.verdict for each in entries if each.comparison)
        if counts:
            summary = f"{', '.join(f'{counts[v]} {v.value}' for v in Verdict)}; {summary}"
    return summary if not failures else f"{summary} {counted(failures, 'cell')} failed."


def entry_verdict(table: PaperTable, entry: TableEntry) -> Verdict | None:
    """Return the verdict on an entry, None if its table has no order or a number is missing."""
    comparison = entry.comparison
    return comparison.verdict if table.is_judged and comparison is not None else None


def entry_text(table: PaperTable, entry: TableEntry) -> str:
    """Return a number with the published one in brackets, marked if better or worse."""
    ours = "–" if entry.ours is None else str(entry.ours)
    published = "" if entry.published is None else f" ({entry.published})"
    verdict = entry_verdict(table, entry)
    return f"{ours}{published}{'' if verdict is None else MARKS[verdict]}"


def outcome_text(result: ClaimResult) -> str:
    """Return the result of a claim in words."""
    if result.holds is None:
        return "not computed"
    if result.holds:
        return f"holds on {'all ' if result.n_rows > 1 else ''}{counted(result.n_rows, 'set')}"
    failing = "; ".join(result.failing)
    return f"fails on {len(result.failing)} of {counted(result.n_rows, 'set')} ({failing})"


def _lines(table: PaperTable, rows: list[TableRow]) -> Iterator[str]:
    yield "| | runs | " + " | ".join(table.columns) + " |"
    yield "|" + "---|" * (len(table.columns) + 2)
    for row in rows:
        cells = " | ".join(entry_text(table, entry) for entry in row.entries)
        yield f"| {row.name} | {row.runs} | {cells} |"


def _differences(paper: Paper, store: Store) -> Iterator[str]:
    for each in paper.differences:
        text = f"- {each.table}, {difference_subject(paper, each)}: {each.text}"
        if each.tested_by is not None:
            text += f" {difference_test(paper, each, store)}"
        yield text


def difference_subject(paper: Paper, difference: KnownDifference) -> str:
    """Return the columns and rows that a known difference is about."""
    columns, rows = ", ".join(difference.columns), difference.rows
    is_whole = set(rows) == set(paper.tables[difference.table].rows)
    return columns if is_whole else f"{columns} on {', '.join(rows)}"


def difference_test(paper: Paper, difference: KnownDifference, store: Store) -> str:
    """Return the number of entries of the testing table that are not worse than published."""
    name = difference.tested_by or difference.table
    tested = [
        entry.comparison.verdict
        for entry in paper.entries(name, store)
        if entry.comparison is not None and difference.concerns(difference.table, *entry[:2])
    ]
    if not tested:
        return f"({name}: not computed.)"
    n_met = sum(verdict is not Verdict.WORSE for verdict in tested)
    return f"({name}: {n_met} of {counted(len(tested), 'number')} {is_or_are(n_met)} met.)"

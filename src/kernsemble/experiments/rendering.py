"""Tables and claims of a paper as text, for a console or a page."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from kernsemble.experiments.claims import Found
from kernsemble.experiments.paper import Paper, Tally
from kernsemble.experiments.store import Store
from kernsemble.experiments.tables import Entry, Explanation, Table
from kernsemble.experiments.verdicts import Verdict

MARKS = {Verdict.WITHIN: "", Verdict.BETTER: " ▼", Verdict.WORSE: " ▲"}
MARKS_TOLD = (
    "▼ better, ▲ worse by more than three combined standard errors, or half a point where there "
    "is one run"
)


class Row(NamedTuple):
    """A row of a table that has numbers, its number of runs, and what they took of processors."""

    name: str
    runs: str
    entries: list[Entry]
    processor: float
    n_failures: int


def as_markdown(paper: Paper, store: Store) -> str:
    """Return all tables of a paper that have numbers, and its claims."""
    parts = [f"# {paper.title}", ""]
    parts += [f"Ours ± standard error, in brackets the published number; {MARKS_TOLD}."]
    versions = sorted({record.version for record in paper.records(store)})
    parts += [f"kernsemble {', '.join(versions)}; seconds are those of one machine."]
    for table in paper.tables.values():
        rows = rows_of(paper, table, store)
        if rows:
            parts += ["", f"## {table.name}: {table.caption}", "", *_lines(table, rows)]
            parts += ["", summary_of(table, rows)]
    parts += ["", told_of(paper.tally(store))]
    explanations = list(_explanations(paper, store))
    if explanations:
        parts += ["", "## Why numbers differ", "", *explanations]
    if paper.claims:
        parts += ["", "## Claims", ""]
        parts += [f"- {outcome_of(f)}: {c.text}" for c, f in paper.look_at_claims(store)]
    return "\n".join(parts) + "\n"


def rows_of(paper: Paper, table: Table, store: Store) -> list[Row]:
    """Return the rows of a table that have numbers; the cells of a method count once."""
    by_row: dict[str, list[Entry]] = {}
    for entry in paper.entries(table.name, store):
        by_row.setdefault(entry.row, []).append(entry)
    rows = []
    for name, entries in by_row.items():
        runs = sorted({entry.ours.n for entry in entries if entry.ours})
        if runs:
            spread = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]}-{runs[-1]}"
            methods = {source.method for source in table.columns.values()}
            data = paper.data_of(name, table)
            records = [record for each in methods for record in store.records_of(data, each)]
            processor = sum(record.processor for record in records)
            n_failures = sum(record.failure is not None for record in records)
            rows.append(Row(name, spread, entries, processor, n_failures))
    return rows


def told_of(*tallies: Tally) -> str:
    """Return in words how many published numbers were met, of all tallies together."""
    tally = Tally(*map(sum, zip(*tallies, strict=True)))
    n = tally.within + tally.better + tally.worse
    return (
        f"Of {n} published numbers {tally.within + tally.better} ({tally.share:.0%}) are met or "
        f"beaten, {tally.better} of them beaten; {tally.worse} are missed, of which "
        f"{tally.explained} are explained by a test."
    )


def summary_of(table: Table, rows: list[Row]) -> str:
    """Return how many numbers are within, better and worse, and what they took of processors."""
    failures = sum(row.n_failures for row in rows)
    told = f"{duration(sum(row.processor for row in rows))} of processors."
    if table.is_judged:
        entries = [entry for row in rows for entry in row.entries]
        counts = Counter(each.comparison.verdict for each in entries if each.comparison)
        if counts:
            told = f"{', '.join(f'{counts[v]} {v.value}' for v in Verdict)}; {told}"
    return told if not failures else f"{told} {failures} cells failed."


def duration(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 10.0 else f"{seconds:.0f} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def verdict_of(table: Table, entry: Entry) -> Verdict | None:
    """Return how a number compares with the published one, None where nothing is better."""
    comparison = entry.comparison
    return comparison.verdict if table.is_judged and comparison is not None else None


def cell_of(table: Table, entry: Entry) -> str:
    """Return a number with the published one in brackets, marked if far better or worse."""
    ours = "–" if entry.ours is None else str(entry.ours)
    published = "" if entry.published is None else f" ({entry.published})"
    verdict = verdict_of(table, entry)
    return f"{ours}{published}{'' if verdict is None else MARKS[verdict]}"


def outcome_of(found: Found) -> str:
    """Return what came of a claim."""
    if found.holds is None:
        return "not computed"
    if found.holds:
        return f"holds on all of {found.n_rows} sets"
    return f"fails on {len(found.failing)} of {found.n_rows} sets ({'; '.join(found.failing)})"


def _lines(table: Table, rows: list[Row]) -> Iterator[str]:
    yield "| | runs | " + " | ".join(table.columns) + " |"
    yield "|" + "---|" * (len(table.columns) + 2)
    for row in rows:
        cells = " | ".join(cell_of(table, entry) for entry in row.entries)
        yield f"| {row.name} | {row.runs} | {cells} |"


def _explanations(paper: Paper, store: Store) -> Iterator[str]:
    for each in paper.explanations:
        told = f"- {each.table}, {subject_of(paper, each)}: {each.text}"
        if each.tested_by is not None:
            told += f" {agreement_of(paper, each, store)}"
        yield told


def subject_of(paper: Paper, explanation: Explanation) -> str:
    """Return which numbers of its table an explanation is about."""
    columns, rows = ", ".join(explanation.columns), explanation.rows
    is_whole = set(rows) == set(paper.tables[explanation.table].rows)
    return columns if is_whole else f"{columns} on {', '.join(rows)}"


def agreement_of(paper: Paper, explanation: Explanation, store: Store) -> str:
    """Return in how many cells the table that tests an explanation agrees with the paper."""
    name = explanation.tested_by or explanation.table
    tested = [
        entry.comparison.verdict
        for entry in paper.entries(name, store)
        if entry.comparison is not None and explanation.explains(explanation.table, *entry[:2])
    ]
    if not tested:
        return f"({name}: not computed.)"
    n_met = sum(verdict is not Verdict.WORSE for verdict in tested)
    return f"({name}: {n_met} of {len(tested)} numbers are met.)"

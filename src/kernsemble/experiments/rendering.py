"""Tables and claims of a paper as text, for a console or a page."""

from collections import Counter
from collections.abc import Iterator

from kernsemble.experiments.paper import Paper, Tally
from kernsemble.experiments.store import Store
from kernsemble.experiments.tables import Entry, Explanation, Table
from kernsemble.experiments.verdicts import Verdict

MARKS = {Verdict.WITHIN: "", Verdict.BETTER: " ▼", Verdict.WORSE: " ▲"}


def as_markdown(paper: Paper, store: Store) -> str:
    """Return all tables of a paper that have numbers, and its claims."""
    parts = [f"# {paper.title}", "", *_legend()]
    for table in paper.tables.values():
        entries = list(paper.entries(table.name, store))
        if any(entry.ours for entry in entries):
            parts += ["", f"## {table.name}: {table.caption}", "", *_rows(table, entries)]
            parts += ["", summary_of(table, entries)]
    parts += ["", told_of(paper.tally(store))]
    explanations = list(_explanations(paper, store))
    if explanations:
        parts += ["", "## Why numbers differ", "", *explanations]
    claims = list(_claims(paper, store))
    if claims:
        parts += ["", "## Claims", "", *claims]
    return "\n".join(parts) + "\n"


def told_of(tally: Tally) -> str:
    """Return in words how many published numbers were met."""
    n = tally.within + tally.better + tally.worse
    return (
        f"Of {n} published numbers {tally.within + tally.better} ({tally.share:.0%}) are met or "
        f"beaten, {tally.better} of them beaten; {tally.worse} are missed, of which "
        f"{tally.explained} are explained."
    )


def summary_of(table: Table, entries: list[Entry]) -> str:
    """Return how many numbers are within, better and worse, and how long they took."""
    minutes = sum(entry.seconds for entry in entries) / 60.0
    failures = sum(entry.n_failures for entry in entries)
    told = f"{minutes:.1f} minutes of one core."
    if table.is_judged:
        counts = Counter(each.comparison.verdict for each in entries if each.comparison)
        told = f"{', '.join(f'{counts[v]} {v.value}' for v in Verdict)}; {told}"
    return told if not failures else f"{told} {failures} cells failed."


def cell_of(table: Table, entry: Entry) -> str:
    """Return a number with the published one in brackets, marked if far better or worse."""
    if entry.ours is None:
        return "–" if entry.published is None else f"– ({entry.published})"
    if entry.published is None:
        return str(entry.ours)
    comparison = entry.comparison
    mark = MARKS[comparison.verdict] if table.is_judged and comparison is not None else ""
    return f"{entry.ours} ({entry.published}){mark}"


def _legend() -> Iterator[str]:
    yield (
        "Ours ± standard error, in brackets the published number; ▼ better, ▲ worse by more than "
        "three combined standard errors, or half a point where there is one run."
    )


def _rows(table: Table, entries: list[Entry]) -> Iterator[str]:
    yield "| | runs | " + " | ".join(table.columns) + " |"
    yield "|" + "---|" * (len(table.columns) + 2)
    by_row = {row: [entry for entry in entries if entry.row == row] for row in table.rows}
    for row, cells in by_row.items():
        runs = sorted({entry.ours.n for entry in cells if entry.ours})
        if runs:
            spread = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]}-{runs[-1]}"
            yield f"| {row} | {spread} | " + " | ".join(cell_of(table, e) for e in cells) + " |"


def _explanations(paper: Paper, store: Store) -> Iterator[str]:
    for each in paper.explanations:
        told = f"- {each.table}, {', '.join(each.columns)}: {each.text}"
        if each.tested_by is not None:
            told += f" {agreement_of(paper, each, store)}"
        yield told


def agreement_of(paper: Paper, explanation: Explanation, store: Store) -> str:
    """Return in how many cells the table that tests an explanation agrees with the paper."""
    name = explanation.tested_by or explanation.table
    tested = [
        entry.comparison.verdict
        for entry in paper.entries(name, store)
        if entry.comparison is not None and explanation.explains(explanation.table, *entry[:2])
    ]
    n_met = sum(verdict is not Verdict.WORSE for verdict in tested)
    return f"({name}: {n_met} of {len(tested)} numbers are met.)"


def _claims(paper: Paper, store: Store) -> Iterator[str]:
    for claim, found in paper.look_at_claims(store):
        if found.holds is None:
            yield f"- not computed: {claim.text}"
        elif found.holds:
            yield f"- holds on all of {found.n_rows} sets: {claim.text}"
        else:
            yield (f"- fails on {', '.join(found.failing)} of {found.n_rows} sets: {claim.text}")

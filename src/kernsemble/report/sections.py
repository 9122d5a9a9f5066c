"""The sections of a report, in the order of the page and of its navigation."""

from typing import NamedTuple

from kernsemble.report.summary import Summary


class Section(NamedTuple):
    """A section: its anchor, its name in the navigation and as a heading, and its template."""

    id: str
    name: str
    template: str


def sections(summary: Summary) -> list[Section]:
    """Return the sections that have something to show."""
    threshold = [Section("threshold", "Threshold", "threshold.html")] if summary.thresholds else []
    found = [
        Section("summary", "Summary", "summary.html"),
        Section("performance", "Performance", "performance.html"),
        *threshold,
        Section("importance", "Feature importance", "importance.html"),
        Section("effects", "Feature effects", "effects.html"),
        Section("what-if", "What if", "what_if.html"),
        Section("rows", "Explained rows", "rows.html"),
        Section("data", "Data", "data.html"),
    ]
    if summary.selection or summary.searched or summary.leaderboard:
        found.append(Section("selection", "Model selection", "selection.html"))
    found.append(Section("reproducibility", "Reproducibility", "reproducibility.html"))
    return found

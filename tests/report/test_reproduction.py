"""Reproduced papers: their page, and the results that are kept with the code."""

import re

import pytest
from small_paper import TITLE

from kernsemble.experiments import Cell, Record, Store, pictures
from kernsemble.experiments.paper import Paper
from kernsemble.experiments.results import read_results
from kernsemble.report.reproduction import Drawing, PaperSummary, keep_results, reproduction_page


def test_summaries_have_verdicts_claims_and_failures(small):
    summary = PaperSummary.from_store(small.paper, small.store)
    assert [shown.table.name for shown in summary.tables] == ["table1", "table1b", "table2"]
    assert [row.name for row in summary.tables[0].rows] == ["twonorm", "ringnorm"]
    assert summary.tables[0].rows[0].processor == 6.0  # of six cells, though columns share some
    assert (summary.n_cells, summary.n_failures, summary.processor) == (12, 1, 12.0)
    assert (summary.n_holding, summary.n_looked_at) == (1, 2)
    assert summary.tally == (2, 1, 1, 1)
    assert summary.explanations[0][1:] == (
        "bad on ringnorm",
        "(table1b: 1 of 1 number is met.)",
    )


def test_the_page_has_every_part_and_loads_nothing(small):
    page = reproduction_page([small.paper], small.store)
    assert "A paper &lt;of&gt; ours" in page
    assert TITLE not in page
    for text in (
        "= within",
        "▼ better",
        "▲ worse",
        "Its columns were exchanged. (table1b: 1 of 1 number is met.)",
        "1 failed",
        "fails on 2 of 2 sets (twonorm; ringnorm)",
        "Figure not available: KeyError",
        "12 cells took 12 s of\nprocessor time",
        "Of 4 published numbers, 2 are met within three standard errors (50%), 1 is better by more "
        "than three and 1 is missed, 1 of them explained by a test.",
    ):
        assert text in page
    assert page.count("data:image/png;base64,iVBOR") == 1
    addresses = re.findall(r"(?:src|href)=\"([^\"]*)\"|url\(([^)]*)\)", page)
    assert {(each[0] or each[1])[:6] for each in addresses} == {"data:,", "data:i"}


def test_the_page_shows_what_was_asked_for_and_names_the_rest(small):
    folder = small.paper.folder.with_name("other-2026")
    config = (folder / "config.toml").read_text().replace("SVM-Stump: fit", "SVM-Perc: fit")
    (folder / "config.toml").write_text(config)
    other = Paper.from_folder(folder)
    with small.store.writing():
        small.store.append(Record(Cell("twonorm", "SVM-Perc", 0), {"fit": 0.5}))
    parts = {"small-2026": ["table1b", "figure1"]}
    page = reproduction_page([small.paper], small.store, parts, [other])
    headings = re.findall(r"<h[123]>(.*?)</h[123]>", page)
    assert headings == ["A paper &lt;of&gt; ours", "table1b: errors as the paper meant them"]
    assert "Also computed: table1; table2." in page
    assert "Of 2 published numbers, 2 are met" not in page  # those of table1
    assert re.findall(r'<figure id="([^"]*)"', page) == ["small-2026-figure1"]
    assert "1 cell of other-2026;\n<code>kernsemble reproduce other-2026</code>" in page
    assert "6 cells (a method on a" in page
    figure = reproduction_page([small.paper], small.store, {"small-2026": ["figure1"]})
    assert "None of the tables has been computed" not in figure


def test_the_page_of_an_empty_store_reports_it(small, tmp_path):
    page = reproduction_page([small.paper], Store(tmp_path / "empty.jsonl"))
    assert "None of the tables has been computed" in page
    assert "are met" not in page
    assert "Figure not available: none of its cells has been computed" in page


def test_pictures_leave_no_figures_open(small, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")

    def opened(records):
        figure, axes = plt.subplots()
        if len(records) == 2:
            raise ValueError("two are too few")
        axes.plot([1, 2])
        return figure

    monkeypatch.setitem(pictures.PICTURES, "curve", opened)
    before = plt.get_fignums()
    figure = small.paper.figures["figure1"]
    assert Drawing.from_store(small.paper, figure, small.store).png.startswith(b"\x89PNG")
    monkeypatch.setattr(type(small.paper), "figure_records", lambda *_: [1, 2])
    drawing = Drawing.from_store(small.paper, figure, small.store)
    assert (drawing.png, drawing.problem) == (None, "ValueError: two are too few")
    assert plt.get_fignums() == before


def test_kept_results_can_be_read_again(small):
    written = keep_results(small.paper, small.store)
    folder = small.paper.folder
    assert [path.relative_to(folder).as_posix() for path in written] == [
        "results.jsonl",
        "tables.md",
        "figures/figure1.png",
    ]
    again = read_results(folder / "results.jsonl")
    assert len(again.records) == 11
    assert small.paper.tally(again) == small.paper.tally(small.store)
    assert "| twonorm | 2-3 |" in (folder / "tables.md").read_text(encoding="utf-8")

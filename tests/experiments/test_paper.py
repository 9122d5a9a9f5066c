"""Papers are configurations: their cells, tables, verdicts and claims."""

from pathlib import Path

import pytest

from kernsemble.experiments import Cell, Mean, Record, Store, Verdict
from kernsemble.experiments.claims import Claim
from kernsemble.experiments.methods import ESTIMATORS, METHODS, run_method
from kernsemble.experiments.paper import Paper, compute
from kernsemble.experiments.paper_data import draw
from kernsemble.experiments.pictures import PICTURES
from kernsemble.experiments.rendering import as_markdown
from kernsemble.experiments.results import read_results, write_results
from kernsemble.svm import MultiplicativeSVC

FOLDER = Path(__file__).parents[2] / "experiments"
CONFIG = """
title = "A paper"
published_runs = 100
[profiles.full]
runs = 3
[profiles.full.runs_of]
"SVM-Mid" = 1
[profiles.quick]
runs = 1
rows = ["twonorm"]
[tables.table1]
caption = "errors"
[tables.table1.columns]
"SVM-Stump" = "SVM-Stump"
"SVM-Mid" = "SVM-Mid"
"seconds" = "SVM-Stump: fit"
[tables.table1b]
caption = "as the paper meant it"
published = "table1"
rows = ["ringnorm-n"]
[tables.table1b.data]
ringnorm-n = "ringnorm"
[tables.table1b.columns]
"SVM-Stump" = "SVM-Stump hard margin"
[figures.figure1]
caption = "a curve"
picture = "curve"
rows = ["twonorm"]
methods = ["auto"]
runs = 2
[[explanations]]
table = "table1"
columns = ["SVM-Stump"]
rows = ["ringnorm-n"]
text = "The margin was hard."
tested_by = "table1b"
[[claims]]
text = "stumps are better"
table = "table1"
smaller = "SVM-Stump"
larger = ["SVM-Mid"]
"""
PUBLISHED = """{"table1": {"rows": {
  "twonorm": {"SVM-Stump": {"mean": 3.0, "se": 0.1}, "SVM-Mid": {"mean": 9.0, "se": 0.1}},
  "ringnorm-n": {"SVM-Stump": {"mean": 5.0, "se": 0.1}}}}}"""


@pytest.fixture
def paper(tmp_path):
    folder = tmp_path / "a-paper"
    folder.mkdir()
    (folder / "config.toml").write_text(CONFIG)
    (folder / "published.json").write_text(PUBLISHED)
    return Paper.from_folder(folder)


def store_with(tmp_path, *records):
    store = Store(tmp_path / "records.jsonl")
    with store.writing():
        for record in records:
            store.append(record)
    return store


def test_cells_are_those_of_the_profile_draw_by_draw(paper):
    table = ["table1"]
    assert paper.cells("quick", table) == [
        Cell("twonorm", "SVM-Mid", 0),
        Cell("twonorm", "SVM-Stump", 0),
    ]
    full = paper.cells(parts=table)
    assert len(full) == 2 * (3 + 1)
    assert paper.cells(parts=["figure1"]) == [
        Cell("twonorm", "auto", 0),
        Cell("twonorm", "auto", 1),
    ]
    assert Cell("ringnorm", "SVM-Stump hard margin", 0) in paper.cells(parts=["table1b"])
    assert len(paper.cells()) == len(full) + 3 + 2
    assert [cell.seed for cell in full] == sorted(cell.seed for cell in full)
    assert len(paper.cells(parts=table, runs=2)) == 2 * (2 + 1)
    with pytest.raises(ValueError, match="a-paper has no 'table9'"):
        paper.cells(parts=["table9"])


def test_tables_hold_means_verdicts_and_failures(paper, tmp_path):
    values = [{"error": 2.9, "fit": 1.0}, {"error": 3.1, "fit": 3.0}]
    store = store_with(
        tmp_path,
        *(Record(Cell("twonorm", "SVM-Stump", k), each, 2.0) for k, each in enumerate(values)),
        Record(Cell("twonorm", "SVM-Stump", 2), failure="ValueError: no"),
        Record(Cell("twonorm", "SVM-Mid", 0), {"error": 4.0}, 1.0),
    )
    entries = {(e.row, e.column): e for e in paper.entries("table1", store)}
    stump, mid = entries["twonorm", "SVM-Stump"], entries["twonorm", "SVM-Mid"]
    assert stump.ours == pytest.approx((3.0, 0.1, 2))
    assert stump.published == Mean(3.0, 0.1, 100)
    assert stump.comparison.verdict is Verdict.WITHIN
    assert stump.n_failures == 1
    assert mid.comparison.verdict is Verdict.BETTER
    assert entries["twonorm", "seconds"].ours.mean == 2.0
    assert entries["ringnorm-n", "SVM-Stump"].ours is None
    text = as_markdown(paper, store)
    assert "| twonorm | 1-2 | 3.00 ± 0.10 (3.00 ± 0.10) | 4.00 (9.00 ± 0.10) ▼ |" in text
    assert "1 within, 1 better, 0 worse" in text
    assert "1 cell failed" in text  # though two columns share the cell
    assert "- holds on 1 set: stumps are better" in text


def test_numbers_missed_are_explained_by_a_table_that_meets_them(paper, tmp_path):
    store = store_with(
        tmp_path,
        *(Record(Cell("ringnorm-n", "SVM-Stump", k), {"error": 9.0 + k}) for k in range(3)),
        *(
            Record(Cell("ringnorm", "SVM-Stump hard margin", k), {"error": 4.0 + k})
            for k in range(3)
        ),
        Record(Cell("twonorm", "SVM-Mid", 0), {"error": 4.0}),
    )
    assert paper.tally(store) == (0, 1, 1, 1)
    text = as_markdown(paper, store)
    assert (
        "Of 2 published numbers, 0 are met within three standard errors (0%), 1 is better by "
        "more than three and 1 is missed, 1 of them explained by a test." in text
    )
    assert (
        "table1, SVM-Stump on ringnorm-n: The margin was hard. (table1b: 1 of 1 number is met.)"
        in text
    )
    for k in range(3):
        store.keep(Record(Cell("ringnorm", "SVM-Stump hard margin", k), {"error": 9.0 + k}))
    assert paper.tally(store) == (0, 1, 1, 0)


def test_differences_that_are_not_tested_yet_are_marked(paper, tmp_path):
    record = Record(Cell("ringnorm-n", "SVM-Stump", 0), {"error": 9.0})
    text = as_markdown(paper, store_with(tmp_path, record))
    assert "The margin was hard. (table1b: not computed.)" in text


def test_results_are_kept_without_seconds(paper, tmp_path):
    cell = Cell("twonorm", "SVM-Stump", 4)
    failed = Record(cell._replace(seed=5), failure="ValueError: no")
    store = store_with(
        tmp_path,
        Record(cell, {"error": 10.0 / 3.0, "fit": 1.0, "fit, b@2": 1.0}, 2.0, version="1"),
        failed,
    )
    path = tmp_path / "results.jsonl"
    write_results([cell, failed.cell], store, path)
    again = read_results(path)
    assert list(again.records) == [cell]
    assert again.records[cell].values == {"error": 3.33333}
    assert again.records[cell].version == "1"


def test_values_of_only_some_draws_are_kept(tmp_path):
    cells = [Cell("twonorm", "SVM-Stump", seed) for seed in range(2)]
    values = [{"error": 1.0}, {"error": 2.0, "mistakes": 3.0}]
    records = [Record(cell, values) for cell, values in zip(cells, values, strict=True)]
    path = tmp_path / "results.jsonl"
    write_results(cells, store_with(tmp_path, *records), path)
    again = read_results(path)
    assert [again.records[cell].values for cell in cells] == values


def test_claims_hold_fail_or_are_not_computed():
    claim = Claim("", "t", "a", ("b",), ("x", "y"), times=2.0)
    means = {("x", "a"): Mean(1.0, None, 1), ("x", "b"): Mean(2.0, None, 1)}
    assert claim.check({}).holds is None
    assert claim.check(means).holds is True
    means |= {("y", "a"): Mean(1.0, None, 1), ("y", "b"): Mean(1.9, None, 1)}
    assert claim.check(means) == (2, ("y",))


@pytest.mark.parametrize("name", [path.name for path in sorted(FOLDER.iterdir()) if path.is_dir()])
def test_papers_use_methods_that_exist(name):
    paper = Paper.from_folder(FOLDER / name)
    for table in paper.tables.values():
        assert table.rows
        for source in table.columns.values():
            assert source.method in {**ESTIMATORS, **METHODS}
    for figure in paper.figures.values():
        assert figure.picture in PICTURES
        assert set(figure.methods) <= {**ESTIMATORS, **METHODS}.keys()
    for each in paper.differences:
        assert set(each.columns) <= paper.tables[each.table].columns.keys()
        assert each.tested_by is None or paper.tables[each.tested_by].is_ours
    for claim in paper.claims:
        assert {claim.smaller, *claim.larger} <= set(paper.tables[claim.table].columns)
        assert set(claim.rows) <= set(paper.tables[claim.table].rows)


@pytest.mark.parametrize("name", [path.name for path in sorted(FOLDER.iterdir()) if path.is_dir()])
def test_committed_tables_have_the_counts_of_the_committed_results(name):
    paper = Paper.from_folder(FOLDER / name)
    tally = paper.tally(read_results(paper.folder / "results.jsonl"))
    assert tally.n > 0
    assert str(tally) in (paper.folder / "tables.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.large
def test_a_cell_has_the_same_error_when_computed_again():
    cell = Cell("ringnorm-n", "SVM-Stump", 7)
    assert compute(cell)["error"] == compute(cell)["error"]
    assert 2.0 < compute(cell)["error"] < 15.0


def test_unknown_methods_are_an_error_with_a_suggestion():
    with pytest.raises(ValueError, match="method = 'SVM-Stumps': did you mean 'SVM-Stump'"):
        run_method("SVM-Stumps", draw("twonorm", 0), 0)


@pytest.mark.large
@pytest.mark.parametrize("method", ["SVM-Stump", "SVM-Perc"])
def test_libsvm_selects_machines_as_good_as_ours(method):
    cell = Cell("twonorm", method, 0)
    ours, theirs = compute(cell), compute(cell._replace(method=f"{method} LIBSVM"))
    assert theirs["error"] == pytest.approx(ours["error"], abs=1.0)
    assert theirs["fit"] > 0.0


@pytest.mark.large
def test_partially_trained_machines_and_paths_return_their_numbers():
    data = draw("threenorm", 0)
    values = run_method("partially trained", data, 0)
    machine = MultiplicativeSVC().fit(data.X, data.y)
    assert values["ensemble"] == pytest.approx(
        100.0 * (1.0 - machine.score(data.X_test, data.y_test))
    )
    assert values["iterations"] == machine.n_iter_
    path = run_method("path", data, 0)
    assert path["best"] <= path["loo"]
    assert path["breakpoints"] > 1

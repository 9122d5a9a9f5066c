"""``kernsemble reproduce``: cells are computed once and compared with published numbers."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from small_paper import computed

from kernsemble._counts import duration
from kernsemble.cli.countdown import Countdown
from kernsemble.cli.reproduce import N_NOTES, _is_noted
from kernsemble.experiments import Cell, Record, folders

COMPILED = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}


@pytest.fixture
def reproduce(run, place, tmp_path):
    """Return a function that runs the command in one process, with its own folder."""
    return lambda *words: run("reproduce", *words, "--jobs", 1, "--output", tmp_path / "out")


def records(tmp_path):
    return (tmp_path / "out" / "records.jsonl").read_text().splitlines()


def test_tables_claims_and_files(reproduce, tmp_path):
    result = reproduce("small-2026", "table1", "table1b")
    assert result.exit_code == 0, result.output
    for output in (
        "table1: errors",
        "2.10 ± 0.06 ▼",
        "2.10 ± 0.06 ▲",
        "✓ good is better than bad: holds on all 2 sets",
        "✗ bad is better than good: fails on 2 of 2 sets (twonorm; ringnorm)",
        "Of 4 published numbers, 2 are met within three standard errors (50%), 1 is better by "
        "more than three and 1 is missed, 1 of them explained by a test.",
        "the 12 cells of this and earlier runs took",
    ):
        assert output in result.stdout
    assert "table2" not in result.stdout
    assert "skipped, no data: absent; absent is in none of the sources: 1. put it there" in (
        result.stderr
    )
    assert "All papers" not in result.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "records.jsonl",
        "small-2026.md",
        "index.html",
    }
    assert len(records(tmp_path)) == 12


def test_a_second_run_computes_nothing(reproduce, tmp_path, monkeypatch):
    assert reproduce("small-2026", "--quick").exit_code == 0
    before = records(tmp_path)
    assert len(before) == 2
    monkeypatch.setattr("kernsemble.experiments.paper.compute", None)
    again = reproduce("small-2026", "--quick")
    assert again.exit_code == 0, again.output
    assert records(tmp_path) == before
    monkeypatch.setattr("kernsemble.experiments.paper.compute", computed)
    assert reproduce("all", "--runs", 2).exit_code == 0
    assert len(records(tmp_path)) == 8  # papers share cells, and the profiles too


def test_all_papers_have_a_common_tally(reproduce):
    result = reproduce("all", "--quick")
    assert result.exit_code == 0, result.output
    assert "All papers: Of 2 published numbers, " in result.stdout


def test_an_interrupted_run_keeps_its_records(reproduce, tmp_path, monkeypatch):
    def interrupted(cell):
        if cell.seed == 1:
            raise KeyboardInterrupt
        return computed(cell)

    monkeypatch.setattr("kernsemble.experiments.paper.compute", interrupted)
    result = reproduce("small-2026", "table1")
    assert result.exit_code == 130
    assert result.stderr.endswith(
        f"interrupted: 4 of 12 cells are stored in {tmp_path / 'out' / 'records.jsonl'}; the "
        "same command continues from there\n"
    )
    assert "nothing was written" not in result.stderr
    assert "table1: errors" in result.stdout
    assert "| twonorm | 1 |" in (tmp_path / "out" / "small-2026.md").read_text(encoding="utf-8")
    monkeypatch.setattr("kernsemble.experiments.paper.compute", computed)
    assert reproduce("small-2026", "table1").exit_code == 0
    cells = [json.loads(line) for line in records(tmp_path)]
    assert len({(each["data"], each["method"], each["seed"]) for each in cells}) == len(cells) == 12


def test_failures_are_reported_and_retried(reproduce, tmp_path, monkeypatch):
    def failing(cell):
        if cell == Cell("ringnorm", "SVM-Mid", 0):
            raise ValueError("no such luck")
        return computed(cell)

    monkeypatch.setattr("kernsemble.experiments.paper.compute", failing)
    result = reproduce("small-2026", "--progress")
    assert result.exit_code == 1
    assert "1 cell failed; run the command again to retry it:" in result.stdout
    assert "  ringnorm, SVM-Mid, draw 0: ValueError: no such luck" in result.stdout
    assert "12 of 12 cells, 1 failed" in result.stderr
    monkeypatch.setattr("kernsemble.experiments.paper.compute", computed)
    assert reproduce("small-2026").exit_code == 0
    assert len(records(tmp_path)) == 13


@pytest.mark.large
def test_list_needs_neither_data_nor_network(tmp_path):
    """List all papers in a process without data folder, in which every connection is an error."""
    program = """
        import socket, sys
        def refuse(*arguments): raise AssertionError("the network was asked")
        socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
        import sklearn.datasets
        sklearn.datasets.fetch_openml = refuse
        from kernsemble.cli.app import app
        app(["reproduce", "--list"])
    """
    environment = {name: each for name, each in COMPILED.items() if name != "KERNSEMBLE_DATA"}
    listed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env=environment | {"SCIKIT_LEARN_DATA": str(tmp_path)},
    )
    assert listed.returncode == 0, listed.stderr
    assert "data fetched from OpenML when computed: " in listed.stdout
    fetched = re.findall(r"^data fetched from OpenML when computed: (.*)", listed.stdout, re.M)
    assert "sonar" in fetched[0]
    missing = re.findall(r"^missing data: (.*)", listed.stdout, re.M)
    assert any("splice" in each for each in missing)
    assert set(folders.papers()) <= set(re.findall(r"^([\w-]+): ", listed.stdout, re.M))


def test_one_table_is_shown_alone_and_the_others_are_named(reproduce, tmp_path):
    assert reproduce("all").exit_code == 0
    result = reproduce("small-2026", "table1b")
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "table1b: errors as the paper meant them</h3>" in page
    assert "table1: errors</h3>" not in page
    assert "Also computed: table1; table2." in page
    assert "table9" not in page
    assert "Of 4 published numbers" not in result.stdout
    assert "No published numbers were compared." in reproduce("small-2026", "table2").stdout


def test_list_shows_papers_cells_and_missing_data(run, place):
    output = run("reproduce", "--list")
    assert output.exit_code == 0, output.output
    assert "small-2026: A paper <of> ours" in output.stdout
    assert "other-2026" in output.stdout
    lines = [line.split() for line in output.stdout.splitlines()]
    assert ["table1", "errors", "12", "2"] in lines
    assert ["figure1", "a", "curve", "3", "1"] in lines
    assert "missing data: absent" in output.stdout
    assert "put it there" in output.stdout
    assert "other-2026" not in run("reproduce", "small-2026", "--list").stdout


def test_unknown_names_are_errors_with_suggestions(refused, place, tmp_path):
    nothing = refused("reproduce", code=2)
    assert "use one or several of other-2026, small-2026, or all" in nothing
    line = refused("reproduce", "samll-2026", code=2)
    assert "'samll-2026' is not a paper: did you mean 'small-2026'?" in line
    line = refused("reproduce", "xyz", code=2)
    assert "'xyz' is not a paper: use one of 'other-2026', 'small-2026', 'all'" in line
    line = refused("reproduce", "small-2026", "table9", code=2)
    assert (
        "'table9' is neither a paper nor a table or figure of small-2026: did you mean 'table2'?"
        in line
    )
    file = tmp_path / "file"
    file.write_text("")
    assert "is a file: use a folder" in refused("reproduce", "all", "--output", file)


def test_dask_that_is_not_installed_is_an_error(refused, place, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    line = refused("reproduce", "all", "--dask", "tcp://127.0.0.1:1")
    assert "pip install 'kernsemble[dask]'" in line


def test_a_cluster_that_does_not_answer_is_an_error(reproduce, monkeypatch):
    def silent(*arguments):
        raise OSError("Timed out trying to connect")

    monkeypatch.setattr("kernsemble.experiments.runner.run_on_dask", silent)
    result = reproduce("small-2026", "--dask", "tcp://127.0.0.1:1")
    assert result.exit_code == 1
    assert (
        "--dask tcp://127.0.0.1:1: Timed out trying to connect: start the scheduler"
        in result.stderr
    )


def test_a_folder_that_is_being_written_is_refused(reproduce, small, tmp_path):
    pytest.importorskip("fcntl")
    from kernsemble.experiments import Store

    with Store(tmp_path / "out" / "records.jsonl").writing():
        result = reproduce("small-2026")
    assert result.exit_code == 1
    assert "is being written by another run" in result.stderr


def test_kept_results_are_in_the_folder_of_the_paper(reproduce, place):
    result = reproduce("small-2026", "--keep")
    assert result.exit_code == 0, result.output
    folder = place / "small-2026"
    assert f"wrote {folder / 'tables.md'}" in result.stdout
    assert (folder / "figures" / "figure1.png").exists()
    assert len((folder / "results.jsonl").read_text().splitlines()) == 4


def test_tables_are_written_without_the_report_extra(reproduce, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "kernsemble.report.reproduction", None)
    result = reproduce("small-2026", "--quick")
    assert result.exit_code == 0, result.output
    assert "pip install 'kernsemble[report,plot]'" in result.stderr
    assert not (tmp_path / "out" / "index.html").exists()
    assert (tmp_path / "out" / "small-2026.md").exists()


def test_time_left_is_estimated_from_known_cells():
    now = [0.0]
    cells = [Cell("a", "slow", k) for k in range(2)] + [Cell("a", "quick", k) for k in range(4)]
    earlier = [Record(Cell("b", "slow", 0), seconds=10.0)]  # the method, on other data
    countdown = Countdown(cells, earlier, clock=lambda: now[0])
    assert countdown.seconds_left is None
    now[0] = 1.0
    countdown.count(Record(Cell("a", "quick", 0), seconds=2.0))  # by two workers
    assert countdown.work_left == 2 * 10.0 + 3 * 2.0
    assert countdown.share == 2.0 / 28.0
    assert countdown.seconds_left == 13.0
    countdown.count(Record(Cell("a", "slow", 0), seconds=4.0, failure="no"))
    assert countdown.work_left == 4.0 + 3 * 2.0
    assert str(countdown) == "2 of 6 cells, 1 failed, about 1.7 s left"


@pytest.mark.parametrize(
    ("seconds", "output"), [(7.2, "7.2 s"), (99.4, "99 s"), (600, "10 min"), (7260, "2 h 1 min")]
)
def test_durations_have_units(seconds, output):
    assert duration(seconds) == output


@pytest.mark.parametrize("n", [1, 7, N_NOTES, 1000])
def test_progress_notes_are_few_and_include_the_last(n):
    noted = [done for done in range(1, n + 1) if _is_noted(done, n)]
    assert len(noted) == min(n, N_NOTES)
    assert noted[-1] == n


@pytest.mark.large
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs groups of processes")
def test_ctrl_c_ends_workers_and_keeps_records(tmp_path):
    """Send the signal to the workers too, as a terminal does."""
    words = "reproduce", "lin-li-2008", "table6", "-j", 2, "-o", tmp_path / "out"
    with subprocess.Popen(
        [sys.executable, "-m", "kernsemble", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=COMPILED,
        start_new_session=True,
    ) as process:
        path = tmp_path / "out" / "records.jsonl"
        while not path.exists() or path.read_bytes().count(b"\n") < 3:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, complaints = process.communicate(timeout=120)
    assert process.returncode == 130, complaints
    assert "Traceback" not in complaints
    assert "the same command continues from there" in complaints
    assert "table6" in out
    assert (tmp_path / "out" / "index.html").exists()
    assert folders.papers()["lin-li-2008"].title in out

"""Progress without a terminal is a line every few seconds, by a clock that tests set."""

import subprocess
import sys
from itertools import count
from threading import Event

import pytest

from kernsemble.cli.progress import bars_or_lines, follow, working
from kernsemble.cli.progress_lines import ProgressLines


class Clock:
    """A clock that tests set."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def lines():
    """Return lines with a clock, and the list that they are written to."""
    clock, written = Clock(), []
    return ProgressLines(clock, written.append), clock, written


def test_short_work_writes_nothing_and_long_work_a_line_every_five_seconds(lines):
    progress, clock, written = lines
    task = progress.add_task("selecting kernel and C", total=1.0)
    for second in range(30):
        clock.now = float(second)
        progress.write_if_due()
        progress.advance(task, 0.02)
    assert written == [
        "selecting kernel and C: 10 %, about 45 s left",
        "selecting kernel and C: 20 %, about 40 s left",
        "selecting kernel and C: 30 %, about 35 s left",
        "selecting kernel and C: 40 %, about 30 s left",
        "selecting kernel and C: 50 %, about 25 s left",
    ]


def test_work_without_a_total_states_the_time_so_far(lines):
    progress, clock, written = lines
    first = progress.add_task("preparing the rows", total=None)
    clock.now = 7.0
    progress.write_if_due()
    progress.update(first, total=1.0, completed=1.0)
    clock.now = 20.0
    progress.write_if_due()
    progress.add_task("selecting kernel and C", total=1.0)
    clock.now = 140.0
    progress.write_if_due()
    assert written == [
        "preparing the rows: 7.0 s so far",
        "selecting kernel and C: 0 %, 2 min so far",
    ]


@pytest.fixture
def without_progress_lines():
    """Do not switch the lines off in this module."""


def test_a_thread_writes_while_the_work_goes_on():
    has_written = Event()
    with ProgressLines(count().__next__, lambda _: has_written.set(), every=0.01) as lines:
        lines.add_task("reading", None)
        assert has_written.wait(60.0)


def test_lines_are_the_default_without_a_terminal(monkeypatch):
    with bars_or_lines(None) as progress:
        assert isinstance(progress, ProgressLines)
    with bars_or_lines(False) as progress:
        assert progress is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with bars_or_lines(None) as progress:
        assert type(progress).__name__ == "Progress"


def test_lines_go_to_standard_error(capsys):
    clock = Clock()
    progress = ProgressLines(clock)
    progress.add_task("reading", None)
    clock.now = 6.0
    progress.write_if_due()
    output = capsys.readouterr()
    assert (output.out, output.err) == ("", "kernsemble: reading: 6.0 s so far\n")


def test_estimators_without_callbacks_are_followed():
    with follow(object(), None), working("reading", None):
        pass


def test_lines_import_nothing_in_their_thread():
    """An import in a second thread would meet a half-imported module of the first one."""
    code = (
        "import sys\n"
        "from kernsemble.cli.progress_lines import ProgressLines\n"
        "lines = ProgressLines(clock=iter(range(0, 100, 10)).__next__, write=str)\n"
        "lines.add_task('loading')\n"
        "before = set(sys.modules)\n"
        "lines.write_if_due()\n"
        "sys.exit(' '.join(set(sys.modules) - before) or None)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr

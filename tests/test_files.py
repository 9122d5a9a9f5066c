"""Files are written completely or not at all."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernsemble import _files
from kernsemble._files import atomic_write, check_folder


def test_the_file_appears_at_the_end(tmp_path):
    path = tmp_path / "model.skops"
    with atomic_write(path) as part:
        assert part.parent == tmp_path
        assert part.suffix == ".skops"
        part.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("failure", [OSError("no space"), KeyboardInterrupt(), SystemExit(1)])
def test_a_failure_keeps_the_old_file_and_leaves_nothing_else(failure, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")

    def write():
        with atomic_write(path) as part:
            part.write_text("half of the n")
            raise failure

    with pytest.raises(type(failure)):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_error_at_the_end_keeps_the_old_file(step, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_):
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(*{"fsync": (_files.os, "fsync"), "replace": (Path, "replace")}[step], fail)
        with pytest.raises(OSError, match="the disk is full"), atomic_write(path) as part:
            part.write_text("new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_was_never_written_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "report.html"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="interrupts are sent as POSIX signals")
def test_an_interrupted_process_leaves_nothing_behind(tmp_path):
    code = (
        f"import pathlib, time; from kernsemble._files import atomic_write\n"
        f"with atomic_write(pathlib.Path({str(tmp_path / 'report.html')!r})) as part:\n"
        "    part.write_text('half')\n"
        "    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(list(tmp_path.iterdir())) == 1
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) != 0
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path):
    check_folder(tmp_path / "report.html")
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*absent.*mkdir"):
        check_folder(tmp_path / "absent" / "report.html")

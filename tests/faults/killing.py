"""Kill commands at random times, and check what they leave.

    PYTHONPATH=src:tests python tests/faults/killing.py --times 200 --seed 0

Every second kill waits until a file is being written. Afterwards each output is the old file or
the whole new one, and a store of ``reproduce`` still has every record that it had; at the end one
undisturbed run of each command removes the temporary files of those that were killed.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import small_paper
from numpy.testing import assert_array_equal

from kernsemble.cli.app import app
from kernsemble.experiments import Store, folders, paper
from kernsemble.persistence import load

QUICK = "--kernel", "stump", "--scaling", "range", "--folds", "2", "--no-progress", "--force"
N_ROWS = 400
RUNS = 60  # draws of each cell of `reproduce`


def in_child(words, folder, before=lambda: None):
    """Start a command in a fork of this process, and return its number."""
    process = os.fork()
    if process:
        return process
    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    try:
        before()
        app([str(each) for each in words])
    except SystemExit as ended:
        os._exit(ended.code or 0)
    finally:
        os._exit(70)


def finished(process):
    """Wait for a child, and raise an error unless it succeeded."""
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code != 0:
        raise RuntimeError(f"an undisturbed run ended with {code}")


def parts(folder):
    """Return the temporary files in a folder."""
    return list(folder.rglob(".*.part.*"))


class Command:
    """A command that writes files; `old` are their contents before, None for no file."""

    before = staticmethod(lambda: None)

    def __init__(self, folder):
        self.folder = folder
        self.seconds = self.old = None

    def run(self):
        """Run without disturbance, and keep the time and the files."""
        start = time.monotonic()
        finished(in_child(self.words, self.folder, self.before))
        self.seconds = time.monotonic() - start
        self.old = {path: path.read_bytes() for path in self.outputs()}

    def outputs(self):
        return [self.folder / each for each in self.names]

    def kill(self, rng, in_writing):
        """Run and kill; return whether the kill came in time."""
        had, new = set(parts(self.folder)), in_child(self.words, self.folder, self.before)
        end = time.monotonic() + 60.0
        if in_writing:
            while not set(parts(self.folder)) - had and time.monotonic() < end:
                if os.waitpid(new, os.WNOHANG)[0]:
                    return False
            time.sleep(rng.uniform(0.0, 0.003))
        else:
            time.sleep(rng.uniform(0.0, 1.1 * self.seconds))
        os.kill(new, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(new, 0)[1]) == -signal.SIGKILL

    def check(self):
        """Check that each file is the old or a whole one; return how many are new."""
        n_new = 0
        for path in self.outputs():
            content = path.read_bytes()
            if content != self.old[path]:
                self.check_whole(path)
                self.old[path] = content
                n_new += 1
        return n_new


class Fit(Command):
    names = ("model.skops", "report.html")

    def __init__(self, folder):
        super().__init__(folder)
        self.words = "fit", "train.csv", "-t", "y", *QUICK, "-o", self.names[0]
        self.words = *self.words, "--report", self.names[1]

    def run(self):
        super().run()
        self.expected = self.predicted()

    def predicted(self):
        """Return decision values, computed in a fork: threads of this process would not survive."""
        values = self.folder / "values.npy"
        child = os.fork()
        if not child:
            rows = np.random.default_rng(1).normal(size=(50, 2))
            machine = load(self.folder / self.names[0])
            np.save(values, machine.decision_function(pd.DataFrame(rows, columns=["a", "b"])))
            os._exit(0)
        finished(child)
        return np.load(values)

    def check_whole(self, path):
        if path.suffix == ".html":
            text = path.read_text(encoding="utf-8")
            assert text.lstrip().startswith("<!doctype html>")
            assert text.rstrip().endswith("</html>")
        else:
            assert_array_equal(self.predicted(), self.expected)


class Predict(Command):
    names = ("scores.csv",)

    def __init__(self, folder):
        super().__init__(folder)
        self.words = "predict", "model.skops", "train.csv", "-o", self.names[0], "--force"
        self.words = *self.words, "--chunk-rows", "40", "--no-progress"

    def run(self):
        super().run()
        self.expected = (self.folder / self.names[0]).read_bytes()
        (self.folder / self.names[0]).write_bytes(b"old")
        self.old[self.folder / self.names[0]] = b"old"

    def check_whole(self, path):
        assert path.read_bytes() == self.expected


def slowly(cell):
    """Compute the numbers of a small paper."""
    time.sleep(0.002)
    return small_paper.computed(cell)


class Reproduce(Command):
    """Records may only be added; when all are there, the store is removed."""

    words = "reproduce", "small-2026", "-o", "out", "--jobs", "1", "--no-progress"
    names = ("out/index.html", "out/small-2026.md")

    def __init__(self, folder):
        super().__init__(folder)
        place = folder / "papers" / "small-2026"
        place.mkdir(parents=True)
        config = small_paper.CONFIG.replace("runs = 3", f"runs = {RUNS}")
        (place / "config.toml").write_text(config.split("[figures.figure1]")[0])
        (place / "published.json").write_text(small_paper.PUBLISHED)
        self.records = {}

    def before(self):
        """Replace what takes long."""
        folders.PLACES = (self.folder / "papers",)
        folders.draw = folders.locate = small_paper.draw
        folders.dataset_of = lambda name: name if name == "absent" else None
        paper.n_draws = lambda _: None
        paper.compute = slowly

    def store(self):
        return self.folder / "out" / "records.jsonl"

    def run(self):
        super().run()
        self.n_cells = len(Store(self.store()).records)
        self.store().unlink()

    def kill(self, rng, in_writing):
        # Only the page has a temporary file; records are written all the time.
        return super().kill(rng, in_writing and len(self.records) == self.n_cells)

    def check(self):
        found = Store(self.store()).records if self.store().exists() else {}
        assert {cell: found.get(cell) for cell in self.records} == self.records
        self.records = dict(found)
        if len(found) == self.n_cells:
            self.store().unlink()
            self.records = {}
        return super().check()

    def check_whole(self, path):
        text = path.read_text(encoding="utf-8")
        assert text.rstrip().endswith("</html>") or path.suffix == ".md"


def main(times, seed, folder):
    """Kill each command in turn, and return the counts of what happened."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, N_ROWS)).round(3)
    rows = [f"{u},{v},{'p' if u * v > 0 else 'q'}" for u, v in zip(a, b, strict=True)]
    (folder / "train.csv").write_text("\n".join(["a,b,y", *rows]))
    commands = [Fit(folder), Predict(folder), Reproduce(folder)]
    for command in commands:
        command.run()
    counts = Counter()
    for k in range(times):
        command = commands[k % len(commands)]
        name = type(command).__name__.lower()
        was_in_time = command.kill(rng, in_writing=(k // len(commands)) % 2 == 0)
        counts[f"{name}: killed" if was_in_time else f"{name}: done before"] += 1
        counts[f"{name}: new files"] += command.check()
        counts["most temporary files"] = max(counts["most temporary files"], len(parts(folder)))
    for command in commands:
        finished(in_child(command.words, folder, command.before))
    assert parts(folder) == []
    return counts


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--times", type=int, default=200)
    reader.add_argument("--seed", type=int, default=0)
    given = reader.parse_args()
    with tempfile.TemporaryDirectory() as place:
        for each, n in sorted(main(given.times, given.seed, Path(place)).items()):
            sys.stdout.write(f"{each}: {n}\n")

"""Run fuzzed scenes in a worker process, with a journal that a later run continues.

Run from the repository root: ``PYTHONPATH=src:tests python -m fuzz.driver --cases 100000``. A
finding is printed once per place, with the scene that reproduces it: ``--scene 17 --seed 0``.
"""

import argparse
import faulthandler
import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

MEMORY = 12 * 2**30  # address space of a worker, in bytes
WALL_SECONDS = 600  # after which a worker that waits for something is ended


@dataclass
class Tally:
    """Counts of outcomes, and one example of every finding."""

    counts: Counter[str] = field(default_factory=Counter)
    scenes: Counter[str] = field(default_factory=Counter)
    findings: dict[str, dict[str, Any]] = field(default_factory=dict)
    n_scenes: int = 0

    @property
    def n_cases(self) -> int:
        return self.counts.total()

    def add(self, record: dict[str, Any]) -> list[dict[str, Any]]:
        """Add the record of a scene, and return its findings that are new."""
        self.n_scenes = record["scene"] + 1
        self.counts.update(record["counts"])
        self.scenes[record["name"]] += sum(record["counts"].values())
        fresh = []
        for finding in record["findings"]:
            key = f"{finding['kind']} at {finding['place']}"
            if key not in self.findings:
                self.findings[key] = finding
                fresh.append(finding)
        return fresh

    @classmethod
    def from_journal(cls, journal: Path) -> Self:
        """Return the tally of all scenes in a journal."""
        tally = cls()
        if journal.exists():
            for line in journal.read_text(encoding="utf-8").splitlines():
                tally.add(json.loads(line))
        return tally


def run_scene(seed: int, number: int, limit: float, verbose: bool = False) -> dict[str, Any]:
    """Run one scene, and return its record."""
    from fuzz.outcomes import play
    from fuzz.subjects import scene

    name, calls = scene(seed, number)
    counts, findings = Counter[str](), []
    for outcome in play(calls, limit):
        counts[outcome.kind] += 1
        if verbose:
            emit(outcome.kind, outcome.call, outcome.place, outcome.detail[:300])
        if not outcome.is_allowed:
            findings.append(
                {"kind": outcome.kind, "call": outcome.call, "place": outcome.place}
                | {"detail": outcome.detail[:500], "seed": seed, "scene": number}
            )
    return {"scene": number, "name": name, "counts": dict(counts), "findings": findings}


def work(seed: int, start: int, end: int, limit: float) -> None:
    """Run scenes one after another, and print a record of each; a hang must happen twice."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(start, end):
        emit(json.dumps({"begin": number}))
        faulthandler.dump_traceback_later(WALL_SECONDS, exit=True)
        record = run_scene(seed, number, limit)
        if "hang" in record["counts"]:  # perhaps it was compiling
            record = run_scene(seed, number, limit)
        faulthandler.cancel_dump_traceback_later()
        emit(json.dumps(record))


def drive(seed: int, cases: int, minutes: float, limit: float, journal: Path) -> Tally:
    """Run scenes in worker processes until there are enough cases or no time is left."""
    tally, end = Tally.from_journal(journal), time.monotonic() + 60.0 * minutes
    while tally.n_cases < cases and time.monotonic() < end:
        command = [sys.executable, "-m", "fuzz.driver", "--worker", "--seed", str(seed)]
        command += ["--limit", str(limit), "--start", str(tally.n_scenes)]
        running = tally.n_scenes
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            for line in worker.stdout:
                record = json.loads(line)
                if "begin" in record:
                    running = record["begin"]
                    continue
                report(tally, record, journal)
                if tally.n_cases >= cases or time.monotonic() > end:
                    worker.terminate()
                    return tally
        if worker.returncode != 0:
            crash = {"kind": "crash", "call": f"scene {running}", "seed": seed, "scene": running}
            crash |= {"place": f"scene {running}", "detail": f"exit code {worker.returncode}"}
            record = {"name": "crash", "counts": {"crash": 1}, "findings": [crash]}
            report(tally, {"scene": running, **record}, journal)
    return tally


def report(tally: Tally, record: dict[str, Any], journal: Path) -> None:
    """Write a record to the journal, and print its new findings."""
    with journal.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    for finding in tally.add(record):
        show(finding)


def show(finding: dict[str, Any]) -> None:
    """Print a finding and how to reproduce it."""
    emit(
        f"{finding['kind']}: {finding['call']} at {finding['place']}: {finding['detail']}\n"
        f"    python -m fuzz.driver --seed {finding['seed']} --scene {finding['scene']}"
    )


def emit(*parts: Any) -> None:
    """Write a line to standard output at once."""
    sys.stdout.write(" ".join(map(str, parts)) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Read the command line, run scenes, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=10_000, help="number of calls")
    parser.add_argument("--minutes", type=float, default=600.0, help="largest time")
    parser.add_argument("--limit", type=float, default=20.0, help="processor seconds of a call")
    parser.add_argument("--journal", type=Path, default=Path("fuzz.jsonl"))
    parser.add_argument("--scene", type=int, help="run only this scene, and print every call")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    os.environ.setdefault("MPLBACKEND", "agg")
    if chosen.worker:
        work(chosen.seed, chosen.start, sys.maxsize, chosen.limit)
        return 0
    if chosen.scene is not None:
        record = run_scene(chosen.seed, chosen.scene, chosen.limit, verbose=True)
        return int(bool(record["findings"]))
    tally = drive(chosen.seed, chosen.cases, chosen.minutes, chosen.limit, chosen.journal)
    emit(f"{tally.n_cases} cases of {tally.n_scenes} scenes: {dict(tally.counts)}")
    emit(f"cases by scene: {dict(tally.scenes)}")
    emit(f"{len(tally.findings)} findings")
    return int(bool(tally.findings))


if __name__ == "__main__":
    sys.exit(main())

"""Measure the time and peak memory of ``kernsemble fit`` and ``predict`` on a large CSV.

The table is threenorm with 20 columns of numbers and one uninformative categorical column. Each
command runs in a separate process, with its progress bars on standard error. Run from the
repository: ``.venv/bin/python benchmarks/bench_cli.py [--rows 1000000] [--options ...]``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from kernsemble.datasets import make_threenorm

TEST_ROWS = 20_000


def write_table(path: Path, n: int, seed: int) -> None:
    """Write rows of threenorm with a column of towns."""
    X, y = make_threenorm(n, random_state=seed)
    towns = np.random.default_rng([seed, 1]).choice(["Aachen", "Brno", "Cork", "Delft"], n)
    columns = {f"x{d}": column for d, column in enumerate(X.T)}
    columns |= {"town": towns, "y": np.where(y > 0, "yes", "no")}
    pl.DataFrame(columns).write_csv(path, float_precision=6)


def run_command(*words: str | Path) -> tuple[str, float, float, float]:
    """Return a command's output, elapsed seconds, processor seconds, and peak memory in GB."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "kernsemble", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(process.returncode)
    seconds, processor = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    return output, seconds, processor, usage.ru_maxrss / 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--options", nargs="*", default=[], help="options of fit, without dashes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        train, test, model, scores = (
            Path(place) / name for name in ("train.csv", "test.csv", "m.skops", "scores.csv")
        )
        write_table(train, arguments.rows, 0)
        write_table(test, TEST_ROWS, 1)
        size = train.stat().st_size / 1e6
        words = [word for each in arguments.options for word in f"--{each}".split("=")]
        fit = run_command(
            *("fit", train, "--target", "y", "--test", test, "--out", model),
            *("--progress", "--json", *words),
        )
        predict = run_command("predict", model, train, "-o", scores, "--progress", "--json")
        result = json.loads(fit[0])
        best, n_settings = result["leaderboard"][0], len(result["leaderboard"])
        print(f"\n{arguments.rows:,} rows, {size:.0f} MB; best of {n_settings} settings:")
        print(f"{best['kernel']}, scaling {best['scaling']}, C = {best['C']:.3g};")
        print(f"test error {100 * (1 - result['test'][0]['value']):.2f} %\n")
        print("| command | seconds | seconds of both cores | peak memory, GB |\n|---|---|---|---|")
        for name, (_, seconds, processor, peak) in (("fit", fit), ("predict", predict)):
            print(f"| {name} | {seconds:.1f} | {processor:.1f} | {peak:.2f} |")
        assert json.loads(predict[0])["rows"] == arguments.rows


if __name__ == "__main__":
    main()

"""Count the modules whose functions run in ``kernsemble fit``, from the command line to the file.

A measure of how many files a reader opens to follow a fit: a table of numbers (kernels race) and
a table with a category and a missing value (stumps on tables). Functions that run while modules
are imported do not count.

    python benchmarks/bench_files_of_fit.py [--list]
"""

import argparse
import sys
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import numpy as np

import kernsemble
from kernsemble.__main__ import main
from kernsemble.datasets import make_threenorm

ROOT = str(Path(kernsemble.__file__).parent)
OPTIMISED = 1  # flag of the code of functions, not of modules and classes


def write_tables(folder: Path) -> dict[str, Path]:
    """Write a table of numbers, and one with a category and a missing value."""
    X, y = make_threenorm(300, random_state=0)
    numbers = [[f"{value:.6g}" for value in row] for row in X[:, :4]]
    mixed = [[*row[:2], "up" if row[2] > "0" else "down"] for row in numbers]
    mixed[0][0] = ""
    paths = {}
    for name, rows in (("numbers", numbers), ("mixed", mixed)):
        paths[name] = folder / f"{name}.csv"
        header = ",".join([*(f"x{d}" for d in range(len(rows[0]))), "y"])
        labels = np.where(y > 0, "a", "b")
        lines = [",".join([*row, label]) for row, label in zip(rows, labels, strict=True)]
        paths[name].write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return paths


def modules_of_fit(table: Path, model: Path) -> list[str]:
    """Return the modules of kernsemble whose functions run during a fit."""
    seen = set()

    def record(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if (
            event != "call"
            or not code.co_flags & OPTIMISED
            or not code.co_filename.startswith(ROOT)
        ):
            return
        caller = frame.f_back
        is_import = caller is not None and caller.f_code.co_name == "<module>"
        if not is_import:
            seen.add(str(Path(code.co_filename).relative_to(ROOT)))

    sys.argv = ["kernsemble", "fit", str(table), "--target", "y", "--out", str(model), "--force"]
    threading.setprofile(record)
    sys.setprofile(record)
    with suppress(SystemExit):
        main()
    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type]
    return sorted(seen)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="list the modules")
    arguments = parser.parse_args()
    with TemporaryDirectory() as name:
        for kind, table in write_tables(Path(name)).items():
            modules = modules_of_fit(table, Path(name) / "model.skops")
            packages = Counter(module.partition("/")[0] for module in modules if "/" in module)
            print(f"{kind}: {len(modules)} modules; {dict(packages)}")
            if arguments.list:
                print("\n".join(f"  {module}" for module in modules))

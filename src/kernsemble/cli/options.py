"""Options and arguments that several commands share."""

import os
from pathlib import Path
from typing import Annotated

import typer

from kernsemble.cli.tables import MISSING

__all__ = [
    "Drop",
    "Force",
    "Jobs",
    "Json",
    "Missing",
    "ModelFile",
    "Progress",
    "Seed",
    "Table",
    "Target",
    "all_missing",
    "limit_threads",
    "split_names",
]

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that `kernsemble fit --out` wrote.")
]
Table = Annotated[Path, typer.Argument(metavar="TABLE", help="A CSV (or .csv.gz) or Parquet file.")]
Target = Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", help="A column to leave out; may be given again.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing", help="Another word for a missing value, such as '?'; may be given again."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON object.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="What is random is drawn with it.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="How many threads; by default all cores.")
]
Progress = Annotated[
    bool | None,
    typer.Option("--progress/--no-progress", help="Show bars; by default on a terminal."),
]


def all_missing(more: list[str] | None) -> tuple[str, ...]:
    """Return all words for missing values."""
    return tuple(dict.fromkeys((*MISSING, *(more or ()))))


def split_names(given: list[str]) -> tuple[str, ...]:
    """Return names that were given one by one or separated by commas, each once."""
    names = (name.strip() for each in given for name in each.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def limit_threads(jobs: int | None) -> None:
    """Use so many threads from here on; must come before numeric libraries are loaded."""
    if jobs is not None:
        for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"):
            os.environ[name] = str(jobs)

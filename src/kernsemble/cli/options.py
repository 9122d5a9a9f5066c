"""Options that several commands share, and their checks."""

import os
from pathlib import Path
from typing import Annotated

import typer

from kernsemble.cli.console import CommandError, WrongUsageError, join_names
from kernsemble.cli.table_files import MISSING, Reading, TableFile

__all__ = [
    "DayFirst",
    "Decimal",
    "Drop",
    "Encoding",
    "Force",
    "Header",
    "Jobs",
    "Json",
    "Keep",
    "Missing",
    "ModelFile",
    "Progress",
    "Seed",
    "Table",
    "Tables",
    "Target",
    "check_output",
    "limit_threads",
    "reading",
    "required_target",
    "split_names",
]

LIKELY_TARGETS = ("target", "label", "class", "y", "outcome", "response")

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file written by `kernsemble fit --out`.")
]
Table = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV, Excel or Parquet file, maybe in .gz or .zip; - for standard input.",
    ),
]
Tables = Annotated[
    list[Path],
    typer.Argument(
        metavar="TABLE...",
        help="CSV, Excel or Parquet file, maybe in .gz or .zip; - for standard input. Several "
        "Parquet or CSV files, or one larger than memory, are read in blocks of rows.",
    ),
]
Target = Annotated[str | None, typer.Option("--target", "-t", help="Column to predict.")]
Drop = Annotated[list[str] | None, typer.Option("--drop", help="Column to ignore; repeatable.")]
Missing = Annotated[
    list[str] | None,
    typer.Option("--missing", help="Additional marker of missing values, such as '?'; repeatable."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep", help="Column to use although it is constant or an identifier; repeatable."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", help="Encoding of CSV files, such as latin-1; default: detected."),
]
Decimal = Annotated[
    str | None,
    typer.Option("--decimal", help="Decimal sign of CSV files, . or ,; default: detected."),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line names the columns; default: unless it has only numbers.",
    ),
]
DayFirst = Annotated[
    bool | None,
    typer.Option(
        "--day-first/--month-first",
        help="Order of dates such as 03/04/2024, if no entry shows it; default: month first.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Write the results as one JSON object.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Number of threads; default: all cores.")
]
Progress = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="Show progress bars; default: bars on a terminal, else a line every 5 seconds.",
    ),
]


def reading(
    missing: list[str] | None,
    encoding: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    day_first: bool | None = None,
) -> Reading:
    """Return how to read files, from the options of a command."""
    if decimal is not None and decimal not in {".", ","}:
        raise typer.BadParameter(f"{decimal!r}: use . or ,", param_hint="--decimal")
    markers = tuple(dict.fromkeys((*MISSING, *(missing or ()))))
    return Reading(markers, encoding, decimal, header, day_first)  # type: ignore[arg-type]


def required_target(target: str | None, table: TableFile) -> str:
    """Return the target; raise an error that lists the columns if there is none."""
    if target is not None:
        return target
    columns = table.columns
    likely = [name for name in columns if name.lower() in LIKELY_TARGETS] or columns[-1:]
    raise WrongUsageError(
        f"--target is missing, the column to predict: {table.path} has the columns "
        f"{join_names(columns, 12)}; perhaps --target {likely[0]!r}"
    )


def split_names(given: list[str]) -> tuple[str, ...]:
    """Return the distinct names of repeated or comma-separated options."""
    names = (name.strip() for each in given for name in each.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def limit_threads(jobs: int | None) -> None:
    """Limit the number of threads; must be called before numeric libraries are imported."""
    if jobs is not None:
        for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"):
            os.environ[name] = str(jobs)


def check_output(
    option: str, path: Path, force: bool, inputs: tuple[Path | None, ...] = ()
) -> None:
    """Raise an error if a path cannot be written, is an input, or exists without `force`."""
    if not path.parent.is_dir():
        raise CommandError(f"{option} {path}: there is no folder {path.parent}; create it first")
    if path.is_dir():
        raise CommandError(f"{option} {path} is a folder: use the name of a file")
    if any(each is not None and each.resolve() == path.resolve() for each in inputs):
        raise CommandError(f"{option} {path} is an input of this command: use another name")
    if path.exists() and not force:
        raise CommandError(f"{option} {path} exists: use another name, or --force to replace it")

"""Tables larger than memory: several files, or one that is read in blocks of rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernsemble._counts import counted
from kernsemble.cli.column_types import ColumnKind, cast_columns, column_kinds, import_polars
from kernsemble.cli.console import CommandError, note, one_line
from kernsemble.cli.table_files import CSV, PARQUET
from kernsemble.cli.training_data import infer_task, located, row_labels
from kernsemble.solvers.losses import LearningTask
from kernsemble.streaming import Block, Blocks
from kernsemble.streaming.blocks import BLOCK_ROWS, files, frames, n_known

if TYPE_CHECKING:
    import polars as pl

__all__ = ["StreamedTable"]

HEAD_ROWS = 100_000  # rows that types, the task and identifiers are inferred from
MIN_ROWS = 100  # number of rows from which a column of different texts is an identifier


@dataclass(frozen=True)
class StreamedTable:
    """The rows of Parquet or CSV files, with the types of their columns.

    Types are those of Parquet files, or inferred from the first rows of CSV files; `missing` are
    additional markers there.
    """

    paths: tuple[Path, ...]
    target: str
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    given_task: LearningTask | None = None
    block_rows: int = BLOCK_ROWS

    @cached_property
    def files(self) -> list[Path]:
        """The files, in order."""
        try:
            found = files(self.paths, (*PARQUET, *CSV))
        except FileNotFoundError as error:
            first = self.paths[0]
            if first.is_dir():
                raise CommandError(
                    f"{first} is not a file, and contains none that ends in .parquet or .csv"
                ) from error
            raise CommandError(str(error)) from error
        for path in found:
            if not path.is_file():
                raise CommandError(f"{path}: no such file")
            if path.suffix.lower() not in (*PARQUET, *CSV):
                raise CommandError(
                    f"{path}: several files, or one larger than memory, are read in blocks, as "
                    "Parquet or plain CSV: convert it"
                )
        endings = {path.suffix.lower() in PARQUET for path in found}
        if len(endings) > 1:
            raise CommandError(f"{self.name}: some files are Parquet and some CSV: use one format")
        return found

    @property
    def name(self) -> str:
        """The name of the table in messages."""
        first = str(self.paths[0])
        return first if len(self.paths) == 1 else f"{first} and {len(self.paths) - 1} more"

    @property
    def is_parquet(self) -> bool:
        """Whether the files are Parquet."""
        return self.files[0].suffix.lower() in PARQUET

    @cached_property
    def scan(self) -> "pl.LazyFrame":
        """All rows."""
        pl = import_polars()
        try:
            if self.is_parquet:
                scan = pl.scan_parquet(self.files, glob=False)
            else:
                scan = pl.scan_csv(
                    self.files,
                    glob=False,
                    infer_schema_length=HEAD_ROWS,
                    try_parse_dates=True,
                    null_values=list(self.missing),
                )
            schema = scan.collect_schema()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self.unreadable(error) from error
        for name in (self.target, *self.drop, *self.keep):
            located(
                "--target" if name == self.target else "--drop", name, schema.names(), self.name
            )
        return scan.drop(*self.drop)

    @cached_property
    def head(self) -> "pl.DataFrame":
        """The first rows."""
        pl = import_polars()
        try:
            head = next(frames(self.scan, self.target, HEAD_ROWS, self.is_parquet), None)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self.unreadable(error) from error
        if head is None or head.height == 0:
            raise CommandError(f"{self.name} has no rows with a target: use files with rows")
        return head

    @cached_property
    def kinds(self) -> dict[str, ColumnKind]:
        """The kinds of the features; a note names each identifier, which is left out."""
        features = self.head.drop(self.target)
        kinds = column_kinds(features, self.files[0])
        for name, kind in list(kinds.items()):
            column = features[name]
            if kind != "category" or name in self.keep or len(column) < MIN_ROWS:
                continue
            if column.n_unique() == len(column):
                note(
                    f"column {name!r} has different text in each of the first "
                    f"{counted(len(column), 'row')}, such as an identifier: it is left out (--keep "
                    f"{name!r} to use it)"
                )
                del kinds[name]
        if not kinds:
            raise CommandError(f"{self.name} has no columns besides the target: add features")
        return kinds

    @cached_property
    def task(self) -> LearningTask:
        """Classification or regression."""
        return self.given_task or infer_task(self.head[self.target], self.files[0])

    def blocks(self) -> Blocks:
        """Return the rows in blocks."""
        pl = import_polars()
        names = list(self.kinds)
        scan = self.scan.select([*names, self.target])

        def read() -> Iterator[Block]:
            try:
                for frame in frames(scan, self.target, self.block_rows, self.is_parquet):
                    yield Block(*self.converted(frame))
            except (pl.exceptions.PolarsError, OSError) as error:
                raise self.unreadable(error) from error

        try:
            n_rows = n_known(scan, self.target)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self.unreadable(error) from error
        return Blocks(read, n_rows)

    def converted(self, frame: "pl.DataFrame") -> tuple["pl.DataFrame", Any]:
        """Return the features of some rows as numbers, text and dates, and their targets."""
        y = row_labels(frame[self.target], self.task, self.files[0])
        return cast_columns(frame, self.kinds, {}), y

    def unreadable(self, error: BaseException) -> CommandError:
        """Return the error for files that polars cannot read."""
        lines = str(error).strip().splitlines()
        form = "Parquet" if self.is_parquet else "CSV"
        return CommandError(
            f"{self.name} cannot be read as {form} with the same columns in every file "
            f"({one_line(lines[0]) if lines else 'unreadable'}): correct it, or export it again"
        )

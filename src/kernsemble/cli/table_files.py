"""Table files: CSV, plain or compressed by gzip, and Parquet, read with polars.

A column holds numbers (or truth values) or categories; other types are errors. Files for
prediction are read with the column kinds of the training data: a column of numbers stays one,
whatever its first rows look like.
"""

import csv
import gzip
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kernsemble.cli.console import CommandError, one_line

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "CHUNK_ROWS",
    "MISSING",
    "ColumnKind",
    "TableFile",
    "as_training_kinds",
    "cast_columns",
    "check_finite",
    "column_kinds",
    "import_polars",
]

ColumnKind: TypeAlias = Literal["number", "category"]

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")  # markers of missing values
SEPARATORS = (",", ";", "\t", "|")
TEXT_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
CHUNK_ROWS = 100_000
TRUTH_VALUES = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class TableFile:
    """A table in a file, whose header has been checked."""

    path: Path
    missing: tuple[str, ...] = MISSING

    def __post_init__(self) -> None:
        if not self.path.exists():
            raise CommandError(f"{self.path}: no such file; check the name and the folder")
        if not self.path.is_file():
            raise CommandError(f"{self.path} is not a file: use a CSV or Parquet file")
        if not (self.is_text or self.path.name.lower().endswith(".parquet")):
            raise CommandError(
                f"{self.path}: the file format is taken from the name, which must end in .csv, "
                ".csv.gz, .tsv or .parquet: rename the file"
            )
        if self.path.stat().st_size == 0:
            raise CommandError(f"{self.path} is empty: use a file with a header and rows")
        duplicates = [name for name, n in Counter(self.columns).items() if n > 1]
        if duplicates:
            raise CommandError(
                f"{self.path} has several columns named {duplicates[0]!r}: rename all but one"
            )

    @property
    def is_text(self) -> bool:
        """Whether the file is CSV."""
        return self.path.name.lower().endswith(TEXT_ENDINGS)

    @cached_property
    def columns(self) -> list[str]:
        """Column names, in order."""
        if self.is_text:
            return self._header[0]
        with _polars_errors(self.path):
            return self._scan().collect_schema().names()

    @cached_property
    def _header(self) -> tuple[list[str], str]:
        """Names in the first line, and their separator."""
        is_compressed = self.path.name.lower().endswith(".gz")
        opened = gzip.open if is_compressed else open
        try:
            with opened(self.path, "rt", encoding="utf-8-sig", newline="") as file:
                first = file.readline()
                separator = max(SEPARATORS, key=first.count)
                file.seek(0)
                names = next(csv.reader(file, delimiter=separator), [])
        except UnicodeDecodeError as error:
            raise _not_utf8(self.path) from error
        except (OSError, EOFError, zlib.error) as error:
            raise CommandError(
                f"{self.path} cannot be read ({one_line(error)}): check the file"
            ) from error
        except csv.Error as error:
            raise CommandError(
                f"{self.path} is not a CSV file ({error}): its first line must name the columns"
            ) from error
        if "\0" in first:
            raise CommandError(f"{self.path} is not text: use a CSV or .parquet file")
        if not any(name.strip() for name in names):
            raise CommandError(f"{self.path}: the first line is empty; it must name the columns")
        return names, separator

    def _scan(self, **settings: Any) -> "pl.LazyFrame":
        pl = import_polars()
        if not self.is_text:
            return pl.scan_parquet(self.path, glob=False)
        return pl.scan_csv(
            self.path,
            separator=self._header[1],
            null_values=list(self.missing),
            glob=False,
            **settings,
        )

    def read(self) -> "pl.DataFrame":
        """Return the whole table, with column types inferred from all rows."""
        with _polars_errors(self.path):
            frame = self._scan(infer_schema_length=None, try_parse_dates=True).collect()
        if frame.height == 0:
            raise CommandError(f"{self.path} has a header but no rows: use a file with rows")
        return frame

    def n_rows(self) -> int:
        """Return the number of rows."""
        pl = import_polars()
        with _polars_errors(self.path):
            return int(self._scan(infer_schema=False).select(pl.len()).collect().item())

    def chunks(
        self, columns: Sequence[str], chunk_rows: int = CHUNK_ROWS
    ) -> Iterator["pl.DataFrame"]:
        """Yield the given columns in chunks of rows; those of a CSV file as text."""
        with _polars_errors(self.path):
            scan = self._scan(infer_schema=False).select(columns)
            yield from scan.collect_batches(chunk_size=chunk_rows, maintain_order=True)


class _polars_errors:  # noqa: N801 (used as a context manager)
    """Context manager that turns polars' errors about a file into errors of one line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        pl = import_polars()
        if isinstance(error, UnicodeDecodeError) or "utf-8" in str(error).lower():
            raise _not_utf8(self.path) from error
        if isinstance(error, (pl.exceptions.PolarsError, OSError)):
            first = str(error).strip().splitlines()[0] if str(error).strip() else "unreadable"
            form = "CSV" if self.path.name.lower().endswith(TEXT_ENDINGS) else "Parquet"
            raise CommandError(
                f"{self.path} cannot be read as {form} ({one_line(first)}): correct it, or export "
                "it again"
            ) from error


def _not_utf8(path: Path) -> CommandError:
    return CommandError(
        f"{path} is not encoded in UTF-8: convert it, for example iconv -f latin1 -t utf-8 {path}"
    )


def import_polars() -> Any:
    """Return polars; raise an error with the install command if it is missing."""
    try:
        import polars
    except ModuleNotFoundError as error:
        raise CommandError(
            "reading tables needs polars, which is not installed: pip install 'kernsemble[cli]'"
        ) from error
    return polars


def column_kinds(frame: "pl.DataFrame", path: Path) -> dict[str, ColumnKind]:
    """Return the kind of each column; raise an error if it is neither numbers nor categories."""
    pl = import_polars()
    kinds: dict[str, ColumnKind] = {}
    for name, dtype in frame.schema.items():
        if dtype.is_numeric() or dtype == pl.Boolean:
            kinds[name] = "number"
        elif dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            kinds[name] = "category"
        else:
            what = "dates or times" if dtype.is_temporal() else f"values of the type {dtype}"
            raise CommandError(
                f"{path}: column {name!r} contains {what}: convert them to numbers, such as days, "
                f"or ignore the column with --drop {name!r}"
            )
    return kinds


def cast_columns(frame: "pl.DataFrame", kinds: dict[str, ColumnKind]) -> "pl.DataFrame":
    """Return the columns of a table with inferred types as float64 and text."""
    pl = import_polars()
    types = {"number": pl.Float64, "category": pl.String}
    return frame.select(pl.col(name).cast(types[kind]) for name, kind in kinds.items())


def as_training_kinds(
    frame: "pl.DataFrame", kinds: dict[str, ColumnKind], path: Path, first_row: int
) -> "pl.DataFrame":
    """Convert columns of text or any other type to their kinds in the training data.

    An entry that is not a number in a column of numbers is an error. Messages count rows from 1;
    `first_row` is the number of the first row of the frame.
    """
    pl = import_polars()
    columns = []
    for name, kind in kinds.items():
        column = frame[name]
        if kind == "category":
            columns.append(column.cast(pl.String))
            continue
        if column.dtype == pl.String:
            text = column.str.strip_chars()
            column = text.cast(pl.Float64, strict=False)
            is_lost = column.is_null() & text.is_not_null()
            if is_lost.any():
                truth = text.str.to_lowercase().replace_strict(
                    TRUTH_VALUES, default=None, return_dtype=pl.Float64
                )
                column = column.fill_null(truth)
                is_lost &= column.is_null()
            if is_lost.any():
                place = int(is_lost.arg_max())  # type: ignore[arg-type]
                raise CommandError(
                    f"{path}: column {name!r} contains numbers in the training data, but "
                    f"{text[place]!r} in row {first_row + place}: correct the entry, or leave it "
                    "empty if it is missing"
                )
        elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
            raise CommandError(
                f"{path}: column {name!r} contains numbers in the training data, but "
                f"{column.dtype} here: convert it to numbers"
            )
        columns.append(column.cast(pl.Float64))
    converted = pl.DataFrame(columns)
    check_finite(converted, path, first_row)
    return converted


def check_finite(frame: "pl.DataFrame", path: Path, first_row: int = 1) -> None:
    """Raise an error if a number is infinite; missing ones may be NaN."""
    for column in frame:
        if column.dtype.is_float() and column.is_infinite().any():
            place = int(column.is_infinite().fill_null(False).arg_max())  # type: ignore[arg-type]
            raise CommandError(
                f"{path}: column {column.name!r} is infinite in row {first_row + place}: use a "
                "finite number, or leave it empty if it is missing"
            )

"""Tables in files: CSV, plain or packed by gzip, and Parquet, read by polars.

A column is of numbers (truth values among them) or of categories; anything else is refused. Later
files are read by what the columns were in training: a column of numbers stays one, whatever its
first rows look like.
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
    "MISSING",
    "Kind",
    "TableFile",
    "as_features",
    "as_kinds",
    "import_polars",
    "kinds_of",
    "refuse_infinite",
]

Kind: TypeAlias = Literal["number", "category"]

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")  # how nothing is written
SEPARATORS = (",", ";", "\t", "|")
TEXT_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
ROWS_A_CHUNK = 100_000
TRUTH = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True)
class TableFile:
    """A table in a file, whose header was looked at."""

    path: Path
    missing: tuple[str, ...] = MISSING

    def __post_init__(self) -> None:
        if not self.path.exists():
            raise CommandError(f"{self.path}: there is no such file; check the name and the folder")
        if not self.path.is_file():
            raise CommandError(f"{self.path} is not a file: give a CSV or Parquet file")
        if not (self.is_text or self.path.name.lower().endswith(".parquet")):
            raise CommandError(
                f"{self.path}: the name must end in .csv, .csv.gz, .tsv or .parquet, which says "
                "how to read it"
            )
        if self.path.stat().st_size == 0:
            raise CommandError(f"{self.path} is empty: give a file with a header and rows")
        twice = [name for name, n in Counter(self.columns).items() if n > 1]
        if twice:
            raise CommandError(
                f"{self.path} has several columns named {twice[0]!r}: rename all but one"
            )

    @property
    def is_text(self) -> bool:
        """Whether it is CSV."""
        return self.path.name.lower().endswith(TEXT_ENDINGS)

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        if self.is_text:
            return self._header[0]
        with _polars_errors(self.path):
            return self._scan().collect_schema().names()

    @cached_property
    def _header(self) -> tuple[list[str], str]:
        """The names in the first line, and what separates them."""
        is_packed = self.path.name.lower().endswith(".gz")
        opened = gzip.open if is_packed else open
        try:
            with opened(self.path, "rt", encoding="utf-8-sig", newline="") as file:
                first = file.readline()
                separator = max(SEPARATORS, key=first.count)
                file.seek(0)
                names = next(csv.reader(file, delimiter=separator), [])
        except UnicodeDecodeError as error:
            raise _not_utf8(self.path) from error
        except (OSError, EOFError, zlib.error) as error:
            raise CommandError(f"{self.path} cannot be read ({one_line(error)})") from error
        except csv.Error as error:
            raise CommandError(
                f"{self.path} is not a CSV file ({error}): give one whose first line names columns"
            ) from error
        if "\0" in first:
            raise CommandError(f"{self.path} is not text: give a CSV file, or a .parquet by name")
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
        """Return the whole table, the types of columns inferred from all rows."""
        with _polars_errors(self.path):
            frame = self._scan(infer_schema_length=None, try_parse_dates=True).collect()
        if frame.height == 0:
            raise CommandError(f"{self.path} has a header but no rows: give a file with rows")
        return frame

    def n_rows(self) -> int:
        """Return how many rows there are."""
        pl = import_polars()
        with _polars_errors(self.path):
            return int(self._scan(infer_schema=False).select(pl.len()).collect().item())

    def chunks(self, columns: Sequence[str]) -> Iterator["pl.DataFrame"]:
        """Yield some columns in order, some rows at a time; as text if the file is."""
        with _polars_errors(self.path):
            scan = self._scan(infer_schema=False).select(columns)
            yield from scan.collect_batches(chunk_size=ROWS_A_CHUNK, maintain_order=True)


class _polars_errors:  # noqa: N801 (reads as what it does)
    """Tells what polars says of a file in one line."""

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
            what = "CSV" if self.path.name.lower().endswith(TEXT_ENDINGS) else "Parquet"
            raise CommandError(
                f"{self.path} cannot be read as {what} ({one_line(first)}): mend or export it again"
            ) from error


def _not_utf8(path: Path) -> CommandError:
    return CommandError(
        f"{path} is not in UTF-8: convert it, for example iconv -f latin1 -t utf-8 {path}"
    )


def import_polars() -> Any:
    """Return polars, or say how to get it."""
    try:
        import polars
    except ModuleNotFoundError as error:
        raise CommandError(
            "tables are read by polars, which is not installed: pip install 'kernsemble[cli]'"
        ) from error
    return polars


def kinds_of(frame: "pl.DataFrame", path: Path) -> dict[str, Kind]:
    """Return what each column holds, and refuse what is neither numbers nor categories."""
    pl = import_polars()
    kinds: dict[str, Kind] = {}
    for name, dtype in frame.schema.items():
        if dtype.is_numeric() or dtype == pl.Boolean:
            kinds[name] = "number"
        elif dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            kinds[name] = "category"
        else:
            what = "dates or times" if dtype.is_temporal() else f"values of the type {dtype}"
            raise CommandError(
                f"{path}: column {name!r} holds {what}: turn them into numbers, such as days, or "
                f"leave the column out by --drop {name!r}"
            )
    return kinds


def as_kinds(frame: "pl.DataFrame", kinds: dict[str, Kind]) -> "pl.DataFrame":
    """Return the columns as numbers and text, from a table whose types were inferred."""
    pl = import_polars()
    types = {"number": pl.Float64, "category": pl.String}
    return frame.select(pl.col(name).cast(types[kind]) for name, kind in kinds.items())


def as_features(
    frame: "pl.DataFrame", kinds: dict[str, Kind], path: Path, first_row: int
) -> "pl.DataFrame":
    """Return the columns as they were in training, from text or from any types.

    Entries of a column of numbers that are none are refused; rows are counted from 1, the first
    of this part being `first_row`.
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
            lost = column.is_null() & text.is_not_null()
            if lost.any():
                truth = text.str.to_lowercase().replace_strict(
                    TRUTH, default=None, return_dtype=pl.Float64
                )
                column = column.fill_null(truth)
                lost &= column.is_null()
            if lost.any():
                place = int(lost.arg_max())  # type: ignore[arg-type]
                raise CommandError(
                    f"{path}: column {name!r} held numbers in training, and {text[place]!r} in row "
                    f"{first_row + place} is none: mend it, or leave it empty if it is missing"
                )
        elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
            raise CommandError(
                f"{path}: column {name!r} held numbers in training, and holds {column.dtype} now: "
                "turn it into numbers"
            )
        columns.append(column.cast(pl.Float64))
    found = pl.DataFrame(columns)
    refuse_infinite(found, path, first_row)
    return found


def refuse_infinite(frame: "pl.DataFrame", path: Path, first_row: int = 1) -> None:
    """Refuse numbers that are not finite; missing ones may be NaN."""
    for column in frame:
        if column.dtype.is_float() and column.is_infinite().any():
            place = int(column.is_infinite().fill_null(False).arg_max())  # type: ignore[arg-type]
            raise CommandError(
                f"{path}: column {column.name!r} is infinite in row {first_row + place}: give a "
                "finite number, or leave it empty if it is missing"
            )

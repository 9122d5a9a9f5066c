"""Table files: CSV in any encoding, plain, gzip or zip, Excel and Parquet, read with polars."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernsemble.cli.column_types import TypedTable, import_polars, typed_table
from kernsemble.cli.console import CommandError, note, one_line
from kernsemble.cli.csv_layout import CsvLayout, find_layout, unique_names
from kernsemble.cli.file_contents import FileContent, read_content
from kernsemble.cli.number_formats import Decimal

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CHUNK_ROWS", "MISSING", "Reading", "TableFile", "is_streamed"]

MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")  # markers of missing values
CHUNK_ROWS = 100_000
MAX_COLUMNS = 50_000  # types, findings and model files take time per column
PARQUET, CSV = (".parquet", ".pq"), (".csv", ".tsv", ".txt")  # read in blocks if large
COPIES = 4.0  # memory of a fit to rows in memory, relative to that of the table
PARQUET_RATIO = 3.0  # memory of a table, relative to that of its Parquet file
FORMS = {"text": "CSV", "parquet": "Parquet", "excel": "Excel"}


def is_streamed(paths: Sequence[Path], memory: float | None = None) -> bool:
    """Return whether a table is read in blocks: several files, a folder, or more than memory.

    `memory` are the available bytes, for tests.
    """
    from kernsemble._memory import available_memory

    first, *others = paths
    is_pattern = any(sign in str(first) for sign in "*?[") and not first.exists()
    if others or first.is_dir() or is_pattern:
        return True
    ending = first.suffix.lower()
    if not first.is_file() or ending not in (*PARQUET, *CSV):
        return False
    available = available_memory() if memory is None else memory
    size = float(first.stat().st_size)
    if ending in PARQUET:
        size *= PARQUET_RATIO
    return COPIES * size > available


@dataclass(frozen=True)
class Reading:
    """How to read a file: what options give, and None for what is detected."""

    missing: tuple[str, ...] = MISSING
    encoding: str | None = None
    decimal: Decimal | None = None
    header: bool | None = None
    day_first: bool | None = None


@dataclass(frozen=True)
class TableFile:
    """A table in a file, or in standard input (-), whose columns are known.

    `expected` are the columns of a training table without a header; a file without a header then
    has all of them, or all but the target.
    """

    path: Path
    reading: Reading = field(default_factory=Reading)
    expected: tuple[str, ...] = ()
    target: str | None = None

    def __post_init__(self) -> None:
        if len(self.columns) > MAX_COLUMNS:
            raise CommandError(
                f"{self.path} has {len(self.columns):,} columns, and commands read at most "
                f"{MAX_COLUMNS:,}: select columns before, or fit in Python"
            )
        for name in self.columns:
            if name.startswith("^") and name.endswith("$"):  # polars reads it as a pattern
                raise CommandError(f"{self.path}: the column name {name!r}: omit the ^ and the $")

    @cached_property
    def _content(self) -> FileContent:
        return read_content(self.path, self.reading.encoding)

    @cached_property
    def _layout(self) -> CsvLayout:
        """Layout of a CSV file."""
        header = False if self.reading.header is None and self.expected else self.reading.header
        layout = find_layout(self._content, self.path, header)
        if layout.has_header or not self.expected:
            return layout
        for names in (self.expected, tuple(n for n in self.expected if n != self.target)):
            if len(names) == len(layout.names):
                return replace(layout, names=names)
        raise CommandError(
            f"{self.path} has {len(layout.names)} columns, and the training data, which had no "
            f"header either, {len(self.expected)}: use all of them, or all but the target"
        )

    @property
    def has_header(self) -> bool:
        """Whether the columns are named in the file."""
        return self._content.form != "text" or self._layout.has_header

    @cached_property
    def columns(self) -> list[str]:
        """Column names, in order."""
        if self._content.form == "text":
            return list(self._layout.names)
        if self._content.form == "excel":
            return self._sheet.columns
        with self._errors():
            return self._scan().collect_schema().names()

    @cached_property
    def _sheet(self) -> "pl.DataFrame":
        """The first sheet of an Excel file."""
        pl = import_polars()
        try:
            import fastexcel
        except ModuleNotFoundError as error:
            raise CommandError(
                f"{self.path}: Excel files need fastexcel, which is not installed: pip install "
                "'kernsemble[excel]', or save the table as CSV"
            ) from error
        with self._errors():
            sheets = fastexcel.read_excel(self._bytes).sheet_names
            frame = pl.read_excel(io.BytesIO(self._bytes), raise_if_empty=False)
        if len(sheets) > 1:
            note(f"{self.path}: the first of {len(sheets)} sheets, {sheets[0]!r}, is read")
        if frame.width == 0:
            raise CommandError(
                f"{self.path}: the sheet {sheets[0]!r} is empty: put the table on the first sheet"
            )
        names = unique_names(frame.columns, self.path)
        frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
        texts = pl.col(pl.String).str.strip_chars()
        return frame.with_columns(pl.when(~texts.is_in(list(self.reading.missing))).then(texts))

    @property
    def _bytes(self) -> bytes:
        assert isinstance(self._content.source, bytes)
        return self._content.source

    def _scan(self) -> "pl.LazyFrame":
        """Return the rows of a CSV file as text, of others as they are."""
        pl = import_polars()
        source = self._content.source
        if isinstance(source, bytes):
            source = io.BytesIO(source)
        if self._content.form == "excel":
            return self._sheet.lazy()
        if self._content.form == "parquet":
            return pl.scan_parquet(source, glob=False)
        layout = self._layout
        return pl.scan_csv(
            source,
            separator=layout.separator,
            has_header=False,
            skip_lines=layout.n_lines_before,
            comment_prefix="#" if layout.has_comments else None,
            eol_char=layout.line_end,
            schema=dict.fromkeys(layout.names, pl.String),
            null_values=list(self.reading.missing),
            glob=False,
        )

    def read(self) -> TypedTable:
        """Return the whole table, with column types inferred from all rows."""
        frame = self.read_columns(self.columns)
        if self._content.form == "parquet":
            return TypedTable(frame, {})
        is_text = self._content.form == "text"
        if is_text and frame.to_series(-1).null_count():
            self._check_lengths()
        separator = self._layout.separator if is_text else ","
        return typed_table(frame, separator, self.reading.decimal, self.reading.day_first)

    def read_columns(self, columns: Sequence[str]) -> "pl.DataFrame":
        """Return some columns of all rows; those of a CSV file as text."""
        with self._errors():
            frame = self._scan().select(columns).collect()
        if frame.height == 0:
            raise CommandError(f"{self.path} has a header but no rows: use a file with rows")
        return frame

    def n_rows(self) -> int:
        """Return the number of rows."""
        pl = import_polars()
        with self._errors():
            return int(self._scan().select(pl.len()).collect().item())

    def chunks(
        self, columns: Sequence[str], chunk_rows: int = CHUNK_ROWS
    ) -> Iterator["pl.DataFrame"]:
        """Yield the given columns in chunks of rows; those of a CSV file as text.

        Every column of a CSV file is read, since polars ignores lines of another length if it
        reads some.
        """
        is_text = self._content.form == "text"
        has_full_lines = not is_text
        with self._errors():
            scan = self._scan() if is_text else self._scan().select(columns)
            for frame in scan.collect_batches(chunk_size=chunk_rows, maintain_order=True):
                if not has_full_lines and frame.to_series(-1).null_count():
                    self._check_lengths()
                    has_full_lines = True
                yield frame.select(columns)

    def _check_lengths(self) -> None:
        """Raise an error that names the first line with too few or too many fields."""
        ragged = self._layout.ragged_line(self._content)
        if ragged is None:
            return
        owner = "the header" if self.has_header else "the first line"
        raise CommandError(
            f"{self.path}: line {ragged.line:,} has {ragged.n_fields} fields, {owner} has "
            f"{len(self._layout.names)}: correct the line; text that contains "
            f"{self._layout.separator!r} needs quotes"
        )

    def _check_quotes(self) -> None:
        """Raise an error that names the first line with an odd number of quotation marks."""
        line = self._layout.line_with_open_quote(self._content)
        if line is not None:
            raise CommandError(
                f"{self.path}: line {line:,} has an odd number of quotation marks: remove or close "
                'one, or write it twice ("") within quotes'
            )

    def _errors(self) -> "_polars_errors":
        return _polars_errors(self)


class _polars_errors:  # noqa: N801 (used as a context manager)
    """Context manager that turns polars' errors about a file into errors of one line."""

    def __init__(self, file: TableFile) -> None:
        self.file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        pl: Any = import_polars()
        path, form = self.file.path, self.file._content.form
        kinds = pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError
        is_ours = isinstance(error, kinds)
        if not is_ours and "fastexcel" not in type(error).__module__:
            return
        if form == "text":
            self.file._check_lengths()
            self.file._check_quotes()
        first = str(error).strip().splitlines()[0] if str(error).strip() else "unreadable"
        raise CommandError(
            f"{path} cannot be read as {FORMS[form]} ({one_line(first)}): correct it, or export "
            "it again"
        ) from error

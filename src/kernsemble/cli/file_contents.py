"""Contents of table files: standard input, gzip and zip archives, and text of any encoding.

Text reaches polars as UTF-8. A UTF-8 file, plain or compressed by gzip, is read from its path, in
chunks if that is wanted; anything else is converted in memory.
"""

import codecs
import gzip
import io
import math
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, TypeAlias

from kernsemble.cli.console import CommandError, join_names, note, one_line

__all__ = ["STANDARD_INPUT", "FileContent", "FileForm", "read_content"]

FileForm: TypeAlias = Literal["text", "parquet", "excel"]

STANDARD_INPUT = Path("-")
TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".tab")
ENDINGS: dict[str, FileForm] = {
    **dict.fromkeys(TEXT_ENDINGS, "text"),
    ".parquet": "parquet",
    ".xlsx": "excel",
}
BLOCK_BYTES = 1 << 20
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
UTF8 = ("utf-8", "utf-8-sig")
UNREADABLE = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError)


@dataclass(frozen=True)
class FileContent:
    """The content of a table file; text is UTF-8."""

    form: FileForm
    source: Path | bytes  # a path only of Parquet, or of UTF-8 text, maybe compressed by gzip

    def open_bytes(self) -> IO[bytes]:
        """Open the content, without compression."""
        if isinstance(self.source, bytes):
            return io.BytesIO(self.source)
        is_compressed = self.source.name.lower().endswith(".gz")
        opened = gzip.open if is_compressed else open
        return opened(self.source, "rb")  # type: ignore[return-value]

    def open_text(self) -> io.TextIOWrapper:
        """Open text, without a byte order mark."""
        return io.TextIOWrapper(self.open_bytes(), encoding="utf-8-sig", newline="")


def read_content(path: Path, encoding: str | None) -> FileContent:
    """Return the content of a file, or of standard input; text in `encoding`, None to detect it.

    Nothing is unpacked that takes more than the available memory.
    """
    _check_encoding(encoding)
    try:
        content = _standard_input() if path == STANDARD_INPUT else _file(path)
        if isinstance(content.source, bytes) and not content.source:
            raise CommandError(f"{path} is empty: use a table with a header and rows")
        return _as_utf8(content, path, encoding) if content.form == "text" else content
    except UNREADABLE as error:
        raise CommandError(f"{path} cannot be read ({one_line(error)}): check the file") from error


def _file(path: Path) -> FileContent:
    if not path.exists():
        raise CommandError(f"{path}: no such file; check the name and the folder")
    if not path.is_file():
        raise CommandError(f"{path} is not a file: use a CSV, Excel or Parquet file")
    name = path.name.lower()
    if name.endswith(".zip"):
        return _from_zip(path.read_bytes(), path)
    form = _form_of(name.removesuffix(".gz"))
    if form is None or (form != "text" and name.endswith(".gz")):
        raise CommandError(
            f"{path}: the file format is taken from the name, which must end in .csv, .tsv, .txt "
            "(or these and .gz), .zip, .xlsx or .parquet: rename the file"
        )
    if path.stat().st_size == 0:
        raise CommandError(f"{path} is empty: use a file with a header and rows")
    if form == "excel":
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                _check_members(archive, path)
        return FileContent(form, path.read_bytes())
    return FileContent(form, path)


def _form_of(name: str) -> FileForm | None:
    return next((form for ending, form in ENDINGS.items() if name.lower().endswith(ending)), None)


def _standard_input() -> FileContent:
    data = _read(sys.stdin.buffer, STANDARD_INPUT)
    if data[:2] == b"\x1f\x8b":
        with gzip.open(io.BytesIO(data)) as unpacked:
            data = _read(unpacked, STANDARD_INPUT)
    if data[:4] == b"PK\x03\x04":
        return _from_zip(data, STANDARD_INPUT)
    return FileContent("parquet" if data[:4] == b"PAR1" else "text", data)


def _from_zip(data: bytes, path: Path) -> FileContent:
    """Return the only table of a zip archive, which may also be an Excel file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        _check_members(archive, path)
        names = [each for each in archive.namelist() if not each.startswith("__MACOSX/")]
        if "xl/workbook.xml" in names:
            return FileContent("excel", data)
        tables = [each for each in names if _form_of(each) is not None]
        if len(tables) != 1:
            found = f"{len(tables)} tables ({join_names(tables)})" if tables else "no table"
            raise CommandError(f"{path} contains {found}: use an archive with one table")
        form = _form_of(tables[0])
        assert form is not None
        return FileContent(form, archive.read(tables[0]))


def _check_members(archive: zipfile.ZipFile, path: Path) -> None:
    _check_size(sum(each.file_size for each in archive.infolist()), path, _available())


def _available() -> float:
    from kernsemble._memory import available_memory  # imports NumPy

    return available_memory()


def _check_size(n_bytes: int, path: Path, available: float) -> None:
    if n_bytes > available:
        raise CommandError(
            f"{path} unpacks to more than the {available / 2**20:,.3g} MB of memory that are "
            "available: use Parquet files, or plain CSV files, which are read in blocks"
        )


def _read(file: IO[bytes] | gzip.GzipFile, path: Path) -> bytes:
    """Return the bytes of an open file, of which the memory may not hold all."""
    return b"".join(_blocks(file, path))


def _check_encoding(encoding: str | None) -> None:
    if encoding is None:
        return
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise CommandError(
            f"--encoding {encoding!r} is unknown: use utf-8, utf-16, latin-1, cp1252 or another "
            "name of Python's codecs"
        ) from error


def _as_utf8(content: FileContent, path: Path, encoding: str | None) -> FileContent:
    """Return text in UTF-8; a note says which other encoding was assumed."""
    assumed = encoding or _detected(content, path)
    is_utf8 = codecs.lookup(assumed).name in UTF8
    if is_utf8 and (encoding is None or _is_utf8(content, path)):
        return content
    with content.open_bytes() as file:
        data = _read(file, path)
    try:
        text = data.decode(assumed)
    except (UnicodeDecodeError, UnicodeError) as error:
        place = getattr(error, "start", 0)
        raise CommandError(
            f"{path} is not encoded in {assumed} (byte {place + 1:,} is no character): use another "
            "--encoding, such as cp1252, or omit it to have it detected"
        ) from error
    if "\0" in text:
        raise _zero_byte(path, len(text[: text.index("\0")].encode(assumed)))
    if encoding is None and assumed not in ("utf-16", "utf-32"):  # a byte order mark is certain
        note(f"{path}: not UTF-8, read as {_title(assumed)}; set it with --encoding")
    elif encoding is None:
        note(f"{path}: read as {_title(assumed)}")
    return FileContent("text", text.lstrip("\ufeff").encode())


def _title(encoding: str) -> str:
    return {"cp1252": "Windows-1252 (Latin-1)", "latin-1": "Latin-1"}.get(
        encoding, encoding.upper()
    )


def _zero_byte(path: Path, place: int) -> CommandError:
    return CommandError(
        f"{path} contains a zero byte (byte {place + 1:,}), which no text has: remove it, or "
        "export the table again"
    )


def _blocks(
    file: IO[bytes] | gzip.GzipFile, path: Path, available: float | None = None
) -> Iterator[bytes]:
    """Yield the bytes of an open file in blocks, as many as fit in memory."""
    n_bytes, available = 0, _available() if available is None else available
    while block := file.read(BLOCK_BYTES):
        n_bytes += len(block)
        _check_size(n_bytes, path, available)
        yield block


def _detected(content: FileContent, path: Path) -> str:
    """Return the encoding of text: by its byte order mark, its zeros, or as valid UTF-8."""
    with content.open_bytes() as file:
        head = file.read(BLOCK_BYTES)
    for mark, name in BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        if head.count(0) < 0.01 * len(head):
            raise _zero_byte(path, head.index(0))
        even, odd = (head[start::2].count(0) / max(len(head) // 2, 1) for start in (0, 1))
        if max(even, odd) < 0.4 or min(even, odd) > 0.1:
            raise CommandError(f"{path} is not text: use a CSV, Excel or Parquet file")
        return "utf-16-le" if odd > even else "utf-16-be"
    if _is_utf8(content, path):
        return "utf-8"
    with content.open_bytes() as file:
        data = _read(file, path)
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _is_utf8(content: FileContent, path: Path) -> bool:
    """Return whether text is UTF-8; raise an error if it contains a zero byte.

    A plain file may be larger than memory, as it is read in chunks later.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_plain = isinstance(content.source, Path) and content.source.suffix.lower() != ".gz"
    n_before = 0
    try:
        with content.open_bytes() as file:
            for block in _blocks(file, path, math.inf if is_plain else None):
                if 0 in block:
                    raise _zero_byte(path, n_before + block.index(0))
                n_before += len(block)
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True

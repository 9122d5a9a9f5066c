"""Layout of a CSV file: separator, header, comment lines, and lines of another length."""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kernsemble.cli.console import CommandError, join_names, note
from kernsemble.cli.file_contents import FileContent

__all__ = ["CsvLayout", "RaggedLine", "find_layout", "is_number", "unique_names"]

SEPARATORS = (";", "\t", "|", ",")  # a comma may also be a decimal comma, so it comes last
SAMPLE_CHARACTERS = 1 << 18
MOST_CHARACTERS = 1 << 26  # of a sample with two lines, if the header is longer
SAMPLE_RECORDS = 50
COMMENT = "#"


class RaggedLine(NamedTuple):
    """A line with another number of fields than the header, counted from 1."""

    line: int
    n_fields: int


@dataclass(frozen=True)
class CsvLayout:
    """Names and separator of the columns, and the number of lines before the first row."""

    names: tuple[str, ...]
    separator: str
    has_header: bool
    n_lines_before: int
    has_comments: bool = False
    line_end: str = "\n"

    def ragged_line(self, content: FileContent) -> RaggedLine | None:
        """Return the first line of a file with another number of fields than the header."""
        with content.open_text() as file, suppress(csv.Error):
            before = sum(1 for _ in islice(file, self.n_lines_before))
            for place, record in _records(file, self.separator):
                is_comment = self.has_comments and record[:1] and record[0].startswith(COMMENT)
                if record and not is_comment and len(record) != len(self.names):
                    return RaggedLine(before + place, len(record))
        return None

    def line_with_open_quote(self, content: FileContent) -> int | None:
        """Return the first line with an odd number of quotation marks, counted from 1."""
        with content.open_text() as file:
            odd = (place for place, line in enumerate(file, start=1) if line.count('"') % 2)
            return next(odd, None)


def find_layout(content: FileContent, path: Path, header: bool | None) -> CsvLayout:
    """Return the layout of a CSV file; `header` is None if it may have one or not."""
    text, is_whole = _sample(content)
    if not text.strip():
        raise CommandError(f"{path}: the first line is empty; it must name the columns")
    line_end = "\r" if "\r" in text and "\n" not in text else "\n"
    lines = list(io.StringIO(text, newline=""))
    if not is_whole:
        lines = lines[:-1] or lines
    n_before, has_comments = _lines_before(lines)
    lines = [each for each in lines[n_before:] if not (has_comments and each.startswith(COMMENT))]
    if not lines:
        raise CommandError(f"{path} contains only comments: use a file with a header and rows")
    separator = _separator(lines)
    try:
        records = list(islice(_records(lines, separator), SAMPLE_RECORDS))
    except csv.Error as error:
        raise CommandError(
            f"{path} is not a CSV file ({error}): its first line must name the columns"
        ) from error
    if not any(field.strip() for field in records[0][1]):
        raise CommandError(f"{path}: the first line is empty; it must name the columns")
    first, rest = records[0][1], [record for _, record in records[1:] if record]
    has_header = not all(map(is_number, filter(str.strip, first))) if header is None else header
    if has_header:
        n_before += _n_header_lines(lines, separator)
        names = unique_names(_with_row_names(first, rest), path)
    else:
        names = tuple(f"column_{k}" for k in range(1, len(first) + 1))
        if header is None:
            note(
                f"{path}: the first line contains only numbers, so the columns are named "
                f"{names[0]} to {names[-1]}; if it is a header, use --header"
            )
    return CsvLayout(names, separator, has_header, n_before, has_comments, line_end)


def _sample(content: FileContent) -> tuple[str, bool]:
    """Return the first lines of a file, at least two, and whether these are all."""
    text = ""
    with content.open_text() as file:
        while more := file.read(SAMPLE_CHARACTERS):
            text += more
            if max(text.count("\n"), text.count("\r")) > 2 or len(text) >= MOST_CHARACTERS:
                return text, not file.read(1)
    return text, True


def _n_header_lines(lines: list[str], separator: str) -> int:
    """Return the number of lines of the first record, whose fields may contain line ends."""
    reader = csv.reader(lines, delimiter=separator)
    next(reader)
    return reader.line_num


def _records(lines: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each record, and the number of its first line, from 1."""
    reader = csv.reader(lines, delimiter=separator)
    start = 1
    for record in reader:
        yield start, record
        start = reader.line_num + 1


def _lines_before(lines: list[str]) -> tuple[int, bool]:
    """Return the number of empty lines and comments before the first record.

    A line that begins with # is a comment unless it has as many fields as the next one: then it
    is a header whose first name begins so.
    """
    place, has_comments = 0, False
    while place + 1 < len(lines):
        line, later = lines[place].strip(), lines[place + 1].strip()
        if line.startswith(COMMENT):
            counts = [(line.count(each), later.count(each)) for each in SEPARATORS]
            if not later.startswith(COMMENT) and any(a == b > 0 for a, b in counts):
                break
            has_comments = True
        elif line:
            break
        place += 1
    return place, has_comments


def _separator(lines: list[str]) -> str:
    """Return the separator that divides all lines into equally many fields, at least two."""
    present = [each for each in SEPARATORS if each in lines[0]]
    for separator in present:
        try:
            sample = islice(_records(lines, separator), SAMPLE_RECORDS)
            counts = {len(record) for _, record in sample if record}
        except csv.Error:
            continue
        if len(counts) == 1 and counts.pop() > 1:
            return separator
    return max(SEPARATORS[::-1], key=lines[0].count)


def is_number(field: str) -> bool:
    """Return whether a field is a number, with a decimal point or comma."""
    try:
        float(field.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _with_row_names(header: list[str], rows: list[list[str]]) -> list[str]:
    """Return the header, with a nameless column if all rows have one field more.

    It is the last one if lines end with a separator, else the first one, as R writes row names.
    """
    if not rows or any(len(row) != len(header) + 1 for row in rows):
        return header
    return [*header, ""] if all(not row[-1].strip() for row in rows) else ["", *header]


def unique_names(given: Iterable[str], path: Path) -> tuple[str, ...]:
    """Return names without spaces around them, of which equal ones get a number: x, x_2.

    Nameless columns stay so: they differ in their number of spaces.
    """
    stripped = [each.strip() for each in given]
    taken, names = set(stripped), dict[str, None]()
    latest: dict[str, int] = {}  # number of the latest column of each name
    renamed: list[str] = []
    for each in stripped:
        name, k = each, latest.get(each, 1)
        while name in names or (k > 1 and name in taken):
            k += 1
            name = f"{each}_{k}" if each else " " * (k - 1)
        names[name], latest[each] = None, k
        if each and name != each:
            renamed.append(name)
    if renamed:
        note(f"{path}: columns of equal names are renamed to {join_names(renamed)}")
    return tuple(names)

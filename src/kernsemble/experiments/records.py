"""Cells of an experiment, their records, and the store that keeps records on disk."""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple, Self


class Cell(NamedTuple):
    """One method on one draw of one data set; the seed is that of the data and the method."""

    data: str
    method: str
    seed: int


@dataclass(frozen=True)
class Record:
    """The result of a cell: named numbers, or the reason why there are none.

    Attributes
    ----------
    cell : Cell
        The cell.
    values : dict of str to float
        Numbers that the method returned, such as "error" in per cent.
    seconds, processor : float
        Elapsed time and processor time, in seconds.
    failure : str or None
        Error message, if the cell failed.
    version : str
        Version of the library.
    """

    cell: Cell
    values: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    processor: float = 0.0
    failure: str | None = None
    version: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the record as a dict for JSON."""
        return {**self.cell._asdict(), **{k: v for k, v in asdict(self).items() if k != "cell"}}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """Return the record that `as_dict` converted."""
        rest = dict(fields)
        return cls(Cell(*(rest.pop(name) for name in Cell._fields)), **rest)


class Store:
    """A file of records, one line of JSON each; the last record of a cell is the valid one.

    A line is on disk before the next is started, so a killed run leaves at most one incomplete
    line, the last. It is cut off when the file is opened for writing, and its cell is computed
    again. Only one process may write at a time; others may read.

    Parameters
    ----------
    path : path
        The file; it and its folder are created by the first write.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from kernsemble.experiments import Cell, Record, Store
    >>> with TemporaryDirectory() as folder:
    ...     store = Store(f"{folder}/records.jsonl")
    ...     with store.writing():
    ...         store.append(Record(Cell("twonorm", "SVM-Stump", 0), {"error": 2.9}))
    ...     list(Store(store.path).records)
    [Cell(data='twonorm', method='SVM-Stump', seed=0)]
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.records: dict[Cell, Record] = {}
        self._by_method: defaultdict[tuple[str, str], dict[int, Record]] = defaultdict(dict)
        self._file: IO[bytes] | None = None
        if self.path.exists():
            self._read(self.path.read_bytes())

    def _read(self, content: bytes) -> None:
        for number, line in enumerate(_complete_lines(content), start=1):
            try:
                record = Record.from_dict(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{self.path}, line {number} is not a record ({error}): remove it, or start a "
                    "new file"
                ) from error
            self.keep(record)

    def keep(self, record: Record) -> None:
        """Add a record in memory, without writing it."""
        data, method, seed = record.cell
        self.records[record.cell] = self._by_method[data, method][seed] = record

    @contextmanager
    def writing(self) -> Iterator[Self]:
        """Lock the file for writing, and cut off an incomplete last line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            _lock(file, self.path)
            file.seek(0)
            content = file.read()
            file.truncate(sum(map(len, _complete_lines(content))))
            self.records.clear()
            self._by_method.clear()
            self._read(content)
            self._file = file
            try:
                yield self
            finally:
                self._file = None

    def append(self, record: Record) -> None:
        """Add a record and write it to disk."""
        if self._file is None:
            raise RuntimeError("the store is not open: append within `with store.writing():`")
        self._file.write(json.dumps(record.as_dict()).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.keep(record)

    def records_of(self, data: str, method: str) -> list[Record]:
        """Return the records of a method on a data set, by seed."""
        known = self._by_method.get((data, method), {})
        return [known[seed] for seed in sorted(known)]

    def has(self, cell: Cell) -> bool:
        """Return whether a cell was computed without failure."""
        return cell in self.records and self.records[cell].failure is None


def _complete_lines(content: bytes) -> list[bytes]:
    return [line for line in content.splitlines(keepends=True) if line.endswith(b"\n")]


def _lock(file: IO[bytes], path: Path) -> None:
    """Exclude other writers until the file is closed, where the system supports it."""
    try:
        import fcntl
    except ImportError:  # on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RuntimeError(
            f"{path} is being written by another run: wait for it, or use another folder"
        ) from None

"""Records on disk, a line of JSON each, that survive whatever ends a run."""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self

from kernsemble.experiments.cells import Cell, Record


class Store:
    """A file of records, of which the last of a cell counts.

    A line is on disk before the next is begun, so that a run that is killed leaves at most one
    that is torn, the last. It is cut off when the file is opened for writing, and its cell is
    computed again. One process writes at a time; others may read.

    Parameters
    ----------
    path : path
        The file; it and its folder are made when first written.

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
        for number, line in enumerate(_whole_lines(content), start=1):
            try:
                record = Record.of_dict(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{self.path}, line {number} is no record ({error}): remove it, or start a "
                    "new file"
                ) from error
            self.keep(record)

    def keep(self, record: Record) -> None:
        """Take a record as known; it is not written."""
        data, method, seed = record.cell
        self.records[record.cell] = self._by_method[data, method][seed] = record

    @contextmanager
    def writing(self) -> Iterator[Self]:
        """Hold the file for writing, and cut off a torn last line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            _lock(file, self.path)
            file.seek(0)
            content = file.read()
            file.truncate(sum(map(len, _whole_lines(content))))
            self.records.clear()
            self._by_method.clear()
            self._read(content)
            self._file = file
            try:
                yield self
            finally:
                self._file = None

    def append(self, record: Record) -> None:
        """Add a record; when this returns it is on disk."""
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
        """Whether a cell has been computed, without failure."""
        return cell in self.records and self.records[cell].failure is None


def _whole_lines(content: bytes) -> list[bytes]:
    """Return the lines that end."""
    return [line for line in content.splitlines(keepends=True) if line.endswith(b"\n")]


def _lock(file: IO[bytes], path: Path) -> None:
    """Keep other writers off until the file is closed, where the system can."""
    try:
        import fcntl
    except ImportError:  # on Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RuntimeError(
            f"{path} is being written by another run: wait for it, or give another folder"
        ) from None

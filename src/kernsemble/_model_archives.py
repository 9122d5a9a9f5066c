"""Limits of model files, checked before an archive is unpacked.

An archive may contain little and unpack to much: a member that compresses well, one array that many
objects refer to, an array whose header has more entries than its data, or objects that refer to
each other so often that a traversal never ends. All of them are found in directories, headers and
the schema, which are small.
"""

import json
import math
from collections import defaultdict
from collections.abc import Hashable, Iterator
from io import BytesIO
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

from kernsemble._memory import available_memory

__all__ = ["ArchiveTooLargeError", "check_archive"]

SCHEMA = "schema.json"
JSON_RATIO = 24  # memory of parsed JSON relative to its text, at most: an empty list
OBJECT_BYTES = 4096  # memory of a described object while it is read
COPIES = 2  # of the data of an array: the bytes of its member, and the array
VISITS = 10  # of an object, on average, when the objects are traversed
FEW_OBJECTS = 10_000
ARRAY, NESTED = b"\x93NUMPY", b"PK"  # first bytes of an array and of a sparse matrix


class ArchiveTooLargeError(ValueError):
    """Error for an archive that needs more memory than there is."""


def check_archive(archive: ZipFile, memory: float | None = None) -> None:
    """Raise an error if an archive is damaged, or needs too much memory or time.

    Parameters
    ----------
    archive : ZipFile
        Archive of skops.
    memory : float, default=None
        Available bytes, for tests.

    Raises
    ------
    ArchiveTooLargeError
        If the contents do not fit in memory.
    ValueError
        If the contents contradict each other.
    """
    available = available_memory() if memory is None else memory
    _check_directory(archive, available)
    damaged = archive.testzip()
    if damaged is not None:
        raise ValueError(f"the checksum of {damaged!r} is wrong")
    for name in archive.namelist():
        _check_array(archive, name, available)
    if SCHEMA in archive.namelist():
        _check_need(JSON_RATIO * archive.getinfo(SCHEMA).file_size, available)
        _check_schema(json.loads(archive.read(SCHEMA)), archive, available)


def _check_need(n_bytes: float, available: float) -> None:
    if n_bytes > available:
        raise ArchiveTooLargeError(
            f"needs {n_bytes / 2**20:,.3g} MB of memory, and {available / 2**20:,.3g} are available"
        )


def _check_directory(archive: ZipFile, available: float) -> None:
    """Check the sizes after decompression, which zipfile never exceeds, and the methods."""
    members = archive.infolist()
    _check_need(sum(each.file_size for each in members), available)
    for each in members:
        if each.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise ValueError(f"{each.filename!r} is compressed by another method than deflate")


def _check_array(archive: ZipFile, name: str, available: float) -> None:
    """Check the header of an array, and those in a sparse matrix, which is an archive itself."""
    with archive.open(name) as file:
        start = file.read(len(ARRAY))
    if start.startswith(NESTED):
        with ZipFile(BytesIO(archive.read(name))) as nested:
            _check_directory(nested, available)
            for inner in nested.namelist():
                with nested.open(inner) as file:
                    _check_header(file, f"{name}/{inner}", nested.getinfo(inner).file_size)
    elif start == ARRAY:
        with archive.open(name) as file:
            _check_header(file, name, archive.getinfo(name).file_size)


def _check_header(file: IO[bytes], name: str, size: int) -> None:
    version = np.lib.format.read_magic(file)
    v1, v2 = np.lib.format.read_array_header_1_0, np.lib.format.read_array_header_2_0
    shape, _, kind = (v1 if version == (1, 0) else v2)(file)
    n_bytes = size - file.tell()
    n_entries = math.prod(shape)
    if min(shape, default=0) < 0 or n_entries * max(kind.itemsize, 1) > n_bytes:
        raise ValueError(
            f"the header of the array {name!r} has {n_entries:,} entries, its data {n_bytes:,} "
            "bytes"
        )


def _check_schema(schema: Any, archive: ZipFile, available: float) -> None:
    """Check the memory of all objects with their arrays, and the length of a traversal."""
    described = list(_objects(schema))
    read = {(_key(each), str(each["file"])) for each in described if "file" in each}
    names = set(archive.namelist())
    data = sum(archive.getinfo(name).file_size for _, name in read if name in names)
    _check_need(OBJECT_BYTES * len(described) + COPIES * data, available)
    if Visits(described).of(schema) > VISITS * len(described) + FEW_OBJECTS:
        raise ValueError("its objects refer to each other too often")


def _objects(item: Any) -> Iterator[dict[str, Any]]:
    """Yield every JSON object in a JSON value."""
    waiting = [item]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
        waiting.extend(_parts(each))


def _parts(item: Any) -> list[Any]:
    if isinstance(item, dict):
        return list(item.values())
    return item if isinstance(item, list) else []


def _key(described: dict[str, Any]) -> Hashable:
    """Return what identifies an object: equal ones are built once."""
    given = described.get("__id__")
    return given if given and isinstance(given, (int, float, str)) else ("unnamed", id(described))


class Visits:
    """Number of objects that a traversal visits which follows every reference.

    An object with the identifier of another one stands for it, whatever it contains itself; which
    of them is built depends on the order of reading, so each counts as the largest.
    """

    def __init__(self, described: list[dict[str, Any]]) -> None:
        self._alike: dict[Hashable, list[dict[str, Any]]] = defaultdict(list)
        for each in described:
            self._alike[_key(each)].append(each)
        self._counted: dict[Hashable, int] = {}
        self._open: set[Hashable] = set()

    def of(self, item: Any) -> int:
        """Return the number of visits of a JSON value."""
        if not isinstance(item, dict):
            return sum(map(self.of, _parts(item)))
        key = _key(item)
        if key not in self._counted:
            if key in self._open:
                raise ValueError("one of its objects contains itself")
            self._open.add(key)
            self._counted[key] = 1 + max(
                sum(map(self.of, _parts(each))) for each in self._alike[key]
            )
        return self._counted[key]

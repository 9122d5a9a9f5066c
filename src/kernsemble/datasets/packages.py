"""Data sets in text files of other installed packages, which are not imported."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.datasets.catalogue import DatasetEntry, TextCopy
from kernsemble.datasets.source_data import SourceAbsentError, SourceData
from kernsemble.exceptions import DatasetMismatchError


def read_package(entry: DatasetEntry) -> SourceData:
    """Read a data set from a package with an unchanged copy of it."""
    copy, folder = _copy(entry), find_package(entry)
    parts = [_read_part(folder, files, copy, entry) for files in copy.parts]
    return SourceData.from_parts(parts, source=str(folder)).checked_against(entry)


def find_package(entry: DatasetEntry) -> Path:
    """Return the folder of an installed package that contains a data set."""
    copy = _copy(entry)
    spec = find_spec(copy.module)
    if spec is None or not spec.submodule_search_locations:
        raise SourceAbsentError(f"install the package {copy.distribution}, which contains it")
    return Path(spec.submodule_search_locations[0])


def _copy(entry: DatasetEntry) -> TextCopy:
    if entry.text_copy is None:
        raise SourceAbsentError("no Python package contains an unchanged copy")
    return entry.text_copy


def _read_part(
    folder: Path, files: tuple[str, ...], copy: TextCopy, entry: DatasetEntry
) -> tuple[FloatArray, FloatArray]:
    table = np.hstack([_read_table(folder / file, copy, entry) for file in files])
    rows = slice(None) if copy.rows is None else list(copy.rows)
    return np.delete(table, copy.label_column, axis=1)[rows], table[rows, copy.label_column]


def _read_table(path: Path, copy: TextCopy, entry: DatasetEntry) -> FloatArray:
    converters: dict[int | str, Callable[[str], float]] = {}
    if entry.value_codes:
        converters |= dict.fromkeys(range(entry.n_features), entry.value)
    if entry.label_codes:
        place = copy.label_column if copy.columns is None else copy.columns[copy.label_column]
        converters[place] = entry.label
    try:
        return np.loadtxt(
            path,
            delimiter=copy.delimiter,
            skiprows=copy.skip_lines,
            usecols=copy.columns,
            converters=converters or None,
            encoding="utf-8",
            ndmin=2,
        )
    except (OSError, ValueError) as error:
        raise DatasetMismatchError(
            f"{path} is not the file of {copy.distribution} with {entry.name}: {error}; "
            f"install another version, or put {entry.file_name} into the folder given by "
            "KERNSEMBLE_DATA, which is tried first"
        ) from error

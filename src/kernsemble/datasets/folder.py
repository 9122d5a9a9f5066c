"""Data sets in the folder given by the environment variable KERNSEMBLE_DATA.

A file contains ``X`` and ``y``, or both with the endings ``_train`` and ``_test``; sparse
sets contain ``train_data``, ``train_indices``, ``train_indptr``, ``train_shape`` and
``train_y``, and the same for ``test``. Row k of ``train_idx`` and ``test_idx`` is a split,
``block`` the group of each example. Values are stored in small types and widened here.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernsemble.datasets.catalogue import DatasetEntry
from kernsemble.datasets.dataset import Split
from kernsemble.datasets.source_data import SourceAbsentError, SourceData
from kernsemble.exceptions import DatasetMismatchError, DatasetNotFoundError

VARIABLE = "KERNSEMBLE_DATA"


def read_folder(entry: DatasetEntry) -> SourceData:
    """Read a data set from its file in the data folder."""
    path = find_file(entry)
    content = path.read_bytes()
    _check_file(path, content, entry)
    with np.load(BytesIO(content), allow_pickle=False) as arrays:
        return _sample(arrays, entry, source=str(path))


def find_file(entry: DatasetEntry) -> Path:
    """Return the file of a data set in the data folder."""
    path = _data_folder(entry) / entry.file_name
    if not path.is_file():
        raise SourceAbsentError(f"put {entry.file_name} into {path.parent}")
    return path


def _data_folder(entry: DatasetEntry) -> Path:
    value = os.environ.get(VARIABLE)
    if not value:
        raise SourceAbsentError(
            f"set the environment variable {VARIABLE}, which is not set, to a folder with "
            f"{entry.file_name}"
        )
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise DatasetNotFoundError(
            f"{VARIABLE} = {value!r} is not a folder: correct or unset the variable"
        )
    return folder


def _check_file(path: Path, content: bytes, entry: DatasetEntry) -> None:
    checksum = hashlib.sha256(content).hexdigest()
    if checksum != entry.file_sha256:
        raise DatasetMismatchError(
            f"{path} is truncated or another version: expected {entry.file_bytes} bytes with "
            f"SHA-256 {entry.file_sha256}, found {len(content)} bytes with SHA-256 {checksum}; "
            "copy the file again, or remove it to try the other sources"
        )


def _sample(arrays: Mapping[str, Any], entry: DatasetEntry, source: str) -> SourceData:
    sample = SourceData.from_parts(_parts(arrays), source, entry.task)
    if "train_idx" in arrays:
        rows = zip(arrays["train_idx"], arrays["test_idx"], strict=True)
        splits = tuple(Split(*(side.astype(np.int64) for side in pair)) for pair in rows)
        sample = replace(sample, splits=splits)
    if "block" in arrays:
        sample = replace(sample, groups=arrays["block"].astype(np.int64))
    return sample


def _parts(arrays: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    if "X" in arrays:
        return [(arrays["X"], arrays["y"])]
    sides = ("train", "test")
    if "X_train" in arrays:
        return [(arrays[f"X_{side}"], arrays[f"y_{side}"]) for side in sides]
    return [
        (_compressed_rows(arrays, side), arrays[f"{side}_y"])
        for side in sides
        if f"{side}_y" in arrays
    ]


def _compressed_rows(arrays: Mapping[str, Any], side: str) -> Any:
    data = arrays[f"{side}_data"].astype(np.float64)
    indices, ends = (arrays[f"{side}_{key}"].astype(np.int32) for key in ("indices", "indptr"))
    return sparse.csr_array((data, indices, ends), shape=tuple(arrays[f"{side}_shape"]))

"""Catalogue of the named data sets: their descriptions and checksums."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, Self, TypeAlias

from kernsemble._suggestions import suggest
from kernsemble.exceptions import UnknownDatasetError

Task: TypeAlias = Literal["classification", "regression"]


@dataclass(frozen=True)
class TextCopy:
    """A copy of a data set in the text files of an installed package.

    Parameters
    ----------
    distribution : str
        Name of the distribution, for pip.
    module : str
        Module that it installs.
    parts : tuple of tuple of str
        Files in the folder of the module. The files of one part contain columns of the same
        rows; the parts are stacked, training part first.
    delimiter : str or None
        Separator of columns; None for blanks.
    skip_lines : int
        Number of lines before the data in each file.
    columns : tuple of int or None
        Columns to read; None for all.
    label_column : int
        Position of the label among the columns read, 0 or -1.
    rows : tuple of int or None
        Rows of the data set, in its order; None for all.
    """

    distribution: str
    module: str
    parts: tuple[tuple[str, ...], ...]
    delimiter: str | None = None
    skip_lines: int = 0
    columns: tuple[int, ...] | None = None
    label_column: int = -1
    rows: tuple[int, ...] | None = None


@dataclass(frozen=True)
class DatasetEntry:
    """Description of one data set in the catalogue.

    Parameters
    ----------
    name, title : str
        Name for :func:`load`, and title.
    part_sizes : tuple of int
        Number of examples, or sizes of the given training and test part.
    n_features : int
        Number of columns.
    n_splits : int
        Number of given training and test splits.
    task : {"classification", "regression"}
        Kind of target: class labels or numbers.
    class_counts : mapping of int to int
        Number of examples of each label; empty for regression.
    target_names : mapping of int to str
        Meaning of each label, where it is known.
    feature_names : tuple of str or None
        Names of the columns, where they are known.
    categories : mapping of str to tuple of str
        Categories of each column of category codes, in the order of the codes; an empty
        tuple where their names are unknown.
    sparse : bool
        Whether the examples are a sparse matrix.
    precision : str
        Floating-point type to which the values are rounded.
    file_bytes, file_sha256 : int, str
        Size and checksum of the file in a data folder.
    fingerprint, unordered_fingerprint : str, str or None
        Checksums of the values, in the order of the file and in any order.
    label_codes, value_codes : mapping of str to int
        Numbers for the words among the labels and values of text sources.
    text_copy : TextCopy or None
        Copy in an installable package.
    openml_id : int or None
        Identifier on OpenML.
    """

    name: str
    title: str
    part_sizes: tuple[int, ...]
    n_features: int
    n_splits: int
    task: Task
    class_counts: Mapping[int, int]
    target_names: Mapping[int, str]
    feature_names: tuple[str, ...] | None
    categories: Mapping[str, tuple[str, ...]]
    sparse: bool
    precision: str
    file_bytes: int
    file_sha256: str
    fingerprint: str
    unordered_fingerprint: str | None
    label_codes: Mapping[str, int]
    value_codes: Mapping[str, int]
    text_copy: TextCopy | None
    openml_id: int | None

    @classmethod
    def from_json(cls, name: str, fields: Mapping[str, Any]) -> Self:
        """Read one object of the manifest; missing fields have defaults."""
        text_copy = fields.get("text_copy")
        return cls(
            name=name,
            title=fields["title"],
            part_sizes=tuple(fields["part_sizes"]),
            n_features=fields["n_features"],
            n_splits=fields.get("n_splits", len(fields["part_sizes"]) - 1),
            task=fields.get("task", "classification"),
            class_counts=_labelled(fields.get("class_counts", {})),
            target_names=_labelled(fields.get("target_names", {})),
            feature_names=_frozen(fields.get("feature_names")),
            categories=_frozen_values(fields.get("categories", {})),
            sparse=fields.get("sparse", False),
            precision=fields.get("precision", "float64"),
            file_bytes=fields["file_bytes"],
            file_sha256=fields["file_sha256"],
            fingerprint=fields["fingerprint"],
            unordered_fingerprint=fields.get("unordered_fingerprint"),
            label_codes=fields.get("label_codes", {}),
            value_codes=fields.get("value_codes", {}),
            text_copy=TextCopy(**_frozen_values(text_copy)) if text_copy else None,
            openml_id=fields.get("openml_id"),
        )

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return sum(self.part_sizes)

    @property
    def file_name(self) -> str:
        """Name of its file in a data folder."""
        return f"{self.name}.npz"

    def label(self, word: str) -> float:
        """Return the label for a word of a text source."""
        return float(self.label_codes.get(word, word))

    def value(self, word: str) -> float:
        """Return the number for a word of a text source."""
        return float(self.value_codes.get(word, word))

    def __str__(self) -> str:
        size = " / ".join(map(str, self.part_sizes))
        return f"{self.name}: {self.title}, {size} x {self.n_features}"


def list_datasets() -> tuple[DatasetEntry, ...]:
    """Return all data sets of :func:`load`, sorted by name.

    Returns
    -------
    tuple of DatasetEntry
        Description of each data set.

    Examples
    --------
    >>> from kernsemble.datasets import list_datasets
    >>> for entry in list_datasets():
    ...     if entry.n_samples < 300:
    ...         print(entry)
    cleveland: Cleveland heart disease, rows with missing values removed, 297 x 13
    heart: Statlog heart disease, 270 x 13
    ida_breast_cancer: IDA breast cancer (Ljubljana), 277 x 9
    ida_thyroid: IDA thyroid, 215 x 5
    sonar: Sonar, mines against rocks, 208 x 60
    """
    return tuple(_entries().values())


def find_entry(name: Any) -> DatasetEntry:
    """Return the entry of a name; raise an error with similar names if there is none."""
    entries = _entries()
    if not isinstance(name, str) or name not in entries:
        hint = suggest(name, entries, otherwise="list_datasets() returns all names", n=3)
        raise UnknownDatasetError("name", name, f"no such data set; {hint}")
    return entries[name]


@cache
def _entries() -> dict[str, DatasetEntry]:
    manifest = json.loads(files("kernsemble.datasets").joinpath("manifest.json").read_bytes())
    return {name: DatasetEntry.from_json(name, manifest[name]) for name in sorted(manifest)}


def _labelled(by_label: Mapping[str, Any]) -> dict[int, Any]:
    return {int(label): value for label, value in by_label.items()}


def _frozen_values(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _frozen(value) for key, value in fields.items()}


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value

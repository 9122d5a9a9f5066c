"""Loading of named data sets from the first source that has them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from kernsemble.datasets.catalogue import DatasetEntry, find_entry
from kernsemble.datasets.dataset import Dataset
from kernsemble.datasets.folder import find_file, read_folder
from kernsemble.datasets.openml import find_number, read_openml
from kernsemble.datasets.packages import find_package, read_package
from kernsemble.datasets.source_data import SourceAbsentError
from kernsemble.exceptions import DatasetNotFoundError

Found = TypeVar("Found")


def load(name: str) -> Dataset:
    """Load a data set by name, from the first of three sources that has it.

    1. The folder given by the environment variable ``KERNSEMBLE_DATA``.
    2. An installed package with an unchanged copy.
    3. OpenML, over the network.

    Every copy is checked against the catalogue: the values are the same from every source;
    only the order of the rows may differ if the data set has no given split.

    Parameters
    ----------
    name : str
        One of the names in :func:`list_datasets`.

    Returns
    -------
    Dataset
        Its values and their description.

    Raises
    ------
    UnknownDatasetError
        If the catalogue has no such name.
    DatasetNotFoundError
        If no source has it, or ``KERNSEMBLE_DATA`` is not a folder.
    DatasetMismatchError
        If the copy found is truncated or another version.

    Examples
    --------
    >>> from kernsemble.datasets import load
    >>> load("pimma")
    Traceback (most recent call last):
        ...
    kernsemble.exceptions.UnknownDatasetError: name = 'pimma': no such data set;
    did you mean 'pima'?
    """
    entry = find_entry(name)
    sample = _first(entry, (read_folder, read_package, read_openml))
    return Dataset(
        name=entry.name,
        title=entry.title,
        X=sample.X,
        y=sample.y,
        splits=sample.splits,
        target_names=entry.target_names,
        source=sample.source,
        feature_names=entry.feature_names,
        categories=entry.categories,
        groups=sample.groups,
        task=entry.task,
    )


def locate(name: str) -> Path | None:
    """Return the file or folder that :func:`load` would read, None if it would ask OpenML.

    Nothing is read, and no connection is made.

    Parameters
    ----------
    name : str
        One of the names in :func:`list_datasets`.

    Raises
    ------
    DatasetNotFoundError
        If no source has it.
    """
    sources: Sequence[Callable[[DatasetEntry], Path | int]] = (find_file, find_package, find_number)
    found = _first(find_entry(name), sources)
    return found if isinstance(found, Path) else None


def _first(entry: DatasetEntry, sources: Sequence[Callable[[DatasetEntry], Found]]) -> Found:
    """Return the result of the first source that has a data set."""
    remedies = []
    for find in sources:
        try:
            return find(entry)
        except SourceAbsentError as absence:
            remedies.append(str(absence))
    numbered = "".join(f"\n  {place}. {remedy}" for place, remedy in enumerate(remedies, start=1))
    raise DatasetNotFoundError(f"{entry.name} was not found in any of the three sources:{numbered}")

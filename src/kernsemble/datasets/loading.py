"""From a name to a data set."""

from kernsemble.datasets.catalogue import find_entry
from kernsemble.datasets.dataset import Dataset
from kernsemble.datasets.folder import read_folder
from kernsemble.datasets.openml import read_openml
from kernsemble.datasets.packages import read_package
from kernsemble.datasets.sample import SourceAbsentError
from kernsemble.exceptions import DatasetNotFoundError


def load(name: str) -> Dataset:
    """Return the data set of a name, from the first of three sources that has it.

    1. The folder that the environment variable ``KERNSEMBLE_DATA`` names.
    2. An installed package that carries an undamaged copy.
    3. OpenML, over the network.

    Every copy is checked against the catalogue: whatever the source, the values are the
    same, and only the order of the rows may differ where no split is given.

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
    remedies = []
    for read in (read_folder, read_package, read_openml):
        try:
            sample = read(entry)
        except SourceAbsentError as absence:
            remedies.append(str(absence))
            continue
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
        )
    numbered = "".join(f"\n  {place}. {remedy}" for place, remedy in enumerate(remedies, start=1))
    raise DatasetNotFoundError(f"{name} is in none of the three sources:{numbered}")

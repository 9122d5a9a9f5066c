"""Data sets from OpenML, over the network."""

import warnings
from typing import Any

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.datasets.catalogue import DatasetEntry
from kernsemble.datasets.source_data import SourceAbsentError, SourceData
from kernsemble.exceptions import DatasetMismatchError


def read_openml(entry: DatasetEntry) -> SourceData:
    """Fetch a data set from OpenML; scikit-learn caches it on disk."""
    number = find_number(entry)
    from sklearn.datasets import fetch_openml  # slow to import, rarely needed

    source = f"OpenML data set {number}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about retries
            bunch = fetch_openml(data_id=number, as_frame=False, parser="liac-arff", n_retries=1)
    except OSError as error:
        raise SourceAbsentError(f"go online to fetch {source} ({error})") from error
    try:
        parts = [(_features(bunch, entry), [entry.label(word) for word in bunch.target])]
    except ValueError as error:
        raise DatasetMismatchError(
            f"{source} is not the data set {entry.name}: {error}; put the file "
            f"{entry.file_name} into the folder given by KERNSEMBLE_DATA, which is tried first"
        ) from error
    return SourceData.from_parts(parts, source).checked_against(entry)


def find_number(entry: DatasetEntry) -> int:
    """Return the number of a data set on OpenML, without a connection."""
    if entry.openml_id is None:
        raise SourceAbsentError("OpenML has no copy in this form")
    return entry.openml_id


def _features(bunch: Any, entry: DatasetEntry) -> FloatArray:
    """Replace OpenML's category codes by the numbers of the catalogue; "?" becomes NaN."""
    X = np.array(bunch.data, dtype=np.float64)
    missing = float(entry.value_codes.get("?", np.nan))
    for column, feature in enumerate(bunch.feature_names):
        if words := bunch.categories.get(feature):
            values = np.array([*map(entry.value, words), missing])
            codes = np.where(np.isnan(X[:, column]), len(words), X[:, column])
            X[:, column] = values[codes.astype(np.intp)]
    return X

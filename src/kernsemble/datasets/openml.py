"""Data sets from OpenML, for those who are online."""

import warnings
from typing import Any

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.datasets.catalogue import DatasetEntry
from kernsemble.datasets.sample import Sample, SourceAbsentError
from kernsemble.exceptions import DatasetMismatchError


def read_openml(entry: DatasetEntry) -> Sample:
    """Fetch a data set from OpenML; scikit-learn keeps a copy for the next time."""
    if entry.openml_id is None:
        raise SourceAbsentError("OpenML is not known to hold it in this form")
    from sklearn.datasets import fetch_openml  # slow to import, and rarely needed

    source = f"OpenML data set {entry.openml_id}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it will try once more
            bunch = fetch_openml(
                data_id=entry.openml_id, as_frame=False, parser="liac-arff", n_retries=1
            )
    except OSError as error:
        raise SourceAbsentError(f"go online to fetch {source} ({error})") from error
    try:
        parts = [(_features(bunch, entry), [entry.label(word) for word in bunch.target])]
    except ValueError as error:
        raise DatasetMismatchError(
            f"{source} is not the data set {entry.name}: {error}; put the file "
            f"{entry.file_name} into the folder that KERNSEMBLE_DATA names: it is tried first"
        ) from error
    return Sample.of_parts(parts, source).recognised_as(entry)


def _features(bunch: Any, entry: DatasetEntry) -> FloatArray:
    """Replace OpenML's category codes by the numbers of the catalogue; "?" stands for NaN."""
    X = np.array(bunch.data, dtype=np.float64)
    missing = float(entry.value_codes.get("?", np.nan))
    for column, feature in enumerate(bunch.feature_names):
        if words := bunch.categories.get(feature):
            values = np.array([*map(entry.value, words), missing])
            codes = np.where(np.isnan(X[:, column]), len(words), X[:, column])
            X[:, column] = values[codes.astype(np.intp)]
    return X

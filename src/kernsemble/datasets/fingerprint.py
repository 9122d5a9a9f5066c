"""Checksums of values, independent of the file format."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from kernsemble._typing import FloatArray, IntArray


def fingerprint(X: FloatArray | Any, y: IntArray | FloatArray) -> str:
    """Return the SHA-256 of the examples as doubles, row after row, and of the target.

    For sparse examples these are the row ends, sorted columns and values of their
    compressed rows. Both zeros are equal, and so are all NaN. Labels are integers; the
    numbers of a regression are doubles.
    """
    digest = hashlib.sha256()
    target = y.astype("<f8" if y.dtype.kind == "f" else "<i8")
    for array in (*_arrays(X), target):
        digest.update(array.tobytes())
    return digest.hexdigest()


def unordered_fingerprint(X: FloatArray, y: IntArray | FloatArray) -> str:
    """Return the fingerprint of the same rows and labels in lexicographic order."""
    order = np.lexsort(np.column_stack([X, y]).T)
    return fingerprint(X[order], y[order])


def _arrays(X: FloatArray | Any) -> Iterator[Any]:
    if sparse.issparse(X):
        X = sparse.csr_array(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        yield X.indptr.astype("<i8")
        yield X.indices.astype("<i8")
        X = X.data
    yield np.where(np.isnan(X), np.nan, X + 0.0).astype("<f8")

"""Data as read from a source, before names are added."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from kernsemble._typing import FloatArray, IntArray
from kernsemble.datasets.catalogue import DatasetEntry, Task
from kernsemble.datasets.dataset import Split
from kernsemble.datasets.fingerprint import fingerprint, unordered_fingerprint
from kernsemble.exceptions import DatasetMismatchError


class SourceAbsentError(Exception):
    """Error for a data set that a source does not have; the message is the remedy."""


@dataclass(frozen=True, eq=False)
class SourceData:
    """Examples, labels and given splits, and their source."""

    X: FloatArray | Any
    y: IntArray | FloatArray
    source: str
    splits: tuple[Split, ...] = ()
    groups: IntArray | None = None

    @classmethod
    def from_parts(
        cls, parts: Sequence[tuple[Any, Any]], source: str, task: Task = "classification"
    ) -> Self:
        """Stack the parts; a training part and a test part also form a split."""
        stack = sparse.vstack if sparse.issparse(parts[0][0]) else np.vstack
        X = stack([X for X, _ in parts]).astype(np.float64)
        y = np.concatenate([y for _, y in parts])
        y = y.astype(np.float64) if task == "regression" else y.astype(np.int64)
        rows, n_train = np.arange(len(y)), len(parts[0][1])
        splits = (Split(rows[:n_train], rows[n_train:]),) if len(parts) == 2 else ()
        return cls(X, y, source, splits)

    def checked_against(self, entry: DatasetEntry) -> Self:
        """Return the data in the catalogue's form; raise an error if they are different.

        The rows of a data set without given splits may be in another order than in the data
        folder, which is noted in the source.
        """
        X = self.X.astype(entry.precision).astype(np.float64)
        found = replace(self, X=sparse.csr_array(X) if entry.sparse else X)
        if fingerprint(found.X, found.y) == entry.fingerprint:
            return found
        if entry.unordered_fingerprint == unordered_fingerprint(X, self.y):
            return replace(found, source=f"{self.source} (rows in another order)")
        labels, counts = np.unique(self.y, return_counts=True)
        raise DatasetMismatchError(
            f"{self.source} is not the data set {entry.name}: "
            f"expected {entry.n_samples} x {entry.n_features} with class counts "
            f"{dict(entry.class_counts)} and fingerprint {entry.fingerprint[:12]}, "
            f"found {X.shape[0]} x {X.shape[1]} with class counts "
            f"{dict(zip(labels.tolist(), counts.tolist(), strict=True))} and fingerprint "
            f"{fingerprint(found.X, found.y)[:12]}; put the file {entry.file_name} into the "
            "folder given by KERNSEMBLE_DATA, which is tried first"
        )

"""Data sets: the papers' artificial problems, and named sets that are checked.

The generators (``make_twonorm``, ``make_xor``, ...) draw from distributions whose formula
is their docstring. :func:`load` turns a name of :func:`list_datasets` into a
:class:`Dataset`: the whole sample and its customary training and test splits. The package
contains no data, only the checksums against which every copy is checked.
"""

from kernsemble.datasets.breiman import make_ringnorm, make_threenorm, make_twonorm
from kernsemble.datasets.catalogue import DatasetEntry, list_datasets
from kernsemble.datasets.dataset import Dataset, Split
from kernsemble.datasets.loading import load
from kernsemble.datasets.mixed_table import make_mixed_table
from kernsemble.datasets.toys import (
    make_rotated_gaussians,
    make_sparse_sum,
    make_spheres,
    make_xor,
)
from kernsemble.exceptions import (
    DatasetMismatchError,
    DatasetNotFoundError,
    UnknownDatasetError,
)

__all__ = [
    "Dataset",
    "DatasetEntry",
    "DatasetMismatchError",
    "DatasetNotFoundError",
    "Split",
    "UnknownDatasetError",
    "list_datasets",
    "load",
    "make_mixed_table",
    "make_ringnorm",
    "make_rotated_gaussians",
    "make_sparse_sum",
    "make_spheres",
    "make_threenorm",
    "make_twonorm",
    "make_xor",
]

"""Handling of missing values.

- A missing number counts as the median of its column, and its column gets one more hypothesis,
  "the value is missing". Stumps and categories have this hypothesis in the additive backend
  (`kernsemble.svm.backends.tables` fills in the medians), and any kernel has it within
  `kernsemble.kernels.Mixed` in the exact one.
- A missing category is a category of its own (`kernsemble.svm.columns.mixed_table`).
- In a column that no part of the kernel uses, missing values are ignored.
- Everything else is an error that names the column and the remedy.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from scipy import sparse

from kernsemble._typing import BoolArray, IntArray, Rows
from kernsemble.kernels import Kernel, as_kernel
from kernsemble.kernels.columns import leaves


def has_missing(X: Rows) -> bool:
    """Return whether a number is missing; costs a sum if none is."""
    if sparse.issparse(X):
        return False
    with np.errstate(all="ignore"):
        return bool(np.isnan(X.sum()) and np.isnan(X).any())


def supports_missing(kernel: str | Kernel) -> bool:
    """Return whether every part of a kernel has a hypothesis for missing values."""
    try:
        parts = leaves(as_kernel(kernel))
    except (TypeError, ValueError):  # nothing that can be fitted
        return False
    return all(leaf.kernel.supports_missing for leaf in parts)


def used_columns(kernels: Sequence[Kernel], n_columns: int) -> BoolArray:
    """Return which columns some part of some kernel uses."""
    is_used = np.zeros(n_columns, dtype=bool)
    for leaf in chain.from_iterable(map(leaves, kernels)):
        is_used[leaf.columns(n_columns)] = True
    return is_used


def handle_missing(
    X: Rows,
    kernels: Sequence[Kernel],
    names: tuple[str, ...] | None,
    solver: str,
    is_supported: bool,
) -> Rows:
    """Return rows in which every missing value has a hypothesis; zero in unused columns.

    `is_supported` is whether the solver supports missing values at all. Raise an error that names
    the first column in which a missing value cannot be treated.
    """
    is_fine = is_supported and all(map(supports_missing, kernels))
    if is_fine or not has_missing(X):
        return X
    is_used = used_columns(kernels, X.shape[1])
    is_affected = np.isnan(X).any(axis=0) & is_used
    if not is_supported and is_affected.any():
        raise ValueError(
            f"column {column_name(np.flatnonzero(is_affected), names)} of X has missing values "
            f"(NaN), which solver = {solver!r} does not support: fill them in, use "
            "solver='additive' with stumps and categories, which have a hypothesis \"the value "
            'is missing", or Mixed(kernel), which has it for any kernel'
        )
    for kernel in kernels:
        _check_supported(kernel, is_affected, names)
    return X if is_used.all() else np.where(is_used, X, 0.0)


def _check_supported(kernel: Kernel, is_affected: BoolArray, names: tuple[str, ...] | None) -> None:
    for leaf in leaves(kernel):
        columns = leaf.columns(len(is_affected))
        if not leaf.kernel.supports_missing and is_affected[columns].any():
            raise ValueError(
                f"column {column_name(columns[is_affected[columns]], names)} of X has missing "
                f"values (NaN), and kernel = {leaf.kernel} has no hypothesis for them: fill them "
                f"in, or use Mixed({leaf.kernel}), or Stump(), MiddleStump() or Category() on this "
                "column"
            )


def column_name(columns: IntArray, names: tuple[str, ...] | None) -> str:
    """Return the first of some columns as messages show it: its name, or its index."""
    index = int(columns[0])
    return repr(index if names is None else str(names[index]))

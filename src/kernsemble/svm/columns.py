"""Kernels on the columns of a table: by name, of numbers and categories, with missing values.

A kernel that says no columns sees the numbers, and `Category` the categories beside them. One
whose every part says its columns sees these and no others. Missing values are for parts that have
a hypothesis for them, "it is missing".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy import sparse

from kernsemble._typing import BoolArray, IntArray, Rows
from kernsemble.kernels import Category, Kernel, MiddleStump, Stump, as_kernel
from kernsemble.kernels.columns import leaves, located

KNOW_MISSING = (Stump, MiddleStump, Category)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of the training rows: their names, if any, and which of them are categories."""

    is_category: BoolArray
    names: tuple[str, ...] | None = None

    def kernel(self, asked: str | Kernel) -> Kernel:
        """Return the kernel that is asked for on these columns, chosen by position."""
        kernel = located(as_kernel(asked), len(self.is_category), self.names)
        if not self.is_category.any():
            return kernel
        has_choices = {bool(leaf.choices) for leaf in leaves(kernel)}
        if True not in has_choices:
            return self._beside_categories(kernel)
        if False in has_choices:
            raise ValueError(
                f"kernel = {asked}: X has categories, and some parts of the kernel say their "
                "columns, others do not: put .on(columns) behind every part, or behind none to "
                "have it on all numbers, beside Category() on the rest"
            )
        self._refuse_categories(kernel)
        return kernel

    def _beside_categories(self, kernel: Kernel) -> Kernel:
        categories = Category().on(np.flatnonzero(self.is_category).tolist())
        if self.is_category.all():
            return categories
        return kernel.on(np.flatnonzero(~self.is_category).tolist()) + categories

    def _refuse_categories(self, kernel: Kernel) -> None:
        for part, name in self._misplaced(kernel, self.is_category, (Category,)):
            raise ValueError(
                f"kernel = {part} compares numbers, and column {name} of X holds categories: use "
                f"Category().on({name}) there"
            )

    def with_missing(self, X: Rows, kernels: Sequence[Kernel], solver: str) -> Rows:
        """Return rows in which every missing value has a hypothesis, zero where no kernel looks."""
        is_free = solver != "exact" and all(map(knows_missing, kernels))
        if is_free or not holds_missing(X):
            return X
        is_seen = np.zeros(X.shape[1], dtype=bool)
        for leaf in chain.from_iterable(map(leaves, kernels)):
            is_seen[leaf.columns(X.shape[1])] = True
        is_holed = np.isnan(X).any(axis=0) & is_seen
        if solver == "exact":
            self._refuse_missing(is_holed)
        for kernel in kernels:
            self._refuse_missing_under(kernel, is_holed)
        return X if is_seen.all() else np.where(is_seen, X, 0.0)

    def _refuse_missing(self, is_holed: BoolArray) -> None:
        if is_holed.any():
            raise ValueError(
                f"column {self._first(np.flatnonzero(is_holed))} of X has missing values (NaN), "
                "which solver = 'exact' cannot compare: fill them in, or fit by "
                "solver='additive', for which \"it is missing\" is a hypothesis of stumps and "
                "categories"
            )

    def _refuse_missing_under(self, kernel: Kernel, is_holed: BoolArray) -> None:
        for part, name in self._misplaced(kernel, is_holed, KNOW_MISSING):
            raise ValueError(
                f"column {name} of X has missing values (NaN), and kernel = {part} has no "
                "hypothesis for them, as Stump(), MiddleStump() and Category() have: fill them in, "
                "or use one of those there"
            )

    def _misplaced(
        self, kernel: Kernel, is_special: BoolArray, suited: tuple[type[Kernel], ...]
    ) -> Iterator[tuple[Kernel, str]]:
        """Yield parts of a kernel that see special columns and are not suited, and the columns."""
        for leaf in leaves(kernel):
            seen = leaf.columns(len(is_special))
            if not isinstance(leaf.kernel, suited) and is_special[seen].any():
                yield leaf.kernel, self._first(seen[is_special[seen]])

    def _first(self, columns: IntArray) -> str:
        place = int(columns[0])
        return repr(place if self.names is None else str(self.names[place]))


def knows_missing(kernel: str | Kernel) -> bool:
    """Tell whether every part of a kernel has a hypothesis for missing values."""
    try:
        parts = leaves(as_kernel(kernel))
    except (TypeError, ValueError):  # "auto", or nothing that can be fitted
        return False
    return all(isinstance(leaf.kernel, KNOW_MISSING) for leaf in parts)


def holds_missing(X: Rows) -> bool:
    """Tell whether a number is missing; costs a sum where none is."""
    if sparse.issparse(X):
        return False
    with np.errstate(all="ignore"):
        return bool(np.isnan(X.sum()) and np.isnan(X).any())

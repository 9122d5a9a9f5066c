"""Kernels on the columns of a table, selected by name or by position.

A kernel without column names applies to all columns of numbers, and `Category` to the others.
A kernel whose every part names its columns applies to these only. `Mixed` applies to all columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernsemble._typing import BoolArray, Rows
from kernsemble._validation import locate_columns
from kernsemble.exceptions import ArgumentError
from kernsemble.kernels import Category, Kernel, Mixed, as_kernel
from kernsemble.kernels.columns import leaves, located
from kernsemble.svm.columns.missing_values import column_name, handle_missing


@dataclass(frozen=True, eq=False)
class Columns:
    """The encoded columns of the training rows: which are categories, and their names, if any."""

    is_category: BoolArray
    names: tuple[str, ...] | None = None

    @classmethod
    def from_fitted(cls, estimator: Any) -> Self:
        """Return the columns that an estimator was fitted to."""
        table = getattr(estimator, "mixed_table_", None)
        names = getattr(estimator, "feature_names_in_", None)
        return cls(
            np.zeros(estimator.n_features_in_, dtype=bool) if table is None else table.is_category,
            None
            if names is None
            else tuple(names if table is None else table.encoded_names(names)),
        )

    def kernel(self, requested: str | Kernel) -> Kernel:
        """Return a kernel on these columns, which it selects by position."""
        kernel = located(as_kernel(requested), len(self.is_category), self.names)
        if not self.is_category.any():
            return kernel
        if isinstance(kernel, Mixed):
            return replace(kernel, categories=tuple(np.flatnonzero(self.is_category).tolist()))
        has_columns = {bool(leaf.choices) for leaf in leaves(kernel)}
        if True not in has_columns:
            return self._beside_categories(kernel)
        if False in has_columns:
            raise ValueError(
                f"kernel = {requested}: X has categories, and only some parts of the kernel name "
                "their columns: add .on(columns) to every part, or to none to apply it to all "
                "numbers, with Category() on the rest"
            )
        self._check_categories(kernel)
        return kernel

    def pairs(self, requested: Sequence[Any]) -> tuple[tuple[int, int], ...]:
        """Return pairs of columns, given by name or by position, by position."""
        found: dict[frozenset[int], tuple[int, int]] = {}
        for pair in requested:
            is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
            if not is_pair or pair[0] == pair[1]:
                raise ArgumentError("pairs", requested, "use pairs of two different columns")
            first, second = locate_columns(pair, len(self.is_category), self.names).tolist()
            found.setdefault(frozenset((first, second)), (first, second))
        return tuple(found.values())

    def handle_missing(
        self, X: Rows, kernels: Sequence[Kernel], solver: str, is_supported: bool
    ) -> Rows:
        """Return rows in which every missing value has a hypothesis; see `missing_values`."""
        return handle_missing(X, kernels, self.names, solver, is_supported)

    def _beside_categories(self, kernel: Kernel) -> Kernel:
        categories = Category().on(np.flatnonzero(self.is_category).tolist())
        if self.is_category.all():
            return categories
        return kernel.on(np.flatnonzero(~self.is_category).tolist()) + categories

    def _check_categories(self, kernel: Kernel) -> None:
        for leaf in leaves(kernel):
            columns = leaf.columns(len(self.is_category))
            columns = columns[self.is_category[columns]]
            if not isinstance(leaf.kernel, (Category, Mixed)) and len(columns):
                name = column_name(columns, self.names)
                raise ValueError(
                    f"kernel = {leaf.kernel} compares numbers, and column {name} of X has "
                    f"categories: use Category().on({name}) there"
                )

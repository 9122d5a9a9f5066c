r"""Machines on the leaves of partitions: a row has the mean of its leaves' values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernsemble._memory import Budget
from kernsemble._threads import blocks
from kernsemble._typing import FloatArray, Rows
from kernsemble._value_object import Value
from kernsemble.kernels import Kernel
from kernsemble.kernels.gram import Embedded
from kernsemble.kernels.grouped import Groups, grouped_sums
from kernsemble.preprocessing import AnyScaling
from kernsemble.solvers.partition import Partition
from kernsemble.svm.backends.base import Machines
from kernsemble.svm.backends.local.rows import dense

MAX_COORDINATES = 4_000_000  # maximum number of coordinates of new rows computed at a time
MIN_ROWS = 384  # minimum number of new rows whose coordinates are computed at a time


@dataclass(frozen=True, eq=False, repr=False)
class LeafMachines(Value):
    """The machines on the leaves of one partition.

    Attributes
    ----------
    partition : Partition
        The leaves.
    coefficients : array of shape (n_rows, n_machines)
        The coefficients of the rows of every leaf, in the order of ``partition.rows``.
    bias : array of shape (n_leaves, n_machines)
        The bias of every leaf.
    """

    partition: Partition
    coefficients: FloatArray
    bias: FloatArray

    def values(self, X: FloatArray, kernel: Kernel, known: Embedded) -> FloatArray:
        """Return the value of every machine (columns) at scaled rows, those of a leaf together.

        `known` contains the training rows, prepared by the kernel once and not for every leaf.
        """
        prepared = kernel._embed(X, "X")
        routes = self.partition.route(X)
        order = np.argsort(routes.leaves, kind="stable")
        row = np.repeat(np.arange(len(X)), np.diff(routes.ends))
        leaves, part = routes.leaves[order], self.partition
        groups = Groups(known, part.rows, part.ends, self.coefficients)
        found = np.empty((len(order), self.coefficients.shape[1]))
        found[order] = grouped_sums(kernel, groups, prepared, row[order], leaves)
        found[order] += self.bias[leaves]
        found *= routes.shares[:, np.newaxis]
        sums: FloatArray = np.add.reduceat(found, routes.ends[:-1])
        return sums


@dataclass(frozen=True, eq=False, repr=False)
class LocalMachines(Machines):
    """Machines on the leaves of several partitions of common rows.

    Attributes
    ----------
    kernel, scaling
        The kernel and the scaling, bound to the training rows.
    coordinates : array of shape (n_distinct, n_coordinates)
        The distinct scaled training rows.
    parts : tuple of LeafMachines
        The machines of each partition.
    siblings : tuple of LocalMachines
        Machines on other learned scales, which are averaged with these by partitions.
    """

    kernel: Kernel
    scaling: AnyScaling
    coordinates: FloatArray
    parts: tuple[LeafMachines, ...]
    siblings: tuple["LocalMachines", ...] = ()

    @classmethod
    def from_parts(
        cls,
        kernel: Kernel,
        scaling: AnyScaling,
        coordinates: FloatArray,
        parts: Sequence[LeafMachines],
    ) -> Self:
        """Return machines whose rows are in the order of the leaves of the first partition.

        So the rows of a leaf are near each other in memory, where predictions read them.
        """
        members = parts[0].partition.rows
        order = members[np.sort(np.unique(members, return_index=True)[1])]
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        moved = (
            replace(each, partition=replace(each.partition, rows=place[each.partition.rows]))
            for each in parts
        )
        return cls(kernel, scaling, coordinates[order], tuple(moved))

    @property
    def each(self) -> tuple["LocalMachines", ...]:
        """The machines on one scale each."""
        return (replace(self, siblings=()), *self.siblings)

    @property
    def all_parts(self) -> tuple[LeafMachines, ...]:
        """The machines of the partitions on all scales."""
        return tuple(part for each in self.each for part in each.parts)

    @property
    def supports_missing(self) -> bool:
        return self.scaling.accepts_categories

    @property
    def scales_categories(self) -> bool:
        return self.scaling.accepts_categories

    @property
    def mean_bias(self) -> FloatArray:
        """The mean bias of every machine, over partitions and rows."""
        sizes = [np.diff(each.partition.ends) for each in self.all_parts]
        means = [n @ each.bias / n.sum() for n, each in zip(sizes, self.all_parts, strict=True)]
        return np.asarray(np.mean(means, axis=0))

    @property
    def n_kernel_values(self) -> int:
        """The approximate number of kernel values that a decision value takes."""
        sizes = [np.diff(each.partition.ends).astype(np.float64) for each in self.all_parts]
        return int(sum((size**2).sum() / len(self.coordinates) for size in sizes))

    @cached_property
    def known(self) -> Embedded:
        """The training rows as the kernel prepares them."""
        return self.kernel._embed(self.coordinates, "X")

    def values(self, X: Rows, budget: Budget) -> FloatArray:
        if self.siblings:
            total = sum(len(each.parts) * each.values(X, budget) for each in self.each)
            return np.asarray(total / len(self.all_parts))
        found = np.zeros((X.shape[0], self.parts[0].bias.shape[1]))
        n_coordinates = max(self.coordinates.shape[1], X.shape[1])
        most = min(MAX_COORDINATES, int(budget.n_bytes / 32))
        for span in blocks(X.shape[0], max(most // n_coordinates, MIN_ROWS)):
            rows = self.scaling.transform(dense(X[span])).astype(self.coordinates.dtype)
            for each in self.parts:
                found[span] += each.values(rows, self.kernel, self.known) / len(self.parts)
        return found

    def attributes(self) -> dict[str, Any]:
        return {"partitions_": tuple(each.partition for each in self.all_parts)}

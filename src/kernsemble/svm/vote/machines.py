r"""Machines that vote: :math:`F(x) = \sum_m w_m f_m(x) + b`, an infinite ensemble themselves."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernsemble._memory import Budget
from kernsemble._threads import blocks
from kernsemble._typing import FloatArray, Rows
from kernsemble._value_object import Value
from kernsemble.kernels import Kernel, Mixed
from kernsemble.preprocessing import AnyScaling
from kernsemble.svm.backends.base import Machines
from kernsemble.svm.backends.device.machines import DeviceMachines, find_device
from kernsemble.svm.backends.prepared_matrix import MAX_KERNEL_ENTRIES, SupportVectorMachines
from kernsemble.svm.backends.radial_parts import radial_part
from kernsemble.svm.backends.tables.backend import TableMachines

ENTRIES_OF_A_MATRIX = 3.0  # matrices of new rows in memory: distances, a kernel, and a copy


@dataclass(frozen=True, eq=False, repr=False)
class VoteMember(Value):
    """A member of a vote: fitted machines, and their weight.

    Attributes
    ----------
    name : str
        Description, such as "trees on ranks".
    weight : float
        Weight of its values in the vote.
    share : float
        Share of the vote: the weight times the standard deviation of its left-out values, relative
        to the sum over all members.
    kernel, scaling
        The kernel and the scaling, bound to the training rows.
    C : float
        Value of C.
    machines : Machines
        The machines, without the weight. Those with support vectors share the rows of the vote,
        and contain none.
    """

    name: str
    weight: float
    share: float
    kernel: Kernel
    scaling: AnyScaling
    C: float
    machines: Machines

    @property
    def has_tables(self) -> bool:
        """Whether the machines are tables."""
        return isinstance(self.machines, TableMachines)

    @property
    def shares_rows(self) -> bool:
        """Whether the machines have the rows of the vote as support vectors."""
        return isinstance(self.machines, SupportVectorMachines)


@dataclass(frozen=True, eq=False, repr=False)
class VoteMachines(Machines):
    """Machines that vote, on common training rows."""

    members: tuple[VoteMember, ...]
    rows: Rows  # training rows, which all support vectors are; a sample if members have their own
    intercept: FloatArray  # of the vote, the members' included
    is_single: bool = False  # whether kernels are computed in single precision

    @property
    def supports_missing(self) -> bool:
        return all(each.machines.supports_missing for each in self.members)

    @property
    def scales_categories(self) -> bool:
        return all(
            each.has_tables or each.machines.scales_categories or isinstance(each.kernel, Mixed)
            for each in self.members
        )

    def attributes(self) -> dict[str, Any]:
        return {"members_": self.members}

    def machines_of(self, member: VoteMember) -> Machines:
        """Return the machines of a member, with its support vectors."""
        if isinstance(member.machines, SupportVectorMachines):
            return replace(member.machines, support_vectors=self.rows)
        return member.machines

    def values(self, X: Rows, budget: Budget) -> FloatArray:
        total = np.repeat(self.intercept[np.newaxis], X.shape[0], axis=0)
        for each in self.members:
            if not each.shares_rows:
                total += each.weight * each.machines.values(X, budget)
        for family in self._families():
            if not self._add_values_on_device(family, X, total):
                self._add_values(family, X, budget, total)
        return total

    def _add_values_on_device(self, family: list[VoteMember], X: Rows, total: FloatArray) -> bool:
        """Add the weighted values of members that were fitted on a device, if there is one."""
        known = [self.machines_of(each) for each in family]
        fitted = [each for each in known if isinstance(each, DeviceMachines)]
        found = find_device(fitted[0].device_name) if len(fitted) == len(known) else None
        if found is None:
            return False
        for member, machines in zip(family, fitted, strict=True):
            total += member.weight * machines.expansions_on(found, X)
        return True

    def _families(self) -> list[list[VoteMember]]:
        """Return the members with support vectors, those with the same distances together."""
        found: dict[tuple[str, int], list[VoteMember]] = {}
        for place, member in enumerate(self.members):
            if member.shares_rows:
                found.setdefault(_distance_key(member, place), []).append(member)
        return list(found.values())

    def _add_values(
        self, family: list[VoteMember], X: Rows, budget: Budget, total: FloatArray
    ) -> None:
        """Add the weighted values of members whose kernels have the same distances."""
        first = self.machines_of(family[0])
        assert isinstance(first, SupportVectorMachines)
        known = self._in_precision(first.scaled_support)
        most = min(MAX_KERNEL_ENTRIES, int(budget.n_bytes / (8.0 * ENTRIES_OF_A_MATRIX)))
        for span in blocks(X.shape[0], max(most // max(known.shape[0], 1), 1)):
            rows = self._in_precision(first.scaling.transform(X[span]))
            for member, K in self._matrices(family, rows, known):
                machines = member.machines
                assert isinstance(machines, SupportVectorMachines)
                found = K @ machines.coefficients.T.astype(K.dtype)
                total[span] += member.weight * found.astype(np.float64)

    def _in_precision(self, rows: Rows) -> Rows:
        """Return scaled rows in the precision of kernels."""
        return rows.astype(np.float32) if self.is_single else rows

    @staticmethod
    def _matrices(
        family: list[VoteMember], rows: Rows, known: Rows
    ) -> Iterator[tuple[VoteMember, FloatArray]]:
        """Yield the kernel matrix of each member between new rows and the training rows."""
        radial = radial_part(family[0].kernel)
        if radial is None or len(family) == 1:
            for member in family:
                yield member, member.kernel(rows, known)
            return
        kernel = family[0].kernel
        pair = (
            (kernel.expanded(each) for each in (rows, known))
            if isinstance(kernel, Mixed)
            else (rows, known)
        )
        distances = radial.distances(*pair)
        for member in family:
            mine = radial_part(member.kernel)
            assert mine is not None
            yield member, mine.from_distances(distances)


def _distance_key(member: VoteMember, place: int) -> tuple[str, int]:
    """Return a key that is equal for members whose kernels have the same distances."""
    radial, machines = radial_part(member.kernel), member.machines
    assert isinstance(machines, SupportVectorMachines)
    family = type(radial).__name__ if radial is not None else repr(member.kernel)
    own = machines.coordinates is not None or radial is None
    return f"{family} {machines.scaling.kind}", place if own else -1

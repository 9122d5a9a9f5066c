"""Machines on leaves as a function of several columns, which is averaged over rows.

Leaves have no common norm, and their blend is no sum of functions of columns. So contributions and
effects are averages over rows, with standard errors.
"""

from dataclasses import replace

import numpy as np

from kernsemble._memory import Budget
from kernsemble._typing import FloatArray, IntArray
from kernsemble.inspection.column_scales import column_of_coordinates, columns_of_directions
from kernsemble.inspection.decomposition import Decomposition, Interaction, no_norm
from kernsemble.preprocessing import LearnedScaling
from kernsemble.svm.backends.local.machines import LocalMachines


def decompose_local(
    machines: LocalMachines, machine: int, weight: float, name: str
) -> Decomposition:
    """Return the weighted value of a machine on leaves as one function of several columns."""
    machines, budget = in_double_precision(machines), Budget.from_megabytes(None)

    def values(rows: FloatArray) -> FloatArray:
        return weight * machines.values(rows, budget)[:, machine]

    return Decomposition(0.0, [], [Interaction(name, _columns(machines), values, no_norm)])


def learned_scalings_of(
    machines: LocalMachines, share: float
) -> list[tuple[float, LearnedScaling]]:
    """Return the learned scalings of machines, each with its part of their share."""
    n = len(machines.all_parts)
    return [
        (share * len(each.parts) / n, each.scaling)
        for each in machines.each
        if isinstance(each.scaling, LearnedScaling)
    ]


def in_double_precision(machines: LocalMachines) -> LocalMachines:
    """Return machines that compute in double precision, so that contributions add up."""
    first, *others = (
        replace(each, coordinates=each.coordinates.astype(np.float64)) for each in machines.each
    )
    return replace(first, siblings=tuple(others))


def _columns(machines: LocalMachines) -> IntArray:
    """Return the columns that the machines depend on."""
    if machines.siblings:
        return np.unique(np.concatenate([_columns(each) for each in machines.each]))
    scaling = machines.scaling
    columns = column_of_coordinates(scaling, np.arange(machines.coordinates.shape[1]))
    if columns is None:
        assert isinstance(scaling, LearnedScaling)
        return columns_of_directions(scaling)
    return np.unique(columns[columns >= 0])

r"""Sums of kernel values over groups of rows, where each new row is compared with its own group.

.. math:: f(x) = \sum_{j \in G(x)} \beta_j K(x_j, x)

A tile for every group would have few values, and its overhead would dominate. So for radial kernels
the distances of many groups are computed in one pass, and all their kernel values in another.
"""

from typing import NamedTuple

import numpy as np

from kernsemble._jit import jit, jit_sums
from kernsemble._threads import blocks, run
from kernsemble._typing import FloatArray, IntArray
from kernsemble.kernels.base import Kernel
from kernsemble.kernels.distances import SQUARABLE
from kernsemble.kernels.gram import TILE_ROWS, Embedded, fill_gram, take_rows
from kernsemble.kernels.radial import SPAN, Radial

AT_A_TIME = 4  # features whose differences are added up in one pass


class Groups(NamedTuple):
    """Groups of embedded rows, which may overlap.

    Attributes
    ----------
    rows : array or tuple of arrays
        The embedded rows.
    members : array of shape (n_members,)
        The rows of every group, one group after another.
    ends : array of shape (n_groups + 1,)
        Where each group begins among the members, and where the last one ends.
    coefficients : array of shape (n_members, n_sums)
        The coefficient of every member in every sum.
    """

    rows: Embedded
    members: IntArray
    ends: IntArray
    coefficients: FloatArray


def grouped_sums(
    kernel: Kernel, groups: Groups, new: Embedded, row: IntArray, group: IntArray
) -> FloatArray:
    """Return the sums over the group of every entry, of shape (n_entries, n_sums).

    Parameters
    ----------
    kernel : Kernel
        The bound kernel.
    groups : Groups
        The groups.
    new : array or tuple of arrays
        Embedded new rows.
    row, group : array of shape (n_entries,)
        The new row of each entry and the group that it is compared with, in the order of groups.
    """
    sums = np.empty((len(row), groups.coefficients.shape[1]))
    if isinstance(kernel, Radial) and _can_be_summed(kernel, new, groups.rows):
        _sum_together(kernel, groups, new, row, group, sums)
    else:
        _sum_by_group(kernel, groups, new, row, group, sums)
    if not np.isfinite(sums).all():
        raise ValueError("the predictions exceed the range of floats: scale the columns of X")
    return sums


def _can_be_summed(kernel: Radial, *several: Embedded) -> bool:
    """Return whether the rows are dense, and the sums of their differences within range."""
    if not all(isinstance(rows, np.ndarray) for rows in several):
        return False
    size = max(float(np.abs(rows).max(initial=0.0)) for rows in several)
    return kernel.power == 1 or size == 0.0 or SQUARABLE[0] < size < SQUARABLE[1]


def _sum_together(
    kernel: Radial,
    groups: Groups,
    new: FloatArray,
    row: IntArray,
    group: IntArray,
    sums: FloatArray,
) -> None:
    """Fill in the sums, for as many entries at a time as have kernel values for the cache."""
    sizes = np.diff(groups.ends)
    ends = np.append(0, np.cumsum(sizes[group]))
    places = np.searchsorted(ends, np.arange(SPAN, ends[-1] + SPAN, SPAN), side="right") - 1
    cuts = np.unique(np.concatenate([[0], np.minimum(places + 1, len(row))]))
    dtype = np.result_type(new, groups.rows)
    rows, coefficients = groups.rows.astype(dtype), groups.coefficients.T.astype(dtype, order="C")
    padded = np.zeros((len(new), -(-new.shape[1] // AT_A_TIME) * AT_A_TIME), dtype)
    padded[:, : new.shape[1]] = new

    def work(span: tuple[int, int]) -> None:
        mine = slice(*span)
        values = np.empty(ends[span[1]] - ends[span[0]], dtype)
        columns = np.zeros((padded.shape[1], sizes.max()), dtype)
        places = row[mine], group[mine], groups.members, groups.ends
        _sum_differences(padded, rows, *places, kernel.power, columns, values)
        _sum_values(kernel._from_sums(values), group[mine], groups.ends, coefficients, sums[mine])

    run(work, list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)), fewest=2)


def _sum_by_group(
    kernel: Kernel,
    groups: Groups,
    new: Embedded,
    row: IntArray,
    group: IntArray,
    sums: FloatArray,
) -> None:
    """Fill in the sums of one group after another."""
    first = np.searchsorted(group, np.arange(len(groups.ends)))
    tasks = [
        (place, slice(first[place] + span.start, first[place] + span.stop))
        for place in np.flatnonzero(np.diff(first)).tolist()
        for span in blocks(int(first[place + 1] - first[place]), TILE_ROWS)
    ]

    def work(task: tuple[int, slice]) -> None:
        place, mine = task
        members = slice(groups.ends[place], groups.ends[place + 1])
        old = take_rows(groups.rows, groups.members[members])
        K = fill_gram(kernel._tile, take_rows(new, row[mine]), old)
        with np.errstate(over="ignore", invalid="ignore"):  # checked
            sums[mine] = K @ groups.coefficients[members]

    run(work, tasks)


@jit
def _sum_differences(
    new: FloatArray,
    rows: FloatArray,
    row: IntArray,
    group: IntArray,
    members: IntArray,
    ends: IntArray,
    power: int,
    columns: FloatArray,
    values: FloatArray,
) -> None:
    """Add up the differences of every entry from all rows of its group, four features at a time.

    The rows of a group are transposed once, to `columns`.
    """
    last, start = -1, 0
    for e in range(len(row)):
        first, m = ends[group[e]], ends[group[e] + 1] - ends[group[e]]
        if group[e] != last:
            last = group[e]
            for j in range(m):
                for d in range(rows.shape[1]):
                    columns[d, j] = rows[members[first + j], d]
        x, mine = new[row[e]], values[start : start + m]
        mine[:] = 0
        for d in range(0, len(x), AT_A_TIME):
            a, b, c, h = x[d], x[d + 1], x[d + 2], x[d + 3]
            p, q, r, s = columns[d], columns[d + 1], columns[d + 2], columns[d + 3]
            if power == 2:
                for j in range(m):
                    first_two = (a - p[j]) * (a - p[j]) + (b - q[j]) * (b - q[j])
                    mine[j] += first_two + (c - r[j]) * (c - r[j]) + (h - s[j]) * (h - s[j])
            else:
                for j in range(m):
                    mine[j] += abs(a - p[j]) + abs(b - q[j]) + abs(c - r[j]) + abs(h - s[j])
        start += m


@jit_sums
def _sum_values(
    values: FloatArray,
    group: IntArray,
    ends: IntArray,
    coefficients: FloatArray,
    sums: FloatArray,
) -> None:
    """Add up the kernel values of every entry times the coefficients of its group."""
    start = 0
    for e in range(len(group)):
        first, m = ends[group[e]], ends[group[e] + 1] - ends[group[e]]
        mine = values[start : start + m]
        for k in range(len(coefficients)):
            factors, total = coefficients[k, first : first + m], 0.0
            for j in range(m):
                total += mine[j] * factors[j]
            sums[e, k] = total
        start += m

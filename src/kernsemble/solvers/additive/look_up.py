r"""Encoding of entries as levels, and evaluation of tables at entries.

A table g of a column is piecewise linear between the values of ordered levels and constant beyond
them, or constant within each level; at an unseen category, or a missing value where the sample
had none, it has its value at the `middle` level.

Both need the number of a column's increasing numbers below an entry. The range of these numbers is
divided into equal buckets; each bucket stores the count of numbers below it, and a branch-free
binary search continues within the bucket, so that evenly spread numbers take one or two steps, and
any others no more than a binary search.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from kernsemble._jit import jit
from kernsemble._threads import blocks, run
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.solvers.additive.levels import Levels, code_type

ROWS_PER_TASK = 32_768
ROWS_PER_EVALUATION = 2_048
ROWS_IN_CACHE = 512
BUCKETS_PER_NUMBER = 4


def encode(X: FloatArray, levels: Sequence[Levels]) -> IntArray:
    """Return the codes of rows, of shape (D, n), with threads over blocks of rows."""
    codes = np.empty((len(levels), len(X)), dtype=code_type(levels))
    encoder = Encoder.from_levels(levels)
    run(lambda rows: encoder.encode(X[rows], codes[:, rows]), blocks(len(X), ROWS_PER_TASK))
    return codes


def evaluate(X: FloatArray, levels: Sequence[Levels], tables: Sequence[FloatArray]) -> FloatArray:
    r"""Return :math:`\sum_d g_d(x_d)` of rows, interpolated between levels."""
    sums = np.zeros((1, len(X)))
    Evaluator.from_tables(levels, tables).add_to(sums, X)
    return sums[0]


class JoinedLevels(NamedTuple):
    """The levels of all columns, concatenated."""

    offsets: IntArray  # first level of each column
    n_ordered: IntArray
    absent: IntArray  # level of missing values, or of unknown categories
    is_category: BoolArray
    is_exact: BoolArray
    values: FloatArray  # value of every level, 0 for loose ones and categories

    @classmethod
    def from_levels(cls, levels: Sequence[Levels]) -> Self:
        """Concatenate the levels of columns."""
        return cls(
            _starts([each.n_levels for each in levels]),
            np.array([each.n_ordered for each in levels]),
            np.array([each.absent for each in levels]),
            np.array([each.holds_categories for each in levels]),
            np.array([each.is_exact for each in levels]),
            np.concatenate(
                [np.append(np.nan_to_num(each.values), np.zeros(each.n_loose)) for each in levels]
            ),
        )


class BucketSearch(NamedTuple):
    """Search index of the increasing numbers of all columns, concatenated."""

    numbers: FloatArray  # followed by infinities in each column
    first: IntArray  # index of the first number of each column
    lowest: FloatArray  # start of the first bucket of each column
    density: FloatArray  # buckets per unit of each column
    below: IntArray  # count of the column's numbers below each bucket
    first_bucket: IntArray  # index of the first bucket of each column
    n_steps: IntArray  # number of steps of the binary search within a bucket

    @classmethod
    def from_columns(cls, columns: Sequence[FloatArray]) -> Self:
        """Build the index of increasing numbers."""
        lowest, highest = (
            np.array([each[end] if len(each) > 0 else 0.0 for each in columns]) for end in (0, -1)
        )
        n_buckets = np.array([BUCKETS_PER_NUMBER * len(each) + 1 for each in columns])
        with np.errstate(all="ignore"):
            density = (n_buckets - 1) / (highest - lowest)
        density[~np.isfinite(density)] = 0.0  # all in the first bucket
        first_bucket, below = _starts(n_buckets), np.zeros(n_buckets.sum(), dtype=np.int32)
        numbers, n_steps = [], []
        for d, each in enumerate(columns):
            mine = below[first_bucket[d] : first_bucket[d + 1]]
            n_steps.append(int(_count_below(each, lowest[d], density[d], mine)).bit_length())
            numbers.append(np.append(each, np.full(1 << n_steps[-1], np.inf)))
        first = _starts([len(each) for each in numbers])
        return cls(
            np.concatenate(numbers), first, lowest, density, below, first_bucket, np.array(n_steps)
        )


def _starts(sizes: Sequence[int] | IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes)])


class Encoder(NamedTuple):
    """Encoder of entries: the level is the number of cuts below the entry."""

    columns: JoinedLevels
    search: BucketSearch

    @classmethod
    def from_levels(cls, levels: Sequence[Levels]) -> Self:
        """Build the encoder of given levels."""
        return cls(
            JoinedLevels.from_levels(levels),
            BucketSearch.from_columns([each.cuts for each in levels]),
        )

    def encode(self, X: FloatArray, codes: IntArray) -> None:
        """Write the code of every entry."""
        _encode(X, self.columns, self.search, codes)

    def tally(
        self, X: FloatArray, codes: IntArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return sum and weight of each level's members, and which columns are exact.

        Sums are relative to the value of the level.
        """
        total, mass = np.zeros_like(self.columns.values), np.zeros_like(self.columns.values)
        is_right = np.ones(len(self.columns.n_ordered), dtype=bool)
        _tally(X, codes, weight, self.columns, total, mass, is_right)
        return total, mass, is_right


class Evaluator(NamedTuple):
    r"""Sums of tables :math:`\sum_d g_d(x_d)` at any rows, for one machine or several.

    Costs one search per entry, and one look-up per entry and machine.
    """

    columns: JoinedLevels
    search: BucketSearch
    heights: FloatArray  # values of every machine at each level
    slopes: FloatArray  # slopes of every machine from each level to the next

    @classmethod
    def from_tables(
        cls,
        levels: Sequence[Levels],
        tables: Sequence[FloatArray],
        is_stepped: BoolArray | None = None,
    ) -> Self:
        """Build the evaluator of tables of shape (n_levels,) or (n_machines, n_levels).

        There is one table per column. Those with `is_stepped` are constant within levels, the
        others linear between them.
        """
        steps = np.zeros(len(levels), dtype=bool) if is_stepped is None else is_stepped
        heights = np.hstack([np.atleast_2d(table) for table in tables])
        columns = JoinedLevels.from_levels(levels)
        numbers = [
            each.cuts if has_steps else np.nextafter(each.values[1:], -np.inf)
            for each, has_steps in zip(levels, steps, strict=True)
        ]
        return cls(
            columns, BucketSearch.from_columns(numbers), heights, _slopes(columns, heights, steps)
        )

    def add_to(self, sums: FloatArray, X: FloatArray) -> None:
        """Add the sums at rows to `sums` of shape (n_machines, n), with threads over rows."""

        def work(rows: slice) -> None:
            _add_tables(
                X[rows], self.columns, self.search, self.heights, self.slopes, sums[:, rows]
            )

        run(work, blocks(len(X), ROWS_PER_EVALUATION))


def _slopes(columns: JoinedLevels, heights: FloatArray, is_stepped: BoolArray) -> FloatArray:
    """Return the slopes between neighbouring ordered levels, 0 after the last one."""
    slopes = np.zeros_like(heights)
    with np.errstate(all="ignore"):
        slopes[:, :-1] = np.diff(heights) / np.diff(columns.values)
    slopes[~np.isfinite(slopes)] = 0.0  # neighbouring levels of equal value
    last = columns.offsets[:-1] + columns.n_ordered - 1
    is_ordered = np.zeros(len(columns.values), dtype=bool)
    for d in np.flatnonzero(~is_stepped):
        is_ordered[columns.offsets[d] : last[d]] = True
    return np.where(is_ordered, slopes, 0.0)


@jit
def _bucket(x: float, lowest: float, density: float, last: int) -> int:
    """Return the bucket of a number, which is monotone; NaN is in the first."""
    place = (float(x) - float(lowest)) * float(density)  # overflows to infinity without a warning
    return int(min(place, last)) if place > 0.0 else 0


@jit
def _count_below(numbers: FloatArray, lowest: float, density: float, below: IntArray) -> int:
    """Write the count of numbers below each bucket; return the largest bucket size."""
    for k in range(len(numbers)):
        below[_bucket(numbers[k], lowest, density, len(below) - 1)] += 1
    total, most = 0, 0
    for b in range(len(below)):
        members = below[b]
        below[b] = total
        total += members
        most = max(most, members)
    return most


@jit
def _search(search: BucketSearch, d: int, n: int, x: FloatArray, place: IntArray) -> None:
    """Write the count of a column's numbers below each x, by steps of all x together."""
    numbers = search.numbers[search.first[d] : search.first[d + 1]]
    below = search.below[search.first_bucket[d] : search.first_bucket[d + 1]]
    lowest, density, last = search.lowest[d], search.density[d], len(below) - 1
    for t in range(n):
        place[t] = below[_bucket(x[t], lowest, density, last)]
    half = (1 << search.n_steps[d]) >> 1
    while half > 0:
        for t in range(n):
            k = place[t]
            place[t] = k + (half if numbers[k + half - 1] < x[t] else 0)
        half >>= 1


@jit
def _encode(X: FloatArray, columns: JoinedLevels, search: BucketSearch, codes: IntArray) -> None:
    x, place = np.empty(ROWS_IN_CACHE), np.empty(ROWS_IN_CACHE, dtype=np.int32)
    for first in range(0, len(X), ROWS_IN_CACHE):
        n = min(ROWS_IN_CACHE, len(X) - first)
        for d in range(len(columns.n_ordered)):
            row = codes[d, first : first + n]
            column = X[first : first + n, d]
            if columns.is_category[d]:
                n_categories = columns.offsets[d + 1] - columns.offsets[d] - 1
                _place_categories(column, n_categories, x, place)
            else:
                x[:n] = column
                _search(search, d, n, x, place)
            for t in range(n):
                row[t] = columns.absent[d] if np.isnan(column[t]) else place[t]


@jit
def _tally(
    X: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    columns: JoinedLevels,
    total: FloatArray,
    mass: FloatArray,
    is_right: BoolArray,
) -> None:
    """Add the members of each level.

    A column is wrong if an exact level contains a second value, or a missing value or category
    has no level.
    """
    for first in range(0, len(X), ROWS_IN_CACHE):
        span = slice(first, min(first + ROWS_IN_CACHE, len(X)))
        for d in range(len(columns.n_ordered)):
            mine = slice(columns.offsets[d], columns.offsets[d + 1])
            if columns.is_category[d]:
                is_right[d] &= _tally_categories(
                    X[span, d], codes[d, span], weight[span], mass[mine]
                )
                continue
            values = columns.values[mine][: columns.n_ordered[d]]
            is_right[d] &= _tally_numbers(
                X[span, d], codes[d, span], weight[span], values, columns.is_exact[d],
                total[mine], mass[mine],
            )  # fmt: skip


@jit
def _tally_categories(x: FloatArray, codes: IntArray, weight: FloatArray, mass: FloatArray) -> bool:
    is_right = True
    for i in range(len(x)):
        if weight[i] > 0.0:
            mass[codes[i]] += weight[i]
            is_right &= codes[i] > 0 or not x[i] >= 0.0
    return is_right


@jit
def _tally_numbers(
    x: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    values: FloatArray,
    is_exact: bool,
    total: FloatArray,
    mass: FloatArray,
) -> bool:
    is_right = True
    for i in range(len(x)):
        if weight[i] > 0.0:
            code = codes[i]
            mass[code] += weight[i]
            if code < len(values):
                total[code] += weight[i] * (x[i] - values[code])
                is_right &= np.isfinite(x[i]) and (x[i] == values[code] or not is_exact)
    return is_right


@jit
def _add_tables(
    X: FloatArray,
    columns: JoinedLevels,
    search: BucketSearch,
    heights: FloatArray,
    slopes: FloatArray,
    sums: FloatArray,
) -> None:
    x, place = np.empty(ROWS_IN_CACHE), np.empty(ROWS_IN_CACHE, dtype=np.int32)
    for first in range(0, len(X), ROWS_IN_CACHE):
        n = min(ROWS_IN_CACHE, len(X) - first)
        for d in range(len(columns.n_ordered)):
            start, stop = columns.offsets[d], columns.offsets[d + 1]
            values, column = columns.values[start:stop], X[first : first + n, d]
            if columns.is_category[d]:
                _place_categories(column, stop - start - 1, x, place)
            else:
                has_missing = _keep_within(column, values[0], values[columns.n_ordered[d] - 1], x)
                _search(search, d, n, x, place)
                if has_missing:
                    _place_missing(column, values, columns.absent[d], x, place)
            for machine in range(len(heights)):
                height, slope = heights[machine, start:stop], slopes[machine, start:stop]
                mine = sums[machine, first : first + n]
                for t in range(n):
                    k = place[t]
                    mine[t] += height[k] + slope[k] * (x[t] - values[k])


@jit
def _place_categories(
    column: FloatArray, n_categories: int, x: FloatArray, place: IntArray
) -> None:
    """Write the level of each category, 0 for unknown ones, and zeros for x."""
    for t in range(len(column)):
        place[t] = int(column[t]) + 1 if 0.0 <= column[t] < n_categories else 0
        x[t] = 0.0


@jit
def _keep_within(column: FloatArray, lowest: float, highest: float, x: FloatArray) -> bool:
    """Write numbers clipped to the ends; return whether one is missing."""
    has_missing = False
    for t in range(len(column)):
        has_missing |= np.isnan(column[t])
        x[t] = min(max(column[t], lowest), highest)
    return has_missing


@jit
def _place_missing(
    column: FloatArray, values: FloatArray, absent: int, x: FloatArray, place: IntArray
) -> None:
    for t in range(len(column)):
        if np.isnan(column[t]):
            place[t], x[t] = absent, values[absent]

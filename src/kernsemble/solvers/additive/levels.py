"""The levels of columns: which one an entry has, and tables of them at any entry.

A column has ordered levels first, then loose ones. A table g of a column is piecewise
linear between the values of ordered levels and constant beyond them; at an unseen
category, or a missing value where the sample had none, it is what it is at the `middle` level.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from kernsemble._jit import jit
from kernsemble._threads import run
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble._value import Value

MOST_LEVELS = 65_535
ROWS_A_TASK = 32_768
ROWS_IN_CACHE = 1_024


@dataclass(frozen=True, eq=False)
class Levels(Value):
    """The levels of one column.

    Attributes
    ----------
    values : array of shape (n_ordered,)
        The values of the ordered levels, increasing; NaN for the one of categories.
    cuts : array of shape (n_ordered - 1,)
        A number belongs to the level that has as many cuts below the number as levels below it.
    n_loose : int
        The number of levels outside the order: categories, or 1 for missing values.
    weight : array of shape (n_ordered + n_loose,)
        The weight of the rows of each level.
    distinct : array of shape (n_ordered,)
        How many distinct values each ordered level holds (in the rows that tell quantiles).
    middle : int
        The median of the ordered levels.
    """

    values: FloatArray
    cuts: FloatArray
    n_loose: int
    weight: FloatArray
    distinct: IntArray
    middle: int

    @property
    def n_ordered(self) -> int:
        """The number of ordered levels."""
        return len(self.values)

    @property
    def n_levels(self) -> int:
        """The number of all levels."""
        return self.n_ordered + self.n_loose

    @property
    def holds_categories(self) -> bool:
        """Whether the column is one of categories."""
        return bool(np.isnan(self.values[0]))

    @property
    def is_exact(self) -> bool:
        """Whether every ordered level stands for one number."""
        return not self.holds_categories and int(self.distinct.max()) == 1

    @property
    def holds_missing(self) -> bool:
        """Whether a level is that of missing values."""
        return self.n_loose == 1 and not self.holds_categories


def encode(X: FloatArray, levels: Sequence[Levels]) -> IntArray:
    """Return the codes of other rows, of shape (D, n), with threads over blocks of rows."""
    codes = np.empty((len(levels), len(X)), dtype=code_type(levels))
    layout = Layout.of(levels)
    run(lambda rows: layout.encode(X[rows], codes[:, rows]), blocks(len(X)))
    return codes


def evaluate(X: FloatArray, levels: Sequence[Levels], tables: Sequence[FloatArray]) -> FloatArray:
    r"""Return :math:`\sum_d g_d(x_d)` of other rows, interpolated between levels.

    A binary search an entry, with threads over blocks of rows.
    """
    layout, g, values = Layout.of(levels), np.concatenate(tables), np.zeros(len(X))
    run(lambda rows: layout.add_tables(X[rows], g, values[rows]), blocks(len(X)))
    return values


def blocks(n: int) -> list[slice]:
    """Return the rows of each task, whatever the number of threads."""
    return [slice(first, min(first + ROWS_A_TASK, n)) for first in range(0, n, ROWS_A_TASK)]


def code_type(levels: Sequence[Levels]) -> type[np.uint8 | np.uint16]:
    """Return the smallest type that holds the codes of all columns."""
    most = max(each.n_levels for each in levels)
    if most > MOST_LEVELS + 1:
        raise ValueError(f"a column has {most - 1:,} categories: at most {MOST_LEVELS:,} have room")
    return np.uint8 if most <= 256 else np.uint16


@dataclass(frozen=True, eq=False)
class Layout:
    """The levels of all columns end to end, as compiled code reads them.

    What is searched is padded by infinity to :math:`2^k - 1` numbers a column, so that every
    search takes k steps and no branch.
    """

    offsets: IntArray  # where the levels of each column start
    n_ordered: IntArray
    absent: IntArray  # the level of missing values, or of unknown categories
    is_category: BoolArray
    is_exact: BoolArray
    values: FloatArray  # of every level, 0 for loose ones
    n_steps: IntArray  # k
    searched: IntArray  # where what is searched starts for each column
    cuts: FloatArray
    knots: FloatArray  # the values but for the first

    @classmethod
    def of(cls, levels: Sequence[Levels]) -> Self:
        offsets = np.concatenate([[0], np.cumsum([each.n_levels for each in levels])])
        n_steps = np.array([len(each.cuts).bit_length() for each in levels])
        searched = np.concatenate([[0], np.cumsum(2**n_steps - 1)])
        values, cuts = np.zeros(offsets[-1]), np.full(searched[-1], np.inf)
        knots = cuts.copy()
        for start, place, each in zip(offsets, searched, levels, strict=False):
            values[start : start + each.n_ordered] = each.values
            cuts[place : place + each.n_ordered - 1] = each.cuts
            knots[place : place + each.n_ordered - 1] = each.values[1:]
        return cls(
            offsets,
            np.array([each.n_ordered for each in levels]),
            np.array([each.n_ordered if each.holds_missing else each.middle for each in levels]),
            np.array([each.holds_categories for each in levels]),
            np.array([each.is_exact for each in levels]),
            values,
            n_steps,
            searched,
            cuts,
            knots,
        )

    def encode(self, X: FloatArray, codes: IntArray) -> None:
        _encode(
            X, self.offsets, self.absent, self.is_category, self.n_steps, self.searched,
            self.cuts, codes,
        )  # fmt: skip

    def add_tables(self, X: FloatArray, g: FloatArray, out: FloatArray) -> None:
        _add_tables(
            X, self.offsets, self.n_ordered, self.absent, self.is_category, self.n_steps,
            self.searched, self.knots, self.values, g, out,
        )  # fmt: skip

    def tally(
        self, X: FloatArray, codes: IntArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        total, mass = np.zeros_like(self.values), np.zeros_like(self.values)
        is_right = np.ones(len(self.n_ordered), dtype=bool)
        _tally(
            X, codes, weight, self.offsets, self.n_ordered, self.is_category, self.is_exact,
            self.values, total, mass, is_right,
        )  # fmt: skip
        return total, mass, is_right


@jit
def _tally(
    X: FloatArray,
    codes: IntArray,
    weight: FloatArray,
    offsets: IntArray,
    n_ordered: IntArray,
    is_category: BoolArray,
    is_exact: BoolArray,
    lowest: FloatArray,
    total: FloatArray,
    mass: FloatArray,
    is_right: BoolArray,
) -> None:
    """Add the members of each level, relative to its lowest value; tell whether all belong."""
    for i in range(len(X)):
        if weight[i] <= 0.0:
            continue
        for d in range(len(n_ordered)):
            code, x = codes[d, i], X[i, d]
            k = offsets[d] + code
            mass[k] += weight[i]
            if is_category[d]:
                is_right[d] &= code > 0 or not x >= 0.0
            elif code < n_ordered[d]:
                total[k] += weight[i] * (x - lowest[k])
                is_right[d] &= np.isfinite(x) and (x == lowest[k] or not is_exact[d])


@jit
def _encode(
    X: FloatArray,
    offsets: IntArray,
    absent: IntArray,
    is_category: BoolArray,
    n_steps: IntArray,
    searched: IntArray,
    cuts: FloatArray,
    codes: IntArray,
) -> None:
    """Write the number of cuts below each value."""
    x, place = np.empty(ROWS_IN_CACHE), np.empty(ROWS_IN_CACHE, dtype=np.int64)
    for first in range(0, len(X), ROWS_IN_CACHE):
        rows = range(first, min(first + ROWS_IN_CACHE, len(X)))
        for d in range(len(n_steps)):
            if is_category[d]:
                n_categories = offsets[d + 1] - offsets[d] - 1
                for i in rows:
                    known = 0.0 <= X[i, d] < n_categories
                    codes[d, i] = int(X[i, d]) + 1 if known else 0
                continue
            for i in rows:
                x[i - first], place[i - first] = X[i, d], 0
            _search(cuts[searched[d] : searched[d + 1]], n_steps[d], len(rows), x, place)
            for i in rows:
                missing = np.isnan(x[i - first])
                codes[d, i] = absent[d] if missing else place[i - first]


@jit
def _search(searched: FloatArray, n_steps: int, n: int, x: FloatArray, place: IntArray) -> None:
    """Add to each place how many numbers are below x: all searches take a step, then the next."""
    half = (1 << n_steps) >> 1
    while half > 0:
        for t in range(n):
            k = place[t]
            place[t] = k + (half if searched[k + half - 1] < x[t] else 0)
        half >>= 1


@jit
def _add_tables(
    X: FloatArray,
    offsets: IntArray,
    n_ordered: IntArray,
    absent: IntArray,
    is_category: BoolArray,
    n_steps: IntArray,
    searched: IntArray,
    knots: FloatArray,
    values: FloatArray,
    g: FloatArray,
    out: FloatArray,
) -> None:
    column, place = np.empty(ROWS_IN_CACHE), np.empty(ROWS_IN_CACHE, dtype=np.int64)
    for first in range(0, len(X), ROWS_IN_CACHE):
        rows = range(first, min(first + ROWS_IN_CACHE, len(X)))
        for d in range(len(n_steps)):
            start = offsets[d]
            if is_category[d]:
                n_categories = offsets[d + 1] - start - 1
                for i in rows:
                    x = X[i, d]
                    out[i] += g[start + int(x) + 1] if 0.0 <= x < n_categories else g[start]
                continue
            for i in rows:
                column[i - first], place[i - first] = X[i, d], 0
            _search(knots[searched[d] : searched[d + 1]], n_steps[d], len(rows), column, place)
            last = start + n_ordered[d] - 1
            for i in rows:
                x, k = column[i - first], start + place[i - first]  # k: the last level below x
                if np.isnan(x):
                    out[i] += g[start + absent[d]]
                elif k >= last or x <= values[start]:
                    out[i] += g[min(k, last)]
                else:
                    share = (x - values[k]) / (values[k + 1] - values[k])
                    out[i] += g[k] + share * (g[k + 1] - g[k])

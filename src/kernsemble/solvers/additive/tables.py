r"""Sums of tables: :math:`f(x_i) = b + \sum_d g_d[\mathrm{code}_{id}]`, and their norm.

Every level of a table but the root has one edge, towards the root; ordered levels form a chain
on either side of the root, loose levels are attached to the root itself. With the rise
:math:`\Delta g` over the edge to a level,

.. math:: \|w\|^2 = \tfrac12 \sum_{\text{ordered}} (\Delta g)^2 / m
                    + \sum_{\text{loose}} (\Delta g)^2 / v ,

m the measure of the thresholds between neighbouring levels, v the weight of the hypothesis
"x is at this level". This is the norm that belongs to the kernel :math:`-\sum_d |M_d(x_d) -
M_d(x'_d)|` of stumps, whose shape functions rise by :math:`2 m S`, with S the sum of the
coefficients beyond (as :math:`\|w\|^2 = 2\sum m S^2`), and to :math:`\sum_d v\,1[x_d = x'_d]`
of categories. A table is determined up to a constant, which is part of the bias: it is zero at
the root.

Solvers use :math:`z = \Delta g / s` with :math:`s = \sqrt{2m}` or :math:`\sqrt v`, so that
:math:`\|w\|^2 = \|z\|^2`: the explicit features of a row are the s of the edges between its
level and the root, :math:`g = \Phi z`, and the Hessian is at least the identity. The root has
s = 0, and its z stays 0.

The last tables may be those of pairs of columns, whose levels are two-way cells: `pair_tables`
states their features and norm.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar

import numpy as np

from kernsemble._jit import jit, jit_sums
from kernsemble._threads import blocks, run
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.pair_tables import PairTable

Task = TypeVar("Task")

TABLES_PER_TASK = 4
LEVELS_WORTH_COPIES = 512  # largest number of levels of a table that is added up in four copies
VALUES_WORTH_COPIES = 8  # smallest number of values per level that are added up in four copies


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of an additive problem, described by arrays.

    Attributes
    ----------
    codes : array of shape (D, n), uint8, uint16 or uint32
        Level of every row in each table.
    offsets : array of shape (D + 1,)
        Index of the first level of each table.
    n_ordered, root : arrays of shape (D - n_pairs,)
        Number of ordered levels, which come first, and the index of the root among them.
    scale : array of shape (n_levels of these tables,)
        Scale s of the edge to each level.
    pairs : tuple of PairTable
        The last tables, those of pairs of columns.
    has_threads : bool
        Whether threads may be used.
    rows_per_task : int
        Number of rows that a thread looks up at a time.
    entries_worth_threads : int
        Smallest number of codes for which threads are used; measured.
    """

    codes: IntArray
    offsets: IntArray
    n_ordered: IntArray
    root: IntArray
    scale: FloatArray
    pairs: tuple[PairTable, ...] = ()
    has_threads: bool = True
    rows_per_task: int = 8_192
    entries_worth_threads: int = 1_000_000

    @classmethod
    def from_measures(
        cls,
        codes: IntArray,
        measures: Sequence[FloatArray],
        weights: Sequence[FloatArray],
        roots: Sequence[int],
    ) -> Self:
        """Return the tables with the measures m, the weights v and the root of each.

        There is one more ordered level than `measures`, and a loose one for each weight.
        Categories have one ordered level, for unknown ones.
        """
        sizes = [len(m) + 1 + len(v) for m, v in zip(measures, weights, strict=True)]
        for d, (size, m, v) in enumerate(zip(sizes, measures, weights, strict=True)):
            if min(m.min(initial=0.0), v.min(initial=0.0)) < 0.0:
                raise ValueError(f"table {d} has a negative measure: pass 0 or more")
            if codes.shape[1] > 0 and codes[d].max() >= size:
                raise ValueError(
                    f"table {d} has {size} levels, but the code {codes[d].max()}: pass smaller ones"
                )
        scales = [
            np.concatenate([_edges(np.sqrt(2.0 * m), r), np.sqrt(v)])
            for m, v, r in zip(measures, weights, roots, strict=True)
        ]
        return cls(
            codes,
            np.concatenate([[0], np.cumsum(sizes)]),
            np.array([len(m) + 1 for m in measures]),
            np.array(roots, dtype=np.intp),
            np.concatenate(scales),
        )

    def with_pairs(self, cells: IntArray, pairs: Sequence[PairTable]) -> Self:
        """Return the tables followed by those of pairs, given the cell of every row in each."""
        ends = self.offsets[-1] + np.cumsum([pair.n_cells for pair in pairs], dtype=np.intp)
        return replace(
            self,
            codes=np.concatenate([self.codes, cells]),
            offsets=np.concatenate([self.offsets, ends]),
            pairs=(*self.pairs, *pairs),
        )

    def weighted(self, weights: FloatArray) -> Self:
        """Return the tables with a kernel of each multiplied by its weight."""
        n_trees, sizes = len(self.root), np.diff(self.offsets)
        return replace(
            self,
            scale=self.scale * np.sqrt(np.repeat(weights[:n_trees], sizes[:n_trees])),
            pairs=tuple(
                pair.weighted(weight)
                for pair, weight in zip(self.pairs, weights[n_trees:], strict=True)
            ),
        )

    def among(self, rows: IntArray) -> Self:
        """Return the tables on some rows."""
        return replace(self, codes=self.codes_of(rows))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.codes.shape[1]

    @property
    def n_tables(self) -> int:
        """The number D of tables."""
        return len(self.codes)

    @property
    def n_levels(self) -> int:
        """The number of levels of all tables."""
        return int(self.offsets[-1])

    @property
    def pair_spans(self) -> list[tuple[PairTable, slice]]:
        """The tables of pairs, and their levels among all."""
        ends = self.offsets[len(self.root) :]
        spans = [slice(start, stop) for start, stop in itertools.pairwise(ends)]
        return list(zip(self.pairs, spans, strict=True))

    def split(self, g: FloatArray) -> list[FloatArray]:
        """Return the values of each table."""
        return np.split(g, self.offsets[1:-1])

    def levels_of(self, z: FloatArray) -> FloatArray:
        r"""Return the tables :math:`g = \Phi z`, in O(levels)."""
        g = np.empty(self.n_levels)
        _to_levels(z, self.offsets, self.n_ordered, self.root, self.scale, g)
        for pair, span in self.pair_spans:
            g[span] = pair.levels_of(z[span])
        return g

    def edges_of(self, h: FloatArray) -> FloatArray:
        r"""Return :math:`\Phi^\top h` of the sums h of each level, in O(levels)."""
        z = np.empty(self.n_levels)
        _to_edges(h, self.offsets, self.n_ordered, self.root, self.scale, z)
        for pair, span in self.pair_spans:
            z[span] = pair.edges_of(h[span])
        return z

    def level_norms(self) -> FloatArray:
        """Return the squared norm of the features of each level."""
        norms = np.empty(self.n_levels)
        _to_levels(self.scale, self.offsets, self.n_ordered, self.root, self.scale, norms)
        for pair, span in self.pair_spans:
            norms[span] = pair.squared_norms()
        return norms

    def squared_norms(self) -> FloatArray:
        r"""Return :math:`\|\Phi_i\|^2 = K_{ii}` of every row."""
        return self.at_rows(self.level_norms())

    def at_rows(self, g: FloatArray, codes: IntArray | None = None) -> FloatArray:
        r"""Return :math:`\sum_d g_d[\mathrm{code}_{id}]`, in O(n D), threads over rows."""
        codes = self.codes if codes is None else codes
        n = codes.shape[1]
        out = np.zeros(n)

        def work(rows: slice) -> None:
            _look_up(codes, rows.start, rows.stop, self.offsets, g, out)

        self.share(work, blocks(n, self.rows_per_task), codes.size)
        return out

    def sums(self, values: FloatArray, codes: IntArray | None = None) -> FloatArray:
        """Return the sums of values of the rows at each level, in O(n D), threads over tables."""
        codes = self.codes if codes is None else codes
        out = np.zeros(self.n_levels)
        most = min(LEVELS_WORTH_COPIES, len(values) // VALUES_WORTH_COPIES)

        def work(first: int) -> None:
            some = slice(first, first + TABLES_PER_TASK)
            ends = self.offsets[first : first + TABLES_PER_TASK + 1]
            _add_up(codes[some], ends, values, most, out)

        self.share(work, range(0, self.n_tables, TABLES_PER_TASK), codes.size)
        return out

    def codes_of(self, rows: IntArray) -> IntArray:
        """Return the codes of some rows, of shape (D, k)."""
        codes = np.empty((self.n_tables, len(rows)), dtype=self.codes.dtype)

        def work(first: int) -> None:
            some = slice(first, first + TABLES_PER_TASK)
            _copy_codes(self.codes[some], rows, codes[some])

        self.share(work, range(0, self.n_tables, TABLES_PER_TASK), codes.size)
        return codes

    def share(self, work: Callable[[Task], None], tasks: Sequence[Task], n_entries: int) -> None:
        """Do `work` on all tasks, with threads if there are enough entries."""
        if self.has_threads and n_entries >= self.entries_worth_threads:
            run(work, tasks)
        else:
            for task in tasks:
                work(task)


def _edges(scale: FloatArray, root: int) -> FloatArray:
    """Return the scales between neighbours as those of edges towards the root."""
    return np.concatenate([scale[:root], [0.0], scale[root:]])


@jit
def _to_levels(
    z: FloatArray,
    offsets: IntArray,
    n_ordered: IntArray,
    root: IntArray,
    scale: FloatArray,
    g: FloatArray,
) -> None:
    for d in range(len(root)):
        start, middle, stop = offsets[d], offsets[d] + root[d], offsets[d] + n_ordered[d]
        g[middle] = value = 0.0
        for k in range(middle + 1, stop):
            value += scale[k] * z[k]
            g[k] = value
        value = 0.0
        for k in range(middle - 1, start - 1, -1):
            value += scale[k] * z[k]
            g[k] = value
        for k in range(stop, offsets[d + 1]):
            g[k] = scale[k] * z[k]


@jit
def _to_edges(
    h: FloatArray,
    offsets: IntArray,
    n_ordered: IntArray,
    root: IntArray,
    scale: FloatArray,
    z: FloatArray,
) -> None:
    for d in range(len(root)):
        start, middle, stop = offsets[d], offsets[d] + root[d], offsets[d] + n_ordered[d]
        z[middle] = scale[middle] * h[middle]
        beyond = 0.0
        for k in range(stop - 1, middle, -1):
            beyond += h[k]
            z[k] = scale[k] * beyond
        beyond = 0.0
        for k in range(start, middle):
            beyond += h[k]
            z[k] = scale[k] * beyond
        for k in range(stop, offsets[d + 1]):
            z[k] = scale[k] * h[k]


@jit
def add_beyond(block: FloatArray, n_ordered: int, root: int, scale: FloatArray) -> None:
    """Replace rows of a block, one per level, by s times the sum at and beyond the level."""
    n = block.shape[1]
    for k in range(n_ordered - 2, root, -1):
        for t in range(n):
            block[k, t] += block[k + 1, t]
    for k in range(1, root):
        for t in range(n):
            block[k, t] += block[k - 1, t]
    for k in range(len(scale)):
        for t in range(n):
            block[k, t] *= scale[k]


@jit
def _look_up(
    codes: IntArray, start: int, stop: int, offsets: IntArray, g: FloatArray, out: FloatArray
) -> None:
    n_fours = len(codes) // 4 * 4
    for first in range(start, stop, 1024):  # rows that fit into the cache
        last = min(first + 1024, stop)
        for d in range(0, n_fours, 4):
            a, b, c, e = codes[d], codes[d + 1], codes[d + 2], codes[d + 3]
            at_a, at_b = g[offsets[d] :], g[offsets[d + 1] :]
            at_c, at_e = g[offsets[d + 2] :], g[offsets[d + 3] :]
            for i in range(first, last):
                out[i] += (at_a[a[i]] + at_b[b[i]]) + (at_c[c[i]] + at_e[e[i]])
        for d in range(n_fours, len(codes)):
            table = g[offsets[d] : offsets[d + 1]]
            for i in range(first, last):
                out[i] += table[codes[d, i]]


@jit
def _add_up(
    codes: IntArray, offsets: IntArray, values: FloatArray, most: int, out: FloatArray
) -> None:
    """Add values up at their levels, pairs of tables with at most `most` levels in copies.

    If neighbouring rows are at the same level, an addition waits for the previous one to be
    stored; it does not if four rows in turn add to copies of their own.
    """
    one, two = np.empty((most, 4)), np.empty((most, 4))
    for d in range(0, len(codes), 2):
        e = min(d + 1, len(codes) - 1)
        first, second = out[offsets[d] : offsets[d + 1]], out[offsets[e] : offsets[e + 1]]
        if max(len(first), len(second)) <= most:
            _add_up_in_copies(codes[d], codes[e], values, one, two, first, second)
            continue
        for f in range(d, e + 1):
            table = out[offsets[f] : offsets[f + 1]]
            for i in range(len(values)):
                table[codes[f, i]] += values[i]


@jit
def _add_up_in_copies(
    a: IntArray,
    b: IntArray,
    values: FloatArray,
    one: FloatArray,
    two: FloatArray,
    first: FloatArray,
    second: FloatArray,
) -> None:
    one[: len(first)], two[: len(second)] = 0.0, 0.0
    n_fours = len(values) // 4 * 4
    for i in range(0, n_fours, 4):
        u, v, w, x = values[i], values[i + 1], values[i + 2], values[i + 3]
        one[a[i], 0] += u
        one[a[i + 1], 1] += v
        one[a[i + 2], 2] += w
        one[a[i + 3], 3] += x
        two[b[i], 0] += u
        two[b[i + 1], 1] += v
        two[b[i + 2], 2] += w
        two[b[i + 3], 3] += x
    for i in range(n_fours, len(values)):
        one[a[i], 0] += values[i]
        two[b[i], 0] += values[i]
    for k in range(len(first)):
        first[k] = (one[k, 0] + one[k, 1]) + (one[k, 2] + one[k, 3])
    for k in range(len(second)):
        second[k] = (two[k, 0] + two[k, 1]) + (two[k, 2] + two[k, 3])


@jit
def _copy_codes(codes: IntArray, rows: IntArray, out: IntArray) -> None:
    for d in range(len(codes)):
        for t in range(len(rows)):
            out[d, t] = codes[d, rows[t]]


@jit_sums
def inner(a: FloatArray, b: FloatArray) -> float:
    """Return the inner product without starting BLAS threads."""
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total

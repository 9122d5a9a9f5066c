r"""The Newton system by conjugate gradients.

With the bias eliminated the system is

.. math:: \bigl(I + \Phi^\top (W - W 1 1^\top W / 1^\top W 1)\, \Phi\bigr)\, z = r .

A product is a look-up and a histogram of every table, O(N D). The preconditioner is the same
matrix without the blocks between different tables, where each table has its own bias: a
system on a tree, factored once and solved in O(levels). It is exact for one table, and nearly so
for independent features; the more they depend on each other, the more products it takes. The
block of a pair of columns is that of independent columns, which is diagonal.
"""

import numpy as np

from kernsemble._jit import jit, jit_sums
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.rows import Curved
from kernsemble.solvers.additive.tables import Tables, inner

TABLES_PER_TASK = 64
TIME_PER_LEVEL = 10  # time of the preconditioner per level, in codes of a product


def solve_by_products(
    tables: Tables,
    curved: Curved,
    right: FloatArray,
    right_bias: float,
    shrinkage: float,
    max_products: int,
) -> tuple[FloatArray, float, int, bool]:
    """Return the solution, its bias, the number of products, and whether they were enough.

    `right` and `right_bias` are those of `solve_by_factor`; `shrinkage` is the residual to stop
    at, relative to that of zero, in the norm of the preconditioner.
    """
    mass, total = curved.masses()
    total = total or 1.0
    mean = tables.edges_of(mass) / total
    r = right - mean * right_bias
    z, product = np.zeros_like(r), 0
    preconditioner = _Preconditioner(tables, mass)
    s = preconditioner.solve(r)
    direction, size = s, inner(r, s)
    enough = shrinkage**2 * size
    while size > enough and product < max_products:
        sums, change = curved.product(tables.levels_of(direction))
        image = tables.edges_of(sums)
        product += 1
        step = size / _complete(image, direction, mean, change)
        _move(z, step, direction)
        _move(r, -step, image)
        s = preconditioner.solve(r)
        before, size = size, inner(r, s)
        _turn(direction, size / before, s)
    return z, right_bias / total - inner(mean, z), product, size <= enough


@jit_sums
def _complete(image: FloatArray, direction: FloatArray, mean: FloatArray, total: float) -> float:
    """Complete the image of a direction, and return their inner product."""
    product = 0.0
    for k in range(len(image)):
        image[k] += direction[k] - total * mean[k]
        product += direction[k] * image[k]
    return product


@jit
def _move(place: FloatArray, step: float, direction: FloatArray) -> None:
    for k in range(len(place)):
        place[k] += step * direction[k]


@jit
def _turn(direction: FloatArray, factor: float, s: FloatArray) -> None:
    for k in range(len(s)):
        direction[k] = s[k] + factor * direction[k]


class _Preconditioner:
    r"""Minimise :math:`\tfrac12|z|^2 + \tfrac12\sum_k D_k (g_k + c)^2 - r^\top z` of each table.

    The levels beyond an edge contribute :math:`\tfrac12 A u^2 - G u` with the value u of the level
    at its end; leaves are eliminated until only the root is left, whose value is c, and from
    there all others follow. A does not depend on r.

    Attributes
    ----------
    bend : array of shape (n_levels,)
        A s over 1 + A s², and A itself at the roots.
    shrink : array of shape (n_levels,)
        1 over 1 + A s²; of a pair 1 over 1 + W λλ.
    """

    def __init__(self, tables: Tables, mass: FloatArray) -> None:
        self.tables = tables
        self.bend, self.shrink = mass.copy(), np.empty_like(mass)
        for pair, span in tables.pair_spans:
            self.shrink[span] = 1.0 / (1.0 + mass[span].sum() * pair.variances())
        _factor_each(
            tables.offsets, tables.n_ordered, tables.root, tables.scale, self.bend, self.shrink
        )

    def solve(self, r: FloatArray) -> FloatArray:
        """Return the minimum for a right-hand side."""
        tables, z = self.tables, np.zeros_like(r)

        def work(first: int) -> None:
            some = slice(first, first + TABLES_PER_TASK)
            ends = tables.offsets[first : first + TABLES_PER_TASK + 1]
            _solve_each(
                ends, tables.n_ordered[some], tables.root[some], tables.scale, self.bend,
                self.shrink, r, z,
            )  # fmt: skip

        tasks = range(0, len(tables.root), TABLES_PER_TASK)
        tables.share(work, tasks, TIME_PER_LEVEL * len(tables.scale))
        pairs = slice(len(tables.scale), None)
        z[pairs] = self.shrink[pairs] * r[pairs]
        return z


@jit
def _factor_each(
    offsets: IntArray,
    n_ordered: IntArray,
    root: IntArray,
    scale: FloatArray,
    bend: FloatArray,
    shrink: FloatArray,
) -> None:
    """Replace the masses of levels in `bend`, and fill `shrink`."""
    for d in range(len(root)):
        start, middle, stop = offsets[d], offsets[d] + root[d], offsets[d] + n_ordered[d]
        total = bend[middle] + _factor_chain(stop - 1, middle, -1, scale, bend, shrink)
        total += _factor_chain(start, middle, 1, scale, bend, shrink)
        for k in range(stop, offsets[d + 1]):
            total += _factor_chain(k, k + 1, 1, scale, bend, shrink)
        bend[middle], shrink[middle] = total, 1.0


@jit
def _factor_chain(
    first: int, end: int, step: int, scale: FloatArray, bend: FloatArray, shrink: FloatArray
) -> float:
    """Eliminate levels from `first` up to `end`, and return what they add to A there."""
    beyond = 0.0
    for k in range(first, end, step):
        a = bend[k] + beyond
        shrink[k] = 1.0 / (1.0 + scale[k] ** 2 * a)
        bend[k] = a * scale[k] * shrink[k]
        beyond = a * shrink[k]
    return beyond


@jit_sums
def _solve_each(
    offsets: IntArray,
    n_ordered: IntArray,
    root: IntArray,
    scale: FloatArray,
    bend: FloatArray,
    shrink: FloatArray,
    r: FloatArray,
    z: FloatArray,
) -> None:
    """Solve for each table; on the way to the root, z contains r + s G, shrunk."""
    for d in range(len(root)):
        start, middle, stop = offsets[d], offsets[d] + root[d], offsets[d] + n_ordered[d]
        pull = _fold(stop - 1, middle, -1, scale, bend, shrink, r, z)
        pull += _fold(start, middle, 1, scale, bend, shrink, r, z)
        for k in range(stop, offsets[d + 1]):
            pull += _fold(k, k + 1, 1, scale, bend, shrink, r, z)
        center = pull / bend[middle] if bend[middle] > 0.0 else 0.0
        _unfold(middle + 1, stop, 1, center, scale, bend, shrink, z)
        _unfold(middle - 1, start - 1, -1, center, scale, bend, shrink, z)
        for k in range(stop, offsets[d + 1]):
            z[k] -= bend[k] * center


@jit_sums
def _fold(
    first: int,
    end: int,
    step: int,
    scale: FloatArray,
    bend: FloatArray,
    shrink: FloatArray,
    r: FloatArray,
    z: FloatArray,
) -> float:
    """Eliminate levels from `first` up to `end`, and return what they add to G there."""
    pull = 0.0
    for k in range(first, end, step):
        z[k] = shrink[k] * (r[k] + scale[k] * pull)
        pull = shrink[k] * pull - bend[k] * r[k]
    return pull


@jit_sums
def _unfold(
    first: int,
    end: int,
    step: int,
    value: float,
    scale: FloatArray,
    bend: FloatArray,
    shrink: FloatArray,
    z: FloatArray,
) -> None:
    """Compute z from the value at the level before `first`."""
    for k in range(first, end, step):
        before, value = value, shrink[k] * value + scale[k] * z[k]
        z[k] -= bend[k] * before

r"""The Newton system by conjugate gradients.

With the bias eliminated the system is

.. math:: \bigl(I + \Phi^\top (W - W 1 1^\top W / 1^\top W 1)\, \Phi\bigr)\, z = r .

A product is a look-up and a histogram of every table, O(N D). The preconditioner is the same
matrix without the blocks between different tables, where each table has its own bias: a
system on a tree, solved in O(levels). It is exact for one table, and nearly so for independent
features; the more they depend on each other, the more products it takes.
"""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.tables import Tables, inner

TABLES_PER_TASK = 64
TIME_PER_LEVEL = 40  # time of the preconditioner per level, in codes of a product


def solve_by_products(
    tables: Tables,
    codes: IntArray,
    weight: FloatArray,
    right: FloatArray,
    right_bias: float,
    shrinkage: float,
    max_products: int,
) -> tuple[FloatArray, float, int, bool]:
    """Return the solution, its bias, the number of products, and whether they were enough.

    The arguments are those of `solve_by_factor`; `shrinkage` is the residual to stop at, relative
    to that of zero, in the norm of the preconditioner.
    """
    total = weight.sum() or 1.0
    mass = tables.sums(weight, codes)
    mean = tables.edges_of(mass) / total
    r = right - mean * right_bias
    z, product = np.zeros_like(r), 0
    s = _preconditioned(tables, mass, r)
    direction, size = s, inner(r, s)
    enough = shrinkage**2 * size
    while size > enough and product < max_products:
        change = weight * tables.at_rows(tables.levels_of(direction), codes)
        image = direction + tables.edges_of(tables.sums(change, codes)) - mean * change.sum()
        product += 1
        step = size / inner(direction, image)
        z = z + step * direction
        r = r - step * image
        s = _preconditioned(tables, mass, r)
        before, size = size, inner(r, s)
        direction = s + size / before * direction
    return z, right_bias / total - inner(mean, z), product, size <= enough


def _preconditioned(tables: Tables, mass: FloatArray, r: FloatArray) -> FloatArray:
    z, bend, pull = np.zeros_like(r), np.empty_like(r), np.empty_like(r)

    def work(first: int) -> None:
        some = slice(first, first + TABLES_PER_TASK)
        ends = tables.offsets[first : first + TABLES_PER_TASK + 1]
        _solve_each(
            ends, tables.n_ordered[some], tables.root[some], tables.scale, mass, r, bend, pull, z
        )

    tasks = range(0, tables.n_tables, TABLES_PER_TASK)
    tables.share(work, tasks, TIME_PER_LEVEL * tables.n_levels)
    return z


@jit
def _solve_each(
    offsets: IntArray,
    n_ordered: IntArray,
    root: IntArray,
    scale: FloatArray,
    mass: FloatArray,
    r: FloatArray,
    bend: FloatArray,
    pull: FloatArray,
    z: FloatArray,
) -> None:
    r"""Minimise :math:`\tfrac12|z|^2 + \tfrac12\sum_k D_k (g_k + c)^2 - r^\top z` of each table.

    The levels beyond an edge contribute :math:`\tfrac12 A u^2 - G u` with the value u of the level
    at its end; leaves are eliminated until only the root is left, whose value is c, and from
    there all others follow. `bend` and `pull` contain A and G.
    """
    for d in range(len(root)):
        start, middle, stop = offsets[d], offsets[d] + root[d], offsets[d] + n_ordered[d]
        for k in range(start, offsets[d + 1]):
            bend[k], pull[k] = mass[k], 0.0
        for k in range(stop - 1, middle, -1):
            _fold(k, k - 1, scale, r, bend, pull)
        for k in range(start, middle):
            _fold(k, k + 1, scale, r, bend, pull)
        for k in range(stop, offsets[d + 1]):
            _fold(k, middle, scale, r, bend, pull)
        center = pull[middle] / bend[middle] if bend[middle] > 0.0 else 0.0
        value = center
        for k in range(middle + 1, stop):
            value = _unfold(k, value, scale, r, bend, pull, z)
        value = center
        for k in range(middle - 1, start - 1, -1):
            value = _unfold(k, value, scale, r, bend, pull, z)
        for k in range(stop, offsets[d + 1]):
            _unfold(k, center, scale, r, bend, pull, z)


@jit
def _fold(
    k: int, inner: int, scale: FloatArray, r: FloatArray, bend: FloatArray, pull: FloatArray
) -> None:
    stretch = 1.0 + scale[k] ** 2 * bend[k]
    bend[inner] += bend[k] / stretch
    pull[inner] += (pull[k] - bend[k] * scale[k] * r[k]) / stretch


@jit
def _unfold(
    k: int,
    value: float,
    scale: FloatArray,
    r: FloatArray,
    bend: FloatArray,
    pull: FloatArray,
    z: FloatArray,
) -> float:
    z[k] = (r[k] + scale[k] * (pull[k] - bend[k] * value)) / (1.0 + scale[k] ** 2 * bend[k])
    return value + scale[k] * z[k]

r"""The Newton system by levels: a Cholesky factor of the Hessian of all levels.

.. math:: \begin{pmatrix} I + \Phi^\top W \Phi & \Phi^\top W 1 \\
          1^\top W \Phi & 1^\top W 1 \end{pmatrix}

The block of two tables in :math:`\Phi^\top W \Phi` is the two-dimensional histogram of their codes
weighted by the curvatures W, summed over the levels beyond each edge. It takes N D²/2 additions
and :math:`M^3/3` multiplications for M levels. The blocks of one table with several others are
filled together, a row at a time, as long as they fit into the cache: an addition then does not
wait for the previous one at the same place.
"""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.tables import Tables, add_beyond
from kernsemble.solvers.cholesky import factor_in_place, solve_with_factor

ENTRIES_IN_CACHE = 65_536  # largest number of entries of the blocks that are filled together
SMALLEST_PIVOT = 1e-14  # relative increase of the diagonal if rounding makes it indefinite
LARGEST_SLACK = 1e3  # relative increase of the diagonal that makes finite matrices definite


def solve_by_factor(
    matrix: FloatArray, right: FloatArray, right_bias: float
) -> tuple[FloatArray, float]:
    """Return the solution of the Newton system for a Hessian, which is overwritten.

    Parameters
    ----------
    matrix : array of shape (n_levels + 1, n_levels + 1)
        The Hessian of the loss, as `hessian` returns it.
    right : array of shape (n_levels,)
        Right-hand side.
    right_bias : float
        Right-hand side of the row of the bias.
    """
    M, diagonal = len(right), matrix.diagonal().copy()
    diagonal[:M] += 1.0
    diagonal[M] = diagonal[M] or 1.0
    solution = solve_definite(matrix, diagonal, np.append(right, right_bias))
    return solution[:M], float(solution[M])


def hessian(
    tables: Tables,
    codes: IntArray,
    weight: FloatArray,
    entries_in_cache: int = ENTRIES_IN_CACHE,
) -> FloatArray:
    r"""Return :math:`(\Phi, 1)^\top W (\Phi, 1)`, the lower half of its blocks, the bias last.

    Parameters
    ----------
    tables : Tables
        Tables of the problem.
    codes : array of shape (D, k)
        Codes of the rows with a curvature.
    weight : array of shape (k,)
        Their curvatures.
    entries_in_cache : int
        Largest number of entries of the blocks that are filled together.
    """
    M, offsets = tables.n_levels, tables.offsets
    matrix = np.zeros((M + 1, M + 1))
    levels = _levels_by_row(codes, offsets)

    def work(group: tuple[int, int, int]) -> None:
        d, first, stop = group
        rows, columns = slice(*offsets[[d, d + 1]]), slice(*offsets[[first, stop]])
        block = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
        _joint_histogram(codes[d], levels, first, stop, columns.start, weight, block)
        add_beyond(block, tables.n_ordered[d], tables.root[d], tables.scale[rows])
        _add_beyond_columns(
            block, offsets[first : stop + 1], tables.n_ordered[first:], tables.root[first:],
            tables.scale[columns],
        )  # fmt: skip
        matrix[rows, columns] = block

    groups = _groups_of_blocks(offsets, entries_in_cache)
    tables.share(work, groups, codes.size * (tables.n_tables + 1) // 2 + M * M)
    matrix[M, :M] = tables.edges_of(tables.sums(weight, codes))
    matrix[M, M] = weight.sum()
    return matrix


def solve_definite(matrix: FloatArray, diagonal: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a definite system given by its lower half and diagonal, despite rounding."""
    slack = 0.0
    while slack < LARGEST_SLACK:
        np.fill_diagonal(matrix, diagonal * (1.0 + slack))
        factor = matrix.copy().T
        if not factor_in_place(factor):
            return solve_with_factor(factor, right.reshape(len(right), -1)).reshape(right.shape)
        slack = max(10.0 * slack, SMALLEST_PIVOT)
    raise ValueError(
        "the curvature exceeds the range of floats: scale the features or the targets, or use a "
        "smaller C"
    )


def _groups_of_blocks(offsets: IntArray, most: int) -> list[tuple[int, int, int]]:
    """Return for each table d ranges of the tables up to d with at most `most` entries, or one."""
    groups = []
    for d, height in enumerate(np.diff(offsets)):
        first = 0
        while first <= d:
            end = offsets[first] + most // height
            stop = int(np.searchsorted(offsets, end, side="right")) - 1
            stop = min(max(stop, first + 1), d + 1)
            groups.append((d, first, stop))
            first = stop
    return groups


def _levels_by_row(codes: IntArray, offsets: IntArray) -> IntArray:
    """Return the level of every row (rows) in each table (columns), numbered through."""
    levels = np.empty(codes.shape[::-1], dtype=np.uint32)
    np.add(codes.T, offsets[:-1], out=levels, casting="unsafe")
    return levels


@jit
def _joint_histogram(
    codes: IntArray,
    levels: IntArray,
    first: int,
    stop: int,
    start: int,
    weight: FloatArray,
    block: FloatArray,
) -> None:
    """Add up weights at the code of a row in one table and its levels in others, from `start`."""
    shift = np.uint32(start)
    for i in range(len(weight)):
        sums, places = block[codes[i]], levels[i, first:stop]
        for e in range(len(places)):
            sums[places[e] - shift] += weight[i]


@jit
def _add_beyond_columns(
    block: FloatArray, offsets: IntArray, n_ordered: IntArray, root: IntArray, scale: FloatArray
) -> None:
    """Replace columns of a block, levels of several tables, as `add_beyond` replaces rows."""
    start = offsets[0]
    for row in block:
        for e in range(len(offsets) - 1):
            first, middle = offsets[e] - start, offsets[e] - start + root[e]
            for k in range(first + n_ordered[e] - 2, middle, -1):
                row[k] += row[k + 1]
            for k in range(first + 1, middle):
                row[k] += row[k - 1]
        for k in range(len(row)):
            row[k] *= scale[k]

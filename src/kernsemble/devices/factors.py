r"""Inverses from Cholesky factors, block by block, for devices whose library has none.

With :math:`A = U^\top U` and :math:`T = U^{-1}`, block rows i and j of the inverse have

.. math:: T_{ij} = -\Bigl(\textstyle\sum_{l=i}^{j-1} T_{il} U_{lj}\Bigr) T_{jj}, \qquad
          (A^{-1})_{ij} = \textstyle\sum_{l \ge j} T_{il} T_{jl}^\top, \qquad i \le j .

Both are written over U: every product needs only blocks that are not yet replaced.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from kernsemble._threads import blocks

Matrix: TypeAlias = Any

HEIGHT = 2_048  # number of rows of a block


def invert_factor(
    U: Matrix, inverse_of_triangle: Callable[[Matrix], Matrix], height: int = HEIGHT
) -> Matrix:
    """Replace the upper triangle U by that of the inverse of its matrix, and return it.

    Parameters
    ----------
    U : array of shape (n, n)
        Factor in the upper triangle; the lower one is not read, except in blocks on the diagonal.
    inverse_of_triangle : callable
        Function that returns the inverse of a small upper triangular matrix, zeros below it.
    height : int
        Number of rows of a block.
    """
    spans = blocks(len(U), height)
    for place, columns in enumerate(spans):
        last = inverse_of_triangle(U[columns, columns])
        for rows in spans[:place]:
            sums = U[rows, rows.start : columns.start] @ U[rows.start : columns.start, columns]
            U[rows, columns] = -sums @ last
        U[columns, columns] = last
    for place, rows in enumerate(spans):
        for columns in spans[place:]:
            after = slice(columns.start, None)
            U[rows, columns] = U[rows, after] @ U[columns, after].T
    return U

"""Kernel matrices, computed tile by tile.

A tile is small enough to stay in the cache while a whole kernel expression is evaluated
on it, so sums and products of kernels need no second matrix; tiles are independent, so
threads share them; and only one half of a symmetric matrix is computed.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from kernsemble._memory import physical_memory
from kernsemble._threads import run
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble._validation import check_place
from kernsemble.exceptions import GramTooLargeError

TILE_ROWS = 384

Embedded: TypeAlias = Any  # rows prepared by a kernel: a matrix, or a tuple of matrices
TileFunction: TypeAlias = Callable[[Embedded, Embedded], FloatArray]


def n_rows(rows: Embedded) -> int:
    """Return the number of rows of a matrix or of a tuple of matrices."""
    return n_rows(rows[0]) if isinstance(rows, tuple) else rows.shape[0]


def take_rows(rows: Embedded, span: slice | IntArray) -> Embedded:
    """Return some rows of a matrix or of a tuple of matrices."""
    return tuple(take_rows(part, span) for part in rows) if isinstance(rows, tuple) else rows[span]


def fill_gram(
    tile: TileFunction, A: Embedded, B: Embedded | None = None, out: FloatArray | None = None
) -> FloatArray:
    """Return the matrix of `tile` between all rows of `A` and all rows of `B`.

    Parameters
    ----------
    tile : callable
        Function ``tile(a, b)`` that returns the matrix between a few rows as a new array.
    A, B : matrix or tuple of matrices
        Rows. Without `B`, the rows of `A` are compared with each other, each pair once.
    out : array, optional
        Array for the result; any writable array of that shape, such as a slice of a larger
        one or a memory map.

    Notes
    -----
    Each thread needs additional memory for a few tiles of 384 × 384 numbers.
    """
    mirrored = B is None
    B = A if B is None else B
    place = _place(out, A, B)

    def work(spans: tuple[slice, slice]) -> None:
        rows, columns = spans
        values = finite_values(tile, take_rows(A, rows), take_rows(B, columns), dtype=place.dtype)
        if mirrored and rows == columns:
            values = np.minimum(values, values.T)  # exactly symmetric
        elif mirrored:
            place[columns, rows] = values.T
        place[rows, columns] = values

    run(work, list(_tiles(n_rows(A), n_rows(B), mirrored)))
    return place


def _tiles(n: int, m: int, mirrored: bool) -> Iterator[tuple[slice, slice]]:
    for i in range(0, n, TILE_ROWS):
        for j in range(i if mirrored else 0, m, TILE_ROWS):
            yield slice(i, min(i + TILE_ROWS, n)), slice(j, min(j + TILE_ROWS, m))


def finite_values(
    function: Callable[..., FloatArray],
    *rows: Embedded,
    dtype: np.dtype[Any] | None = None,
    name: str = "the kernel matrix",
) -> FloatArray:
    """Return the values of a function of rows, or raise an error if one is infinite."""
    with np.errstate(all="ignore"):  # checked below
        values = function(*rows)
        if dtype is not None:
            values = values.astype(dtype, copy=False)
        if not np.isfinite(values.sum()) and not np.isfinite(values).all():
            raise ValueError(
                f"{name} has values outside the range of {values.dtype}: scale the columns, or "
                "pass float64"
            )
    return values


def _place(out: Any, A: Embedded, B: Embedded) -> FloatArray:
    shape, leaves = (n_rows(A), n_rows(B)), list(_leaves((A, B)))
    if out is None:
        return _allocate(shape, np.result_type(*(leaf.dtype for leaf in leaves)))
    check_place(out, shape)
    if any(isinstance(leaf, np.ndarray) and np.may_share_memory(out, leaf) for leaf in leaves):
        raise ValueError("out shares memory with the rows: pass an array with memory of its own")
    return out


def _leaves(rows: Embedded) -> Iterator[Rows]:
    if isinstance(rows, tuple):
        for part in rows:
            yield from _leaves(part)
    else:
        yield rows


def _allocate(shape: tuple[int, int], dtype: np.dtype[Any]) -> FloatArray:
    needed, present = shape[0] * shape[1] * dtype.itemsize, physical_memory()
    if needed > present:
        raise GramTooLargeError(
            f"a {shape[0]} x {shape[1]} kernel matrix takes {needed / 2**30:.1f} GiB, and this "
            f"machine has {present / 2**30:.1f} GiB: use fewer rows, float32 input, or chunks, "
            "kernel(X[start:stop], Y)"
        )
    return np.empty(shape, dtype)

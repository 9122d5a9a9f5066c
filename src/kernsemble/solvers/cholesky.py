r"""Cholesky factors by LAPACK, called without Python's lock, so that threads can share the work.

.. math:: A = U^\top U, \qquad U_{kk}^\top U_{kk} = A_{kk}, \qquad
          U_{kj} = U_{kk}^{-\top} A_{kj}, \qquad A_{ij} \leftarrow A_{ij} - U_{ki}^\top U_{kj}

SciPy's wrappers hold the lock, and threads of BLAS wait for each other actively: beside another
busy process they take up to twenty times as long as one thread. Here BLAS and LAPACK are called by
their addresses, with one thread: small matrices are factored side by side, and our threads share
the tiles of a large one. The tiles are the same for any number of threads, and so are all bits of
the results; an interrupt waits for one tile.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from itertools import combinations_with_replacement
from typing import Any, Literal, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from kernsemble._threads import BLAS_THREADS, blocks, run
from kernsemble._typing import FloatArray, IntArray

TILE = 512  # number of rows and columns of a tile
PIVOTS_AT_ONCE = 64  # pivots between two updates of the rows that are left
ROWS_WORTH_TILES = 1_500  # number of rows from which a matrix is divided into tiles


class LinearAlgebra(Protocol):
    """Factors of symmetric matrices, of an array module in whose memory they are.

    Attributes
    ----------
    xp : module
        NumPy, or CuPy with the same interface.
    """

    xp: Any

    def to_device(self, array: Any, dtype: Any = None) -> Any:
        """Return an array of NumPy as one of the module."""

    def to_host(self, array: Any) -> Any:
        """Return an array of the module as one of NumPy."""

    def factor_in_place(self, A: Any) -> int:
        """Replace the upper triangle of a matrix by its factor; return the minor that failed."""

    def solve_with_factor(self, factor: Any, B: Any) -> Any:
        """Return the solution of the factored equations for every column of `B`."""

    def invert_in_place(self, factor: Any) -> Any:
        """Replace a factor by the upper triangle of the inverse of its matrix."""


class HostAlgebra:
    """Factors by LAPACK, of NumPy's arrays."""

    xp: Any = np

    @staticmethod
    def to_device(array: FloatArray, dtype: Any = None) -> FloatArray:
        """Return the array itself, in a precision if one is given."""
        return np.asarray(array, dtype=dtype)

    @staticmethod
    def to_host(array: FloatArray) -> FloatArray:
        """Return the array itself."""
        return array

    @staticmethod
    def factor_in_place(A: FloatArray) -> int:
        """Replace the upper triangle of a matrix by its factor; return the minor that failed."""
        return factor_in_place(A)

    @staticmethod
    def solve_with_factor(factor: FloatArray, B: FloatArray) -> FloatArray:
        """Return the solution of the factored equations for every column of `B`, as float64."""
        return solve_with_factor(factor, B)

    @staticmethod
    def invert_in_place(factor: FloatArray) -> FloatArray:
        """Replace a factor by the upper triangle of the inverse of its matrix."""
        return invert_in_place(factor)


HOST = HostAlgebra()


def factor_in_place(A: FloatArray) -> int:
    """Replace the upper triangle of a symmetric matrix by its factor U; the lower is not valid.

    Return 0, or the order of the first leading minor that is not positive.
    """
    with BLAS_THREADS.at_most(1):
        if len(A) < ROWS_WORTH_TILES:
            return _factor(A)
        for rows in blocks(len(A), TILE):
            if failed := _factor_rows(A, rows):
                return rows.start + failed
    return 0


def factor_with_pivots_in_place(A: FloatArray, tol: float) -> tuple[IntArray, int]:
    r"""Replace the upper triangle by the factor U of :math:`P^\top A P = U^\top U`; return P, rank.

    Each pivot has the largest remaining diagonal; they end where it is at most `tol`, and the rows
    of U from the rank on are not valid. P is the order of the rows.
    """
    order = np.arange(len(A))
    with BLAS_THREADS.at_most(1):
        for rows in blocks(len(A), PIVOTS_AT_ONCE):
            left = A.diagonal().copy()
            for place in range(rows.start, rows.stop):
                pivot = place + int(np.argmax(left[place:]))
                if left[pivot] <= tol:
                    return order, place
                _exchange(A, place, pivot)
                order[[place, pivot]], left[[place, pivot]] = (
                    order[[pivot, place]],
                    left[[pivot, place]],
                )
                before, beyond = slice(rows.start, place), slice(place + 1, None)
                A[place, place] = np.sqrt(left[place])
                A[place, beyond] -= A[before, place] @ A[before, beyond]
                A[place, beyond] /= A[place, place]
                left[beyond] -= np.square(A[place, beyond])
            _subtract_products(A, rows)
    return order, len(A)


def _exchange(A: FloatArray, i: int, j: int) -> None:
    """Exchange two rows and columns i <= j of a symmetric matrix, of its upper triangle."""
    A[:i, [i, j]] = A[:i, [j, i]]
    A[i, i], A[j, j] = A[j, j], A[i, i]
    between = A[i, i + 1 : j].copy()
    A[i, i + 1 : j], A[i + 1 : j, j] = A[i + 1 : j, j], between
    A[[i, j], j + 1 :] = A[[j, i], j + 1 :]


def solve_with_factor(U: FloatArray, y: FloatArray) -> FloatArray:
    """Return the solution of the factored equations for every column of `y`, as float64."""
    right = np.array(y, dtype=U.dtype, order="F")
    with BLAS_THREADS.at_most(1):
        if len(U) < ROWS_WORTH_TILES:
            _call("potrs", U, len(U), right.shape[1], U, _leading(U), right, max(len(U), 1))
            return right.astype(np.float64)
        spans = blocks(len(U), TILE)
        for rows in spans:
            right[rows] -= U[: rows.start, rows].T @ right[: rows.start]
            right[rows] = solve_triangular(U[rows, rows], right[rows], trans="T")
        for rows in reversed(spans):
            right[rows] -= U[rows, rows.stop :] @ right[rows.stop :]
            right[rows] = solve_triangular(U[rows, rows], right[rows])
    return right.astype(np.float64)


def invert_in_place(U: FloatArray) -> FloatArray:
    """Replace a factor by the upper triangle of the inverse of its matrix, and return it."""
    with BLAS_THREADS.at_most(1):
        if len(U) < ROWS_WORTH_TILES:
            _call("potri", U, len(U), U, _leading(U))
            return U
        spans = blocks(len(U), TILE)
        for rows in spans:
            _invert_columns(U, rows)
        for rows in spans:
            _multiply_columns(U, rows)
    return U


def _factor_rows(A: FloatArray, rows: slice) -> int:
    """Compute some rows of U, and subtract their products from the rows below."""
    corner = A[rows, rows]
    if failed := _factor(corner):
        return failed

    def divide(columns: slice) -> None:
        _by_triangle("trsm", corner, A[rows, columns], "left", is_transposed=True)

    run(divide, _tiles_after(A, rows.stop), fewest=2)
    _subtract_products(A, rows)
    return 0


def _subtract_products(A: FloatArray, rows: slice) -> None:
    """Subtract the products of some rows of U from the upper triangle of the rows below."""

    def subtract(tile: tuple[slice, slice]) -> None:
        above, beside = (A[rows, columns] for columns in tile)
        if tile[0] == tile[1]:
            _add_square(A[tile], above.T, -1.0)
        else:
            _add_product(A[tile], above.T, beside, -1.0)

    beyond = _tiles_after(A, rows.stop)
    run(subtract, list(combinations_with_replacement(beyond, 2)), fewest=2)


def _tiles_after(A: FloatArray, n_done: int) -> list[slice]:
    tiles = blocks(len(A) - n_done, TILE)
    return [slice(n_done + each.start, n_done + each.stop) for each in tiles]


def _invert_columns(U: FloatArray, rows: slice) -> None:
    r"""Compute some columns of the inverse of a factor, given those before.

    The part above the diagonal is :math:`-V U_{\cdot k} U_{kk}^{-1}`, with the inverse V of the
    factor before.
    """
    corner, panel = U[rows, rows], np.negative(U[: rows.start, rows], order="C")
    tiles = blocks(rows.start, TILE)

    def divide(some: slice) -> None:
        _by_triangle("trsm", corner, panel[some], "right")

    def multiply(some: slice) -> None:
        beyond = slice(some.stop, rows.start)
        U[some, rows] = panel[some]
        _by_triangle("trmm", U[some, some], U[some, rows], "left")
        _add_product(U[some, rows], U[some, beyond], panel[beyond])

    run(divide, tiles, fewest=2)
    run(multiply, tiles, fewest=2)
    _call("trtri", corner, b"N", len(corner), corner, _leading(corner))


def _multiply_columns(V: FloatArray, rows: slice) -> None:
    r"""Replace some columns of a triangular V by those of :math:`V V^\top`.

    The columns after them must still be those of V.
    """
    corner, beside = V[rows, rows], V[rows, rows.stop :]

    def multiply(some: slice) -> None:
        _by_triangle("trmm", corner, V[some, rows], "right", is_transposed=True)
        _add_product(V[some, rows], V[some, rows.stop :], beside.T)

    run(multiply, blocks(rows.start, TILE), fewest=2)
    _call("lauum", corner, len(corner), corner, _leading(corner))
    _add_square(corner, beside)


def _by_triangle(
    name: Literal["trmm", "trsm"],
    U: FloatArray,
    B: FloatArray,
    side: Literal["left", "right"],
    is_transposed: bool = False,
) -> None:
    """Multiply B on one side by an upper triangle U or its inverse (trsm), in its memory.

    LAPACK reads matrices stored by rows as their transposes, for which the sides are exchanged.
    """
    is_by_rows = _is_by_rows(U)
    shape = B.shape[::-1] if is_by_rows else B.shape
    first = b"R" if is_by_rows == (side == "left") else b"L"
    triangle, transposition = b"L" if is_by_rows else b"U", b"T" if is_transposed else b"N"
    one = np.ones(1, U.dtype)
    _call_blas(
        name, U, first, triangle, transposition, b"N", *shape, one, U, _leading(U), B, _leading(B)
    )


def _add_product(C: FloatArray, A: FloatArray, B: FloatArray, factor: float = 1.0) -> None:
    """Add a multiple of A @ B to C in its memory."""
    (m, n), k, one = C.shape, A.shape[1], np.ones(1, C.dtype)
    first, second = (m, A, _is_by_rows(A)), (n, B, _is_by_rows(B))
    if _is_by_rows(C):  # LAPACK adds the product of the transposes to its transpose
        first, second = (n, B, not _is_by_rows(B)), (m, A, not _is_by_rows(A))
    flags = [b"T" if is_by_rows else b"N" for _, _, is_by_rows in (first, second)]
    sides = [each for _, side, _ in (first, second) for each in (side, _leading(side))]
    sizes = first[0], second[0], k
    _call_blas("gemm", C, *flags, *sizes, factor * one, *sides, one, C, _leading(C))


def _add_square(C: FloatArray, A: FloatArray, factor: float = 1.0) -> None:
    """Add a multiple of A @ A.T to the upper triangle of C in its memory."""
    triangle = b"L" if _is_by_rows(C) else b"U"
    flag, one = b"T" if _is_by_rows(A) else b"N", np.ones(1, C.dtype)
    sizes = len(C), A.shape[1]
    _call_blas("syrk", C, triangle, flag, *sizes, factor * one, A, _leading(A), one, C, _leading(C))


def _call_blas(name: str, A: FloatArray, *arguments: Any) -> None:
    kept = [_by_reference(each) for each in arguments]
    _routine("blas", _typed(name, A), len(kept))(*[address for address, _ in kept])


def _factor(A: FloatArray) -> int:
    return _call("potrf", A, len(A), A, _leading(A))


def _is_by_rows(A: FloatArray) -> bool:
    """Return whether a matrix is stored by rows, which LAPACK reads as its transpose."""
    return A.strides[1] == A.itemsize


def _leading(A: FloatArray) -> int:
    """Return the leading dimension of a matrix that is stored by rows or by columns."""
    assert A.itemsize in A.strides
    return max(A.strides[0 if _is_by_rows(A) else 1] // A.itemsize, 1)


def _call(name: str, A: FloatArray, *arguments: Any) -> int:
    """Call a routine of LAPACK on the upper triangle of A, and return its `info`."""
    triangle = b"L" if _is_by_rows(A) else b"U"
    info, kept = ctypes.c_int(0), [_by_reference(each) for each in (triangle, *arguments)]
    addresses = [address for address, _ in kept]
    _routine("lapack", _typed(name, A), len(addresses) + 1)(*addresses, ctypes.addressof(info))
    return info.value


def _typed(name: str, A: FloatArray) -> str:
    return f"{'s' if A.dtype == np.float32 else 'd'}{name}"


def _by_reference(value: Any) -> tuple[int, Any]:
    """Return the address of an argument, and the object that keeps it."""
    if isinstance(value, np.ndarray):
        return value.ctypes.data, value
    held = ctypes.c_char(value) if isinstance(value, bytes) else ctypes.c_int(value)
    return ctypes.addressof(held), held


@cache
def _routine(library: str, name: str, n_arguments: int) -> Callable[..., None]:
    """Return a routine of SciPy's BLAS or LAPACK; `ctypes` releases the lock during calls."""
    from numba.extending import get_cython_function_address

    address = get_cython_function_address(f"scipy.linalg.cython_{library}", name)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address)

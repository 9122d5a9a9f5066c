r"""Cholesky factors by LAPACK, called without Python's lock, so that threads can share the work.

.. math:: A = U^\top U, \qquad
          U_{kk}^\top U_{kk} = A_{kk} - \textstyle\sum_{l<k} U_{lk}^\top U_{lk}, \qquad
          U_{kj} = U_{kk}^{-\top} \bigl(A_{kj} - \textstyle\sum_{l<k} U_{lk}^\top U_{lj}\bigr)

SciPy's wrappers hold the lock, and threads of BLAS wait for each other actively: beside another
busy process they take up to twenty times as long as one thread. Here LAPACK is called by its
address, with one thread of BLAS: small matrices are factored side by side, and of a large matrix
our threads share the columns of each block of rows. Rounding errors of blocks are others, so the
number of threads does not decide between them: only the size, and whether there are several tasks.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import numpy as np

from kernsemble._threads import BLAS_THREADS, blocks, is_one_of_several, run
from kernsemble._typing import FloatArray

HEIGHT = 192  # number of rows of a block
WIDTH = 384  # number of columns of a task
ROWS_WORTH_BLOCKS = 1_500  # number of rows from which threads share one matrix


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
        if len(A) < ROWS_WORTH_BLOCKS or is_one_of_several():
            return _factor(A)
        for rows in blocks(len(A), HEIGHT):
            if failed := _factor_block(A, rows):
                return rows.start + failed
    return 0


def solve_with_factor(U: FloatArray, y: FloatArray) -> FloatArray:
    """Return the solution of the factored equations for every column of `y`, as float64."""
    right = np.array(y, dtype=U.dtype, order="F")
    with BLAS_THREADS.at_most(1):
        _call("potrs", U, len(U), right.shape[1], U, _leading(U), right, max(len(U), 1))
    return right.astype(np.float64)


def invert_in_place(U: FloatArray) -> FloatArray:
    """Replace a factor by the upper triangle of the inverse of its matrix, and return it."""
    with BLAS_THREADS.at_most(1):
        _call("potri", U, len(U), U, _leading(U))
    return U


def _factor_block(A: FloatArray, rows: slice) -> int:
    """Compute a block of rows of U, given those above."""
    above, block = A[: rows.start, rows].T, A[rows, rows]
    block -= above @ above.T
    if failed := _factor(block):
        return failed
    inverse = np.ascontiguousarray(np.triu(block))
    _call("trtri", inverse, b"N", len(inverse), inverse, _leading(inverse))

    def work(some: slice) -> None:
        columns = slice(rows.stop + some.start, rows.stop + some.stop)
        product = above @ A[: rows.start, columns]
        A[rows, columns] = inverse.T @ np.subtract(A[rows, columns], product, out=product)

    run(work, blocks(len(A) - rows.stop, WIDTH), fewest=2)
    return 0


def _factor(A: FloatArray) -> int:
    return _call("potrf", A, len(A), A, _leading(A))


def _leading(A: FloatArray) -> int:
    """Return the leading dimension of a matrix stored by rows, which LAPACK reads by columns."""
    assert A.strides[1] == A.itemsize
    return max(A.strides[0] // A.itemsize, 1)


def _call(name: str, A: FloatArray, *arguments: Any) -> int:
    """Call a routine of LAPACK on the upper triangle of A, and return its `info`."""
    info, kept = ctypes.c_int(0), [_by_reference(each) for each in (b"L", *arguments)]
    addresses = [address for address, _ in kept]
    _routine(f"{'s' if A.dtype == np.float32 else 'd'}{name}", len(addresses) + 1)(
        *addresses, ctypes.addressof(info)
    )
    return info.value


def _by_reference(value: Any) -> tuple[int, Any]:
    """Return the address of an argument, and the object that keeps it."""
    if isinstance(value, np.ndarray):
        return value.ctypes.data, value
    held = ctypes.c_char(value) if isinstance(value, bytes) else ctypes.c_int(value)
    return ctypes.addressof(held), held


@cache
def _routine(name: str, n_arguments: int) -> Callable[..., None]:
    """Return a routine of SciPy's LAPACK; `ctypes` releases the lock during calls."""
    from numba.extending import get_cython_function_address

    address = get_cython_function_address("scipy.linalg.cython_lapack", name)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address)

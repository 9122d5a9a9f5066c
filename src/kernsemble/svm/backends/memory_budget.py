"""The memory that kernel matrices may take, estimated before it is allocated."""

import warnings
from dataclasses import dataclass
from typing import Self

from kernsemble._arguments import check_positive
from kernsemble._memory import physical_memory
from kernsemble._typing import FloatArray, Rows
from kernsemble.exceptions import GramTooLargeError, RowsOnDemandWarning
from kernsemble.kernels import Kernel
from kernsemble.solvers.kernel_matrix import Matrix, RowsOnDemand

MIN_CACHED_ROWS = 100  # minimum number of cached rows of a matrix on demand; fewer are too slow
MEMORY_SHARE = 0.5  # default share of the computer's memory for kernel matrices


@dataclass(frozen=True)
class Budget:
    """The number of bytes that the kernel matrices of a fit may take together."""

    n_bytes: float

    @classmethod
    def from_megabytes(cls, cache_size: float | None, memory: float | None = None) -> Self:
        """Return the budget of `cache_size` megabytes, by default half of the memory in bytes."""
        if cache_size is None:
            return cls(MEMORY_SHARE * (physical_memory() if memory is None else memory))
        check_positive("cache_size", cache_size)
        return cls(2**20 * cache_size)

    def holds(self, X: Rows, n_matrices: int = 1) -> bool:
        """Return whether `n_matrices` matrices between all rows fit."""
        return n_matrices * X.shape[0] * _row_bytes(X) <= self.n_bytes

    def check(self, n_bytes: float, what: str, remedy: str) -> None:
        """Raise an error if `n_bytes` bytes do not fit."""
        if n_bytes > self.n_bytes:
            raise GramTooLargeError(
                f"{what} {n_bytes / 2**20:,.3g} MB, and cache_size allows "
                f"{self.n_bytes / 2**20:,.3g}: {remedy}, or raise cache_size"
            )

    def matrix(self, kernel: Kernel, X: Rows) -> FloatArray | Matrix:
        """Return the matrix between all rows: whole, or with rows on demand if it does not fit."""
        if self.holds(X):
            return kernel(X)
        n, n_cached = X.shape[0], int(self.n_bytes // _row_bytes(X))
        size = f"the {n} x {n} kernel matrix takes {n * _row_bytes(X) / 2**20:,.3g} MB"
        allowed = f"cache_size allows {self.n_bytes / 2**20:,.3g}"
        minimum = min(MIN_CACHED_ROWS, n)
        if n_cached < minimum:
            raise GramTooLargeError(
                f"{size}, and {allowed}, which is {n_cached} of its rows: raise cache_size to "
                f"{minimum * _row_bytes(X) / 2**20:,.3g} or more, or fit fewer rows"
            )
        warnings.warn(
            f"{size}, and {allowed}: its rows are computed on demand, {n_cached} are cached; "
            "raise cache_size to hold the whole matrix, or pass float32 rows to halve it",
            RowsOnDemandWarning,
            stacklevel=2,
        )
        return RowsOnDemand(lambda i, j: kernel(X[i], X[j]), kernel.diagonal(X), n_cached)


def _row_bytes(X: Rows) -> int:
    """Return the bytes of one row of the kernel matrix."""
    return int(X.shape[0] * X.dtype.itemsize)

"""The memory that kernel matrices may take, estimated before it is taken."""

import warnings
from dataclasses import dataclass
from typing import Self

from kernsemble._arguments import check_positive
from kernsemble._memory import physical_memory
from kernsemble._typing import FloatArray, Rows
from kernsemble.exceptions import GramTooLargeError, RowsOnDemandWarning
from kernsemble.kernels import Kernel
from kernsemble.solvers.matrix import Matrix, RowsOnDemand

FEWEST_ROWS = 100  # kept of a matrix that is computed on demand: with fewer a fit would not end
SHARE_OF_MACHINE = 0.5


@dataclass(frozen=True)
class Budget:
    """How many bytes the kernel matrices of a fit may take together."""

    n_bytes: float

    @classmethod
    def of(cls, cache_size: float | None) -> Self:
        """Return the budget of so many megabytes, half of the machine's memory by default."""
        if cache_size is None:
            return cls(SHARE_OF_MACHINE * physical_memory())
        check_positive("cache_size", cache_size)
        return cls(2**20 * cache_size)

    def holds(self, X: Rows, n_matrices: int = 1) -> bool:
        """Tell whether so many matrices between all rows fit."""
        return n_matrices * X.shape[0] * _row_bytes(X) <= self.n_bytes

    def demand(self, n_bytes: float, what: str, remedy: str) -> None:
        """Refuse what takes so many bytes if it does not fit."""
        if n_bytes > self.n_bytes:
            raise GramTooLargeError(
                f"{what} {n_bytes / 2**20:,.3g} MB, where cache_size allows "
                f"{self.n_bytes / 2**20:,.3g}: {remedy}, or raise cache_size"
            )

    def matrix(self, kernel: Kernel, X: Rows) -> FloatArray | Matrix:
        """Return the matrix between all rows: whole, or by rows on demand if it does not fit."""
        if self.holds(X):
            return kernel(X)
        n, n_kept = X.shape[0], int(self.n_bytes // _row_bytes(X))
        size = f"the {n} x {n} kernel matrix takes {n * _row_bytes(X) / 2**20:,.3g} MB"
        allowed, fewest = f"cache_size allows {self.n_bytes / 2**20:,.3g}", min(FEWEST_ROWS, n)
        if n_kept < fewest:
            raise GramTooLargeError(
                f"{size}, and {allowed}, which is {n_kept} rows of it: allow "
                f"{fewest * _row_bytes(X) / 2**20:,.3g} at least, or fit fewer rows"
            )
        warnings.warn(
            f"{size}, and {allowed}: its rows are computed on demand and {n_kept} of them kept; "
            "raise cache_size to hold it whole, or give float32 rows to halve it",
            RowsOnDemandWarning,
            stacklevel=2,
        )
        return RowsOnDemand(lambda i, j: kernel(X[i], X[j]), kernel.diagonal(X), n_kept)


def _row_bytes(X: Rows) -> int:
    """Return the bytes of one row of the matrix."""
    return int(X.shape[0] * X.dtype.itemsize)

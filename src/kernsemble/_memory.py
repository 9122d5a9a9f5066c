"""Memory of the machine, and the budget of kernel matrices, estimated before allocation."""

import os
from dataclasses import dataclass
from typing import Self

import numpy as np

from kernsemble._arguments import check_positive
from kernsemble._typing import Rows
from kernsemble.exceptions import GramTooLargeError

MEMORY_SHARE = 0.5  # default budget, as a share of the machine's memory


def physical_memory() -> float:
    """Return the physical memory in bytes, infinity where the system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError):
        return np.inf


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
        return n_matrices * X.shape[0] * self.row_bytes(X) <= self.n_bytes

    def check(self, n_bytes: float, what: str, remedy: str) -> None:
        """Raise an error if `n_bytes` bytes do not fit."""
        if n_bytes > self.n_bytes:
            raise GramTooLargeError(
                f"{what} {n_bytes / 2**20:,.3g} MB, and cache_size allows "
                f"{self.n_bytes / 2**20:,.3g}: {remedy}, or raise cache_size"
            )

    @staticmethod
    def row_bytes(X: Rows) -> int:
        """Return the bytes of one row of the kernel matrix between rows."""
        return int(X.shape[0] * X.dtype.itemsize)

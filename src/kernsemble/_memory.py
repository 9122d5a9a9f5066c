"""Memory available to this process, and the budget of kernel matrices."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Self

import numpy as np

from kernsemble._arguments import check_positive
from kernsemble._typing import Rows
from kernsemble.exceptions import GramTooLargeError

MEMORY_SHARE = 0.5  # default budget, as a share of the available memory
ROOT = Path("/")


def physical_memory() -> float:
    """Return the physical memory in bytes, infinity where the system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError):
        return np.inf


def available_memory(root: Path = ROOT) -> float:
    """Return the bytes that this process can still allocate.

    The smallest of: the memory that Linux reports as available, what the limits of all its
    control groups (versions 1 and 2) leave, and what the limit of its address space leaves. Cached
    files count as free. Where the system reports none of these, it is the physical memory.

    Parameters
    ----------
    root : Path
        Folder that contains ``proc`` and ``sys``, for tests.
    """
    found = [
        *_values(root / "proc/meminfo", "MemAvailable:", unit=1024),
        *_left_by_groups(root),
        *_left_of_address_space(root),
    ]
    return max(min(found, default=physical_memory()), 0.0)


def _left_by_groups(root: Path) -> Iterator[float]:
    """Yield the bytes that the limit of each control group leaves."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":  # version 2
            folder, limit, used, cached = "", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            folder, limit = "memory", "memory.limit_in_bytes"
            used, cached = "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        here = PurePosixPath(path.strip())
        for group in (here, *here.parents):
            place = root / "sys/fs/cgroup" / folder / str(group).lstrip("/")
            for most, taken in zip(_values(place / limit), _values(place / used), strict=False):
                yield most - taken + sum(_values(place / "memory.stat", f"{cached} "))


def _left_of_address_space(root: Path) -> Iterator[float]:
    """Yield the bytes that the limit of the address space leaves, if there is one."""
    try:
        import resource  # not on Windows

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        unlimited, page = resource.RLIM_INFINITY, os.sysconf("SC_PAGE_SIZE")
    except (ImportError, AttributeError, ValueError):
        return
    if most != unlimited:
        yield float(most) - sum(_values(root / "proc/self/statm", unit=page))


def _values(path: Path, name: str = "", unit: int = 1) -> list[float]:
    """Return the first number after a name in the lines that start with it."""
    texts = [line[len(name) :].split() for line in _lines(path) if line.startswith(name)]
    return [unit * float(text[0]) for text in texts if text and text[0].isdigit()]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


@dataclass(frozen=True)
class Budget:
    """The number of bytes that the kernel matrices of a fit may take together.

    Attributes
    ----------
    n_bytes : float
        The bytes, in the memory of this process.
    is_default : bool
        Whether they follow from its available memory, and not from `cache_size`.
    """

    n_bytes: float
    is_default: bool = False

    @classmethod
    def from_megabytes(cls, cache_size: float | None, memory: float | None = None) -> Self:
        """Return the budget of `cache_size` megabytes, by default half of the available bytes."""
        if cache_size is None:
            return cls(MEMORY_SHARE * (available_memory() if memory is None else memory), True)
        check_positive("cache_size", cache_size)
        return cls(2**20 * cache_size)

    def holds(self, X: Rows, n_matrices: float = 1) -> bool:
        """Return whether `n_matrices` matrices between all rows fit."""
        return self.spare(X, n_matrices) >= 0.0

    def spare(self, X: Rows, n_matrices: float = 1) -> float:
        """Return the bytes that `n_matrices` matrices between all rows leave."""
        return self.n_bytes - n_matrices * X.shape[0] * self.row_bytes(X)

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

"""Size of the physical memory."""

import os

import numpy as np


def physical_memory() -> float:
    """Return the physical memory in bytes, infinity where the system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError):
        return np.inf

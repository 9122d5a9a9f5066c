"""How much memory there is."""

import os

import numpy as np


def physical_memory() -> float:
    """Return the bytes of memory of this machine, infinity where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError):
        return np.inf

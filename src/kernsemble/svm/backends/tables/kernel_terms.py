"""The terms of a kernel that have tables: slices of rows, and cells of random grids."""

import numpy as np

from kernsemble.kernels import Kernel
from kernsemble.kernels.algebra import terms
from kernsemble.kernels.binning import has_cells
from kernsemble.kernels.slices import NoSlicesError, slices_of


def represents_exactly(kernel: Kernel, n_features: int) -> bool | None:
    """Return whether a kernel is a sum of slices and cells; None if some are sampled."""
    gridded, sliced = split_terms(kernel)
    row = np.zeros((1, n_features))
    try:
        is_exact = all(slices_of(each.bind(row), n_slices=1).is_exact for each in sliced)
    except NoSlicesError:
        return False
    return True if is_exact and not gridded else None


def split_terms(kernel: Kernel) -> tuple[list[Kernel], list[Kernel]]:
    """Return the terms of a kernel that have grid cells, and the others."""
    found = terms(kernel)
    gridded = [term for term in found if has_cells(term)]
    return gridded, [term for term in found if not has_cells(term)]


def no_tables(error: NoSlicesError) -> NoSlicesError:
    """Return the error for a part of a kernel that has no tables."""
    return NoSlicesError(
        "solver = 'additive' supports Laplacian(), DecisionTree() and sums of one-dimensional "
        f"kernels, but {error}; or use solver='exact'"
    )

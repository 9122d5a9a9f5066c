"""Equal rows, taken as one that counts several times."""

from typing import Any

import numpy as np
from scipy import sparse

from kernsemble._typing import FloatArray, IntArray, Rows


def distinct_rows(
    X: Rows, codes: IntArray, counts: FloatArray, *weights: FloatArray
) -> tuple[Any, ...]:
    """Return the first of equal rows of a class, how often they count, and their other weights.

    They are the same machine as the rows themselves, and no margin is reached by several of them
    at once. Rows that do not count are left out.
    """
    group: dict[tuple[int, bytes], int] = {}
    present, contents = np.flatnonzero(counts > 0.0), _contents(X)
    keys = [(int(codes[row]), contents[row]) for row in present]
    groups = np.array([group.setdefault(key, len(group)) for key in keys], dtype=np.intp)
    first = np.unique(groups, return_index=True)[1]
    sums = (np.bincount(groups, each[present]) for each in (counts, *weights))
    return present[first], *sums


def _contents(X: Rows) -> list[bytes]:
    """Return the numbers of each row, equal where these are."""
    if not sparse.issparse(X):
        return [row.tobytes() for row in X + 0.0]  # -0.0 equals 0.0
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    spans = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in spans]

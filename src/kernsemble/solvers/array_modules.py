"""Arrays of NumPy, or of a module with its interface on a device (CuPy)."""

from typing import Any

import numpy as np

from kernsemble._threads import blocks
from kernsemble._typing import FloatArray, IntArray

ROWS_OF_A_COPY = 64  # rows that are copied at a time, so that they fit into the cache


def on_host(values: Any) -> FloatArray:
    """Return an array in the memory of this process: itself, if it is there."""
    return values if isinstance(values, np.ndarray) else values.get()


def between(K: Any, rows: IntArray, columns: IntArray, xp: Any) -> Any:
    """Return the matrix between some rows and some columns, in the module of the matrix."""
    if xp is np:  # which is slow with indices of both
        found = np.empty((len(rows), len(columns)), K.dtype)
        for span in blocks(len(rows), ROWS_OF_A_COPY):
            found[span] = K.take(rows[span], axis=0).take(columns, axis=1)
        return found
    return K[xp.asarray(rows)][
        :, xp.asarray(columns)
    ]  # CuPy would write the indices of all entries

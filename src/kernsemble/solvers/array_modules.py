"""Arrays of NumPy, or of a module with its interface on a device (CuPy)."""

from typing import Any

import numpy as np

from kernsemble._typing import FloatArray, IntArray


def on_host(values: Any) -> FloatArray:
    """Return an array in the memory of this process: itself, if it is there."""
    return values if isinstance(values, np.ndarray) else values.get()


def between(K: Any, rows: IntArray, columns: IntArray, xp: Any) -> Any:
    """Return the matrix between some rows and some columns, in the module of the matrix."""
    if xp is np:
        return K[np.ix_(rows, columns)]
    return K[xp.asarray(rows)][
        :, xp.asarray(columns)
    ]  # CuPy would write the indices of all entries

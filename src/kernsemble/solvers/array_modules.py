"""Arrays of NumPy, or of a module with its interface on a device (CuPy)."""

from typing import Any

import numpy as np

from kernsemble._typing import FloatArray


def on_host(values: Any) -> FloatArray:
    """Return an array in the memory of this process: itself, if it is there."""
    return values if isinstance(values, np.ndarray) else values.get()

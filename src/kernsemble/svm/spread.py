"""The Gaussian kernel as wide as its rows are spread."""

import numpy as np
from scipy import sparse

from kernsemble._typing import FloatArray, Rows
from kernsemble.kernels import Gaussian


def gaussian_of_spread(X: Rows, weight: FloatArray) -> Gaussian:
    r"""Return the paper's kernel: :math:`1/\gamma` is the mean squared distance from the mean.

    That is half the mean squared distance between two rows, of which `Gaussian` by itself takes
    the inverse. Equal rows have :math:`\gamma = 1`.
    """
    share = weight / weight.sum()
    mean = share @ X
    with np.errstate(over="ignore", invalid="ignore"):  # told here
        if sparse.issparse(X):
            squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
            spread = float(share @ squares - mean @ mean)
        else:
            spread = float(share @ np.square(X - mean).sum(axis=1))
        rate = 1.0 / spread if spread > 0.0 else 1.0
    if not 0.0 < rate < np.inf:
        raise ValueError(
            f"kernel = 'gaussian': the mean squared distance of rows from their mean is "
            f"{spread:.3g}, which a float cannot invert: scale the columns, scaling='range'"
        )
    return Gaussian(gamma=rate)

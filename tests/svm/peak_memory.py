"""Print the peak of the memory during fits, in megabytes, one line per fit.

The arguments are pairs of the kind of a fit and the megabytes of its kernel matrices. Run by
`test_memory` in a process of its own.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

from kernsemble.exceptions import RowsOnDemandWarning
from kernsemble.kernels import Laplacian, Stump
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleClassifierCV,
    InfiniteEnsembleRegressorCV,
    SVMPath,
)

N_ROWS = 1_800
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory(name):
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(name))
    return 1024 * int(line.split()[1])


def rows(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)


def fit(kind, n, cache_size):
    X, target = rows(n)
    kernels = [Laplacian(width) for width in (0.2, 0.5, 1.0)]
    common = {"cache_size": cache_size, "solver": "exact"}
    if kind == "fit":
        InfiniteEnsembleClassifier(kernels[1], C=64.0, **common).fit(X, target > 0)
    elif kind == "pairs":
        codes = np.digitize(target, [-0.4, 0.4])
        InfiniteEnsembleClassifier(kernels[1], C=8.0, **common).fit(X, codes)
    elif kind == "selection":
        settings = {"Cs": (1.0, 16.0), "cv": 3, "calibration": None, **common}
        InfiniteEnsembleClassifierCV([*kernels, Stump()], **settings).fit(X, target > 0)
    elif kind == "path":
        SVMPath(kernels[1], largest_C=0.1, cache_size=cache_size).fit(X, target > 0)
    elif kind == "regression":
        settings = {"Cs": (1.0, 16.0), "cv": 3, "epsilons": (0.01,), **common}
        InfiniteEnsembleRegressorCV(kernels[:2], **settings).fit(X, target)
    else:
        loss = {"race": "hinge", "vote": "squared"}[kind]
        settings = {"cv": 3, "calibration": None, "random_state": 0, "loss": loss, **common}
        InfiniteEnsembleClassifierCV("auto", scaling="rank", **settings).fit(X, target > 0)


def peak(kind, cache_size):
    """Return the peak of a fit, above the memory before it."""
    fit(kind, 300, None)  # compiles
    CLEAR.write_text("5")  # resets the peak
    before = memory("VmRSS:")
    fit(kind, N_ROWS, cache_size)
    return (memory("VmHWM:") - before) / 2**20


if __name__ == "__main__":
    warnings.simplefilter("ignore", RowsOnDemandWarning)
    for kind, cache_size in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        sys.stdout.write(f"{peak(kind, float(cache_size))}\n")

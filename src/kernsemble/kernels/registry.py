"""Short names of kernels; the only place where strings become kernels."""

from collections.abc import Callable
from functools import partial

from kernsemble._suggestions import suggest
from kernsemble.exceptions import ArgumentError
from kernsemble.kernels.base import Kernel
from kernsemble.kernels.dot import Linear, Polynomial
from kernsemble.kernels.ensemble import (
    Category,
    Constant,
    HistogramIntersection,
    MiddleStump,
    Perceptron,
    Stump,
)
from kernsemble.kernels.radial import Exponential, Gaussian, Laplacian
from kernsemble.kernels.regions import StumpRegion

AUTO = "auto"  # selects a kernel, in estimators with model selection
KERNELS: dict[str, Callable[[], Kernel]] = {
    "category": Category,
    "constant": Constant,
    "exponential": Exponential,
    "gaussian": Gaussian,
    "gaussian-spread": partial(Gaussian, "spread"),
    "histogram-intersection": HistogramIntersection,
    "laplacian": Laplacian,
    "linear": Linear,
    "middle-stump": MiddleStump,
    "perceptron": Perceptron,
    "polynomial": Polynomial,
    "stump": Stump,
    "stump-region": StumpRegion,
}


def as_kernel(kernel: str | Kernel) -> Kernel:
    """Return the kernel with a short name and default settings, or the kernel itself.

    Examples
    --------
    >>> from kernsemble.kernels import as_kernel
    >>> as_kernel("middle-stump")
    MiddleStump()
    """
    if isinstance(kernel, Kernel):
        return kernel
    if not isinstance(kernel, str):
        raise TypeError(
            f"kernel = {kernel!r}: use a kernel, such as Stump() or 0.5 * Stump() + "
            f"Perceptron(), or one of the names {sorted(KERNELS)}"
        )
    name = kernel.lower().replace("_", "-")
    if name == AUTO:
        raise ArgumentError(
            "kernel",
            kernel,
            "only classes ending in CV select a kernel, from no other names: use one of them, or "
            "the name of a kernel",
        )
    if name not in KERNELS:
        hint = suggest(name, (AUTO, *KERNELS))
        raise ArgumentError(
            "kernel", kernel, f"{hint} (others are objects, such as DecisionTree(gamma=0.1))"
        )
    return KERNELS[name]()

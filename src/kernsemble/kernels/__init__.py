r"""Kernels, each of which embodies an ensemble of hypotheses.

A kernel is created (``Stump()``), bound to data (``kernel.bind(X)``), and then a function
of rows. Kernels combine into kernels: ``+`` contains the hypotheses of both, ``*`` their XOR,
``&`` their AND and OR; a number weights them, and ``.on(columns)`` restricts them to some columns.
"""

from kernsemble.kernels.base import Kernel
from kernsemble.kernels.distances import l1_distances, l2_distances
from kernsemble.kernels.dot import Linear, Polynomial
from kernsemble.kernels.ensemble import (
    Category,
    Constant,
    HistogramIntersection,
    MiddleStump,
    Perceptron,
    Stump,
)
from kernsemble.kernels.geometry import alignment, centre, definiteness
from kernsemble.kernels.learned import Boosted
from kernsemble.kernels.mixed import Mixed
from kernsemble.kernels.radial import Exponential, Gaussian, Laplacian
from kernsemble.kernels.regions import DecisionTree, StumpRegion
from kernsemble.kernels.registry import as_kernel

__all__ = [
    "Boosted",
    "Category",
    "Constant",
    "DecisionTree",
    "Exponential",
    "Gaussian",
    "HistogramIntersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "MiddleStump",
    "Mixed",
    "Perceptron",
    "Polynomial",
    "Stump",
    "StumpRegion",
    "alignment",
    "as_kernel",
    "centre",
    "definiteness",
    "l1_distances",
    "l2_distances",
]

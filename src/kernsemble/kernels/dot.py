r"""Kernels of the inner product."""

from dataclasses import dataclass

import numpy as np

from kernsemble._arguments import check_count, check_not_negative
from kernsemble._typing import FloatArray
from kernsemble.kernels.base import PointKernel
from kernsemble.kernels.distances import dot_tile, squared_norms
from kernsemble.kernels.gram import Embedded


class DotProductKernel(PointKernel):
    r"""A kernel that is a function of the inner product :math:`x^\top x'`."""

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return self._from_products(dot_tile(A, B))

    def _diagonal(self, A: Embedded) -> FloatArray:
        return self._from_products(squared_norms(A))

    def _from_products(self, products: FloatArray) -> FloatArray:
        """Return the kernel from inner products, which may be overwritten."""
        return products


class Linear(DotProductKernel):
    r"""The kernel :math:`K(x, x') = x^\top x'`.

    Examples
    --------
    >>> from kernsemble.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """


@dataclass(frozen=True, eq=False, repr=False)
class Polynomial(DotProductKernel):
    r"""The kernel :math:`K(x, x') = (x^\top x' + c)^p`.

    Parameters
    ----------
    degree : int, default=2
        The degree p.
    offset : float, default=1.0
        The offset c, at least 0; larger values give low powers more weight.

    Examples
    --------
    >>> from kernsemble.kernels import Polynomial
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    degree: int = 2
    offset: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("degree", self.degree)
        check_not_negative("offset", self.offset)

    def _from_products(self, products: FloatArray) -> FloatArray:
        products += self.offset
        return np.power(products, self.degree, out=products)

"""What a machine is the sum of: functions of one column, and functions of several."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.inspection.shape_functions import Shape, StumpDensity


class AdditiveTerm(NamedTuple):
    """A function of one column."""

    column: int
    shape: Shape
    density: StumpDensity | None  # None where the function is not a sum of stumps
    size: float  # its part of the norm of the machine
    training_mean: float | None = None  # of the function, where the training rows told it

    def mean(self, rows: FloatArray | None) -> float:
        """Return the mean over rows, or over what is known of the training rows; 0 if nothing."""
        if rows is not None:
            return float(self.shape(rows[:, self.column]).mean())
        return 0.0 if self.training_mean is None else self.training_mean


class ProductForm(NamedTuple):
    r"""A function :math:`\sum_i c_i \prod_d \exp(-\gamma |u_d(x) - u_{id}|^p)`."""

    embed: Callable[[FloatArray], FloatArray]  # of rows, u of shape (n, m)
    known: FloatArray  # u of the support vectors, (s, m)
    coefficients: FloatArray
    rate: float
    power: int


@dataclass(frozen=True, eq=False)
class Interaction:
    """A function of several columns together.

    Attributes
    ----------
    name : str
        What it is.
    columns : array
        The columns that it sees.
    values : callable
        The function of rows.
    squared_norm : callable
        Its part of the squared norm of the machine; NaN where there is none.
    product : ProductForm or None
        Its factors, if it has any.
    """

    name: str
    columns: IntArray
    values: Callable[[FloatArray], FloatArray]
    squared_norm: Callable[[], float]
    product: ProductForm | None = None


class Decomposition(NamedTuple):
    r"""A machine :math:`f(x) = b + \sum_k g_k(x_{d(k)}) + \sum_j h_j(x)`."""

    intercept: float
    additive: list[AdditiveTerm]
    interactions: list[Interaction]
    constant_norm: float = 0.0  # of hypotheses that vote alike at every row

    @property
    def squared_norm(self) -> float:
        r"""The norm :math:`\|w\|^2` of a machine."""
        parts = [piece.size for piece in self.additive]
        return float(
            self.constant_norm + sum(parts) + sum(each.squared_norm() for each in self.interactions)
        )


def no_norm() -> float:
    """Return the norm of what has none."""
    return np.nan

"""A machine as a sum of functions of one column and functions of several columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import short_repr
from kernsemble.inspection.pair_functions import PairFunction
from kernsemble.inspection.shape_functions import Shape, StumpDensity


class AdditiveTerm(NamedTuple):
    """A function of one column."""

    column: int
    shape: Shape
    density: StumpDensity | None  # None if the function is not a sum of stumps
    size: float  # contribution to the norm of the machine
    training_mean: float | None = None  # mean of the function over the training rows, if stored
    variance: float = np.nan  # variance of the function over the training rows, if stored

    def __repr__(self) -> str:
        return short_repr(self)

    def mean(self, rows: FloatArray | None) -> float:
        """Return the mean over rows, without rows the training mean, or 0 if that is not stored."""
        if rows is not None:
            return float(self.shape(rows[:, self.column]).mean())
        return 0.0 if self.training_mean is None else self.training_mean


class ProductForm(NamedTuple):
    r"""A function :math:`\sum_i c_i \prod_k \exp(-\gamma |u_k(x) - u_{ik}|^p)`.

    Each coordinate u is of one column, and a column may have several.
    """

    embed: Callable[[FloatArray], FloatArray]  # rows -> u, of shape (n, n_coordinates)
    known: FloatArray  # u of the support vectors, of shape (s, n_coordinates)
    coefficients: FloatArray
    rate: float
    power: int
    group: IntArray  # index of the column of each coordinate, among those of the interaction


@dataclass(frozen=True, eq=False)
class Interaction:
    """A function of several columns together.

    Attributes
    ----------
    name : str
        Description, such as the kernel.
    columns : array
        Columns that the function depends on.
    values : callable
        The function of rows.
    squared_norm : callable
        Contribution to the squared norm of the machine; NaN if there is no norm.
    product : ProductForm or None
        Factors of the function, if it is a sum of products over columns.
    """

    name: str
    columns: IntArray
    values: Callable[[FloatArray], FloatArray]
    squared_norm: Callable[[], float]
    product: ProductForm | None = None

    def __repr__(self) -> str:
        return short_repr(self)


class Decomposition(NamedTuple):
    r"""A machine as a sum of functions.

    .. math:: f(x) = b + \sum_k g_k(x_{d(k)}) + \sum_{(a, b)} g_{ab}(x_a, x_b) + \sum_j h_j(x)

    With a measure that was learned, norms of functions are those of the learned measure, and the
    sizes of columns are variances; a pair counts half for either column.
    """

    intercept: float
    additive: list[AdditiveTerm]
    interactions: list[Interaction]
    constant_norm: float = 0.0  # squared norm of hypotheses that vote alike on every row
    pairs: tuple[PairFunction, ...] = ()
    has_learned_measure: bool = False

    def __repr__(self) -> str:
        return short_repr(self)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the sum of machines, whose hypotheses are all different."""
        return cls(
            sum(each.intercept for each in parts),
            [term for each in parts for term in each.additive],
            [term for each in parts for term in each.interactions],
            sum(each.constant_norm for each in parts),
            tuple(pair for each in parts for pair in each.pairs),
            any(each.has_learned_measure for each in parts),
        )

    @property
    def squared_norm(self) -> float:
        r"""The squared norm :math:`\|w\|^2` of the machine."""
        sizes = [term.size for term in self.additive] + [each.squared_norm for each in self.pairs]
        return float(
            self.constant_norm + sum(sizes) + sum(each.squared_norm() for each in self.interactions)
        )

    def sizes(self, n_columns: int) -> FloatArray:
        """Return the total size of the additive terms of each column."""
        sizes = np.zeros(n_columns)
        for term in self.additive:
            sizes[term.column] += term.variance if self.has_learned_measure else term.size
        for pair in self.pairs:
            sizes[list(pair.columns)] += 0.5 * pair.variance
        return sizes


def no_norm() -> float:
    """Return NaN, the norm of a function without one."""
    return np.nan

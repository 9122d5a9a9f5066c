r"""Kernels that fall off exponentially with a distance."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from kernsemble._arguments import check_positive
from kernsemble._typing import FloatArray, Rows
from kernsemble.exceptions import UnboundKernelError
from kernsemble.hypotheses import HypothesisSet, PerceptronSet, Regions, StumpSet
from kernsemble.kernels.base import PointKernel
from kernsemble.kernels.distances import l1_tile, l2_tile, squared_l2_tile
from kernsemble.kernels.gram import Embedded, TileFunction, fill_gram, n_rows
from kernsemble.kernels.regions import exponential_series

ROWS_FOR_SCALE = 2_000
LARGEST_EXPONENT = 700.0
LARGEST_FLOAT = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False, repr=False)
class Radial(PointKernel):
    r"""A kernel :math:`\exp(-\gamma\, d(x, x'))`."""

    gamma: float | Literal["scale"] = "scale"
    rate: float | None = field(default=None, kw_only=True, repr=False)  # gamma as a number

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.gamma, str) and self.gamma == "scale"):
            check_positive("gamma", self.gamma)
            object.__setattr__(self, "rate", float(self.gamma))

    @abstractmethod
    def _distance_tile(self, A: Embedded, B: Embedded) -> FloatArray:
        """Return the distances between a few rows as a new array."""

    def _with_constants(self, X: Rows) -> Self:
        if self.gamma != "scale":
            return self
        return replace(self, rate=_inverse_mean_distance(self._distance_tile, X))

    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        if self.rate is None:
            raise UnboundKernelError.of(self)
        return super()._embed(X, name)

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        assert self.rate is not None
        distances = self._distance_tile(A, B)
        distances *= -self.rate
        return np.exp(distances, out=distances)

    def _diagonal(self, A: Embedded) -> FloatArray:
        return np.ones(n_rows(A))


@dataclass(frozen=True, eq=False, repr=False)
class _RadialEnsemble(Radial):
    r"""Regions whose conditions have the kernel :math:`\Delta - d(x, x')`.

    With :math:`u = 1 - d / 2\Delta`,
    :math:`\exp(-\gamma d) = e^{-2\gamma\Delta} \sum_l (2\gamma\Delta)^l u^l / l!`: the number
    of conditions of a region follows a Poisson law.
    """

    conditions: HypothesisSet | None = field(default=None, kw_only=True, repr=False)

    @property
    def hypotheses(self) -> HypothesisSet:
        if self.conditions is None or self.rate is None:
            raise UnboundKernelError.of(self)
        mean = 2.0 * self.rate * self.conditions.total_measure
        if mean > LARGEST_EXPONENT:
            raise ValueError(
                f"gamma = {self.rate!r} makes regions of measure exp({mean:.3g}) on this data, "
                "more than a float can hold: ask for the hypotheses at a smaller gamma"
            )
        return Regions(self.conditions, exponential_series(mean, shift=mean))


class Laplacian(_RadialEnsemble):
    r"""The kernel :math:`K(x, x') = \exp(-\gamma \|x - x'\|_1)`.

    Up to a constant and a factor it is the `DecisionTree` kernel, for any
    :math:`\gamma > 0`: on the range of the bound sample it embodies all boxes, conjunctions
    of any number of stumps, which are the leaves of trees (SVM-Dec in the papers).

    Parameters
    ----------
    gamma : float or "scale", default="scale"
        The rate; "scale" is 1 over the mean distance between rows of the bound sample.

    Examples
    --------
    >>> from kernsemble.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0], [1.0]])
    array([[1.  , 0.61],
           [0.61, 1.  ]])
    """

    def _with_constants(self, X: Rows) -> Self:
        return replace(super()._with_constants(X), conditions=StumpSet.spanning(X))

    def _distance_tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return l1_tile(A, B)


class Exponential(_RadialEnsemble):
    r"""The kernel :math:`K(x, x') = \exp(-\gamma \|x - x'\|_2)`.

    In the ball around the bound sample it embodies all polytopes: conjunctions of any
    number of perceptrons.

    Parameters
    ----------
    gamma : float or "scale", default="scale"
        The rate; "scale" is 1 over the mean distance between rows of the bound sample.

    Examples
    --------
    >>> from kernsemble.kernels import Exponential
    >>> Exponential(gamma=0.1)([[0.0, 0.0], [3.0, 4.0]])
    array([[1.  , 0.61],
           [0.61, 1.  ]])
    """

    def _with_constants(self, X: Rows) -> Self:
        return replace(super()._with_constants(X), conditions=PerceptronSet.spanning(X))

    def _distance_tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return l2_tile(A, B)


class Gaussian(Radial):
    r"""The kernel :math:`K(x, x') = \exp(-\gamma \|x - x'\|_2^2)`.

    The usual choice for an SVM, here to compare with: no set of hypotheses that vote is
    known for it.

    Parameters
    ----------
    gamma : float or "scale", default="scale"
        The rate; "scale" is 1 over the mean squared distance between rows of the bound
        sample.

    Examples
    --------
    >>> from kernsemble.kernels import Gaussian
    >>> Gaussian(gamma=0.02)([[0.0, 0.0], [3.0, 4.0]])
    array([[1.  , 0.61],
           [0.61, 1.  ]])
    """

    def _distance_tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return squared_l2_tile(A, B)


def _inverse_mean_distance(distance: TileFunction, X: Rows) -> float:
    """Return 1 over the mean distance between two different rows, 1 when all are equal.

    Of more than 2,000 rows a fixed random choice of 2,000 is taken, so that it costs no
    more than linear time and is the same every time.
    """
    n = X.shape[0]
    if n > ROWS_FOR_SCALE:
        chosen = np.random.default_rng(0).choice(n, ROWS_FOR_SCALE, replace=False)
        X, n = X[np.sort(chosen)], ROWS_FOR_SCALE
    if n == 1 or abs(X - X[[0] * n]).max() == 0.0:
        return 1.0
    mean = fill_gram(distance, X).mean(dtype=np.float64) * n / (n - 1)
    if not 1.0 / LARGEST_FLOAT < mean < LARGEST_FLOAT:
        raise ValueError(
            f"gamma = 'scale': the mean distance of rows is {mean:.3g}, which a float cannot "
            "invert: scale the columns"
        )
    return float(1.0 / mean)

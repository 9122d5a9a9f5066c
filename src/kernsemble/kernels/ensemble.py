r"""Kernels that embody simple hypotheses: :math:`\Delta` minus a distance."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self, TypeVar, get_args

import numpy as np
from scipy import sparse

from kernsemble._arguments import check_choice, check_positive
from kernsemble._typing import ArrayLike, FloatArray, Rows
from kernsemble._validation import as_categories, column_ends
from kernsemble.exceptions import UnboundKernelError
from kernsemble.hypotheses import (
    CategorySet,
    ConstantSet,
    HypothesisSet,
    MiddleStumpSet,
    PerceptronSet,
    StumpSet,
)
from kernsemble.hypotheses.thresholds import Measure, ThresholdSet
from kernsemble.kernels.algebra import Wrapper
from kernsemble.kernels.base import PointKernel
from kernsemble.kernels.distances import l1_tile, l2_tile
from kernsemble.kernels.gram import Embedded, n_rows

Embodied = TypeVar("Embodied", bound=HypothesisSet)
Thresholds = TypeVar("Thresholds", bound=ThresholdSet)


@dataclass(frozen=True, eq=False, repr=False)
class DistanceEnsemble(PointKernel, Generic[Embodied]):
    r"""A kernel :math:`\Delta - d(x, x')` whose distance counts disagreeing hypotheses.

    Two rows are as far apart as twice the measure of the hypotheses that vote differently
    on them; :math:`\Delta` is the measure of all.
    """

    embodied: Embodied | None = field(default=None, kw_only=True, repr=False)

    @property
    def hypotheses(self) -> Embodied:
        if self.embodied is None:
            raise UnboundKernelError.of(self)
        return self.embodied

    @property
    def is_neutral(self) -> bool:
        return True

    @property
    def simplified(self) -> "Simplified":
        return Simplified(self)

    @abstractmethod
    def _distance_tile(self, A: Embedded, B: Embedded) -> FloatArray:
        """Return the distances between a few embedded rows as a new array."""

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        distances = self._distance_tile(A, B)
        return np.subtract(self.delta, distances, out=distances)

    def _diagonal(self, A: Embedded) -> FloatArray:
        return np.full(n_rows(A), self.delta)


class _StumpEnsemble(DistanceEnsemble[Thresholds]):
    """Stumps, compared by the positions of values among the thresholds."""

    supports_missing = True

    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        return self.hypotheses.positions(super()._embed(X, name))

    def _distance_tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return l1_tile(A, B)


@dataclass(frozen=True, eq=False, repr=False)
class Stump(_StumpEnsemble[StumpSet]):
    r"""The kernel that embodies every decision stump.

    .. math:: K(x, x') = \Delta - \|x - x'\|_1,
              \qquad \Delta = \tfrac12 \textstyle\sum_d (R_d - L_d)

    It is the inner product of the votes of all stumps :math:`q\,\mathrm{sign}(x_d - a)`
    with :math:`a \in [L_d, R_d]`, so an SVM that uses it is a weighted vote of infinitely
    many stumps (Lin and Li, Definition 3). No stump lies outside :math:`[L_d, R_d]`, so a
    value beyond counts as the end it lies beyond: the kernel stays an inner product for
    any row, and the SVM is the same as without that.

    Parameters
    ----------
    measure : {"uniform", "empirical", "distinct"}, default="uniform"
        Distribution of thresholds between :math:`L_d` and :math:`R_d`: uniform, as in the
        papers; that of the sample, which makes
        :math:`K = \Delta - \sum_d |F_d(x_d) - F_d(x'_d)|` with its distribution functions;
        or equal weight between any two neighbouring values of the sample. The last two are,
        like trees, invariant to monotone transformations of a feature.
    margin : float, default=0.05
        Distance of the ends :math:`L_d, R_d` from the sample, relative to its range.

    Examples
    --------
    >>> from kernsemble.kernels import Stump
    >>> K = Stump().bind([[0.0, 0.0], [1.0, 2.0]])
    >>> K([[0.0, 0.0], [1.0, 2.0]])
    array([[ 1.65, -1.35],
           [-1.35,  1.65]])
    """

    measure: Measure = "uniform"
    margin: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("measure", self.measure, get_args(Measure))
        check_positive("margin", self.margin)

    def _with_constants(self, X: Rows, weight: FloatArray) -> Self:
        return replace(self, embodied=StumpSet.spanning(X, self.measure, self.margin, weight))


@dataclass(frozen=True, eq=False, repr=False)
class MiddleStump(_StumpEnsemble[MiddleStumpSet]):
    r"""The kernel that embodies the finitely many middle stumps of a sample.

    .. math:: K(x, x') = \tfrac12 \textstyle\sum_{d,a} m_{d,a}(x)\, m_{d,a}(x')
              = \Delta - \sum_d |\mathrm{rank}_d(x) - \mathrm{rank}_d(x')|

    with thresholds halfway between neighbouring values of the bound sample;
    :math:`\mathrm{rank}_d` counts the thresholds of feature d below a value. These are the
    stumps that AdaBoost and LPBoost select from (SVM-Mid in the papers).

    Examples
    --------
    >>> from kernsemble.kernels import MiddleStump
    >>> MiddleStump().bind([[0.0], [1.0], [8.0]])([[0.0], [1.0], [8.0]])
    array([[ 1.,  0., -1.],
           [ 0.,  1.,  0.],
           [-1.,  0.,  1.]])
    """

    def _with_constants(self, X: Rows, weight: FloatArray) -> Self:  # noqa: ARG002
        return replace(self, embodied=MiddleStumpSet.between(X))


@dataclass(frozen=True, eq=False, repr=False)
class Perceptron(DistanceEnsemble[PerceptronSet]):
    r"""The kernel that embodies every perceptron.

    .. math:: K(x, x') = \Delta - \|x - x'\|_2,
              \qquad \Delta = R\,\sqrt\pi\,\Gamma(\tfrac{D+1}2) / \Gamma(\tfrac D2)

    It is the inner product of the votes of all perceptrons
    :math:`\mathrm{sign}(\theta^\top (x-c) - a)`, :math:`\|\theta\| = 1`,
    :math:`a \in [-R, R]` (Definition 9), for rows in the ball of radius R around the mean c
    of the bound sample. For rows outside the ball only the simplified kernel is certain to
    be (conditionally) definite: bind the kernel to all rows it will be used on if that matters.

    Parameters
    ----------
    margin : float, default=0.05
        Excess of R over the largest distance from the mean, relative to that distance.

    Examples
    --------
    >>> from kernsemble.kernels import Perceptron
    >>> Perceptron().bind([[0.0, 0.0], [3.0, 4.0]])([[0.0, 0.0], [3.0, 4.0]])
    array([[ 4.12, -0.88],
           [-0.88,  4.12]])
    """

    margin: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("margin", self.margin)

    def _with_constants(self, X: Rows, weight: FloatArray) -> Self:
        return replace(self, embodied=PerceptronSet.spanning(X, self.margin, weight))

    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        if self.embodied is None:
            raise UnboundKernelError.of(self)
        return super()._embed(X, name)

    def _distance_tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return l2_tile(A, B)


@dataclass(frozen=True, eq=False, repr=False)
class Category(DistanceEnsemble[CategorySet]):
    r"""The kernel that embodies every "feature d is category c".

    .. math:: K(x, x') = \Delta - |\{d : x_d \ne x'_d\}|,
              \qquad \Delta = \tfrac14 \textstyle\sum_d k_d

    with :math:`k_d` categories of feature d in the bound sample. Categories are numbers or
    text. One that is not in the sample is half a step from every known one, so it
    changes no prediction. On 0/1 columns the simplified kernel is that of `Stump`.

    Examples
    --------
    >>> from kernsemble.kernels import Category
    >>> rows = [["red", "s"], ["red", "m"], ["blue", "m"]]
    >>> Category().bind(rows)(rows)
    array([[ 1.,  0., -1.],
           [ 0.,  1.,  0.],
           [-1.,  0.,  1.]])
    """

    supports_missing = True

    def _read(self, X: ArrayLike, n_features: int | None = None, name: str = "X") -> Rows:
        return as_categories(X, n_features, name)

    def _with_constants(self, X: Rows, weight: FloatArray) -> Self:  # noqa: ARG002
        return replace(self, embodied=CategorySet.within(X))

    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        return 0.5 * self.hypotheses.indicators(super()._embed(X, name))

    def _distance_tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return l1_tile(A, B)


@dataclass(frozen=True, eq=False, repr=False)
class Simplified(Wrapper):
    r"""A kernel :math:`\Delta - d(x, x')` without its constant: :math:`-d(x, x')`.

    It is conditionally definite: definite between coefficients that sum to zero, which is
    all that an SVM with a bias needs (Theorems 4 and 10).
    """

    kernel: DistanceEnsemble[Any]

    @property
    def is_neutral(self) -> bool:
        return False

    @property
    def is_conditional(self) -> bool:
        return True

    @property
    def simplified(self) -> "Simplified":
        return self

    @property
    def full(self) -> DistanceEnsemble[Any]:
        return self.kernel

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        distances = self.kernel._distance_tile(A, B)
        return np.negative(distances, out=distances)

    def _diagonal(self, A: Embedded) -> FloatArray:
        return np.zeros(n_rows(A))

    @property
    def _expression(self) -> str:
        return f"{self.kernel._operand}.simplified"


@dataclass(frozen=True, eq=False, repr=False)
class Constant(PointKernel):
    r"""The kernel :math:`K(x, x') = c > 0` of the two constant hypotheses.

    It has no effect on an SVM with a bias; a method without one gains a bias by it.

    Parameters
    ----------
    value : float, default=1.0
        The constant c.

    Examples
    --------
    >>> from kernsemble.kernels import Constant, Linear
    >>> (Linear() + Constant(2.0))([[1.0], [3.0]])
    array([[ 3.,  5.],
           [ 5., 11.]])
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("value", self.value)

    @property
    def hypotheses(self) -> ConstantSet:
        return ConstantSet(self.value)

    @property
    def is_neutral(self) -> bool:
        return True

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return np.full((n_rows(A), n_rows(B)), self.value)

    def _diagonal(self, A: Embedded) -> FloatArray:
        return np.full(n_rows(A), self.value)


@dataclass(frozen=True, eq=False, repr=False)
class HistogramIntersection(PointKernel):
    r"""The intersection of histograms, :math:`K(x, x') = 2 \sum_d \min(x_d, x'_d)`.

    As :math:`2\min(a, b) = a + b - |a - b|`, it gives the same SVM as `Stump`
    (section 4.1 of Lin and Li). Features that are negative in the bound sample are moved
    up to start at zero, and smaller values count as zero: the kernel is definite for any
    row.

    Examples
    --------
    >>> from kernsemble.kernels import HistogramIntersection
    >>> HistogramIntersection().bind([[3, 1], [1, 2]])([[3, 1], [1, 2]])
    array([[8., 4.],
           [4., 6.]])
    """

    origin: FloatArray | None = field(default=None, kw_only=True, repr=False)

    def _with_constants(self, X: Rows, weight: FloatArray) -> Self:  # noqa: ARG002
        return replace(self, origin=np.minimum(column_ends(X)[0], 0.0))

    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        if self.origin is None:
            raise UnboundKernelError.of(self)
        rows = super()._embed(X, name)
        if not sparse.issparse(rows):
            rows = np.maximum(rows - self.origin.astype(rows.dtype), 0.0)
        elif self.origin.any():
            raise ValueError(
                f"{name} is sparse and the bound sample has negative values, which need a shift: "
                "pass a dense array, or use Stump(), which gives the same SVM"
            )
        else:
            rows = rows.maximum(0.0)
        return rows, np.asarray(rows.sum(axis=1)).ravel()

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        (rows, sums), (other_rows, other_sums) = A, B
        return sums[:, np.newaxis] + other_sums - l1_tile(rows, other_rows)

    def _diagonal(self, A: Embedded) -> FloatArray:
        return 2.0 * A[1]

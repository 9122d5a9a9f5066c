r"""Radial kernels, which decay exponentially with a distance."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self, TypeAlias

import numpy as np
from scipy import sparse

from kernsemble._arguments import check_positive
from kernsemble._threads import run
from kernsemble._typing import Array, ArrayLike, FloatArray, Rows
from kernsemble._validation import ANY_SHAPE, check_place, checked_rows, column_ends
from kernsemble.exceptions import UnboundKernelError
from kernsemble.hypotheses import HypothesisSet, PerceptronSet, Regions, StumpSet
from kernsemble.kernels.base import PointKernel
from kernsemble.kernels.distances import l1_tile, l2_tile, squared_l2_tile
from kernsemble.kernels.gram import TILE_ROWS, Embedded, TileFunction, fill_gram, n_rows
from kernsemble.kernels.regions import exponential_series

ROWS_FOR_SCALE = 2_000  # maximum number of rows for the mean distance
SPAN = TILE_ROWS**2  # numbers that fit into the cache
LARGEST_EXPONENT = 700.0
LARGEST_COUNT = 2**50  # largest number of copies whose halves floats represent exactly
LARGEST_FLOAT = np.finfo(np.float64).max

Rule: TypeAlias = Literal["scale", "spread"]


@dataclass(frozen=True, eq=False, repr=False)
class Radial(PointKernel):
    r"""A kernel :math:`\exp(-\gamma\, d(x, x'))`."""

    gamma: float | Rule = "scale"
    rate: float | None = field(default=None, kw_only=True, repr=False)  # gamma as a number

    rules: ClassVar[tuple[str, ...]] = ("scale",)  # values of gamma that `bind` replaces
    power: ClassVar[Literal[1, 2]]  # of the differences of features that distances add up

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.gamma, str) and self.gamma in self.rules):
            check_positive("gamma", self.gamma)
            object.__setattr__(self, "rate", float(self.gamma))

    @abstractmethod
    def _distance_tile(self, A: Embedded, B: Embedded) -> FloatArray:
        """Return the distances between a few rows as a new array."""

    def distances(
        self, X: ArrayLike, Y: ArrayLike | None = None, out: FloatArray | None = None
    ) -> FloatArray:
        r"""Return :math:`d(x, x')` for every row x of `X` and x' of `Y`.

        They do not depend on gamma: one matrix serves all kernels of this class, through
        `from_distances`, and the kernel need not be bound.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            Rows.
        Y : the same, of shape (m, n_features), optional
            Other rows; without them those of `X` are compared with each other.
        out : array of shape (n, m), optional
            Array for the result.

        Returns
        -------
        array of shape (n, m)

        Examples
        --------
        >>> from kernsemble.kernels import Gaussian
        >>> D = Gaussian().distances([[0.0, 0.0], [3.0, 4.0]])
        >>> D
        array([[ 0., 25.],
               [25.,  0.]])
        >>> Gaussian(gamma=0.02).from_distances(D)
        array([[1.  , 0.61],
               [0.61, 1.  ]])
        """
        A = super()._embed(X, "X")
        B = None if Y is None or Y is X else super()._embed(Y, "Y")
        return fill_gram(self._distance_tile, A, B, out)

    def from_distances(self, D: ArrayLike, out: FloatArray | None = None) -> FloatArray:
        r"""Return the kernel matrix :math:`\exp(-\gamma D)` of given distances.

        Parameters
        ----------
        D : array-like of shape (n, m)
            Distances, as returned by `distances` of any kernel of this class.
        out : array of shape (n, m), optional
            Array for the result; `D` itself, if it is no longer needed.

        Returns
        -------
        array of shape (n, m)
            Float32 when `D` is, float64 otherwise.

        Notes
        -----
        Each thread needs additional memory for 384 × 384 numbers.

        Examples
        --------
        >>> from kernsemble.kernels import Laplacian
        >>> Laplacian(gamma=0.5).from_distances([[0.0, 1.0], [1.0, 0.0]])
        array([[1.  , 0.61],
               [0.61, 1.  ]])
        """
        if self.rate is None:
            raise UnboundKernelError.of(self)
        D = _matrix(D)
        dtype = np.dtype(np.float32 if D.dtype == np.float32 else np.float64)
        place = np.empty(D.shape, dtype) if out is None else _place_beside(D, out)

        def work(rows: slice) -> None:
            values = self._from_distances(np.array(D[rows], dtype, order="C"))
            if not values.max(initial=0.0) <= 1.0:  # or NaN
                raise ValueError(
                    "D contains NaN or negative numbers, which are not distances: pass the result "
                    f"of {type(self).__name__}().distances(X)"
                )
            place[rows] = values

        height = max(SPAN // max(D.shape[1], 1), 1)
        run(work, [slice(start, start + height) for start in range(0, len(D), height)])
        return place

    def _with_constants(self, X: Rows, weight: FloatArray) -> Self:
        if self.gamma != "scale":
            return self
        return replace(self, rate=_inverse_mean_distance(self._distance_tile, X, weight))

    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        if self.rate is None:
            raise UnboundKernelError.of(self)
        return super()._embed(X, name)

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return self._from_distances(self._distance_tile(A, B))

    def _from_distances(self, distances: FloatArray) -> FloatArray:
        """Return the kernel from distances, which are overwritten."""
        assert self.rate is not None
        rate = min(self.rate, float(np.finfo(distances.dtype).max))  # zero times infinity is NaN
        with np.errstate(over="ignore"):  # exp(-inf) is 0, and no distance is negative
            distances *= -rate
            return np.exp(distances, out=distances)

    def _from_sums(self, sums: FloatArray) -> FloatArray:
        """Return the kernel from sums of powers of differences, which are overwritten."""
        return self._from_distances(sums)

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
                "which exceeds the range of floats: use a smaller gamma"
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
        Rate of decay; "scale" is 1 over the mean distance between rows of the bound sample.

    Examples
    --------
    >>> from kernsemble.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0], [1.0]])
    array([[1.  , 0.61],
           [0.61, 1.  ]])
    """

    power = 1

    def _with_constants(self, X: Rows, weight: FloatArray) -> Self:
        return replace(super()._with_constants(X, weight), conditions=StumpSet.spanning(X))

    def _distance_tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return l1_tile(A, B)


class Exponential(_RadialEnsemble):
    r"""The kernel :math:`K(x, x') = \exp(-\gamma \|x - x'\|_2)`.

    In the ball around the bound sample it embodies all polytopes: conjunctions of any
    number of perceptrons.

    Parameters
    ----------
    gamma : float or "scale", default="scale"
        Rate of decay; "scale" is 1 over the mean distance between rows of the bound sample.

    Examples
    --------
    >>> from kernsemble.kernels import Exponential
    >>> Exponential(gamma=0.1)([[0.0, 0.0], [3.0, 4.0]])
    array([[1.  , 0.61],
           [0.61, 1.  ]])
    """

    power = 2

    def _with_constants(self, X: Rows, weight: FloatArray) -> Self:
        ball = PerceptronSet.spanning(X, weight=weight)
        return replace(super()._with_constants(X, weight), conditions=ball)

    def _distance_tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return l2_tile(A, B)

    def _from_sums(self, sums: FloatArray) -> FloatArray:
        return self._from_distances(np.sqrt(sums, out=sums))


class Gaussian(Radial):
    r"""The kernel :math:`K(x, x') = \exp(-\gamma \|x - x'\|_2^2)`.

    The most common kernel of SVMs, included for comparison: no set of hypotheses that vote is
    known for it.

    Parameters
    ----------
    gamma : float, "scale" or "spread", default="scale"
        Rate of decay; "scale" is 1 over the mean squared distance between two rows of the bound
        sample, "spread" (short name "gaussian-spread") is 1 over the mean squared distance of
        its rows from their mean, as in Tsang and Kwok (2007). The second is twice the first, but
        for a factor n/(n - 1) with n rows.

    Examples
    --------
    >>> from kernsemble.kernels import Gaussian
    >>> Gaussian(gamma=0.02)([[0.0, 0.0], [3.0, 4.0]])
    array([[1.  , 0.61],
           [0.61, 1.  ]])
    >>> Gaussian("spread").bind([[0.0, 0.0], [3.0, 4.0]]).rate
    0.16
    """

    rules = ("scale", "spread")
    power = 2

    def _with_constants(self, X: Rows, weight: FloatArray) -> Self:
        if self.gamma == "spread":
            return replace(self, rate=_inverse_spread(X, weight))
        return super()._with_constants(X, weight)

    def _distance_tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return squared_l2_tile(A, B)


def _matrix(D: ArrayLike) -> Array:
    matrix: Array = checked_rows(D, "D", dtype=None, **ANY_SHAPE)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise ValueError(
            f"D has shape {matrix.shape} and type {matrix.dtype}: pass a matrix of distances"
        )
    return matrix


def _place_beside(D: Array, out: FloatArray) -> FloatArray:
    """Return `out` if it is `D` itself or shares no memory with it."""
    check_place(out, D.shape)
    same = (
        D.__array_interface__["data"] == out.__array_interface__["data"]
        and D.strides == out.strides
        and D.dtype == out.dtype
    )
    if not same and np.may_share_memory(D, out):
        raise ValueError("out shares memory with D: pass D itself, or memory of its own")
    return out


def _inverse_mean_distance(distance: TileFunction, X: Rows, weight: FloatArray) -> float:
    r"""Return 1 over the mean distance between two different rows, 1 when all are equal.

    Weights are repetitions: with n the sum of the weights,
    :math:`\sum_{ij} w_i w_j d_{ij} / n(n-1)` is the mean over the pairs of copies, those of one
    row at distance zero. Weights that sum to less than the number of rows are shares, and n is
    the number of rows. For large n the mean is taken over a sample, see `_thinned`.
    """
    X, weight = _thinned(X, weight)
    if abs(X - X[[0] * X.shape[0]]).max() == 0.0:
        return 1.0
    n, share = max(weight.sum(), float(len(weight))), weight / weight.sum()
    mean = float(share @ fill_gram(distance, X) @ share) * n / (n - 1.0)
    if not 1.0 / LARGEST_FLOAT < mean < LARGEST_FLOAT:
        raise ValueError(
            f"gamma = 'scale': the mean distance of rows is {mean:.3g}, whose inverse is not a "
            "finite float: scale the columns"
        )
    return 1.0 / mean


def _inverse_spread(X: Rows, weight: FloatArray) -> float:
    """Return 1 over the mean squared distance of rows from their mean, 1 when all are equal."""
    smallest, largest = column_ends(X)
    if (smallest == largest).all():
        return 1.0
    share = weight / weight.sum()
    mean = share @ X
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        if sparse.issparse(X):
            squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
            spread = float(share @ squares - mean @ mean)
        else:
            spread = float(share @ np.square(X - mean).sum(axis=1))
        rate = 1.0 / spread if spread > 0.0 else 1.0
    if not 0.0 < rate < np.inf:
        raise ValueError(
            f"gamma = 'spread': the mean squared distance of rows from their mean is {spread:.3g}, "
            "whose inverse is not a finite float: scale the columns, for example with "
            "scaling='range'"
        )
    return rate


def _thinned(X: Rows, weight: FloatArray) -> tuple[Rows, FloatArray]:
    """Return a sample of at most 2,000 rows and the number of draws of each.

    The rows, each repeated by its weight, are numbered; of more than 2,000 numbers a random
    sample is drawn, with a fixed seed. So it costs at most linear time, and integer weights
    draw the same sample as repeated rows. Other weights draw rows in proportion, as if they
    were scaled to an integer sum.
    """
    ends = np.cumsum(weight)
    n = min(max(round(ends[-1]), len(weight)), LARGEST_COUNT)
    if n <= ROWS_FOR_SCALE:
        return X, weight
    chosen = np.random.default_rng(0).choice(n, ROWS_FOR_SCALE, replace=False)
    middles = (chosen + 0.5) * (ends[-1] / n)
    rows, times = np.unique(np.searchsorted(ends, middles), return_counts=True)
    return X[rows], times.astype(np.float64)

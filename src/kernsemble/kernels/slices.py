r"""Slices: a kernel as a sum of one-dimensional kernels.

.. math:: K(x, x') = \kappa - \sum_k |p_k(x) - p_k(x')| - \sum_j w_j\, d(c_j(x), c_j(x'))

Ordered slices use a number :math:`u_k(x)`, a coordinate or a projection, and place it on a line:
:math:`p_k = m_k(u_k)`, with :math:`m_k` increasing. Unordered slices use a category; d is 0
between equal categories, 1 between different ones, and ½ where one of the two was not in the
bound sample. Within the sample :math:`d = 1 - 1[c = c']`, and an unknown category is ½ from all
of it: an SVM with a bias, whose coefficients sum to zero, is the same with :math:`-w\,d` and with
:math:`w\,1[c = c']`, where an unknown category equals none.

Stumps and categories are such sums. The perceptron kernel is the mean of infinitely many, one per
direction,

.. math:: \|x - x'\|_2 = \tfrac1{c_D}\, E_\theta |\theta^\top (x - x')|,
          \qquad c_D = E|\theta_1|,

of which `slices_of` samples some: only directions are sampled, not thresholds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import chain
from typing import Any, Self

import numpy as np

from kernsemble._arguments import as_generator, check_count
from kernsemble._typing import Array, ArrayLike, FloatArray, IntArray
from kernsemble._validation import as_table
from kernsemble._value_object import Value
from kernsemble.exceptions import UnboundKernelError
from kernsemble.kernels.algebra import Logic, OnColumns, Scaled, Sum
from kernsemble.kernels.base import Kernel
from kernsemble.kernels.directions import enough_directions, slicing_error, spread_directions
from kernsemble.kernels.distances import l1_tile
from kernsemble.kernels.ensemble import (
    Category,
    Constant,
    DistanceEnsemble,
    HistogramIntersection,
    MiddleStump,
    Perceptron,
    Simplified,
    Stump,
)
from kernsemble.kernels.gram import Embedded, fill_gram
from kernsemble.kernels.radial import Laplacian
from kernsemble.kernels.regions import DecisionTree
from kernsemble.kernels.slice_parts import Categories, Coordinates, Directions, OrderedPart


class NoSlicesError(ValueError):
    """Error for a kernel that is not a sum of one-dimensional kernels."""

    @classmethod
    def of(cls, kernel: Kernel, remedy: str = "use its matrix, kernel(X)") -> Self:
        """Return the error for the part that has no slices."""
        return cls(
            f"{kernel} is not a sum of one-dimensional kernels, as are Stump(), MiddleStump(), "
            "Perceptron(), Category(), Constant() and their sums and multiples on any columns: "
            f"{remedy}"
        )


def slices_of(
    kernel: Kernel,
    *,
    n_slices: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> "Slices":
    """Return the slices of a bound kernel.

    Parameters
    ----------
    kernel : Kernel
        Bound kernel. `Stump`, `MiddleStump`, `Category` and `Constant` have exact slices,
        `Perceptron` has sampled ones (exact on one column); multiples, sums, `.on(columns)`,
        `simplified` and `logic` combine the slices of their parts.
    n_slices : int or None, default=None
        Number of directions for each perceptron kernel; by default that of `enough_directions`.
    random_state : int, numpy.random.Generator or None, default=None
        Random seed of the directions.

    Raises
    ------
    NoSlicesError
        If a part of the kernel is not a sum of one-dimensional kernels.

    Examples
    --------
    >>> from kernsemble.kernels import Perceptron, Stump
    >>> X = [[0.0, 0.0], [3.0, 4.0]]
    >>> kernel = (Stump() + 2.0 * Perceptron()).bind(X)
    >>> kernel(X)
    array([[12.10, -4.90],
           [-4.90, 12.10]])
    >>> slices = slices_of(kernel, n_slices=64, random_state=0)
    >>> slices.kernel(X)
    array([[12.10, -4.90],
           [-4.90, 12.10]])
    >>> slices.positions(X).shape
    (2, 66)
    """
    if n_slices is not None:
        check_count("n_slices", n_slices)
    if kernel.n_features is None:
        raise UnboundKernelError.of(kernel)
    return _sliced(kernel, n_slices, as_generator(random_state))


@dataclass(frozen=True, eq=False, repr=False)
class Slices(Value):
    r"""A kernel :math:`\kappa - \sum_k |p_k(x) - p_k(x')| - \sum_j w_j\, d(c_j(x), c_j(x'))`.

    A solver uses `positions` and `codes`; or, to quantise values before they are placed, `views`
    and `position`. Views do not depend on the measure of thresholds, so kernels that differ in the
    measure only can share their quantised views.

    Attributes
    ----------
    ordered : tuple
        The parts with numbers.
    unordered : tuple
        The parts with categories.
    constant : float
        :math:`\kappa`, which has no effect on an SVM with a bias.

    Examples
    --------
    >>> from kernsemble.kernels import Category, Stump
    >>> X = [[0.0, 1.0], [3.0, 1.0], [1.0, 2.0]]
    >>> slices = slices_of((2.0 * Stump().on(0) + Category().on(1)).bind(X))
    >>> slices.positions(X)
    array([[0.],
           [6.],
           [2.]])
    >>> slices.codes(X)
    array([[0],
           [0],
           [1]])
    >>> slices.weights, slices.is_exact
    (array([1.]), True)
    """

    ordered: tuple["OrderedPart", ...] = ()
    unordered: tuple["Categories", ...] = ()
    constant: float = 0.0

    @property
    def n_ordered(self) -> int:
        """The number of ordered slices."""
        return sum(part.n_slices for part in self.ordered)

    @property
    def n_unordered(self) -> int:
        """The number of unordered slices."""
        return sum(part.n_slices for part in self.unordered)

    @property
    def columns(self) -> IntArray:
        """The column of each ordered slice, −1 for a projection."""
        return _joined([part.columns for part in self.ordered])

    @property
    def weights(self) -> FloatArray:
        """The weights w of the unordered slices; ordered slices are weighted by their positions."""
        each = [part.factor for part in self.unordered for _ in range(part.n_slices)]
        return np.array(each, dtype=np.float64)

    @property
    def error(self) -> float:
        r"""The root mean square relative error of distances; 0 if slices are exact.

        It is the expected error for any pair of rows (over `random_state`), and the error of
        these slices over pairs that differ in a random direction: see `slicing_error`. The error
        of a sum is at most that of its worst part.
        """
        return max((part.error for part in self.ordered), default=0.0)

    @property
    def is_exact(self) -> bool:
        """Whether the slices are exact: no direction was sampled."""
        return self.error == 0.0

    def views(self, X: ArrayLike) -> FloatArray:
        r"""Return the numbers :math:`u_k(x)` of shape (n, n_ordered), which may be `X` itself."""
        return _beside(X, [part.views(X) for part in self.ordered], np.float64)

    def position(self, k: int, values: FloatArray) -> FloatArray:
        r"""Return :math:`m_k` of values of the k-th view; of NaN it is NaN."""
        for part in self.ordered:
            if k < part.n_slices:
                return part.position(k, values)
            k -= part.n_slices
        raise IndexError(f"there are only {self.n_ordered} ordered slices")

    def positions(self, X: ArrayLike) -> FloatArray:
        r"""Return :math:`p_k(x)` of shape (n, n_ordered), float32 where the rows are."""
        return _beside(X, [part.positions(X) for part in self.ordered], np.float64)

    def codes(self, X: ArrayLike) -> IntArray:
        """Return the categories of rows of shape (n, n_unordered), −1 for unknown ones."""
        return _beside(X, [part.codes(X) for part in self.unordered], np.intp)

    def kernel(self, X: ArrayLike, Y: ArrayLike | None = None) -> FloatArray:
        """Return the sum itself between all rows of `X` and all rows of `Y`."""
        A = self.positions(X), self.codes(X)
        return fill_gram(self._tile, A, None if Y is None else (self.positions(Y), self.codes(Y)))

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        (positions, codes), (others, other_codes) = A, B
        distances = l1_tile(positions, others)
        for weight, left, right in zip(self.weights, codes.T, other_codes.T, strict=True):
            distances += weight * _disagreements(left, right)
        return self.constant - distances

    def scaled(self, factor: float) -> "Slices":
        """Return the slices of a multiple of the kernel."""
        return Slices(
            tuple(part.scaled(factor) for part in self.ordered),
            tuple(part.scaled(factor) for part in self.unordered),
            factor * self.constant,
        )

    def on(self, columns: OnColumns) -> "Slices":
        """Return the slices of the kernel on the columns of another kernel."""
        return Slices(
            tuple(part.on(columns) for part in self.ordered),
            tuple(part.on(columns) for part in self.unordered),
            self.constant,
        )


def _disagreements(left: IntArray, right: IntArray) -> FloatArray:
    """Return d between all categories of two lists."""
    known = 0.5 * (left >= 0)[:, np.newaxis] + 0.5 * (right >= 0)
    return known - ((left[:, np.newaxis] == right) & (right >= 0))


def _beside(X: ArrayLike, blocks: Sequence[Array], dtype: Any) -> Array:
    if len(blocks) == 1:
        return blocks[0]
    return np.hstack(blocks) if blocks else np.empty((as_table(X).shape[0], 0), dtype)


def _joined(columns: Sequence[IntArray]) -> IntArray:
    return np.fromiter(chain(*columns), dtype=np.intp)


@singledispatch
def _sliced(kernel: Kernel, n_slices: int | None, rng: np.random.Generator) -> Slices:  # noqa: ARG001
    raise NoSlicesError.of(kernel)


@_sliced.register(Stump)
@_sliced.register(MiddleStump)
def _slices_of_stumps(kernel: DistanceEnsemble[Any], *_: object) -> Slices:
    return Slices(ordered=(Coordinates(kernel),), constant=kernel.delta)


@_sliced.register
def _slices_of_perceptrons(
    kernel: Perceptron, n_slices: int | None, rng: np.random.Generator
) -> Slices:
    n_features = kernel.hypotheses.n_features
    n = enough_directions(n_features) if n_slices is None else n_slices
    directions = spread_directions(n, n_features, rng)
    part = Directions(kernel, directions, error=slicing_error(directions))
    return Slices(ordered=(part,), constant=kernel.delta)


@_sliced.register
def _slices_of_categories(kernel: Category, *_: object) -> Slices:
    return Slices(unordered=(Categories(kernel),), constant=kernel.delta)


@_sliced.register
def _slices_of_constant(kernel: Constant, *_: object) -> Slices:
    return Slices(constant=kernel.value)


@_sliced.register
def _slices_of_sum(kernel: Sum, n_slices: int | None, rng: np.random.Generator) -> Slices:
    parts = [_sliced(part, n_slices, rng) for part in kernel.parts]
    return Slices(
        tuple(chain.from_iterable(part.ordered for part in parts)),
        tuple(chain.from_iterable(part.unordered for part in parts)),
        sum(part.constant for part in parts),
    )


@_sliced.register
def _slices_of_multiple(kernel: Scaled, n_slices: int | None, rng: np.random.Generator) -> Slices:
    return _sliced(kernel.kernel, n_slices, rng).scaled(kernel.factor)


@_sliced.register
def _slices_of_columns(kernel: OnColumns, n_slices: int | None, rng: np.random.Generator) -> Slices:
    return _sliced(kernel.kernel, n_slices, rng).on(kernel)


@_sliced.register
def _slices_of_simplified(
    kernel: Simplified, n_slices: int | None, rng: np.random.Generator
) -> Slices:
    return replace(_sliced(kernel.kernel, n_slices, rng), constant=0.0)


@_sliced.register
def _slices_of_logic(kernel: Logic, n_slices: int | None, rng: np.random.Generator) -> Slices:
    inner = _sliced(kernel.kernel, n_slices, rng)
    return replace(inner, constant=inner.constant + kernel.kernel.delta).scaled(0.25)


@_sliced.register
def _slices_of_intersection(kernel: HistogramIntersection, *_: object) -> Slices:
    raise NoSlicesError.of(kernel, "use Stump(), which gives the same SVM")


@_sliced.register(Laplacian)
@_sliced.register(DecisionTree)
def _slices_of_trees(kernel: Kernel, *_: object) -> Slices:
    raise NoSlicesError.of(kernel, "use random binning, binning.bin_rows(kernel, X)")

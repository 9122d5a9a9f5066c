r"""A learned measure over features: the share of hypotheses that each feature gets.

A kernel of the distance :math:`\sum_d w_d |u_d - u'_d|` embodies stumps, or conjunctions of them,
of which a share proportional to :math:`w_d` is on feature d. The weights are learned from the
function that they lead to (Radhakrishnan, Beaglehole, Pandit & Belkin 2024): fit f by least
squares, multiply each weight by the root mean square of the slopes of f along its feature, with
the largest weight 1, and fit again. The round with the smallest left-out error is kept.

A function also has slopes along features that do not matter, from noise, and more of them the
fewer the rows. So functions :math:`f, f'` are fitted to two halves of the rows,
drawn anew for each round:

.. math:: w_d \propto \Bigl(\tfrac1n \textstyle\sum_i
          \frac{\partial f}{\partial u_d}(x_i)\, \frac{\partial f'}{\partial u_d}(x_i)
          \Bigr)_+^{1/2} ,

whose expectation is zero where the slopes are noise. Each half is predicted by the function of
the other, which is the left-out error. For Euclidean distances, the whole matrix
:math:`\tfrac1n \sum_i \nabla f \nabla f'^\top` is a measure over directions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.kernels import Exponential, Laplacian
from kernsemble.kernels.radial import Radial
from kernsemble.solvers.equal_rows import EqualRows
from kernsemble.solvers.feature_gradients import slopes
from kernsemble.solvers.ridge import Ridge

Norm: TypeAlias = Literal["l1", "l2"]

N_ROUNDS = 4
MAX_TARGETS = 6  # number of targets above which slopes are those of combinations of them
MAX_ROWS = 1_500  # number of rows above which the measure is learned from a sample of them
STRENGTHS = (1.0, 6.0, 36.0)  # values of C, for kernels with the value 1 at distance 0
SMALLEST = 1e-3  # weights below this share of the largest one are zero
PATIENCE = 0.02  # relative rise of the left-out error at which learning ends
TINY = 1e-9  # smallest distance of rows, relative to the mean


@dataclass(frozen=True, eq=False, repr=False)
class MeasureRound(Value):
    """A round of learning: the measure, and the left-out error of the functions on it.

    Attributes
    ----------
    weights : array of shape (n_coordinates,) or (n_coordinates, n_coordinates)
        The weight of each feature; or the matrix that coordinates are multiplied by.
    left_out_error : float
        Mean squared error of each half of the rows, predicted by the function of the other, as a
        share of the variance of the targets.
    """

    weights: FloatArray
    left_out_error: float


@dataclass(frozen=True, eq=False, repr=False)
class LearnedScaling(Value):
    """A scaling, and weights of its coordinates that were learned.

    Attributes
    ----------
    base : FeatureScaling, EffectScaling or IndicatorScaling
        The scale below the weights.
    weights : array of shape (n_coordinates,) or (n_coordinates, n_coordinates)
        The weight of each coordinate, at most 1; or a matrix of directions.
    rounds : tuple of MeasureRound
        All rounds, the first with equal weights.
    unit : float
        Factor of all coordinates.
    """

    base: Any
    weights: FloatArray
    rounds: tuple[MeasureRound, ...]
    unit: float = 1.0

    @property
    def kind(self) -> str:
        """The name of the scaling, as estimators accept it."""
        if self.weights.ndim == 2:
            return "learned-directions"
        return "learned" if self.base.kind == "rank" else f"learned-{self.base.kind}"

    @property
    def accepts_categories(self) -> bool:
        """Whether rows may have categories and missing values."""
        return bool(self.base.accepts_categories)

    def columns_of(self, coordinates: IntArray) -> IntArray:
        """Return the column that each coordinate of the base depends on."""
        return np.asarray(self.base.columns_of(coordinates))

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the weighted coordinates of rows."""
        return weighted(self.base.transform(X), self.unit * self.weights)

    def feature_shares(self, n_features: int) -> FloatArray:
        """Return the share of the hypotheses on each feature, which sum to 1."""
        sizes = np.abs(self.weights) if self.weights.ndim == 1 else _lengths(self.weights)
        columns = self.columns_of(np.arange(len(sizes)))
        shares = np.bincount(columns, sizes, minlength=n_features)
        return np.asarray(shares / (shares.sum() or 1.0))


def weighted(coordinates: FloatArray, weights: FloatArray) -> FloatArray:
    """Return coordinates times weights, one for each or a matrix."""
    weights = weights.astype(coordinates.dtype)
    return coordinates * weights if weights.ndim == 1 else coordinates @ weights


def learn_measure(
    coordinates: FloatArray,
    targets: FloatArray,
    weight: FloatArray,
    norm: Norm = "l1",
    has_directions: bool = False,
    n_rounds: int = N_ROUNDS,
    max_rows: int = MAX_ROWS,
    seed: int = 0,
) -> tuple[MeasureRound, ...]:
    """Return all rounds of learning, the first with equal weights.

    Parameters
    ----------
    coordinates : array of shape (n, n_coordinates)
        Scaled rows.
    targets : array of shape (n, n_targets)
        Signs of classes, or standardised numbers.
    weight : array of shape (n,)
        Weights of the rows, as repetition.
    norm : {"l1", "l2"}
        Norm of the distance between rows.
    has_directions : bool
        Whether to learn directions, for the Euclidean norm, in place of a weight per feature.
    n_rounds : int
        Number of rounds after the first.
    max_rows : int
        Number of rows above which a random sample of them is used.
    seed : int
        Random seed of the sample.
    """
    u, y, counts = _sampled(coordinates, targets, weight, max_rows, seed)
    u, y = u.astype(np.float32), _projected(y, seed)
    n_coordinates = u.shape[1]
    weights = np.eye(n_coordinates) if has_directions else np.ones(n_coordinates)
    rounds: list[MeasureRound] = []
    best_C = STRENGTHS[0]
    for number in range(n_rounds + 1):
        halves = _halves(len(u), seed + number)
        strengths = (best_C,) if number else STRENGTHS
        fit = _TwoHalves.from_rows(weighted(u, weights), y, counts, halves, norm, strengths)
        best_C = fit.C
        rounds.append(MeasureRound(weights, fit.error))
        is_worse = fit.error > (1.0 + PATIENCE) * best_round(rounds).left_out_error
        if number == n_rounds or is_worse or fit.is_constant:
            break
        if has_directions:
            weights = _root(weights @ fit.gradient_products() @ weights)
        else:
            weights = _normalised(weights * np.sqrt(np.maximum(fit.squared_slopes(), 0.0)))
    return tuple(rounds)


def best_round(rounds: Sequence[MeasureRound]) -> MeasureRound:
    """Return the round with the smallest left-out error, the earliest of equal ones."""
    return min(rounds, key=lambda each: each.left_out_error)


@dataclass(frozen=True, eq=False)
class _TwoHalves:
    """Functions fitted to the two halves of some rows, and their error on the other half."""

    u: FloatArray
    W: FloatArray  # kernel, divided by the distance for the Euclidean norm
    halves: tuple[IntArray, IntArray]
    beta: tuple[FloatArray, FloatArray]
    counts: FloatArray
    C: float
    error: float
    has_signs: bool

    @classmethod
    def from_rows(
        cls,
        u: FloatArray,
        y: FloatArray,
        counts: FloatArray,
        halves: tuple[IntArray, IntArray],
        norm: Norm,
        strengths: Sequence[float],
    ) -> Self:
        """Fit the functions at the C with the smallest error."""
        kernel: Radial = Laplacian() if norm == "l1" else Exponential()
        D = kernel.distances(u)
        share = counts / counts.sum()
        mean = float(share @ D @ share)
        K = type(kernel)(1.0 / mean if mean > 0.0 else 1.0).from_distances(D)
        fits = [_fit_halves(K, y, counts, halves, C) for C in strengths]
        best = int(np.argmin([error for error, _ in fits]))
        error, beta = fits[best]
        W = K if norm == "l1" else K / np.maximum(D, TINY * (mean or 1.0))
        variance = float((share @ (y - share @ y) ** 2).sum()) or 1.0
        return cls(u, W, halves, beta, share, strengths[best], error / variance, norm == "l1")

    @property
    def is_constant(self) -> bool:
        """Whether all rows are equal."""
        return not np.any(self.u != self.u[0])

    def _slopes(self, half: int) -> FloatArray:
        """Return the slopes of a half's function at all rows, by target, row and coordinate."""
        rows, beta = self.halves[half], self.beta[half]
        W = np.ascontiguousarray(self.W[:, rows])
        return slopes(W, beta.astype(W.dtype), self.u, self.u[rows], self.has_signs)

    def squared_slopes(self) -> FloatArray:
        """Return the mean product of both functions' slopes along each coordinate."""
        products = self._slopes(0) * self._slopes(1)
        return np.asarray(np.einsum("i,kid->d", self.counts, products))

    def gradient_products(self) -> FloatArray:
        """Return the mean outer product of both functions' gradients."""
        first, second = self._slopes(0), self._slopes(1)
        return np.asarray(np.einsum("i,kid,kie->de", self.counts, first, second, optimize=True))


def _halves(n: int, seed: int) -> tuple[IntArray, IntArray]:
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[::2]), np.sort(order[1::2])


def _fit_halves(
    K: FloatArray,
    y: FloatArray,
    counts: FloatArray,
    halves: tuple[IntArray, IntArray],
    C: float,
) -> tuple[float, tuple[FloatArray, FloatArray]]:
    """Return the mean squared error of the functions on the other half, and their coefficients."""
    error, coefficients = 0.0, list[FloatArray]()
    for mine, others in (halves, halves[::-1]):
        if len(mine) == 0:
            coefficients.append(np.zeros((0, y.shape[1])))
            continue
        ridge = Ridge.from_matrix(K[np.ix_(mine, mine)], C * counts[mine])
        beta, bias = ridge.solve(y[mine])
        predicted = K[np.ix_(others, mine)] @ beta.astype(K.dtype)
        residual = y[others] - predicted - bias
        error += float((counts[others] @ residual**2).sum()) / counts.sum()
        coefficients.append(beta)
    return error, (coefficients[0], coefficients[1])


def _sampled(
    coordinates: FloatArray, targets: FloatArray, weight: FloatArray, most: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the distinct rows and their weights, or a random sample of them."""
    present = np.flatnonzero(weight > 0.0)
    found = EqualRows.of(coordinates[present], targets[present])
    rows, counts = present[found.first], found.sums(weight[present])
    if len(rows) > most:
        rng = np.random.default_rng(seed)
        drawn = np.sort(rng.choice(len(rows), most, replace=False, p=counts / counts.sum()))
        rows, counts = rows[drawn], np.ones(most)
    return coordinates[rows], targets[rows], counts


def _projected(y: FloatArray, seed: int) -> FloatArray:
    """Return few random combinations of many targets, which keep sums of squares on average."""
    n_targets = y.shape[1]
    if n_targets <= MAX_TARGETS:
        return y
    draws = np.random.default_rng(seed).normal(size=(n_targets, MAX_TARGETS))
    return np.asarray(y @ draws / np.sqrt(MAX_TARGETS))


def _normalised(weights: FloatArray) -> FloatArray:
    largest = float(weights.max())
    if not largest > 0.0:
        return np.ones_like(weights)
    weights = weights / largest
    return np.where(weights < SMALLEST, 0.0, weights)


def _root(products: FloatArray) -> FloatArray:
    """Return the root of the positive part of a matrix, with largest eigenvalue 1."""
    values, vectors = np.linalg.eigh(0.5 * (products + products.T))
    largest = float(values.max())
    if not largest > 0.0:
        return np.eye(len(products))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0) / largest)) @ vectors.T)


def _lengths(matrix: FloatArray) -> FloatArray:
    return np.sqrt((matrix**2).sum(axis=1))

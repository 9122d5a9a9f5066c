r"""Decision stumps :math:`q\,\mathrm{sign}(x_d - a)` and measures on their thresholds.

A stump votes +q above its threshold and −q at or below it. Sets differ in the measure of
their thresholds: the position :math:`M_d(v)` is the measure of the thresholds of
feature d below the value v, and the kernel of any of these sets is
:math:`\Delta - \sum_d |M_d(x_d) - M_d(x'_d)|`.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Self, TypeAlias, get_args

import numpy as np
from scipy import sparse

from kernsemble._arguments import check_choice, check_positive
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble._validation import as_features, present_rows
from kernsemble.hypotheses.base import FiniteSet, Hypotheses, HypothesisSet

Measure: TypeAlias = Literal["uniform", "empirical", "distinct"]

SQUARED_EMBEDDING = 0.25  # r = 1/2 on each stump, as in Definition 3


@dataclass(frozen=True, eq=False, repr=False)
class Stumps(Hypotheses):
    """Decision stumps stored as arrays: ``polarity * sign(x[feature] - threshold)``."""

    polarity: FloatArray
    feature: IntArray
    threshold: FloatArray

    def vote(self, X: Rows) -> FloatArray:
        above = _dense(as_features(X))[:, self.feature] > self.threshold
        return np.where(above, self.polarity, -self.polarity)


@dataclass(frozen=True, eq=False, repr=False)
class StumpCells(FiniteSet):
    """The stumps of a set in groups that vote the same on a sample.

    Members are representatives, `measure` is that of the whole group. `lower` and `upper`
    are the positions between which the thresholds of the group lie.
    """

    members: Stumps
    stumps: "ThresholdSet"
    lower: FloatArray
    upper: FloatArray

    def average_vote(self, X: Rows) -> FloatArray:
        r"""Return the mean vote :math:`\hat s` of each group: a ramp from −q to q (Theorem 8)."""
        positions = self.stumps.positions(_dense(as_features(X)))[:, self.members.feature]
        share_below = (positions - self.lower) / (self.upper - self.lower)
        return self.members.polarity * (2.0 * np.clip(share_below, 0.0, 1.0) - 1.0)


class ThresholdSet(HypothesisSet):
    """Stumps of both polarities with a measure on the thresholds of each feature."""

    @property
    @abstractmethod
    def feature_measure(self) -> FloatArray:
        """The measure of all thresholds of each feature, before the factor r²."""

    @abstractmethod
    def _measure_below(self, feature: int, values: FloatArray) -> FloatArray:
        """Return the measure of the thresholds of one feature below each value."""

    @abstractmethod
    def _threshold_at(self, feature: int, position: FloatArray) -> FloatArray:
        """Return the thresholds that have the given measure below them."""

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.feature_measure)

    @property
    def total_measure(self) -> float:
        return 2.0 * SQUARED_EMBEDDING * float(self.feature_measure.sum())

    def positions(self, X: Rows) -> Rows:
        r"""Return :math:`M_d(x_d) - M_d(0)` for every entry, so that zeros stay zero.

        Costs a binary search per entry; sparse rows stay sparse.
        """
        if sparse.issparse(X):
            columns = X.tocsc(copy=True)
            for feature, (start, stop) in enumerate(pairwise(columns.indptr)):
                columns.data[start:stop] = self._position(feature, columns.data[start:stop])
            rows = columns.tocsr()
            rows.sort_indices()
            return rows
        positions = np.empty_like(X)
        for feature in range(self.n_features):
            positions[:, feature] = self._position(feature, X[:, feature])
        return positions

    def _position(self, feature: int, values: FloatArray) -> FloatArray:
        origin = self._measure_below(feature, np.zeros(1))
        return self._measure_below(feature, values) - origin

    def draw(self, n: int, rng: np.random.Generator) -> Stumps:
        if n == 0:  # also of a set of measure zero
            return Stumps(np.empty(0), np.empty(0, dtype=np.intp), np.empty(0))
        share = self.feature_measure / self.feature_measure.sum()
        features = rng.choice(self.n_features, size=n, p=share)
        thresholds = np.empty(n)
        for feature in np.unique(features):
            mine = features == feature
            position = rng.uniform(0.0, self.feature_measure[feature], size=mine.sum())
            thresholds[mine] = self._threshold_at(int(feature), position)
        return Stumps(rng.choice([-1.0, 1.0], size=n), features, thresholds)

    def cells(self, X: Rows) -> StumpCells:
        """Return the groups of stumps that vote the same on every row of `X`.

        There are at most 2·(rows + 1) for each feature. Their kernel on `X` is the kernel
        of the whole set.
        """
        X = _dense(as_features(X, self.n_features))
        feature, edge, lower, upper = (
            np.concatenate(parts)
            for parts in zip(
                *(self._intervals(d, X[:, d]) for d in range(self.n_features)), strict=True
            )
        )
        occupied = upper > lower
        feature, edge, lower, upper = (part[occupied] for part in (feature, edge, lower, upper))
        polarity = np.repeat([-1.0, 1.0], len(feature))
        return StumpCells(
            members=Stumps(polarity, np.tile(feature, 2), np.tile(edge, 2)),
            measure=SQUARED_EMBEDDING * np.tile(upper - lower, 2),
            stumps=self,
            lower=np.tile(lower, 2),
            upper=np.tile(upper, 2),
        )

    def _intervals(self, feature: int, values: FloatArray) -> tuple[IntArray | FloatArray, ...]:
        levels = np.unique(values)
        origin = self._measure_below(feature, np.zeros(1))
        ends = np.array([0.0, self.feature_measure[feature]])
        inner = self._measure_below(feature, levels)
        bounds = np.concatenate([ends[:1], inner, ends[1:]]) - origin
        edge = np.concatenate([[-np.inf], levels])  # thresholds from here to the next level
        return np.full(len(edge), feature), edge, bounds[:-1], bounds[1:]


@dataclass(frozen=True, eq=False, repr=False)
class StumpSet(ThresholdSet):
    r"""All stumps with thresholds in :math:`[L_d, R_d]`, r = ½.

    The measure on thresholds has a constant density between neighbouring `knots`, the
    first of which is :math:`L_d` and the last :math:`R_d`; `measures` contains the measure
    below each knot.
    """

    knots: tuple[FloatArray, ...]
    measures: tuple[FloatArray, ...]

    @classmethod
    def spanning(
        cls,
        X: Rows,
        measure: Measure = "uniform",
        margin: float = 0.05,
        weight: FloatArray | None = None,
    ) -> Self:
        r"""Return the stumps whose thresholds span a sample.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The sample.
        measure : {"uniform", "empirical", "distinct"}
            Distribution of thresholds. Uniform: density one, as in the papers. Empirical:
            that of the sample, so that :math:`M_d` is its distribution function (a value
            with ties counts half below itself, so that a feature and its negative are
            treated equally). Distinct: equal measure between any two neighbouring values.
        margin : float
            Distance of :math:`L_d` and :math:`R_d` from the sample, relative to its range:
            the papers require that the sample is strictly inside. A constant column has no
            range and no stumps.
        weight : array of shape (n_samples,), optional
            Weights of the rows in the empirical measure; a row of weight zero is absent.
        """
        check_choice("measure", measure, get_args(Measure))
        check_positive("margin", margin)
        X, weight = present_rows(as_features(X), weight, "weight")
        spans = [_spanning_column(values, measure, margin, weight) for values in _columns(X)]
        return cls(tuple(knots for knots, _ in spans), tuple(below for _, below in spans))

    @property
    def feature_measure(self) -> FloatArray:
        return np.array([below[-1] for below in self.measures])

    @property
    def has_constant(self) -> bool:
        return self.total_measure > 0.0

    def _measure_below(self, feature: int, values: FloatArray) -> FloatArray:
        return _interpolated(values, self.knots[feature], self.measures[feature])

    def _threshold_at(self, feature: int, position: FloatArray) -> FloatArray:
        return _interpolated(position, self.measures[feature], self.knots[feature])


@dataclass(frozen=True, eq=False, repr=False)
class MiddleStumpSet(ThresholdSet):
    """The finitely many stumps halfway between neighbouring values of a sample, r = ½.

    The position of a value is its rank: the number of thresholds below it.
    """

    thresholds: tuple[FloatArray, ...]

    @classmethod
    def between(cls, X: Rows) -> Self:
        """Return the middle stumps of a sample."""
        return cls(tuple(_midpoints(values) for values in _columns(X)))

    @property
    def feature_measure(self) -> FloatArray:
        return np.array([float(len(thresholds)) for thresholds in self.thresholds])

    @property
    def has_constant(self) -> bool:
        return False

    def _measure_below(self, feature: int, values: FloatArray) -> FloatArray:
        return np.searchsorted(self.thresholds[feature], values, side="left").astype(np.float64)

    def _threshold_at(self, feature: int, position: FloatArray) -> FloatArray:
        return self.thresholds[feature][np.floor(position).astype(np.intp)]


def _interpolated(x: FloatArray, knots: FloatArray, heights: FloatArray) -> FloatArray:
    """Return ascending heights between knots, of which some may differ by subnormal numbers."""
    return np.clip(np.interp(x, knots, heights), heights[0], heights[-1])


def _spanning_column(
    values: FloatArray, measure: Measure, margin: float, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    smallest, largest = values.min(), values.max()
    if smallest == largest:
        return np.array([smallest]), np.zeros(1)
    first, last = _ends(smallest, largest, margin)
    if measure == "uniform":
        return np.array([first, last]), np.array([0.0, last - first])
    levels, level = np.unique(values, return_inverse=True)
    counts = np.bincount(level, weights=weight)
    mass = counts / counts.sum() if measure == "empirical" else np.ones(len(levels))
    below = np.cumsum(mass) - 0.5 * mass
    return (
        np.concatenate([[first], levels, [last]]),
        np.concatenate([[0.0], below, [mass.sum()]]),
    )


def _ends(smallest: float, largest: float, margin: float) -> tuple[float, float]:
    with np.errstate(over="ignore"):
        reach = margin * (largest - smallest)
        first = min(smallest - reach, np.nextafter(smallest, -np.inf))
        last = max(largest + reach, np.nextafter(largest, np.inf))
        if not np.isfinite(last - first):
            raise ValueError(
                f"a column of X spans [{smallest:.3g}, {largest:.3g}], which exceeds the range of "
                "floats: scale that column"
            )
    return first, last


def middles(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return thresholds halfway between values, so that only the upper ones are above them."""
    middle = 0.5 * lower + 0.5 * upper
    return np.where(middle < upper, middle, lower)  # neighbouring floats have no middle


def _midpoints(values: FloatArray) -> FloatArray:
    levels = np.unique(values)
    return middles(levels[:-1], levels[1:])


def _columns(X: Rows) -> Iterator[FloatArray]:
    X = as_features(X)
    if not sparse.issparse(X):
        yield from (column.astype(np.float64) for column in X.T)
        return
    stored = X.tocsc()
    for start, stop in pairwise(stored.indptr):
        values = np.zeros(X.shape[0])
        values[stored.indices[start:stop]] = stored.data[start:stop]
        yield values


def _dense(X: Rows) -> FloatArray:
    return X.toarray() if sparse.issparse(X) else X

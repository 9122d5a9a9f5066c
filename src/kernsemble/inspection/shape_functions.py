r"""Functions of one column: stump densities, and the shape functions that they integrate to.

Stumps with thresholds in an interval of measure m and density S add up to

.. math:: S\, m\, \hat s(v), \qquad \hat s \text{ rising from } -1 \text{ to } 1

across the interval, both polarities together. The sum over all intervals is the shape function;
its slope with respect to the measure is 2S.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble._value_object import Value

NEAR = 1e-9  # relative difference below which two numbers are the same category


@dataclass(frozen=True, eq=False, repr=False)
class StumpDensity(Value):
    r"""Weights of the stumps of one column, as a step function of the threshold.

    .. math:: S(a) = \sum_{i: x_i > a} \beta_i - \tfrac12 \sum_i \beta_i

    The stump :math:`q\,\mathrm{sign}(x - a)` has the weight :math:`\tfrac12 q S(a)\,da`, where da
    is the measure of thresholds. The second sum is zero for machines with a bias. Single
    thresholds are intervals of width zero.

    Attributes
    ----------
    lower, upper : arrays of shape (m,)
        Intervals of thresholds in which the density is constant, in the units of the column and
        in order. Infinite for thresholds beyond all values that rows can have.
    measure : array of shape (m,)
        Measure of the thresholds in each interval.
    density : array of shape (m,)
        Density S in each interval.
    """

    lower: FloatArray
    upper: FloatArray
    measure: FloatArray
    density: FloatArray

    @classmethod
    def from_intervals(
        cls, lower: FloatArray, upper: FloatArray, measure: FloatArray, density: FloatArray
    ) -> Self:
        """Return the density on intervals, without those of measure zero."""
        lower, upper, measure, density = (
            np.asarray(each, dtype=np.float64) for each in (lower, upper, measure, density)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            weight = measure * density
            total = 4.0 * np.abs(weight).sum()  # the largest difference of shapes, twice
        if not np.isfinite(total):
            raise ValueError(
                "the weights of intervals, measure times density, or their sum are not finite "
                "floats: scale the column"
            )
        kept = measure > 0.0
        return cls(lower[kept], upper[kept], measure[kept], density[kept])

    @property
    def weight(self) -> FloatArray:
        """Total weight of the stumps of each interval."""
        return self.density * self.measure

    @property
    def squared_norm(self) -> float:
        r"""Contribution :math:`2 \int S^2` to :math:`\|w\|^2`, infinite beyond floats."""
        with np.errstate(over="ignore"):
            return 2.0 * float(self.density**2 @ self.measure)

    def __call__(self, thresholds: FloatArray) -> FloatArray:
        """Return the density at thresholds, zero outside of the intervals."""
        at = np.asarray(thresholds, dtype=np.float64)[..., np.newaxis]
        within = (self.lower <= at) & (at < self.upper)
        return (within * self.density).sum(axis=-1)

    def shape(self) -> "Shape":
        """Return the shape function, the sum of all stumps."""
        weight, is_point = self.weight, self.lower == self.upper
        lowest = 2.0 * weight[self.lower == -np.inf].sum() - weight.sum()
        knots = np.unique(np.concatenate([self.lower, self.upper]))
        knots = knots[np.isfinite(knots)]
        if len(knots) == 0:
            return Shape(other=float(lowest))
        is_finite = np.isfinite(self.lower)
        wide, points = ~is_point & is_finite, is_point & is_finite
        ramps = _total_below(self.upper[wide], weight[wide], knots, "right")
        left = lowest + 2.0 * (
            ramps + _total_below(self.lower[points], weight[points], knots, "left")
        )
        right = lowest + 2.0 * (
            ramps + _total_below(self.lower[points], weight[points], knots, "right")
        )
        return Shape(knots, left, right)


def average_vote(values: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the mean vote of upward stumps with thresholds between `lower` and `upper`."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip((values - lower) / (upper - lower), 0.0, 1.0)
        share = np.where(lower == upper, values > lower, share)
    return np.where(np.isnan(values), np.nan, 2.0 * share - 1.0)


def _total_below(
    places: FloatArray, weight: FloatArray, knots: FloatArray, side: Any
) -> FloatArray:
    totals = np.concatenate([[0.0], np.cumsum(weight)])
    return totals[np.searchsorted(places, knots, side=side)]


def _empty() -> FloatArray:
    return np.empty(0)


@dataclass(frozen=True, eq=False, repr=False)
class Shape(Value):
    """The shape function of one column: linear between knots, with jumps at knots.

    Attributes
    ----------
    knots : array of shape (k,)
        Positions of bends and jumps, in the units of the column, increasing.
    left, right : arrays of shape (k,)
        Values at each knot, and just above it.
    slopes : tuple of two floats
        Slopes below the first and above the last knot.
    atoms, heights : arrays of shape (c,)
        Categories, as increasing numbers, and the value of each.
    other : float
        Value of any other category; of every value if the column has no categories.
    missing : float
        Value where the number is missing; NaN if the machine does not support missing values.
    labels : tuple or None
        Names of the categories, if they are not numbers.
    """

    knots: FloatArray = field(default_factory=_empty)
    left: FloatArray = field(default_factory=_empty)
    right: FloatArray = field(default_factory=_empty)
    slopes: tuple[float, float] = (0.0, 0.0)
    atoms: FloatArray = field(default_factory=_empty)
    heights: FloatArray = field(default_factory=_empty)
    other: float = 0.0
    missing: float = np.nan
    labels: tuple[Any, ...] | None = None

    @property
    def is_category(self) -> bool:
        """Whether the column holds categories."""
        return len(self.knots) == 0 and len(self.atoms) > 0

    @property
    def tolerance(self) -> float:
        """Difference up to which a number is one of the categories."""
        return NEAR * max(float(np.abs(self.atoms).max()), float(np.finfo(np.float64).tiny))

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the function at values of the column, categories as codes."""
        values = np.asarray(values, dtype=np.float64)
        found = self._piecewise_linear(values, "left") + self._category_values(values)
        return np.where(np.isnan(values), self.missing, found)

    def _piecewise_linear(self, values: FloatArray, side: Any) -> FloatArray:
        """Return the limit of the function from a side, without categories."""
        if len(self.knots) == 0:
            return np.zeros(np.shape(values))
        place, last = np.searchsorted(self.knots, values, side=side), len(self.knots) - 1
        above, below = np.minimum(place, last), np.maximum(place - 1, 0)
        start, stop = self.knots[below], self.knots[above]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(stop > start, (values - start) / (stop - start), 0.0)
        found = (1.0 - share) * self.right[below] + share * self.left[above]
        low, high = values - self.knots[0], values - self.knots[-1]
        found = np.where(place == 0, self.left[0] + self.slopes[0] * low, found)
        return np.where(place > last, self.right[-1] + self.slopes[1] * high, found)

    def _category_values(self, values: FloatArray) -> FloatArray:
        if len(self.atoms) == 0:
            return np.full(np.shape(values), self.other)
        middles = 0.5 * self.atoms[1:] + 0.5 * self.atoms[:-1]
        nearest = np.searchsorted(middles, values)
        is_known = np.abs(values - self.atoms[nearest]) <= self.tolerance
        return np.where(is_known, self.heights[nearest], self.other)

    def shifted(self, by: float) -> Self:
        """Return the function plus a constant."""
        if len(self.knots) > 0:
            moved = replace(self, left=self.left + by, right=self.right + by)
        else:
            moved = replace(self, heights=self.heights + by, other=self.other + by)
        return replace(moved, missing=self.missing + by)

    @classmethod
    def total(cls, shapes: Sequence[Self]) -> Self:
        """Return the sum of functions of the same column."""
        if len(shapes) == 1:
            return shapes[0]
        knots = np.unique(np.concatenate([each.knots for each in shapes]))
        atoms = np.unique(np.concatenate([each.atoms for each in shapes]))
        labels = [each.labels for each in shapes if each.labels is not None]
        return cls(
            knots,
            np.sum([each._piecewise_linear(knots, "left") for each in shapes], axis=0),
            np.sum([each._piecewise_linear(knots, "right") for each in shapes], axis=0),
            (sum(each.slopes[0] for each in shapes), sum(each.slopes[1] for each in shapes)),
            atoms,
            np.sum([each._category_values(atoms) for each in shapes], axis=0),
            sum(each.other for each in shapes),
            sum(each.missing for each in shapes),
            labels[0] if labels else None,
        )

    def table(self) -> dict[str, Any]:
        """Return knots and values, or categories and values, as columns of a table."""
        if self.is_category:
            names = self.atoms.tolist() if self.labels is None else self.labels
            shown = ["missing" if name is None else name for name in names]
            return {"category": shown, "value": self.heights}
        return {"knot": self.knots, "value": self.left, "value_above": self.right}

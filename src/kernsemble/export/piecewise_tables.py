r"""Functions of one number as tables: an interval of cuts, then a straight line within it.

.. math:: g_k(x) = a_{jk} + s_{jk} (x - o_j), \qquad c_{j-1} < x \le c_j

for the machines k of a model. Every function of one column is such a table: the shape functions
of stumps, points, categories by their codes, and the scales of columns.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.inspection.additive_model import FunctionData
from kernsemble.solvers.additive.levels import Levels


class PiecewiseTable(NamedTuple):
    """The functions of one column, one per machine.

    Attributes
    ----------
    cuts : array of shape (m,)
        Increasing ends of all intervals but the last, each part of the interval that it ends.
    origin : array of shape (m + 1,)
        The number in each interval that its line starts from.
    start, slope : arrays of shape (m + 1, n_machines)
        The value at the origin, and the slope, of each interval.
    missing : array of shape (n_machines,)
        The value of a missing number.
    """

    cuts: FloatArray
    origin: FloatArray
    start: FloatArray
    slope: FloatArray
    missing: FloatArray

    @classmethod
    def from_functions(
        cls, functions: Sequence[FunctionData], categories: Sequence[Any] | None
    ) -> Self:
        """Return the functions of a column of an additive model; categories count from 0."""
        if categories is not None:
            heights = np.array([each["heights"] for each in functions], dtype=np.float64)
            other = np.array([each["other"] for each in functions])
            return cls.of_codes(heights.reshape(len(functions), -1).T, other)
        cuts = np.unique(np.concatenate([np.empty(0), *map(_cuts, functions)]))
        left = np.column_stack([_limits(each, cuts, "left") for each in functions])
        right = np.column_stack([_limits(each, cuts, "right") for each in functions])
        ends = np.array([each.get("slopes", [0.0, 0.0]) for each in functions], dtype=np.float64)
        missing = [np.nan if each["missing"] is None else each["missing"] for each in functions]
        if len(cuts) == 0:
            return cls.constant(_limits_without_cuts(functions), np.array(missing))
        steps = (left[1:] - right[:-1]) / np.diff(cuts)[:, np.newaxis]
        return cls(
            cuts,
            np.concatenate([cuts[:1], cuts]),
            np.concatenate([left[:1], right]),
            np.concatenate([ends[np.newaxis, :, 0], steps, ends[np.newaxis, :, 1]]),
            np.array(missing, dtype=np.float64),
        )

    @classmethod
    def constant(cls, values: FloatArray, missing: FloatArray) -> Self:
        """Return constants, one per machine."""
        lines = values[np.newaxis].astype(np.float64)
        return cls(np.empty(0), np.zeros(1), lines, np.zeros_like(lines), missing)

    @classmethod
    def of_codes(cls, heights: FloatArray, other: FloatArray) -> Self:
        """Return the heights of codes from 0 (rows), and of all other numbers, also missing."""
        cuts = np.arange(len(heights) + 1.0) - 0.5
        start = np.concatenate([other[np.newaxis], heights, other[np.newaxis]])
        return cls(cuts, np.zeros(len(start)), start, np.zeros_like(start), other)

    @classmethod
    def through(cls, knots: FloatArray, values: FloatArray, missing: FloatArray) -> Self:
        """Return the lines through knots, of which `values` has a row each; constant beyond."""
        is_last = np.append(np.diff(knots) > 0.0, True)
        knots, values = knots[is_last], values[is_last]
        slope = np.zeros((len(knots) + 1, values.shape[1]))
        slope[1:-1] = np.diff(values, axis=0) / np.diff(knots)[:, np.newaxis]
        start = np.concatenate([values[:1], values])
        return cls(knots, np.concatenate([knots[:1], knots]), start, slope, missing)

    @classmethod
    def counting(cls, thresholds: FloatArray) -> Self:
        """Return the number of thresholds below a number."""
        start = np.arange(len(thresholds) + 1.0)[:, np.newaxis]
        return cls(
            thresholds, np.zeros(len(start)), start, np.zeros_like(start), np.array([np.nan])
        )

    @classmethod
    def of_levels(cls, levels: Levels, heights: FloatArray) -> Self:
        """Return tables of shape (n_machines, n_levels), interpolated between ordered levels."""
        if levels.holds_categories:
            return cls.of_codes(heights[:, 1:].T, heights[:, 0])
        ordered = heights[:, : levels.n_ordered].T
        return cls.through(levels.values, ordered, heights[:, levels.absent])

    def values(self, x: FloatArray) -> FloatArray:
        """Return the functions (columns) at numbers."""
        place = np.searchsorted(self.cuts, x)
        found = self.start[place] + self.slope[place] * (x - self.origin[place])[:, np.newaxis]
        return np.where(np.isnan(x)[:, np.newaxis], self.missing, found)


def _cuts(function: FunctionData) -> FloatArray:
    """Return the numbers at which a function bends or jumps."""
    points = np.array(function.get("points", []))
    reach = function.get("tolerance", 0.0)
    below = np.nextafter(points - reach, -np.inf)  # a number that differs by the tolerance counts
    return np.concatenate([function.get("knots", []), below, points + reach])


def _limits(function: FunctionData, cuts: FloatArray, side: Any) -> FloatArray:
    """Return the limits of a function at cuts from a side."""
    return _line_limits(function, cuts, side) + _point_limits(function, cuts, side)


def _line_limits(function: FunctionData, cuts: FloatArray, side: Any) -> FloatArray:
    if "knots" not in function:
        return np.zeros(len(cuts))
    knots, left = np.array(function["knots"]), np.array(function["values"])
    right, slopes = np.array(function.get("above", left)), function.get("slopes", [0.0, 0.0])
    place, last = np.searchsorted(knots, cuts, side=side), len(knots) - 1
    after, before = np.minimum(place, last), np.maximum(place - 1, 0)
    width = np.where(after > before, knots[after] - knots[before], 1.0)
    share = (cuts - knots[before]) / width
    found = (1.0 - share) * right[before] + share * left[after]
    found = np.where(place == 0, left[0] + slopes[0] * (cuts - knots[0]), found)
    return np.where(place > last, right[-1] + slopes[1] * (cuts - knots[-1]), found)


def _point_limits(function: FunctionData, cuts: FloatArray, side: Any) -> FloatArray:
    points = np.array(function.get("points", []))
    if len(points) == 0:
        return np.full(len(cuts), function["other"])
    reach = function["tolerance"]
    below = np.nextafter(points - reach, -np.inf)
    first, past = (np.searchsorted(ends, cuts, side=side) for ends in (below, points + reach))
    heights = np.append(function["heights"], 0.0)
    return np.where(first > past, heights[past], function["other"])


def _limits_without_cuts(functions: Sequence[FunctionData]) -> FloatArray:
    return np.array([each["other"] for each in functions], dtype=np.float64)

"""What a machine is asked, before there is a matrix and a penalty."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers import Solution


@dataclass(frozen=True, eq=False)
class TargetScale:
    r"""The mean and the standard deviation of a target.

    Numbers are fitted as :math:`(y - \bar y)/\sigma`, where penalties and tolerances mean
    the same whatever the unit of y: with :math:`C = \sigma C'` and
    :math:`\varepsilon = \sigma\varepsilon'` the solutions are the same but for
    :math:`\beta = \sigma\beta'`.
    """

    centre: float = 0.0
    spread: float = 1.0

    @classmethod
    def of(cls, y: FloatArray, weight: FloatArray) -> Self:
        """Return the scale of numbers that count so often; equal numbers have spread 1."""
        unit = float(np.abs(y).max()) or 1.0
        mean = float(np.average(y / unit, weights=weight))
        away = y / unit - mean
        farthest = float(np.abs(away).max())
        if farthest <= 1e-14 * abs(mean):  # rounding
            return cls(unit * mean, 1.0)
        spread = float(np.sqrt(np.average((away / farthest) ** 2, weights=weight)))
        return cls(unit * mean, unit * farthest * spread or 1.0)

    def standardised(self, y: FloatArray) -> FloatArray:
        """Return numbers of mean 0 and standard deviation 1."""
        return (y - self.centre) / self.spread

    def restored(self, values: FloatArray) -> FloatArray:
        """Return the numbers that were standardised."""
        return self.centre + self.spread * values

    def solution(self, found: Solution) -> Solution:
        """Return the solution for the target itself from that for the standardised one."""
        return replace(
            found,
            beta=self.spread * found.beta,
            bias=self.centre + self.spread * found.bias,
            residual=self.restored(found.residual),
            objective=self.spread * (self.spread * float(found.objective)),
            gap=self.spread * (self.spread * float(found.gap)),
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """The dual of one machine, without matrix and penalty: the bounds are those at C = 1.

    `p`, `epsilon` and the penalty are in the unit of `scale`.
    """

    p: FloatArray
    low: FloatArray
    high: FloatArray
    epsilon: float = 0.0
    scale: TargetScale = TargetScale()

    @classmethod
    def of_sides(cls, signs: FloatArray, weight: FloatArray) -> Self:
        """Return the problem of telling rows of sign +1 and −1 apart; those of 0 are absent."""
        bounds = weight * signs
        return cls(signs, np.minimum(0.0, bounds), np.maximum(0.0, bounds))

    @classmethod
    def of_numbers(
        cls, y: FloatArray, weight: FloatArray, epsilon: float, scale: TargetScale
    ) -> Self:
        """Return the problem of fitting numbers; errors up to `epsilon` spreads are free."""
        return cls(scale.standardised(y), -weight, weight, epsilon, scale)

    @property
    def rows(self) -> IntArray:
        """The rows that take part; all, where none counts."""
        present = np.flatnonzero(self.low < self.high)
        return present if len(present) else np.arange(len(self.p))

    def among(self, rows: IntArray) -> "Problem":
        """Return the problem of some rows."""
        return replace(self, p=self.p[rows], low=self.low[rows], high=self.high[rows])

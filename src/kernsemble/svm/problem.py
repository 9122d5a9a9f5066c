"""The optimisation problem of one machine, before a kernel and a penalty C are fixed."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers import Solution
from kernsemble.solvers.losses import Loss

SMALLEST_SPREAD = float(np.finfo(np.float64).tiny)  # whose inverse is a float


@dataclass(frozen=True, eq=False)
class TargetScale:
    r"""The mean and the standard deviation of a target.

    Numbers are fitted as :math:`(y - \bar y)/\sigma`, so that penalties and tolerances do not
    depend on the unit of y: with :math:`C = \sigma C'` and :math:`\varepsilon =
    \sigma\varepsilon'` the solutions are the same but for :math:`\beta = \sigma\beta'`.
    """

    centre: float = 0.0
    spread: float = 1.0

    @classmethod
    def from_targets(cls, y: FloatArray, weight: FloatArray) -> Self:
        """Return the scale of weighted numbers; those that hardly differ have spread 1."""
        unit = float(np.abs(y).max()) or 1.0
        mean = float(np.average(y / unit, weights=weight))
        away = y / unit - mean
        farthest = float(np.abs(away).max())
        if farthest <= 1e-14 * abs(mean):  # rounding
            return cls(unit * mean, 1.0)
        spread = float(np.sqrt(np.average((away / farthest) ** 2, weights=weight)))
        spread *= farthest
        return cls(unit * mean, unit * spread if unit * spread >= SMALLEST_SPREAD else 1.0)

    def standardise(self, y: FloatArray) -> FloatArray:
        """Return numbers of mean 0 and standard deviation 1."""
        with np.errstate(over="ignore"):
            away = y - self.centre
        if np.isfinite(away).all():
            return away / self.spread
        return 2.0 * ((0.5 * y - 0.5 * self.centre) / self.spread)

    def restore(self, values: FloatArray) -> FloatArray:
        """Return standardised numbers in their original unit."""
        with np.errstate(over="ignore"):  # checked
            return _within_floats(self.centre + self.spread * values)

    def squared(self, value: float) -> float:
        """Return a number in the squared unit of the target, infinite beyond floats."""
        return self.spread * (self.spread * float(value))

    def restore_solution(self, found: Solution) -> Solution:
        """Return the solution for the target itself, given that for the standardised one."""
        with np.errstate(over="ignore"):  # checked
            beta = _within_floats(self.spread * found.beta)
        return replace(
            found,
            beta=beta,
            bias=float(self.restore(np.array(found.bias))),
            residual=self.restore(found.residual),
            objective=self.squared(found.objective),
            gap=self.squared(found.gap),
        )


def _within_floats(values: FloatArray) -> FloatArray:
    if np.isinf(values).any():
        raise ValueError("the solution exceeds the range of floats: divide y by a number")
    return values


@dataclass(frozen=True, eq=False)
class Problem:
    """The loss of all rows at C = 1, for targets in the unit of `scale`."""

    loss: Loss
    scale: TargetScale = TargetScale()

    @classmethod
    def for_signs(cls, loss: type[Loss], signs: FloatArray, weight: FloatArray) -> Self:
        """Return the problem that separates rows of sign +1 and −1; rows of sign 0 are absent."""
        return cls(loss.from_targets(signs, weight * np.abs(signs)))

    @classmethod
    def for_numbers(
        cls,
        loss: type[Loss],
        y: FloatArray,
        weight: FloatArray,
        epsilon: float,
        scale: TargetScale,
    ) -> Self:
        """Return the problem that fits numbers; errors up to `epsilon` spreads are free."""
        return cls(loss.from_targets(scale.standardise(y), weight, epsilon), scale)

    @property
    def penalty_unit(self) -> float:
        r"""The unit of C for a target of spread :math:`\sigma`.

        With :math:`y = \sigma y'` a loss that grows like the error has the solution of
        :math:`C = \sigma C'`, one that grows like its square that of :math:`C = C'`.
        """
        return self.scale.spread if self.loss.degree == 1 else 1.0

    @property
    def rows(self) -> IntArray:
        """The indices of the rows with positive weight; all rows if none has."""
        strengths = self.loss.strengths
        present = np.flatnonzero(strengths)
        return present if len(present) else np.arange(len(strengths))

    def among(self, rows: IntArray) -> Self:
        """Return the problem of some rows."""
        return replace(self, loss=self.loss.among(rows))

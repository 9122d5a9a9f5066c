"""A number that was measured, beside the one that was published."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Self

import numpy as np

ENOUGH = 3.0  # combined standard errors
POINTS = 0.5  # per cent, where there is one run
SMALL = 0.1  # numbers below it, such as seconds, are told with four digits


class Verdict(Enum):
    """How a measured number compares with a published one; the value is what a reader is told."""

    WITHIN = "within"
    BETTER = "better"
    WORSE = "worse"


class Mean(NamedTuple):
    """A mean, its standard error (None if there is one run) and the number of runs."""

    mean: float
    error: float | None
    n: int

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Self:
        """Return the mean of runs."""
        n = len(numbers)
        error = float(np.std(numbers, ddof=1) / np.sqrt(n)) if n > 1 else None
        return cls(float(np.mean(numbers)), error, n)

    def error_as(self, other: Self) -> float:
        """Return the standard error, that of runs which spread as the other's if it is unknown."""
        if self.error is not None:
            return self.error
        return (other.error or 0.0) * float(np.sqrt(other.n / self.n))

    def __str__(self) -> str:
        digits = 2 if self.mean >= SMALL or self.mean == 0.0 else 4
        spread = "" if self.error is None else f" ± {self.error:.{digits}f}"
        return f"{self.mean:.{digits}f}{spread}"


class Comparison(NamedTuple):
    """A measured mean beside a published one, of which less is better."""

    ours: Mean
    published: Mean

    @property
    def distance(self) -> float:
        """How many combined standard errors ours is above; of single runs, sixths of a point.

        A mean without its error is taken to spread as the other does, over its own runs.
        """
        difference = self.ours.mean - self.published.mean
        if self.ours.error is None and self.published.error is None:
            return difference * ENOUGH / POINTS
        combined = np.hypot(self.ours.error_as(self.published), self.published.error_as(self.ours))
        if combined > 0.0 or difference == 0.0:
            return float(difference / (combined or 1.0))
        return float(np.copysign(np.inf, difference))

    @property
    def verdict(self) -> Verdict:
        """Within three combined standard errors (one run: 0.5 points), better, or worse."""
        if abs(self.distance) <= ENOUGH:
            return Verdict.WITHIN
        return Verdict.BETTER if self.distance < 0.0 else Verdict.WORSE

"""A number that was measured, beside the one that was published."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Self

import numpy as np

ENOUGH = 3.0  # combined standard errors
POINTS = 0.5  # per cent, where there is one run


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

    def __str__(self) -> str:
        spread = "" if self.error is None else f" ± {self.error:.2f}"
        return f"{self.mean:.2f}{spread}"


class Comparison(NamedTuple):
    """A measured mean beside a published one, of which less is better."""

    ours: Mean
    published: Mean

    @property
    def distance(self) -> float:
        """How many combined standard errors ours is above, or how many times 0.5 points / 3.

        A published number without its error is taken to spread as ours does, over its runs.
        """
        difference = self.ours.mean - self.published.mean
        if self.ours.error is None:
            return difference * ENOUGH / POINTS
        known = self.published.error
        error = (
            self.ours.error * np.sqrt(self.ours.n / self.published.n) if known is None else known
        )
        combined = float(np.hypot(self.ours.error, error))
        return difference / combined if combined > 0.0 else np.sign(difference) * np.inf

    @property
    def verdict(self) -> Verdict:
        """Within three combined standard errors (one run: 0.5 points), better, or worse."""
        if abs(self.distance) <= ENOUGH:
            return Verdict.WITHIN
        return Verdict.BETTER if self.distance < 0.0 else Verdict.WORSE

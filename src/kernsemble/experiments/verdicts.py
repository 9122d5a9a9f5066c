"""Verdicts on measured numbers, compared with published ones."""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple, Self

import numpy as np

from kernsemble._counts import counted, is_or_are

MAX_DISTANCE = 3.0  # combined standard errors within which a published number is met
MAX_POINTS = 0.5  # percentage points within which it is met if both are single runs
SMALL = 0.1  # numbers below it, such as seconds, are shown with four digits


class Verdict(Enum):
    """Comparison of a measured number with a published one; the value is the word shown."""

    WITHIN = "within"
    BETTER = "better"
    WORSE = "worse"


class Mean(NamedTuple):
    """A mean, its standard error (None if there is one run) and the number of runs."""

    mean: float
    error: float | None
    n: int

    @classmethod
    def from_runs(cls, numbers: Sequence[float]) -> Self:
        """Return the mean of the numbers of several runs."""
        n = len(numbers)
        error = float(np.std(numbers, ddof=1) / np.sqrt(n)) if n > 1 else None
        return cls(float(np.mean(numbers)), error, n)

    def error_as(self, other: Self) -> float:
        """Return the standard error; if unknown, from the other's standard deviation."""
        if self.error is not None:
            return self.error
        return (other.error or 0.0) * float(np.sqrt(other.n / self.n))

    def __str__(self) -> str:
        digits = 2 if self.mean >= SMALL or self.mean == 0.0 else 4
        spread = "" if self.error is None else f" ± {self.error:.{digits}f}"
        return f"{self.mean:.{digits}f}{spread}"


class PublishedComparison(NamedTuple):
    """A measured mean and a published one; smaller is better."""

    ours: Mean
    published: Mean

    @property
    def distance(self) -> float:
        """Difference in combined standard errors, or in sixths of a point of single runs.

        A mean without a standard error is assumed to have the other's standard deviation.
        """
        difference = self.ours.mean - self.published.mean
        if self.ours.error is None and self.published.error is None:
            return difference * MAX_DISTANCE / MAX_POINTS
        combined = np.hypot(self.ours.error_as(self.published), self.published.error_as(self.ours))
        if combined > 0.0 or difference == 0.0:
            return float(difference / (combined or 1.0))
        return float(np.copysign(np.inf, difference))

    @property
    def verdict(self) -> Verdict:
        """Within three combined standard errors (one run: 0.5 points), better, or worse."""
        if abs(self.distance) <= MAX_DISTANCE:
            return Verdict.WITHIN
        return Verdict.BETTER if self.distance < 0.0 else Verdict.WORSE


class Tally(NamedTuple):
    """Counts of published numbers by verdict.

    Attributes
    ----------
    within : int
        Numbers met within three combined standard errors.
    better : int
        Numbers that ours is better than by more than that.
    missed : int
        Numbers that ours is worse than by more than that.
    explained : int
        Missed numbers whose known difference is confirmed by a test.
    """

    within: int
    better: int
    missed: int
    explained: int

    @property
    def n(self) -> int:
        """Number of published numbers."""
        return self.within + self.better + self.missed

    @classmethod
    def total(cls, tallies: Iterable[Self]) -> Self:
        """Return the sum of several tallies."""
        return cls(*map(sum, zip((0, 0, 0, 0), *tallies, strict=True)))

    def __str__(self) -> str:
        if self.n == 0:
            return "No published numbers were compared."
        explained = f", {self.explained} of them explained by a test" if self.missed else ""
        return (
            f"Of {counted(self.n, 'published number')}, {self.within} {is_or_are(self.within)} met "
            f"within three standard errors ({self.within / self.n:.0%}), {self.better} "
            f"{is_or_are(self.better)} better by more than three and {self.missed} "
            f"{is_or_are(self.missed)} missed{explained}."
        )

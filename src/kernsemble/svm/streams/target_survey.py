"""Summaries of the targets of blocks, which merge into one of all rows."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernsemble._typing import FloatArray


@dataclass(frozen=True, eq=False)
class TargetSurvey:
    """The targets of a block: weights of classes, or moments of numbers."""

    classes: Any = None
    weights: Any = None  # of the classes
    counts: Any = None  # rows of positive weight of the classes
    total: float = 0.0  # weight of all rows
    mean: float = 0.0
    squares: float = 0.0  # weighted sum of squares around the mean
    largest: float = 0.0  # absolute value

    @classmethod
    def of_classes(cls, y: Any, weight: FloatArray) -> Self:
        """Return the survey of the labels of weighted rows."""
        classes, codes = np.unique(y, return_inverse=True)
        weights = np.bincount(codes, weight, minlength=len(classes))
        counts = np.bincount(codes, weight > 0.0, minlength=len(classes)).astype(int)
        return cls(classes, weights, counts, float(weight.sum()))

    @classmethod
    def of_numbers(cls, y: FloatArray, weight: FloatArray) -> Self:
        """Return the survey of weighted numbers."""
        total = float(weight.sum())
        with np.errstate(over="ignore", invalid="ignore"):  # checked when all blocks are known
            mean = float(weight @ y) / total if total > 0.0 else 0.0
            squares = float(weight @ (y - mean) ** 2)
        return cls(
            total=total, mean=mean, squares=squares, largest=float(np.abs(y).max(initial=0.0))
        )

    def merged(self, other: Self) -> Self:
        """Return the survey of both blocks."""
        if self.classes is not None:
            return self._merged_classes(other)
        total = self.total + other.total
        share = other.total / total if total > 0.0 else 0.0
        step = other.mean - self.mean
        return type(self)(
            total=total,
            mean=self.mean + share * step,
            squares=self.squares + other.squares + (share * step) * step * self.total,
            largest=max(self.largest, other.largest),
        )

    def _merged_classes(self, other: Self) -> Self:
        parts = [each for each in (self, other) if len(each.classes) > 0]
        if len(parts) < 2:
            return parts[0] if parts else self
        if len({"US".find(each.classes.dtype.kind) < 0 for each in parts}) > 1:
            raise ValueError(
                f"y has the class {self.classes.tolist()[0]!r} in one block and "
                f"{other.classes.tolist()[0]!r} in another: convert the classes to one type"
            )
        labels = np.concatenate([each.classes for each in parts])
        classes, codes = np.unique(labels, return_inverse=True)
        weights, counts = (
            np.bincount(codes, np.concatenate([getattr(each, name) for each in parts]))
            for name in ("weights", "counts")
        )
        return type(self)(classes, weights, counts.astype(int), self.total + other.total)

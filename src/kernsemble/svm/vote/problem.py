"""The targets of a vote, and the weights of members that fit them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy.special import expit

from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.losses import Logistic, Squared
from kernsemble.solvers.stacking import Stack
from kernsemble.svm.problem import Problem, TargetScale

SMALLEST_SHARE = 0.02  # smallest probability of a class at which the log-loss is approximated


@dataclass(frozen=True, eq=False)
class VoteProblem:
    """The targets of a vote.

    Attributes
    ----------
    problems, additive : list of Problem
        The problem of each value of the vote, with the squared loss, and for additive machines.
    targets : array of shape (n, n_values)
        Signs of classes, or standardised numbers.
    codes : array of shape (n,) or None
        Class codes; None for numbers.
    weight : array of shape (n,)
        Weights of the rows.
    n_classes : int
        The number of classes, 0 for numbers.
    scale : TargetScale
        The scale of numbers, which are standardised.
    """

    problems: list[Problem]
    additive: list[Problem]
    targets: FloatArray
    codes: IntArray | None
    weight: FloatArray
    n_classes: int
    scale: TargetScale = field(default_factory=TargetScale)

    @classmethod
    def of_numbers(cls, y: FloatArray, weight: FloatArray) -> Self:
        """Return the problem of weighted numbers."""
        scale = TargetScale.from_targets(y, weight)
        standardised = scale.standardise(y)
        problems = [Problem(Squared.from_targets(standardised, weight))]
        return cls(problems, problems, standardised[:, np.newaxis], None, weight, 0, scale)

    @classmethod
    def of_classes(
        cls, signs: Sequence[FloatArray], codes: IntArray, weight: FloatArray, n_classes: int
    ) -> Self:
        """Return the problem of weighted rows of classes, with the signs of each value."""
        return cls(
            [Problem.for_signs(Squared, each, weight) for each in signs],
            [Problem.for_signs(Logistic, each, weight) for each in signs],
            np.column_stack(signs),
            codes,
            weight,
            n_classes,
        )

    @property
    def is_classification(self) -> bool:
        """Whether the targets are classes."""
        return self.codes is not None

    def corrections(self, base: FloatArray) -> list[Problem]:
        """Return the problems of machines that are added to base values, log-odds for classes."""
        if not self.is_classification:
            residuals = self.targets - base
            return [Problem(Squared.from_targets(each, self.weight)) for each in residuals.T]
        p = np.clip(expit(base), SMALLEST_SHARE, 1.0 - SMALLEST_SHARE)
        curvature = p * (1.0 - p)
        steps = (0.5 * (self.targets + 1.0) - p) / curvature
        mean = np.average(curvature, axis=0, weights=self.weight)
        strengths = self.weight[:, np.newaxis] * curvature / mean
        return [
            Problem(Squared.from_targets(np.ascontiguousarray(z), np.ascontiguousarray(c)))
            for z, c in zip(steps.T, strengths.T, strict=True)
        ]

    def among(self, rows: IntArray) -> "VoteProblem":
        """Return the problem of some rows."""
        return VoteProblem(
            [each.among(rows) for each in self.problems],
            [each.among(rows) for each in self.additive],
            self.targets[rows],
            None if self.codes is None else self.codes[rows],
            self.weight[rows],
            self.n_classes,
            self.scale,
        )

    def stack(self, values: FloatArray, tested: IntArray) -> Stack:
        """Return the weights of members, given their left-out values at tested rows."""
        if self.codes is None:
            return Stack.squared(values, self.targets[tested], self.weight[tested])
        return Stack.logistic(values, self.codes[tested], self.weight[tested], self.n_classes)

    def error(self, values: FloatArray, tested: IntArray, are_log_odds: bool) -> float:
        """Return the mean squared error of values, or the logistic loss of log-odds of classes."""
        y, weight = self.targets[tested], self.weight[tested]
        if are_log_odds and self.is_classification:
            losses = np.logaddexp(0.0, -y * values)
        else:
            losses = (y - values) ** 2
        error = float(weight @ losses.sum(axis=1) / weight.sum())
        return error if np.isfinite(error) else np.inf

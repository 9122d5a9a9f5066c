"""Rows on a scale, equal ones merged, and the problems of their machines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.preprocessing import AnyScaling
from kernsemble.solvers.equal_rows import EqualRows
from kernsemble.solvers.losses import Squared
from kernsemble.solvers.partition import Partition
from kernsemble.svm.problem import Problem


class Division(NamedTuple):
    """The size of leaves, the number of partitions, and the overlap of neighbouring leaves."""

    leaf_rows: int
    n_partitions: int
    overlap: float


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Rows of positive weight on a scale, no two of them equal, and their partitions.

    Attributes
    ----------
    scaling : FeatureScaling, LearnedScaling or EffectScaling
        The scaling.
    coordinates : array of shape (n_distinct, n_coordinates)
        The distinct scaled rows.
    weight : array of shape (n_distinct,)
        The sum of the weights of equal rows.
    present : array of shape (n_present,)
        The rows of positive weight.
    equal : EqualRows
        The groups of equal rows among these, in the order of `coordinates`.
    division : Division
        The size of leaves, the number of partitions, and their overlap.
    seed : int
        Random seed of the partitions.
    """

    scaling: AnyScaling
    coordinates: FloatArray
    weight: FloatArray
    present: IntArray
    equal: EqualRows
    division: Division
    seed: int

    @classmethod
    def from_rows(
        cls,
        scaling: AnyScaling,
        coordinates: FloatArray,
        weight: FloatArray,
        division: Division,
        seed: int,
    ) -> Self:
        """Merge equal rows."""
        present = np.flatnonzero(weight > 0.0)
        equal = EqualRows.of(coordinates[present])
        distinct, sums = coordinates[present[equal.first]], equal.sums(weight[present])
        return cls(scaling, distinct, sums, present, equal, division, seed)

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """Partitions of the distinct rows; a single one if a leaf has all of them."""
        leaf_rows, n_partitions, overlap = self.division
        is_whole = self.n_distinct <= leaf_rows
        rngs = np.random.default_rng(self.seed).spawn(1 if is_whole else n_partitions)
        known = self.coordinates, self.weight, leaf_rows
        return tuple(Partition.from_rows(*known, rng, overlap) for rng in rngs)

    @property
    def n_distinct(self) -> int:
        """The number of distinct rows."""
        return len(self.coordinates)

    def merged(self, problems: Sequence[Problem]) -> list[Problem]:
        """Return problems on the distinct rows, whose minimisers are the same.

        Strengths of equal rows add up, and their target is the mean of their targets.
        """
        return [replace(each, loss=self._merged(_squared(each))) for each in problems]

    def _merged(self, loss: Squared) -> Squared:
        strengths, y = loss.strengths[self.present], loss.y[self.present]
        sums, products = self.equal.sums(strengths), self.equal.sums(strengths * y)
        means = np.divide(products, sums, out=np.zeros_like(sums), where=sums > 0.0)
        return Squared.from_targets(means, sums)


def mean_target(problem: Problem) -> float:
    """Return the weighted mean of the targets of a problem, in their unit; 0 without any."""
    loss = _squared(problem)
    total = float(loss.strengths.sum())
    mean = float(loss.strengths @ loss.y) / total if total > 0.0 else 0.0
    return problem.scale.restore(np.array(mean)).item()


def dense(X: Rows) -> FloatArray:
    """Return rows as a dense array."""
    return X if isinstance(X, np.ndarray) else X.toarray()


def _squared(problem: Problem) -> Squared:
    assert isinstance(problem.loss, Squared)  # as `LocalBackend.supports` demands
    return problem.loss

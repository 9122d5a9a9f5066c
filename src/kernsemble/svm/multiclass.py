r"""Several classes, decided by machines that know two sides each.

A reduction tells which classes are on the two sides of each machine, and turns what the
machines say into decision values and probabilities of classes. Two classes need one
machine, whose positive side is the second class, whatever the reduction.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias, get_args

import numpy as np

from kernsemble._arguments import check_choice
from kernsemble._typing import FloatArray, IntArray
from kernsemble._value import Value

Multiclass: TypeAlias = Literal["one-vs-one", "one-vs-rest"]
Shape: TypeAlias = Literal["ovr", "ovo"]

SMALLEST_SHARE = 1e-7  # of a pair, so that no class is impossible before all pairs are heard
NUMBERS_A_BLOCK = 2_000_000  # of the linear systems that are solved together


class Reduction(Value, ABC):
    """A way to decide among several classes by machines that know two sides each."""

    n_classes: int

    @property
    @abstractmethod
    def n_machines(self) -> int:
        """How many machines there are."""

    @abstractmethod
    def signs(self, codes: IntArray, machine: int) -> FloatArray:
        """Return +1 and −1 for the rows on the sides of a machine, 0 for those on neither."""

    @abstractmethod
    def decisions(self, values: FloatArray) -> FloatArray:
        """Return the decision value of every class (columns); of two classes one number."""

    @abstractmethod
    def combine(self, shares: FloatArray) -> FloatArray:
        """Return probabilities of classes from those of the machines' positive sides."""

    def winners(self, values: FloatArray) -> IntArray:
        """Return the codes of the classes that the machines choose."""
        decisions = self.decisions(values)
        return decisions.argmax(axis=1) if decisions.ndim == 2 else (decisions > 0.0).astype(int)


@dataclass(frozen=True, eq=False)
class OneVersusOne(Reduction):
    """A machine for each pair of classes, on the rows of these two."""

    n_classes: int

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The positive and the negative class of each machine, in LIBSVM's order."""
        return [(1, 0)] if self.n_classes == 2 else list(combinations(range(self.n_classes), 2))

    @property
    def n_machines(self) -> int:
        return self.n_classes * (self.n_classes - 1) // 2

    def signs(self, codes: IntArray, machine: int) -> FloatArray:
        positive, negative = self.pairs[machine]
        return (codes == positive).astype(np.float64) - (codes == negative)

    def decisions(self, values: FloatArray) -> FloatArray:
        """Return how many pairs each class wins, and less than a half for how clearly."""
        if self.n_classes == 2:
            return values[:, 0]
        votes = np.zeros((len(values), self.n_classes))
        clarity = np.zeros_like(votes)
        for column, (positive, negative) in zip(values.T, self.pairs, strict=True):
            votes[:, positive] += column > 0.0
            votes[:, negative] += column <= 0.0
            clarity[:, positive] += column
            clarity[:, negative] -= column
        return votes + clarity / (2.0 * np.abs(clarity) + 3.0)

    def combine(self, shares: FloatArray) -> FloatArray:
        if self.n_classes == 2:
            return np.column_stack([1.0 - shares[:, 0], shares[:, 0]])
        positive, negative = np.transpose(self.pairs)
        shares = np.clip(shares, SMALLEST_SHARE, 1.0 - SMALLEST_SHARE)
        together = np.empty((len(shares), self.n_classes))
        height = max(NUMBERS_A_BLOCK // (self.n_classes + 1) ** 2, 1)
        for start in range(0, len(shares), height):
            block = slice(start, start + height)
            against = np.zeros((len(shares[block]), self.n_classes, self.n_classes))
            against[:, positive, negative] = shares[block]
            against[:, negative, positive] = 1.0 - shares[block]
            together[block] = _coupled(against)
        return together


@dataclass(frozen=True, eq=False)
class OneVersusRest(Reduction):
    """A machine for each class, on all rows: its own are positive."""

    n_classes: int

    @property
    def n_machines(self) -> int:
        return self.n_classes

    def signs(self, codes: IntArray, machine: int) -> FloatArray:
        return np.where(codes == machine, 1.0, -1.0)

    def decisions(self, values: FloatArray) -> FloatArray:
        return values

    def combine(self, shares: FloatArray) -> FloatArray:
        return shares / shares.sum(axis=1, keepdims=True)


def as_reduction(multiclass: Multiclass, n_classes: int) -> Reduction:
    """Return the reduction of a name."""
    check_choice("multiclass", multiclass, get_args(Multiclass))
    if multiclass == "one-vs-rest" and n_classes > 2:
        return OneVersusRest(n_classes)
    return OneVersusOne(n_classes)


def check_shape(shape: Shape, multiclass: Multiclass) -> None:
    """Demand a shape of decision values that the machines can give."""
    check_choice("decision_function_shape", shape, get_args(Shape))
    if shape == "ovo" and multiclass == "one-vs-rest":
        raise ValueError(
            "decision_function_shape = 'ovo' asks for the values of all pairs of classes, and "
            "multiclass = 'one-vs-rest' fits none: give 'ovr', or multiclass='one-vs-one'"
        )


def _coupled(against: FloatArray) -> FloatArray:
    r"""Return the probabilities of classes that agree best with those of pairs.

    With :math:`r_{ij}` the probability of class i among i and j,

    .. math:: \min_p \textstyle\sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2
              \quad\text{s.t.}\quad \textstyle\sum_i p_i = 1 ,

    the second method of Wu, Lin and Weng (2004), whose solution is never negative.
    `against` holds :math:`r_{ij}`, a matrix for each row, with a diagonal of zero.
    """
    n, k = against.shape[:2]
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k] = -against * against.transpose(0, 2, 1)
    system[:, range(k), range(k)] = (against**2).sum(axis=1)
    system[:, k, :k] = system[:, :k, k] = 1.0
    right = np.zeros((k + 1, 1))
    right[k] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], np.finfo(np.float64).eps)
    return p / p.sum(axis=1, keepdims=True)

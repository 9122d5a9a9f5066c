"""The base classes of sets of hypotheses."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from kernsemble._arguments import check_count
from kernsemble._typing import FloatArray, Rows
from kernsemble._value_object import Value


class Hypotheses(Value, ABC):
    """Finitely many hypotheses, stored as arrays."""

    @abstractmethod
    def vote(self, X: Rows) -> FloatArray:
        """Return the outputs, one row for each row of `X`, one column for each hypothesis."""


@dataclass(frozen=True, eq=False, repr=False)
class FiniteSet(Value):
    r"""Hypotheses :math:`h_1, \dots, h_n` with a measure :math:`r_1^2, \dots, r_n^2`."""

    members: Hypotheses
    measure: FloatArray

    def vote(self, X: Rows) -> FloatArray:
        """Return the outputs, one row for each row of `X`, one column for each hypothesis."""
        return self.members.vote(X)

    def kernel(self, X: Rows, Y: Rows | None = None) -> FloatArray:
        r"""Return the kernel that embodies these: :math:`\sum_t r_t^2\, h_t(x)\, h_t(x')`."""
        votes = self.vote(X)
        others = votes if Y is None else self.vote(Y)
        return (votes * self.measure) @ others.T


class HypothesisSet(Value, ABC):
    r"""A set :math:`\{h_a : a \in \mathcal C\}` with the measure :math:`r(a)^2\,da`.

    It defines the kernel :math:`K(x, x') = \int r(a)^2\, h_a(x)\, h_a(x')\, da`.
    """

    @property
    @abstractmethod
    def total_measure(self) -> float:
        r""":math:`\Delta = \int r(a)^2\, da`, which is K(x, x) when the votes are ±1."""

    @property
    def is_negation_complete(self) -> bool:
        """Whether −h is in the set, with the same measure, whenever h is."""
        return True

    @property
    def is_neutral(self) -> bool:
        r"""Whether :math:`\int h_a(x)\, r(a)^2\, da = 0` at every x (Definition 15)."""
        return self.is_negation_complete

    @property
    def votes_are_signs(self) -> bool:
        """Whether every hypothesis votes −1 or +1."""
        return True

    @property
    @abstractmethod
    def has_constant(self) -> bool:
        """Whether a hypothesis is known that votes the same on every row of the sample."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Hypotheses:
        """Return `n` hypotheses drawn from the normalised measure."""

    def vote(
        self, X: Rows, n: int = 1_000, rng: np.random.Generator | int | None = None
    ) -> FloatArray:
        """Return the votes of `n` random hypotheses: ``sample(n, rng).vote(X)``."""
        return self.sample(n, rng).vote(X)

    def sample(self, n: int, rng: np.random.Generator | int | None = None) -> FiniteSet:
        r"""Return `n` random hypotheses, each with measure :math:`\Delta / n`.

        The kernel of the sample is an unbiased estimate of the kernel of the set, with
        an error proportional to :math:`1/\sqrt n`.
        """
        check_count("n", n)
        if not 0.0 < self.total_measure < np.inf:
            raise ValueError(
                f"{type(self).__name__} has total measure {self.total_measure} and cannot be "
                "sampled: drop constant columns, or scale the columns"
            )
        measure = np.full(n, self.total_measure / n)
        return FiniteSet(self.draw(n, np.random.default_rng(rng)), measure)

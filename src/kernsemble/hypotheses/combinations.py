"""Sets made of sets: unions, logical combinations, restrictions to some columns."""

from dataclasses import dataclass

import numpy as np

from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble._validation import Column, as_table, chosen_columns
from kernsemble.exceptions import NotNeutralError
from kernsemble.hypotheses.base import Hypotheses, HypothesisSet


@dataclass(frozen=True, eq=False, repr=False)
class Union(HypothesisSet):
    """All hypotheses of several sets (Theorem 13). Its kernel is the sum of theirs."""

    parts: tuple[HypothesisSet, ...]

    @property
    def total_measure(self) -> float:
        return sum(part.total_measure for part in self.parts)

    @property
    def is_negation_complete(self) -> bool:
        return all(part.is_negation_complete for part in self.parts)

    @property
    def is_neutral(self) -> bool:
        return all(part.is_neutral for part in self.parts)

    @property
    def votes_are_signs(self) -> bool:
        return all(part.votes_are_signs for part in self.parts)

    @property
    def has_constant(self) -> bool:
        return any(part.has_constant for part in self.parts)

    def draw(self, n: int, rng: np.random.Generator) -> Hypotheses:
        share = np.array([part.total_measure for part in self.parts]) / self.total_measure
        counts = rng.multinomial(n, share)
        drawn = (part.draw(int(count), rng) for part, count in zip(self.parts, counts, strict=True))
        return _Joined(tuple(drawn), order=rng.permutation(n))


@dataclass(frozen=True, eq=False, repr=False)
class Xor(HypothesisSet):
    """−h₁·h₂ for all h₁, h₂ of two sets (Theorem 14). Its kernel is the product of theirs.

    With +1 for true, the product of two votes with its sign changed is their XOR.
    """

    left: HypothesisSet
    right: HypothesisSet

    @property
    def total_measure(self) -> float:
        return self.left.total_measure * self.right.total_measure

    @property
    def is_negation_complete(self) -> bool:
        return self.left.is_negation_complete or self.right.is_negation_complete

    @property
    def is_neutral(self) -> bool:
        return self.left.is_neutral or self.right.is_neutral

    @property
    def votes_are_signs(self) -> bool:
        return self.left.votes_are_signs and self.right.votes_are_signs

    @property
    def has_constant(self) -> bool:
        both = self.left.has_constant and self.right.has_constant
        return both or (self.left == self.right and self.votes_are_signs)  # −h·h

    def draw(self, n: int, rng: np.random.Generator) -> Hypotheses:
        return _Xored(self.left.draw(n, rng), self.right.draw(n, rng))


@dataclass(frozen=True, eq=False, repr=False)
class And(HypothesisSet):
    r"""±min(h₁, h₂) for all h₁, h₂ of two neutral sets that vote ±1 (Theorem 16).

    With :math:`r = \sqrt2\, r_1 r_2` its kernel is :math:`(K_1 + \Delta_1)(K_2 + \Delta_2)`
    and :math:`\Delta = 4\Delta_1\Delta_2`. OR is AND between negations, negated.
    """

    left: HypothesisSet
    right: HypothesisSet

    def __post_init__(self) -> None:
        super().__post_init__()
        for side in (self.left, self.right):
            if not (side.is_neutral and side.votes_are_signs):
                raise NotNeutralError.of(type(side).__name__)

    @property
    def total_measure(self) -> float:
        return 4.0 * self.left.total_measure * self.right.total_measure

    @property
    def has_constant(self) -> bool:
        shared = self.left == self.right and self.left.is_negation_complete  # min(h, −h)
        return self.left.has_constant or self.right.has_constant or shared

    def draw(self, n: int, rng: np.random.Generator) -> Hypotheses:
        polarity = rng.choice([-1.0, 1.0], size=n)
        return _Anded(polarity, self.left.draw(n, rng), self.right.draw(n, rng))


@dataclass(frozen=True, eq=False, repr=False)
class Regions(HypothesisSet):
    r"""Conjunctions of l hypotheses of a neutral set, for several lengths l; votes 0 or 1.

    A conjunction of stumps is a box, the leaf of a tree; of perceptrons, a polytope; of
    nothing, the whole space. Let :math:`u = (K + \Delta) / 2\Delta` for the `conditions`
    the conjunctions are made of. Two rows both fulfil a condition drawn from their
    normalised measure with probability u/2, hence the kernel

    .. math:: \textstyle\sum_l w_l\, u^l

    belongs to the conjunctions of every length l with total measure :math:`2^l w_l`.
    """

    conditions: HypothesisSet
    weights: FloatArray  # w_l at position l

    @property
    def length_measure(self) -> FloatArray:
        """The total measure of the conjunctions of each length."""
        with np.errstate(over="ignore"):
            return np.ldexp(self.weights, np.arange(len(self.weights)))

    @property
    def total_measure(self) -> float:
        return float(self.length_measure.sum())

    @property
    def is_negation_complete(self) -> bool:
        return False

    @property
    def votes_are_signs(self) -> bool:
        return False

    @property
    def has_constant(self) -> bool:
        return bool(self.weights[0] > 0.0) or self.conditions.has_constant

    def draw(self, n: int, rng: np.random.Generator) -> Hypotheses:
        share = self.length_measure / self.total_measure
        lengths = rng.choice(len(share), size=n, p=share)
        return _Conjunctions(self.conditions.draw(int(lengths.sum()), rng), lengths)


@dataclass(frozen=True, eq=False, repr=False)
class _Wrapped(HypothesisSet):
    """A set derived from one other set."""

    hypotheses: HypothesisSet

    @property
    def total_measure(self) -> float:
        return self.hypotheses.total_measure

    @property
    def is_negation_complete(self) -> bool:
        return self.hypotheses.is_negation_complete

    @property
    def is_neutral(self) -> bool:
        return self.hypotheses.is_neutral

    @property
    def votes_are_signs(self) -> bool:
        return self.hypotheses.votes_are_signs

    @property
    def has_constant(self) -> bool:
        return self.hypotheses.has_constant

    def draw(self, n: int, rng: np.random.Generator) -> Hypotheses:
        return self.hypotheses.draw(n, rng)


@dataclass(frozen=True, eq=False, repr=False)
class Reweighted(_Wrapped):
    """A set with its measure multiplied by a positive number."""

    factor: float

    @property
    def total_measure(self) -> float:
        return self.factor * super().total_measure


@dataclass(frozen=True, eq=False, repr=False)
class OnColumns(_Wrapped):
    """A set on some columns only, found by name in a DataFrame if they were given by name."""

    columns: tuple[Column, ...]
    positions: IntArray

    def draw(self, n: int, rng: np.random.Generator) -> Hypotheses:
        return _OfColumns(super().draw(n, rng), self.columns, self.positions)


@dataclass(frozen=True, eq=False, repr=False)
class ConstantSet(HypothesisSet):
    """The two hypotheses that vote +1 everywhere and −1 everywhere."""

    measure: float

    @property
    def total_measure(self) -> float:
        return self.measure

    @property
    def has_constant(self) -> bool:
        return True

    def draw(self, n: int, rng: np.random.Generator) -> Hypotheses:
        return _Constants(rng.choice([-1.0, 1.0], size=n))


@dataclass(frozen=True, eq=False, repr=False)
class _Constants(Hypotheses):
    polarity: FloatArray

    def vote(self, X: Rows) -> FloatArray:
        return np.tile(self.polarity, (as_table(X).shape[0], 1))


@dataclass(frozen=True, eq=False, repr=False)
class _Joined(Hypotheses):
    parts: tuple[Hypotheses, ...]
    order: IntArray  # shuffled, so that two samples can be paired

    def vote(self, X: Rows) -> FloatArray:
        return np.hstack([part.vote(X) for part in self.parts])[:, self.order]


@dataclass(frozen=True, eq=False, repr=False)
class _Xored(Hypotheses):
    left: Hypotheses
    right: Hypotheses

    def vote(self, X: Rows) -> FloatArray:
        return -self.left.vote(X) * self.right.vote(X)


@dataclass(frozen=True, eq=False, repr=False)
class _Anded(Hypotheses):
    polarity: FloatArray
    left: Hypotheses
    right: Hypotheses

    def vote(self, X: Rows) -> FloatArray:
        return self.polarity * np.minimum(self.left.vote(X), self.right.vote(X))


@dataclass(frozen=True, eq=False, repr=False)
class _Conjunctions(Hypotheses):
    conditions: Hypotheses  # those of the first conjunction, then of the second, ...
    lengths: IntArray

    def vote(self, X: Rows) -> FloatArray:
        failed = np.cumsum(self.conditions.vote(X) < 0.0, axis=1)
        failed = np.pad(failed, ((0, 0), (1, 0)))
        stop = np.cumsum(self.lengths)
        holds = failed[:, stop] == failed[:, stop - self.lengths]
        return holds.astype(np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class _OfColumns(Hypotheses):
    hypotheses: Hypotheses
    columns: tuple[Column, ...]
    positions: IntArray

    def vote(self, X: Rows) -> FloatArray:
        return self.hypotheses.vote(chosen_columns(X, self.columns, self.positions))

"""The rounds of AdaBoost: of compiled stumps, or of any learner."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.learners.search import Cases, Search
from kernsemble.learners.stump import StumpSearch
from kernsemble.learners.voters import Voters
from kernsemble.solvers.stump_search import boost_stumps, hypothesis_weight, is_chance, reweigh

ENTRIES_A_CALL = 20_000_000  # looked at by compiled code, before an interrupt is heard


class Ending(Enum):
    """Why boosting ended; the value is what a user is told."""

    ALL_ROUNDS = "all rounds were done"
    NO_ERROR = "a hypothesis makes no error on the weighted rows"
    CHANCE = "no further hypothesis is better than chance"
    NO_CHANGE = "the score of held-out rows no longer rises"
    INTERRUPTED = "interrupted: fit again with warm_start=True to go on from here"


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Hypotheses with their weights, and the weighted errors that they were found with."""

    voters: Voters
    weights: FloatArray
    errors: FloatArray

    def followed_by(self, other: "Ensemble") -> "Ensemble":
        """Return the hypotheses of both, one after the other."""
        return Ensemble(
            self.voters.followed_by(other.voters),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.errors, other.errors]),
        )


class Rounds(ABC):
    r"""AdaBoost, Algorithm 1 of the thesis (SAMME with more than two classes).

    From weights U of the rows that sum to 1, each round finds a hypothesis of small weighted
    error :math:`\varepsilon_t`, gives it :math:`w_t = \eta(\ln\frac{1 - \varepsilon_t}
    {\varepsilon_t} + \ln(K - 1))`, multiplies the weights of rows that it has right by
    :math:`e^{-w_t}`, and normalises them. It ends at an error of 0 or of chance,
    :math:`1 - 1/K`.
    """

    def __init__(self, search: Any, cases: Cases, weight: FloatArray, learning_rate: float) -> None:
        self.search, self.cases, self.learning_rate = search, cases, learning_rate
        self.weight = weight / weight.sum()
        self.found: list[Any] = []
        self.weights: list[float] = []
        self.errors: list[float] = []
        self.ending = Ending.ALL_ROUNDS

    @classmethod
    def of(cls, search: Search, cases: Cases, weight: FloatArray, learning_rate: float) -> "Rounds":
        """Return the rounds that suit a search."""
        kind = StumpRounds if isinstance(search, StumpSearch) else LearnerRounds
        return kind(search, cases, weight, learning_rate)

    def __len__(self) -> int:
        return len(self.found)

    @property
    def has_ended(self) -> bool:
        """Whether there is nothing left to do."""
        return self.ending is not Ending.ALL_ROUNDS

    @abstractmethod
    def advance(self, n_rounds: int) -> None:
        """Do some rounds, at most so many."""

    def go_on_from(self, before: Ensemble, classes: Any) -> None:
        """Set the weights of rows to what these hypotheses would have left."""
        votes = before.voters.votes(self.cases.X, before.weights, len(classes))
        own = np.searchsorted(classes, self.cases.classes)[self.cases.codes]
        right = votes[np.arange(len(votes)), own]
        self.weight *= np.exp(right.min() - right)
        self.weight /= self.weight.sum()

    def take_one(self) -> None:
        """Take one hypothesis, which is no better than chance."""
        found, said = self.search.find_weighted(self.weight)
        self._add(found, float(self.weight[said != self.cases.codes].sum()), 1.0)

    def ensemble(self, classes: Any, first: int = 0) -> Ensemble:
        """Return what was found from some round on, voting for places in `classes`."""
        voters = self.search.voters(self.found[first:], classes)
        return Ensemble(voters, np.array(self.weights[first:]), np.array(self.errors[first:]))

    def staged_votes(
        self, X: FloatArray, classes: Any, stages: Sequence[int]
    ) -> Iterator[FloatArray]:
        """Yield the votes at other rows after each of some numbers of rounds, in ascending order.

        A stage beyond the end of boosting has the votes of the end.
        """
        votes = np.zeros((X.shape[0], len(classes)))
        for stage in stages:
            n_before = len(self)
            while len(self) < stage and not self.has_ended:
                self.advance(stage - len(self))
            if len(self) == 0:
                self.take_one()
            heard = self.ensemble(classes, n_before)
            if len(heard.weights) > 0:
                votes += heard.voters.votes(X, heard.weights, len(classes))
            yield votes

    def cut(self, n_rounds: int) -> None:
        """Drop all but the first rounds."""
        for each in (self.found, self.weights, self.errors):
            del each[n_rounds:]

    def _weight_of(self, error: float) -> float:
        return hypothesis_weight(error, self.cases.n_classes, self.learning_rate)

    def _add(self, found: Any, error: float, weight: float) -> None:
        self.found.append(found)
        self.errors.append(error)
        self.weights.append(weight)


class StumpRounds(Rounds):
    """Rounds of stumps, compiled from end to end."""

    def advance(self, n_rounds: int) -> None:
        at_once = max(ENTRIES_A_CALL // (self.cases.X.size * self.cases.n_classes), 1)
        boosted = boost_stumps(
            self.search.columns,
            self.cases.codes,
            self.weight,
            self.cases.n_classes,
            min(n_rounds, at_once),
            self.learning_rate,
        )
        for stump, error in zip(boosted.stumps, boosted.errors, strict=True):
            self._add(stump, error, self._weight_of(error))
        if boosted.has_ended:
            is_perfect = len(boosted.errors) > 0 and boosted.errors[-1] == 0.0
            self.ending = Ending.NO_ERROR if is_perfect else Ending.CHANCE


class LearnerRounds(Rounds):
    """Rounds of a learner that is asked anew each time."""

    def advance(self, n_rounds: int) -> None:  # noqa: ARG002 (one at once)
        found, said = self.search.find_weighted(self.weight)
        is_right = said == self.cases.codes
        error = float(self.weight[~is_right].sum())
        if is_chance(error, self.cases.n_classes):
            self.ending = Ending.CHANCE
            return
        self._add(found, error, self._weight_of(error))
        if error == 0.0:
            self.ending = Ending.NO_ERROR
            return
        reweigh(self.weight, is_right, self.weights[-1])

"""The rounds of AdaBoost, on compiled stumps or on any base learner."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.learners.hypothesis_search import Cases, HypothesisSearch
from kernsemble.learners.stump import StumpSearch
from kernsemble.learners.voters import Voters
from kernsemble.solvers.stump_search import boost_stumps, hypothesis_weight, is_chance, reweigh

ENTRIES_PER_CALL = 20_000_000  # matrix entries read by compiled code between two interrupt checks


class AdaBoostEnding(Enum):
    """The reason why boosting ended; the value is shown to users as `ending_`."""

    ALL_ROUNDS = "all rounds were done"
    NO_ERROR = "a hypothesis makes no error on the weighted rows"
    CHANCE = "no further hypothesis is better than chance"
    NO_CHANGE = "early stopping: the score on held-out rows no longer improves"
    INTERRUPTED = "interrupted: fit again with warm_start=True to continue"


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Hypotheses with their weights and their weighted training errors."""

    voters: Voters
    weights: FloatArray
    errors: FloatArray

    def followed_by(self, other: "Ensemble") -> "Ensemble":
        """Return the hypotheses of both, in this order."""
        return Ensemble(
            self.voters.followed_by(other.voters),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.errors, other.errors]),
        )


class AdaBoostRounds(ABC):
    r"""AdaBoost, Algorithm 1 of the thesis (SAMME with more than two classes).

    The weights U of the rows sum to 1. Each round finds a hypothesis of small weighted
    error :math:`\varepsilon_t` and weight :math:`w_t = \eta(\ln\frac{1 - \varepsilon_t}
    {\varepsilon_t} + \ln(K - 1))`, multiplies the weights of the rows that it classifies correctly
    by :math:`e^{-w_t}`, and normalises them. Boosting ends at an error of 0 or of chance,
    :math:`1 - 1/K`.
    """

    def __init__(self, search: Any, cases: Cases, weight: FloatArray, learning_rate: float) -> None:
        self.search, self.cases, self.learning_rate = search, cases, learning_rate
        self.weight = weight / weight.sum()
        self.found: list[Any] = []
        self.weights: list[float] = []
        self.errors: list[float] = []
        self.ending = AdaBoostEnding.ALL_ROUNDS

    @staticmethod
    def for_search(
        search: HypothesisSearch, cases: Cases, weight: FloatArray, learning_rate: float
    ) -> "AdaBoostRounds":
        """Return compiled rounds for stumps, and general ones for any other base learner."""
        kind = StumpRounds if isinstance(search, StumpSearch) else LearnerRounds
        return kind(search, cases, weight, learning_rate)

    def __len__(self) -> int:
        return len(self.found)

    @property
    def has_ended(self) -> bool:
        """Whether boosting has ended before its last round."""
        return self.ending is not AdaBoostEnding.ALL_ROUNDS

    @abstractmethod
    def advance(self, n_rounds: int) -> None:
        """Run one or several rounds, at most `n_rounds`."""

    def continue_from(self, previous: Ensemble, classes: Any) -> None:
        """Set the row weights to their values after the rounds of a previous ensemble."""
        votes = previous.voters.votes(self.cases.X, previous.weights, len(classes))
        own = np.searchsorted(classes, self.cases.classes)[self.cases.codes]
        right = votes[np.arange(len(votes)), own]
        self.weight *= np.exp(right.min() - right)
        self.weight /= self.weight.sum()

    def take_one(self) -> None:
        """Add one hypothesis although it is no better than chance."""
        found, predicted = self.search.find_weighted(self.weight)
        self._add(found, float(self.weight[predicted != self.cases.codes].sum()), 1.0)

    def ensemble(self, classes: Any, first: int = 0) -> Ensemble:
        """Return the hypotheses from round `first` on, as voters for indices into `classes`."""
        voters = self.search.voters(self.found[first:], classes)
        return Ensemble(voters, np.array(self.weights[first:]), np.array(self.errors[first:]))

    def staged_votes(
        self, X: FloatArray, classes: Any, stages: Sequence[int]
    ) -> Iterator[FloatArray]:
        """Yield the votes for new rows after each of the ascending numbers of rounds `stages`.

        Stages beyond the end of boosting have the final votes.
        """
        votes = np.zeros((X.shape[0], len(classes)))
        for stage in stages:
            n_done = len(self)
            while len(self) < stage and not self.has_ended:
                self.advance(stage - len(self))
            if len(self) == 0:
                self.take_one()
            new = self.ensemble(classes, n_done)
            if len(new.weights) > 0:
                votes += new.voters.votes(X, new.weights, len(classes))
            yield votes

    def truncate(self, n_rounds: int) -> None:
        """Drop all but the first `n_rounds` rounds."""
        for each in (self.found, self.weights, self.errors):
            del each[n_rounds:]

    def _weight_of(self, error: float) -> float:
        return hypothesis_weight(error, self.cases.n_classes, self.learning_rate)

    def _add(self, found: Any, error: float, weight: float) -> None:
        self.found.append(found)
        self.errors.append(error)
        self.weights.append(weight)


class StumpRounds(AdaBoostRounds):
    """Rounds on stumps, compiled from end to end."""

    def __init__(
        self,
        search: Any,
        cases: Cases,
        weight: FloatArray,
        learning_rate: float,
        entries_per_call: int = ENTRIES_PER_CALL,
    ) -> None:
        super().__init__(search, cases, weight, learning_rate)
        self._rounds_per_call = max(entries_per_call // (cases.X.size * cases.n_classes), 1)

    def advance(self, n_rounds: int) -> None:
        boosted = boost_stumps(
            self.search.columns,
            self.cases.codes,
            self.weight,
            self.cases.n_classes,
            min(n_rounds, self._rounds_per_call),
            self.learning_rate,
        )
        for stump, error in zip(boosted.stumps, boosted.errors, strict=True):
            self._add(stump, error, self._weight_of(error))
        if boosted.has_ended:
            is_perfect = len(boosted.errors) > 0 and boosted.errors[-1] == 0.0
            self.ending = AdaBoostEnding.NO_ERROR if is_perfect else AdaBoostEnding.CHANCE


class LearnerRounds(AdaBoostRounds):
    """Rounds on any base learner, which is fitted once per round."""

    def advance(self, n_rounds: int) -> None:  # noqa: ARG002 (one per call)
        found, predicted = self.search.find_weighted(self.weight)
        is_right = predicted == self.cases.codes
        error = float(self.weight[~is_right].sum())
        if is_chance(error, self.cases.n_classes):
            self.ending = AdaBoostEnding.CHANCE
            return
        self._add(found, error, self._weight_of(error))
        if error == 0.0:
            self.ending = AdaBoostEnding.NO_ERROR
            return
        reweigh(self.weight, is_right, self.weights[-1])

"""The hypotheses of a finite ensemble, which vote for classes."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble._value import Value


class Voters(Value, ABC):
    """Hypotheses in the order in which they were found; each says a class at every row."""

    classes: Any
    n_features: int

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def codes(self, X: Rows) -> Iterator[IntArray]:
        """Yield for each hypothesis the codes of the classes that it says."""

    @property
    @abstractmethod
    def estimators(self) -> list[Any]:
        """The hypotheses as fitted classifiers."""

    @abstractmethod
    def taken(self, places: IntArray) -> Self:
        """Return some of them."""

    @abstractmethod
    def followed_by(self, others: Self) -> Self:
        """Return these and others of their kind, for the same classes."""

    def votes(self, X: Rows, weights: FloatArray, n_classes: int) -> FloatArray:
        """Return the sum of the weights of those who say each class (columns) at each row."""
        votes = np.zeros((X.shape[0], n_classes))
        for said, weight in zip(self.codes(X), weights, strict=True):
            add_vote(votes, said, weight)
        return votes

    def n_distinct(self, weights: FloatArray) -> int:
        """Return how many have a weight, each that is known to be another's equal once."""
        return int(np.count_nonzero(weights))


@dataclass(frozen=True, eq=False, repr=False)
class EstimatorVoters(Voters):
    """Fitted classifiers of scikit-learn's kind, which say some of the `classes`."""

    fitted: Sequence[Any]
    classes: Any
    n_features: int

    def __len__(self) -> int:
        return len(self.fitted)

    def codes(self, X: Rows) -> Iterator[IntArray]:
        for each in self.fitted:
            yield np.searchsorted(self.classes, each.predict(X))

    @property
    def estimators(self) -> list[Any]:
        return list(self.fitted)

    def taken(self, places: IntArray) -> Self:
        return replace(self, fitted=[self.fitted[place] for place in places.tolist()])

    def followed_by(self, others: Self) -> Self:
        return replace(self, fitted=[*self.fitted, *others.fitted])

    def votes(self, X: Rows, weights: FloatArray, n_classes: int) -> FloatArray:
        heard = np.flatnonzero(weights)
        return Voters.votes(self.taken(heard), X, weights[heard], n_classes)


@dataclass(frozen=True, eq=False, repr=False)
class CodedVoters(EstimatorVoters):
    """Fitted classifiers that tell codes of rows which were checked before."""

    def codes(self, X: Rows) -> Iterator[IntArray]:
        for each in self.fitted:
            said = each.codes(X)
            yield said if each.classes_ is self.classes else self._places(each.classes_)[said]

    def _places(self, classes: Any) -> IntArray:
        return np.searchsorted(self.classes, classes)


def add_vote(votes: FloatArray, said: IntArray, weight: float) -> None:
    """Add a weight to the class (column) that is said at each row."""
    votes[np.arange(len(votes)), said] += weight

"""The hypotheses of a finite ensemble, which vote for classes."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble._value_object import Value


class Voters(Value, ABC):
    """Hypotheses in the order in which they were found; each predicts a class for every row."""

    classes: Any
    n_features: int

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def codes(self, X: Rows) -> Iterator[IntArray]:
        """Yield the class codes that each hypothesis predicts."""

    @property
    @abstractmethod
    def estimators(self) -> list[Any]:
        """The hypotheses as fitted classifiers."""

    @abstractmethod
    def take(self, places: IntArray) -> Self:
        """Return the hypotheses at these indices."""

    @abstractmethod
    def followed_by(self, others: Self) -> Self:
        """Return these hypotheses followed by others of the same type and classes."""

    def votes(self, X: Rows, weights: FloatArray, n_classes: int) -> FloatArray:
        """Return the weighted votes for each class (columns) at each row."""
        votes = np.zeros((X.shape[0], n_classes))
        for predicted, weight in zip(self.codes(X), weights, strict=True):
            add_vote(votes, predicted, weight)
        return votes

    def n_distinct(self, weights: FloatArray) -> int:
        """Return the number of hypotheses with non-zero weight, duplicates once if detectable."""
        return int(np.count_nonzero(weights))


@dataclass(frozen=True, eq=False, repr=False)
class EstimatorVoters(Voters):
    """Fitted scikit-learn classifiers, each trained on all or some of the `classes`."""

    fitted: Sequence[Any]
    classes: Any
    n_features: int

    def __len__(self) -> int:
        return len(self.fitted)

    def codes(self, X: Rows) -> Iterator[IntArray]:
        for each in self.fitted:
            with np.errstate(all="ignore"):  # trees refuse rows that are infinite in float32
                predicted = each.predict(X)
            yield np.searchsorted(self.classes, predicted)

    @property
    def estimators(self) -> list[Any]:
        return list(self.fitted)

    def take(self, places: IntArray) -> Self:
        return replace(self, fitted=[self.fitted[place] for place in places.tolist()])

    def followed_by(self, others: Self) -> Self:
        return replace(self, fitted=[*self.fitted, *others.fitted])

    def votes(self, X: Rows, weights: FloatArray, n_classes: int) -> FloatArray:
        used = np.flatnonzero(weights)
        return Voters.votes(self.take(used), X, weights[used], n_classes)


@dataclass(frozen=True, eq=False, repr=False)
class CodedVoters(EstimatorVoters):
    """Fitted classifiers with a method `codes`, which skips the validation of rows."""

    def codes(self, X: Rows) -> Iterator[IntArray]:
        for each in self.fitted:
            predicted = each.codes(X)
            if each.classes_ is not self.classes:
                predicted = np.searchsorted(self.classes, each.classes_)[predicted]
            yield predicted


def add_vote(votes: FloatArray, predicted: IntArray, weight: float) -> None:
    """Add a weight to the predicted class (column) of each row, in place."""
    votes[np.arange(len(votes)), predicted] += weight

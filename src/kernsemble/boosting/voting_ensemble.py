"""The base class of boosted ensembles: weighted votes, stages and margins."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils.validation import check_is_fitted

from kernsemble._model_cards import CardMixin
from kernsemble._progress import CallbackSupportMixin
from kernsemble._typing import ArrayLike, FloatArray, IntArray, Rows
from kernsemble._validation import (
    accuracy,
    class_codes,
    read_classes,
    read_weights,
    refuse_one_class,
    validated,
)
from kernsemble.learners import DecisionStump
from kernsemble.learners.hypothesis_search import Cases
from kernsemble.learners.voters import Voters, add_vote


class VotingEnsemble(CardMixin, CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc,valid-type]
    r"""Finitely many hypotheses :math:`h_t` that vote for classes with weights :math:`w_t`.

    The votes for class k are :math:`\sum_t w_t [h_t(x) = k]`. With two classes, the difference is
    :math:`f(x) = \sum_t w_t h_t(x)` with hypotheses that predict ±1.
    """

    estimator: Any
    classes_: Any
    voters_: Voters
    estimator_weights_: FloatArray

    def __sklearn_tags__(self) -> Any:
        tags, learner = super().__sklearn_tags__(), get_tags(self._learner)
        tags.input_tags.allow_nan = learner.input_tags.allow_nan
        tags.input_tags.sparse = learner.input_tags.sparse
        return tags

    @property
    def _learner(self) -> Any:
        """The base learner, stumps by default."""
        return DecisionStump() if self.estimator is None else self.estimator

    @property
    def estimators_(self) -> list[Any]:
        """The hypotheses as fitted classifiers, in the order in which they were found."""
        return self.voters_.estimators

    @property
    def n_voters_(self) -> int:
        """The number of distinct hypotheses with non-zero weight: the sparsity of the ensemble."""
        return self.voters_.n_distinct(self.estimator_weights_)

    @property
    def _accepted(self) -> dict[str, Any]:
        tags = get_tags(self._learner).input_tags
        finite = "allow-nan" if tags.allow_nan else True
        sparse = "csr" if tags.sparse else False
        return {"dtype": np.float64, "ensure_all_finite": finite, "accept_sparse": sparse}

    def _read(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Rows, IntArray, FloatArray]:
        """Return validated rows, the codes of their classes, and their weights."""
        X, y = validated(self, X, y, **self._accepted)
        self.classes_, codes = read_classes(y)
        return X, codes, read_weights(sample_weight, X.shape[0])

    def _present(self, X: Rows, codes: IntArray, counts: FloatArray) -> tuple[Cases, FloatArray]:
        """Return the rows with positive weight, of at least two classes, and their weights."""
        cases, counts = Cases.present(X, codes, self.classes_, counts)
        refuse_one_class(cases.classes)
        return cases, counts

    def _last_voters(self) -> Voters | None:
        """Return the hypotheses of the last fit for a warm start, else None."""
        if not (getattr(self, "warm_start", False) and hasattr(self, "voters_")):
            return None
        last = self.voters_
        if not np.array_equal(last.classes, self.classes_) or (
            last.n_features != self.n_features_in_
        ):
            raise ValueError(
                f"warm_start = True: the last fit had the classes {last.classes.tolist()} and "
                f"{last.n_features} features, this one has {self.classes_.tolist()} and "
                f"{self.n_features_in_}; use the same classes and features, or warm_start=False"
            )
        return last

    def _read_again(self, X: ArrayLike) -> Rows:
        check_is_fitted(self, "voters_")
        return validated(self, X, reset=False, **self._accepted)

    def _votes(self, X: ArrayLike) -> FloatArray:
        rows = self._read_again(X)
        return self.voters_.votes(rows, self.estimator_weights_, len(self.classes_))

    def _staged_votes(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the votes after each round."""
        rows = self._read_again(X)
        votes = np.zeros((rows.shape[0], len(self.classes_)))
        codes = self.voters_.codes(rows)
        for predicted, weight in zip(codes, self.estimator_weights_, strict=True):
            add_vote(votes, predicted, weight)
            yield votes

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the votes for each class; with two classes, their difference."""
        return decisions(self._votes(X))

    def predict(self, X: ArrayLike) -> Any:
        """Return the class with the most votes for each row."""
        votes = self._votes(X)
        return self.classes_[winners(votes)]

    def staged_decision_function(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the decision values after each round."""
        for votes in self._staged_votes(X):
            yield decisions(votes)

    def staged_predict(self, X: ArrayLike) -> Iterator[Any]:
        """Yield the predicted classes after each round."""
        for votes in self._staged_votes(X):
            yield self.classes_[winners(votes)]

    def staged_score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Iterator[float]:
        """Yield the accuracy after each round."""
        for predicted in self.staged_predict(X):
            yield accuracy(y, predicted, sample_weight)

    def margins(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        r"""Return the margin of each row, between −1 and 1.

        .. math:: \rho_i = \frac{\sum_t w_t [h_t(x_i) = y_i]
                  - \max_{k \ne y_i} \sum_t w_t [h_t(x_i) = k]}{\sum_t w_t}

        It is negative for misclassified rows. With two classes it is
        :math:`y_i f(x_i) / \|w\|_1`, the l1-margin of the papers.
        """
        votes, codes = self._votes(X), class_codes(y, self.classes_)
        check_consistent_length(votes, codes)
        return self._margins_of(votes, codes)

    def _margins(self, cases: Cases) -> FloatArray:
        """Return the margins of the training cases."""
        votes = self.voters_.votes(cases.X, self.estimator_weights_, len(self.classes_))
        return self._margins_of(votes, np.searchsorted(self.classes_, cases.classes)[cases.codes])

    def _margins_of(self, votes: FloatArray, codes: IntArray) -> FloatArray:
        rows, others = np.arange(len(votes)), votes.copy()
        others[rows, codes] = -np.inf
        total = float(self.estimator_weights_.sum())
        return (votes[rows, codes] - others.max(axis=1)) / (total or 1.0)


def decisions(votes: FloatArray) -> FloatArray:
    """Return decision values: the votes for each class; with two classes, their difference."""
    return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes.copy()


def winners(votes: FloatArray) -> IntArray:
    """Return the code of the class with the most votes in each row, the first of ties."""
    return votes.argmax(axis=1)

"""The decision stump of least weighted error, as a classifier and as a base learner.

The exhaustive search for the best feature and threshold is in `kernsemble.solvers.stump_search`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from kernsemble._jit import jit
from kernsemble._last_fit import restoring_last_fit
from kernsemble._typing import ArrayLike, FloatArray, IntArray, Rows
from kernsemble._validation import read_classes, read_weights, validated
from kernsemble.hypotheses.thresholds import middles
from kernsemble.learners.hypothesis_search import Cases, HypothesisSearch, SearchingLearner
from kernsemble.learners.voters import Voters
from kernsemble.solvers.stump_search import IndexedStump, SortedColumns, best_stump, best_stumps


class DecisionStump(SearchingLearner, ClassifierMixin, BaseEstimator):
    r"""The decision stump, one threshold on one feature, with the least weighted error.

    .. math:: \min_{d, a, k, l}\; \textstyle\sum_i U_i\, [h(x_i) \ne y_i],
              \qquad h(x) = l \text{ if } x_d > a \text{ else } k

    over all features d, thresholds a halfway between neighbouring values of the sample, and
    classes k, l, including the constants, k = l. The minimum is found by exhaustive search, in
    O(n D (K + log n)). Ties are resolved in favour of constants, then of the first feature and
    its smallest threshold.

    Attributes
    ----------
    classes_ : array
        The classes.
    feature_ : int
        The feature d; 0 for a constant.
    threshold_ : float
        The threshold a; −inf for a constant.
    below_, above_
        The class at or below the threshold, and the class above it.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernsemble.learners import DecisionStump
    >>> X, y = load_iris(return_X_y=True)
    >>> stump = DecisionStump().fit(X, y)
    >>> stump.feature_, stump.threshold_
    (2, 2.45)
    >>> print(stump.below_, stump.above_)
    0 1
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # it predicts at most two classes
        return tags

    @restoring_last_fit
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the best stump.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Rows of numbers.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; rows of weight zero are ignored.

        Returns
        -------
        self
        """
        X, y = validated(self, X, y, dtype=np.float64)
        self.classes_, codes = read_classes(y)
        cases, weight = Cases.present(X, codes, self.classes_, read_weights(sample_weight, len(X)))
        search = StumpSearch(cases)
        stump, _ = search.find(cases.gains(weight))
        return self._store(search.voters([stump], self.classes_), 0)

    @classmethod
    def from_voters(cls, voters: "StumpVoters", place: int) -> Self:
        """Return one of several stumps as a fitted classifier."""
        stump = cls()._store(voters, place)
        stump.classes_, stump.n_features_in_ = voters.classes, voters.n_features
        return stump

    def _store(self, voters: Any, place: int) -> Self:
        self.feature_ = int(voters.feature[place])
        self.threshold_ = float(voters.threshold[place])
        self.below_ = voters.classes[voters.below[place]]
        self.above_ = voters.classes[voters.above[place]]
        return self

    def predict(self, X: ArrayLike) -> Any:
        """Return the predicted class of each row."""
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=np.float64)
        return np.where(X[:, self.feature_] > self.threshold_, self.above_, self.below_)

    def search(self, cases: Cases, rng: np.random.RandomState) -> "StumpSearch":  # noqa: ARG002
        """Return a hypothesis search on these rows, for boosting."""
        return StumpSearch(cases)


@dataclass(frozen=True, eq=False, repr=False)
class StumpVoters(Voters):
    """Stumps that predict `above` where the feature is above the threshold, else `below`.

    Arrays have one entry per stump; `below` and `above` are codes, indices into `classes`.
    """

    feature: IntArray
    threshold: FloatArray
    below: IntArray
    above: IntArray
    classes: Any
    n_features: int

    def __len__(self) -> int:
        return len(self.feature)

    def codes(self, X: Rows) -> Iterator[IntArray]:
        for feature, threshold, below, above in zip(
            self.feature, self.threshold, self.below, self.above, strict=True
        ):
            yield np.where(X[:, feature] > threshold, above, below)

    @property
    def estimators(self) -> list[Any]:
        return [DecisionStump.from_voters(self, place) for place in range(len(self))]

    def take(self, places: IntArray) -> Self:
        return replace(
            self,
            feature=self.feature[places],
            threshold=self.threshold[places],
            below=self.below[places],
            above=self.above[places],
        )

    def followed_by(self, others: Self) -> Self:
        return replace(
            self,
            feature=np.concatenate([self.feature, others.feature]),
            threshold=np.concatenate([self.threshold, others.threshold]),
            below=np.concatenate([self.below, others.below]),
            above=np.concatenate([self.above, others.above]),
        )

    def n_distinct(self, weights: FloatArray) -> int:
        arrays = np.column_stack([self.feature, self.threshold, self.below, self.above])
        return len(np.unique(arrays[weights != 0.0], axis=0))

    def votes(self, X: Rows, weights: FloatArray, n_classes: int) -> FloatArray:
        """Return the weighted votes for each class (columns) at each row, in O(n T)."""
        arrays = self.feature, self.threshold, self.below, self.above
        return _stump_votes(np.ascontiguousarray(X), *arrays, weights, n_classes)


class StumpSearch(HypothesisSearch):
    """Search for the best of all middle stumps and constants, on columns sorted once."""

    def __init__(self, cases: Cases) -> None:
        self.cases, self.columns = cases, SortedColumns.from_rows(cases.X)

    def find(self, gains: FloatArray) -> tuple[IndexedStump, IntArray]:
        stump, _ = best_stump(self.columns, gains)
        return stump, self._predicted(stump)

    def find_several(self, gains: FloatArray) -> list[tuple[IndexedStump, IntArray]]:
        """Return the best constant and the best stump of each feature."""
        stumps, found = best_stumps(self.columns, gains)
        several = [IndexedStump(*each) for each in stumps[found > -np.inf].tolist()]
        return [(stump, self._predicted(stump)) for stump in several]

    def _predicted(self, stump: IndexedStump) -> IntArray:
        codes = np.full(len(self.cases.X), stump.above)
        codes[self.columns.order[stump.feature, : stump.step + 1]] = stump.below
        return codes

    def voters(self, found: Sequence[IndexedStump], classes: Any) -> Voters:
        feature, step, below, above = np.array(found, dtype=np.intp).reshape(-1, 4).T
        place = np.searchsorted(classes, self.cases.classes)
        threshold = self._thresholds(feature, step)
        n_features = self.cases.X.shape[1]
        return StumpVoters(feature, threshold, place[below], place[above], classes, n_features)

    def _thresholds(self, feature: IntArray, step: IntArray) -> FloatArray:
        """Return the midpoint between the values on both sides of each step; −inf for constants."""
        thresholds, X, order = np.full(len(feature), -np.inf), self.cases.X, self.columns.order
        is_split = step >= 0
        feature, step = feature[is_split], step[is_split]
        lower, upper = X[order[feature, step], feature], X[order[feature, step + 1], feature]
        thresholds[is_split] = middles(lower, upper)
        return thresholds


@jit
def _stump_votes(
    X: FloatArray,
    feature: IntArray,
    threshold: FloatArray,
    below: IntArray,
    above: IntArray,
    weights: FloatArray,
    n_classes: int,
) -> FloatArray:
    votes = np.zeros((len(X), n_classes))
    for i in range(len(X)):
        for t in range(len(feature)):
            predicted = above[t] if X[i, feature[t]] > threshold[t] else below[t]
            votes[i, predicted] += weights[t]
    return votes

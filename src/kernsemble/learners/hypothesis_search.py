"""Hypothesis search: repeated fits of a base learner to the same rows, for boosting.

A learner with a fast search of its own is a `SearchingLearner`; any other classifier is cloned and
fitted (`EstimatorSearch`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.learners.voters import CodedVoters, EstimatorVoters, Voters

SMALLEST_TOTAL = 1e-290  # sum of gains whose inverse, times a number of rows, is finite


@dataclass(frozen=True, eq=False)
class Cases:
    """Rows and the codes of their classes; `n_cases` is their total weight."""

    X: Rows
    codes: IntArray
    classes: Any
    n_cases: float

    @classmethod
    def present(
        cls, X: Rows, codes: IntArray, classes: Any, weight: FloatArray
    ) -> tuple[Self, FloatArray]:
        """Return the rows with positive weight, coded by the classes present, and their weights."""
        rows = np.flatnonzero(weight > 0.0)
        cases = cls(X, codes, classes, float(weight.sum()))
        return (cases if len(rows) == X.shape[0] else cases.among(rows, weight)), weight[rows]

    def among(self, rows: IntArray, weight: FloatArray) -> Self:
        """Return some of the rows, coded by the classes present among them."""
        present, codes = np.unique(self.codes[rows], return_inverse=True)
        n_cases = float(weight[rows].sum())
        return replace(
            self, X=self.X[rows], codes=codes, classes=self.classes[present], n_cases=n_cases
        )

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    def gains(self, weight: FloatArray) -> FloatArray:
        """Return the gain of predicting each class: the weight of the row for its own class."""
        gains = np.zeros((len(weight), self.n_classes))
        gains[np.arange(len(weight)), self.codes] = weight
        return gains

    def weighted(self, gains: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        r"""Return rows, codes and weights for which a small weighted error is a large gain.

        Predicting class k for row i gains :math:`G_{ik} \ge 0`: a row appears once for each class
        of positive gain, or with its own class and weight zero. The weights sum to `n_cases`.
        """
        is_case = gains > 0.0
        gainless = np.flatnonzero(~is_case.any(axis=1))
        is_case[gainless, self.codes[gainless]] = True
        rows, codes = np.nonzero(is_case)
        weight = gains[rows, codes]
        if weight.sum() < SMALLEST_TOTAL:
            weight = weight / weight.max() if weight.any() else np.ones(len(weight))
        return rows, codes, weight * (self.n_cases / weight.sum())


class HypothesisSearch(ABC):
    """Training rows prepared once, on which a learner finds hypotheses for any gains."""

    cases: Cases

    @abstractmethod
    def find(self, gains: FloatArray) -> tuple[Any, IntArray]:
        r"""Return a hypothesis with a large gain :math:`\sum_i G_{i, h(x_i)}`, and its predictions.

        Gains are not negative, one for each row and class;
        :math:`G_{ik} = U_i [y_i = k]` stands for a small weighted error.
        """

    def find_weighted(self, weight: FloatArray) -> tuple[Any, IntArray]:
        """Return a hypothesis of small weighted error on the rows, and its predictions."""
        return self.find(self.cases.gains(weight))

    def find_several(self, gains: FloatArray) -> list[tuple[Any, IntArray]]:
        """Return several hypotheses with large gains, the best included, at no extra cost."""
        return [self.find(gains)]

    @abstractmethod
    def voters(self, found: Sequence[Any], classes: Any) -> Voters:
        """Return found hypotheses as voters for the codes of `classes`."""


class SearchingLearner(ABC):
    """Base class of learners with a search of their own, which skips the checks of `fit`.

    Learners declare it by inheritance: other classifiers may have an unrelated attribute `search`.
    """

    @abstractmethod
    def search(self, cases: Cases, rng: np.random.RandomState) -> HypothesisSearch:
        """Return a hypothesis search on these rows."""


class EstimatorSearch(HypothesisSearch):
    """Search that fits a copy of any classifier with `sample_weight` for each hypothesis."""

    def __init__(self, estimator: Any, cases: Cases, rng: np.random.RandomState) -> None:
        if not has_fit_parameter(estimator, "sample_weight"):
            raise ValueError(
                f"estimator = {estimator!r}: its fit does not support sample_weight, as boosting "
                "needs; use a classifier that does, such as DecisionTreeClassifier(max_depth=1)"
            )
        self._estimator, self.cases, self._rng = estimator, cases, rng

    def find(self, gains: FloatArray) -> tuple[Any, IntArray]:
        cases = self.cases
        rows, codes, weight = cases.weighted(gains)
        X = cases.X if len(rows) == cases.X.shape[0] else cases.X[rows]
        fitted = seeded(clone(self._estimator), self._rng)
        with np.errstate(all="ignore"):  # trees refuse rows that are infinite in float32
            fitted.fit(X, cases.classes[codes], sample_weight=weight)
        return fitted, np.searchsorted(cases.classes, fitted.predict(cases.X))

    def voters(self, found: Sequence[Any], classes: Any) -> Voters:
        return EstimatorVoters(list(found), classes, self.cases.X.shape[1])


class CodedSearch(EstimatorSearch):
    """Search with a classifier that has a method `codes`, without the checks of `fit`."""

    def __init__(self, estimator: Any, cases: Cases, rng: np.random.RandomState) -> None:
        super().__init__(type(estimator)(**estimator.get_params(deep=False)), cases, rng)
        self._estimator.classes_ = cases.classes
        self._estimator.n_features_in_ = cases.X.shape[1]

    @abstractmethod
    def _learn(self, found: Any, rows: IntArray, codes: IntArray, weight: FloatArray) -> None:
        """Fit a copy to the rows at these indices, with these codes and weights."""

    def find(self, gains: FloatArray) -> tuple[Any, IntArray]:
        return self._find(*self.cases.weighted(gains))

    def find_weighted(self, weight: FloatArray) -> tuple[Any, IntArray]:
        cases = self.cases
        counts = weight * (cases.n_cases / weight.sum())
        return self._find(np.arange(len(weight)), cases.codes, counts)

    def _find(self, rows: IntArray, codes: IntArray, weight: FloatArray) -> tuple[Any, IntArray]:
        found = type(self._estimator)()
        vars(found).update(vars(self._estimator))
        self._learn(found, rows, codes, weight)
        return found, found.codes(self.cases.X)

    def voters(self, found: Sequence[Any], classes: Any) -> Voters:
        return CodedVoters(list(found), classes, self.cases.X.shape[1])


def seeded(estimator: Any, rng: np.random.RandomState) -> Any:
    """Return the estimator with a new seed for every parameter `random_state`, nested ones too."""
    seeds = {
        name: rng.randint(np.iinfo(np.int32).max)
        for name in sorted(estimator.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    }
    return estimator.set_params(**seeds) if seeds else estimator


def search_for(estimator: Any, cases: Cases, rng: np.random.RandomState) -> HypothesisSearch:
    """Return the search of a learner: its own for a `SearchingLearner`, else by refitting."""
    if isinstance(estimator, SearchingLearner):
        return estimator.search(cases, rng)
    return EstimatorSearch(estimator, cases, rng)

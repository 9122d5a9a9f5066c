"""The linear program of LPBoost: its constraints, and the search that prices new hypotheses."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernsemble._typing import Array, FloatArray, IntArray
from kernsemble.learners.hypothesis_search import Cases, HypothesisSearch, search_for
from kernsemble.learners.voters import Voters
from kernsemble.solvers.column_generation import Hypothesis
from kernsemble.solvers.equal_rows import distinct_rows
from kernsemble.solvers.linear_program import Form, Master


@dataclass(frozen=True, eq=False)
class LPBoostProgram:
    r"""The linear program of weighted rows, and the hypothesis search that prices it.

    The pairs (i, k) of a row and a wrong class have the dual variables U. Predicting class k for
    row i gains :math:`\sum_{l} U_{il}` if k is correct and :math:`-U_{ik}` if not, so a
    hypothesis with the largest edge has the largest gain. After subtracting the smallest gain of
    each row, gains are the weights of ordinary classification; with more than two classes, a row
    may appear with several classes.
    """

    cases: Cases
    counts: FloatArray
    search: HypothesisSearch

    @classmethod
    def of(cls, learner: Any, cases: Cases, counts: FloatArray, rng: np.random.RandomState) -> Self:
        """Return the program of cases, of which equal ones become one of more weight."""
        rows, counts, _ = distinct_rows(counts, cases.X, cases.codes[:, np.newaxis])
        distinct = replace(cases, X=cases.X[rows], codes=cases.codes[rows])
        return cls(distinct, counts, search_for(learner, distinct, rng))

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """The rows and the wrong classes of the pairs."""
        is_wrong = np.ones((len(self.counts), self.cases.n_classes), dtype=bool)
        is_wrong[np.arange(len(self.counts)), self.cases.codes] = False
        rows, wrong = np.nonzero(is_wrong)
        return rows, wrong

    def master(self, form: Form, strength: float) -> Master:
        """Return the master program without hypotheses."""
        return Master(self.limits(form, strength), self.pairs[0], form=form)

    def limits(self, form: Form, strength: float) -> FloatArray:
        r"""Return the bounds of the duals, :math:`C s_i` or :math:`s_i / (\nu \sum_j s_j)`."""
        if form is Form.SOFT:
            with np.errstate(over="ignore"):  # no bound
                return strength * self.counts
        return self.counts / (strength * self.counts.sum())

    def column(self, predicted: IntArray) -> Array:
        r"""Return :math:`[h(x_i) = y_i] - [h(x_i) = k]` for each pair."""
        rows, wrong = self.pairs
        is_right = predicted == self.cases.codes
        column: Array = is_right[rows].astype(np.int8) - (predicted[rows] == wrong)
        return column

    def price(self, U: FloatArray) -> list[Hypothesis]:
        """Return one hypothesis with a large edge."""
        found, predicted = self.search.find(self._gains(U))
        return [(found, self.column(predicted))]

    def price_several(self, U: FloatArray) -> list[Hypothesis]:
        """Return several hypotheses with large edges from one search."""
        several = self.search.find_several(self._gains(U))
        return [(found, self.column(predicted)) for found, predicted in several]

    def known(self, voters: Voters) -> list[Hypothesis]:
        """Return the hypotheses of a previous fit, represented by their indices in `voters`."""
        places = np.full(len(voters.classes), -1)  # −1: a class without cases
        places[np.searchsorted(voters.classes, self.cases.classes)] = range(self.cases.n_classes)
        return [
            (number, self.column(places[predicted]))
            for number, predicted in enumerate(voters.codes(self.cases.X))
        ]

    def voters(self, hypotheses: list[Any], classes: Any, previous: Voters | None) -> Voters:
        """Return the hypotheses as voters: those kept from `previous`, then the new ones."""
        known = [each for each in hypotheses if isinstance(each, int)]
        new = self.search.voters(hypotheses[len(known) :], classes)
        return new if previous is None else previous.take(np.array(known, int)).followed_by(new)

    def _gains(self, U: FloatArray) -> FloatArray:
        rows, wrong = self.pairs
        gains = np.zeros((len(self.counts), self.cases.n_classes))
        gains[rows, wrong] = -U
        gains[np.arange(len(gains)), self.cases.codes] = np.bincount(rows, U, len(gains))
        return gains - gains.min(axis=1, keepdims=True)

"""Boosting as a linear program: rows and classes as pairs, gains from their distribution."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernsemble._typing import Array, FloatArray, IntArray
from kernsemble.learners.search import Cases, Search
from kernsemble.learners.voters import Voters
from kernsemble.solvers.column_generation import Hypothesis
from kernsemble.solvers.linear_program import Form, Master


@dataclass(frozen=True, eq=False)
class Program:
    r"""The linear program of weighted rows, and the search that prices it.

    The pairs (i, k) of a row and a class that is wrong for it have the duals U. Saying class k at
    row i gains :math:`\sum_{l} U_{il}` if it is right and :math:`-U_{ik}` if it is wrong, so a
    hypothesis of the largest edge is one of the largest gain. Lifted by the least gain of each
    row, gains are the weights of ordinary classification, on rows that stand for several classes
    if there are more than two.
    """

    cases: Cases
    counts: FloatArray
    search: Search

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """The row and the wrong class of each pair."""
        is_wrong = np.ones((len(self.counts), self.cases.n_classes), dtype=bool)
        is_wrong[np.arange(len(self.counts)), self.cases.codes] = False
        rows, wrong = np.nonzero(is_wrong)
        return rows, wrong

    def master(self, form: Form, strength: float) -> Master:
        """Return the program without hypotheses."""
        return Master(self.limits(form, strength), self.pairs[0], form=form)

    def limits(self, form: Form, strength: float) -> FloatArray:
        r"""Return the limits of the rows: :math:`C s_i`, or :math:`s_i / (\nu \sum_j s_j)`."""
        if form is Form.SOFT:
            return strength * self.counts
        return self.counts / (strength * self.counts.sum())

    def column(self, said: IntArray) -> Array:
        r"""Return :math:`[h(x_i) = y_i] - [h(x_i) = k]` for each pair."""
        rows, wrong = self.pairs
        column: Array = (said == self.cases.codes)[rows].astype(np.int8) - (said[rows] == wrong)
        return column

    def price(self, U: FloatArray) -> list[Hypothesis]:
        """Return a hypothesis with a large edge."""
        found, said = self.search.find(self._gains(U))
        return [(found, self.column(said))]

    def price_several(self, U: FloatArray) -> list[Hypothesis]:
        """Return hypotheses with large edges, as many as the search finds at once."""
        several = self.search.find_several(self._gains(U))
        return [(found, self.column(said)) for found, said in several]

    def known(self, voters: Voters) -> list[Hypothesis]:
        """Return hypotheses that were found before, by their places among the voters."""
        places = np.full(len(voters.classes), -1)  # of classes without cases
        places[np.searchsorted(voters.classes, self.cases.classes)] = range(self.cases.n_classes)
        return [
            (number, self.column(places[said]))
            for number, said in enumerate(voters.codes(self.cases.X))
        ]

    def voters(self, hypotheses: list[Any], classes: Any, before: Voters | None) -> Voters:
        """Return hypotheses that were found, after those of `before` which were known."""
        known = [each for each in hypotheses if isinstance(each, int)]
        new = self.search.voters(hypotheses[len(known) :], classes)
        return new if before is None else before.taken(np.array(known, int)).followed_by(new)

    def _gains(self, U: FloatArray) -> FloatArray:
        rows, wrong = self.pairs
        gains = np.zeros((len(self.counts), self.cases.n_classes))
        gains[rows, wrong] = -U
        gains[np.arange(len(gains)), self.cases.codes] = np.bincount(rows, U, len(gains))
        return gains - gains.min(axis=1, keepdims=True)

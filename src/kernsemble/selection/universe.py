"""One evolutionary search for the subset of least score."""

from typing import NamedTuple

import numpy as np

from kernsemble._typing import BoolArray, FloatArray
from kernsemble.selection.criteria import Remembered, Scoring


class Nature(NamedTuple):
    """The laws that all universes obey.

    Attributes
    ----------
    population : int
        How many subsets live at a time.
    density : float
        The share of subsets of the first generation that hold a column, the same for each.
    mutation : float
        The chance of a column of a child to be changed.
    """

    population: int
    density: float
    mutation: float


class Moment(NamedTuple):
    """What there is to say of one generation of a universe.

    Attributes
    ----------
    best : boolean array of shape (p,)
        The best subset.
    score : float
        Its score.
    entropy : float
        How undecided the survivors are, in bits a column.
    """

    best: BoolArray
    score: float
    entropy: float


class Universe:
    """A population of subsets, the fittest first.

    In every generation the fitter half survives, and children take the place of the rest: each
    has two parents, drawn from the survivors, takes every column from one of them or the other,
    and may change some by chance. All is drawn from `seed`.
    """

    def __init__(self, scoring: Scoring, nature: Nature, seed: np.random.SeedSequence) -> None:
        self.nature = nature
        self._rng, self._known = np.random.default_rng(seed), Remembered(scoring)
        places = self._rng.random((nature.population, scoring.n_columns)).argsort(axis=0)
        n_holders = max(round(nature.density * nature.population), 1)
        self._order(scoring, places < n_holders)

    @property
    def n_evaluated(self) -> int:
        """How many different subsets were scored so far."""
        return len(self._known)

    def moment(self) -> Moment:
        """Return what there is to say of this generation."""
        entropy = binary_entropy(self._survivors.mean(axis=0)).mean()
        return Moment(self._subsets[0], float(self._scores[0]), float(entropy))

    def advance(self, scoring: Scoring) -> None:
        """Let the next generation replace this one."""
        survivors, rng = self._survivors, self._rng
        n_children, n_columns = len(self._subsets) - len(survivors), self._subsets.shape[1]
        mothers, fathers = survivors[rng.integers(len(survivors), size=(2, n_children))]
        children = np.where(rng.random((n_children, n_columns)) < 0.5, mothers, fathers)
        children ^= rng.random((n_children, n_columns)) < self.nature.mutation
        self._order(scoring, np.vstack([children, survivors]))  # of equals, the young survive

    @property
    def _survivors(self) -> BoolArray:
        return self._subsets[: (len(self._subsets) + 1) // 2]

    def _order(self, scoring: Scoring, subsets: BoolArray) -> None:
        scores = self._known.scores(scoring, subsets)
        order = np.argsort(scores, kind="stable")
        self._subsets, self._scores = subsets[order], scores[order]


def evolve(
    universe: Universe, scoring: Scoring, n_generations: int
) -> tuple[Universe, list[Moment]]:
    """Return a universe so many generations later, and what happened meanwhile."""
    moments = []
    for _ in range(n_generations):
        universe.advance(scoring)
        moments.append(universe.moment())
    return universe, moments


def binary_entropy(share: FloatArray) -> FloatArray:
    """Return the entropy of a vote, in bits: 1 where it is split evenly, 0 where all agree."""
    inside = np.clip(share, 1e-300, 1.0)
    outside = np.clip(1.0 - share, 1e-300, 1.0)
    return -(share * np.log2(inside) + (1.0 - share) * np.log2(outside))

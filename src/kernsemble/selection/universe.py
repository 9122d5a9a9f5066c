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
        The chance of a column to be in a subset of the first generation.
    mutation : float
        The chance of a column of a child to be changed.
    """

    population: int
    density: float
    mutation: float


class Chronicle(NamedTuple):
    """What happened in a universe, generation after generation.

    Attributes
    ----------
    best : boolean array of shape (n_generations, p)
        The best subset.
    scores : array of shape (n_generations,)
        Its score.
    entropies : array of shape (n_generations,)
        How undecided the survivors are, in bits a column.
    """

    best: BoolArray
    scores: FloatArray
    entropies: FloatArray

    def followed_by(self, later: "Chronicle") -> "Chronicle":
        """Return both, one after the other."""
        return Chronicle(*map(np.concatenate, zip(self, later, strict=True)))


class Universe:
    """A population of subsets, the fittest first.

    In every generation the fitter half survives, and children take the place of the rest: each
    has two parents, drawn from the survivors, takes every column from one of them or the other,
    and may change some by chance. All is drawn from `seed`.
    """

    def __init__(self, scoring: Scoring, nature: Nature, seed: np.random.SeedSequence) -> None:
        self.nature = nature
        self._rng, self._known = np.random.default_rng(seed), Remembered(scoring)
        shape = nature.population, scoring.n_columns
        self._order(scoring, self._rng.random(shape) < nature.density)

    @property
    def n_evaluated(self) -> int:
        """How many different subsets were scored so far."""
        return len(self._known)

    def chronicle(self) -> Chronicle:
        """Return what there is to say of this generation."""
        held = self._survivors.mean(axis=0)
        return Chronicle(
            self._subsets[:1], self._scores[:1], np.array([binary_entropy(held).mean()])
        )

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
) -> tuple[Universe, Chronicle | None]:
    """Return a universe so many generations later, and what happened meanwhile."""
    told = None
    for _ in range(n_generations):
        universe.advance(scoring)
        now = universe.chronicle()
        told = now if told is None else told.followed_by(now)
    return universe, told


def binary_entropy(share: FloatArray) -> FloatArray:
    """Return the entropy of a vote, in bits: 1 where it is split evenly, 0 where all agree."""
    inside = np.clip(share, 1e-300, 1.0)
    outside = np.clip(1.0 - share, 1e-300, 1.0)
    return -(share * np.log2(inside) + (1.0 - share) * np.log2(outside))

"""One universe: an evolutionary search for the subset of variables with the smallest criterion."""

from typing import NamedTuple

import numpy as np

from kernsemble._typing import BoolArray, FloatArray
from kernsemble.selection.criteria import ScoreCache, Scoring


class EvolutionSettings(NamedTuple):
    """The settings of the evolutionary algorithm, common to all universes.

    Attributes
    ----------
    population : int
        Population size: the number of subsets per generation.
    density : float
        Fraction of the subsets of the first generation that contain a variable, equal for all.
    mutation : float
        Mutation probability of a variable.
    """

    population: int
    density: float
    mutation: float


class Generation(NamedTuple):
    """The summary of one generation of a universe.

    Attributes
    ----------
    best : boolean array of shape (p,)
        The best subset.
    score : float
        Its criterion.
    entropy : float
        Mean entropy of the inclusion of a variable among survivors, in bits.
    """

    best: BoolArray
    score: float
    entropy: float


class Universe:
    """A population of subsets, sorted by their criterion.

    In every generation the better half survives, and children replace the rest: each has two
    parents, drawn from the survivors, takes every variable from either parent, and is mutated at
    random. All random numbers come from `seed`.
    """

    def __init__(
        self, scoring: Scoring, settings: EvolutionSettings, seed: np.random.SeedSequence
    ) -> None:
        self.settings = settings
        self._rng, self._cache = np.random.default_rng(seed), ScoreCache(scoring)
        ranks = self._rng.random((settings.population, scoring.n_columns)).argsort(axis=0)
        n_included = max(round(settings.density * settings.population), 1)
        self._sort(scoring, ranks < n_included)

    @property
    def n_evaluated(self) -> int:
        """The number of distinct subsets scored so far."""
        return len(self._cache)

    def generation(self) -> Generation:
        """Return the summary of the present generation."""
        entropy = binary_entropy(self._survivors.mean(axis=0)).mean()
        return Generation(self._subsets[0], float(self._scores[0]), float(entropy))

    def advance(self, scoring: Scoring) -> None:
        """Replace the present generation by the next one."""
        survivors, rng = self._survivors, self._rng
        n_children, n_columns = len(self._subsets) - len(survivors), self._subsets.shape[1]
        mothers, fathers = survivors[rng.integers(len(survivors), size=(2, n_children))]
        children = np.where(rng.random((n_children, n_columns)) < 0.5, mothers, fathers)
        children ^= rng.random((n_children, n_columns)) < self.settings.mutation
        self._sort(scoring, np.vstack([children, survivors]))  # children first, to win ties

    @property
    def _survivors(self) -> BoolArray:
        return self._subsets[: (len(self._subsets) + 1) // 2]

    def _sort(self, scoring: Scoring, subsets: BoolArray) -> None:
        scores = self._cache.scores(scoring, subsets)
        order = np.argsort(scores, kind="stable")
        self._subsets, self._scores = subsets[order], scores[order]


def evolve(
    universe: Universe, scoring: Scoring, n_generations: int
) -> tuple[Universe, list[Generation]]:
    """Advance a universe by `n_generations`; return it and the summaries of the generations."""
    generations = []
    for _ in range(n_generations):
        universe.advance(scoring)
        generations.append(universe.generation())
    return universe, generations


def binary_entropy(p: FloatArray) -> FloatArray:
    """Return the entropy of Bernoulli variables with probabilities p, in bits."""
    positive = np.clip(p, 1e-300, 1.0)
    negative = np.clip(1.0 - p, 1e-300, 1.0)
    return -(p * np.log2(positive) + (1.0 - p) * np.log2(negative))

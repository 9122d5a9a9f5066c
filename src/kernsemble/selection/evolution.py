"""Evolution of many universes in parallel, until their mean entropy has fallen far enough."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from kernsemble._typing import BoolArray, FloatArray
from kernsemble._value_object import short_repr
from kernsemble.selection.criteria import Scoring
from kernsemble.selection.universe import EvolutionSettings, Generation, Universe, evolve

GENERATIONS_PER_CHECK = 4  # number of generations between two computations of the mean entropy


class Evolution(NamedTuple):
    """The history of all universes, from generation 0 to the last.

    Attributes
    ----------
    best : boolean array of shape (n_generations + 1, n_universes, p)
        The best subset of each universe in each generation.
    scores : array of shape (n_generations + 1, n_universes)
        Their criterion.
    entropies : array of shape (n_generations + 1,)
        Mean entropy of the inclusion of a variable among survivors, in bits, over all universes.
    n_evaluated : int
        Number of subsets scored, each once per universe.
    has_converged : bool
        Whether the entropy fell below its limit.
    """

    best: BoolArray
    scores: FloatArray
    entropies: FloatArray
    n_evaluated: int
    has_converged: bool

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def importances(self) -> FloatArray:
        """The fraction of universes whose best subset contains a variable, for each generation."""
        return self.best.mean(axis=1)


def evolve_universes(
    scoring: Scoring,
    settings: EvolutionSettings,
    seeds: list[np.random.SeedSequence],
    n_generations: int,
    entropy_share: float,
    n_jobs: int | None,
    on_generation: Callable[[int], None],
) -> Evolution:
    """Evolve one universe per seed, for at most `n_generations` or until convergence.

    Convergence is the first generation whose mean entropy is at most `entropy_share` times that of
    the first. Universes advance by a few generations at a time; those after convergence are
    dropped, so the result depends neither on `n_jobs` nor on that number. `on_generation` is called
    after each generation.
    """
    with Parallel(
        n_jobs=n_jobs, prefer="threads" if scoring.is_compiled else None, max_nbytes=None
    ) as parallel:
        universes = parallel(delayed(Universe)(scoring, settings, seed) for seed in seeds)
        history = [[universe.generation()] for universe in universes]
        on_generation(0)
        last = _first_converged(history, entropy_share)
        while last is None and (n_done := len(history[0]) - 1) < n_generations:
            n_more = min(GENERATIONS_PER_CHECK, n_generations - n_done)
            later = parallel(delayed(evolve)(each, scoring, n_more) for each in universes)
            universes = [universe for universe, _ in later]
            history = [past + new for past, (_, new) in zip(history, later, strict=True)]
            for generation in range(n_done + 1, n_done + 1 + n_more):
                on_generation(generation)
            last = _first_converged(history, entropy_share)
    kept = [each if last is None else each[: last + 1] for each in history]
    return Evolution(
        np.stack([[generation.best for generation in each] for each in kept], axis=1),
        np.stack([[generation.score for generation in each] for each in kept], axis=1),
        _entropies(kept),
        sum(universe.n_evaluated for universe in universes),
        last is not None,
    )


def _entropies(history: list[list[Generation]]) -> FloatArray:
    """Return the mean entropy over universes, for each generation."""
    return np.mean([[generation.entropy for generation in each] for each in history], axis=0)


def _first_converged(history: list[list[Generation]], entropy_share: float) -> int | None:
    """Return the first generation of low entropy, None if there is none yet."""
    entropies = _entropies(history)
    converged = np.flatnonzero(entropies <= entropy_share * entropies[0])
    return int(converged[0]) if len(converged) else None

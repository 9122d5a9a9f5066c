"""Many universes side by side, and when they have evolved long enough."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from kernsemble._typing import BoolArray, FloatArray
from kernsemble.selection.criteria import Scoring
from kernsemble.selection.universe import Moment, Nature, Universe, evolve

AT_ONCE = 4  # generations between two looks at all universes


class Evolution(NamedTuple):
    """What happened in all universes, from the first generation (0) to the last that counts.

    Attributes
    ----------
    best : boolean array of shape (n_generations + 1, n_universes, p)
        The best subset of each universe in each generation.
    scores : array of shape (n_generations + 1, n_universes)
        Their scores.
    entropies : array of shape (n_generations + 1,)
        How undecided survivors are, in bits a column; the mean of all universes.
    n_evaluated : int
        How many subsets were scored, each once in its universe.
    has_settled : bool
        Whether the entropy fell below what was asked for.
    """

    best: BoolArray
    scores: FloatArray
    entropies: FloatArray
    n_evaluated: int
    has_settled: bool

    @property
    def importances(self) -> FloatArray:
        """The share of universes whose best subset holds a column, for each generation."""
        return self.best.mean(axis=1)


def evolve_universes(
    scoring: Scoring,
    nature: Nature,
    seeds: list[np.random.SeedSequence],
    n_generations: int,
    entropy_share: float,
    n_jobs: int | None,
    tell: Callable[[int], None],
) -> Evolution:
    """Let one universe evolve from each seed, for `n_generations` or until all have settled.

    They have settled in the first generation in which their mean entropy is at most
    `entropy_share` of that of the first. Universes go on by a few generations at a time, so some
    evolve further than that, which is not told: what is returned depends neither on `n_jobs` nor
    on how many generations are done at once. After each of them `tell` is called.
    """
    with Parallel(
        n_jobs=n_jobs, prefer="threads" if scoring.is_compiled else None, max_nbytes=None
    ) as parallel:
        universes = parallel(delayed(Universe)(scoring, nature, seed) for seed in seeds)
        told = [[universe.moment()] for universe in universes]
        tell(0)
        settled = _settled(told, entropy_share)
        while settled is None and (n_done := len(told[0]) - 1) < n_generations:
            n_more = min(AT_ONCE, n_generations - n_done)
            later = parallel(delayed(evolve)(each, scoring, n_more) for each in universes)
            universes = [universe for universe, _ in later]
            told = [before + after for before, (_, after) in zip(told, later, strict=True)]
            for generation in range(n_done + 1, n_done + 1 + n_more):
                tell(generation)
            settled = _settled(told, entropy_share)
    counted = [each if settled is None else each[: settled + 1] for each in told]
    return Evolution(
        np.stack([[moment.best for moment in each] for each in counted], axis=1),
        np.stack([[moment.score for moment in each] for each in counted], axis=1),
        _entropies(counted),
        sum(universe.n_evaluated for universe in universes),
        settled is not None,
    )


def _entropies(told: list[list[Moment]]) -> FloatArray:
    return np.mean([[moment.entropy for moment in each] for each in told], axis=0)


def _settled(told: list[list[Moment]], entropy_share: float) -> int | None:
    """Return the first generation in which the universes have settled, None if there is none."""
    entropies = _entropies(told)
    settled = np.flatnonzero(entropies <= entropy_share * entropies[0])
    return int(settled[0]) if len(settled) else None

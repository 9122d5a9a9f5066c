r"""Kernels and scalings race: what does badly on few rows is not tried on many.

The rounds of a race have :math:`\dots, n/8, n/4, n/2` rows, or all if these are few, each
sample within the next, and few folds. After every round the better candidates stay, and each
goes on with the values of C near its best. The cost of a machine grows at least as the square
of its rows, so that the many candidates of the early rounds cost less than the few of the
last.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from kernsemble._model_selection import Split, comparable_means
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.kernels import Exponential, Kernel, Laplacian, Perceptron, Stump
from kernsemble.preprocessing import FeatureScaling, Kind

WIDTHS = (0.5, 1.0, 2.0, 4.0)  # gamma, in units of 1 over the mean distance
MULTIPLES = tuple(2.0**power for power in range(-2, 7))  # of C = "scale"
STRIDE = 3  # the first round tries every third C, the others those around the best
REACH = 2  # places on either side of the best that are left to choose from in the end
FEWEST_ROWS = 250
N_FOLDS = 3
N_LAST = 3  # candidates in the last round


@dataclass(frozen=True)
class Candidate:
    """A kernel, not bound, and the scale on which it compares features."""

    kernel: Kernel
    scaling: Kind | None


@dataclass(frozen=True)
class Entry:
    """A candidate, and the places of the grid of C that it tries."""

    candidate: Candidate
    places: tuple[int, ...]

    def near(self, place: int, reach: int, n_places: int) -> Self:
        """Return the same candidate for the places around one, of so many."""
        start, stop = max(place - reach, 0), min(place + reach + 1, n_places)
        return replace(self, places=tuple(range(start, stop)))


@dataclass(frozen=True, eq=False)
class Round:
    """Rows of the whole sample in their order, folds among them, and how many stay."""

    rows: IntArray
    splits: tuple[Split, ...]
    n_stay: int


Score = Callable[[Sequence[Entry], Round], Sequence[FloatArray]]


def race(
    candidates: Sequence[Candidate], rounds: Sequence[Round], n_places: int, score: Score
) -> list[Entry]:
    """Return the candidates that are left after all rounds, the best first.

    Parameters
    ----------
    candidates : sequence of Candidate
        Who races; of equals the one that is named first is better.
    rounds : sequence of Round
        As `plan_rounds` returns them.
    n_places : int
        How many values of C the grid has.
    score : callable
        ``score(entries, round)`` returns for every entry an array of scores, more is
        better: a row for each of its places, a column for each fold.
    """
    some_places = tuple(range(min(STRIDE // 2, n_places - 1), n_places, STRIDE))
    entries = [Entry(candidate, some_places) for candidate in candidates]
    for number, each in enumerate(rounds, start=1):
        means = [comparable_means(found) for found in score(entries, each)]
        best = [int(np.argmax(along_grid)) for along_grid in means]
        order = np.argsort([-along_grid.max() for along_grid in means], kind="stable")
        reach = REACH if number == len(rounds) else STRIDE // 2
        entries = [
            entries[k].near(entries[k].places[best[k]], reach, n_places)
            for k in order[: each.n_stay]
        ]
    return entries


def contestants(
    X: Rows, counts: FloatArray, scalings: Sequence[Kind | None] | None = None
) -> list[Candidate]:
    """Return the kernels and scalings that race on rows which count so often.

    Trees and polytopes at several widths, perceptrons and stumps, on every scale; trees on the
    scale of ranks, the safest choice on the data sets this was tried on, are named first.
    """
    found = []
    for kind in scalings or _scales(X, counts):
        rows = FeatureScaling.of(X, kind, counts).transform(X)
        for family in (Laplacian, Exponential):
            rate = family().bind(rows, counts).rate
            assert rate is not None  # bound
            found += [Candidate(family(width * rate), kind) for width in WIDTHS]
        found += [Candidate(Perceptron(), kind), Candidate(Stump(), kind)]
    return found


def _scales(X: Rows, counts: FloatArray) -> tuple[Kind, ...]:
    """Return the scales that differ: on columns of two values they do by a factor only."""
    stumps = FeatureScaling.of(X, "distinct", counts).stumps
    assert stumps is not None
    n_levels = stumps.feature_measure.max(initial=0.0)
    return ("rank", "range", "distinct") if n_levels > 2.0 else ("range",)


def plan_rounds(
    n_candidates: int,
    codes: IntArray,
    counts: FloatArray,
    splits: Sequence[Split],
    rng: np.random.Generator,
) -> list[Round]:
    """Return the rounds of a race that leaves one candidate.

    Parameters
    ----------
    n_candidates : int
        How many start.
    codes, counts : arrays of shape (n,)
        The class of each row, and how often it counts: rows that do not are not drawn.
    splits : sequence of Split
        The folds of the whole sample. Rounds hold out the same rows, in fewer folds.
    rng : Generator
        What the samples are drawn with.

    Returns
    -------
    list of Round
        With more and more rows; a sample has every class in the proportion of the whole, and
        a row of each class from each fold that has one.
    """
    folds = _few(splits)
    order = _nested_order(codes, counts, folds, rng)
    sizes = _sizes(len(order), max(FEWEST_ROWS, N_FOLDS * len(np.unique(codes))))
    n_entries = np.geomspace(n_candidates, min(N_LAST, n_candidates), len(sizes))
    n_stay = [*np.rint(n_entries[1:]).astype(int), 1]
    return [
        _round(np.sort(order[:size]), folds, int(n)) for size, n in zip(sizes, n_stay, strict=True)
    ]


def _sizes(n: int, fewest: int) -> list[int]:
    """Return the rows of each round: twice as many each time, at last half of them or all."""
    sizes = [min(n, max(n // 2, 2 * fewest))]
    while sizes[0] // 2 >= fewest:
        sizes.insert(0, sizes[0] // 2)
    return sizes if len(sizes) > 1 else [min(n, fewest), n]


def _few(splits: Sequence[Split]) -> list[Split]:
    """Return few folds: joined ones where all rows are held out once, else the last."""
    tested = np.concatenate([split.tested for split in splits])
    n_held_out = sum(len(split.held_out) for split in splits)
    if len(splits) <= N_FOLDS or not len(np.unique(tested)) == len(tested) == n_held_out:
        return list(splits[-N_FOLDS:])
    joined = (np.concatenate([s.tested for s in splits[k::N_FOLDS]]) for k in range(N_FOLDS))
    return [Split(np.sort(rows), np.sort(rows)) for rows in joined]


def _nested_order(
    codes: IntArray, counts: FloatArray, folds: Sequence[Split], rng: np.random.Generator
) -> IntArray:
    """Return the rows that count in an order whose every beginning is a stratified sample.

    The strata are the classes within the folds. Each row is placed at the share of its
    stratum that comes before it, and the first row of every stratum before all others.
    """
    fold = np.zeros(len(codes), dtype=int)
    for number, split in enumerate(folds, start=1):
        fold[split.tested] = number
    rows = rng.permutation(np.flatnonzero(counts > 0.0))
    strata, stratum, sizes = np.unique(
        codes[rows] * (len(folds) + 1) + fold[rows], return_inverse=True, return_counts=True
    )
    by_stratum = np.argsort(stratum, kind="stable")
    rank = np.empty(len(rows))
    rank[by_stratum] = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    offset = rng.random(len(strata))
    place = np.where(rank == 0.0, -1.0, (rank + offset[stratum]) / sizes[stratum])
    return rows[np.argsort(place, kind="stable")]


def _round(rows: IntArray, folds: Sequence[Split], n_stay: int) -> Round:
    """Return the round of some rows, with the folds that have any of them to test."""
    among = [
        Split(*(np.flatnonzero(np.isin(rows, part)) for part in (fold.held_out, fold.tested)))
        for fold in folds
    ]
    return Round(rows, tuple(fold for fold in among if len(fold.tested)), n_stay)

"""Scores of held-out rows, for every alpha and fold from one nearest-neighbour search."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kernsemble._folds import FoldRows, cross_validation_results
from kernsemble._progress import Task
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.detection.local_kernels import DistanceOverrides, LocalKernels
from kernsemble.detection.neighbours import (
    KernelShape,
    Neighbours,
    NeighbourSearch,
    positive_widths,
)
from kernsemble.detection.ranking import average_precision
from kernsemble.solvers.kernel_sums import Profile, farthest

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class LocalKernelSettings:
    """The settings of the kernels other than alpha."""

    shape: KernelShape
    profile: Profile
    n_neighbors: int
    search: NeighbourSearch


class HeldOutScores(NamedTuple):
    """Cross-validated scores of rows and average precisions, for every alpha."""

    scores: FloatArray  # (rows, alphas), the mean over the folds that test a row
    precision: FloatArray  # (alphas, folds), average precision on folds that test rare rows

    def best(self) -> int:
        """Return the index of the best alpha, the first of ties."""
        return int(self.precision.mean(axis=1).argmax())

    def results(self, alphas: FloatArray) -> dict[str, Any]:
        """Return the average precision in the form of GridSearchCV."""
        return cross_validation_results([{"alpha": float(a)} for a in alphas], self.precision)


@dataclass(frozen=True, eq=False)
class RareClassProblem:
    """One rare class against the rest: the rows with their weights, the folds, the settings."""

    X: FloatArray
    is_rare: BoolArray
    counts: FloatArray
    splits: list[FoldRows]
    settings: LocalKernelSettings

    def neighbours(self) -> Neighbours:
        """Search the neighbours needed by the final fit and by every fold."""
        counts = [self.counts, *(self._training_counts(split) for split in self.splits)]
        settings = self.settings
        return Neighbours.around(
            self.X, self.is_rare, counts, settings.n_neighbors, settings.shape, settings.search
        )

    def _training_counts(self, split: FoldRows) -> FloatArray:
        counts = self.counts.copy()
        counts[split.held_out] = 0.0
        return counts

    def kernels(self, neighbours: Neighbours, split: FoldRows | None = None) -> LocalKernels:
        """Return the kernels fitted to all rows, or to the training rows of a fold."""
        counts = self.counts if split is None else self._training_counts(split)
        return LocalKernels.around(
            self.X,
            neighbours,
            counts,
            self.settings.n_neighbors,
            self.settings.profile,
            self.settings.shape,
            self.settings.search.metric,
        )

    def held_out(self, neighbours: Neighbours, alphas: FloatArray, task: Task) -> HeldOutScores:
        """Score the tested rows of every fold by the kernels of its training rows."""
        n = len(self.X)
        totals, times, columns = np.zeros((n, len(alphas))), np.zeros(n), []
        for place, split in enumerate(self.splits):
            tested = split.tested
            scores = self.kernels(neighbours, split).sums(self.X[tested], alphas)
            totals[tested] += scores
            times[tested] += 1.0
            if self.counts[tested[self.is_rare[tested]]].any():
                columns.append(self._precision(tested, scores))
            task.note("fold", place)
        if not columns:
            raise ValueError(
                "cv: no fold tests a row of the rare class: use folds that do, for example an int"
            )
        with np.errstate(invalid="ignore"):  # NaN if no fold tests a row
            return HeldOutScores(totals / times[:, np.newaxis], np.transpose(columns))

    def _precision(self, tested: IntArray, scores: FloatArray) -> list[float]:
        counts = self.counts[tested]
        return [
            average_precision(self.is_rare[tested], column, pos_label=True, sample_weight=counts)
            for column in scores.T
        ]


def leave_one_out_scores(
    X: FloatArray,
    counts: FloatArray,
    neighbours: Neighbours,
    kernels: LocalKernels,
    settings: LocalKernelSettings,
    alpha: float,
) -> FloatArray:
    """Return the score of every row by the kernels fitted without it.

    A rare row loses its own kernel. A background row changes the radii of the kernels that it
    is a neighbour of, where the next neighbour replaces it; nothing else changes.
    """
    neighbours = neighbours.with_positive_weight(counts)
    shares = neighbours.shares(counts, settings.n_neighbors)
    entries = np.flatnonzero(shares)
    owners = np.searchsorted(neighbours.starts, entries, side="right") - 1
    left_out = neighbours.rows[entries]
    without = _widths_without(X, counts, neighbours.take(owners), left_out, settings)
    squares = kernels.squares_of_pairs(X[left_out], owners, without)
    own = np.arange(len(neighbours.centres))
    nowhere = np.full(len(own), farthest(X.dtype))
    overrides = DistanceOverrides.merge(
        (left_out, owners, squares), (neighbours.centres, own, nowhere)
    )
    scores = kernels.sums(X, np.array([alpha]), overrides)[:, 0]
    others = np.maximum(1.0 - kernels.weight, TINY)  # total weight of the other centres
    if settings.profile == "gaussian":
        scores[neighbours.centres] -= np.log(others)
    else:
        scores[neighbours.centres] /= others
    return scores


def _widths_without(
    X: FloatArray,
    counts: FloatArray,
    lists: Neighbours,
    left_out: IntArray,
    settings: LocalKernelSettings,
) -> FloatArray:
    """Return the radii from lists of neighbours, with one row left out of each list."""
    is_left_out = lists.rows == np.repeat(left_out, np.diff(lists.starts))
    weightless = len(counts)  # index of an additional row of weight zero
    lists = replace(lists, rows=np.where(is_left_out, weightless, lists.rows))
    shares = lists.shares(np.append(counts, 0.0), settings.n_neighbors)
    lists = replace(lists, rows=np.where(is_left_out, 0, lists.rows))
    return positive_widths(lists.widths(X, shares, settings.shape), X, counts)

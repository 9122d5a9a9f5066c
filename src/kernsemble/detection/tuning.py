"""What held-out rows are scored, for every alpha and fold from one search for neighbours."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from kernsemble._model_selection import Split, cross_validation_results
from kernsemble._progress import Task
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.detection.local_kernels import Exceptions, LocalKernels
from kernsemble.detection.neighbours import Neighbours, Search, Shape, positive_widths
from kernsemble.detection.ranking import average_precision
from kernsemble.solvers.kernel_sums import Profile, farthest

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Form:
    """What kernels look like, but for how wide they all are."""

    shape: Shape
    profile: Profile
    n_neighbors: int
    search: Search


class HeldOut(NamedTuple):
    """What rows were scored by folds that did not learn from them."""

    scores: FloatArray  # of rows (rows) for every alpha; their mean where several folds test
    precision: FloatArray  # of every alpha (rows), average precision on folds that test rare rows

    def best(self) -> int:
        """Return the place of the best alpha, the first of several."""
        return int(self.precision.mean(axis=1).argmax())

    def results(self, alphas: FloatArray) -> dict[str, Any]:
        """Return the average precision in the form of GridSearchCV."""
        return cross_validation_results([{"alpha": float(a)} for a in alphas], self.precision)


@dataclass(frozen=True, eq=False)
class Detection:
    """One class against the rest: rows, which are rare, how often each counts, and the folds."""

    X: FloatArray
    is_rare: BoolArray
    counts: FloatArray
    splits: list[Split]
    form: Form

    def neighbours(self) -> Neighbours:
        """Return the neighbours that all rows and every fold need."""
        needed = [self.counts, *(self._kept(split) for split in self.splits)]
        form = self.form
        return Neighbours.around(
            self.X, self.is_rare, needed, form.n_neighbors, form.shape, form.search
        )

    def _kept(self, split: Split) -> FloatArray:
        counts = self.counts.copy()
        counts[split.held_out] = 0.0
        return counts

    def kernels(self, neighbours: Neighbours, split: Split | None = None) -> LocalKernels:
        """Return the kernels that all rows tell, or those that a fold keeps."""
        counts, form = self.counts if split is None else self._kept(split), self.form
        return LocalKernels.around(
            self.X,
            neighbours,
            counts,
            form.n_neighbors,
            form.profile,
            form.shape,
            form.search.metric,
        )

    def held_out(self, neighbours: Neighbours, alphas: FloatArray, task: Task) -> HeldOut:
        """Score the tested rows of every fold by the kernels of the rows that it keeps."""
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
                "cv: no fold tests a row of the rare class: give folds that do, such as an int"
            )
        with np.errstate(invalid="ignore"):  # not a number where no fold tests a row
            return HeldOut(totals / times[:, np.newaxis], np.transpose(columns))

    def _precision(self, tested: IntArray, scores: FloatArray) -> list[float]:
        counts = self.counts[tested]
        return [
            average_precision(self.is_rare[tested], column, pos_label=True, sample_weight=counts)
            for column in scores.T
        ]


def leave_one_out(
    X: FloatArray,
    counts: FloatArray,
    neighbours: Neighbours,
    kernels: LocalKernels,
    form: Form,
    alpha: float,
) -> FloatArray:
    """Return what every row would be scored had it not been among those learned from.

    A rare row loses its own kernel. A background row changes the radii of those kernels that it
    is a neighbour of, which the next neighbour takes its place in; no other changes.
    """
    neighbours = neighbours.of_those_present(counts)
    shares = neighbours.shares(counts, form.n_neighbors)
    entries = np.flatnonzero(shares)
    owners = np.searchsorted(neighbours.starts, entries, side="right") - 1
    left_out = neighbours.rows[entries]
    without = _widths_without(X, counts, neighbours.of(owners), left_out, form)
    squares = kernels.squares_of_pairs(X[left_out], owners, without)
    own = np.arange(len(neighbours.centres))
    nowhere = np.full(len(own), farthest(X.dtype))
    exceptions = Exceptions.in_order(
        (left_out, owners, squares), (neighbours.centres, own, nowhere)
    )
    scores = kernels.sums(X, np.array([alpha]), exceptions)[:, 0]
    others = np.maximum(1.0 - kernels.weight, TINY)  # what the weights of the other centres sum to
    if form.profile == "gaussian":
        scores[neighbours.centres] -= np.log(others)
    else:
        scores[neighbours.centres] /= others
    return scores


def _widths_without(
    X: FloatArray, counts: FloatArray, lists: Neighbours, left_out: IntArray, form: Form
) -> FloatArray:
    """Return radii from lists of neighbours, each of which is to do without one row."""
    is_left_out = lists.rows == np.repeat(left_out, np.diff(lists.starts))
    nobody = len(counts)
    lists = replace(lists, rows=np.where(is_left_out, nobody, lists.rows))
    shares = lists.shares(np.append(counts, 0.0), form.n_neighbors)
    lists = replace(lists, rows=np.where(is_left_out, 0, lists.rows))
    return positive_widths(lists.widths(X, shares, form.shape), X, counts)

"""The nearest background rows of each rare row, searched once for all folds."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.neighbors import NearestNeighbors

from kernsemble._memory import physical_memory
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.solvers.kernel_sums import mean_differences, neighbour_shares

Algorithm: TypeAlias = Literal["auto", "kd_tree", "ball_tree", "brute", "approximate"]
KernelShape: TypeAlias = Literal["spherical", "elliptical"]


@dataclass(frozen=True)
class NeighbourSearch:
    """Settings of the nearest-neighbour search."""

    metric: str = "euclidean"
    algorithm: Algorithm = "auto"
    n_jobs: int | None = None
    random_state: Any = None

    def index(self, X: FloatArray) -> "NearestNeighbors | ApproximateIndex":
        """Return an index of rows with a method `kneighbors`."""
        if self.algorithm == "approximate":
            return ApproximateIndex(X, self)
        index = NearestNeighbors(algorithm=self.algorithm, metric=self.metric, n_jobs=self.n_jobs)
        with np.errstate(all="ignore"):  # the sums of large values in scikit-learn's check
            return index.fit(X)


class ApproximateIndex:
    """An approximate index by pynndescent, with the interface of scikit-learn's."""

    def __init__(self, X: FloatArray, search: NeighbourSearch) -> None:
        try:
            from pynndescent import NNDescent
        except ImportError as error:
            raise ImportError(
                "algorithm = 'approximate' needs pynndescent, which is not installed: "
                "pip install pynndescent, or use algorithm='auto', which is exact"
            ) from error
        seed, n_jobs = search.random_state, search.n_jobs
        self._graph = NNDescent(X, metric=search.metric, random_state=seed, n_jobs=n_jobs)

    def kneighbors(self, X: FloatArray, n_neighbors: int) -> tuple[FloatArray, IntArray]:
        """Return distances and indices of the nearest rows, the nearest first."""
        places, distances = self._graph.query(X, k=n_neighbors)
        return distances, places


@dataclass(frozen=True, eq=False, repr=False)
class Neighbours(Value):
    """The nearest background rows of each rare row, the nearest first, enough for every fold.

    The neighbours of the i-th rare row are ``rows[starts[i] : starts[i + 1]]``, indices into
    all rows.
    """

    centres: IntArray
    starts: IntArray
    rows: IntArray
    distances: FloatArray

    @classmethod
    def around(
        cls,
        X: FloatArray,
        is_rare: BoolArray,
        counts_of_folds: list[FloatArray],
        n_neighbors: int,
        shape: KernelShape,
        search: NeighbourSearch,
    ) -> Self:
        """Search enough neighbours for every fold, given by its row weights.

        They are also enough if any one of them is left out.

        One search suffices unless a fold leaves out most of the neighbours of a row, or many
        are equally far from it; for such rows the search is repeated for more neighbours.
        """
        centres, background = np.flatnonzero(is_rare), np.flatnonzero(~is_rare)
        index = search.index(X[background])
        n_kept = min(np.count_nonzero(counts[background]) for counts in counts_of_folds)
        n_listed = int(2.0 * n_neighbors * len(background) / n_kept) + 8
        found: dict[int, tuple[IntArray, FloatArray]] = {}
        left = np.arange(len(centres))
        while len(left):
            n_listed = min(n_listed, len(background))
            _check_memory(24.0 * n_listed * len(left))
            with np.errstate(all="ignore"):  # as in `index`
                distances, places = index.kneighbors(X[centres[left]], n_listed)
            _check_distances(distances)
            listed = cls(
                centres[left],
                n_listed * np.arange(len(left) + 1),
                background[places.ravel()],
                distances.ravel().astype(np.float64),
            )
            is_settled = np.ones(len(left), dtype=bool)
            for counts in counts_of_folds:
                is_settled &= listed._is_enough(counts, n_neighbors, shape)
            is_enough = is_settled | (n_listed == len(background))
            for place in np.flatnonzero(is_enough):
                found[left[place]] = background[places[place]], distances[place]
            left, n_listed = left[~is_enough], 4 * n_listed
        lists = [found[place] for place in range(len(centres))]
        starts = np.cumsum([0, *(len(rows) for rows, _ in lists)])
        rows, distances = (np.concatenate(parts) for parts in zip(*lists, strict=True))
        return cls(centres, starts, rows, distances.astype(np.float64))

    def _is_enough(self, counts: FloatArray, n_neighbors: int, shape: KernelShape) -> BoolArray:
        """Return which lists suffice; elliptical kernels need all rows of equal distance."""
        lists = self.starts, self.rows, self.distances
        _, reaches, goes_on = neighbour_shares(*lists, counts, n_neighbors + counts.max())
        return goes_on if shape == "elliptical" else reaches

    def shares(self, counts: FloatArray, n_neighbors: int) -> FloatArray:
        """Return the weight of each neighbour in the mean over the nearest."""
        return neighbour_shares(self.starts, self.rows, self.distances, counts, n_neighbors)[0]

    def take(self, selected: IntArray) -> Self:
        """Return the neighbours of some of the rare rows, with repetitions."""
        lengths = np.diff(self.starts)[selected]
        starts = np.append(0, np.cumsum(lengths))
        places = np.arange(starts[-1]) + np.repeat(self.starts[selected] - starts[:-1], lengths)
        return replace(
            self,
            centres=self.centres[selected],
            starts=starts,
            rows=self.rows[places],
            distances=self.distances[places],
        )

    def with_positive_weight(self, counts: FloatArray) -> Self:
        """Return the neighbours of the rare rows with positive weight."""
        is_present = counts[self.centres] > 0.0
        return self if is_present.all() else self.take(np.flatnonzero(is_present))

    def widths(self, X: FloatArray, shares: FloatArray, shape: KernelShape) -> FloatArray:
        """Return the radii, which may be zero: one column, or one per feature."""
        if shape == "elliptical":
            return mean_differences(X, self.centres, self.starts, self.rows, shares)
        return np.add.reduceat(shares * self.distances, self.starts[:-1])[:, np.newaxis]


def positive_widths(widths: FloatArray, X: FloatArray, counts: FloatArray) -> FloatArray:
    """Replace radii of zero, those of rows that are equal to their neighbours.

    A zero is replaced by the smallest positive radius of its column; if there is none, by the
    standard deviation of the rows; if that is zero, by infinity, so the feature is ignored.
    """
    if widths.all():
        return widths
    smallest = np.where(widths > 0.0, widths, np.inf).min(axis=0)
    lacking = np.isinf(smallest)
    if lacking.any():
        smallest[lacking] = _spread(X, counts, widths.shape[1])[lacking]
    return np.where(widths > 0.0, widths, smallest)


def _spread(X: FloatArray, counts: FloatArray, n_columns: int) -> FloatArray:
    """Return the standard deviation of each feature, or of all jointly; infinity for zero."""
    present = X[counts > 0.0].astype(np.float64)
    size = np.abs(present).max() or 1.0
    mean = np.average(present / size, axis=0, weights=counts[counts > 0.0])
    variance = np.average((present / size - mean) ** 2, axis=0, weights=counts[counts > 0.0])
    is_constant = (present == present[0]).all(axis=0)
    variance[is_constant] = 0.0
    if n_columns == 1:
        variance = variance.sum(keepdims=True)
    with np.errstate(over="ignore"):  # checked
        spread = size * np.sqrt(variance)
    _check_distances(spread)
    return np.where(variance > 0.0, spread, np.inf)


def _check_distances(distances: FloatArray) -> None:
    """Raise an error unless distances are finite."""
    if not np.isfinite(distances).all():
        raise ValueError(
            "the distance of rows exceeds the range of floats: scale the columns, or use "
            "scaling='range'"
        )


def _check_memory(n_bytes: float) -> None:
    if n_bytes > 0.5 * physical_memory():
        raise MemoryError(
            f"the neighbours of rare rows need {n_bytes / 2**20:,.0f} MB, more than half of this "
            "machine's memory, because many rows are equally far apart: use "
            "shape='spherical', or fewer rows"
        )

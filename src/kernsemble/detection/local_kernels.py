"""Kernels centred at rare rows, as wide as their distance from the background."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.metrics import pairwise_distances

from kernsemble import _threads
from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.detection.neighbours import KernelShape, Neighbours, positive_widths
from kernsemble.kernels.distances import l2_tile
from kernsemble.solvers.kernel_sums import Profile, bounded, elliptical_squares, kernel_sums

PAIRS_PER_BLOCK = 2**19  # number of distances between rows and centres that fit in the cache


@dataclass(frozen=True, eq=False, repr=False)
class LocalKernels(Value):
    r"""The weighted mean :math:`\sum_i w_i\, k(u_i(x)/\alpha)` of kernels centred at rare rows.

    Spherical: :math:`u_i(x) = d(x, x_i)/r_i`; elliptical:
    :math:`u_i(x)^2 = \sum_j ((x_j - x_{ij})/r_{ij})^2`. The widths have one column or one per
    feature; the weights sum to one.
    """

    centres: FloatArray
    widths: FloatArray
    weight: FloatArray
    profile: Profile
    shape: KernelShape
    metric: str

    @classmethod
    def around(
        cls,
        X: FloatArray,
        neighbours: Neighbours,
        counts: FloatArray,
        n_neighbors: int,
        profile: Profile,
        shape: KernelShape,
        metric: str,
    ) -> Self:
        """Return the kernels at the rare rows with positive weight."""
        present = neighbours.with_positive_weight(counts)
        widths = present.widths(X, present.shares(counts, n_neighbors), shape)
        weight, has_width = counts[present.centres], widths.any(axis=1)
        if has_width.any():
            weight = weight * has_width  # a height |R_i| of zero
        return cls(
            X[present.centres],
            positive_widths(widths, X, counts),
            weight / weight.sum(),
            profile,
            shape,
            metric,
        )

    def sums(
        self, X: FloatArray, alphas: FloatArray, overrides: "DistanceOverrides | None" = None
    ) -> FloatArray:
        """Return the mean of the kernels, or its log if Gaussian, with a column per alpha.

        The distances cost rows × centres × features once, for all alphas together, and each alpha
        rows × centres evaluations of the kernel.
        """
        height = max(PAIRS_PER_BLOCK // len(self.centres), 8)

        def work(rows: slice) -> FloatArray:
            squares = self.squares(X[rows])
            if overrides is not None:
                overrides.apply(squares, rows)
            return kernel_sums(squares, self.weight, alphas, self.profile)

        return np.concatenate(_threads.run(work, _threads.blocks(len(X), height)))

    def squares(self, X: FloatArray) -> FloatArray:
        """Return the squared distances from the centres (columns), in units of the widths."""
        if self.shape == "elliptical":
            return elliptical_squares(X, self.centres, self.widths)
        return self._spherical(self._distances(X), self.widths[:, 0])

    def _distances(self, X: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):  # infinite distances are bounded below
            if self.metric == "euclidean":
                return l2_tile(X, self.centres)
            return pairwise_distances(X, self.centres, metric=self.metric)

    @staticmethod
    def _spherical(distances: FloatArray, widths: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # bounded below
            distances /= widths.astype(distances.dtype)
            return bounded(np.square(distances, out=distances))

    def squares_of_pairs(self, X: FloatArray, centres: IntArray, widths: FloatArray) -> FloatArray:
        """Return the squared distance of each row from one centre, in units of a given width."""
        differences = X.astype(np.float64) - self.centres[centres]
        if self.shape == "elliptical":
            return bounded(np.square(differences / widths).sum(axis=1))
        if self.metric == "euclidean":
            return self._spherical(np.linalg.norm(differences, axis=1), widths[:, 0])
        pairs = [
            pairwise_distances(row[np.newaxis], centre[np.newaxis], metric=self.metric)[0, 0]
            for row, centre in zip(X, self.centres[centres], strict=True)
        ]
        return self._spherical(np.array(pairs), widths[:, 0])


@dataclass(frozen=True, eq=False)
class DistanceOverrides:
    """Squared distances that replace those of some pairs of rows and centres."""

    rows: IntArray  # ascending
    centres: IntArray
    squares: FloatArray

    @classmethod
    def merge(cls, *parts: tuple[IntArray, IntArray, Any]) -> Self:
        """Merge several lists of pairs, sorted by row."""
        rows, centres, squares = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.argsort(rows, kind="stable")
        return cls(rows[order], centres[order], squares[order])

    def apply(self, squares: FloatArray, rows: slice) -> None:
        """Replace the entries of these rows, in place."""
        first, last = np.searchsorted(self.rows, (rows.start, rows.stop))
        places = self.rows[first:last] - rows.start, self.centres[first:last]
        squares[places] = self.squares[first:last]

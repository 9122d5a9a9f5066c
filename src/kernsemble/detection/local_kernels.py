"""Kernels around rare rows, each as wide as the background is far."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.metrics import pairwise_distances

from kernsemble import _threads
from kernsemble._typing import FloatArray, IntArray
from kernsemble._value import Value
from kernsemble.detection.neighbours import Neighbours, Shape, positive_widths
from kernsemble.kernels.distances import l2_tile
from kernsemble.solvers.kernel_sums import Profile, bounded, elliptical_squares, kernel_sums

PAIRS_AT_ONCE = 2**19  # of rows and centres, whose distances stay in the cache


@dataclass(frozen=True, eq=False)
class LocalKernels(Value):
    r"""The mean :math:`\sum_i w_i\, k(u_i(x)/\alpha)` of kernels around rare rows.

    Spherical: :math:`u_i(x) = d(x, x_i)/r_i`; elliptical:
    :math:`u_i(x)^2 = \sum_j ((x_j - x_{ij})/r_{ij})^2`. The widths have one column or one for
    each feature; the weights sum to one.
    """

    centres: FloatArray
    widths: FloatArray
    weight: FloatArray
    profile: Profile
    shape: Shape
    metric: str

    @classmethod
    def around(
        cls,
        X: FloatArray,
        neighbours: Neighbours,
        counts: FloatArray,
        n_neighbors: int,
        profile: Profile,
        shape: Shape,
        metric: str,
    ) -> Self:
        """Return the kernels of the rare rows that count, of rows that count so often."""
        present = neighbours.of_those_present(counts)
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
        self, X: FloatArray, alphas: FloatArray, exceptions: "Exceptions | None" = None
    ) -> FloatArray:
        """Return the mean of the kernels at rows (rows) for every alpha; of Gaussians, its log.

        It costs rows × centres × features once, whatever the number of alphas, and rows ×
        centres evaluations of the kernel for each alpha.
        """
        height = max(PAIRS_AT_ONCE // len(self.centres), 8)

        def work(rows: slice) -> FloatArray:
            squares = self.squares(X[rows])
            if exceptions is not None:
                exceptions.put(squares, rows)
            return kernel_sums(squares, self.weight, alphas, self.profile)

        return np.concatenate(_threads.run(work, _threads.blocks(len(X), height)))

    def squares(self, X: FloatArray) -> FloatArray:
        """Return the squared distances of rows (rows) from centres in units of their widths."""
        if self.shape == "elliptical":
            return elliptical_squares(X, self.centres, self.widths)
        return self._spherical(self._distances(X), self.widths[:, 0])

    def _distances(self, X: FloatArray) -> FloatArray:
        if self.metric == "euclidean":
            return l2_tile(X, self.centres)
        return pairwise_distances(X, self.centres, metric=self.metric)

    @staticmethod
    def _spherical(distances: FloatArray, widths: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # bounded below
            distances /= widths.astype(distances.dtype)
            return bounded(np.square(distances, out=distances))

    def squares_of_pairs(self, X: FloatArray, centres: IntArray, widths: FloatArray) -> FloatArray:
        """Return the squared distance of each row from one of the centres, of a given width."""
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
class Exceptions:
    """Pairs of rows and centres whose squared distances are others than those of the kernels."""

    rows: IntArray  # in order
    centres: IntArray
    squares: FloatArray

    @classmethod
    def in_order(cls, *parts: tuple[IntArray, IntArray, Any]) -> Self:
        """Return several lists of pairs as one."""
        rows, centres, squares = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.argsort(rows, kind="stable")
        return cls(rows[order], centres[order], squares[order])

    def put(self, squares: FloatArray, rows: slice) -> None:
        """Set those among some rows."""
        first, last = np.searchsorted(self.rows, (rows.start, rows.stop))
        places = self.rows[first:last] - rows.start, self.centres[first:last]
        squares[places] = self.squares[first:last]

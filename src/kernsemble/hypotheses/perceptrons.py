r"""Perceptrons :math:`\mathrm{sign}(\theta^\top (x - c) - a)` of every direction."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from kernsemble._arguments import check_positive
from kernsemble._typing import FloatArray, Rows
from kernsemble._validation import as_features, present_rows
from kernsemble.hypotheses.base import Hypotheses, HypothesisSet


def mean_absolute_cosine(n_features: int) -> float:
    r"""Return :math:`\Xi_D / \Theta_D = E|\theta_1| = \Gamma(D/2) / (\sqrt\pi\,\Gamma((D+1)/2))`.

    It is the mean of :math:`|\theta_1|` over the unit sphere in D dimensions.
    """
    return float(np.exp(gammaln(n_features / 2) - gammaln((n_features + 1) / 2)) / np.sqrt(np.pi))


@dataclass(frozen=True, eq=False, repr=False)
class Perceptrons(Hypotheses):
    """Perceptrons stored as arrays: ``sign(direction @ x - threshold)``."""

    direction: FloatArray
    threshold: FloatArray

    def vote(self, X: Rows) -> FloatArray:
        projected: FloatArray = as_features(X) @ self.direction.T
        return np.where(projected > self.threshold, 1.0, -1.0)


@dataclass(frozen=True, eq=False, repr=False)
class PerceptronSet(HypothesisSet):
    r"""Perceptrons with :math:`\|\theta\| = 1` that cut a ball.

    The thresholds :math:`a \in [-R, R]` are measured from the `centre` of the ball, and
    the measure is uniform with :math:`r^2 = 1 / (2\,\Xi_D)`, hence
    :math:`\Delta = R\,\Theta_D / \Xi_D`.
    """

    centre: FloatArray
    radius: float

    @classmethod
    def spanning(cls, X: Rows, margin: float = 0.05, weight: FloatArray | None = None) -> Self:
        """Return the perceptrons that cut a ball around the mean of a sample.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            The sample.
        margin : float
            Excess of the radius over the largest distance from the mean, relative to it: the
            papers require that the sample is strictly inside.
        weight : array of shape (n_samples,), optional
            Weights of the rows in the mean; a row of weight zero is absent.
        """
        check_positive("margin", margin)
        X, weight = present_rows(as_features(X), weight, "weight")
        with np.errstate(over="ignore", invalid="ignore"):
            centre = X.T @ (weight / weight.sum())
            radius = (1.0 + margin) * _largest_distance(X, centre)
            farthest = 2.0 * radius + np.abs(centre).sum()
        if not np.isfinite(farthest):
            raise ValueError("the range of X exceeds that of floats: scale the columns")
        return cls(centre, radius)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.centre)

    @property
    def total_measure(self) -> float:
        return self.radius / mean_absolute_cosine(self.n_features)

    @property
    def has_constant(self) -> bool:
        return self.radius > 0.0

    def draw(self, n: int, rng: np.random.Generator) -> Perceptrons:
        direction = rng.standard_normal((n, self.n_features))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        offset = rng.uniform(-self.radius, self.radius, size=n)
        return Perceptrons(direction, direction @ self.centre + offset)


def _largest_distance(X: Rows, centre: FloatArray) -> float:
    """Return the largest distance of a row from a point, in chunks of dense rows."""
    chunk = max(1, 4_000_000 // X.shape[1])
    return max(
        _largest_norm(_dense(X[start : start + chunk]) - centre)
        for start in range(0, X.shape[0], chunk)
    )


def _largest_norm(rows: FloatArray) -> float:
    size = np.abs(rows).max()
    return float(size * np.linalg.norm(rows / size, axis=1).max()) if size > 0.0 else 0.0


def _dense(X: Rows) -> FloatArray:
    return X.toarray() if sparse.issparse(X) else X

r"""Perceptrons :math:`\mathrm{sign}(\theta^\top (x - c) - a)` of every direction."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from kernsemble._arguments import check_positive
from kernsemble._typing import FloatArray, Rows
from kernsemble._validation import as_features
from kernsemble.hypotheses.base import Hypotheses, HypothesisSet


def mean_absolute_cosine(n_features: int) -> float:
    r"""Return :math:`\Xi_D / \Theta_D = E|\theta_1| = \Gamma(D/2) / (\sqrt\pi\,\Gamma((D+1)/2))`.

    It is the mean of :math:`|\theta_1|` over the unit sphere in D dimensions.
    """
    return float(np.exp(gammaln(n_features / 2) - gammaln((n_features + 1) / 2)) / np.sqrt(np.pi))


@dataclass(frozen=True, eq=False, repr=False)
class Perceptrons(Hypotheses):
    """Perceptrons, one an entry: ``sign(direction @ x - threshold)``."""

    direction: FloatArray
    threshold: FloatArray

    def vote(self, X: Rows) -> FloatArray:
        projected: FloatArray = as_features(X) @ self.direction.T
        return np.where(projected > self.threshold, 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class PerceptronSet(HypothesisSet):
    r"""Perceptrons with :math:`\|\theta\| = 1` that cut a ball.

    The thresholds :math:`a \in [-R, R]` are measured from the `centre` of the ball, and
    the measure is uniform with :math:`r^2 = 1 / (2\,\Xi_D)`, hence
    :math:`\Delta = R\,\Theta_D / \Xi_D`.
    """

    centre: FloatArray
    radius: float

    @classmethod
    def spanning(cls, X: Rows, margin: float = 0.05) -> Self:
        """Return the perceptrons that cut a ball around the mean of a sample.

        The radius is the largest distance from the mean, and a share `margin` more: the
        papers ask that the sample is strictly inside.
        """
        check_positive("margin", margin)
        X = as_features(X)
        centre = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            radius = np.sqrt(_squared_distances(X, centre).max()) * (1.0 + margin)
        if not np.isfinite(radius):
            raise ValueError(
                f"X has entries as large as {abs(X).max():.3g}, whose squares overflow. "
                "Scale the columns."
            )
        return cls(centre, float(radius))

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


def _squared_distances(X: Rows, centre: FloatArray) -> FloatArray:
    if sparse.issparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return np.maximum(squares - 2.0 * (X @ centre) + centre @ centre, 0.0)
    centred = X - centre
    return np.asarray(np.einsum("ij,ij->i", centred, centred))

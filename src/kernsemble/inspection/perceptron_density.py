"""The weights of the perceptrons of one direction."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from kernsemble._typing import FloatArray, IntArray
from kernsemble._value import Value
from kernsemble.hypotheses import PerceptronSet
from kernsemble.hypotheses.perceptrons import mean_absolute_cosine
from kernsemble.inspection.expansions import Expansion, columns_seen, unwrapped
from kernsemble.inspection.tables import direction_tables
from kernsemble.kernels import Kernel, Perceptron
from kernsemble.kernels.algebra import terms
from kernsemble.kernels.ensemble import Simplified
from kernsemble.kernels.slice_parts import seen_columns
from kernsemble.svm.blocks import FittedTables


@dataclass(frozen=True, eq=False)
class PerceptronDensity(Value):
    r"""The weights of all perceptrons of one direction, as a step function of the threshold.

    .. math:: w(\theta, a) = r \sum_i \beta_i\, \mathrm{sign}(\theta^\top (x_i - c) - a),
              \qquad r^2 = \frac1{2\,\Xi_D}

    on scaled rows. The machine is :math:`f(x) = b + \int_\theta \int_{-R}^R r\, w(\theta, a)\,
    \mathrm{sign}(\theta^\top (x - c) - a)\, da\, d\theta`.

    Attributes
    ----------
    direction : array of shape (D,)
        The direction, of length 1.
    columns : array of shape (D,)
        The columns of the data that it is a direction of.
    lower, upper : arrays of shape (m,)
        Between which thresholds the density is constant: from −R to R, or between the levels of
        a machine on tables.
    density : array of shape (m,)
        w there.
    embedding : float
        r.
    """

    direction: FloatArray
    columns: IntArray
    lower: FloatArray
    upper: FloatArray
    density: FloatArray
    embedding: float

    @classmethod
    def along(
        cls,
        direction: ArrayLike,
        perceptrons: PerceptronSet,
        columns: IntArray,
        rows: FloatArray,
        beta: FloatArray,
        factor: float,
    ) -> "PerceptronDensity":
        """Return the density along a direction for scaled rows with coefficients."""
        theta = np.asarray(direction, dtype=np.float64)
        length = np.linalg.norm(theta) if theta.shape == (len(columns),) else 0.0
        if not 0.0 < length < np.inf:
            raise ValueError(
                f"direction = {direction!r}: give {len(columns)} numbers, not all zero, one for "
                "each column that the perceptrons see"
            )
        theta = theta / length
        projected = (rows[:, columns] - perceptrons.centre) @ theta
        edges = np.unique(np.concatenate([[-perceptrons.radius], projected, [perceptrons.radius]]))
        order = np.argsort(projected, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(beta[order])])
        at_most = below[np.searchsorted(projected[order], edges[:-1], side="right")]
        r = _embedding(len(theta), factor)
        density = r * (below[-1] - 2.0 * at_most)
        return cls(theta, columns, edges[:-1], edges[1:], density, r)


def density_along(direction: ArrayLike, kernel: Kernel, expansion: Expansion) -> PerceptronDensity:
    """Return the density of the only perceptrons of a kernel along a direction."""
    found = []
    for term in terms(kernel):
        factor, simple = unwrapped(term)
        simple = simple.full if isinstance(simple, Simplified) else simple
        if isinstance(simple, Perceptron):
            found.append((factor, simple.hypotheses, columns_seen(term)))
    if len(found) != 1:
        raise ValueError(
            f"kernel = {kernel} is the sum of {len(found)} kernels of perceptrons: the density is "
            "told of one, Perceptron()"
        )
    factor, perceptrons, columns = found[0]
    rows = np.asarray(expansion.scaling.transform(expansion.support))
    return PerceptronDensity.along(direction, perceptrons, columns, rows, expansion.beta, factor)


def density_of_slice(place: int, tables: FittedTables, machine: int) -> PerceptronDensity:
    """Return the density along a direction that a machine on tables has sampled."""
    found = [
        (part, block, k) for part, block in direction_tables(tables) for k in range(part.n_slices)
    ]
    if not 0 <= place < len(found):
        raise ValueError(
            f"direction = {place}: the machine has sampled {len(found)} directions; give the place "
            "of one of them"
        )
    part, block, k = found[place]
    values, heights = block.levels[k].values, block.heights[k][machine]
    measure = np.diff(part.position(k, values))
    r = _embedding(part.directions.shape[1], part.factor)
    density = r * np.diff(heights) / measure
    columns = seen_columns(part.kernel)
    return PerceptronDensity(part.directions[k], columns, values[:-1], values[1:], density, r)


def _embedding(n_features: int, factor: float) -> float:
    """Return r of perceptrons whose kernel is multiplied by a factor."""
    area = _sphere(n_features) * mean_absolute_cosine(n_features)
    return float(np.sqrt(factor / (2.0 * area)))


def _sphere(n_features: int) -> float:
    """Return the area of the unit sphere."""
    half = 0.5 * n_features
    return float(2.0 * np.exp(half * np.log(np.pi) - gammaln(half)))

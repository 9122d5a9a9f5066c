"""Weights of the perceptrons along one direction."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble._validation import as_numbers
from kernsemble._value_object import Value
from kernsemble.hypotheses import PerceptronSet
from kernsemble.hypotheses.perceptrons import mean_absolute_cosine
from kernsemble.inspection.expansion_decomposition import SupportVectors, kernel_terms
from kernsemble.inspection.table_decomposition import direction_tables
from kernsemble.kernels import Kernel, Perceptron
from kernsemble.kernels.ensemble import Simplified
from kernsemble.kernels.slice_parts import seen_columns
from kernsemble.svm.backends.tables.blocks import FittedTables


@dataclass(frozen=True, eq=False, repr=False)
class PerceptronDensity(Value):
    r"""Weights of all perceptrons along one direction, as a step function of the threshold.

    .. math:: w(\theta, a) = r \sum_i \beta_i\, \mathrm{sign}(\theta^\top (x_i - c) - a),
              \qquad r^2 = \frac1{2\,\Xi_D}

    on scaled rows. The machine is :math:`f(x) = b + \int_\theta \int_{-R}^R r\, w(\theta, a)\,
    \mathrm{sign}(\theta^\top (x - c) - a)\, da\, d\theta`.

    Attributes
    ----------
    direction : array of shape (D,)
        Direction, of length 1.
    columns : array of shape (D,)
        Columns of the data that the direction refers to.
    lower, upper : arrays of shape (m,)
        Intervals of thresholds in which the density is constant: from −R to R, or between the
        levels of a machine on tables.
    density : array of shape (m,)
        Density w in each interval.
    embedding : float
        Constant r.
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
        """Return the density along a direction, for scaled rows and their coefficients."""
        theta = as_numbers(direction, "direction")
        with np.errstate(over="ignore"):  # checked below
            length = np.linalg.norm(theta) if theta.shape == (len(columns),) else 0.0
        if not 0.0 < length < np.inf:
            raise ValueError(
                f"direction = {direction!r}: pass {len(columns)} numbers, not all zero, one for "
                "each column of the perceptron kernel"
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


def density_along(
    direction: ArrayLike, kernel: Kernel, support: SupportVectors
) -> PerceptronDensity:
    """Return the density along a direction, for a kernel with one perceptron term."""
    found = []
    for term in kernel_terms(kernel):
        simple = term.simple.full if isinstance(term.simple, Simplified) else term.simple
        if isinstance(simple, Perceptron):
            found.append((term.factor, simple.hypotheses, term.columns))
    if len(found) != 1:
        raise ValueError(
            f"kernel = {kernel} has {len(found)} perceptron terms: the density is defined for "
            "exactly one, such as Perceptron()"
        )
    factor, perceptrons, columns = found[0]
    rows = np.asarray(support.scaling.transform(support.rows))
    return PerceptronDensity.along(direction, perceptrons, columns, rows, support.beta, factor)


def density_of_sampled_direction(
    index: int, tables: FittedTables, machine: int
) -> PerceptronDensity:
    """Return the density along one of the sampled directions of a machine on tables."""
    found = [
        (part, block, k) for part, block in direction_tables(tables) for k in range(part.n_slices)
    ]
    if not 0 <= index < len(found):
        raise ValueError(
            f"direction = {index}: the machine has {len(found)} sampled directions; pass the index "
            "of one of them"
        )
    part, block, k = found[index]
    values, heights = block.levels[k].values, block.heights[k][machine]
    measure = np.diff(part.position(k, values))
    r = _embedding(part.directions.shape[1], part.factor)
    density = r * np.diff(heights) / measure
    columns = seen_columns(part.kernel)
    return PerceptronDensity(part.directions[k], columns, values[:-1], values[1:], density, r)


def _embedding(n_features: int, factor: float) -> float:
    """Return r for a perceptron kernel multiplied by a factor."""
    area = _sphere(n_features) * mean_absolute_cosine(n_features)
    return float(np.sqrt(factor / (2.0 * area)))


def _sphere(n_features: int) -> float:
    """Return the area of the unit sphere."""
    half = 0.5 * n_features
    return float(2.0 * np.exp(half * np.log(np.pi) - gammaln(half)))

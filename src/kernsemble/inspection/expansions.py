r"""Kernel expansions :math:`f(x) = b + \sum_i \beta_i K(x_i, x)` as sums over columns.

A kernel of slices, :math:`\kappa - \sum_k |p_k(x) - p_k(x')|`, makes f a sum of functions of one
column, whose knots are the support vectors and wherever a scale bends; all in the user's unit.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.inspection.functions import Shape, StumpDensity
from kernsemble.inspection.pieces import Interaction, Piece, Pieces, ProductForm
from kernsemble.kernels import (
    Category,
    DecisionTree,
    Gaussian,
    HistogramIntersection,
    Kernel,
    Laplacian,
    Linear,
    MiddleStump,
    Stump,
)
from kernsemble.kernels.algebra import OnColumns, Scaled, terms
from kernsemble.kernels.columns import leaves
from kernsemble.kernels.slice_parts import Categories, Coordinates
from kernsemble.kernels.slices import NoSlicesError, Slices, slices_of
from kernsemble.preprocessing.scaling import FeatureScaling
from kernsemble.svm.expansion import expansion_values

SLICED = (Stump, MiddleStump, Category)
ROUNDING = 1e-12  # of the measure of a column


class Expansion(NamedTuple):
    """The support vectors of one machine, with their coefficients, and how they are scaled."""

    scaling: FeatureScaling
    support: FloatArray
    beta: FloatArray
    labels: tuple[tuple[Any, ...] | None, ...]  # of the categories of each column

    @property
    def total(self) -> float:
        """The sum of the coefficients, zero for machines with a bias."""
        return float(self.beta.sum())

    def scaled(self, column: int, values: FloatArray) -> FloatArray:
        """Return values of a column on its scale."""
        return self.scaling.of_column(column).transform(values[:, np.newaxis])[:, 0]

    def above(self, column: int, edges: FloatArray) -> FloatArray:
        """Return the sum of the coefficients of rows above each edge."""
        values = self.support[:, column]
        order = np.argsort(values, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(self.beta[order])])
        return below[-1] - below[np.searchsorted(values[order], edges, side="right")]

    def edges(self, column: int, scaled_knots: FloatArray) -> FloatArray:
        """Return between which values of a column density and scale are constant."""
        restored = self.scaling.restored(column, scaled_knots)
        return np.unique(
            np.concatenate([self.support[:, column], self.scaling.bends(column), restored])
        )


def pieces_of_expansion(kernel: Kernel, intercept: float, expansion: Expansion) -> Pieces:
    """Return what an expansion of a bound kernel is the sum of."""
    if len(expansion.beta) == 0:
        return Pieces(intercept, [], [])
    additive: list[Piece] = []
    interactions: list[Interaction] = []
    constant_norm = 0.0
    for term in terms(kernel):
        (factor, simple), columns, slices = unwrapped(term), columns_seen(term), _slices(term)
        if slices is not None:
            offset, norm = _constants(slices, expansion.total)
            intercept, constant_norm = intercept + offset, constant_norm + norm
            additive += _of_slices(slices, expansion)
        elif isinstance(simple, HistogramIntersection):
            pieces = list(_of_intersection(simple, factor, columns, expansion))
            intercept += sum(
                float(piece.density.weight.sum()) for piece in pieces if piece.density is not None
            )
            additive += pieces
        elif type(simple) is Linear:
            additive += _of_line(factor, columns, expansion)
        else:
            interactions.append(_interaction(term, expansion))
    return Pieces(intercept, additive, interactions, constant_norm)


def unwrapped(kernel: Kernel) -> tuple[float, Kernel]:
    """Return the factor of a kernel, and the kernel without it and without its columns."""
    factor = 1.0
    while isinstance(kernel, (Scaled, OnColumns)):
        factor *= kernel.factor if isinstance(kernel, Scaled) else 1.0
        kernel = kernel.kernel
    return factor, kernel


def columns_seen(kernel: Kernel) -> IntArray:
    """Return all columns that a bound kernel sees."""
    assert kernel.n_features is not None
    seen = [leaf.columns(kernel.n_features) for leaf in leaves(kernel)]
    return seen[0] if len(seen) == 1 else np.unique(np.concatenate([*seen, np.empty(0, np.intp)]))


def _slices(kernel: Kernel) -> Slices | None:
    """Return the slices of a kernel if all are columns."""
    if not all(isinstance(leaf.kernel, SLICED) for leaf in leaves(kernel)):
        return None
    try:
        return slices_of(kernel)
    except NoSlicesError:
        return None


def _constants(slices: Slices, total: float) -> tuple[float, float]:
    """Return what of an expansion is constant, and its part of the norm.

    Votes of all hypotheses of the slices make up half their measure of the constant of the kernel.
    """
    measure = sum(
        0.5 * part.factor * float(part.simple.hypotheses.feature_measure.sum())
        for part in slices.ordered
    )
    halves = sum(
        0.25 * part.factor * len(known)
        for part in slices.unordered
        for known in part.simple.hypotheses.categories
    )
    offset = total * (slices.constant - measure)
    return offset, total**2 * (slices.constant - measure - halves)


def _of_slices(slices: Slices, expansion: Expansion) -> Iterator[Piece]:
    for part in slices.ordered:
        assert isinstance(part, Coordinates)
        of = _of_middle_stumps if isinstance(part.simple, MiddleStump) else _of_stumps
        for k, column in enumerate(part.columns.tolist()):
            density = of(part, k, column, expansion)
            yield Piece(column, density.shape(), density, density.squared_norm)
    for categories in slices.unordered:
        yield from _of_categories(categories, expansion)


def _of_stumps(part: Coordinates, k: int, column: int, expansion: Expansion) -> StumpDensity:
    stumps, total = part.simple.hypotheses, expansion.total
    edges = expansion.edges(column, stumps.knots[k])
    position = part.position(k, expansion.scaled(column, edges))
    first = -part.factor * float(stumps._measure_below(k, np.zeros(1))[0])
    last = first + part.factor * float(stumps.feature_measure[k])
    density = expansion.above(column, edges[:-1]) - 0.5 * total
    return _with_ends(edges, position, density, (first, last), (0.5 * total, -0.5 * total))


def _with_ends(
    edges: FloatArray,
    position: FloatArray,
    density: FloatArray,
    ends: tuple[float, float],
    beyond: tuple[float, float],
) -> StumpDensity:
    """Return the density between edges, and of thresholds that no row can reach."""
    rest = np.array([position[0] - ends[0], ends[1] - position[-1]])
    rest[rest <= ROUNDING * (ends[1] - ends[0])] = 0.0
    return StumpDensity.of(
        np.concatenate([[-np.inf], edges[:-1], [np.inf]]),
        np.concatenate([[-np.inf], edges[1:], [np.inf]]),
        np.concatenate([rest[:1], np.diff(position), rest[1:]]),
        np.concatenate([beyond[:1], density, beyond[1:]]),
    )


def _of_middle_stumps(part: Coordinates, k: int, column: int, expansion: Expansion) -> StumpDensity:
    stumps = part.simple.hypotheses
    scaled = stumps.thresholds[k]
    thresholds = expansion.scaling.restored(column, scaled)
    rank = np.searchsorted(scaled, expansion.scaled(column, expansion.support[:, column]))
    below = np.cumsum(np.bincount(rank, expansion.beta, len(scaled) + 1))
    density = expansion.total - below[:-1] - 0.5 * expansion.total
    return StumpDensity.of(thresholds, thresholds, np.full(len(scaled), part.factor), density)


def _of_categories(part: Categories, expansion: Expansion) -> Iterator[Piece]:
    codes = part.codes(expansion.scaling.transform(expansion.support))
    known = part.simple.hypotheses.categories
    total = expansion.total
    for k, column in enumerate(part.columns.tolist()):
        sums = np.bincount(codes[:, k], expansion.beta, len(known[k]))
        heights = -part.factor * (total - sums)
        atoms = np.array(expansion.scaling.restored(column, known[k].astype(np.float64)))
        atoms[codes[:, k]] = expansion.support[:, column]  # free of rounding
        size = 0.25 * part.factor * float(((2.0 * sums - total) ** 2).sum())
        labels = _named(expansion.labels[column], atoms)
        shape = Shape(atoms=atoms, heights=heights, other=-0.5 * part.factor * total, labels=labels)
        yield Piece(column, shape, None, size)


def _named(labels: tuple[Any, ...] | None, atoms: FloatArray) -> tuple[Any, ...] | None:
    return None if labels is None else tuple(labels[round(place)] for place in atoms.tolist())


def _of_intersection(
    kernel: HistogramIntersection, factor: float, columns: IntArray, expansion: Expansion
) -> Iterator[Piece]:
    assert kernel.origin is not None
    for k, column in enumerate(columns.tolist()):
        origin = kernel.origin[[k]]
        edges = expansion.edges(column, origin)
        position = factor * np.maximum(expansion.scaled(column, edges) - origin, 0.0)
        density = expansion.above(column, edges[:-1])
        stumps = _with_ends(
            edges, position, density, (0.0, float(position[-1])), (expansion.total, 0.0)
        )
        yield Piece(column, stumps.shape(), stumps, stumps.squared_norm)


def _of_line(factor: float, columns: IntArray, expansion: Expansion) -> Iterator[Piece]:
    scaled = expansion.scaling.transform(expansion.support)
    for column in columns.tolist():
        w = factor * float(expansion.beta @ scaled[:, column])
        bends = expansion.scaling.bends(column)
        knots = bends if len(bends) > 0 else np.array([0.0, 1.0])
        values = w * expansion.scaled(column, knots)
        slope = 0.0 if len(bends) > 0 else float(values[1] - values[0])
        shape = Shape(knots, values, values, slopes=(slope, slope))
        yield Piece(column, shape, None, w * w / factor)


def _interaction(kernel: Kernel, expansion: Expansion) -> Interaction:
    scaling, support, beta = expansion.scaling, expansion.support, expansion.beta[np.newaxis]

    def values(rows: FloatArray) -> FloatArray:
        return expansion_values(rows, kernel, scaling, support, beta)[:, 0]

    def squared_norm() -> float:
        return float(beta[0] @ values(support))

    columns = columns_seen(kernel)
    return Interaction(
        repr(kernel), columns, values, squared_norm, _product_form(kernel, expansion)
    )


def _product_form(kernel: Kernel, expansion: Expansion) -> ProductForm | None:
    factor, simple = unwrapped(kernel)
    if isinstance(simple, DecisionTree):
        rate, power = simple.gamma, 1
        factor *= float(np.exp(2.0 * simple.gamma * simple.stump.delta))
    elif isinstance(simple, (Laplacian, Gaussian)):
        assert simple.rate is not None
        rate, power = simple.rate, 2 if isinstance(simple, Gaussian) else 1
    else:
        return None
    embed = partial(_embedded, kernel, expansion.scaling)
    return ProductForm(embed, embed(expansion.support), factor * expansion.beta, rate, power)


def _embedded(kernel: Kernel, scaling: FeatureScaling, rows: FloatArray) -> FloatArray:
    return np.ascontiguousarray(kernel._embed(scaling.transform(rows), "X"), dtype=np.float64)

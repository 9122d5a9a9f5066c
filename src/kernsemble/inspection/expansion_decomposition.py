r"""Decomposition of kernel expansions :math:`f(x) = b + \sum_i \beta_i K(x_i, x)` by column.

With a kernel of slices, :math:`\kappa - \sum_k |p_k(x) - p_k(x')|`, f is a sum of functions of one
column. Their knots are the support vectors and the bends of the scaling, in the user's units.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kernsemble._typing import BoolArray, FloatArray, IntArray, Rows
from kernsemble.hypotheses import StumpSet
from kernsemble.inspection.column_scales import (
    ColumnScaling,
    as_column_scaling,
    column_of_coordinates,
    columns_of_directions,
)
from kernsemble.inspection.decomposition import (
    AdditiveTerm,
    Decomposition,
    Interaction,
    ProductForm,
)
from kernsemble.inspection.shape_functions import Shape, StumpDensity
from kernsemble.kernels import (
    DecisionTree,
    Gaussian,
    HistogramIntersection,
    Kernel,
    Laplacian,
    Linear,
    MiddleStump,
    Mixed,
    Stump,
)
from kernsemble.kernels.algebra import OnColumns, terms
from kernsemble.kernels.columns import leaves, unwrapped
from kernsemble.kernels.slice_parts import Categories, Coordinates
from kernsemble.kernels.slices import NoSlicesError, Slices, slices_of
from kernsemble.preprocessing import AnyScaling, FeatureScaling, LearnedScaling
from kernsemble.svm.backends.prepared_matrix import values_at

UNSCALED = FeatureScaling(None)
ROUNDING = 1e-12  # rounding error relative to the measure of a column


class SupportVectors(NamedTuple):
    """The support vectors of one machine, their coefficients and their scaling."""

    scaling: AnyScaling
    rows: FloatArray
    beta: FloatArray
    categories: tuple[tuple[Any, ...] | None, ...]  # categories of each column
    coordinates: Rows | None = None  # as the kernel sees them, if not by `scaling`: cross-fitted

    @property
    def total(self) -> float:
        """Sum of the coefficients, zero for machines with a bias."""
        return float(self.beta.sum())

    @property
    def known(self) -> Rows:
        """The support vectors as the kernel sees them."""
        if self.coordinates is not None:
            return self.coordinates
        return self.scaling.transform(self.rows)

    @property
    def scales(self) -> ColumnScaling:
        """The scales of the columns."""
        scales = as_column_scaling(self.scaling)
        assert scales is not None  # as `decompose_expansion` checks
        return scales

    def scaled(self, column: int, values: FloatArray) -> FloatArray:
        """Return scaled values of a column."""
        return self.scales.of_column(column).transform(values[:, np.newaxis])[:, 0]

    def above(self, column: int, edges: FloatArray) -> FloatArray:
        """Return the sum of the coefficients of the rows above each edge."""
        values = self.rows[:, column]
        order = np.argsort(values, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(self.beta[order])])
        return below[-1] - below[np.searchsorted(values[order], edges, side="right")]

    def edges(self, column: int, scaled_knots: FloatArray) -> FloatArray:
        """Return the edges of the intervals in which density and scaling are constant."""
        restored = self.scales.restored(column, scaled_knots)
        return np.unique(
            np.concatenate([self.rows[:, column], self.scales.bends(column), restored])
        )


class KernelTerm(NamedTuple):
    """A term of a bound kernel that is a sum."""

    kernel: Kernel  # with factor and columns
    factor: float
    simple: Kernel  # without factor and columns
    columns: IntArray


def kernel_terms(kernel: Kernel) -> list[KernelTerm]:
    """Return the terms of a bound kernel, each split into factor, simple kernel and columns."""
    return [KernelTerm(term, *unwrapped(term), columns_seen(term)) for term in terms(kernel)]


def decompose_expansion(kernel: Kernel, intercept: float, support: SupportVectors) -> Decomposition:
    """Return the decomposition of an expansion of a bound kernel."""
    if len(support.beta) == 0:
        return Decomposition(intercept, [], [])
    additive: list[AdditiveTerm] = []
    interactions: list[Interaction] = []
    constant_norm = 0.0
    has_scales = as_column_scaling(support.scaling) is not None
    for term in kernel_terms(kernel):
        if not has_scales:
            interactions.append(_interaction(term, support))
            continue
        slices = _column_slices(term.kernel)
        if slices is not None:
            offset, norm = _constants(slices, support.total)
            intercept, constant_norm = intercept + offset, constant_norm + norm
            additive += _slice_terms(slices, support)
        elif isinstance(term.simple, HistogramIntersection):
            found = list(_intersection_terms(term.simple, term, support))
            intercept += sum(
                float(each.density.weight.sum()) for each in found if each.density is not None
            )
            additive += found
        elif isinstance(term.simple, Linear):
            additive += _linear_terms(term, support)
        elif _is_mixed_sum(term):
            additive += _mixed_terms(term, support)
        else:
            interactions.append(_interaction(term, support))
    return Decomposition(intercept, additive, interactions, constant_norm)


def columns_seen(kernel: Kernel) -> IntArray:
    """Return the columns that a bound kernel depends on."""
    assert kernel.n_features is not None
    seen = [leaf.columns(kernel.n_features) for leaf in leaves(kernel)]
    return seen[0] if len(seen) == 1 else np.unique(np.concatenate([*seen, np.empty(0, np.intp)]))


def _column_slices(kernel: Kernel) -> Slices | None:
    """Return the slices of a kernel if each of them is a column, else None."""
    try:
        slices = slices_of(kernel, n_slices=1, random_state=0)  # sampled directions are not used
    except NoSlicesError:
        return None
    return slices if all(isinstance(part, Coordinates) for part in slices.ordered) else None


def _constants(slices: Slices, total: float) -> tuple[float, float]:
    """Return the constant of an expansion, and its contribution to the squared norm.

    The votes of all hypotheses of the slices account for half their measure of the kernel's
    constant.
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


def _slice_terms(slices: Slices, support: SupportVectors) -> Iterator[AdditiveTerm]:
    for part in slices.ordered:
        assert isinstance(part, Coordinates)
        is_middle = isinstance(part.simple, MiddleStump)
        density_of = _middle_stump_density if is_middle else _stump_density
        for k, column in enumerate(part.columns.tolist()):
            density = density_of(part, k, column, support)
            yield AdditiveTerm(column, density.shape(), density, density.squared_norm)
    for categories in slices.unordered:
        yield from _category_terms(categories, support)


def _stump_density(part: Coordinates, k: int, column: int, support: SupportVectors) -> StumpDensity:
    stumps, total = part.simple.hypotheses, support.total
    edges = support.edges(column, stumps.knots[k])
    position = part.position(k, support.scaled(column, edges))
    first = -part.factor * float(stumps._measure_below(k, np.zeros(1))[0])
    last = first + part.factor * float(stumps.feature_measure[k])
    density = support.above(column, edges[:-1]) - 0.5 * total
    return _density_with_ends(edges, position, density, (first, last), (0.5 * total, -0.5 * total))


def _density_with_ends(
    edges: FloatArray,
    position: FloatArray,
    density: FloatArray,
    ends: tuple[float, float],
    beyond: tuple[float, float],
) -> StumpDensity:
    """Return the density between edges, and beyond them where no row can be."""
    rest = np.array([position[0] - ends[0], ends[1] - position[-1]])
    rest[rest <= ROUNDING * (ends[1] - ends[0])] = 0.0
    return StumpDensity.from_intervals(
        np.concatenate([[-np.inf], edges[:-1], [np.inf]]),
        np.concatenate([[-np.inf], edges[1:], [np.inf]]),
        np.concatenate([rest[:1], np.diff(position), rest[1:]]),
        np.concatenate([beyond[:1], density, beyond[1:]]),
    )


def _middle_stump_density(
    part: Coordinates, k: int, column: int, support: SupportVectors
) -> StumpDensity:
    stumps = part.simple.hypotheses
    scaled = stumps.thresholds[k]
    thresholds = support.scales.restored(column, scaled)
    rank = np.searchsorted(scaled, support.scaled(column, support.rows[:, column]))
    below = np.cumsum(np.bincount(rank, support.beta, len(scaled) + 1))
    density = support.total - below[:-1] - 0.5 * support.total
    return StumpDensity.from_intervals(
        thresholds, thresholds, np.full(len(scaled), part.factor), density
    )


def _category_terms(part: Categories, support: SupportVectors) -> Iterator[AdditiveTerm]:
    codes = part.codes(support.known)
    known = part.simple.hypotheses.categories
    total = support.total
    for k, column in enumerate(part.columns.tolist()):
        sums = np.bincount(codes[:, k], support.beta, len(known[k]))
        heights = -part.factor * (total - sums)
        atoms = np.array(support.scales.restored(column, known[k].astype(np.float64)))
        atoms[codes[:, k]] = support.rows[:, column]  # without rounding errors
        size = 0.25 * part.factor * float(((2.0 * sums - total) ** 2).sum())
        labels = _category_names(support.categories[column], atoms)
        shape = Shape(atoms=atoms, heights=heights, other=-0.5 * part.factor * total, labels=labels)
        yield AdditiveTerm(column, shape, None, size)


def _category_names(labels: tuple[Any, ...] | None, atoms: FloatArray) -> tuple[Any, ...] | None:
    return None if labels is None else tuple(labels[round(code)] for code in atoms.tolist())


def _intersection_terms(
    kernel: HistogramIntersection, term: KernelTerm, support: SupportVectors
) -> Iterator[AdditiveTerm]:
    assert kernel.origin is not None
    for k, column in enumerate(term.columns.tolist()):
        origin = kernel.origin[[k]]
        edges = support.edges(column, origin)
        position = term.factor * np.maximum(support.scaled(column, edges) - origin, 0.0)
        density = support.above(column, edges[:-1])
        stumps = _density_with_ends(
            edges, position, density, (0.0, float(position[-1])), (support.total, 0.0)
        )
        yield AdditiveTerm(column, stumps.shape(), stumps, stumps.squared_norm)


def _linear_terms(term: KernelTerm, support: SupportVectors) -> Iterator[AdditiveTerm]:
    scaled = support.known
    for column in term.columns.tolist():
        w = term.factor * float(support.beta @ scaled[:, column])
        bends = support.scales.bends(column)
        knots = bends if len(bends) > 0 else np.array([0.0, 1.0])
        values = w * support.scaled(column, knots)
        slope = 0.0 if len(bends) > 0 else float(values[1] - values[0])
        shape = Shape(knots, values, values, slopes=(slope, slope))
        yield AdditiveTerm(column, shape, None, w * w / term.factor)


def _is_mixed_sum(term: KernelTerm) -> bool:
    """Return whether a term is the kernel of stumps on all columns of a mixed table."""
    simple = term.simple
    is_whole = len(term.columns) == simple.n_features and (np.diff(term.columns) == 1).all()
    return isinstance(simple, Mixed) and isinstance(simple.kernel, Stump) and bool(is_whole)


def _mixed_terms(term: KernelTerm, support: SupportVectors) -> Iterator[AdditiveTerm]:
    r"""Yield the functions of stumps on numbers and on indicators.

    With the sums :math:`S_j` of the coefficients of rows that have indicator j, and the measure
    :math:`w_j` of its thresholds, :math:`-\sum_j w_j S_j` is that of rows without indicators, and
    indicator j adds :math:`w_j (2 S_j - \sum_i \beta_i)`.
    """
    kernel, rows = term.simple, support.rows
    assert isinstance(kernel, Mixed)
    assert isinstance(kernel.kernel, Stump)
    assert kernel.bound is not None
    bound, stumps = kernel.bound, kernel.kernel.hypotheses
    numbers = np.flatnonzero(bound.is_number)
    expanded = kernel.expanded(support.known)
    sums, offset = support.beta @ (expanded > 0.0), len(numbers)
    ends = np.array([0.0, bound.height])
    measures = [np.diff(stumps._measure_below(j, ends))[0] for j in range(expanded.shape[1])]
    w, total = term.factor * np.array(measures), support.total
    absent = 0.0 - w * sums  # without the indicator
    gain = w * (2.0 * sums - total)
    sizes = 0.5 * w * (2.0 * sums - total) ** 2
    medians = {d: support.scales.restored(d, bound.medians[[d]])[0] for d in numbers.tolist()}
    filled = rows.copy()
    for d, median in medians.items():
        filled[np.isnan(rows[:, d]), d] = median
    gaps = np.flatnonzero(bound.is_gap).tolist()
    for found in _number_terms(kernel.kernel, numbers, term.factor, filled, support):
        d, shape, size = found.column, found.shape, found.size
        shift, jump = 0.0, 0.0
        if d in gaps:
            j = offset + gaps.index(d)
            shift, jump, size = float(absent[j]), float(gain[j]), size + float(sizes[j])
        shape = shape.shifted(shift)
        missing = float(shape(np.array([medians[d]]))[0]) + jump
        yield found._replace(shape=replace(shape, missing=missing), size=size)
    first = offset + len(gaps)
    for d, places in zip(np.flatnonzero(~bound.is_number).tolist(), bound.places, strict=True):
        block = slice(first, first + int(places.max(initial=-1)) + 1)
        first, other = block.stop, float(absent[block].sum())
        heights = other + np.where(places >= 0, np.append(gain[block], 0.0)[places], 0.0)
        labels = support.categories[d]
        shape = Shape(
            atoms=np.arange(float(len(places))),
            heights=heights,
            other=other,
            missing=other,
            labels=None if labels is None else labels[: len(places)],
        )
        yield AdditiveTerm(d, shape, None, float(sizes[block].sum()))


def _number_terms(
    stump: Stump, numbers: IntArray, factor: float, filled: FloatArray, support: SupportVectors
) -> Iterator[AdditiveTerm]:
    """Yield the functions of the columns of numbers, with medians in place of missing values."""
    if not len(numbers):
        return
    knots, measures = (
        each[: len(numbers)] for each in (stump.hypotheses.knots, stump.hypotheses.measures)
    )
    alone = replace(stump, embodied=StumpSet(knots, measures), n_features=len(numbers))
    columns = tuple(numbers.tolist())
    slices = _column_slices(factor * OnColumns(alone, columns, numbers, filled.shape[1]))
    assert slices is not None
    yield from _slice_terms(slices, support._replace(rows=filled))


def _interaction(term: KernelTerm, support: SupportVectors) -> Interaction:
    beta, known = support.beta[np.newaxis], support.known

    def values(rows: FloatArray) -> FloatArray:
        return values_at(rows, term.kernel, support.scaling, known, beta)[:, 0]

    def squared_norm() -> float:
        return float(support.beta @ values_at(known, term.kernel, UNSCALED, known, beta)[:, 0])

    columns, product = _product_form(term, support.scaling, known, support.beta)
    return Interaction(repr(term.kernel), columns, values, squared_norm, product)


def _product_form(
    term: KernelTerm, scaling: AnyScaling, known: Rows, beta: FloatArray
) -> tuple[IntArray, ProductForm | None]:
    """Return the columns of an expansion, and its factors if it is of a product kernel."""
    factor, simple = term.factor, term.simple
    places = column_of_coordinates(scaling, term.columns)
    if places is None:
        assert isinstance(scaling, LearnedScaling)
        return columns_of_directions(scaling), None
    columns = np.unique(places[places >= 0])
    if isinstance(simple, Mixed):
        places = places[_expanded_columns(simple)]
        simple = simple.kernel
    if isinstance(simple, DecisionTree):
        rate, power = simple.gamma, 1
        factor *= float(np.exp(2.0 * simple.gamma * simple.stump.delta))
    elif isinstance(simple, (Laplacian, Gaussian)):
        assert simple.rate is not None
        rate, power = simple.rate, 2 if isinstance(simple, Gaussian) else 1
    else:
        return columns, None
    if len(columns) == 0:
        return columns, None
    is_used = places >= 0
    group = np.searchsorted(columns, places[is_used])
    embed = partial(_embedded, term.kernel, is_used)
    product = ProductForm(
        lambda rows: embed(scaling.transform(rows)),
        embed(known),
        factor * beta,
        rate,
        power,
        group,
    )
    return columns, product


def _expanded_columns(mixed: Mixed) -> IntArray:
    """Return the column that each expanded column of a mixed table is from."""
    bound = mixed.bound
    assert bound is not None
    categories = np.flatnonzero(~bound.is_number)
    widths = [int(places.max(initial=-1)) + 1 for places in bound.places]
    return np.concatenate(
        [
            np.flatnonzero(bound.is_number),
            np.flatnonzero(bound.is_gap),
            np.repeat(categories, np.array(widths, dtype=np.intp)),
        ]
    )


def _embedded(kernel: Kernel, is_used: BoolArray, scaled: Rows) -> FloatArray:
    found = kernel._embed(scaled, "X")
    return np.ascontiguousarray(np.asarray(found)[:, is_used], dtype=np.float64)

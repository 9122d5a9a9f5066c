"""What a machine makes of one feature, in few enough points to be drawn."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.inspection import Explanation, Shape, StumpDensity
from kernsemble.report.data_summary import category_name

MAX_KNOTS = 120
MAX_CATEGORIES = 30
N_BINS = 30


@dataclass(frozen=True, eq=False)
class FeaturePlot:
    """A feature of a machine.

    Attributes
    ----------
    name : str
        The feature.
    categories : list of str or None
        The categories that are drawn, the most frequent first; None for numbers.
    x, shape : lists of float
        Points of the shape function: values of the feature, or places of `categories`, and what
        the machine adds there. A jump is two points with equal x. Empty if the machine has no
        function of this feature alone.
    missing : float or None
        What the machine adds where the number is missing, if it is anywhere.
    densities : list of pairs of lists
        Steps (x, density of stumps), one for each kernel of stumps.
    thresholds : list of pairs of lists
        Single thresholds and the weights of their stumps.
    points_x, points_y : lists of float
        Values of drawn rows and contributions to them, of machines with interactions.
    edges, counts : lists
        A histogram of the data; for categories only the counts.
    """

    name: str
    categories: list[str] | None
    x: list[float]
    shape: list[float]
    missing: float | None
    densities: list[tuple[list[float], list[float]]] = field(default_factory=list)
    thresholds: list[tuple[list[float], list[float]]] = field(default_factory=list)
    points_x: list[float] = field(default_factory=list)
    points_y: list[float] = field(default_factory=list)
    edges: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)


def feature_plot(
    name: str,
    shape: Shape,
    densities: list[StumpDensity],
    values: FloatArray,
    known: tuple[Any, ...] | None,
    points: tuple[FloatArray, FloatArray] | None,
) -> FeaturePlot:
    """Return what there is to draw of a feature.

    `values` are those of the data, `known` its categories, `points` values and contributions of
    rows that interactions were told of, if there are any.
    """
    is_drawn = points is None or len(shape.knots) > 0 or len(shape.atoms) > 0
    if known is not None:
        return _of_categories(name, shape, values, known, points, is_drawn)
    present = values[np.isfinite(values)]
    x, heights = shape_points(shape, present) if is_drawn else ([], [])
    has_missing = is_drawn and len(present) < len(values) and np.isfinite(shape.missing)
    edges, counts = histogram(present)
    at, contributions = ([], []) if points is None else _finite(*points)
    return FeaturePlot(
        name,
        None,
        x,
        heights,
        float(shape.missing) if has_missing else None,
        [density_steps(each) for each in densities if (each.upper > each.lower).any()],
        [_heaviest(each) for each in densities if (each.upper == each.lower).any()],
        at,
        contributions,
        edges,
        counts,
    )


def histogram(present: FloatArray) -> tuple[list[float], list[int]]:
    """Return edges and counts: a bin for each of few values, or bins of equal width."""
    values = np.unique(present)
    if len(values) == 0:
        return [], []
    bins: Any = N_BINS
    if 1 < len(values) <= N_BINS:
        middles = 0.5 * values[1:] + 0.5 * values[:-1]
        ends = 2.0 * values[[0, -1]] - middles[[0, -1]]
        bins = np.concatenate([ends[:1], middles, ends[1:]])
    counts, edges = np.histogram(present, bins=bins)
    return edges.tolist(), counts.tolist()


def shape_points(shape: Shape, present: FloatArray) -> tuple[list[float], list[float]]:
    """Return points of a shape function across the data, at most some of its knots."""
    bends = np.union1d(shape.knots, shape.atoms)
    low, high = (present.min(), present.max()) if len(present) else (0.0, 1.0)
    bends = _thinned(bends[(bends > low) & (bends < high)])
    x = np.union1d(bends, [low, high])
    left, right = shape(x), shape(np.nextafter(x, np.inf))
    is_jump = np.abs(right - left) > 1e-9 * max(float(np.abs(left).max()), 1e-300)
    is_jump[-1] = False
    repeats = 1 + is_jump
    heights = np.repeat(left, repeats)
    heights[np.cumsum(repeats)[is_jump] - 1] = right[is_jump]
    return np.repeat(x, repeats).tolist(), heights.tolist()


def density_steps(density: StumpDensity) -> tuple[list[float], list[float]]:
    """Return a density as points of steps; neighbouring intervals are averaged if they are many.

    The weight between the ends of a step stays what it is.
    """
    wide = (density.upper > density.lower) & np.isfinite(density.lower) & np.isfinite(density.upper)
    lower, upper = density.lower[wide], density.upper[wide]
    measure, weight = density.measure[wide], density.weight[wide]
    if len(lower) == 0:
        return [], []
    starts = np.unique(np.linspace(0, len(lower), min(len(lower), MAX_KNOTS) + 1).astype(int))
    first, last = starts[:-1], starts[1:] - 1
    height = np.add.reduceat(weight, first) / np.add.reduceat(measure, first)
    x = np.column_stack([lower[first], upper[last]]).ravel()
    return x.tolist(), np.repeat(height, 2).tolist()


def _heaviest(density: StumpDensity) -> tuple[list[float], list[float]]:
    """Return the single thresholds with the largest weights, in order."""
    single = np.flatnonzero((density.upper == density.lower) & np.isfinite(density.lower))
    order = np.argsort(-np.abs(density.weight[single]), kind="stable")
    kept = np.sort(single[order[:MAX_KNOTS]])
    return density.lower[kept].tolist(), density.weight[kept].tolist()


def _of_categories(
    name: str,
    shape: Shape,
    values: FloatArray,
    known: tuple[Any, ...],
    points: tuple[FloatArray, FloatArray] | None,
    is_drawn: bool,
) -> FeaturePlot:
    counts = np.array([(values == place).sum() for place in range(len(known))])
    drawn = np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]
    at, contributions = ([], []) if points is None else _finite(*points)
    rank = {float(place): k for k, place in enumerate(drawn)}
    pairs = [(float(rank[v]), phi) for v, phi in zip(at, contributions, strict=True) if v in rank]
    return FeaturePlot(
        name,
        [category_name(known, place) for place in drawn],
        list(map(float, range(len(drawn)))) if is_drawn else [],
        shape(drawn.astype(np.float64)).tolist() if is_drawn else [],
        None,
        points_x=[x for x, _ in pairs],
        points_y=[phi for _, phi in pairs],
        counts=counts[drawn].tolist(),
    )


def points_of(explanation: Explanation, d: int) -> tuple[FloatArray, FloatArray]:
    """Return the values of a feature at explained rows, and what it contributes to them."""
    return explanation.rows[:, d], explanation.contributions[:, d]


def _finite(x: FloatArray, y: FloatArray) -> tuple[list[float], list[float]]:
    kept = np.isfinite(x)
    return x[kept].tolist(), y[kept].tolist()


def _thinned(x: FloatArray) -> FloatArray:
    if len(x) <= MAX_KNOTS:
        return x
    return x[np.unique(np.linspace(0, len(x) - 1, MAX_KNOTS).astype(int))]

"""Data of the plots of one feature: shape function, stump density, contributions, histogram."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.inspection import Explanation, Shape, StumpDensity
from kernsemble.report.data_summary import category_name
from kernsemble.report.readable_axis import LINEAR, ReadableAxis, readable_axis

StandardError = Callable[[FloatArray], FloatArray]

MAX_KNOTS = 120  # maximum number of points of a shape function or steps of a density
MAX_CATEGORIES = 30  # maximum number of categories plotted
N_BINS = 30  # maximum number of histogram bins


@dataclass(frozen=True, eq=False)
class FeaturePlot:
    """The plots of one feature of a machine.

    Attributes
    ----------
    name : str
        Name of the feature.
    categories : list of str or None
        Categories plotted, the most frequent first; None for numbers.
    x, shape : lists of float
        Points of the shape function: values of the feature, or indices into `categories`, and the
        contribution there. A jump is two points with equal x. Empty if no term of the machine
        depends on this feature alone.
    missing : float or None
        Contribution of a missing number, if the data have any.
    n_missing : int
        Number of missing numbers in the data.
    errors : list of float
        Standard error of the shape function at each point; empty without.
    missing_error : float or None
        Standard error of the contribution of a missing number.
    axis : ReadableAxis
        Axis on which numbers are plotted.
    densities : list of pairs of lists
        Steps (x, stump density), one pair per stump kernel.
    thresholds : list of pairs of lists
        Single thresholds and the weights of their stumps.
    points_x, points_y : lists of float
        Values and contributions of explained rows, for machines with interactions.
    edges, counts : lists
        Histogram of the data; for categories only the counts.
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
    n_missing: int = 0
    errors: list[float] = field(default_factory=list)
    missing_error: float | None = None
    axis: ReadableAxis = LINEAR


def feature_plot(
    name: str,
    shape: Shape,
    densities: list[StumpDensity],
    values: FloatArray,
    known: tuple[Any, ...] | None,
    points: tuple[FloatArray, FloatArray] | None,
    error: StandardError | None = None,
    is_date: bool = False,
) -> FeaturePlot:
    """Return the plots of a feature.

    `values` are the data, `known` the categories of the column, `points` the values and
    contributions of explained rows, for machines with interactions, and `error` the standard
    error of the shape function.
    """
    is_drawn = points is None or len(shape.knots) > 0 or len(shape.atoms) > 0
    if known is not None:
        return _categorical_plot(name, shape, values, known, points, is_drawn, error)
    present = values[np.isfinite(values)]
    axis = readable_axis(present, is_date)
    x, heights = shape_points(shape, present, axis) if is_drawn else ([], [])
    has_missing = is_drawn and len(present) < len(values) and np.isfinite(shape.missing)
    edges, counts = histogram(present, axis)
    errors = [] if error is None or not x else error(np.array(x)).tolist()
    missing_error = float(error(np.array([np.nan]))[0]) if has_missing and error else None
    x_points, contributions = ([], []) if points is None else _finite(*points)
    return FeaturePlot(
        name,
        None,
        x,
        heights,
        float(shape.missing) if has_missing else None,
        [density_steps(each) for each in densities if (each.upper > each.lower).any()],
        [_heaviest(each) for each in densities if (each.upper == each.lower).any()],
        x_points,
        contributions,
        edges,
        counts,
        len(values) - len(present),
        errors,
        missing_error,
        axis,
    )


def histogram(
    present: FloatArray, axis: ReadableAxis = LINEAR, n_bins: int = N_BINS
) -> tuple[list[float], list[int]]:
    """Return edges and counts: one bin per value if there are few, else bins of equal width.

    On other than linear axes the edges are equally spaced there.
    """
    values = np.unique(present)
    if len(values) == 0:
        return [], []
    bins: Any = n_bins
    if axis.kind == "log":
        bins = np.geomspace(values[0], values[-1], n_bins + 1)
        bins[0], bins[-1] = values[0], values[-1]
    elif axis.kind == "quantile":
        bins = np.unique(np.quantile(axis.values, np.linspace(0.0, 1.0, n_bins + 1)))
    elif 1 < len(values) <= n_bins:
        middles = 0.5 * values[1:] + 0.5 * values[:-1]
        ends = 2.0 * values[[0, -1]] - middles[[0, -1]]
        bins = np.concatenate([ends[:1], middles, ends[1:]])
    counts, edges = np.histogram(present, bins=bins)
    return edges.tolist(), counts.tolist()


def shape_points(
    shape: Shape, present: FloatArray, axis: ReadableAxis = LINEAR
) -> tuple[list[float], list[float]]:
    """Return points of a shape function over the range of the data, at most `MAX_KNOTS` knots.

    On other than linear axes there are points in between, since straight lines are bent there.
    """
    bends = np.union1d(shape.knots, shape.atoms)
    low, high = (present.min(), present.max()) if len(present) else (0.0, 1.0)
    bends = _thinned(bends[(bends > low) & (bends < high)])
    x = np.union1d(bends, [low, high])
    if axis.kind in ("log", "quantile"):
        x = np.union1d(x, np.quantile(present, np.linspace(0.0, 1.0, MAX_KNOTS)))
    left, right = shape(x), shape(np.nextafter(x, np.inf))
    is_jump = np.abs(right - left) > 1e-9 * max(float(np.abs(left).max()), 1e-300)
    is_jump[-1] = False
    repeats = 1 + is_jump
    heights = np.repeat(left, repeats)
    heights[np.cumsum(repeats)[is_jump] - 1] = right[is_jump]
    return np.repeat(x, repeats).tolist(), heights.tolist()


def density_steps(density: StumpDensity) -> tuple[list[float], list[float]]:
    """Return the points of a density as a step function, at most `MAX_KNOTS` steps.

    Neighbouring intervals are merged so that the weight of each step is preserved.
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
    """Return the thresholds with the largest weights, in increasing order."""
    single = np.flatnonzero((density.upper == density.lower) & np.isfinite(density.lower))
    order = np.argsort(-np.abs(density.weight[single]), kind="stable")
    kept = np.sort(single[order[:MAX_KNOTS]])
    return density.lower[kept].tolist(), density.weight[kept].tolist()


def _categorical_plot(
    name: str,
    shape: Shape,
    values: FloatArray,
    known: tuple[Any, ...],
    points: tuple[FloatArray, FloatArray] | None,
    is_drawn: bool,
    error: StandardError | None,
) -> FeaturePlot:
    counts = np.array([(values == code).sum() for code in range(len(known))])
    drawn = np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]
    x_points, contributions = ([], []) if points is None else _finite(*points)
    rank = {float(code): k for k, code in enumerate(drawn)}
    pairs = [
        (float(rank[v]), phi) for v, phi in zip(x_points, contributions, strict=True) if v in rank
    ]
    return FeaturePlot(
        name,
        [category_name(known, code) for code in drawn],
        list(map(float, range(len(drawn)))) if is_drawn else [],
        shape(drawn.astype(np.float64)).tolist() if is_drawn else [],
        None,
        points_x=[x for x, _ in pairs],
        points_y=[phi for _, phi in pairs],
        counts=counts[drawn].tolist(),
        errors=[] if error is None else error(drawn.astype(np.float64)).tolist(),
    )


def points_of(explanation: Explanation, d: int) -> tuple[FloatArray, FloatArray]:
    """Return the values of a feature in explained rows, and its contributions to them."""
    return explanation.rows[:, d], explanation.contributions[:, d]


def _finite(x: FloatArray, y: FloatArray) -> tuple[list[float], list[float]]:
    kept = np.isfinite(x)
    return x[kept].tolist(), y[kept].tolist()


def _thinned(x: FloatArray) -> FloatArray:
    if len(x) <= MAX_KNOTS:
        return x
    return x[np.unique(np.linspace(0, len(x) - 1, MAX_KNOTS).astype(int))]

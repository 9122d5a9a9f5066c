r"""Kernel matrices :math:`K(x, x_j)` between new and known rows as ONNX operators.

Distances are sums over a tensor of all differences, so they are as exact as those of the library,
and are computed a few rows at a time. Only Gaussians use inner products.
"""

from collections.abc import Iterator
from functools import reduce, singledispatch
from operator import add, mul
from typing import Any

import numpy as np

from kernsemble._typing import BoolArray, FloatArray
from kernsemble.export.onnx.graph import Tensor, joined
from kernsemble.export.onnx.scalings import positions
from kernsemble.export.refusals import NotExportableError
from kernsemble.kernels import (
    Category,
    Constant,
    DecisionTree,
    Exponential,
    Gaussian,
    HistogramIntersection,
    Kernel,
    Laplacian,
    Linear,
    MiddleStump,
    Mixed,
    Perceptron,
    Polynomial,
    Stump,
    StumpRegion,
)
from kernsemble.kernels.algebra import And, Logic, OnColumns, Product, Scaled, Sum
from kernsemble.kernels.ensemble import DistanceEnsemble, Simplified
from kernsemble.kernels.learned import Boosted
from kernsemble.kernels.mixed import Expansion
from kernsemble.kernels.radial import Radial


@singledispatch
def kernel_matrix(kernel: Kernel, rows: Tensor, known: FloatArray) -> Tensor:  # noqa: ARG001
    """Return the matrix between rows and known rows."""
    raise NotExportableError(
        f"kernel = {kernel!r} has no ONNX operators: use a kernel of this library"
    )


@singledispatch
def disagreement(kernel: DistanceEnsemble[Any], rows: Tensor, known: FloatArray) -> Tensor:  # noqa: ARG001
    """Return the distances of a kernel that is a constant minus a distance."""
    raise NotExportableError(f"kernel = {kernel!r} has no ONNX operators")


# -- distances


def l1_distances(rows: Tensor, known: FloatArray) -> Tensor:
    """Return the sums of absolute differences."""
    return _differences(rows, known).to("Abs").sum(2)


def squared_l2_distances(rows: Tensor, known: FloatArray) -> Tensor:
    """Return the sums of squared differences."""
    differences = _differences(rows, known)
    return (differences * differences).sum(2)


def l2_distances(rows: Tensor, known: FloatArray) -> Tensor:
    """Return the Euclidean distances."""
    return squared_l2_distances(rows, known).to("Sqrt")


def _differences(rows: Tensor, known: FloatArray) -> Tensor:
    return rows.wider(1) - known[np.newaxis].astype(np.float64)


@disagreement.register(Stump)
@disagreement.register(MiddleStump)
def _stump_disagreement(kernel: Stump | MiddleStump, rows: Tensor, known: FloatArray) -> Tensor:
    return l1_distances(positions(kernel.hypotheses, rows), kernel._embed(known, "X"))


@disagreement.register
def _perceptron_disagreement(kernel: Perceptron, rows: Tensor, known: FloatArray) -> Tensor:  # noqa: ARG001
    return l2_distances(rows, known)


@disagreement.register
def _category_disagreement(kernel: Category, rows: Tensor, known: FloatArray) -> Tensor:
    """Return half the numbers of indicators in which rows differ."""
    categories = kernel.hypotheses.categories
    column = np.repeat(np.arange(len(categories)), [len(each) for each in categories])
    values = np.concatenate(categories).astype(np.float64)
    members = rows.at(column, axis=1).to("Equal", values).as_double()
    return _n_different(members, known[:, column] == values) * 0.5


# -- kernels of one formula


@kernel_matrix.register(Stump)
@kernel_matrix.register(MiddleStump)
@kernel_matrix.register(Perceptron)
@kernel_matrix.register(Category)
def _of_disagreement(kernel: DistanceEnsemble[Any], rows: Tensor, known: FloatArray) -> Tensor:
    return disagreement(kernel, rows, known).subtracted_from(kernel.delta)


@kernel_matrix.register
def _simplified(kernel: Simplified, rows: Tensor, known: FloatArray) -> Tensor:
    return -disagreement(kernel.kernel, rows, known)


@kernel_matrix.register(Laplacian)
@kernel_matrix.register(Exponential)
@kernel_matrix.register(Gaussian)
def _radial(kernel: Radial, rows: Tensor, known: FloatArray) -> Tensor:
    return _decaying(kernel, _sums(kernel, rows, known))


def _sums(kernel: Radial, rows: Tensor, known: FloatArray) -> Tensor:
    """Return the sums of absolute or squared differences that a radial kernel needs.

    Those of Gaussians are expanded, which is quicker: their rounding error stays relative to the
    norms of rows, while a square root would magnify it where rows are equal.
    """
    if isinstance(kernel, Laplacian):
        return l1_distances(rows, known)
    if isinstance(kernel, Exponential):
        return squared_l2_distances(rows, known)
    centre = known.mean(axis=0, dtype=np.float64)
    mine, theirs = rows - centre, known - centre
    squares = (mine * mine).sum(1, keep=True) + np.square(theirs).sum(axis=1)
    return (squares - mine @ (2.0 * theirs.T)).to("Max", 0.0)


def _decaying(kernel: Radial, sums: Tensor) -> Tensor:
    """Return a radial kernel from the sums of absolute or squared differences."""
    assert kernel.rate is not None  # of a bound kernel
    distances = sums.to("Sqrt") if isinstance(kernel, Exponential) else sums
    return (distances * -kernel.rate).to("Exp")


@kernel_matrix.register
def _constant(kernel: Constant, rows: Tensor, known: FloatArray) -> Tensor:
    return rows.sum(1, keep=True) * 0.0 + np.full(len(known), kernel.value)


@kernel_matrix.register
def _linear(kernel: Linear, rows: Tensor, known: FloatArray) -> Tensor:  # noqa: ARG001
    return rows @ known.T.astype(np.float64)


@kernel_matrix.register
def _polynomial(kernel: Polynomial, rows: Tensor, known: FloatArray) -> Tensor:
    products = rows @ known.T.astype(np.float64) + float(kernel.offset)
    return products.to("Pow", float(kernel.degree))


@kernel_matrix.register
def _intersection(kernel: HistogramIntersection, rows: Tensor, known: FloatArray) -> Tensor:
    theirs, sums = kernel._embed(known, "X")
    mine = (rows - kernel.origin).to("Max", 0.0)
    return mine.sum(1, keep=True) + sums - l1_distances(mine, theirs)


@kernel_matrix.register
def _stump_region(kernel: StumpRegion, rows: Tensor, known: FloatArray) -> Tensor:
    agreement = _agreement(kernel, rows, known)
    found = agreement
    for level in range(1, kernel.level):
        found = (found + kernel._double_delta ** float(level)) * agreement
    return found


@kernel_matrix.register
def _decision_tree(kernel: DecisionTree, rows: Tensor, known: FloatArray) -> Tensor:
    return (_agreement(kernel, rows, known) * kernel.gamma).to("Exp") - 1.0


def _agreement(kernel: StumpRegion | DecisionTree, rows: Tensor, known: FloatArray) -> Tensor:
    return kernel_matrix(kernel.stump, rows, known) + kernel.stump.delta


@kernel_matrix.register
def _boosted(kernel: Boosted, rows: Tensor, known: FloatArray) -> Tensor:
    features = kernel_matrix(kernel.kernel, rows, kernel.templates) @ kernel.coefficients.T
    return features @ kernel.features(known).T


# -- kernels made of kernels


@kernel_matrix.register
def _sum(kernel: Sum, rows: Tensor, known: FloatArray) -> Tensor:
    return reduce(add, (kernel_matrix(part, rows, known) for part in kernel.parts))


@kernel_matrix.register
def _product(kernel: Product, rows: Tensor, known: FloatArray) -> Tensor:
    return reduce(mul, (kernel_matrix(part, rows, known) for part in kernel.parts))


@kernel_matrix.register
def _and(kernel: And, rows: Tensor, known: FloatArray) -> Tensor:
    return reduce(
        mul, (kernel_matrix(part, rows, known) + float(part.delta) for part in kernel.parts)
    )


@kernel_matrix.register
def _scaled(kernel: Scaled, rows: Tensor, known: FloatArray) -> Tensor:
    return kernel_matrix(kernel.kernel, rows, known) * kernel.factor


@kernel_matrix.register
def _logic(kernel: Logic, rows: Tensor, known: FloatArray) -> Tensor:
    return (kernel_matrix(kernel.kernel, rows, known) + float(kernel.kernel.delta)) * 0.25


@kernel_matrix.register
def _on_columns(kernel: OnColumns, rows: Tensor, known: FloatArray) -> Tensor:
    places = np.asarray(kernel.positions, dtype=np.int64)
    return kernel_matrix(kernel.kernel, rows.at(places, axis=1), known[:, places])


@kernel_matrix.register
def _mixed(kernel: Mixed, rows: Tensor, known: FloatArray) -> Tensor:
    bound, inner = kernel.bound, kernel.kernel
    assert bound is not None
    expanded = kernel.expanded(known)
    blocks = [*_numbers(bound, rows), *_indicators(bound, rows)]
    n_numbers = int(bound.is_number.sum())
    if not isinstance(inner, Radial) or n_numbers == expanded.shape[1]:
        heights = [each * bound.height for each in blocks[n_numbers > 0 :]]
        return kernel_matrix(inner, joined([*blocks[: n_numbers > 0], *heights], 1), expanded)
    height = bound.height if isinstance(inner, Laplacian) else bound.height**2
    members = joined(blocks[n_numbers > 0 :], 1)
    sums = _n_different(members, expanded[:, n_numbers:] > 0.0) * height
    if n_numbers:
        sums = sums + _sums(inner, blocks[0], expanded[:, :n_numbers])
    return _decaying(inner, sums)


def _n_different(members: Tensor, known: BoolArray) -> Tensor:
    """Return the numbers of indicators, 0 or 1, in which rows differ: exact, as they are whole."""
    theirs = known.astype(np.float64)
    return members.sum(1, keep=True) + theirs.sum(axis=1) - (members @ theirs.T) * 2.0


def _numbers(bound: Expansion, rows: Tensor) -> Iterator[Tensor]:
    """Yield the columns of numbers, with medians in place of missing ones."""
    if bound.is_number.any():
        numbers = rows.at(np.flatnonzero(bound.is_number), axis=1)
        yield numbers.to("IsNaN").where(bound.medians[bound.is_number], numbers)


def _indicators(bound: Expansion, rows: Tensor) -> Iterator[Tensor]:
    """Yield the indicators, 0 or 1, of missing numbers, and those of categories."""
    if bound.is_gap.any():
        yield rows.at(np.flatnonzero(bound.is_gap), axis=1).to("IsNaN").where(1.0, 0.0)
    for d, places in zip(np.flatnonzero(~bound.is_number), bound.places, strict=True):
        n_own = int(places.max(initial=-1)) + 1
        if n_own:
            members = (places[:, np.newaxis] == np.arange(n_own)).astype(np.float64)
            codes = rows.at(np.array([d]), axis=1)
            yield codes.to("Equal", np.arange(float(len(places)))).as_double() @ members

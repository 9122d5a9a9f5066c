"""How rows are compared: a scaling and a kernel bound to them, and the matrix between them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from kernsemble._typing import BoolArray, FloatArray, Rows
from kernsemble.kernels import Boosted, Kernel
from kernsemble.kernels.columns import leaves
from kernsemble.kernels.radial import Radial
from kernsemble.preprocessing import FeatureScaling, ScalingKind
from kernsemble.solvers.matrix import Matrix, as_matrix
from kernsemble.svm.memory import Budget


@dataclass(frozen=True, eq=False)
class Comparison:
    """A scaling, a kernel bound to scaled rows, and the matrix between these."""

    scaling: FeatureScaling
    kernel: Kernel
    K: FloatArray | Matrix

    def inverse_mean_distance(self, counts: FloatArray) -> float:
        """Return 1 over the mean of (K_ii + K_jj)/2 − K_ij, rows counted by weight."""
        matrix, share = as_matrix(self.K), counts / counts.sum()
        values = matrix.times(np.arange(len(share)), share)
        distance = float(share @ (matrix.diagonal - values))
        return 1.0 / distance if distance > 0.0 else 1.0


def compare(
    X: Rows,
    counts: FloatArray,
    kernel: Kernel,
    scaling: ScalingKind | None,
    budget: Budget,
    is_category: BoolArray | None = None,
) -> Comparison:
    """Bind a scaling and a kernel to rows that count so often, and compare the rows."""
    ((_, comparison),) = compare_all(X, counts, [kernel], [scaling], budget, is_category)
    return comparison


def compare_all(
    X: Rows,
    counts: FloatArray,
    kernels: Sequence[Kernel],
    scalings: Sequence[ScalingKind | None],
    budget: Budget,
    is_category: BoolArray | None = None,
) -> Iterator[tuple[tuple[int, int], Comparison]]:
    """Yield every kernel with every scaling, behind their places in the lists.

    Kernels of one distance come one after another and share its matrix, so the order is not
    that of the lists. A matrix holds until the next is asked for, which may overwrite it.
    Columns of categories are not scaled, nor are rows for a kernel that was learned from others.
    """
    ordered = sorted(enumerate(kernels), key=_family)
    families = [list(group) for _, group in groupby(ordered, _family)]
    for column, kind in enumerate(scalings):
        common = FeatureScaling.from_rows(X, kind, counts)
        if is_category is not None:
            common = common.sparing(is_category)
        scaled = common.transform(X)
        for family in families:
            is_unscaled = is_learned(family[0][1])
            scaling, rows = (FeatureScaling(None), X) if is_unscaled else (common, scaled)
            bound = [(place, kernel.bind(rows, counts)) for place, kernel in family]
            for place, kernel, K in _matrices(bound, rows, budget):
                yield (place, column), Comparison(scaling, kernel, K)


def is_learned(kernel: Kernel) -> bool:
    """Tell whether a part of a kernel was learned, so that rows must be as those it was from."""
    return any(isinstance(leaf.kernel, Boosted) for leaf in leaves(kernel))


def _family(numbered: tuple[int, Kernel]) -> str:
    """Return what kernels of one distance, or those that were learned, have in common."""
    _, kernel = numbered
    kind = type(kernel)
    if is_learned(kernel):
        return "learned"
    return f"{kind.__module__}.{kind.__qualname__}" if isinstance(kernel, Radial) else ""


def _matrices(
    family: list[tuple[int, Kernel]], rows: Rows, budget: Budget
) -> Iterator[tuple[int, Kernel, FloatArray | Matrix]]:
    """Yield the matrices of kernels, from their distances if these are the same and fit in."""
    D, K = None, None
    for place, kernel in family:
        if isinstance(kernel, Radial) and len(family) > 1 and budget.holds(rows, n_matrices=2):
            D = kernel.distances(rows) if D is None else D
            K = kernel.from_distances(D, K)
            yield place, kernel, K
        else:
            yield place, kernel, budget.matrix(kernel, rows)

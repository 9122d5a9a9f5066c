"""Growing a tree, before any pruning."""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray
from kernsemble.learners.c45.rows import SortedRows
from kernsemble.learners.c45.splitting import grow_nodes
from kernsemble.learners.c45.tree import LEAF, Tree

DEEPEST = np.iinfo(np.int64).max
EPSILON = 1e-3  # of C4.5: errors by which branches must be better than a leaf


def grow(
    rows: SortedRows,
    codes: IntArray,
    weight: FloatArray,
    n_classes: int,
    min_cases: float = 2.0,
    max_depth: int | None = None,
    threshold_penalty: bool = True,
) -> Tree:
    """Grow a tree on weighted cases, before any pruning.

    It costs O(D n) for each level of the tree. A test whose branches make no fewer errors on
    these cases than a leaf would is taken back.

    Parameters
    ----------
    rows : SortedRows
        The rows.
    codes : array of shape (n,)
        Their classes, from 0 to `n_classes` − 1.
    weight : array of shape (n,)
        How many cases each row is; zero is absence. At least one must count.
    n_classes : int
        The number of classes; those without cases do not matter.
    min_cases, max_depth, threshold_penalty
        As of `C45Tree`.

    Returns
    -------
    Tree
    """
    feature, threshold, left, right, distribution = grow_nodes(
        rows.columns,
        rows.order,
        np.array(codes, dtype=np.int32),
        np.array(weight, dtype=np.float64),
        n_classes,
        float(min_cases),
        DEEPEST if max_depth is None else max_depth,
        threshold_penalty,
    )
    _collapse(feature, left, right, distribution)
    return Tree.of_reachable(feature, threshold, left, right, distribution)


@jit
def _collapse(feature: IntArray, left: IntArray, right: IntArray, total: FloatArray) -> None:
    """Make leaves of nodes whose branches make no fewer errors."""
    errors = np.empty(len(feature))
    for node in range(len(feature) - 1, -1, -1):
        errors[node] = total[node].sum() - total[node].max()
        if feature[node] >= 0:
            of_branches = errors[left[node]] + errors[right[node]]
            if of_branches >= errors[node] - EPSILON:
                feature[node] = LEAF
            else:
                errors[node] = of_branches

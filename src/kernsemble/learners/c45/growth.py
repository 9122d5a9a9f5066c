"""Growing an unpruned tree."""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray
from kernsemble.learners.c45.sorted_rows import SortedRows
from kernsemble.learners.c45.splitting import grow_nodes
from kernsemble.learners.c45.tree import LEAF, Tree

DEEPEST = np.iinfo(np.int64).max
EPSILON = 1e-3  # C4.5's minimum reduction of the training errors by a split


def grow(
    rows: SortedRows,
    codes: IntArray,
    weight: FloatArray,
    n_classes: int,
    min_cases: float = 2.0,
    max_depth: int | None = None,
    threshold_penalty: bool = True,
) -> Tree:
    """Grow a tree on weighted cases, without pruning.

    The cost is O(D n) per level of the tree. Splits whose branches make no fewer training errors
    than a leaf are undone.

    Parameters
    ----------
    rows : SortedRows
        The rows.
    codes : array of shape (n,)
        Their classes, from 0 to `n_classes` − 1.
    weight : array of shape (n,)
        Number of cases of each row; rows of weight zero are ignored, at least one must be positive.
    n_classes : int
        Number of classes; there may be classes without cases.
    min_cases, max_depth, threshold_penalty
        As for `C45Tree`.

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
    return Tree.from_nodes(feature, threshold, left, right, distribution)


@jit
def _collapse(feature: IntArray, left: IntArray, right: IntArray, total: FloatArray) -> None:
    """Turn nodes into leaves if their branches make no fewer errors."""
    errors = np.empty(len(feature))
    for node in range(len(feature) - 1, -1, -1):
        errors[node] = total[node].sum() - total[node].max()
        if feature[node] >= 0:
            of_branches = errors[left[node]] + errors[right[node]]
            if of_branches >= errors[node] - EPSILON:
                feature[node] = LEAF
            else:
                errors[node] = of_branches

r"""Pruning by a pessimistic estimate of the errors.

For a leaf with training cases of weight N, E of which are of other classes, the expected errors are
:math:`N\,U_c(E, N)`, where the upper confidence limit :math:`U_c` is the error rate p at which E or
fewer errors have probability c. C4.5 computes it exactly for E = 0, and otherwise with
a normal approximation and a correction for continuity:

.. math:: U_c(0, N) = 1 - c^{1/N}, \qquad
          U_c(E, N) = \frac{E' + z^2/2 + z\sqrt{E'(1 - E'/N) + z^2/4}}{N + z^2},
          \quad E' = E + \tfrac12
"""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import Array, FloatArray, IntArray
from kernsemble.learners.c45.sorted_rows import SortedRows
from kernsemble.learners.c45.tree import LEAF, Tree

# C4.5's table of the normal deviate z exceeded with probability c.
CONFIDENCES = (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.00)
DEVIATES = (4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.00)
TOLERATED = 0.1  # expected errors by which the simpler tree may be worse
ROUNDING = 1e-10  # relative difference of equal numbers due to rounding


def expected_errors(n_cases: float, errors: float, confidence: float = 0.25) -> float:
    r"""Return :math:`N\,U_c(E, N)`, the expected errors of a leaf on N new cases.

    For `errors` between 0 and 1 the estimate is linear; if at most half a case is classified
    correctly, two thirds of it are added to the errors.
    """
    return _expected_errors(float(n_cases), float(errors), confidence, _squared_deviate(confidence))


def prune(
    tree: Tree,
    rows: SortedRows,
    codes: IntArray,
    weight: FloatArray,
    confidence: float = 0.25,
    subtree_raising: bool = True,
) -> Tree:
    """Return the tree without branches that do not reduce the expected errors.

    From the leaves upwards, a node becomes a leaf if that has no more expected errors; otherwise,
    with `subtree_raising`, it becomes its larger branch if that has no more, with all the cases of
    the node sent down it. Raised branches are pruned again. The cost is O(n) for each pair of a
    level and a level below it.

    Parameters
    ----------
    tree : Tree
        A tree grown on these rows.
    rows, codes, weight
        As for `grow`.
    confidence, subtree_raising
        As for `C45Tree`.

    Returns
    -------
    Tree
    """
    feature, threshold = np.array(tree.feature), np.array(tree.threshold)
    left, right, distribution = (
        np.array(tree.left),
        np.array(tree.right),
        np.array(tree.distribution),
    )
    _prune(
        rows.columns,
        np.array(codes, dtype=np.int32),
        np.array(weight, dtype=np.float64),
        feature,
        threshold,
        left,
        right,
        distribution,
        float(confidence),
        _squared_deviate(confidence),
        subtree_raising,
    )
    return Tree.from_nodes(feature, threshold, left, right, distribution)


def _squared_deviate(confidence: float) -> float:
    return float(np.interp(confidence, CONFIDENCES, DEVIATES)) ** 2


@jit
def _expected_errors(
    n_cases: float, errors: float, confidence: float, squared_deviate: float
) -> float:
    if errors >= 0.9999:
        return _with_errors(n_cases, errors, squared_deviate)
    none = n_cases * (1.0 - confidence ** (1.0 / n_cases))
    if errors < 1e-6:
        return errors + none
    one = _with_errors(n_cases, 1.0, squared_deviate) - 1.0
    return errors + none + errors * (one - none)


@jit
def _with_errors(n_cases: float, errors: float, squared_deviate: float) -> float:
    if errors + 0.5 >= n_cases:
        return errors + 0.67 * (n_cases - errors)
    E, half = errors + 0.5, 0.5 * squared_deviate
    root = np.sqrt(squared_deviate * (E * (1.0 - E / n_cases) + 0.5 * half))
    return n_cases * (E + half + root) / (n_cases + squared_deviate)


@jit
def _prune(
    columns: FloatArray,
    codes: IntArray,
    case_weight: FloatArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    distribution: FloatArray,
    confidence: float,
    squared_deviate: float,
    subtree_raising: bool,
) -> None:
    # The cases of the nodes from the root to the present one are stored one after another, with
    # the parts of their weights at each node.
    cases = np.flatnonzero(case_weight > 0.0)
    parts = case_weight[cases]
    estimate = confidence, squared_deviate
    errors = np.empty(len(feature))  # expected errors of each pruned node
    path = np.empty((64, 4), dtype=np.int64)  # node, start, stop, branches done
    path[0] = 0, 0, len(cases), 0
    length = 1
    while length > 0:
        node, start, stop, n_done = path[length - 1]
        if n_done == 0:
            distribution[node] = 0.0
            for k in range(start, stop):
                distribution[node, codes[cases[k]]] += parts[k]
        if feature[node] >= 0 and n_done < 2:
            if 2 * stop - start > len(cases):
                cases, parts = _longer(cases, 2 * stop - start), _longer(parts, 2 * stop - start)
            column, is_right = columns[feature[node]], n_done == 1
            end = _send(column, threshold[node], is_right, cases, parts, start, stop, stop)
            path[length - 1, 3] += 1
            if length == len(path):
                path = _longer(path, length + 1)
            path[length] = right[node] if is_right else left[node], stop, end, 0
            length += 1
            continue
        length -= 1
        n_cases = distribution[node].sum()
        of_leaf = _expected_errors(n_cases, n_cases - distribution[node].max(), *estimate)
        if feature[node] < 0:
            errors[node] = of_leaf
            continue
        below, above = distribution[left[node]].sum(), distribution[right[node]].sum()
        larger = right[node] if above >= (1.0 - ROUNDING) * below else left[node]
        of_tree = errors[left[node]] + errors[right[node]]
        may_be_leaf = of_leaf <= of_tree + TOLERATED
        of_branch = np.inf
        if subtree_raising:
            of_branch = _errors_of_branch(
                larger,
                of_leaf - TOLERATED if may_be_leaf else of_tree + TOLERATED,
                cases[start:stop],
                parts[start:stop],
                columns,
                codes,
                feature,
                threshold,
                left,
                right,
                distribution.shape[1],
                estimate,
            )
        if may_be_leaf and of_leaf <= of_branch + TOLERATED:
            feature[node], errors[node] = LEAF, of_leaf
        elif of_branch <= of_tree + TOLERATED:
            feature[node], threshold[node] = feature[larger], threshold[larger]
            left[node], right[node] = left[larger], right[larger]
            path[length, 3] = 0  # prune again, with the cases of the node
            length += 1
        else:
            errors[node] = of_tree


@jit
def _longer(array: Array, n: int) -> Array:
    longer = np.empty((2 * n, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


@jit
def _send(
    column: FloatArray,
    threshold: float,
    is_right: bool,
    cases: IntArray,
    parts: FloatArray,
    start: int,
    stop: int,
    end: int,
) -> int:
    """Append the cases of a node that go down one of its branches; return their end.

    Of a case with a missing value, the branch gets its fraction of the known weight.
    """
    has_missing, first = False, end
    for k in range(start, stop):
        value = column[cases[k]]
        is_missing = np.isnan(value)
        has_missing |= is_missing
        cases[end], parts[end] = cases[k], parts[k]  # overwritten by the next one unless end moves
        end += ((value > threshold) == is_right) & (not is_missing)
    if has_missing:
        here, known = parts[first:end].sum(), 0.0
        for k in range(start, stop):
            known += 0.0 if np.isnan(column[cases[k]]) else parts[k]
        for k in range(start, stop):
            if np.isnan(column[cases[k]]):
                cases[end], parts[end] = cases[k], here / known * parts[k]
                end += 1
    return end


@jit
def _errors_of_branch(
    root: int,
    limit: float,
    root_cases: IntArray,
    root_parts: FloatArray,
    columns: FloatArray,
    codes: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    n_classes: int,
    estimate: tuple[float, float],
) -> float:
    """Return the expected errors of a branch with these cases, or any value above the limit."""
    cases, parts = _longer(root_cases, len(root_cases)), _longer(root_parts, len(root_parts))
    pending = np.empty((64, 3), dtype=np.int64)  # a stack of node, start, stop
    pending[0] = root, 0, len(root_cases)
    n_pending, errors, total = 1, 0.0, np.empty(n_classes)
    while n_pending > 0 and errors <= limit:
        n_pending -= 1
        node, start, stop = pending[n_pending]
        if feature[node] < 0:
            total[:] = 0.0
            for k in range(start, stop):
                total[codes[cases[k]]] += parts[k]
            n_cases = total.sum()
            errors += _expected_errors(n_cases, n_cases - total.max(), *estimate)
            continue
        if 3 * stop - 2 * start > len(cases):
            longest = 3 * stop - 2 * start
            cases, parts = _longer(cases, longest), _longer(parts, longest)
        if n_pending + 2 > len(pending):
            pending = _longer(pending, n_pending + 2)
        column = columns[feature[node]]
        middle = _send(column, threshold[node], True, cases, parts, start, stop, stop)
        end = _send(column, threshold[node], False, cases, parts, start, stop, middle)
        pending[n_pending] = right[node], stop, middle
        pending[n_pending + 1] = left[node], middle, end
        n_pending += 2
    return errors

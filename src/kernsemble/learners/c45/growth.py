r"""Growing a tree: the test of each node is the one with the best gain ratio.

Among cases of total weight N, of which those with a known value weigh :math:`N'`, a test that
sends :math:`N_1` of them left and :math:`N_2` right gains

.. math:: G = \frac{N'}{N}\Bigl(H - \frac{N_1}{N'}H_1 - \frac{N_2}{N'}H_2\Bigr) - \frac{\log_2 T}{N}

bits, where H is the entropy of the classes and T the number of thresholds to choose from. Its
split information is the entropy of the parts :math:`N_1, N_2, N - N'`.
"""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import Array, FloatArray, IntArray
from kernsemble.learners.c45.rows import SortedRows
from kernsemble.learners.c45.tree import LEAF, Tree

EPSILON = 1e-3  # of C4.5: differences of gain, and of errors, that do not count
ROUNDING = 1e-10  # what floating-point arithmetic may leave of equal numbers
DEEPEST = np.iinfo(np.int64).max


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
    feature, threshold, left, right, distribution = _grow(
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
def _grow(
    columns: FloatArray,
    order: IntArray,
    codes: IntArray,
    case_weight: FloatArray,
    n_classes: int,
    min_cases: float,
    max_depth: int,
    threshold_penalty: bool,
) -> tuple[IntArray, FloatArray, IntArray, IntArray, FloatArray]:
    # The cases of the nodes still to be grown lie one after another, those of the next node
    # last, in the order of every feature. A case may lie in several, with parts of its weight.
    cases = _present(order, case_weight)
    parts = case_weight[cases[0]]
    weight = case_weight  # of the cases at the node that is grown
    side = np.empty(len(codes), dtype=np.int8)
    capacity = 64
    feature, threshold = np.empty(capacity, dtype=np.int64), np.empty(capacity)
    left, right = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    distribution = np.empty((capacity, n_classes))
    pending = np.empty((capacity, 4), dtype=np.int64)  # start, stop, depth, parent if on its right
    pending[0] = 0, cases.shape[1], 0, LEAF
    n_pending, n_nodes = 1, 0
    n_present = len(np.unique(codes[cases[0]]))
    while n_pending > 0:
        n_pending -= 1
        start, stop, depth, parent = pending[n_pending]
        node = n_nodes
        n_nodes += 1
        if n_nodes > len(feature):
            feature, threshold = _longer(feature, n_nodes), _longer(threshold, n_nodes)
            left, right = _longer(left, n_nodes), _longer(right, n_nodes)
            distribution = _longer(distribution, n_nodes)
        if parent >= 0:
            right[parent] = node
        total = distribution[node]
        total[:] = 0.0
        for k in range(start, stop):
            weight[cases[0, k]] = parts[k]
            total[codes[cases[0, k]]] += parts[k]
        feature[node] = left[node] = right[node] = LEAF
        threshold[node] = np.nan
        is_small = total.sum() < (1.0 - ROUNDING) * 2.0 * min_cases
        if is_small or np.count_nonzero(total) < 2 or depth >= max_depth:
            continue
        here = cases[:, start:stop]
        d, n_low = _best_test(
            columns, here, codes, weight, total, min_cases, n_present, threshold_penalty
        )
        if d < 0:
            continue
        share, n_left, n_right = _take_sides(columns[d], here[d], weight, n_low, side)
        end = start + n_right + n_left
        if end > cases.shape[1]:
            cases, parts = _wider(cases, end), _longer(parts, end)
        threshold[node] = _middle(columns[d, here[d, n_low - 1]], columns[d, here[d, n_low]])
        feature[node], left[node] = d, node + 1
        _part(cases, side, start, stop, n_left, n_right)
        _part_weights(cases[0], weight, side, share, parts, start, start + n_right, end)
        if n_pending + 2 > len(pending):
            pending = _longer(pending, n_pending + 2)
        pending[n_pending] = start, start + n_right, depth + 1, node
        pending[n_pending + 1] = start + n_right, end, depth + 1, LEAF
        n_pending += 2
    return (
        feature[:n_nodes],
        threshold[:n_nodes],
        left[:n_nodes],
        right[:n_nodes],
        distribution[:n_nodes],
    )


@jit
def _present(order: IntArray, weight: FloatArray) -> IntArray:
    """Return the cases that count, in the order of every feature."""
    cases = np.empty((len(order), np.count_nonzero(weight > 0.0)), dtype=np.int32)
    for d in range(len(order)):
        place = 0
        for i in order[d]:
            if weight[i] > 0.0:
                cases[d, place] = i
                place += 1
    return cases


@jit
def _longer(array: Array, n: int) -> Array:
    longer = np.empty((2 * n, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


@jit
def _wider(cases: IntArray, n: int) -> IntArray:
    wider = np.empty((len(cases), 2 * n), dtype=cases.dtype)
    wider[:, : cases.shape[1]] = cases
    return wider


@jit
def _best_test(
    columns: FloatArray,
    cases: IntArray,
    codes: IntArray,
    weight: FloatArray,
    total: FloatArray,
    min_cases: float,
    n_present: int,
    threshold_penalty: bool,
) -> tuple[int, int]:
    """Return the feature to test, −1 for none, and how many of its sorted cases are below.

    It has the best ratio of gain to split information among features with an average gain.
    """
    gain, information = np.empty(len(columns)), np.empty(len(columns))
    low, high = np.empty(len(total)), np.empty(len(total))
    n_low = np.empty(len(columns), dtype=np.int64)
    sum_of_gains, n_possible = 0.0, 0
    for d in range(len(columns)):
        gain[d], information[d], n_low[d] = _best_threshold(
            columns[d],
            cases[d],
            codes,
            weight,
            total,
            low,
            high,
            min_cases,
            n_present,
            threshold_penalty,
        )
        if gain[d] > 0.0:
            sum_of_gains += gain[d]
            n_possible += 1
    best, best_ratio = -1, 0.0
    for d in range(len(columns)):
        if (
            gain[d] > 0.0
            and gain[d] >= sum_of_gains / n_possible - EPSILON
            and information[d] > EPSILON
            and gain[d] / information[d] > best_ratio + ROUNDING
        ):
            best, best_ratio = d, gain[d] / information[d]
    return (best, n_low[best]) if best >= 0 else (-1, 0)


@jit
def _best_threshold(
    column: FloatArray,
    cases: IntArray,
    codes: IntArray,
    weight: FloatArray,
    total: FloatArray,
    low: FloatArray,
    high: FloatArray,
    min_cases: float,
    n_present: int,
    threshold_penalty: bool,
) -> tuple[float, float, int]:
    """Return the best gain, 0 for none, its split information and how many cases are below.

    Entropies, times the weight that has them, are compared. Few need a logarithm: an entropy
    in bits is never less than twice the Gini index; and within a run of cases of one class it
    is a concave function of their weight on the left, which is least at an end of the run.
    """
    n_known = _count_known(column, cases, codes, weight, total, low, high)
    known, squares_low, squares_high = high.sum(), 0.0, 0.0
    if known < (1.0 - ROUNDING) * 2.0 * min_cases:
        return 0.0, 0.0, 0
    for each in high:
        squares_high += each * each
    least = (1.0 - ROUNDING) * max(min_cases, min(25.0, 0.1 * known / n_present))
    before, slack = _entropy(high, known), ROUNDING * known
    best, best_place, best_below, n_thresholds, below = before, 0, 0.0, 0, 0.0
    value, is_threshold = column[cases[0]], False
    for k in range(n_known - 1):
        i, j = cases[k], cases[k + 1]
        w, c = weight[i], codes[i]
        squares_low += w * (2.0 * low[c] + w)
        squares_high -= w * (2.0 * high[c] - w)
        low[c] += w
        high[c] -= w
        below += w
        above = known - below
        last, value, was_threshold = value, column[j], is_threshold
        is_threshold = (last < value) & (below >= least) & (above >= least)
        n_thresholds += is_threshold
        if not is_threshold:
            continue
        gini = known - (squares_low * above + squares_high * below) / (below * above)
        if 2.0 * gini < best:
            is_within_run = (
                was_threshold
                and codes[j] == c
                and k + 2 < n_known
                and value < column[cases[k + 2]]
                and above - weight[j] >= least
            )
            if not is_within_run:
                after = _entropy(low, below) + _entropy(high, above)
                if after < best - slack:
                    best, best_place, best_below = after, k + 1, below
    if best_place == 0:
        return 0.0, 0.0, 0
    n_cases, penalty = total.sum(), np.log2(n_thresholds) if threshold_penalty else 0.0
    gain = (before - best - penalty) / n_cases
    information = _bits(best_below, n_cases) + _bits(known - best_below, n_cases)
    information += _bits(n_cases - known, n_cases)
    return (gain, information / n_cases, best_place) if gain > ROUNDING else (0.0, 0.0, 0)


@jit
def _count_known(
    column: FloatArray,
    cases: IntArray,
    codes: IntArray,
    weight: FloatArray,
    total: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> int:
    """Put the weight of each class among known values into `high`; return how many are known."""
    has_missing = np.isnan(column[cases[len(cases) - 1]])
    for k in range(len(total)):
        low[k], high[k] = 0.0, 0.0 if has_missing else total[k]
    if not has_missing:
        return len(cases)
    n_known = 0
    while not np.isnan(column[cases[n_known]]):
        high[codes[cases[n_known]]] += weight[cases[n_known]]
        n_known += 1
    return n_known


@jit
def _entropy(weights: FloatArray, total: float) -> float:
    """Return the entropy of a distribution, in bits, times its total weight."""
    entropy = 0.0
    for each in weights:
        entropy += _bits(each, total)
    return entropy


@jit
def _bits(part: float, total: float) -> float:
    return -part * np.log2(part / total) if part > 0.0 else 0.0


@jit
def _middle(lower: float, upper: float) -> float:
    middle = 0.5 * lower + 0.5 * upper
    return middle if middle < upper else lower  # neighbouring floats have no middle


@jit
def _take_sides(
    column: FloatArray, cases: IntArray, weight: FloatArray, n_low: int, side: IntArray
) -> tuple[float, int, int]:
    """Mark cases as left (−1), right (1) or missing (0).

    Returns the share of the known weight that is left, and the numbers of cases left and right,
    missing ones in both.
    """
    below, above, n_missing = 0.0, 0.0, 0
    for k in range(len(cases)):
        i = cases[k]
        if k < n_low:
            side[i] = -1
            below += weight[i]
        elif np.isnan(column[i]):
            side[i] = 0
            n_missing += 1
        else:
            side[i] = 1
            above += weight[i]
    return below / (below + above), n_low + n_missing, len(cases) - n_low


@jit
def _part(
    cases: IntArray, side: IntArray, start: int, stop: int, n_left: int, n_right: int
) -> None:
    """Put the cases of the right branch, then those of the left, in place of the node's."""
    lefts = np.empty(n_left + 1, dtype=cases.dtype)
    for d in range(len(cases)):
        right, left = start, 0
        for k in range(start, stop):
            i = cases[d, k]
            cases[d, right] = lefts[left] = i  # which of them stays is decided without a branch
            right += side[i] >= 0
            left += side[i] <= 0
        cases[d, start + n_right : start + n_right + n_left] = lefts[:n_left]


@jit
def _part_weights(
    cases: IntArray,
    weight: FloatArray,
    side: IntArray,
    share: float,
    parts: FloatArray,
    start: int,
    middle: int,
    end: int,
) -> None:
    for k in range(start, end):
        i = cases[k]
        part = 1.0 if side[i] != 0 else share if k >= middle else 1.0 - share
        parts[k] = part * weight[i]


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

r"""Splitting the nodes of a tree, compiled: each node gets the test with the best gain ratio.

Among cases of total weight N, of which those with a known value weigh :math:`N'`, a test that
sends :math:`N_1` of them left and :math:`N_2` right gains

.. math:: G = \frac{N'}{N}\Bigl(H - \frac{N_1}{N'}H_1 - \frac{N_2}{N'}H_2\Bigr) - \frac{\log_2 T}{N}

bits, where H is the entropy of the classes and T the number of candidate thresholds. Its
split information is the entropy of the parts :math:`N_1, N_2, N - N'`.

Compiled functions that call each other stay in one module, see `kernsemble._jit`.
"""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import Array, FloatArray, IntArray
from kernsemble.learners.c45.tree import LEAF

EPSILON = 1e-3  # C4.5's negligible difference of gains
ROUNDING = 1e-10  # relative difference of equal numbers due to rounding
NEAR = 1e-7  # slack of the entropy bounds, relative to the weight, so that ties are found
HALF_LOG = 0.5 / np.log(2.0)
SERIES = (HALF_LOG, HALF_LOG / 6.0, HALF_LOG / 15.0, 1.0 - HALF_LOG * 37.0 / 30.0)


@jit
def grow_nodes(
    columns: FloatArray,
    order: IntArray,
    codes: IntArray,
    case_weight: FloatArray,
    n_classes: int,
    min_cases: float,
    max_depth: int,
    threshold_penalty: bool,
) -> tuple[IntArray, FloatArray, IntArray, IntArray, FloatArray]:
    """Return feature, threshold, left, right and distribution of nodes, each before its branches.

    `case_weight` is overwritten.
    """
    # The cases of the pending nodes are stored one after another, those of the next node
    # last, in the order of every feature. A case may be in several, with parts of its weight.
    cases = _present(order, case_weight)
    parts = case_weight[cases[0]]
    weight = case_weight  # weights of the cases at the present node
    side, work = np.empty(len(codes), dtype=np.int8), np.empty((4, len(codes)))
    capacity = 64
    feature, threshold = np.empty(capacity, dtype=np.int64), np.empty(capacity)
    left, right = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    distribution = np.empty((capacity, n_classes))
    branch = np.empty(n_classes)  # distribution at one of the branches
    pending = np.empty((capacity, 4), dtype=np.int64)  # start, stop, depth, parent of right branch
    pending[0] = 0, cases.shape[1], 0, LEAF
    n_pending, n_nodes = 1, 0
    n_present = len(np.unique(codes[cases[0]]))
    while n_pending > 0:
        n_pending -= 1
        start, stop, depth, parent = pending[n_pending]
        node, n_nodes = n_nodes, n_nodes + 1
        if n_nodes > len(feature):
            feature, threshold = _longer(feature, n_nodes), _longer(threshold, n_nodes)
            left, right = _longer(left, n_nodes), _longer(right, n_nodes)
            distribution = _longer(distribution, n_nodes)
        if parent >= 0:
            right[parent] = node
        total = distribution[node]
        may_be_split = _may_be_split(cases[0], parts, codes, start, stop, min_cases, total)
        for k in range(start, stop):
            weight[cases[0, k]] = parts[k]
        feature[node], left[node], right[node], threshold[node] = LEAF, LEAF, LEAF, np.nan
        if depth >= max_depth or not may_be_split:
            continue
        here = cases[:, start:stop]
        d, n_below = _best_test(
            columns, here, codes, weight, total, min_cases, n_present, threshold_penalty, work
        )
        if d < 0:
            continue
        share, n_left, n_right = _take_sides(columns[d], here[d], weight, n_below, side)
        middle, end = start + n_right, start + n_right + n_left
        if end > cases.shape[1]:
            cases, parts = _wider(cases, end), _longer(parts, end)
        threshold[node] = _middle(columns[d, here[d, n_below - 1]], columns[d, here[d, n_below]])
        feature[node], left[node] = d, node + 1
        _part(cases, 0, 1, side, start, stop, n_left, n_right)
        _part_weights(cases[0], weight, side, share, parts, start, middle, end)
        may_right_be_split = _may_be_split(cases[0], parts, codes, start, middle, min_cases, branch)
        if may_right_be_split or _may_be_split(
            cases[0], parts, codes, middle, end, min_cases, branch
        ):
            _part(cases, 1, len(cases), side, start, stop, n_left, n_right)
        if n_pending + 2 > len(pending):
            pending = _longer(pending, n_pending + 2)
        pending[n_pending] = start, middle, depth + 1, node
        pending[n_pending + 1] = middle, end, depth + 1, LEAF
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
    """Return the cases of positive weight, in the order of every feature."""
    cases = np.empty((len(order), np.count_nonzero(weight > 0.0)), dtype=np.uint32)
    if cases.shape == order.shape:
        cases[:] = order
        return cases
    for d in range(len(order)):
        place = 0
        for i in order[d]:
            if weight[i] > 0.0:
                cases[d, place] = i
                place += 1
    return cases


@jit
def _may_be_split(
    cases: IntArray,
    parts: FloatArray,
    codes: IntArray,
    start: int,
    stop: int,
    min_cases: float,
    total: FloatArray,
) -> bool:
    """Fill in the weight of each class; return whether the node may be split."""
    total[:] = 0.0
    for k in range(start, stop):
        total[codes[cases[k]]] += parts[k]
    is_large = total.sum() >= (1.0 - ROUNDING) * 2.0 * min_cases
    return bool(is_large and np.count_nonzero(total) > 1)


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
    work: FloatArray,
) -> tuple[int, int]:
    """Return the feature to test, −1 for none, and the number of its sorted cases below.

    It has the best gain ratio among the features with at least the average gain.
    """
    gain, known, below = np.empty(len(columns)), np.empty(len(columns)), np.empty(len(columns))
    n_cases, of_node = total.sum(), _entropy(total, total.sum())
    class_below, class_above = np.empty(len(total)), np.empty(len(total))
    n_below = np.empty(len(columns), dtype=np.int64)
    sum_of_gains, n_possible = 0.0, 0
    for d in range(len(columns)):
        gain[d], known[d], below[d], n_below[d] = _best_threshold(
            columns[d],
            cases[d],
            codes,
            weight,
            total,
            of_node,
            class_below,
            class_above,
            min_cases,
            n_present,
            threshold_penalty,
            work,
        )
        if gain[d] > 0.0:
            sum_of_gains += gain[d]
            n_possible += 1
    best, best_ratio = -1, 0.0
    for d in range(len(columns)):
        if (
            gain[d] > 0.0
            and gain[d] >= sum_of_gains / n_possible - EPSILON
            and gain[d] > (best_ratio + ROUNDING) * EPSILON
        ):
            information = _bits(below[d], n_cases) + _bits(known[d] - below[d], n_cases)
            information = (information + _bits(n_cases - known[d], n_cases)) / n_cases
            if information > EPSILON and gain[d] / information > best_ratio + ROUNDING:
                best, best_ratio = d, gain[d] / information
    return (best, n_below[best]) if best >= 0 else (-1, 0)


@jit
def _best_threshold(
    column: FloatArray,
    cases: IntArray,
    codes: IntArray,
    weight: FloatArray,
    total: FloatArray,
    of_node: float,
    class_below: FloatArray,
    class_above: FloatArray,
    min_cases: float,
    n_present: int,
    threshold_penalty: bool,
    work: FloatArray,
) -> tuple[float, float, float, int]:
    """Return the best gain or 0, the weights known and below, and the number of cases below."""
    n_known = _count_known(column, cases, codes, weight, total, class_below, class_above)
    known = class_above.sum()
    if known < (1.0 - ROUNDING) * 2.0 * min_cases or column[cases[0]] == column[cases[n_known - 1]]:
        return 0.0, known, 0.0, 0
    least = (1.0 - ROUNDING) * max(min_cases, min(25.0, 0.1 * known / n_present))
    before = of_node if n_known == len(cases) else _entropy(class_above, known)
    if len(total) == 2:
        best, place, below, n_thresholds = _scan_two(
            column, cases[:n_known], codes, weight, class_above[1], known, least, before, work
        )
    else:
        best, place, below, n_thresholds = _scan(
            column, cases[:n_known], codes, weight, class_below, class_above, known, least, before
        )
    if place == 0:
        return 0.0, known, 0.0, 0
    penalty = np.log2(n_thresholds) if threshold_penalty else 0.0
    gain = (before - best - penalty) / total.sum()
    return (gain, known, below, place) if gain > ROUNDING else (0.0, known, 0.0, 0)


@jit
def _scan(
    column: FloatArray,
    cases: IntArray,
    codes: IntArray,
    weight: FloatArray,
    class_below: FloatArray,
    class_above: FloatArray,
    known: float,
    least: float,
    before: float,
) -> tuple[float, int, float, int]:
    """Return the least entropy after a test, the number and weight of the cases below, and T.

    Entropies are multiplied by the weight; T is the number of candidate thresholds. Few need a
    logarithm: an entropy in bits is at least twice the Gini index; and within a
    run of cases of one class it is a concave function of their weight on the left, with its
    minimum at an end of the run.
    """
    squares_below, squares_above = 0.0, 0.0
    for each in class_above:
        squares_above += each * each
    best, best_place, best_below, n_thresholds, below = before, 0, 0.0, 0, 0.0
    value, is_threshold = column[cases[0]], False
    for k in range(len(cases) - 1):
        i, j = cases[k], cases[k + 1]
        w, c = weight[i], codes[i]
        squares_below += w * (2.0 * class_below[c] + w)
        squares_above -= w * (2.0 * class_above[c] - w)
        class_below[c] += w
        class_above[c] -= w
        below += w
        above = known - below
        last, value, was_threshold = value, column[j], is_threshold
        is_threshold = (last < value) & (below >= least) & (above >= least)
        n_thresholds += is_threshold
        if not is_threshold:
            continue
        gini = known - (squares_below * above + squares_above * below) / (below * above)
        if 2.0 * gini < best:
            is_within_run = (
                was_threshold
                and codes[j] == c
                and k + 2 < len(cases)
                and value < column[cases[k + 2]]
                and above - weight[j] >= least
            )
            if not is_within_run:
                after = _entropy(class_below, below) + _entropy(class_above, above)
                if after < best - ROUNDING * known:
                    best, best_place, best_below = after, k + 1, below
    return best, best_place, best_below, n_thresholds


@jit
def _scan_two(
    column: FloatArray,
    cases: IntArray,
    codes: IntArray,
    weight: FloatArray,
    of_second: float,
    known: float,
    least: float,
    before: float,
    work: FloatArray,
) -> tuple[float, int, float, int]:
    """Return the same as `_scan` for two classes, by tight bounds and very few logarithms."""
    below, second, place, bound = work[0], work[1], work[2], work[3]  # one entry per threshold
    m, w, part, value = 0, 0.0, 0.0, column[cases[0]]
    for k in range(len(cases) - 1):
        i = cases[k]
        w += weight[i]
        part += weight[i] * codes[i]
        last, value = value, column[cases[k + 1]]
        below[m], second[m], place[m] = w, part, k + 1
        m += (last < value) & (w >= least) & (known - w >= least)
    for t in range(m):
        above, rest = known - below[t], of_second - second[t]
        bound[t] = _least_bits_of_two(second[t], below[t]) + _least_bits_of_two(rest, above)
    lowest = 0
    for t in range(1, m):
        lowest = t if bound[t] < bound[lowest] else lowest
    best, best_threshold = before, -1
    if m > 0 and bound[lowest] < before:
        reached = _after_two(second[lowest], below[lowest], of_second, known)
        for t in range(m):
            if bound[t] > reached + NEAR * known or _is_within_run(place[:m], t, cases, codes):
                continue
            after = reached
            if t != lowest:
                after = _after_two(second[t], below[t], of_second, known)
            if after < best - ROUNDING * known:
                best, best_threshold = after, t
    if best_threshold < 0:
        return best, 0, 0.0, m
    return best, int(place[best_threshold]), below[best_threshold], m


@jit
def _is_within_run(place: FloatArray, t: int, cases: IntArray, codes: IntArray) -> bool:
    """Return whether a threshold is inside a run of cases of one class, next to both others."""
    if t == 0 or t + 1 == len(place) or place[t + 1] - place[t - 1] > 2.0:
        return False
    k = int(place[t])
    return codes[cases[k - 1]] == codes[cases[k]]


@jit
def _least_bits_of_two(part: float, total: float) -> float:
    r"""Return a lower bound of the entropy of two parts, in bits, times their total.

    The entropy is :math:`1 - \frac{1}{2\ln 2} \sum_k \frac{y^k}{k(2k - 1)}` with y ≤ 1 the squared
    difference of the fractions: powers above the fourth are replaced by the fourth.
    """
    y = (2.0 * part / total - 1.0) ** 2
    return total * (1.0 - y * (SERIES[0] + y * (SERIES[1] + y * (SERIES[2] + y * SERIES[3]))))


@jit
def _after_two(second: float, below: float, of_second: float, known: float) -> float:
    above, rest = known - below, of_second - second
    after = _bits(second, below) + _bits(below - second, below)
    return after + _bits(rest, above) + _bits(above - rest, above)


@jit
def _count_known(
    column: FloatArray,
    cases: IntArray,
    codes: IntArray,
    weight: FloatArray,
    total: FloatArray,
    class_below: FloatArray,
    class_above: FloatArray,
) -> int:
    """Fill `class_above` with the class weights of known values; return their number."""
    has_missing = np.isnan(column[cases[len(cases) - 1]])
    for k in range(len(total)):
        class_below[k], class_above[k] = 0.0, 0.0 if has_missing else total[k]
    if not has_missing:
        return len(cases)
    n_known = 0
    while not np.isnan(column[cases[n_known]]):
        class_above[codes[cases[n_known]]] += weight[cases[n_known]]
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
    return middle if middle < upper else lower  # no float lies between neighbouring ones


@jit
def _take_sides(
    column: FloatArray, cases: IntArray, weight: FloatArray, n_below: int, side: IntArray
) -> tuple[float, int, int]:
    """Mark cases as left (−1), right (1) or missing (0).

    Return the fraction of the known weight on the left, and the numbers of cases left and right,
    both including the missing ones.
    """
    below, above, n_missing = 0.0, 0.0, 0
    for k in range(len(cases)):
        i = cases[k]
        if k < n_below:
            side[i] = -1
            below += weight[i]
        elif np.isnan(column[i]):
            side[i] = 0
            n_missing += 1
        else:
            side[i] = 1
            above += weight[i]
    return below / (below + above), n_below + n_missing, len(cases) - n_below


@jit
def _part(
    cases: IntArray,
    first: int,
    last: int,
    side: IntArray,
    start: int,
    stop: int,
    n_left: int,
    n_right: int,
) -> None:
    """Replace the cases of the node by those of the right branch, then those of the left.

    Only the orders of the features from `first` to `last` − 1 are changed.
    """
    lefts = np.empty(n_left + 1, dtype=cases.dtype)
    for d in range(first, last):
        right, left = start, 0
        for k in range(start, stop):
            i = cases[d, k]
            cases[d, right] = lefts[left] = i  # branch-free: a wrong one is overwritten next
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

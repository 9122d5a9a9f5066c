r"""Threshold search for decision stumps, and AdaBoost on stumps, on columns sorted once.

A stump predicts one class where :math:`x_d` is at or below a threshold, another above it. Between
neighbouring values of a column all thresholds are equivalent, so there is one to try for each step
of the sorted column: the middle stumps of the papers. Constants are stumps with equal classes.
"""

from typing import NamedTuple

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import BoolArray, FloatArray, IntArray

ROUNDING = 1e-12  # difference of gains that is rounding, relative to the sum of all gains


class SortedColumns(NamedTuple):
    """Columns in ascending order.

    Attributes
    ----------
    order : int32 array of shape (D, n)
        Rows in increasing order of each column.
    is_step : boolean array of shape (D, n)
        Whether the next value in this order is larger; the last entry is False.
    """

    order: IntArray
    is_step: BoolArray

    @classmethod
    def from_rows(cls, X: FloatArray) -> "SortedColumns":
        """Sort all columns, in O(D n log n)."""
        order = np.argsort(X, axis=0, kind="stable")
        values = np.take_along_axis(X, order, axis=0)
        is_step = np.zeros(X.shape[::-1], dtype=bool)
        is_step[:, :-1] = (values[1:] > values[:-1]).T
        return cls(np.ascontiguousarray(order.T, dtype=np.int32), is_step)


class IndexedStump(NamedTuple):
    """A stump: `below` at or below step number `step` of column `feature`, else `above`.

    A constant has step −1.
    """

    feature: int
    step: int
    below: int
    above: int


class BoostedStumps(NamedTuple):
    """The stumps selected by rounds of AdaBoost.

    Attributes
    ----------
    stumps : array of shape (n_rounds, 4)
        The fields of an `IndexedStump` for each round.
    errors : array of shape (n_rounds,)
        Weighted error of each stump in its round.
    has_ended : bool
        Whether a stump without error was found, which is the last, or one no better than chance,
        which is left out.
    """

    stumps: IntArray
    errors: FloatArray
    has_ended: bool


def best_stump(columns: SortedColumns, gains: FloatArray) -> tuple[IndexedStump, float]:
    r"""Return the stump with the largest gain, and that gain.

    .. math:: \max_h \textstyle\sum_i G_{i, h(x_i)}

    over all middle stumps and constants. With :math:`G_{ik} = U_i [y_i = k]` that is the smallest
    weighted error. Costs O(n D K). Ties are resolved in favour of constants, then of the first
    column and its smallest threshold.

    Parameters
    ----------
    columns : SortedColumns
        The rows.
    gains : array of shape (n, K)
        Gain of predicting each class at each row.
    """
    stumps, found = best_stumps(columns, gains)
    best = _first_best(found, ROUNDING * float(gains.sum()))
    return IndexedStump(*stumps[best].tolist()), float(found[best])


def best_stumps(columns: SortedColumns, gains: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the best constant and then the best stump of every column, with their gains.

    Stumps are rows of an array, the fields of `IndexedStump`. A constant column has none; its
    gain is minus infinity.
    """
    gains = np.ascontiguousarray(gains, dtype=np.float64)
    stumps, found = _room(columns)
    if gains.shape[1] == 2:
        _best_of_two(*columns, gains[:, 1] - gains[:, 0], stumps, found)
        return stumps, 0.5 * (gains.sum() + found)
    _best_of_many(*columns, gains, stumps, found)
    return stumps, found


def _room(columns: SortedColumns) -> tuple[IntArray, FloatArray]:
    n_columns = len(columns.order)
    return np.empty((1 + n_columns, 4), dtype=np.int64), np.empty(1 + n_columns)


def boost_stumps(
    columns: SortedColumns,
    codes: IntArray,
    weight: FloatArray,
    n_classes: int,
    n_rounds: int,
    learning_rate: float = 1.0,
) -> BoostedStumps:
    r"""Run rounds of discrete AdaBoost (SAMME with more than two classes) on stumps.

    In each round the stump of smallest weighted error :math:`\varepsilon` is added with weight
    :math:`w = \eta\,(\ln\frac{1 - \varepsilon}{\varepsilon} + \ln(K - 1))`, and the weights of
    the rows that it predicts correctly are multiplied by :math:`e^{-w}` and all normalised.
    `weight` must sum to 1, and is changed in place. A round costs O(n D K), and O(n D) with two
    classes.
    """
    stumps, errors = np.empty((n_rounds, 4), dtype=np.int64), np.empty(n_rounds)
    n_done, has_ended = _boost(
        *columns, codes, weight, n_classes, learning_rate, *_room(columns), stumps, errors
    )
    return BoostedStumps(stumps[:n_done], errors[:n_done], has_ended)


@jit
def hypothesis_weight(error: float, n_classes: int, learning_rate: float) -> float:
    r"""Return :math:`w = \eta\,(\ln\frac{1 - \varepsilon}{\varepsilon} + \ln(K - 1))`.

    An error of zero counts as :math:`2^{-52}`, the rounding of a sum of weights.
    """
    least = max(error, 2.0**-52)
    return learning_rate * (np.log((1.0 - least) / least) + np.log(n_classes - 1.0))


@jit
def is_chance(error: float, n_classes: int) -> bool:
    """Return whether a hypothesis is no better than guessing one of K classes."""
    return error >= 1.0 - 1.0 / n_classes - ROUNDING


@jit
def reweigh(weight: FloatArray, is_right: BoolArray, hypothesis: float) -> None:
    """Multiply the weights of correctly predicted rows by exp(−w), and normalise all."""
    factor, total = np.exp(-hypothesis), 0.0
    for i in range(len(weight)):
        if is_right[i]:
            weight[i] *= factor
        total += weight[i]
    for i in range(len(weight)):
        weight[i] /= total


@jit
def _best_of_two(
    order: IntArray, is_step: BoolArray, signed: FloatArray, stumps: IntArray, edges: FloatArray
) -> None:
    r"""Fill in the best stumps by their edges :math:`\sum_i g_i h(x_i)`, where h is ±1."""
    total, size = 0.0, 0.0
    for i in range(len(signed)):
        total += signed[i]
        size += abs(signed[i])
    least = ROUNDING * size
    stumps[0, :2], stumps[0, 2:] = (0, -1), 1 if total > 0.0 else 0
    edges[0] = abs(total)
    for d in range(order.shape[0]):
        best, step, above = -np.inf, -1, 0
        edge = total  # edge of predicting 0 below and 1 above the step
        for t in range(order.shape[1]):
            edge -= 2.0 * signed[order[d, t]]
            if abs(edge) > best + least and is_step[d, t]:
                best, step, above = abs(edge), t, 1 if edge > 0.0 else 0
        stumps[1 + d, 0], stumps[1 + d, 1] = d, step
        stumps[1 + d, 2], stumps[1 + d, 3] = 1 - above, above
        edges[1 + d] = best


@jit
def _best_of_many(
    order: IntArray, is_step: BoolArray, gains: FloatArray, stumps: IntArray, found: FloatArray
) -> None:
    """Fill in the best stumps by their gains."""
    n_classes = gains.shape[1]
    total, under = np.zeros(n_classes), np.empty(n_classes)
    for i in range(len(gains)):
        for k in range(n_classes):
            total[k] += gains[i, k]
    least = ROUNDING * total.sum()
    stumps[0, :2], stumps[0, 2:] = (0, -1), np.argmax(total)
    found[0] = total.max()
    for d in range(order.shape[0]):
        best, step, below, above = -np.inf, -1, 0, 0
        under[:] = 0.0
        for t in range(order.shape[1]):
            i = order[d, t]
            for k in range(n_classes):
                under[k] += gains[i, k]
            if not is_step[d, t]:
                continue
            low, high = 0, 0
            for k in range(1, n_classes):
                if under[k] > under[low]:
                    low = k
                if total[k] - under[k] > total[high] - under[high]:
                    high = k
            gain = under[low] + total[high] - under[high]
            if gain > best + least:
                best, step, below, above = gain, t, low, high
        stumps[1 + d, 0], stumps[1 + d, 1] = d, step
        stumps[1 + d, 2], stumps[1 + d, 3] = below, above
        found[1 + d] = best


@jit
def _first_best(values: FloatArray, least: float) -> int:
    """Return the first of the largest values, where differences below `least` are ties."""
    best = 0
    for place in range(1, len(values)):
        if values[place] > values[best] + least:
            best = place
    return best


@jit
def _boost(
    order: IntArray,
    is_step: BoolArray,
    codes: IntArray,
    weight: FloatArray,
    n_classes: int,
    learning_rate: float,
    candidates: IntArray,
    found: FloatArray,
    stumps: IntArray,
    errors: FloatArray,
) -> tuple[int, bool]:
    """Fill in stumps and errors; return the number of rounds, and whether they have ended."""
    n = len(codes)
    is_right, signed = np.empty(n, dtype=np.bool_), np.empty(n)
    gains = np.zeros((n if n_classes > 2 else 0, n_classes))
    for t in range(len(stumps)):
        if n_classes == 2:
            for i in range(n):
                signed[i] = weight[i] if codes[i] == 1 else -weight[i]
            _best_of_two(order, is_step, signed, candidates, found)
        else:
            for i in range(n):
                gains[i, codes[i]] = weight[i]
            _best_of_many(order, is_step, gains, candidates, found)
        stumps[t] = candidates[_first_best(found, ROUNDING)]
        feature, step, below, above = stumps[t, 0], stumps[t, 1], stumps[t, 2], stumps[t, 3]
        error = 0.0
        for place in range(n):
            i = order[feature, place]
            is_right[i] = codes[i] == (below if place <= step else above)
            if not is_right[i]:
                error += weight[i]
        if is_chance(error, n_classes):
            return t, True
        errors[t] = error
        if error == 0.0:
            return t + 1, True
        reweigh(weight, is_right, hypothesis_weight(error, n_classes, learning_rate))
    return len(stumps), False

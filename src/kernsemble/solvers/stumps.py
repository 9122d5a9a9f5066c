r"""Decision stumps of least weighted error, and AdaBoost over them, on columns sorted once.

A stump says one class where :math:`x_d` is at or below a threshold, another above it. Between
neighbouring values of a column all thresholds are alike, so there is one to try for each step of
the sorted column: the middle stumps of the papers. The constants are stumps whose classes agree.
"""

from typing import NamedTuple

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import BoolArray, FloatArray, IntArray

ROUNDING = 1e-12  # of the sum of all gains: what is better by less is no better


class SortedColumns(NamedTuple):
    """Columns in ascending order.

    Attributes
    ----------
    order : int32 array of shape (D, n)
        The rows, by the values of each column.
    is_step : boolean array of shape (D, n)
        Whether the next value in this order is larger; the last entry is False.
    """

    order: IntArray
    is_step: BoolArray

    @classmethod
    def of(cls, X: FloatArray) -> "SortedColumns":
        """Sort all columns, in O(D n log n)."""
        order = np.argsort(X, axis=0, kind="stable")
        values = np.take_along_axis(X, order, axis=0)
        is_step = np.zeros(X.shape[::-1], dtype=bool)
        is_step[:, :-1] = (values[1:] > values[:-1]).T
        return cls(np.ascontiguousarray(order.T, dtype=np.int32), is_step)


class Stump(NamedTuple):
    """A stump: `below` at or below step number `step` of column `feature`, else `above`.

    A constant has step −1, below which there is nothing.
    """

    feature: int
    step: int
    below: int
    above: int


class BoostedStumps(NamedTuple):
    """What rounds of AdaBoost chose.

    Attributes
    ----------
    stumps : array of shape (n_rounds, 4)
        The fields of a `Stump` for each round.
    errors : array of shape (n_rounds,)
        Their weighted errors, each at its round.
    has_ended : bool
        Whether a stump was without error, which is then the last, or no better than chance,
        which is then left out.
    """

    stumps: IntArray
    errors: FloatArray
    has_ended: bool


def best_stump(columns: SortedColumns, gains: FloatArray) -> tuple[Stump, float]:
    r"""Return the stump with the largest gain, and that gain.

    .. math:: \max_h \textstyle\sum_i G_{i, h(x_i)}

    over all middle stumps and constants. With :math:`G_{ik} = U_i [y_i = k]` that is the least
    weighted error. Costs O(n D K). Of equally good ones constants come first, then the first
    column and its smallest threshold.

    Parameters
    ----------
    columns : SortedColumns
        The rows.
    gains : array of shape (n, K)
        What it is worth to say each class at each row.
    """
    found = _best_stump(*columns, np.ascontiguousarray(gains, dtype=np.float64))
    return Stump(*found[:4]), found[4]


def boost_stumps(
    columns: SortedColumns,
    codes: IntArray,
    weight: FloatArray,
    n_classes: int,
    n_rounds: int,
    learning_rate: float = 1.0,
) -> BoostedStumps:
    r"""Do rounds of discrete AdaBoost (SAMME with more than two classes) on stumps.

    In each round the stump of least weighted error :math:`\varepsilon` is taken with weight
    :math:`w = \eta\,(\ln\frac{1 - \varepsilon}{\varepsilon} + \ln(K - 1))`, and the weights of
    the rows that it has right are multiplied by :math:`e^{-w}` and all normalised. `weight` must
    sum to 1, and is changed in place. A round costs O(n D K), and O(n D) with two classes.
    """
    stumps = np.empty((n_rounds, 4), dtype=np.int64)
    errors = np.empty(n_rounds)
    settings = n_classes, learning_rate
    n_done, has_ended = _boost(*columns, codes, weight, *settings, stumps, errors)
    return BoostedStumps(stumps[:n_done], errors[:n_done], has_ended)


@jit
def hypothesis_weight(error: float, n_classes: int, learning_rate: float) -> float:
    r"""Return :math:`w = \eta\,(\ln\frac{1 - \varepsilon}{\varepsilon} + \ln(K - 1))`.

    An error of zero counts as the rounding of a sum of weights, :math:`2^{-52}`.
    """
    least = max(error, 2.0**-52)
    return learning_rate * (np.log((1.0 - least) / least) + np.log(n_classes - 1.0))


@jit
def is_chance(error: float, n_classes: int) -> bool:
    """Whether a hypothesis is, within rounding, no better than guessing one of K classes."""
    return error >= 1.0 - 1.0 / n_classes - ROUNDING


@jit
def reweigh(weight: FloatArray, is_right: BoolArray, hypothesis: float) -> None:
    """Multiply the weights of rows that a hypothesis has right by exp(−w), and normalise all."""
    factor, total = np.exp(-hypothesis), 0.0
    for i in range(len(weight)):
        if is_right[i]:
            weight[i] *= factor
        total += weight[i]
    for i in range(len(weight)):
        weight[i] /= total


@jit
def _best_stump(
    order: IntArray, is_step: BoolArray, gains: FloatArray
) -> tuple[int, int, int, int, float]:
    if gains.shape[1] == 2:
        signed, both = np.empty(len(gains)), 0.0
        for i in range(len(gains)):
            signed[i] = gains[i, 1] - gains[i, 0]
            both += gains[i, 0] + gains[i, 1]
        feature, step, below, above, edge = _best_of_two(order, is_step, signed)
        return feature, step, below, above, 0.5 * (both + edge)
    return _best_of_many(order, is_step, gains)


@jit
def _best_of_two(
    order: IntArray, is_step: BoolArray, signed: FloatArray
) -> tuple[int, int, int, int, float]:
    r"""Return the stump with the largest edge :math:`\sum_i g_i h(x_i)`, where h is ±1."""
    total, size = 0.0, 0.0
    for i in range(len(signed)):
        total += signed[i]
        size += abs(signed[i])
    constant = 1 if total > 0.0 else 0
    best, feature, step, below, above = abs(total), 0, -1, constant, constant
    least = ROUNDING * size
    for d in range(order.shape[0]):
        edge = total  # of saying 0 below and 1 above the step
        for t in range(order.shape[1]):
            edge -= 2.0 * signed[order[d, t]]
            if abs(edge) > best + least and is_step[d, t]:
                best, feature, step = abs(edge), d, t
                above = 1 if edge > 0.0 else 0
                below = 1 - above
    return feature, step, below, above, best


@jit
def _best_of_many(
    order: IntArray, is_step: BoolArray, gains: FloatArray
) -> tuple[int, int, int, int, float]:
    n_classes = gains.shape[1]
    total, under = np.zeros(n_classes), np.empty(n_classes)
    for i in range(len(gains)):
        for k in range(n_classes):
            total[k] += gains[i, k]
    constant = int(np.argmax(total))
    best, feature, step, below, above = total[constant], 0, -1, constant, constant
    least = ROUNDING * total.sum()
    for d in range(order.shape[0]):
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
                best, feature, step, below, above = gain, d, t, low, high
    return feature, step, below, above, best


@jit
def _boost(
    order: IntArray,
    is_step: BoolArray,
    codes: IntArray,
    weight: FloatArray,
    n_classes: int,
    learning_rate: float,
    stumps: IntArray,
    errors: FloatArray,
) -> tuple[int, bool]:
    """Fill in stumps and errors; return how many rounds were done, and whether they have ended."""
    n = len(codes)
    is_right, signed = np.empty(n, dtype=np.bool_), np.empty(n)
    gains = np.zeros((n if n_classes > 2 else 0, n_classes))
    for t in range(len(stumps)):
        if n_classes == 2:
            for i in range(n):
                signed[i] = weight[i] if codes[i] == 1 else -weight[i]
            feature, step, below, above, _ = _best_of_two(order, is_step, signed)
        else:
            for i in range(n):
                gains[i, codes[i]] = weight[i]
            feature, step, below, above, _ = _best_of_many(order, is_step, gains)
        error = 0.0
        for place in range(n):
            i = order[feature, place]
            is_right[i] = codes[i] == (below if place <= step else above)
            if not is_right[i]:
                error += weight[i]
        if is_chance(error, n_classes):
            return t, True
        stumps[t, 0], stumps[t, 1], stumps[t, 2], stumps[t, 3] = feature, step, below, above
        errors[t] = error
        if error == 0.0:
            return t + 1, True
        reweigh(weight, is_right, hypothesis_weight(error, n_classes, learning_rate))
    return len(stumps), False

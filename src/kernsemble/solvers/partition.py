r"""Partitions of rows into leaves, by splits at the median along random directions.

A node with more than `leaf_rows` rows draws a direction v, whose coordinates are standard normal,
and splits at the weighted median of :math:`v^\top x`. Columns that are scaled by a learned measure
therefore determine the splits in proportion to their weights. Only rows that are equal cannot be
split, so the caller merges these (`merge_equal_rows`).

A row is routed by the same compiled sums that split the training rows, so that a row that is equal
to a training row reaches its leaf.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble._value_object import Value

MAX_DRAWS = 20  # number of directions drawn for a split before a node remains a leaf


@dataclass(frozen=True, eq=False, repr=False)
class Partition(Value):
    """Leaves of rows, and the splits that lead to them.

    Attributes
    ----------
    directions : array of shape (n_splits, n_features)
        The direction v of each split, the first of which divides all rows.
    thresholds : array of shape (n_splits,)
        Rows with a sum above the threshold belong to the second child, the others to the first.
    children : array of shape (n_splits, 2)
        The number of the next split, or −1 − leaf.
    rows : array of shape (n_rows,)
        The rows, one leaf after another.
    ends : array of shape (n_leaves + 1,)
        The leaf k has the rows ``rows[ends[k] : ends[k + 1]]``.
    """

    directions: FloatArray
    thresholds: FloatArray
    children: IntArray
    rows: IntArray
    ends: IntArray

    @classmethod
    def from_rows(
        cls, X: FloatArray, weight: FloatArray, leaf_rows: int, rng: np.random.Generator
    ) -> Self:
        """Divide rows of positive weight until a leaf has at most `leaf_rows` of them.

        Parameters
        ----------
        X : array of shape (n, n_features)
            Rows, no two of them equal.
        weight : array of shape (n,)
            Weights for the medians.
        leaf_rows : int
            Maximum number of rows of a leaf.
        rng : Generator
            Random numbers for the directions.
        """
        directions, thresholds, children = list[FloatArray](), list[float](), list[list[int]]()
        leaves, stack = list[IntArray](), [_Node(np.arange(len(X)), -1, 0)]
        while stack:
            rows, parent, side = stack.pop()
            split = _split(X, weight, rows, rng) if len(rows) > leaf_rows else None
            if parent >= 0:
                children[parent][side] = -1 - len(leaves) if split is None else len(directions)
            if split is None:
                leaves.append(rows)
                continue
            number = len(directions)
            directions.append(split.direction)
            thresholds.append(split.threshold)
            children.append([0, 0])
            stack.append(_Node(rows[split.is_above], number, 1))
            stack.append(_Node(rows[~split.is_above], number, 0))
        return cls(
            np.array(directions).reshape(len(directions), X.shape[1]),
            np.array(thresholds),
            np.array(children, dtype=np.intp).reshape(len(directions), 2),
            np.concatenate(leaves),
            np.cumsum([0, *map(len, leaves)]),
        )

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.ends) - 1

    def rows_of(self, leaf: int) -> IntArray:
        """Return the rows of a leaf."""
        return self.rows[self.ends[leaf] : self.ends[leaf + 1]]

    def route(self, X: FloatArray) -> IntArray:
        """Return the leaf of every row."""
        return _route(np.ascontiguousarray(X), self.directions, self.thresholds, self.children)


class _Node(NamedTuple):
    rows: IntArray
    parent: int  # the split above, −1 for none
    side: int


class _Split(NamedTuple):
    direction: FloatArray
    threshold: float
    is_above: BoolArray


def merge_equal_rows(X: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first of equal rows, and the place of every row among these."""
    if len(X) == 0:
        return np.arange(0), np.arange(0)
    direction = _direction(X.shape[1], np.random.default_rng(0))
    sums = _sums(X, np.arange(len(X)), direction)
    order = np.argsort(sums, kind="stable")
    is_tied = np.append(False, sums[order[1:]] == sums[order[:-1]])
    after = np.flatnonzero(is_tied)
    is_tied[after] = (X[order[after]] == X[order[after - 1]]).all(axis=1)
    group = np.empty(len(X), dtype=np.intp)
    group[order] = np.cumsum(~is_tied) - 1
    first = order[~is_tied]  # the sort is stable
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.sort(first), rank[group]


def _split(
    X: FloatArray, weight: FloatArray, rows: IntArray, rng: np.random.Generator
) -> _Split | None:
    """Return a split at the median along a random direction, None if no direction splits."""
    for _ in range(MAX_DRAWS):
        direction = _direction(X.shape[1], rng)
        sums = _sums(X, rows, direction)
        threshold = _middle(sums, weight[rows])
        is_above = sums > threshold
        if is_above.any() and not is_above.all():
            return _Split(direction, threshold, is_above)
    return None


def _direction(n_features: int, rng: np.random.Generator) -> FloatArray:
    return np.asarray(rng.normal(size=n_features))


def _middle(sums: FloatArray, weight: FloatArray) -> float:
    """Return the value that divides the weight most evenly, itself on the lower side."""
    median = _weighted_median(sums, weight)
    below, upto = (float(weight[mask].sum()) for mask in (sums < median, sums <= median))
    total = float(weight.sum())
    if abs(below - 0.5 * total) < abs(upto - 0.5 * total) or upto == total:
        lower = sums[sums < median]
        return float(lower.max()) if len(lower) else median
    return median


def _weighted_median(values: FloatArray, weight: FloatArray) -> float:
    """Return the smallest value at and below which there is half of the weight."""
    if (weight == weight[0]).all():
        middle = (len(values) - 1) // 2
        return float(np.partition(values, middle)[middle])
    order = np.argsort(values)
    sums = np.cumsum(weight[order])
    place = min(int(np.searchsorted(sums, 0.5 * sums[-1])), len(values) - 1)
    return float(values[order[place]])


@jit
def _sums(X: FloatArray, rows: IntArray, direction: FloatArray) -> FloatArray:
    sums = np.zeros(len(rows))
    for i in range(len(rows)):
        for d in range(len(direction)):
            sums[i] += direction[d] * X[rows[i], d]
    return sums


@jit
def _route(
    X: FloatArray, directions: FloatArray, thresholds: FloatArray, children: IntArray
) -> IntArray:
    leaves = np.zeros(len(X), np.intp)
    if len(thresholds) == 0:
        return leaves
    for i in range(len(X)):
        split = 0
        while split >= 0:
            total = 0.0
            for d in range(X.shape[1]):
                total += directions[split, d] * X[i, d]
            split = children[split, int(total > thresholds[split])]
        leaves[i] = -1 - split
    return leaves

r"""Partitions of rows into leaves, by splits at the median along random directions.

A node with more than `leaf_rows` rows draws a direction v, whose coordinates are standard normal,
and splits at the weighted median of :math:`v^\top x`. Columns that are scaled by a learned measure
therefore determine the splits in proportion to their weights. Only rows that are equal cannot be
split, so the caller merges these (`EqualRows`).

Around the median there is a zone from which rows belong to both sides: between its ends, the share
of the second child rises linearly from 0 to 1, so that a function that is fitted on every leaf is
blended continuously. In nodes of more than `OVERLAP_LEAVES` leaves the zone is empty, so the leaves
have in total at most a constant times as many rows as there are.

New rows are routed by the same compiled sums that split the training rows, so that a row that is
equal to a training row reaches its leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple, Self

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble._value_object import Value

MAX_DRAWS = 20  # number of directions drawn for a split before a node remains a leaf
OVERLAP_LEAVES = 16  # number of leaves below a node up to which its children overlap
MAX_CROWD = 2.0  # share of the rows in a zone, relative to that of the weight, for an overlap


class Routes(NamedTuple):
    """The leaves of rows.

    Attributes
    ----------
    ends : array of shape (n + 1,)
        The row i has the entries from ``ends[i]`` to ``ends[i + 1]`` of the other arrays.
    leaves, shares : arrays
        The leaves that a row belongs to, and the share of each, which sum to 1.
    """

    ends: IntArray
    leaves: IntArray
    shares: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Partition(Value):
    """Leaves of rows, and the splits that lead to them.

    Attributes
    ----------
    directions : array of shape (n_splits, n_features)
        The direction v of each split, the first of which divides all rows.
    lower, upper : arrays of shape (n_splits,)
        Rows with a sum up to `lower` belong to the first child, those above to the second one; and
        those between `lower` and `upper` to both.
    children : array of shape (n_splits, 2)
        The number of the next split, or −1 − leaf.
    rows : array
        The rows, one leaf after another.
    ends : array of shape (n_leaves + 1,)
        The leaf k has the rows ``rows[ends[k] : ends[k + 1]]``.
    """

    directions: FloatArray
    lower: FloatArray
    upper: FloatArray
    children: IntArray
    rows: IntArray
    ends: IntArray

    @classmethod
    def from_rows(
        cls,
        X: FloatArray,
        weight: FloatArray,
        leaf_rows: int,
        rng: np.random.Generator,
        overlap: float = 0.0,
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
        overlap : float
            Share of the weight of a node, on either side of its median, in the zone.
        """
        splits, children = list[_Split](), list[list[int]]()
        leaves, stack = list[IntArray](), [_Node(np.arange(len(X)), -1, 0)]
        while stack:
            rows, parent, side = stack.pop()
            split = None
            if len(rows) > leaf_rows:
                zone = overlap if len(rows) <= OVERLAP_LEAVES * leaf_rows else 0.0
                split = _split(X, weight, rows, zone, rng)
            if parent >= 0:
                children[parent][side] = -1 - len(leaves) if split is None else len(splits)
            if split is None:
                leaves.append(rows)
                continue
            stack.append(_Node(rows[split.is_second], len(splits), 1))
            stack.append(_Node(rows[split.is_first], len(splits), 0))
            splits.append(split)
            children.append([0, 0])
        return cls(
            np.array([each.direction for each in splits]).reshape(len(splits), X.shape[1]),
            np.array([each.lower for each in splits]),
            np.array([each.upper for each in splits]),
            np.array(children, dtype=np.intp).reshape(len(splits), 2),
            np.concatenate(leaves),
            np.cumsum([0, *map(len, leaves)]),
        )

    @classmethod
    def grafted(cls, trunk: Self, branches: Sequence[Self]) -> Self:
        """Return the partition in which each leaf of `trunk` is divided further by a branch.

        The rows of the branches are numbered one branch after another.
        """
        first_split = np.cumsum([len(trunk.children), *(len(each.children) for each in branches)])
        first_leaf = np.cumsum([0, *(each.n_leaves for each in branches)])
        first_row = np.cumsum([0, *(each.n_distinct for each in branches)])
        roots = [
            split if len(each.children) else -1 - leaf
            for each, split, leaf in zip(branches, first_split, first_leaf, strict=False)
        ]
        top = trunk.children.copy()
        is_leaf = top < 0
        top[is_leaf] = np.array(roots, dtype=np.intp)[-1 - top[is_leaf]]
        children, rows, sizes = [top], list[IntArray](), list[IntArray]()
        for number, each in enumerate(branches):
            mine = each.children
            children.append(
                np.where(mine < 0, mine - first_leaf[number], mine + first_split[number])
            )
            rows.append(each.rows + first_row[number])
            sizes.append(np.diff(each.ends))
        trees = [trunk, *branches]
        return cls(
            np.concatenate([each.directions for each in trees]),
            np.concatenate([each.lower for each in trees]),
            np.concatenate([each.upper for each in trees]),
            np.concatenate(children),
            np.concatenate(rows),
            np.append(0, np.cumsum(np.concatenate(sizes))),
        )

    @property
    def n_distinct(self) -> int:
        """The number of rows, each counted once."""
        return int(self.rows.max(initial=-1)) + 1

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.ends) - 1

    def rows_of(self, leaf: int) -> IntArray:
        """Return the rows of a leaf."""
        return self.rows[self.ends[leaf] : self.ends[leaf + 1]]

    def route(self, X: FloatArray) -> Routes:
        """Return the leaves of every row."""
        if self.n_leaves == 1:
            n = len(X)
            return Routes(np.arange(n + 1), np.zeros(n, dtype=np.intp), np.ones(n))
        X = np.ascontiguousarray(X)
        return Routes(*_route(X, self.directions, self.lower, self.upper, self.children))


class _Node(NamedTuple):
    rows: IntArray
    parent: int  # the split above, −1 for none
    side: int


class _Split(NamedTuple):
    direction: FloatArray
    lower: float
    upper: float
    is_first: BoolArray
    is_second: BoolArray


def _split(
    X: FloatArray, weight: FloatArray, rows: IntArray, overlap: float, rng: np.random.Generator
) -> _Split | None:
    """Return a split at the median along a random direction, None if no direction splits."""
    for _ in range(MAX_DRAWS):
        direction = _direction(X, rows, rng)
        sums = _sums(X, rows, direction)
        lower, upper = _zone(sums, weight[rows], overlap)
        is_second = sums > lower
        is_first = sums < upper if lower < upper else ~is_second
        if is_second.any() and is_first.any():
            return _Split(direction, lower, upper, is_first, is_second)
    return None


def _direction(X: FloatArray, rows: IntArray, rng: np.random.Generator) -> FloatArray:  # noqa: ARG001
    """Return a random direction for the split of some rows; a benchmark tries others."""
    return np.asarray(rng.normal(size=X.shape[1]))


def _zone(sums: FloatArray, weight: FloatArray, overlap: float) -> tuple[float, float]:
    """Return the ends of the zone around the median, both the threshold if it is empty.

    It is empty too if it has far more than its share of the rows, whose weights are small.
    """
    if overlap > 0.0:
        lower, upper = _quantiles(sums, weight, (0.5 - overlap, 0.5 + overlap))
        n_within = int(((sums > lower) & (sums < upper)).sum())
        if lower < upper and n_within <= MAX_CROWD * 2.0 * overlap * len(sums):
            return lower, upper
    threshold = _threshold(sums, weight)
    return threshold, threshold


def _threshold(sums: FloatArray, weight: FloatArray) -> float:
    """Return the value that divides the weight most evenly, itself on the lower side."""
    (median,) = _quantiles(sums, weight, (0.5,))
    below, upto = (float(weight[mask].sum()) for mask in (sums < median, sums <= median))
    total = float(weight.sum())
    if abs(below - 0.5 * total) < abs(upto - 0.5 * total) or upto == total:
        lower = sums[sums < median]
        return float(lower.max()) if len(lower) else median
    return median


def _quantiles(values: FloatArray, weight: FloatArray, shares: tuple[float, ...]) -> list[float]:
    """Return for each share the smallest value at and below which there is that much weight."""
    if (weight == weight[0]).all():
        places = [max(ceil(share * len(values)) - 1, 0) for share in shares]
        return np.partition(values, places)[places].tolist()
    order = np.argsort(values)
    sums = np.cumsum(weight[order])
    found = np.minimum(np.searchsorted(sums, np.array(shares) * sums[-1]), len(values) - 1)
    return values[order[found]].tolist()


@jit
def _sums(X: FloatArray, rows: IntArray, direction: FloatArray) -> FloatArray:
    sums = np.zeros(len(rows))
    for i in range(len(rows)):
        for d in range(len(direction)):
            sums[i] += direction[d] * X[rows[i], d]
    return sums


@jit
def _route(
    X: FloatArray,
    directions: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    children: IntArray,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Follow the splits twice: count the leaves of every row, then fill them in."""
    n_leaves = len(children) + 1
    path, weights = np.empty(n_leaves, np.intp), np.empty(n_leaves)
    mine, parts = np.empty(n_leaves, np.intp), np.empty(n_leaves)
    ends = np.zeros(len(X) + 1, np.intp)
    for i in range(len(X)):
        n = _visit(X[i], directions, lower, upper, children, path, weights, mine, parts)
        ends[i + 1] = ends[i] + n
    leaves, shares = np.empty(ends[-1], np.intp), np.empty(ends[-1])
    for i in range(len(X)):
        n = _visit(X[i], directions, lower, upper, children, path, weights, mine, parts)
        leaves[ends[i] : ends[i + 1]] = mine[:n]
        shares[ends[i] : ends[i + 1]] = parts[:n]
    return ends, leaves, shares


@jit
def _visit(
    x: FloatArray,
    directions: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    children: IntArray,
    path: IntArray,
    weights: FloatArray,
    leaves: IntArray,
    shares: FloatArray,
) -> int:
    """Write the leaves of a row and their shares, and return their number.

    `path` contains the splits and leaves still to visit, `weights` the share of each.
    """
    path[0], weights[0] = 0, 1.0
    n_left, n = 1, 0
    while n_left > 0:
        n_left -= 1
        split, weight = path[n_left], weights[n_left]
        if split < 0:
            leaves[n], shares[n] = -1 - split, weight
            n += 1
            continue
        total = 0.0
        for d in range(len(x)):
            total += directions[split, d] * x[d]
        second = 0.0
        if total > lower[split]:
            second = 1.0
            if total < upper[split]:
                second = (total - lower[split]) / (upper[split] - lower[split])
        if second < 1.0:
            path[n_left], weights[n_left] = children[split, 0], weight * (1.0 - second)
            n_left += 1
        if second > 0.0:
            path[n_left], weights[n_left] = children[split, 1], weight * second
            n_left += 1
    return n

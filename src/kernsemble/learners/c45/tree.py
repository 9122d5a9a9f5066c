"""A decision tree as arrays: its predictions, and its text form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import Value

LEAF = -1  # value that replaces the feature and the children of a leaf


@dataclass(frozen=True, eq=False, repr=False)
class Tree(Value):
    """Tests ``x[feature] <= threshold``, numbered from the root, each before its branches.

    A leaf has feature and branches −1. `distribution` is the weight of the training cases
    of each class at each node: cases with a missing value are divided between the two
    branches in the proportions of the others.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    distribution: FloatArray

    @classmethod
    def from_nodes(
        cls,
        feature: IntArray,
        threshold: FloatArray,
        left: IntArray,
        right: IntArray,
        distribution: FloatArray,
    ) -> Self:
        """Return the tree of the nodes that can be reached from the first, renumbered."""
        kept, left, right = _renumbered(feature, left, right)
        return cls(feature[kept], threshold[kept], left, right, distribution[kept])

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return (self.n_nodes + 1) // 2

    @property
    def n_cases(self) -> FloatArray:
        """The weight of the training cases at each node."""
        return self.distribution.sum(axis=1)

    @property
    def depth(self) -> int:
        """The largest number of tests from the root to a leaf."""
        return int(self._levels().max())

    def _levels(self) -> IntArray:
        levels = np.zeros(self.n_nodes, dtype=np.intp)
        for node in np.flatnonzero(self.feature != LEAF):
            levels[[self.left[node], self.right[node]]] = levels[node] + 1
        return levels

    def shares(self, X: FloatArray) -> FloatArray:
        """Return class probabilities: the class frequencies in the leaf of each row.

        A row with a missing value goes down both branches, weighted by their fractions of the
        training cases.
        """
        n_cases = self.n_cases
        of_class = self.distribution / n_cases[:, np.newaxis]
        return _shares(X, self.feature, self.threshold, self.left, self.right, of_class, n_cases)

    def codes(self, X: FloatArray) -> IntArray:
        """Return the code of the most probable class of each row, the first of ties."""
        return self.shares(X).argmax(axis=1)

    def text(self, feature_names: Sequence[Any], class_names: Any) -> str:
        """Return the tree as C4.5 prints it: one line per branch, (cases/errors) at leaves."""
        if self.n_nodes == 1:
            return self._leaf_text(0, class_names).lstrip()
        lines: list[str] = []
        pending = [(0, 0, True), (0, 0, False)]  # a stack
        while pending:
            node, level, is_right = pending.pop()
            child = (self.right if is_right else self.left)[node]
            test = f"{feature_names[self.feature[node]]} {'>' if is_right else '<='}"
            line = f"{'|   ' * level}{test} {self.threshold[node]:.6g} :"
            if self.feature[child] == LEAF:
                line += self._leaf_text(child, class_names)
            else:
                pending += [(child, level + 1, True), (child, level + 1, False)]
            lines.append(line)
        return "\n".join(lines)

    def _leaf_text(self, node: int, class_names: Any) -> str:
        best, n_cases = self.distribution[node].argmax(), self.n_cases[node]
        errors = n_cases - self.distribution[node, best]
        counts = f"{n_cases:.1f}" + (f"/{errors:.1f}" if errors >= 0.05 else "")
        return f" {class_names[best]} ({counts})"


@jit
def _renumbered(
    feature: IntArray, left: IntArray, right: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the reachable nodes, each before its branches, and their renumbered branches."""
    kept = np.empty(len(feature), dtype=np.int64)
    new_left = np.full(len(feature), LEAF, dtype=np.int64)
    new_right = np.full(len(feature), LEAF, dtype=np.int64)
    pending = np.empty(len(feature), dtype=np.int64)
    parents = np.empty(len(feature), dtype=np.int64)  # new numbers of the parents of right branches
    pending[0], parents[0], n_pending, n_kept = 0, LEAF, 1, 0
    while n_pending > 0:
        n_pending -= 1
        node, parent = pending[n_pending], parents[n_pending]
        if parent >= 0:
            new_right[parent] = n_kept
        while True:
            kept[n_kept] = node
            n_kept += 1
            if feature[node] < 0:
                break
            pending[n_pending], parents[n_pending] = right[node], n_kept - 1
            n_pending += 1
            new_left[n_kept - 1] = n_kept
            node = left[node]
    return kept[:n_kept], new_left[:n_kept], new_right[:n_kept]


@jit
def _shares(
    X: FloatArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    of_class: FloatArray,
    n_cases: FloatArray,
) -> FloatArray:
    n_classes = of_class.shape[1]
    shares = np.zeros((len(X), n_classes))
    pending = np.empty(len(feature), dtype=np.int64)  # branches still to be followed
    parts = np.empty(len(feature))  # fractions of the row that follow them
    for i in range(len(X)):
        pending[0], parts[0], n_pending = 0, 1.0, 1
        while n_pending > 0:
            n_pending -= 1
            node, part = pending[n_pending], parts[n_pending]
            while feature[node] >= 0:
                value = X[i, feature[node]]
                if np.isnan(value):
                    below = n_cases[left[node]] / (n_cases[left[node]] + n_cases[right[node]])
                    pending[n_pending], parts[n_pending] = right[node], part * (1.0 - below)
                    n_pending += 1
                    part *= below
                    node = left[node]
                else:
                    node = left[node] if value <= threshold[node] else right[node]
            for k in range(n_classes):
                shares[i, k] += part * of_class[node, k]
    return shares

"""The votes of boosted trees and perceptrons as arrays."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from kernsemble._typing import FloatArray, IntArray
from kernsemble.export.refusals import NotExportableError
from kernsemble.inspection.vote_decomposition import class_votes
from kernsemble.learners import C45Tree, RCDPerceptron
from kernsemble.learners.c45.tree import LEAF


class TreeVotes(NamedTuple):
    """Trees as one array of nodes, whose leaves test nothing and lead to themselves.

    Attributes
    ----------
    feature, threshold, left, right : arrays of shape (n_nodes,)
        A row goes left if its feature is at most the threshold.
    votes : array of shape (n_nodes, n_machines)
        The weighted vote of each leaf for the machines.
    roots : array of shape (n_trees,)
        The first node of each tree.
    depth : int
        The largest number of tests.
    is_single : bool
        Whether rows are compared in single precision, as scikit-learn's trees do.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    votes: FloatArray
    roots: IntArray
    depth: int
    is_single: bool


class PlaneVotes(NamedTuple):
    """Hyperplanes, of which each votes for the class on its side.

    Attributes
    ----------
    coef, intercept : arrays of shape (n_planes, n_features) and (n_planes,)
        The hyperplanes.
    below, above : arrays of shape (n_planes, n_machines)
        The weighted votes on both sides, the hyperplane itself on the one below.
    """

    coef: FloatArray
    intercept: FloatArray
    below: FloatArray
    above: FloatArray


def voter_terms(model: Any) -> tuple[TreeVotes | None, PlaneVotes | None]:
    """Return the votes of a boosted ensemble, of trees or of hyperplanes."""
    used = np.flatnonzero(model.estimator_weights_)
    voters = [model.voters_.fitted[place] for place in used.tolist()]
    weights = model.estimator_weights_[used]
    n_classes = len(model.classes_)
    machines = range(1 if n_classes == 2 else n_classes)
    values = np.column_stack([class_votes(n_classes, k) for k in machines])  # of each class
    votes = [
        weight * values[np.searchsorted(model.classes_, each.classes_)]
        for weight, each in zip(weights, voters, strict=True)
    ]
    kinds = {type(each) for each in voters}
    if kinds <= {C45Tree} or kinds <= {DecisionTreeClassifier}:
        return _trees(voters, votes, is_single=C45Tree not in kinds), None
    if kinds <= {RCDPerceptron} and all(len(each.coef_) == 1 for each in voters):
        return None, _planes(voters, votes)
    raise NotExportableError(
        f"estimator = {model.estimator!r}: only ensembles of stumps, C45Tree, scikit-learn's "
        "DecisionTreeClassifier, and RCDPerceptron on two classes can be exported"
    )


def _trees(voters: Sequence[Any], votes: Sequence[FloatArray], is_single: bool) -> TreeVotes:
    parts = [_nodes(each.tree_) for each in voters]
    sizes = [len(part[0]) for part in parts]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    leaf_votes = []
    for (*_, winner), vote in zip(parts, votes, strict=True):
        leaf_votes.append(vote[winner])
    feature, threshold = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    left, right = (
        np.concatenate([root + part[k] for root, part in zip(roots, parts, strict=True)])
        for k in (2, 3)
    )
    depth = max(int(each.get_depth()) for each in voters)
    return TreeVotes(
        feature, threshold, left, right, np.concatenate(leaf_votes), roots, depth, is_single
    )


def _nodes(tree: Any) -> tuple[Any, ...]:
    """Return feature, threshold, branches and the most probable class of every node."""
    is_ours = hasattr(tree, "distribution")
    left, right = (tree.left, tree.right) if is_ours else (tree.children_left, tree.children_right)
    shares = tree.distribution if is_ours else tree.value[:, 0]
    is_leaf, own = left == LEAF, np.arange(len(left))
    return (
        np.where(is_leaf, 0, tree.feature),
        np.where(is_leaf, np.inf, tree.threshold),
        np.where(is_leaf, own, left),
        np.where(is_leaf, own, right),
        shares.argmax(axis=1),
    )


def _planes(voters: Sequence[Any], votes: Sequence[FloatArray]) -> PlaneVotes:
    return PlaneVotes(
        np.concatenate([each.coef_ for each in voters]),
        np.concatenate([each.intercept_ for each in voters]),
        np.array([vote[0] for vote in votes]),
        np.array([vote[-1] for vote in votes]),
    )

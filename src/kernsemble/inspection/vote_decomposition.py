"""Decomposition of boosted ensembles: stumps into columns, other hypotheses as one function."""

from collections.abc import Iterator

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.inspection.decomposition import AdditiveTerm, Decomposition, Interaction, no_norm
from kernsemble.inspection.shape_functions import StumpDensity
from kernsemble.learners.stump import StumpVoters
from kernsemble.learners.voters import Voters


def class_votes(n_classes: int, machine: int) -> FloatArray:
    """Return the value of a vote for each class: ±1 for two classes, else one-hot."""
    return np.array([-1.0, 1.0]) if n_classes == 2 else np.eye(n_classes)[machine]


def decompose_votes(
    voters: Voters, weights: FloatArray, n_classes: int, machine: int, n_features: int
) -> Decomposition:
    """Return the decomposition of the weighted votes for a class."""
    votes = class_votes(n_classes, machine)
    if isinstance(voters, StumpVoters):
        below, above = votes[voters.below], votes[voters.above]
        is_constant = np.isneginf(voters.threshold)
        intercept = weights @ np.where(is_constant, above, 0.5 * (above + below))
        jumps = np.where(is_constant, 0.0, 0.5 * (above - below)) * weights
        terms = list(_stump_terms(voters.feature, voters.threshold, jumps))
        return Decomposition(float(intercept), terms, [])

    def values(rows: FloatArray) -> FloatArray:
        return voters.votes(rows, weights, n_classes) @ votes

    n_voters = int(np.count_nonzero(weights))
    whole = Interaction(
        f"the vote of {n_voters} hypotheses", np.arange(n_features), values, no_norm
    )
    return Decomposition(0.0, [], [whole])


def _stump_terms(
    feature: IntArray, threshold: FloatArray, jumps: FloatArray
) -> Iterator[AdditiveTerm]:
    for column in np.unique(feature[jumps != 0.0]).tolist():
        mine = (feature == column) & (jumps != 0.0)
        thresholds, which = np.unique(threshold[mine], return_inverse=True)
        total = np.bincount(which, jumps[mine], len(thresholds)).astype(np.float64)
        density = StumpDensity(thresholds, thresholds, np.ones(len(thresholds)), total)
        yield AdditiveTerm(column, density.shape(), density, float(np.abs(density.density).sum()))

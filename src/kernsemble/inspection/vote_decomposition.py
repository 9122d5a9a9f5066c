"""Finite ensembles as sums: stumps over columns, other hypotheses over rows."""

from collections.abc import Iterator

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.inspection.decomposition import AdditiveTerm, Decomposition, Interaction, no_norm
from kernsemble.inspection.shape_functions import StumpDensity
from kernsemble.learners.stump import StumpVoters
from kernsemble.learners.voters import Voters


def class_votes(n_classes: int, machine: int) -> FloatArray:
    """Return what it counts to say each class: ±1 of two, of more 1 for that of the machine."""
    return np.array([-1.0, 1.0]) if n_classes == 2 else np.eye(n_classes)[machine]


def decompose_votes(
    voters: Voters, weights: FloatArray, n_classes: int, machine: int, n_features: int
) -> Decomposition:
    """Return what weighted votes for a class are the sum of."""
    said = class_votes(n_classes, machine)
    if isinstance(voters, StumpVoters):
        below, above = said[voters.below], said[voters.above]
        is_constant = np.isneginf(voters.threshold)
        intercept = weights @ np.where(is_constant, above, 0.5 * (above + below))
        jumps = np.where(is_constant, 0.0, 0.5 * (above - below)) * weights
        pieces = list(_of_stumps(voters.feature, voters.threshold, jumps))
        return Decomposition(float(intercept), pieces, [])

    def values(rows: FloatArray) -> FloatArray:
        return voters.votes(rows, weights, n_classes) @ said

    heard = int(np.count_nonzero(weights))
    whole = Interaction(f"the vote of {heard} hypotheses", np.arange(n_features), values, no_norm)
    return Decomposition(0.0, [], [whole])


def _of_stumps(
    feature: IntArray, threshold: FloatArray, jumps: FloatArray
) -> Iterator[AdditiveTerm]:
    for column in np.unique(feature[jumps != 0.0]).tolist():
        mine = (feature == column) & (jumps != 0.0)
        places, which = np.unique(threshold[mine], return_inverse=True)
        total = np.bincount(which, jumps[mine], len(places)).astype(np.float64)
        density = StumpDensity(places, places, np.ones(len(places)), total)
        yield AdditiveTerm(column, density.shape(), density, float(np.abs(density.density).sum()))

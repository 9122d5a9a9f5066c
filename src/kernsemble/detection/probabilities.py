"""Probabilities of rare classes, calibrated on their out-of-fold scores."""

from collections.abc import Sequence

import numpy as np

from kernsemble._calibration_curves import Isotonic, Sigmoid, fit_curve
from kernsemble._typing import BoolArray, FloatArray, IntArray

SMALLEST = np.finfo(np.float64).eps  # smallest probability of a rare class against the rest


def calibrate(scores: FloatArray, is_rare: BoolArray, counts: FloatArray) -> Sigmoid | Isotonic:
    """Return Platt's sigmoid fitted to the scores of held-out rows of positive weight.

    Without any finite score it is the constant one half, which Platt's targets of no rows are.
    """
    if len(scores) == 0:
        return Sigmoid(0.0, 0.0)
    if (total := counts.sum()) < len(counts):
        counts = counts / total * len(counts)
    return fit_curve("sigmoid", scores, is_rare, counts)


def class_probabilities(
    curves: Sequence[Sigmoid | Isotonic], scores: FloatArray, rare: IntArray, shares: FloatArray
) -> FloatArray:
    r"""Return the probability of every class (columns) at every row.

    The curve of rare class k returns the probability :math:`q_k` of k against all other rows.
    With odds :math:`o_k = q_k / (1 - q_k)`,

    .. math:: P(k \mid x) = \frac{o_k}{1 + \sum_j o_j},
              \qquad P(\text{background} \mid x) = \frac{1}{1 + \sum_j o_j} ,

    which is :math:`q_k` if k is the only rare class.

    Parameters
    ----------
    curves : sequence of curves
        One per rare class.
    scores : array of shape (n, n_rare)
        Scores of rows.
    rare : array of shape (n_rare,)
        Codes of the rare classes.
    shares : array of shape (n_classes,)
        Weight of the training rows of each class; classes of the background share its
        probability in proportion.
    """
    each = [curve(column) for curve, column in zip(curves, scores.T, strict=True)]
    against = np.clip(np.column_stack(each), SMALLEST, 1.0 - SMALLEST)
    odds = against / (1.0 - against)
    background = 1.0 / (1.0 + odds.sum(axis=1, keepdims=True))
    rest = shares.astype(np.float64)
    rest[rare] = 0.0
    found = background * rest / rest.sum()
    found[:, rare] = background * odds
    return found

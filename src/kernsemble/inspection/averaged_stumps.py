"""Averaged stumps: a finite ensemble equal to that of all stumps (Theorem 8)."""

from dataclasses import dataclass

import numpy as np

from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.inspection.shape_functions import average_vote


@dataclass(frozen=True, eq=False, repr=False)
class AveragedStumps(Value):
    r"""Averaged stumps, finitely many, equal to all stumps (Theorem 8 of Lin and Li).

    .. math:: K(x_i, x) = \sum_{q, d, a} \hat r_{da}^2\, \hat s_{qda}(x_i)\, \hat s_{qda}(x),
              \qquad f(x) = b + \textstyle\sum_{d,a} w_{da}\, \hat s_{da}(x),

    one for each gap between neighbouring values of the support vectors: :math:`\hat s` rises
    from −1 to 1 across the gap. Both polarities contribute equally; only the upward one is stored.

    Attributes
    ----------
    feature : array of shape (m,)
        Column of each stump.
    lower, upper : arrays of shape (m,)
        Ends of the gaps, in the units of the column.
    embedding : array of shape (m,)
        :math:`\hat r`: half the root of the measure of the thresholds in the gap.
    weight : array of shape (m,)
        Weight w, of both polarities together.
    intercept : float
        Intercept b.
    """

    feature: IntArray
    lower: FloatArray
    upper: FloatArray
    embedding: FloatArray
    weight: FloatArray
    intercept: float

    def vote(self, X: ArrayLike) -> FloatArray:
        r"""Return the votes :math:`\hat s` of all stumps (columns) at rows of numbers."""
        rows = np.asarray(X, dtype=np.float64)
        return average_vote(rows[:, self.feature], self.lower, self.upper)

    def kernel(self, X: ArrayLike, Z: ArrayLike) -> FloatArray:
        """Return the kernel between support vectors `X` and rows `Z`."""
        return 2.0 * (self.vote(X) * self.embedding**2) @ self.vote(Z).T

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the weighted vote at rows."""
        return self.intercept + self.vote(X) @ self.weight

"""Theorem 8: an ensemble of all stumps is one of finitely many averaged stumps."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kernsemble._typing import FloatArray, IntArray
from kernsemble._value import Value
from kernsemble.inspection.shape_functions import average_vote


@dataclass(frozen=True, eq=False)
class AveragedStumps(Value):
    r"""Finitely many ramps that vote as all stumps do (Theorem 8 of Lin and Li).

    .. math:: K(x_i, x) = \sum_{q, d, a} \hat r_{da}^2\, \hat s_{qda}(x_i)\, \hat s_{qda}(x),
              \qquad f(x) = b + \textstyle\sum_{d,a} w_{da}\, \hat s_{da}(x),

    one for each gap between neighbouring values of the support vectors: :math:`\hat s` rises
    from −1 to 1 across it. Of the two polarities, which have the same part in both sums, the
    upward one is kept.

    Attributes
    ----------
    feature : array of shape (m,)
        The columns.
    lower, upper : arrays of shape (m,)
        The gaps, in the unit of the column.
    embedding : array of shape (m,)
        :math:`\hat r`: half the root of the measure of the thresholds in the gap.
    weight : array of shape (m,)
        w, of both polarities together.
    intercept : float
        b.
    """

    feature: IntArray
    lower: FloatArray
    upper: FloatArray
    embedding: FloatArray
    weight: FloatArray
    intercept: float

    def vote(self, X: ArrayLike) -> FloatArray:
        r"""Return :math:`\hat s` of all stumps (columns) at rows of numbers."""
        rows = np.asarray(X, dtype=np.float64)
        return average_vote(rows[:, self.feature], self.lower, self.upper)

    def kernel(self, X: ArrayLike, Z: ArrayLike) -> FloatArray:
        """Return the kernel between rows, of which those of `X` are support vectors."""
        return 2.0 * (self.vote(X) * self.embedding**2) @ self.vote(Z).T

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the weighted vote at rows."""
        return self.intercept + self.vote(X) @ self.weight

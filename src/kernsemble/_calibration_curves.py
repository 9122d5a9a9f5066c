r"""Calibration curves: scores of held-out rows -> probabilities of one side.

A curve is fitted to scores, each with Platt's target,

.. math:: t_+ = \frac{N_+ + 1}{N_+ + 2}, \qquad t_- = \frac{1}{N_- + 2} ,

the estimate of Bayes' rule from :math:`N_\pm` examples of a side, in place of 1 and 0, so that
scores which separate the sample are not overconfident.
"""

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from kernsemble._typing import BoolArray, FloatArray
from kernsemble._value_object import Value

CurveKind: TypeAlias = Literal["sigmoid", "isotonic"]

MAX_STEPS = 100  # maximum number of Newton steps; about ten suffice


@dataclass(frozen=True, eq=False, repr=False)
class Sigmoid(Value):
    r"""Platt's curve :math:`1 / (1 + e^{-(a f + b)})` with :math:`a \ge 0`."""

    slope: float
    offset: float

    @classmethod
    def through(cls, values: FloatArray, targets: FloatArray, weight: FloatArray) -> Self:
        """Return the maximum-likelihood curve; constant if larger values are less likely."""
        unit = float(weight @ np.abs(values) / weight.sum()) or 1.0
        odds = np.log(weight @ targets) - np.log(weight @ (1.0 - targets))
        start = np.array([0.0, odds])
        slope, offset = _likeliest(values / unit, targets, weight / weight.sum(), start)
        return cls(slope / unit, offset) if slope > 0.0 else cls(0.0, start[1])

    def __call__(self, values: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return expit(self.slope * values + self.offset)


@dataclass(frozen=True, eq=False, repr=False)
class Isotonic(Value):
    """The maximum-likelihood curve that never falls, linear between its knots."""

    knots: FloatArray
    levels: FloatArray

    @classmethod
    def through(cls, values: FloatArray, targets: FloatArray, weight: FloatArray) -> Self:
        fitted = IsotonicRegression(out_of_bounds="clip").fit(values, targets, weight)
        return cls(fitted.X_thresholds_, np.round(fitted.y_thresholds_, 12))  # ties stay ties

    def __call__(self, values: FloatArray) -> FloatArray:
        return np.interp(values, self.knots, self.levels)


CURVES: dict[CurveKind, type[Sigmoid | Isotonic]] = {"sigmoid": Sigmoid, "isotonic": Isotonic}


def fit_curve(
    kind: CurveKind, values: FloatArray, is_positive: BoolArray, weight: FloatArray
) -> Sigmoid | Isotonic:
    """Return the curve from the scores of held-out rows to the probability of the positive side.

    Weights must be positive; those that sum to less than the number of rows should be scaled up.
    """
    return CURVES[kind].through(values, _targets(is_positive, weight), weight)


def _targets(is_positive: BoolArray, weight: FloatArray) -> FloatArray:
    """Return Platt's targets of positive and negative rows."""
    positive, negative = float(weight[is_positive].sum()), float(weight[~is_positive].sum())
    return np.where(is_positive, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))


def _likeliest(
    values: FloatArray, targets: FloatArray, weight: FloatArray, start: FloatArray
) -> FloatArray:
    r"""Return the slope and offset that minimise the log-loss, by damped Newton steps.

    .. math:: \sum_i w_i \left[\log(1 + e^{z_i}) - t_i z_i\right],
              \qquad z_i = a f_i + b
    """
    rows = np.column_stack([values, np.ones_like(values)])

    def loss(point: FloatArray) -> float:
        z = rows @ point
        return float(weight @ (np.logaddexp(0.0, z) - targets * z))

    point = start
    for _ in range(MAX_STEPS):
        p = expit(rows @ point)
        curvature = (rows.T * (weight * p * (1.0 - p))) @ rows
        curvature.flat[::3] += 1e-12  # values that are all equal have none
        slope = rows.T @ (weight * (targets - p))
        step = np.linalg.solve(curvature, slope)
        gain, size, reached = float(slope @ step), 1.0, loss(point)
        is_last = gain < 1e-12  # the remaining error is of the order of its square
        while not is_last and loss(point + size * step) > reached - 1e-4 * size * gain:
            size *= 0.5
        point = point + size * step
        if is_last:
            break
    return point

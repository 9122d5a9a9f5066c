r"""Class probabilities, calibrated on the decision values of held-out rows.

A curve turns the value of one machine into the probability of its positive side. It is fitted
to out-of-fold values, each with Platt's target,

.. math:: t_+ = \frac{N_+ + 1}{N_+ + 2}, \qquad t_- = \frac{1}{N_- + 2} ,

the estimate of Bayes' rule from :math:`N_\pm` examples of a side, in place of 1 and 0, so that
machines which separate the sample are not overconfident.
"""

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

import numpy as np
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from kernsemble._arguments import check_choice
from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.solvers.losses import LOSSES
from kernsemble.svm.multiclass import Reduction

CurveKind: TypeAlias = Literal["sigmoid", "isotonic"]

EPS = np.finfo(np.float64).eps
LEAD = 1e-14  # relative lead of the predicted class, visible in a float and its logarithm
MAX_STEPS = 100  # maximum number of Newton steps; about ten suffice


@dataclass(frozen=True, eq=False)
class Sigmoid(Value):
    r"""Platt's curve :math:`1 / (1 + e^{-(a f + b)})` with :math:`a \ge 0`."""

    slope: float
    offset: float

    @classmethod
    def through(cls, values: FloatArray, targets: FloatArray, weight: FloatArray) -> Self:
        """Return the maximum-likelihood curve; constant if larger values are less likely."""
        unit = float(weight @ np.abs(values) / weight.sum()) or 1.0
        share = float(weight @ targets / weight.sum())
        start = np.array([0.0, np.log(share / (1.0 - share))])
        slope, offset = _likeliest(values / unit, targets, weight / weight.sum(), start)
        return cls(slope / unit, offset) if slope > 0.0 else cls(0.0, start[1])

    def __call__(self, values: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return expit(self.slope * values + self.offset)


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
class InverseLink(Value):
    """The inverse link of a loss that models probabilities itself."""

    loss: str

    def __call__(self, values: FloatArray) -> FloatArray:
        return LOSSES[self.loss].inverse_link(values)


Curve: TypeAlias = Sigmoid | Isotonic | InverseLink
CURVES: dict[str, type[Sigmoid | Isotonic]] = {"sigmoid": Sigmoid, "isotonic": Isotonic}


@dataclass(frozen=True, eq=False)
class Calibration(Value):
    """The curves of all machines, and the reduction that combines them into classes."""

    reduction: Reduction
    curves: tuple[Curve, ...]

    @classmethod
    def from_held_out(
        cls,
        kind: CurveKind,
        reduction: Reduction,
        values: FloatArray,
        codes: IntArray,
        weight: FloatArray,
    ) -> Self:
        """Fit the curves to the decision values of held-out rows.

        Parameters
        ----------
        kind : {"sigmoid", "isotonic"}
            The kind of the curves.
        reduction : Reduction
            The classes on the two sides of each machine.
        values : array of shape (n, n_machines)
            Out-of-fold decision values. A row may come several times.
        codes, weight : arrays of shape (n,)
            The class code and the weight of each row. Weights that sum to less than the number
            of rows are scaled up to it.
        """
        check_calibration(kind)
        weight = weight * max(1.0, np.count_nonzero(weight) / weight.sum())
        curves: list[Curve] = []
        for machine in range(reduction.n_machines):
            signs = reduction.signs(codes, machine)
            is_used = (signs != 0.0) & (weight > 0.0)
            if not is_used.any():
                curves.append(Sigmoid(0.0, 0.0))
                continue
            targets = _targets(signs[is_used], weight[is_used])
            curves.append(CURVES[kind].through(values[is_used, machine], targets, weight[is_used]))
        return cls(reduction, tuple(curves))

    @classmethod
    def from_loss(cls, loss: str, reduction: Reduction) -> Self:
        """Return the curves of machines whose loss has a link, which need no calibration."""
        return cls(reduction, (InverseLink(loss),) * reduction.n_machines)

    def probabilities(self, values: FloatArray) -> FloatArray:
        """Return the probability of every class (columns), largest for the predicted one."""
        shares = [curve(column) for curve, column in zip(self.curves, values.T, strict=True)]
        shares = np.clip(np.column_stack(shares), EPS, 1.0 - EPS)
        return with_largest(self.reduction.combine(shares), self.reduction.winners(values))


def check_calibration(kind: object) -> None:
    """Check the name of a curve."""
    check_choice("calibration", kind, (*get_args(CurveKind), None))  # type: ignore[arg-type]


def with_largest(probabilities: FloatArray, predicted: IntArray) -> FloatArray:
    r"""Return the nearest probabilities of which that of the predicted class is the largest.

    Nearest is :math:`\min_q \sum_k p_k \log(p_k / q_k)`: rows that contradict the prediction
    lose least in log-loss if p is right. The solution averages the predicted class with those
    above the average, the largest first.
    """
    k = predicted[:, np.newaxis]
    mine = np.take_along_axis(probabilities, k, axis=1)
    others = probabilities.copy()
    np.put_along_axis(others, k, -np.inf, axis=1)
    ranked = -np.sort(-others, axis=1)[:, :-1]
    averages = (mine + np.cumsum(ranked, axis=1)) / np.arange(2.0, probabilities.shape[1] + 1.0)
    level = np.maximum(averages.max(axis=1, keepdims=True), mine)
    pooled = np.minimum(probabilities, level)
    np.put_along_axis(pooled, k, (1.0 + LEAD) * level, axis=1)
    return np.where(mine < (1.0 + LEAD) * ranked[:, :1], pooled, probabilities)


def _targets(signs: FloatArray, weight: FloatArray) -> FloatArray:
    """Return Platt's targets of positive and negative rows."""
    positive, negative = float(weight[signs > 0].sum()), float(weight[signs < 0].sum())
    return np.where(signs > 0, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))


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

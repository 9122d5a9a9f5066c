r"""Probabilities of classes from what the machines of a selection said of held-out rows.

A curve turns the value of one machine into the probability of its positive side. It is
fitted to values that were found without the row they belong to, each with Platt's target,

.. math:: t_+ = \frac{N_+ + 1}{N_+ + 2}, \qquad t_- = \frac{1}{N_- + 2} ,

what Bayes' rule makes of :math:`N_\pm` examples of a side, in place of 1 and 0: so that
machines which separate the sample are not sure of themselves.
"""

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

import numpy as np
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from kernsemble._arguments import check_choice
from kernsemble._typing import FloatArray, IntArray
from kernsemble._value import Value
from kernsemble.svm.multiclass import Reduction

Kind: TypeAlias = Literal["sigmoid", "isotonic"]

EPS = np.finfo(np.float64).eps
LEAD = 1e-14  # of the chosen class before others: in a float, and in its logarithm
MOST_STEPS = 100  # of Newton, which needs about ten


@dataclass(frozen=True, eq=False)
class Sigmoid(Value):
    r"""Platt's curve :math:`1 / (1 + e^{-(a f + b)})` with :math:`a \ge 0`."""

    slope: float
    offset: float

    @classmethod
    def through(cls, values: FloatArray, targets: FloatArray, weight: FloatArray) -> Self:
        """Return the likeliest curve, the constant one where larger values are less likely."""
        unit = float(weight @ np.abs(values) / weight.sum()) or 1.0
        share = float(weight @ targets / weight.sum())
        start = np.array([0.0, np.log(share / (1.0 - share))])
        slope, offset = _likeliest(values / unit, targets, weight / weight.sum(), start)
        return cls(slope / unit, offset) if slope > 0.0 else cls(0.0, start[1])

    def __call__(self, values: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):  # beyond all doubt
            return expit(self.slope * values + self.offset)


@dataclass(frozen=True, eq=False)
class Isotonic(Value):
    """The likeliest curve that never falls: levels, and straight lines between."""

    knots: FloatArray
    levels: FloatArray

    @classmethod
    def through(cls, values: FloatArray, targets: FloatArray, weight: FloatArray) -> Self:
        fitted = IsotonicRegression(out_of_bounds="clip").fit(values, targets, weight)
        return cls(fitted.X_thresholds_, np.round(fitted.y_thresholds_, 12))  # ties stay ties

    def __call__(self, values: FloatArray) -> FloatArray:
        return np.interp(values, self.knots, self.levels)


CURVES: dict[str, type[Sigmoid | Isotonic]] = {"sigmoid": Sigmoid, "isotonic": Isotonic}


@dataclass(frozen=True, eq=False)
class Calibration(Value):
    """The curves of all machines, and how classes are made of them."""

    reduction: Reduction
    curves: tuple[Sigmoid | Isotonic, ...]

    @classmethod
    def of(
        cls,
        kind: Kind,
        reduction: Reduction,
        values: FloatArray,
        codes: IntArray,
        weight: FloatArray,
    ) -> Self:
        """Return what held-out rows tell.

        Parameters
        ----------
        kind : {"sigmoid", "isotonic"}
            The kind of the curves.
        reduction : Reduction
            How classes are divided among machines.
        values : array of shape (n, n_machines)
            What machines that did not know a row said of it. A row may come several times.
        codes, weight : arrays of shape (n,)
            The class of each row, and how often it counts. Weights that sum to less than the
            number of rows are shares of it.
        """
        check_calibration(kind)
        weight = weight * max(1.0, np.count_nonzero(weight) / weight.sum())
        curves: list[Sigmoid | Isotonic] = []
        for machine in range(reduction.n_machines):
            signs = reduction.signs(codes, machine)
            heard = (signs != 0.0) & (weight > 0.0)
            if not heard.any():
                curves.append(Sigmoid(0.0, 0.0))
                continue
            targets = _targets(signs[heard], weight[heard])
            curves.append(CURVES[kind].through(values[heard, machine], targets, weight[heard]))
        return cls(reduction, tuple(curves))

    @classmethod
    def of_logits(cls, reduction: Reduction) -> Self:
        """Return the curves of machines whose values are logits, as with the logistic loss."""
        return cls(reduction, (Sigmoid(1.0, 0.0),) * reduction.n_machines)

    def probabilities(self, values: FloatArray) -> FloatArray:
        """Return the probability of every class (columns); the largest is the class chosen."""
        shares = [curve(column) for curve, column in zip(self.curves, values.T, strict=True)]
        shares = np.clip(np.column_stack(shares), EPS, 1.0 - EPS)
        return with_largest(self.reduction.combine(shares), self.reduction.winners(values))


def check_calibration(kind: object) -> None:
    """Demand a kind of curve."""
    check_choice("calibration", kind, (*get_args(Kind), None))  # type: ignore[arg-type]


def with_largest(probabilities: FloatArray, chosen: IntArray) -> FloatArray:
    r"""Return the nearest probabilities of which that of the chosen class is the largest.

    Nearest is :math:`\min_q \sum_k p_k \log(p_k / q_k)`: rows that contradict the choice lose
    least in log-loss if p is right. The solution averages the chosen class with those that
    are above the average, the largest first.
    """
    k = chosen[:, np.newaxis]
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
    r"""Return slope and offset that minimise the log-loss, by Newton steps that never raise it.

    .. math:: \sum_i w_i \left[\log(1 + e^{z_i}) - t_i z_i\right],
              \qquad z_i = a f_i + b
    """
    rows = np.column_stack([values, np.ones_like(values)])

    def loss(point: FloatArray) -> float:
        z = rows @ point
        return float(weight @ (np.logaddexp(0.0, z) - targets * z))

    point = start
    for _ in range(MOST_STEPS):
        p = expit(rows @ point)
        curvature = (rows.T * (weight * p * (1.0 - p))) @ rows
        curvature.flat[::3] += 1e-12  # values that are all equal have none
        slope = rows.T @ (weight * (targets - p))
        step = np.linalg.solve(curvature, slope)
        gain, size, reached = float(slope @ step), 1.0, loss(point)
        is_last = gain < 1e-12  # what is left after this step is of the order of its square
        while not is_last and loss(point + size * step) > reached - 1e-4 * size * gain:
            size *= 0.5
        point = point + size * step
        if is_last:
            break
    return point

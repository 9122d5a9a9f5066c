"""Class probabilities, calibrated on the decision values of held-out rows.

A curve per machine turns its value into the probability of its positive side; the reduction
combines these into probabilities of classes.
"""

from dataclasses import dataclass
from typing import Self, TypeAlias, get_args

import numpy as np
from scipy.special import expit, softmax

from kernsemble._arguments import check_choice
from kernsemble._calibration_curves import CurveKind, Isotonic, Sigmoid, fit_curve
from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.solvers.losses import LOSSES
from kernsemble.svm.multiclass import Reduction

EPS = np.finfo(np.float64).eps
LEAD = 1e-14  # relative lead of the predicted class, visible in a float and its logarithm


@dataclass(frozen=True, eq=False, repr=False)
class InverseLink(Value):
    """The inverse link of a loss that models probabilities itself."""

    loss: str

    def __call__(self, values: FloatArray) -> FloatArray:
        return LOSSES[self.loss].inverse_link(values)


Curve: TypeAlias = Sigmoid | Isotonic | InverseLink


@dataclass(frozen=True, eq=False, repr=False)
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
            used = values[is_used, machine], signs[is_used] > 0.0, weight[is_used]
            curves.append(fit_curve(kind, *used))
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


@dataclass(frozen=True, eq=False, repr=False)
class MultinomialLink(Value):
    """The probabilities of values that are log-odds: of one class against the other, or a softmax.

    The values of a vote are such: its weights are found by the log-loss of left-out values.
    """

    reduction: Reduction

    def probabilities(self, values: FloatArray) -> FloatArray:
        """Return the probability of every class (columns)."""
        if values.shape[1] == 1:
            share = np.clip(expit(values), EPS, 1.0 - EPS)
            return np.hstack([1.0 - share, share])
        return np.asarray(softmax(values, axis=1))


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

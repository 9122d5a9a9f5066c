r"""What a decision value costs: losses, the force they pull with, and their curvature.

A loss tells :math:`\sum_i C_i\,\ell(y_i, f_i)`, the forces :math:`\beta_i = -C_i\,\ell'` (the
signed coefficients of the dual problem) and the curvatures :math:`C_i\,\ell''`, which jump where
a loss `has_corners`. Rows with :math:`C_i = 0` are absent. All cost O(n).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self, TypeAlias

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray
from kernsemble.solvers.additive.tables import inner

FLAT = 1e-12  # of all strengths: a slope of the loss that is rounding


class Loss(Protocol):
    """A convex loss with a continuous slope."""

    def evaluate(self, f: FloatArray, beta: FloatArray, curvature: FloatArray) -> float:
        """Return the loss of decision values, and write forces and curvatures."""


@dataclass(frozen=True, eq=False)
class Smooth(ABC):
    """A loss with a continuous slope, of targets y and strengths C."""

    has_corners: ClassVar[bool] = False
    y: FloatArray
    C: FloatArray

    def times(self, factor: float | FloatArray) -> Self:
        """Return the loss with other strengths."""
        return replace(self, C=factor * self.C)

    @abstractmethod
    def evaluate(self, f: FloatArray, beta: FloatArray, curvature: FloatArray) -> float:
        """Return the loss of decision values, and write forces and curvatures."""


class Logistic(Smooth):
    r"""The logistic loss :math:`C_i \log(1 + e^{-y_i f_i})` of signs y."""

    def evaluate(self, f: FloatArray, beta: FloatArray, curvature: FloatArray) -> float:
        return _logistic(self.y, self.C, f, beta, curvature)


class SquaredHinge(Smooth):
    r"""The squared hinge :math:`C_i \max(0, 1 - y_i f_i)^2` of signs y."""

    has_corners = True

    def evaluate(self, f: FloatArray, beta: FloatArray, curvature: FloatArray) -> float:
        return _squared_hinge(self.y, self.C, f, beta, curvature)


class Squared(Smooth):
    r"""The squared loss :math:`\tfrac12 C_i (y_i - f_i)^2` of numbers y: ridge regression."""

    def evaluate(self, f: FloatArray, beta: FloatArray, curvature: FloatArray) -> float:
        return _squared(self.y, self.C, f, beta, curvature)


@dataclass(frozen=True, eq=False)
class Kinked:
    r"""The loss of bounded coefficients: hinge and :math:`\varepsilon`-insensitive.

    .. math:: \max_{l_i \le \beta_i \le u_i} \beta_i (p_i - f_i) - \varepsilon |\beta_i|

    With :math:`p = y` and bounds 0 and :math:`C_i y_i` it is the hinge
    :math:`C_i \max(0, 1 - y_i f_i)`, with bounds :math:`\mp C_i` the :math:`\varepsilon`-
    insensitive :math:`C_i \max(0, |p_i - f_i| - \varepsilon)`.
    """

    p: FloatArray
    lower: FloatArray
    upper: FloatArray
    epsilon: float = 0.0

    @classmethod
    def hinge(cls, y: FloatArray, C: FloatArray) -> Self:
        """Return the hinge loss of signs y."""
        return cls(y, np.minimum(0.0, C * y), np.maximum(0.0, C * y))

    @classmethod
    def tube(cls, y: FloatArray, C: FloatArray, epsilon: float) -> Self:
        r"""Return the :math:`\varepsilon`-insensitive loss of numbers y."""
        return cls(y, -C, C, epsilon)

    @property
    def C(self) -> FloatArray:  # noqa: N802
        """The strengths :math:`C_i`: zero for absent rows."""
        return np.maximum(self.upper, -self.lower)

    def times(self, factor: float | FloatArray) -> Self:
        """Return the loss with other strengths."""
        return replace(self, lower=factor * self.lower, upper=factor * self.upper)

    def total(self, f: FloatArray) -> float:
        """Return the loss of decision values."""
        return _kinked(self.p, self.lower, self.upper, self.epsilon, f)

    def pull(self, beta: FloatArray) -> float:
        r"""Return :math:`p^\top\beta - \varepsilon\|\beta\|_1`, the linear part of the dual."""
        return inner(self.p, beta) - self.epsilon * float(np.abs(beta).sum())

    def best_bias(self, f: FloatArray) -> float:
        """Return the bias that, added to decision values, has the smallest loss; O(n log n).

        Where all of an interval is best, it is the middle.
        """
        r = self.p - f
        kinks = np.concatenate([r - self.epsilon, r + self.epsilon])
        jumps = np.concatenate([self.upper, -self.lower])
        kinks, jumps = kinks[jumps > 0.0], jumps[jumps > 0.0]
        if len(kinks) == 0:
            return 0.0
        order = np.argsort(kinks)
        slopes = np.cumsum(jumps[order]) - self.upper.sum()  # beyond each kink
        flat = FLAT * float(jumps.sum())
        ends = [int(np.searchsorted(slopes, level)) for level in (-flat, flat)]
        return float(np.mean([kinks[order[min(end, len(kinks) - 1)]] for end in ends]))

    def tells_bias(self, beta: FloatArray) -> bool:
        """Tell whether a coefficient is within its bounds, so that one bias alone is best."""
        is_within = (self.lower < beta) & (beta < self.upper)
        return bool((is_within & (beta != 0.0)).any())


@dataclass(frozen=True, eq=False)
class Smoothed:
    r"""A kinked loss whose coefficients are held back towards `center`.

    .. math:: \max_{l_i \le \beta_i \le u_i} \beta_i (p_i - f_i) - \varepsilon |\beta_i|
              - \frac{h}{2 C_i} (\beta_i - \hat\beta_i)^2

    From :math:`\hat\beta = 0` it is the loss with its kinks rounded over a width h; with
    :math:`\hat\beta` the optimum of the dual it has the minimum of the kinked loss at any width.
    """

    loss: Kinked
    width: float
    center: FloatArray

    def evaluate(self, f: FloatArray, beta: FloatArray, curvature: FloatArray) -> float:
        loss = self.loss
        return _smoothed(
            loss.p, loss.lower, loss.upper, loss.epsilon, self.width, self.center, f, beta,
            curvature,
        )  # fmt: skip


AnyLoss: TypeAlias = Smooth | Kinked


def mean_strength(loss: AnyLoss) -> float:
    """Return the mean C of the rows that are present, or 0 where none is."""
    present = loss.C[loss.C > 0.0]
    return float(present.mean()) if len(present) > 0 else 0.0


@jit
def _logistic(
    y: FloatArray, C: FloatArray, f: FloatArray, beta: FloatArray, curvature: FloatArray
) -> float:
    total = 0.0
    for i in range(len(f)):
        margin = y[i] * f[i]
        small = np.exp(-abs(margin))
        wrong = (small if margin > 0.0 else 1.0) / (1.0 + small)
        total += C[i] * (np.log1p(small) + max(-margin, 0.0))
        beta[i] = C[i] * y[i] * wrong
        curvature[i] = C[i] * small / (1.0 + small) ** 2
    return total


@jit
def _squared_hinge(
    y: FloatArray, C: FloatArray, f: FloatArray, beta: FloatArray, curvature: FloatArray
) -> float:
    total = 0.0
    for i in range(len(f)):
        short = max(1.0 - y[i] * f[i], 0.0)
        total += C[i] * short * short
        beta[i] = 2.0 * C[i] * y[i] * short
        curvature[i] = 2.0 * C[i] if short > 0.0 else 0.0
    return total


@jit
def _squared(
    y: FloatArray, C: FloatArray, f: FloatArray, beta: FloatArray, curvature: FloatArray
) -> float:
    total = 0.0
    for i in range(len(f)):
        beta[i] = C[i] * (y[i] - f[i])
        total += 0.5 * beta[i] * (y[i] - f[i])
        curvature[i] = C[i]
    return total


@jit
def _kinked(
    p: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float, f: FloatArray
) -> float:
    total = 0.0
    for i in range(len(f)):
        r = p[i] - f[i]
        total += upper[i] * max(r - epsilon, 0.0) - lower[i] * max(-r - epsilon, 0.0)
    return total


@jit
def _smoothed(
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    width: float,
    center: FloatArray,
    f: FloatArray,
    beta: FloatArray,
    curvature: FloatArray,
) -> float:
    total = 0.0
    for i in range(len(f)):
        strength = max(upper[i], -lower[i])
        if strength == 0.0:
            beta[i] = curvature[i] = 0.0
            continue
        bend, r = width / strength, p[i] - f[i]
        pull = r + bend * center[i]
        pull = max(pull - epsilon, 0.0) + min(pull + epsilon, 0.0)
        best = min(max(pull / bend, lower[i]), upper[i])
        is_free = pull != 0.0 and lower[i] < best < upper[i]
        beta[i], curvature[i] = best, 1.0 / bend if is_free else 0.0
        total += best * r - epsilon * abs(best) - 0.5 * bend * (best - center[i]) ** 2
    return total

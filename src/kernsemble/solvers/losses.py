r"""Losses: the cost of a decision value f for a target y.

A loss object holds the targets and the strengths :math:`C_i` of all rows, and evaluates
:math:`\sum_i C_i\,\ell(y_i, f_i)`. Rows with :math:`C_i = 0` are absent. Everything costs O(n).

To add a loss, write one class here. A class with a `name` is registered in `LOSSES`, which
estimators and the command line read.

=====================  ==============  ========================================  =============
name                   task            :math:`\ell(y, f)`                        probabilities
=====================  ==============  ========================================  =============
hinge                  classification  :math:`\max(0, 1 - yf)`                   by calibration
logistic               classification  :math:`\log(1 + e^{-yf})`                 by its link
squared_hinge          classification  :math:`\max(0, 1 - yf)^2`                 by calibration
epsilon_insensitive    regression      :math:`\max(0, |y - f| - \varepsilon)`
squared                both            :math:`\tfrac12 (y - f)^2`                  by calibration
=====================  ==============  ========================================  =============
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from scipy.special import expit, xlogy

from kernsemble._jit import jit, jit_sums
from kernsemble._typing import FloatArray, IntArray

LearningTask: TypeAlias = Literal["classification", "regression"]

LOSSES: dict[str, type["Loss"]] = {}  # by name, in the order of their definition

FLAT = 1e-12  # slope of the loss, relative to the sum of all strengths, that counts as rounding


@dataclass(frozen=True, eq=False)
class Loss(ABC):
    """A convex loss of decision values, with the targets and strengths of all rows.

    Attributes
    ----------
    name : str
        The name that estimators and the command line accept. Only named losses are registered.
    task : {"classification", "regression", "both"}
        Whether targets are signs or numbers, or may be either.
    degree : int
        1 if the loss grows like the error, 2 if like its square.
    is_bounded : bool
        Whether the coefficients of the dual problem have bounds, as exact solvers need.
    has_epsilon : bool
        Whether errors up to epsilon are free.
    has_probabilities : bool
        Whether `inverse_link` turns decision values into probabilities, without calibration.
    """

    name: ClassVar[str]
    task: ClassVar[LearningTask | Literal["both"]]
    degree: ClassVar[int] = 1
    is_bounded: ClassVar[bool] = False
    has_epsilon: ClassVar[bool] = False
    has_probabilities: ClassVar[bool] = False

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "name" in vars(cls):
            if cls.name in LOSSES:
                raise ValueError(f"name = {cls.name!r}: there is a loss of this name already")
            LOSSES[cls.name] = cls

    @classmethod
    @abstractmethod
    def from_targets(cls, y: FloatArray, C: FloatArray, epsilon: float = 0.0) -> Self:
        """Return the loss of targets y with strengths C."""

    @classmethod
    def serves(cls, task: LearningTask) -> bool:
        """Return whether targets of a task can be fitted."""
        return cls.task in {task, "both"}

    @property
    @abstractmethod
    def strengths(self) -> FloatArray:
        """The strengths :math:`C_i`; zero for absent rows."""

    @abstractmethod
    def times(self, factor: float | FloatArray) -> Self:
        """Return the loss with its strengths multiplied by a factor."""

    @property
    @abstractmethod
    def targets(self) -> FloatArray:
        """The targets of the rows."""

    @abstractmethod
    def value(self, f: FloatArray) -> float:
        r"""Return the loss of decision values, :math:`\sum_i C_i\,\ell(y_i, f_i)`."""

    @abstractmethod
    def derivative(self, f: FloatArray) -> FloatArray:
        r"""Return :math:`C_i\,\ell'(y_i, f_i)`, the derivative with respect to each f."""

    @abstractmethod
    def conjugate(self, beta: FloatArray) -> float:
        r"""Return the convex conjugate at the signed dual coefficients.

        .. math:: \sum_i \sup_{f_i}\; -\beta_i f_i - C_i\,\ell(y_i, f_i)

        The dual objective is :math:`-\tfrac12\beta^\top K \beta` minus this.
        """

    @classmethod
    def inverse_link(cls, f: FloatArray) -> FloatArray:
        """Return the probability of the positive class at decision values."""
        raise NotImplementedError(f"{cls.__name__} has no link: calibrate its decision values")

    def among(self, rows: IntArray) -> Self:
        """Return the loss of some rows."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays = {name: v[rows] for name, v in values.items() if isinstance(v, np.ndarray)}
        return replace(self, **arrays)

    @property
    def mean_strength(self) -> float:
        """The mean strength of the rows that are present, or 0 if none is."""
        present = self.strengths[self.strengths > 0.0]
        return float(present.mean()) if len(present) > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Kinked(Loss):
    r"""A loss with bounded dual coefficients: hinge and :math:`\varepsilon`-insensitive.

    .. math:: \max_{l_i \le \beta_i \le u_i} \beta_i (p_i - f_i) - \varepsilon |\beta_i|

    With :math:`p = y` and bounds 0 and :math:`C_i y_i` it is the hinge
    :math:`C_i \max(0, 1 - y_i f_i)`, with bounds :math:`\mp C_i` the :math:`\varepsilon`-
    insensitive :math:`C_i \max(0, |p_i - f_i| - \varepsilon)`.
    """

    is_bounded = True
    p: FloatArray
    lower: FloatArray
    upper: FloatArray
    epsilon: float = 0.0

    @property
    def strengths(self) -> FloatArray:
        return np.maximum(self.upper, -self.lower)

    @property
    def targets(self) -> FloatArray:
        return self.p

    def times(self, factor: float | FloatArray) -> Self:
        with np.errstate(over="ignore", invalid="ignore"):  # solvers refuse infinite strengths
            return replace(self, lower=factor * self.lower, upper=factor * self.upper)

    def value(self, f: FloatArray) -> float:
        return _kinked(self.p, self.lower, self.upper, self.epsilon, f)

    def derivative(self, f: FloatArray) -> FloatArray:
        r = self.p - f
        return -np.where(r > self.epsilon, self.upper, np.where(r < -self.epsilon, self.lower, 0.0))

    def conjugate(self, beta: FloatArray) -> float:
        r"""Return :math:`\varepsilon\|\beta\|_1 - p^\top\beta`, for coefficients within bounds."""
        return _kinked_conjugate(self.p, self.epsilon, beta)

    def best_bias(self, f: FloatArray) -> float:
        """Return the bias that, added to decision values, minimises the loss; O(n log n).

        If a whole interval minimises it, return the middle.
        """
        kinks, jumps = self.kinks(f)
        if len(kinks) == 0:
            return 0.0
        order = np.argsort(kinks)
        slopes = np.cumsum(jumps[order]) - self.upper.sum()  # beyond each kink
        flat = FLAT * float(jumps.sum())
        ends = [int(np.searchsorted(slopes, level)) for level in (-flat, flat)]
        return float(np.mean([kinks[order[min(end, len(kinks) - 1)]] for end in ends]))

    def kinks(self, f: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the biases at which the slope of the loss jumps, and by how much."""
        r = self.p - f
        kinks = np.concatenate([r - self.epsilon, r + self.epsilon])
        jumps = np.concatenate([self.upper, -self.lower])
        return kinks[jumps > 0.0], jumps[jumps > 0.0]

    def slopes_beyond(self, f: FloatArray, biases: FloatArray) -> FloatArray:
        """Return the slope of the loss just beyond each of several increasing biases."""
        kinks, jumps = self.kinks(f)
        places = np.searchsorted(biases, kinks)
        passed = np.bincount(places, jumps, minlength=len(biases) + 1)
        return np.cumsum(passed[: len(biases)]) - self.upper.sum()

    def n_free(self, beta: FloatArray) -> int:
        """Return the number of coefficients strictly within bounds; one determines the bias."""
        is_within = (self.lower < beta) & (beta < self.upper)
        return int(np.count_nonzero(is_within & (beta != 0.0)))

    def parted(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients at a bound, and the others, with zeros in place of the rest."""
        is_bounded = (beta == self.lower) | (beta == self.upper)
        bounded = np.where(is_bounded, beta, 0.0)
        return bounded, beta - bounded


class Hinge(Kinked):
    r"""The hinge loss :math:`C_i \max(0, 1 - y_i f_i)` of signs y: support vector machines."""

    name = "hinge"
    task = "classification"

    @classmethod
    def from_targets(cls, y: FloatArray, C: FloatArray, epsilon: float = 0.0) -> Self:  # noqa: ARG003
        return cls(y, np.minimum(0.0, C * y), np.maximum(0.0, C * y))


class EpsilonInsensitive(Kinked):
    r"""The loss :math:`C_i \max(0, |y_i - f_i| - \varepsilon)` of numbers y."""

    name = "epsilon_insensitive"
    task = "regression"
    has_epsilon = True

    @classmethod
    def from_targets(cls, y: FloatArray, C: FloatArray, epsilon: float = 0.0) -> Self:
        return cls(y, -C, C, epsilon)


@dataclass(frozen=True, eq=False)
class Smooth(Loss):
    """A loss with a continuous slope.

    The slope itself may have corners, where the curvature jumps (`has_corners`).
    """

    has_corners: ClassVar[bool] = False
    y: FloatArray
    C: FloatArray

    @classmethod
    def from_targets(cls, y: FloatArray, C: FloatArray, epsilon: float = 0.0) -> Self:  # noqa: ARG003
        return cls(y, C)

    @property
    def strengths(self) -> FloatArray:
        return self.C

    @property
    def targets(self) -> FloatArray:
        return self.y

    def times(self, factor: float | FloatArray) -> Self:
        with np.errstate(over="ignore", invalid="ignore"):  # solvers refuse infinite strengths
            return replace(self, C=factor * self.C)

    @abstractmethod
    def evaluate(self, f: FloatArray, beta: FloatArray, curvature: FloatArray) -> float:
        r"""Return the loss; write :math:`\beta = -C\ell'` and the curvatures :math:`C\ell''`."""

    def value(self, f: FloatArray) -> float:
        return self.evaluate(f, np.empty(len(f)), np.empty(len(f)))

    def derivative(self, f: FloatArray) -> FloatArray:
        beta = np.empty(len(f))
        self.evaluate(f, beta, np.empty(len(f)))
        return -beta


class Logistic(Smooth):
    r"""The logistic loss :math:`C_i \log(1 + e^{-y_i f_i})` of signs y."""

    name = "logistic"
    task = "classification"
    has_probabilities = True

    def evaluate(self, f: FloatArray, beta: FloatArray, curvature: FloatArray) -> float:
        return _logistic(self.y, self.C, f, beta, curvature)

    def conjugate(self, beta: FloatArray) -> float:
        r"""Return :math:`\sum_i C_i (s_i \log s_i + (1 - s_i) \log(1 - s_i))`, s = βy/C."""
        is_present = self.C > 0.0
        C, y = self.C[is_present], self.y[is_present]
        share = y * beta[is_present] / C
        return float(C @ (xlogy(share, share) + xlogy(1.0 - share, 1.0 - share)))

    @classmethod
    def inverse_link(cls, f: FloatArray) -> FloatArray:
        return expit(f)


class SquaredHinge(Smooth):
    r"""The squared hinge :math:`C_i \max(0, 1 - y_i f_i)^2` of signs y."""

    name = "squared_hinge"
    task = "classification"
    degree = 2
    has_corners = True

    def evaluate(self, f: FloatArray, beta: FloatArray, curvature: FloatArray) -> float:
        return _squared_hinge(self.y, self.C, f, beta, curvature)

    def conjugate(self, beta: FloatArray) -> float:
        r"""Return :math:`\sum_i \beta_i^2/(4 C_i) - y_i\beta_i`, for coefficients of the sign y."""
        return 0.5 * _squares(beta, self.C) - float(np.vdot(self.y, beta))


class Squared(Smooth):
    r"""The squared loss :math:`\tfrac12 C_i (y_i - f_i)^2` of numbers or signs y: ridge regression.

    Of signs it is the least-squares SVM.
    """

    name = "squared"
    task = "both"
    degree = 2

    def evaluate(self, f: FloatArray, beta: FloatArray, curvature: FloatArray) -> float:
        return _squared(self.y, self.C, f, beta, curvature)

    def conjugate(self, beta: FloatArray) -> float:
        r"""Return :math:`\sum_i \beta_i^2/(2 C_i) - y_i\beta_i`."""
        return _squares(beta, self.C) - float(np.vdot(self.y, beta))


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
        """Return the loss, and write coefficients and curvatures, as `Smooth.evaluate` does."""
        loss = self.loss
        return _smoothed(
            loss.p, loss.lower, loss.upper, loss.epsilon, self.width, self.center, f, beta,
            curvature,
        )  # fmt: skip


def losses_for(task: LearningTask) -> tuple[str, ...]:
    """Return the names of the losses for a task."""
    return tuple(name for name, loss in LOSSES.items() if loss.serves(task))


def default_loss(task: LearningTask, is_bounded: bool) -> str:
    """Return the first loss of a task whose dual coefficients have bounds, or have none."""
    return next(name for name in losses_for(task) if LOSSES[name].is_bounded == is_bounded)


def loss_with_probabilities() -> str:
    """Return the first loss that models probabilities, for messages."""
    return next(name for name, loss in LOSSES.items() if loss.has_probabilities)


def _squares(beta: FloatArray, C: FloatArray) -> float:
    r"""Return :math:`\tfrac12 \sum_i \beta_i^2 / C_i` over the rows that are present."""
    is_present = C > 0.0
    return 0.5 * float(np.sum(beta[is_present] ** 2 / C[is_present]))


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


@jit_sums
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


@jit_sums
def _squared(
    y: FloatArray, C: FloatArray, f: FloatArray, beta: FloatArray, curvature: FloatArray
) -> float:
    total = 0.0
    for i in range(len(f)):
        beta[i] = C[i] * (y[i] - f[i])
        total += 0.5 * beta[i] * (y[i] - f[i])
        curvature[i] = C[i]
    return total


@jit_sums
def _kinked(
    p: FloatArray, lower: FloatArray, upper: FloatArray, epsilon: float, f: FloatArray
) -> float:
    total = 0.0
    for i in range(len(f)):
        r = p[i] - f[i]
        total += upper[i] * max(r - epsilon, 0.0) - lower[i] * max(-r - epsilon, 0.0)
    return total


@jit_sums
def _kinked_conjugate(p: FloatArray, epsilon: float, beta: FloatArray) -> float:
    total = 0.0
    for i in range(len(p)):
        total += epsilon * abs(beta[i]) - p[i] * beta[i]
    return total


@jit_sums
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

r"""Stacking: the weights of a vote, found on left-out values of its members.

.. math:: F(x) = \textstyle\sum_m w_m f_m(x) + b, \qquad w \ge 0

Weights that are not negative keep the vote between its members (Wolpert 1992; Breiman 1996). For
numbers they minimise the squared error, for classes the log-loss: with two classes
:math:`F` is then a log-odds, with K classes there is one value per class, all members have one
weight for all of them, and probabilities are a softmax. Both problems are convex.

To the mean loss of n rows is added :math:`\tfrac{3}{2n}\sum_m (w_m \sigma_m)^2`, with
:math:`\sigma_m` the standard deviation of a member's values (squared error: times twice the
smallest error of a member, relative to the variance of y): members that are equally good share a
weight, the more the fewer the rows. (On eleven data sets that defaults were chosen on, 3 was no
worse than 1, and better than 0.) A constant added to a member changes nothing but the bias: where
a class is rare, values vary little around −1, and weights must be large.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls
from scipy.special import expit, logsumexp, softmax

from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import short_repr

MAX_ITER = 100  # Newton steps
SUFFICIENT = 1e-4  # share of the decrease of the linear model that a step must reach
SHORTEST = 1e-10  # shortest step, relative to Newton's
TOL = 1e-9  # largest component of the projected gradient
ROUNDING = 1e-12  # spread of a constant member, relative to its size
SMALLEST = 1e-10  # factor of the squared weights, so that they are unique
SHRINKAGE = 3.0  # of the squared weights of standardised members, over the number of rows


@dataclass(frozen=True, eq=False)
class Stack:
    """The weights of a vote.

    Attributes
    ----------
    weights : array of shape (n_members,)
        The weights, none negative.
    bias : array of shape (n_values,)
        The bias of each value.
    loss : float
        The mean squared error or log-loss of the left-out values.
    """

    weights: FloatArray
    bias: FloatArray
    loss: float

    def __repr__(self) -> str:
        return short_repr(self)

    def of(self, values: FloatArray) -> FloatArray:
        """Return the values of the vote, given those of the members, (n_members, n, n_values)."""
        return np.asarray(np.tensordot(self.weights, values, axes=1) + self.bias)

    @classmethod
    def squared(cls, values: FloatArray, y: FloatArray, weight: FloatArray) -> Self:
        """Return the weights with the smallest squared error.

        Parameters
        ----------
        values : array of shape (n_members, n, n_values)
            Left-out values of the members.
        y : array of shape (n, n_values)
            Targets.
        weight : array of shape (n,)
            Weights of the rows.
        """
        share = weight / weight.sum()
        means, centre = np.einsum("n,mnk->mk", share, values), share @ y
        root = np.sqrt(share)[:, np.newaxis]
        columns = np.array([(root * f).ravel() for f in values - means[:, np.newaxis]]).T
        units = _spreads(values, means, share)
        right = np.concatenate([(root * (y - centre)).ravel(), np.zeros(len(values))])
        least = min(float((share @ (y - f) ** 2).sum()) for f in values)
        noise = least / (float(right @ right) or 1.0)  # relative to the variance of the targets
        spread = np.sqrt(max(_shrinkage(weight) * noise, SMALLEST)) * np.eye(len(values))
        found, _ = nnls(np.vstack([columns / units, spread]), right)
        weights = found / units
        stack = cls(weights, centre - weights @ means, 0.0)
        error = float((share @ (y - stack.of(values)) ** 2).sum())
        return cls(weights, stack.bias, error)

    @classmethod
    def logistic(
        cls, values: FloatArray, codes: IntArray, weight: FloatArray, n_classes: int
    ) -> Self:
        """Return the weights with the smallest log-loss.

        Parameters
        ----------
        values : array of shape (n_members, n, n_values)
            Left-out values of the members: one per class, or a single one for two classes,
            positive for the second.
        codes : array of shape (n,)
            Class of each row.
        weight : array of shape (n,)
            Weights of the rows.
        n_classes : int
            Number of classes.
        """
        share = weight / weight.sum()
        means = np.einsum("n,mnk->mk", share, values)
        units = _spreads(values, means, share) / np.sqrt(values.shape[2])
        scaled = (values - means[:, np.newaxis]) / units[:, np.newaxis, np.newaxis]
        loss = _LogLoss(scaled, codes, share, _shrinkage(weight), n_classes)
        found, bias = _least_log_loss(loss)
        weights = found / units
        return cls(weights, bias - weights @ means, loss.of_votes(found, bias))


def influence(stack: Stack, values: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the share of each member in the vote: its weight times its standard deviation.

    `weight` contains the weights of the rows.
    """
    share = weight / weight.sum()
    means = np.einsum("n,mnk->mk", share, values)
    variances = np.einsum("n,mnk->mk", share, (values - means[:, np.newaxis]) ** 2)
    sizes = stack.weights * np.sqrt(variances).mean(axis=1)
    return np.asarray(sizes / (float(sizes.sum()) or 1.0))


def _shrinkage(weight: FloatArray) -> float:
    """Return the factor of the squared weights; weights that are shares count as rows."""
    return SHRINKAGE / max(float(weight.sum()), float(np.count_nonzero(weight)), 1.0)


def _spreads(values: FloatArray, means: FloatArray, share: FloatArray) -> FloatArray:
    """Return the spread of each member, of all values together; infinity for constant ones."""
    away = values - means[:, np.newaxis]
    spreads, sizes = (np.sqrt(np.einsum("n,mnk->m", share, f**2)) for f in (away, values))
    return np.where(spreads > ROUNDING * sizes, spreads, np.inf)


@dataclass(frozen=True, eq=False)
class _LogLoss:
    """The log-loss of a vote of standardised members, with the shrinkage of its weights."""

    values: FloatArray  # (n_members, n, n_values)
    codes: IntArray
    share: FloatArray
    shrinkage: float
    n_classes: int

    def of_votes(self, w: FloatArray, bias: FloatArray) -> float:
        """Return the mean log-loss."""
        F = np.tensordot(w, self.values, axes=1) + bias
        if self.n_classes == 2:
            loss = np.logaddexp(0.0, F[:, 0]) - (self.codes == 1) * F[:, 0]
        else:
            loss = logsumexp(F, axis=1) - F[np.arange(len(F)), self.codes]
        return float(self.share @ loss)

    def objective(self, w: FloatArray, bias: FloatArray) -> float:
        """Return the mean log-loss, and the shrinkage."""
        return self.of_votes(w, bias) + 0.5 * self.shrinkage * float(w @ w)

    def derivatives(self, w: FloatArray, bias: FloatArray) -> "_Derivatives":
        """Return the gradient and the Hessian of the objective."""
        F, V, n_members = np.tensordot(w, self.values, axes=1) + bias, self.values, len(w)
        one, share = self.codes[:, np.newaxis], self.share[:, np.newaxis]
        p = expit(F) if self.n_classes == 2 else softmax(F, axis=1)
        wanted = one == (1 if self.n_classes == 2 else np.arange(self.n_classes))
        slope = share * (p - wanted)
        P = share * (p * (1.0 - p) if self.n_classes == 2 else p)
        columns = (V * np.sqrt(P)).reshape(n_members, -1)
        by_weights, mixed = columns @ columns.T, np.einsum("mnk,nk->mk", V, P)
        by_bias = np.diag(P.sum(axis=0))
        if self.n_classes > 2:  # probabilities add up to one
            mean = np.einsum("mnk,nk->mn", V, p)
            by_weights -= (mean * self.share) @ mean.T
            mixed -= mean @ P
            by_bias -= p.T @ P
        return _Derivatives(
            np.tensordot(V, slope, axes=2) + self.shrinkage * w,
            slope.sum(axis=0),
            by_weights + self.shrinkage * np.eye(n_members),
            mixed,
            by_bias + SMALLEST * np.eye(len(bias)),  # one constant for all classes is free
        )


class _Derivatives(NamedTuple):
    """Slopes and curvatures by weights and bias."""

    slope: FloatArray
    bias_slope: FloatArray
    curvature: FloatArray
    mixed: FloatArray
    bias_curvature: FloatArray

    def smallest(self, w: FloatArray, bias: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the smallest point of the quadratic model with weights that are not negative."""
        by_bias = np.linalg.solve(self.bias_curvature, self.mixed.T)
        H = self.curvature - self.mixed @ by_bias
        target = H @ w - self.slope + self.bias_slope @ by_bias
        L = np.linalg.cholesky(H)
        found, _ = nnls(L.T, solve_triangular(L, target, lower=True), maxiter=30 * len(w))
        step = np.linalg.solve(self.bias_curvature, self.bias_slope + (found - w) @ self.mixed)
        return found, bias - step

    def is_optimal(self, w: FloatArray) -> bool:
        """Return whether no feasible direction descends."""
        projected = np.where(w > 0.0, self.slope, np.minimum(self.slope, 0.0))
        return bool(max(np.abs(projected).max(), np.abs(self.bias_slope).max()) <= TOL)


def _least_log_loss(loss: _LogLoss) -> tuple[FloatArray, FloatArray]:
    """Return the weights and the bias of the smallest objective, by Newton's method.

    Each step is a least squares problem in weights that are not negative.
    """
    n_members, _, n_values = loss.values.shape
    w, bias = np.full(n_members, 1.0 / n_members), np.zeros(n_values)
    value = loss.objective(w, bias)
    for _ in range(MAX_ITER):
        slopes = loss.derivatives(w, bias)
        if slopes.is_optimal(w):
            break
        new_w, new_bias = slopes.smallest(w, bias)
        descent = float(slopes.slope @ (new_w - w) + slopes.bias_slope @ (new_bias - bias))
        step = 1.0
        while step > SHORTEST:
            point = w + step * (new_w - w), bias + step * (new_bias - bias)
            found = loss.objective(*point)
            if found <= value + SUFFICIENT * step * descent:
                break
            step *= 0.5
        else:
            break  # rounding errors are larger than what is left to gain
        (w, bias), value = point, found
    return w, bias

r"""Likelihoods of logistic, Poisson and Cox models on subsets of columns, by Newton's method.

All three are concave in the coefficients. Newton's method starts from the coefficients of the last
models that contained the columns, and halves steps that are too long.
"""

from enum import IntEnum
from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from kernsemble._jit import jit
from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble.solvers.subsets import standardised

COLLINEAR = 1e-10  # remaining share of a column's curvature at which its coefficient is fixed
DECREMENT = 1e-10  # expected gain at which Newton's method ends, relative to the likelihood
MAX_STEPS = 60  # maximum number of Newton steps
FARTHEST_START = 10.0  # largest starting coefficient; beyond it the likelihood may be flat


class Family(IntEnum):
    """Distribution of y, given the linear predictor."""

    LOGISTIC = 0
    POISSON = 1
    COX = 2


class Likelihood(NamedTuple):
    r"""A model that is fitted to any subset of its columns.

    .. math:: \ell(\eta) = \sum_i w_i\,(y_i \eta_i - \ln(1 + e^{\eta_i})), \qquad
              \sum_i w_i\,(y_i \eta_i - e^{\eta_i} - \ln y_i!), \qquad
              \sum_{i: y_i = 1} w_i\,\Bigl(\eta_i - \ln\!\!\sum_{t_j \ge t_i} w_j e^{\eta_j}\Bigr)

    for the logistic, the Poisson and, with ties by Breslow's rule, the Cox model (y: whether the
    event was seen, rows by falling time). The first two have an intercept, the last column.

    Attributes
    ----------
    family : Family
        Distribution of y.
    columns : array of shape (p + 1, n)
        Columns of mean zero and variance one, then ones.
    y, weight : arrays of shape (n,)
        Responses and weights of the rows.
    is_last : boolean array of shape (n,)
        Whether a row is the last one of its time.
    constant : float
        Constant term of the likelihood, left out of the maximisation.
    null : float
        Intercept of the model without columns.
    """

    family: Family
    columns: FloatArray
    y: FloatArray
    weight: FloatArray
    is_last: BoolArray
    constant: float
    null: float

    @classmethod
    def generalised_linear(
        cls, family: Family, X: FloatArray, y: FloatArray, weight: FloatArray
    ) -> Self:
        """Return the logistic (y is 0 or 1) or the Poisson model of weighted rows."""
        is_logistic = family is Family.LOGISTIC
        others = weight @ (1.0 - y) if is_logistic else weight.sum()
        null = np.log(weight @ y) - np.log(others)
        constant = 0.0 if is_logistic else -float(weight @ gammaln(y + 1.0))
        is_last = np.zeros(len(y), dtype=bool)
        return cls(family, _columns(X, weight), y, weight, is_last, constant, float(null))

    @classmethod
    def cox(cls, X: FloatArray, time: FloatArray, event: FloatArray, weight: FloatArray) -> Self:
        """Return the Cox model of weighted rows: times, and whether the event was seen then."""
        order = np.argsort(-time, kind="stable")
        time, weight = time[order], weight[order]
        is_last = np.append(time[1:] != time[:-1], True)
        columns = _columns(X[order], weight)
        return cls(Family.COX, columns, event[order], weight, is_last, 0.0, 0.0)

    @property
    def n_columns(self) -> int:
        """Number of columns to select from."""
        return len(self.columns) - 1

    def start(self) -> FloatArray:
        """Return coefficients to start from: those of the model without columns."""
        coefficients = np.zeros(len(self.columns))
        coefficients[-1] = self.null
        return coefficients

    def largest(self, subsets: BoolArray, coefficients: FloatArray) -> FloatArray:
        r"""Return the largest log-likelihood of each subset.

        A subset of k columns costs O(n k²) per step, for a few steps. Columns that depend linearly
        on others add nothing. Where y is separable the likelihood has no maximum, and Newton's
        method ends near its bound.

        Parameters
        ----------
        subsets : boolean array of shape (m, p)
            The subsets.
        coefficients : array of shape (p + 1,)
            Latest coefficients of the columns; updated in place.
        """
        found = np.empty(len(subsets))
        has_intercept = self.family is not Family.COX
        asked = np.column_stack([subsets, np.full(len(subsets), has_intercept)])
        _maximise(
            int(self.family),
            self.columns,
            self.y,
            self.weight,
            self.is_last,
            asked,
            self.null,
            coefficients,
            found,
        )
        return found + self.constant


def _columns(X: FloatArray, weight: FloatArray) -> FloatArray:
    return np.vstack([standardised(X, weight).T, np.ones(len(X))])


@jit
def _maximise(
    family: int,
    columns: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    is_last: BoolArray,
    subsets: BoolArray,
    null: float,
    coefficients: FloatArray,
    found: FloatArray,
) -> None:
    last = len(columns) - 1
    for place in range(len(subsets)):
        chosen = np.flatnonzero(subsets[place])
        k = len(chosen)
        gradient, hessian = np.empty(k), np.empty((k, k))
        beta = np.zeros(k)
        if subsets[place, last]:
            beta[k - 1] = null
        warm = coefficients[chosen]
        model = (columns, y, weight, is_last, chosen)
        value = _derivatives(family, model, beta, gradient, hessian)
        value_of_warm = _derivatives(family, model, warm, gradient, hessian)
        if value_of_warm >= value and np.all(np.abs(warm) < FARTHEST_START):
            beta, value = warm, value_of_warm
        else:
            value = _derivatives(family, model, beta, gradient, hessian)
        for _ in range(MAX_STEPS):
            step = _solve(hessian, gradient)
            if step @ gradient <= DECREMENT * (1.0 + abs(value)):
                break
            was, share = value, 1.0
            value = _derivatives(family, model, beta + step, gradient, hessian)
            while not value >= was and share > 1e-6:
                share *= 0.5
                value = _derivatives(family, model, beta + share * step, gradient, hessian)
            if not value >= was:
                value = was
                break
            beta = beta + share * step
        coefficients[chosen] = beta
        found[place] = value


@jit
def _solve(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    """Solve with the negative Hessian, with zeros for collinear columns; it is overwritten."""
    k = len(gradient)
    pivots, largest = np.zeros(k), np.diag(hessian).copy()
    step = gradient.copy()
    for r in range(k):
        if hessian[r, r] > COLLINEAR * largest[r] and hessian[r, r] > 1e-300:
            pivots[r] = hessian[r, r]
            for i in range(r + 1, k):
                factor = hessian[r, i] / pivots[r]
                step[i] -= factor * step[r]
                for j in range(i, k):
                    hessian[i, j] -= factor * hessian[r, j]
    for r in range(k - 1, -1, -1):
        if pivots[r] > 0.0:
            for j in range(r + 1, k):
                step[r] -= hessian[r, j] * step[j]
            step[r] /= pivots[r]
        else:
            step[r] = 0.0
    return step


@jit
def _derivatives(
    family: int,
    model: tuple[FloatArray, FloatArray, FloatArray, BoolArray, IntArray],
    beta: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
) -> float:
    """Return the log-likelihood; fill in the gradient, and the upper half of minus the Hessian."""
    columns, y, weight, is_last, chosen = model
    predictor = np.zeros(len(y))
    for a in range(len(chosen)):
        predictor += beta[a] * columns[chosen[a]]
    if family == 2:
        return _cox_derivatives(columns, y, weight, is_last, chosen, predictor, gradient, hessian)
    if family == 0:
        away = np.exp(-np.abs(predictor))
        mean = np.where(predictor >= 0.0, 1.0, away) / (1.0 + away)
        curvature = weight * away / (1.0 + away) ** 2
        value = np.sum(weight * (y * predictor - np.maximum(predictor, 0.0) - np.log(1.0 + away)))
    else:
        mean = np.exp(predictor)
        curvature = weight * mean
        value = np.sum(weight * (y * predictor - mean))
    residual = weight * (y - mean)
    for a in range(len(chosen)):
        gradient[a] = np.sum(residual * columns[chosen[a]])
        curved = curvature * columns[chosen[a]]
        for b in range(a, len(chosen)):
            hessian[a, b] = np.sum(curved * columns[chosen[b]])
    return value


@jit
def _cox_derivatives(
    columns: FloatArray,
    event: FloatArray,
    weight: FloatArray,
    is_last: BoolArray,
    chosen: IntArray,
    predictor: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
) -> float:
    k = len(chosen)
    top = predictor.max()
    gradient[:] = 0.0
    hessian[:] = 0.0
    first, second = np.zeros(k), np.zeros((k, k))
    row = np.empty(k)
    at_risk = value = events = 0.0
    for i in range(len(event)):
        hazard = weight[i] * np.exp(predictor[i] - top)
        at_risk += hazard
        seen = weight[i] * event[i]
        events += seen
        value += seen * (predictor[i] - top)
        for a in range(k):
            row[a] = columns[chosen[a], i]
        for a in range(k):
            first[a] += hazard * row[a]
            gradient[a] += seen * row[a]
            for b in range(a, k):
                second[a, b] += hazard * row[a] * row[b]
        if is_last[i] and events > 0.0:
            value -= events * np.log(at_risk)
            for a in range(k):
                mean = first[a] / at_risk
                gradient[a] -= events * mean
                for b in range(a, k):
                    hessian[a, b] += events * (second[a, b] - mean * first[b]) / at_risk
            events = 0.0
    return value

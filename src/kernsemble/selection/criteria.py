r"""Criteria for subsets of variables, such as AIC: the smaller, the better.

A criterion is given by name, or as a function. Bound to data it is a `Scoring`, which computes the
scores of many subsets at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernsemble._memory import physical_memory
from kernsemble._typing import Array, BoolArray, FloatArray
from kernsemble._validation import as_numbers, read_classes
from kernsemble.exceptions import GramTooLargeError
from kernsemble.solvers.likelihoods import Family, Likelihood
from kernsemble.solvers.subsets import Moments, SubsetMemory, residual_shares

LINEAR = ("aic", "bic", "gcv")
FAMILIES = {"logistic": Family.LOGISTIC, "poisson": Family.POISSON, "cox": Family.COX}
NAMES = (*LINEAR, *(f"{family}-{penalty}" for family in FAMILIES for penalty in ("aic", "bic")))

SMALLEST = np.finfo(np.float64).tiny  # mean square of an exact fit

Criterion = str | Callable[..., float]


class Scoring(ABC):
    """A criterion bound to data."""

    is_compiled = True  # releases the GIL, so that threads run in parallel

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """The number of candidate variables."""

    @abstractmethod
    def scores(self, subsets: BoolArray, start: FloatArray) -> FloatArray:
        """Return the score of every subset, infinity for those that cannot be fitted.

        `start` holds the initial values of the optimiser, and is updated in place.
        """

    def start(self) -> FloatArray:
        """Return the initial values for the first call of `scores`."""
        return np.empty(0)


@dataclass(frozen=True, eq=False)
class LinearScoring(Scoring):
    r"""AIC, BIC or GCV of least squares with an intercept, from the Gram matrix.

    .. math:: n \ln\frac{\mathrm{RSS}}{n} + \gamma k, \quad \gamma = 2 \text{ or } \ln n, \qquad
              \frac{n\,\mathrm{RSS}}{(n - k - 1)^2}

    Subsets that leave no degree of freedom, k > n − 2, have the score infinity.
    """

    kind: str
    moments: Moments

    @property
    def n_columns(self) -> int:
        return len(self.moments.gram) - 1

    def scores(self, subsets: BoolArray, start: FloatArray) -> FloatArray:  # noqa: ARG002
        k, n = subsets.sum(axis=1), self.moments.n
        scores = np.full(len(subsets), np.inf)
        fits = k <= n - 2.0
        k = k[fits]
        mean_square = self.moments.variance * residual_shares(self.moments, subsets[fits])
        if self.kind == "gcv":
            scores[fits] = mean_square * (n / (n - k - 1.0)) ** 2
        else:
            logarithm = np.log(np.maximum(mean_square, SMALLEST))
            scores[fits] = n * logarithm + _penalty(self.kind, n) * k
        return scores


@dataclass(frozen=True, eq=False)
class LikelihoodScoring(Scoring):
    r"""AIC or BIC of a logistic, Poisson or Cox model, :math:`-2 \ell + \gamma k`.

    :math:`\gamma` is 2 or :math:`\ln n`, with n the number of rows, or of events in a Cox model.
    """

    kind: str
    likelihood: Likelihood

    @property
    def n_columns(self) -> int:
        return self.likelihood.n_columns

    def start(self) -> FloatArray:
        return self.likelihood.start()

    def scores(self, subsets: BoolArray, start: FloatArray) -> FloatArray:
        model, k = self.likelihood, subsets.sum(axis=1)
        weight = model.weight * model.y if model.family is Family.COX else model.weight
        n = float(weight.sum())
        scores = np.full(len(subsets), np.inf)
        fits = k <= n - 2.0
        largest = model.largest(subsets[fits], start)
        scores[fits] = _penalty(self.kind, n) * k[fits] - 2.0 * largest
        return scores


@dataclass(frozen=True, eq=False)
class CallableScoring(Scoring):
    """Any function of the selected columns and y.

    The empty subset is not evaluated: its score is infinity. NaN is replaced by infinity, too.
    """

    function: Callable[..., float]
    X: FloatArray
    y: Array
    weight: FloatArray | None
    is_compiled = False

    @property
    def n_columns(self) -> int:
        return self.X.shape[1]

    def scores(self, subsets: BoolArray, start: FloatArray) -> FloatArray:  # noqa: ARG002
        named = {} if self.weight is None else {"sample_weight": self.weight}
        found = [
            float(self.function(self.X[:, subset], self.y, **named)) if subset.any() else np.inf
            for subset in subsets
        ]
        return np.nan_to_num(np.array(found, dtype=np.float64), nan=np.inf, posinf=np.inf)


class ScoreCache:
    """A cache of scores, so that each subset is scored once."""

    def __init__(self, scoring: Scoring) -> None:
        self._memory, self._start = SubsetMemory(scoring.n_columns), scoring.start()

    def __len__(self) -> int:
        return len(self._memory)

    def scores(self, scoring: Scoring, subsets: BoolArray) -> FloatArray:
        """Return the score of every subset; those of new subsets are computed and stored."""
        places, new = self._memory.places(subsets)
        if len(new):
            found = scoring.scores(subsets[new], self._start)
            self._memory.scores[places[new]] = found
        return self._memory.scores[places]


def check_criterion(criterion: Any) -> None:
    """Raise an error unless `criterion` is one of the names, or a function."""
    if not callable(criterion) and criterion not in NAMES:
        raise ValueError(
            f"criterion = {criterion!r}: use one of {', '.join(map(repr, NAMES))}, or a function "
            "of the selected columns and y to be minimised"
        )


def is_survival(criterion: Criterion) -> bool:
    """Return whether y is a survival time and an event indicator."""
    return isinstance(criterion, str) and criterion.startswith("cox")


def response_checks(criterion: Criterion) -> dict[str, Any]:
    """Return the checks of y, as arguments of scikit-learn's `validate_data` or `check_X_y`."""
    is_numeric = isinstance(criterion, str) and not criterion.startswith("logistic")
    return {"y_numeric": is_numeric, "multi_output": callable(criterion)}


def bind_criterion(
    criterion: Criterion, X: FloatArray, y: Array, weight: FloatArray | None = None
) -> Scoring:
    """Bind a criterion to rows of finite numbers; rows of weight zero are ignored."""
    check_criterion(criterion)
    if weight is not None:
        present = weight > 0.0
        X, y, weight = X[present], y[present], weight[present]
    X = np.ascontiguousarray(X)  # rounding must not depend on the memory layout
    if not isinstance(criterion, str):
        return CallableScoring(criterion, X, y, weight)
    counts = np.ones(len(X)) if weight is None else weight
    if criterion in LINEAR:
        _check_memory(X.shape[1])
        return LinearScoring(criterion, Moments.from_rows(X, as_numbers(y), counts))
    name, kind = criterion.split("-")
    family = FAMILIES[name]
    if family is Family.COX:
        time, event = read_survival(y)
        return LikelihoodScoring(kind, Likelihood.cox(X, time, event, counts))
    response = _read_two_classes(y) if family is Family.LOGISTIC else _read_counts(y)
    return LikelihoodScoring(kind, Likelihood.generalised_linear(family, X, response, counts))


def read_survival(y: Any) -> tuple[FloatArray, FloatArray]:
    """Return survival times and event indicators, 1.0 for an event and 0.0 if censored.

    `y` has two columns, time and event, or is a structured array with a boolean and a numeric
    field, as in scikit-survival.
    """
    table = np.asarray(y)
    if table.dtype.names is not None and len(table.dtype.names) == 2:
        fields = sorted(table.dtype.names, key=lambda name: table.dtype[name].kind == "b")
        table = np.column_stack([table[name].astype(np.float64) for name in fields])
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            f"y has shape {table.shape}: for criterion='cox-aic' pass two columns, the survival "
            "time and the event indicator, 1 for an event and 0 if censored"
        )
    time, event = as_numbers(table).T
    if not np.isfinite(time).all():
        raise ValueError("y contains survival times that are not finite: leave these rows out")
    if not np.isin(event, (0.0, 1.0)).all():
        raise ValueError(
            f"y: the second column, the event indicator, contains {_first_other(event):g}; pass 0 "
            "and 1 only"
        )
    if not event.any():
        raise ValueError("y: all rows are censored; pass at least one event")
    return time, event


def _first_other(event: FloatArray) -> float:
    return float(event[~np.isin(event, (0.0, 1.0))][0])


def _read_two_classes(y: Any) -> FloatArray:
    classes, codes = read_classes(y)
    if len(classes) != 2:
        raise ValueError(
            f"y has {len(classes)} classes, but criterion='logistic-aic' needs two: for more, use "
            "a function, for example one that cross-validates a classifier"
        )
    return codes.astype(np.float64)


def _read_counts(y: Any) -> FloatArray:
    counts = as_numbers(y)
    if counts.min() < 0.0 or counts.max() == 0.0:
        raise ValueError(
            f"y is between {counts.min():g} and {counts.max():g}, but criterion='poisson-aic' "
            "needs counts: pass non-negative numbers, at least one of them positive"
        )
    return counts


def _check_memory(n_columns: int) -> None:
    needed = 2.0 * 8.0 * (n_columns + 1.0) ** 2
    if needed > physical_memory():
        raise GramTooLargeError(
            f"X has {n_columns} columns, whose inner products need {needed / 2**30:.1f} GiB, more "
            "than this machine has: first drop columns with little marginal effect, for example by "
            "scikit-learn's SelectKBest"
        )


def _penalty(kind: str, n: float) -> float:
    return 2.0 if kind == "aic" else float(np.log(n))

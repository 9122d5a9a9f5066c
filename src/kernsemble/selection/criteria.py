r"""What a subset of columns is judged by: the smaller, the better.

A criterion is asked for by name, or is a function. Bound to rows it is a `Scoring`, which tells the
scores of many subsets at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernsemble._memory import physical_memory
from kernsemble._typing import Array, BoolArray, FloatArray
from kernsemble._validation import read_classes
from kernsemble.exceptions import GramTooLargeError
from kernsemble.solvers.likelihoods import Family, Likelihood
from kernsemble.solvers.subsets import Moments, SubsetMemory, residual_shares

LINEAR = ("aic", "bic", "gcv")
FAMILIES = {"logistic": Family.LOGISTIC, "poisson": Family.POISSON, "cox": Family.COX}
NAMES = (*LINEAR, *(f"{family}-{penalty}" for family in FAMILIES for penalty in ("aic", "bic")))

Criterion = str | Callable[..., float]


class Scoring(ABC):
    """A criterion bound to rows."""

    is_compiled = True  # so that threads help

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """How many columns there are to choose from."""

    @abstractmethod
    def scores(self, subsets: BoolArray, start: FloatArray) -> FloatArray:
        """Return the score of every subset, infinity for those that cannot be fitted.

        `start` is what an earlier call left for the next one, changed in place.
        """

    def start(self) -> FloatArray:
        """Return what the first call of `scores` begins from."""
        return np.empty(0)


@dataclass(frozen=True, eq=False)
class LinearScoring(Scoring):
    r"""AIC, BIC or GCV of least squares with an intercept, from the Gram matrix.

    .. math:: n \ln\frac{\mathrm{RSS}}{n} + \gamma k, \quad \gamma = 2 \text{ or } \ln n, \qquad
              \frac{n\,\mathrm{RSS}}{(n - k - 1)^2}

    Subsets that leave no degree of freedom, k > n − 2, are infinitely bad.
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
            scores[fits] = n * np.log(mean_square) + _penalty(self.kind, n) * k
        return scores


@dataclass(frozen=True, eq=False)
class LikelihoodScoring(Scoring):
    r"""AIC or BIC of a logistic, Poisson or Cox model, :math:`-2 \ell + \gamma k`.

    :math:`\gamma` is 2 or :math:`\ln n`, n being the number of rows, or of events in a Cox model.
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
        counted = model.weight * model.y if model.family is Family.COX else model.weight
        n = float(counted.sum())
        scores = np.full(len(subsets), np.inf)
        fits = k <= n - 2.0
        largest = model.largest(subsets[fits], start)
        scores[fits] = _penalty(self.kind, n) * k[fits] - 2.0 * largest
        return scores


@dataclass(frozen=True, eq=False)
class CallableScoring(Scoring):
    """Any function of the chosen columns and y.

    The empty subset is not asked about: it counts as infinitely bad, as does what is not a number.
    """

    judge: Callable[..., float]
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
            float(self.judge(self.X[:, subset], self.y, **named)) if subset.any() else np.inf
            for subset in subsets
        ]
        return np.nan_to_num(np.array(found, dtype=np.float64), nan=np.inf, posinf=np.inf)


class Remembered:
    """Scores of subsets, each computed once."""

    def __init__(self, scoring: Scoring) -> None:
        self._memory, self._start = SubsetMemory(scoring.n_columns), scoring.start()

    def __len__(self) -> int:
        return len(self._memory)

    def scores(self, scoring: Scoring, subsets: BoolArray) -> FloatArray:
        """Return the score of every subset; those of new ones are computed and kept."""
        places, new = self._memory.places(subsets)
        if len(new):
            found = scoring.scores(subsets[new], self._start)
            self._memory.scores[places[new]] = found
        return self._memory.scores[places]


def check_criterion(criterion: Any) -> None:
    """Demand one of the names, or a function."""
    if not callable(criterion) and criterion not in NAMES:
        raise ValueError(
            f"criterion = {criterion!r}: give one of {', '.join(map(repr, NAMES))}, or a function "
            "of the chosen columns and y whose smallest value is best"
        )


def is_survival(criterion: Criterion) -> bool:
    """Whether y is a time and whether the event was seen then."""
    return isinstance(criterion, str) and criterion.startswith("cox")


def bind_criterion(
    criterion: Criterion, X: FloatArray, y: Array, weight: FloatArray | None = None
) -> Scoring:
    """Bind a criterion to rows of finite numbers, which all count; weights mean repetition."""
    check_criterion(criterion)
    if not isinstance(criterion, str):
        return CallableScoring(criterion, X, y, weight)
    counts = np.ones(len(X)) if weight is None else weight
    if criterion in LINEAR:
        _refuse_too_many(X.shape[1])
        return LinearScoring(
            criterion, Moments.from_rows(X, np.asarray(y, dtype=np.float64), counts)
        )
    name, kind = criterion.split("-")
    family = FAMILIES[name]
    if family is Family.COX:
        time, event = read_survival(y)
        return LikelihoodScoring(kind, Likelihood.cox(X, time, event, counts))
    response = _read_two_classes(y) if family is Family.LOGISTIC else _read_counts(y)
    return LikelihoodScoring(kind, Likelihood.generalised_linear(family, X, response, counts))


def read_survival(y: Any) -> tuple[FloatArray, FloatArray]:
    """Return times, and 1.0 where the event was seen then, 0.0 where the row was only censored.

    They come as two columns, time and event, or as a structured array of a boolean field and a
    field of numbers, as scikit-survival has them.
    """
    table = np.asarray(y)
    if table.dtype.names is not None and len(table.dtype.names) == 2:
        fields = sorted(table.dtype.names, key=lambda name: table.dtype[name].kind == "b")
        table = np.column_stack([table[name].astype(np.float64) for name in fields])
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            f"y has shape {table.shape}: for criterion='cox-aic' give two columns, the time of "
            "each row and whether the event was seen then (1) or not (0)"
        )
    time, event = table.astype(np.float64).T
    if not np.isfinite(time).all():
        raise ValueError("y holds times that are not finite: leave these rows out")
    if not np.isin(event, (0.0, 1.0)).all():
        raise ValueError("y: the second column says whether the event was seen; give 0 and 1 only")
    if not event.any():
        raise ValueError("y: no event was seen, so no column can be told from another")
    return time, event


def _read_two_classes(y: Any) -> FloatArray:
    classes, codes = read_classes(y)
    if len(classes) != 2:
        raise ValueError(
            f"y holds {len(classes)} classes: criterion='logistic-aic' needs two; for more give a "
            "function, for example one that cross-validates a classifier"
        )
    return codes.astype(np.float64)


def _read_counts(y: Any) -> FloatArray:
    counts = np.asarray(y, dtype=np.float64)
    if counts.min() < 0.0 or counts.max() == 0.0:
        raise ValueError(
            f"y lies between {counts.min():g} and {counts.max():g}: criterion='poisson-aic' needs "
            "counts, none of them negative and one at least positive"
        )
    return counts


def _refuse_too_many(n_columns: int) -> None:
    needed = 2.0 * 8.0 * (n_columns + 1.0) ** 2
    if needed > physical_memory():
        raise GramTooLargeError(
            f"X has {n_columns} columns, whose inner products need {needed / 2**30:.1f} GiB, more "
            "than this machine has: leave out columns that tell little one by one first, with "
            "scikit-learn's SelectKBest"
        )


def _penalty(kind: str, n: float) -> float:
    return 2.0 if kind == "aic" else float(np.log(n))

"""Rivals of parallel evolution: exhaustive, stepwise and bagged stepwise subset search."""

from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_consistent_length, check_random_state

from kernsemble._arguments import check_count
from kernsemble._memory import physical_memory
from kernsemble._typing import Array, ArrayLike, BoolArray, FloatArray
from kernsemble._validation import checked_rows, checked_rows_and_targets, read_weights
from kernsemble._value_object import short_repr
from kernsemble.selection.criteria import (
    Criterion,
    ScoreCache,
    Scoring,
    bind_criterion,
    check_criterion,
    is_survival,
    response_checks,
)

SUBSETS_PER_CALL = 4096  # number of subsets scored in one compiled call


class AllSubsets(NamedTuple):
    """Every subset of p variables with its criterion.

    Attributes
    ----------
    subsets : boolean array of shape (2^p, p)
        The subsets; the empty one is the first.
    scores : array of shape (2^p,)
        Their criterion.
    """

    subsets: BoolArray
    scores: FloatArray

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def best(self) -> BoolArray:
        """The subset with the smallest criterion, as a mask of variables."""
        return self.subsets[np.argmin(self.scores)]


class Steps(NamedTuple):
    """The result of a stepwise search.

    Attributes
    ----------
    subset : boolean array of shape (p,)
        The selected subset: adding or dropping any single variable does not improve it.
    score : float
        Its criterion.
    n_steps : int
        Number of variables added or dropped.
    """

    subset: BoolArray
    score: float
    n_steps: int

    def __repr__(self) -> str:
        return short_repr(self)


def exhaustive_search(
    X: ArrayLike,
    y: ArrayLike,
    criterion: Criterion = "aic",
    sample_weight: ArrayLike | None = None,
) -> AllSubsets:
    r"""Score all :math:`2^p` subsets of variables.

    Parameters
    ----------
    X, y : array-likes
        Rows and responses, as for `ParallelEvolutionSelector`.
    criterion : str or callable, default="aic"
        The criterion to minimise, as there.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    AllSubsets
        All subsets and their scores.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.datasets import make_sparse_sum
    >>> from kernsemble.selection import exhaustive_search
    >>> X, y = make_sparse_sum(random_state=6)  # columns 1, 4 and 7
    >>> search = exhaustive_search(X, y)
    >>> np.flatnonzero(search.best)  # the smallest AIC includes spurious columns
    array([0, 1, 4, 7, 9])
    """
    scoring = _bind(X, y, criterion, sample_weight)
    p = scoring.n_columns
    needed = 2.0**p * (p + 8.0)
    if p > 40 or needed > 0.5 * physical_memory():
        raise MemoryError(
            f"X has {p} columns, and so 2^{p} subsets, too many to store: use stepwise_search or "
            "ParallelEvolutionSelector"
        )
    numbers = np.arange(2**p, dtype=np.uint64)
    subsets = ((numbers[:, np.newaxis] >> np.arange(p, dtype=np.uint64)) & np.uint64(1)).astype(
        bool
    )
    start = scoring.start()
    scores = [
        scoring.scores(subsets[first : first + SUBSETS_PER_CALL], start)
        for first in range(0, len(subsets), SUBSETS_PER_CALL)
    ]
    return AllSubsets(subsets, np.concatenate(scores))


def stepwise_search(
    X: ArrayLike,
    y: ArrayLike,
    criterion: Criterion = "aic",
    sample_weight: ArrayLike | None = None,
) -> Steps:
    """Select variables stepwise: add or drop the one that improves the criterion most.

    The search starts without variables and ends when no step improves. A step scores p subsets.

    Parameters
    ----------
    X, y : array-likes
        Rows and responses, as for `ParallelEvolutionSelector`.
    criterion : str or callable, default="aic"
        The criterion to minimise, as there.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    Steps
        The selected subset.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.datasets import make_sparse_sum
    >>> from kernsemble.selection import stepwise_search
    >>> X, y = make_sparse_sum(random_state=6)
    >>> np.flatnonzero(stepwise_search(X, y).subset)
    array([1, 4, 7])
    """
    return _stepwise(_bind(X, y, criterion, sample_weight))


def bagged_stepwise_search(
    X: ArrayLike,
    y: ArrayLike,
    criterion: Criterion = "aic",
    n_samples: int = 25,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BoolArray:
    """Run a stepwise search on each of many bootstrap samples.

    The importance of a variable is the fraction of samples whose search selects it, to be used like
    that of `ParallelEvolutionSelector`.

    Parameters
    ----------
    X, y : array-likes
        Rows and responses, as for `ParallelEvolutionSelector`.
    criterion : str or callable, default="aic"
        The criterion to minimise, as there.
    n_samples : int, default=25
        Number of bootstrap samples.
    random_state : int, RandomState or None, default=None
        Random seed of the samples.
    n_jobs : int or None, default=None
        Number of searches in parallel, by joblib.

    Returns
    -------
    boolean array of shape (n_samples, p)
        The subset selected on each sample.

    Examples
    --------
    >>> from kernsemble.datasets import make_sparse_sum
    >>> from kernsemble.selection import bagged_stepwise_search
    >>> X, y = make_sparse_sum(random_state=6)
    >>> bagged_stepwise_search(X, y, random_state=0).mean(axis=0)
    array([0.76, 1.  , 0.28, 0.28, 1.  , 0.16, 0.6 , 1.  , 0.16, 0.6 ])
    """
    check_count("n_samples", n_samples)
    rows, response = _read(X, y, criterion)
    rng, n = check_random_state(random_state), len(rows)
    drawn = [np.bincount(rng.randint(n, size=n), minlength=n) for _ in range(n_samples)]

    def search(times: Array) -> BoolArray:
        return _stepwise(bind_criterion(criterion, rows, response, times.astype(np.float64))).subset

    found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(search)(times) for times in drawn)
    return np.array(found)


def _stepwise(scoring: Scoring) -> Steps:
    cache, p = ScoreCache(scoring), scoring.n_columns
    subset = np.zeros(p, dtype=bool)
    score, n_steps = float(cache.scores(scoring, subset[np.newaxis])[0]), 0
    while True:
        neighbours = subset ^ np.eye(p, dtype=bool)
        scores = cache.scores(scoring, neighbours)
        best = int(np.argmin(scores))
        if not scores[best] < score:
            return Steps(subset, score, n_steps)
        subset, score, n_steps = neighbours[best], float(scores[best]), n_steps + 1


def _read(X: ArrayLike, y: ArrayLike, criterion: Criterion) -> tuple[FloatArray, Array]:
    check_criterion(criterion)
    if is_survival(criterion):
        rows, response = checked_rows(X, dtype=np.float64, ensure_min_samples=2), np.asarray(y)
        check_consistent_length(rows, response)
        return rows, response
    return checked_rows_and_targets(
        X, y, dtype=np.float64, ensure_min_samples=2, **response_checks(criterion)
    )


def _bind(
    X: ArrayLike, y: ArrayLike, criterion: Criterion, sample_weight: ArrayLike | None
) -> Scoring:
    rows, response = _read(X, y, criterion)
    weight = None if sample_weight is None else read_weights(sample_weight, len(rows))
    return bind_criterion(criterion, rows, response, weight)

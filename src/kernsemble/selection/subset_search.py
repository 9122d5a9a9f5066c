"""What parallel evolution is compared with: all subsets, stepwise search, and its bagging."""

from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state, check_X_y

from kernsemble._arguments import check_count
from kernsemble._memory import physical_memory
from kernsemble._typing import Array, BoolArray, FloatArray
from kernsemble._validation import read_weights
from kernsemble.selection.criteria import (
    Criterion,
    Remembered,
    Scoring,
    bind_criterion,
    check_criterion,
    is_survival,
)

AT_ONCE = 4096  # subsets that are scored in one call


class AllSubsets(NamedTuple):
    """Every subset of p columns, and what the criterion says of it.

    Attributes
    ----------
    subsets : boolean array of shape (2^p, p)
        The subsets; the empty one is the first.
    scores : array of shape (2^p,)
        Their scores.
    """

    subsets: BoolArray
    scores: FloatArray

    @property
    def best(self) -> BoolArray:
        """The subset of least score, as a mask of columns."""
        return self.subsets[np.argmin(self.scores)]


class Steps(NamedTuple):
    """Where a stepwise search ended.

    Attributes
    ----------
    subset : boolean array of shape (p,)
        The subset that no single column improves, added or dropped.
    score : float
        Its score.
    n_steps : int
        How many columns were added or dropped on the way.
    """

    subset: BoolArray
    score: float
    n_steps: int


def exhaustive_search(
    X: ArrayLike,
    y: ArrayLike,
    criterion: Criterion = "aic",
    sample_weight: ArrayLike | None = None,
) -> AllSubsets:
    r"""Score every subset of columns: :math:`2^p` of them.

    Parameters
    ----------
    X, y : array-likes
        Rows and responses, as for `ParallelEvolutionSelector`.
    criterion : str or callable, default="aic"
        What is minimised, as there.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

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
    >>> np.flatnonzero(search.best)  # the least AIC is spurious
    array([0, 1, 4, 7, 9])
    """
    scoring = _bind(X, y, criterion, sample_weight)
    p = scoring.n_columns
    needed = 2.0**p * (p + 8.0)
    if p > 40 or needed > 0.5 * physical_memory():
        raise MemoryError(
            f"X has {p} columns, of which there are 2^{p} subsets, too many to keep: use "
            "stepwise_search or ParallelEvolutionSelector"
        )
    numbers = np.arange(2**p, dtype=np.uint64)
    subsets = ((numbers[:, np.newaxis] >> np.arange(p, dtype=np.uint64)) & np.uint64(1)).astype(
        bool
    )
    start = scoring.start()
    scores = [
        scoring.scores(subsets[first : first + AT_ONCE], start)
        for first in range(0, len(subsets), AT_ONCE)
    ]
    return AllSubsets(subsets, np.concatenate(scores))


def stepwise_search(
    X: ArrayLike,
    y: ArrayLike,
    criterion: Criterion = "aic",
    sample_weight: ArrayLike | None = None,
) -> Steps:
    """Add or drop one column at a time, the one that helps most, until none helps.

    It begins without columns. A step scores p subsets.

    Parameters
    ----------
    X, y : array-likes
        Rows and responses, as for `ParallelEvolutionSelector`.
    criterion : str or callable, default="aic"
        What is minimised, as there.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Returns
    -------
    Steps
        Where the search ended.

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

    The share of samples whose search holds a column is its importance, to be used as that of
    universes is.

    Parameters
    ----------
    X, y : array-likes
        Rows and responses, as for `ParallelEvolutionSelector`.
    criterion : str or callable, default="aic"
        What is minimised, as there.
    n_samples : int, default=25
        How many bootstrap samples.
    random_state : int, RandomState or None, default=None
        What the samples are drawn with.
    n_jobs : int or None, default=None
        How many searches go on at a time, by joblib.

    Returns
    -------
    boolean array of shape (n_samples, p)
        The subset that each search ended at.

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
        present = times > 0
        bound = bind_criterion(
            criterion, rows[present], response[present], times[present].astype(np.float64)
        )
        return _stepwise(bound).subset

    found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(search)(times) for times in drawn)
    return np.array(found)


def _stepwise(scoring: Scoring) -> Steps:
    known, p = Remembered(scoring), scoring.n_columns
    subset = np.zeros(p, dtype=bool)
    score, n_steps = float(known.scores(scoring, subset[np.newaxis])[0]), 0
    while True:
        neighbours = subset ^ np.eye(p, dtype=bool)
        scores = known.scores(scoring, neighbours)
        best = int(np.argmin(scores))
        if not scores[best] < score:
            return Steps(subset, score, n_steps)
        subset, score, n_steps = neighbours[best], float(scores[best]), n_steps + 1


def _read(X: ArrayLike, y: ArrayLike, criterion: Criterion) -> tuple[FloatArray, Array]:
    check_criterion(criterion)
    if is_survival(criterion):
        return check_array(X, dtype=np.float64, ensure_min_samples=2), np.asarray(y)
    return check_X_y(X, y, dtype=np.float64, multi_output=callable(criterion), ensure_min_samples=2)


def _bind(
    X: ArrayLike, y: ArrayLike, criterion: Criterion, sample_weight: ArrayLike | None
) -> Scoring:
    rows, response = _read(X, y, criterion)
    weight = read_weights(sample_weight, len(rows))
    present = weight > 0.0
    counted = None if sample_weight is None else weight[present]
    return bind_criterion(criterion, rows[present], response[present], counted)

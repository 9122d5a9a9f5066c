"""Variable selection by evolution in parallel universes."""

import warnings
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kernsemble._arguments import check_count, check_positive, check_share
from kernsemble._progress import CallbackSupportMixin, Task, with_callbacks
from kernsemble._typing import Array, BoolArray, FloatArray
from kernsemble._validation import read_weights
from kernsemble.selection.criteria import (
    Criterion,
    bind_criterion,
    check_criterion,
    is_survival,
)
from kernsemble.selection.evolution import Evolution, evolve_universes
from kernsemble.selection.universe import Nature
from kernsemble.selection.votes import Gap, largest_gap, most_important, noise_of_gap

Select = Literal["gap"] | float | tuple[Literal["top"], int]


class NoiseGapWarning(UserWarning):
    """The largest gap between importances is no larger than chance makes gaps."""


class ParallelEvolutionSelector(SelectorMixin, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc,valid-type]
    r"""Selects the columns that short evolutions in parallel universes agree on.

    .. math:: r_j = \frac{1}{B} \sum_{b=1}^B [\,j \in S_b\,]

    In each of B universes an evolutionary search looks for the subset of columns with the least
    criterion, AIC say, for a few generations only; :math:`S_b` is the best one then. AIC cannot
    tell subsets with all true columns from each other, and its minimum holds spurious ones; but
    it tells all of them from subsets where a true column is missing. So after a short evolution
    true columns are what universes have in common, and each has spurious ones of its own [1]_.
    Columns above the largest gap between importances :math:`r_j` are selected.

    Evolution ends by itself: survivors of a universe become alike, and in the first generation
    in which their entropy (in bits a column, mean of all universes) is at most `entropy_share`
    of that of the first, all universes vote.

    A linear criterion of a subset of k columns costs O(k³) from inner products, which cost
    O(n p²) once; those of likelihoods cost O(n k²) a step of Newton's method. No subset is scored
    twice in a universe.

    Parameters
    ----------
    criterion : str or callable, default="aic"
        What is minimised. Of least squares: "aic", "bic" or "gcv". Of other models:
        "logistic-aic", "poisson-aic", "cox-aic" (ties by Breslow's rule), and "-bic" of each. Or
        a function of the chosen columns and y (and `sample_weight`, where `fit` got one), which
        is never asked of no columns.
    n_universes : int, default=25
        How many universes vote.
    n_generations : int or "auto", default="auto"
        How long each evolves; "auto": until the entropy has fallen, or four times `population`.
    population : int or "auto", default="auto"
        How many subsets live at a time in a universe; "auto": :math:`8 \sqrt p`.
    initial_size : float or "auto", default="auto"
        How many columns subsets of the first generation have in the mean; "auto": p / 5, but no
        more than n / 6, and no less than 1.
    mutation : float or "auto", default="auto"
        The chance that a column of a child is changed; "auto": 1 / (10 p).
    entropy_share : float, default=0.65
        At which share of its first value the entropy ends an evolution of "auto" length.
    select : "gap", float or ("top", int), default="gap"
        Which columns to select: those above the largest gap; those with at least that importance;
        or so many of the most important.
    random_state : int, RandomState or None, default=None
        What the universes are seeded with.
    n_jobs : int or None, default=None
        How many universes evolve at a time, by joblib; the result is the same for any number.

    Attributes
    ----------
    importances_ : array of shape (p,)
        The share :math:`r_j` of universes that hold each column.
    ranking_ : array of shape (p,)
        The rank of each column, 1 for the most important; equal ones share the best.
    support_ : boolean array of shape (p,)
        Which columns are selected.
    gap_ : float
        The width of the largest gap between importances.
    subsets_ : boolean array of shape (B, p)
        The best subset of each universe.
    scores_ : array of shape (B,)
        Their criterion.
    n_generations_ : int
        How many generations T the universes evolved for.
    entropies_ : array of shape (T + 1,)
        The mean entropy of survivors after each generation.
    history_ : array of shape (T + 1, p)
        The importances after each generation.
    n_evaluated_ : int
        How many subsets were scored.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Warns
    -----
    NoiseGapWarning
        If columns are selected by a gap below :math:`0.8225 / \sqrt B`, which chance may make.

    References
    ----------
    .. [1] M. Zhu, Kernels and ensembles: perspectives on statistical learning, The American
       Statistician 62, 2008, Section 4.3; M. Zhu and H. A. Chipman, Darwinian evolution in
       parallel universes, Technometrics 48, 2006.

    Examples
    --------
    >>> from kernsemble.datasets import make_sparse_sum
    >>> from kernsemble.selection import ParallelEvolutionSelector
    >>> X, y = make_sparse_sum(random_state=6)  # columns 1, 4 and 7 of ten
    >>> selector = ParallelEvolutionSelector(random_state=0).fit(X, y)
    >>> selector.importances_
    array([0.08, 1.  , 0.04, 0.04, 0.92, 0.16, 0.12, 1.  , 0.2 , 0.08])
    >>> selector.get_feature_names_out()
    array(['x1', 'x4', 'x7'], dtype=object)
    """

    def __init__(
        self,
        criterion: Criterion = "aic",
        n_universes: int = 25,
        n_generations: int | Literal["auto"] = "auto",
        population: int | Literal["auto"] = "auto",
        initial_size: float | Literal["auto"] = "auto",
        mutation: float | Literal["auto"] = "auto",
        entropy_share: float = 0.65,
        select: Select = "gap",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.n_universes = n_universes
        self.n_generations = n_generations
        self.population = population
        self.initial_size = initial_size
        self.mutation = mutation
        self.entropy_share = entropy_share
        self.select = select
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Let universes evolve, and take their vote.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, p)
            Rows of numbers.
        y : array-like of shape (n,) or (n, 2)
            What is to be told from them: numbers, two classes, counts, or, for a Cox model, times
            and whether the event was seen then (two columns, or scikit-survival's arrays).
        sample_weight : array-like of shape (n,), optional
            How often each row counts; zero is absence.

        Returns
        -------
        self
        """
        self._check_settings()
        rows, response = self._read(X, y)
        weight = read_weights(sample_weight, len(rows))
        present = weight > 0.0
        counted = None if sample_weight is None else weight[present]
        scoring = bind_criterion(self.criterion, rows[present], response[present], counted)
        nature = self._nature(float(weight.sum()), scoring.n_columns)
        rng = check_random_state(self.random_state)
        seeds = np.random.SeedSequence(int(rng.randint(2**31))).spawn(self.n_universes)
        is_automatic = self.n_generations == "auto"
        longest = 4 * nature.population if is_automatic else int(self.n_generations)
        with Task.of_fit(self, longest + 1, X, y, sample_weight) as task:
            evolution = evolve_universes(
                scoring,
                nature,
                seeds,
                longest,
                self.entropy_share if is_automatic else -1.0,
                self.n_jobs,
                lambda generation: task.note("generation", generation),
            )
        if is_automatic and not evolution.has_settled:
            warnings.warn(
                f"entropy_share = {self.entropy_share!r} was not reached in {longest} generations: "
                "raise it, or lower mutation",
                UserWarning,
                stacklevel=3,
            )
        self._store(evolution)
        return self

    def _check_settings(self) -> None:
        check_criterion(self.criterion)
        check_count("n_universes", self.n_universes)
        check_share("entropy_share", self.entropy_share)
        if self.n_generations != "auto":
            check_count("n_generations", self.n_generations, minimum=0)
        if self.population != "auto":
            check_count("population", self.population, minimum=2)
        if self.initial_size != "auto":
            check_positive("initial_size", self.initial_size)
        if self.mutation != "auto":
            check_share("mutation", self.mutation)
        select: Any = self.select
        if isinstance(select, tuple) and len(select) == 2 and select[0] == "top":
            check_count("select[1]", select[1])
        elif isinstance(select, Real):
            check_share("select", select)
        elif select != "gap":
            raise ValueError(
                f"select = {select!r}: give 'gap', the least importance, such as 0.5, or "
                "('top', number of columns)"
            )

    def _read(self, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, Array]:
        if is_survival(self.criterion) and y is not None:
            rows = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
            response = np.asarray(y)
            check_consistent_length(rows, response)
            return rows, response
        is_numeric = isinstance(self.criterion, str) and not self.criterion.startswith("logistic")
        return validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            ensure_min_samples=2,
            y_numeric=is_numeric,
            multi_output=callable(self.criterion),
        )

    def _nature(self, n: float, p: int) -> Nature:
        """Return the laws of the universes, for n rows and p columns."""
        population: Any = self.population
        if population == "auto":
            population = 2 * int(np.ceil(4.0 * np.sqrt(p)))
        size: Any = self.initial_size
        density = max(min(p / 5, n / 6), 1.0) / p if size == "auto" else size / p
        mutation: Any = 0.1 / p if self.mutation == "auto" else self.mutation
        return Nature(int(population), min(density, 0.5), float(mutation))

    def _store(self, evolution: Evolution) -> None:
        self.history_, self.entropies_ = evolution.importances, evolution.entropies
        self.subsets_, self.scores_ = evolution.best[-1], evolution.scores[-1]
        self.n_generations_ = len(self.history_) - 1
        self.n_evaluated_ = evolution.n_evaluated
        self.importances_ = self.history_[-1]
        self.ranking_ = rankdata(-self.importances_, method="min").astype(np.int64)
        gap = largest_gap(self.importances_)
        self.gap_ = gap.width
        self.support_ = self._selected(gap)

    def _selected(self, gap: Gap) -> BoolArray:
        select: Any = self.select
        if isinstance(select, tuple):
            return most_important(self.importances_, select[1])
        if select != "gap":
            return self.importances_ >= select
        noise = noise_of_gap(self.n_universes)
        if gap.width < noise:
            warnings.warn(
                f"select = 'gap': the largest gap between importances, {gap.width:.2g}, is below "
                f"{noise:.2g}, which chance may make with {self.n_universes} universes: raise "
                "n_universes, or select by ('top', k)",
                NoiseGapWarning,
                stacklevel=5,
            )
        return most_important(self.importances_, gap.n_above)

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_

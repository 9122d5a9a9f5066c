"""Variable selection by parallel evolution."""

import warnings
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from kernsemble._arguments import check_count, check_positive, check_share, is_name
from kernsemble._last_fit import restoring_last_fit
from kernsemble._progress import CallbackSupportMixin, Task, with_callbacks
from kernsemble._typing import Array, ArrayLike, BoolArray, FloatArray
from kernsemble._validation import read_weights, refuse_complex, validated
from kernsemble.selection.criteria import (
    Criterion,
    bind_criterion,
    check_criterion,
    is_survival,
    response_checks,
)
from kernsemble.selection.evolution import Evolution, evolve_universes
from kernsemble.selection.importance_gap import Gap, largest_gap, most_important, noise_of_gap
from kernsemble.selection.universe import EvolutionSettings

Select = Literal["gap"] | float | tuple[Literal["top"], int]


class NoiseGapWarning(UserWarning):
    """Warning that the largest gap between importances may be due to chance."""


class ParallelEvolutionSelector(SelectorMixin, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc,valid-type]
    r"""Variable selection by parallel evolution: a vote of many short evolutionary searches.

    .. math:: r_j = \frac{1}{B} \sum_{b=1}^B [\,j \in S_b\,]

    In each of B universes an evolutionary search minimises a criterion, such as AIC, over subsets
    of variables, for a few generations only; :math:`S_b` is its best subset. AIC hardly
    discriminates between subsets that contain all true variables, and its minimum includes
    spurious ones; but it discriminates well against subsets without a true variable. So after a
    short evolution the true variables are common to all universes, and the spurious ones differ
    [1]_. Variables above the largest gap between importances :math:`r_j` are selected.

    The stopping time is automatic: the survivors of a universe become similar, and evolution ends
    in the first generation in which their entropy (in bits per variable, averaged over universes)
    is at most `entropy_share` times that of the first.

    A linear criterion of a subset of k variables costs O(k³) from inner products, which cost
    O(n p²) once; a likelihood costs O(n k²) per step of Newton's method. No subset is scored
    twice in a universe.

    Parameters
    ----------
    criterion : str or callable, default="aic"
        The criterion to minimise. For least squares: "aic", "bic" or "gcv". For other models:
        "logistic-aic", "poisson-aic", "cox-aic" (ties by Breslow's rule), and the same with
        "-bic". Or a function of the selected columns and y (and of `sample_weight`, if given to
        `fit`), which is never called without columns.
    n_universes : int, default=25
        Number of universes B.
    n_generations : int or "auto", default="auto"
        Number of generations; "auto": until the entropy has fallen, at most four times
        `population`.
    population : int or "auto", default="auto"
        Population size of a universe; "auto": :math:`8 \sqrt p`.
    initial_size : float or "auto", default="auto"
        Mean number of variables in the subsets of the first generation; "auto": p / 5, but at most
        n / 6, and at least 1.
    mutation : float or "auto", default="auto"
        Mutation probability of a variable of a child; "auto": 1 / (10 p).
    entropy_share : float, default=0.65
        Fraction of the initial entropy at which evolution ends if `n_generations` is "auto".
    select : "gap", float or ("top", int), default="gap"
        Selection rule: variables above the largest gap; variables with at least this importance;
        or this number of the most important ones.
    random_state : int, RandomState or None, default=None
        Random seed of the universes.
    n_jobs : int or None, default=None
        Number of universes in parallel, by joblib; the result does not depend on it.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    importances_ : array of shape (p,)
        The feature importances: the fraction :math:`r_j` of universes that select each variable.
    ranking_ : array of shape (p,)
        The rank of each variable, 1 for the most important; ties share the best rank.
    support_ : boolean array of shape (p,)
        Mask of the selected variables.
    gap_ : float
        The width of the largest gap between importances.
    subsets_ : boolean array of shape (B, p)
        The best subset of each universe.
    scores_ : array of shape (B,)
        Their criterion.
    n_generations_ : int
        The number of generations T.
    entropies_ : array of shape (T + 1,)
        The mean entropy of survivors after each generation.
    history_ : array of shape (T + 1, p)
        The importances after each generation.
    n_evaluated_ : int
        The number of subsets scored.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Warns
    -----
    NoiseGapWarning
        If variables are selected by a gap below :math:`0.8225 / \sqrt B`, which may be due to
        chance.

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
        verbose: int = 0,
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
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        has_two_columns = is_survival(self.criterion)  # times and events
        tags.target_tags.required = True
        tags.target_tags.multi_output = has_two_columns or callable(self.criterion)
        tags.target_tags.single_output = not has_two_columns
        tags.target_tags.positive_only = str(self.criterion).startswith("poisson")
        return tags

    @restoring_last_fit
    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Evolve the universes, and select variables by their importances.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, p)
            Rows of numbers.
        y : array-like of shape (n,) or (n, 2)
            The response: numbers, two classes, counts, or, for a Cox model, survival times and
            event indicators (two columns, or scikit-survival's arrays).
        sample_weight : array-like of shape (n,), optional
            Weights of the rows; rows of weight zero are ignored.

        Returns
        -------
        self
        """
        self._check_settings()
        rows, response = self._read(X, y)
        weight = None if sample_weight is None else read_weights(sample_weight, len(rows))
        scoring = bind_criterion(self.criterion, rows, response, weight)
        n = len(rows) if weight is None else float(weight.sum())
        settings = self._evolution_settings(n, scoring.n_columns)
        rng = check_random_state(self.random_state)
        seeds = np.random.SeedSequence(int(rng.randint(2**31))).spawn(self.n_universes)
        is_automatic = self.n_generations == "auto"
        longest = 4 * settings.population if is_automatic else int(self.n_generations)
        with Task.of_fit(self, longest + 1, X, y, sample_weight) as task:
            evolution = evolve_universes(
                scoring,
                settings,
                seeds,
                longest,
                self.entropy_share if is_automatic else -1.0,
                self.n_jobs,
                lambda generation: task.note("generation", generation),
            )
        if is_automatic and not evolution.has_converged:
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
        if not is_name(self.n_generations, "auto"):
            check_count("n_generations", self.n_generations, minimum=0)
        if not is_name(self.population, "auto"):
            check_count("population", self.population, minimum=2)
        if not is_name(self.initial_size, "auto"):
            check_positive("initial_size", self.initial_size)
        if not is_name(self.mutation, "auto"):
            check_share("mutation", self.mutation)
        select: Any = self.select
        if isinstance(select, tuple) and len(select) == 2 and select[0] == "top":
            check_count("select[1]", select[1])
        elif isinstance(select, Real):
            check_share("select", select)
        elif not is_name(select, "gap"):
            raise ValueError(
                f"select = {select!r}: use 'gap', a minimum importance such as 0.5, or "
                "('top', number of variables)"
            )

    def transform(self, X: ArrayLike) -> Any:
        """Return the selected columns of rows."""
        refuse_complex(X, "X")
        with np.errstate(all="ignore"):  # the sums of infinities in scikit-learn's check
            return super().transform(X)

    def _read(self, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, Array]:
        if is_survival(self.criterion) and y is not None:
            rows = validated(self, X, dtype=np.float64, ensure_min_samples=2)
            response = np.asarray(y)
            check_consistent_length(rows, response)
            return rows, response
        checks = response_checks(self.criterion)
        return validated(self, X, y, dtype=np.float64, ensure_min_samples=2, **checks)

    def _evolution_settings(self, n: float, p: int) -> EvolutionSettings:
        """Return the settings of the universes, for n rows and p variables."""
        population: Any = self.population
        if population == "auto":
            population = 2 * int(np.ceil(4.0 * np.sqrt(p)))
        size: Any = self.initial_size
        density = max(min(p / 5, n / 6), 1.0) / p if size == "auto" else size / p
        mutation: Any = 0.1 / p if self.mutation == "auto" else self.mutation
        return EvolutionSettings(int(population), min(density, 0.5), float(mutation))

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
                f"{noise:.2g} and may be due to chance with {self.n_universes} universes: raise "
                "n_universes, or use select=('top', k)",
                NoiseGapWarning,
                stacklevel=5,
            )
        return most_important(self.importances_, gap.n_above)

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_

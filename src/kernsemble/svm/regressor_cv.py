"""A regression ensemble whose settings are selected by cross-validation."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.metrics import r2_score

from kernsemble._arguments import check_not_negative
from kernsemble._folds import as_grid, fold_of_rows, read_splits
from kernsemble._jobs import within_n_jobs
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import ArrayLike, FloatArray, IntArray, Rows
from kernsemble.kernels import Kernel
from kernsemble.streaming import Blocks
from kernsemble.svm.model_selection.cross_validation import HeldOutNumbers
from kernsemble.svm.model_selection.grid import Variant
from kernsemble.svm.model_selection.out_of_fold import OutOfFold
from kernsemble.svm.model_selection.selecting_estimator import SelectsSettings
from kernsemble.svm.problem import TargetScale
from kernsemble.svm.regressor import EnsembleRegressor
from kernsemble.svm.streams.selection import select_on_blocks
from kernsemble.svm.streams.sources import local_source
from kernsemble.svm.vote.problem import VoteProblem

GRID = tuple(2.0**power for power in range(-11, 8, 2))  # values of C, in standard deviations of y


class InfiniteEnsembleRegressorCV(SelectsSettings, EnsembleRegressor):
    r"""A regression ensemble whose C, epsilon, kernel and scaling are selected by cross-validation.

    Every C and every fold is solved on one kernel matrix, once for each epsilon, as in
    `InfiniteEnsembleClassifierCV`. Of equal scores the smallest C wins, then the smallest
    epsilon.

    Parameters
    ----------
    kernel : str, Kernel or list of those, default="auto"
        Kernel, an unbound expression or a name, or a list to select from. With "auto", machines
        of several kernels and scalings vote, with weights that minimise the squared error of
        held-out predictions, at any number of rows; with ``loss="epsilon_insensitive"`` kernels
        race instead, at the smallest epsilon. See `InfiniteEnsembleClassifierCV`.
    Cs : sequence of float, optional
        Values of C to select from, in standard deviations of y. By default 2**-11, 2**-9, ...,
        2**7; in a race or with the additive solver multiples of ``C="scale"``.
    epsilons : sequence of float, default=(0.01, 0.1)
        Values of epsilon to select from, in standard deviations of y; the squared loss has none.
    cv : int, splitter or iterable, default=5
        Cross-validation folds, as everywhere in scikit-learn. Shuffle sorted rows:
        ``KFold(5, shuffle=True, random_state=0)``.
    scoring : str, callable or None, default=None
        Score to maximise, as everywhere in scikit-learn; None is :math:`R^2`.
    scaling : str, None, list of those or "auto", default="auto"
        Scaling of the features, or a list to select from: "range" to [−1, 1] as in the papers,
        "rank" to their distribution function, "distinct" to equal steps between neighbouring
        values; "learned", "learned-range", "learned-distinct", "learned-directions", "effects",
        "learned-effects" and "learned-indicators" are learned from the targets, for the exact and
        local solvers. "auto" is "range", and for ``kernel="auto"`` all that suit the rows.
    tol : float, default=1e-3
        Largest violation of the optimality (KKT) conditions at which to stop, in standard
        deviations of y; for the additive solver, the duality gap relative to the objective.
    max_iter : int or None, default=None
        Maximum number of iterations per machine.
    cache_size : float or None, default=None
        Memory for kernel matrices in megabytes, by default half of what is available. If a
        matrix does not fit, its rows are computed on demand, with a warning.
    random_state : int, RandomState or None, default=None
        Random seed of the samples of a race, of directions and grids.
    solver : {"auto", "exact", "additive", "local", "cuda"}, default="auto"
        Backend: "exact" uses the kernel matrix between all rows, for any kernel; "additive" uses
        tables of codes, at a cost linear in the number of rows, for kernels that are sums over
        columns, directions or grids (stumps, categories, perceptrons, `Laplacian`,
        `DecisionTree` and sums of them); "local" fits the squared loss on the leaves of
        partitions of the rows, for any kernel, at a cost linear in the number of rows; "cuda" has
        the result of "exact" from a GPU, for the hinge, the squared and the epsilon-insensitive
        loss and kernels of distances and inner products, in the precision of the rows: pass
        float32 rows for speed (needs ``kernsemble[cuda]``). "auto" is exact while the matrix is
        cheap, and additive for more rows, losses other than the hinge, missing values, and
        categories if the kernel is such a sum; from 10,000 rows on it is "cuda" where there is a
        GPU that has the kernel. A vote is exact, local or on the GPU.
    loss : {"auto", "epsilon_insensitive", "squared"}, default="auto"
        Loss function: that of support vector regression, or half the squared error, which has
        no epsilon, and whose C does not depend on the unit of y. "auto" is the second for a vote
        and if the additive solver is used, and the first if the exact one is.
    max_levels : int, default=256
        Maximum number of levels per column to which the additive solver rounds numbers (at most
        65,535). Columns with fewer distinct values are not rounded.
    n_slices : int or None, default=None
        Number of directions in which the additive solver samples perceptrons; by default 26 per
        feature, at least 512 and at most 2,048.
    n_grids : int, default=512
        Number of random grids, whose cells are leaves of trees, that the additive solver samples
        for each `Laplacian` or `DecisionTree`.
    n_pairs : int or "auto", default=0
        Number of pairs of columns with a function of their own, for which the most promising of
        all pairs are searched: a readable model of interactions, by the additive solver, in which
        the weights of all functions are learned, so that C has little effect. "auto" selects the
        number, at most 40, by the loss of held-out rows. Numbers have up to 32 levels in a pair.
    pairs : sequence of pairs of columns or None, default=None
        Pairs that have a function in any case, by name or position, `[("age", "job")]`; they
        count towards `n_pairs`.
    max_members : int, default=6
        Maximum number of machines that vote for ``kernel="auto"``.
    time_budget : float or None, default=None
        Approximate number of seconds for the vote of ``kernel="auto"``, checked between machines:
        fewer candidates are compared, and the best vote so far is returned. None for no limit.
    n_jobs : int or None, default=None
        Number of threads of `fit` and of predictions; −1 is all cores, −2 all but one. None is
        all cores, or the number in the environment variable NUMBA_NUM_THREADS.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    C_, epsilon_ : float
        The selected values, in units of y, as `InfiniteEnsembleRegressor` takes them.
    kernel_, scaling_
        The selected kernel and scaling, bound to all training rows. After a vote there are none,
        nor C and epsilon.
    members_ : tuple of VoteMember
        The machines that vote, with their `name`, `weight`, `share`, `kernel`, `scaling` and `C`,
        after a vote only.
    best_score_ : float
        The mean cross-validated score of the selected settings. Optimistic: it is the best of
        several settings.
    best_params_, best_index_ : dict, int
        The selected settings, and their place in `cv_results_`; C and epsilon are those of the
        grids.
    cv_results_ : dict
        All scores, in the form of scikit-learn's GridSearchCV; without times, since the problems
        of a path share theirs. After a vote or a race those of the finalists; the last row is that
        of the vote, and `weight` that of each finalist.
    race_results_ : dict
        The number of rows, best C and left-out error of every candidate of a vote; or mean and
        standard deviation of the scores of every candidate in every round of a race, which are
        comparable within a round only.
    search_summary_ : SearchSummary
        What was compared, what was left out and why; ``str`` of it is one line.
    out_of_fold_ : OutOfFold
        Predictions of training rows by machines that were fitted without them: `rows`,
        `folds` and `predicted`.
    solver_, loss_ : str
        The solver and the loss that were used.
    machines_ : Machines
        The fitted machines, as the solver returns them.
    tables_ : FittedTables
        The function of each column, direction or grid as a table of its levels or cells.
        Additive solver only.
    partitions_ : tuple of Partition
        The leaves of the training rows. Local solver only, not after a vote.
    pairs_ : tuple of pairs of int
        The columns of the pairs that have a function, by position. Additive solver only.
    sampling_error_ : float
        Root mean square error due to sampled hypotheses: of distances by directions, relative to
        them, or of the kernel by grids, relative to its weight. The larger of the two, 0 if
        nothing is sampled. Additive solver only.
    mixed_table_ : MixedTable or None
        The categories of each column of a table with categories; None for numbers.
    support_, support_vectors_ : arrays
        The rows with a nonzero coefficient in some machine. Exact solver only.
    dual_coef_ : array of shape (n_machines, n_support)
        The signed coefficients :math:`\beta`. Exact solver only.
    intercept_, objective_, duality_gap_ : arrays of shape (n_machines,)
        The bias and the dual objective of each machine, and a bound on the excess of the primal
        objective.
    n_iter_ : int
        The number of iterations of the machine that took most.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from kernsemble.svm import InfiniteEnsembleRegressorCV
    >>> X, y = make_friedman1(100, noise=1.0, random_state=0)
    >>> X_test, y_test = make_friedman1(1000, noise=1.0, random_state=1)
    >>> machine = InfiniteEnsembleRegressorCV("stump").fit(X, y)
    >>> machine.best_params_
    {'kernel': 'stump', 'scaling': 'range', 'epsilon': 0.1, 'C': 0.5}
    >>> machine.C_, machine.epsilon_
    (2.67, 0.53)
    >>> machine.score(X_test, y_test)
    0.80
    """

    default_grid = GRID

    def __init__(  # noqa: PLR0913, PLR0917 (settings, given by name)
        self,
        kernel: str | Kernel | Sequence[str | Kernel] = "auto",
        Cs: Sequence[float] | None = None,
        epsilons: Sequence[float] = (0.01, 0.1),
        cv: Any = 5,
        scoring: Any = None,
        scaling: str | Sequence[str | None] | None = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        cache_size: float | None = None,
        random_state: Any = None,
        solver: str = "auto",
        loss: str = "auto",
        max_levels: int = 256,
        n_slices: int | None = None,
        n_grids: int = 512,
        n_pairs: int | Literal["auto"] = 0,
        pairs: Sequence[tuple[Any, Any]] | None = None,
        max_members: int = 6,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.Cs = Cs
        self.epsilons = epsilons
        self.cv = cv
        self.scoring = scoring
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.random_state = random_state
        self.solver = solver
        self.loss = loss
        self.max_levels = max_levels
        self.n_slices = n_slices
        self.n_grids = n_grids
        self.n_pairs = n_pairs
        self.pairs = pairs
        self.max_members = max_members
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    @within_n_jobs
    def fit(
        self,
        X: ArrayLike | Blocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Select the settings by cross-validation, then fit the ensemble on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features), or Blocks
            Training rows; `kernsemble.streaming.Blocks` reads rows, targets and weights from
            files or an iterator, block by block, for the additive solver. Their folds are
            random, `cv` is the number of them, and `scoring` the name of a score.
        y : array-like of shape (n,)
            Target numbers.
        sample_weight : array-like of shape (n,), optional
            Weights in the machines and the scores; a weight of 2 is the same as two equal rows, 0
            as no row.
        groups : array-like of shape (n,), optional
            Group of each row, for a `cv` that keeps groups together, such as `GroupKFold`.

        Returns
        -------
        self
        """
        self._check_settings()
        epsilons = as_grid("epsilons", self.epsilons, check_not_negative)
        with self._replace_last_fit():
            if isinstance(X, Blocks):
                select_on_blocks(self, local_source(X, y, sample_weight, groups))
                return self
            self._fit(X, y, sample_weight, groups, epsilons)
        return self

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        epsilons: list[float],
    ) -> None:
        rows, target = self._read(X, y, sample_weight)
        splits = read_splits(self.cv, X, target, rows.weight, is_classifier=False, groups=groups)
        rows = replace(rows, parts=fold_of_rows(splits, rows.n_rows))
        backend = self._choose_backend(rows)
        settings = self._solver_settings(backend)
        validation = self._validation(rows, target, splits, r2_of_numbers, HeldOutNumbers, settings)
        scale = TargetScale.from_targets(target, rows.weight)
        if self._votes:
            problem = VoteProblem.of_numbers(target, rows.weight)
            with Task.of_fit(self, 2, X, y, sample_weight) as task:
                vote = self._vote(validation, problem, False, task)
            self.out_of_fold_ = OutOfFold.of_numbers(vote.splits, vote.values)
            vote.check_not_interrupted()
            return
        variants = [
            Variant({"epsilon": each}, [self._problem(target, rows.weight, each, scale)])
            for each in (epsilons if self._loss.has_epsilon else [0.0])
        ]
        with Task.of_fit(self, 2, X, y, sample_weight) as task:
            selection = self._select(validation, backend, variants, task)
            self.epsilon_ = selection.params["epsilon"] * scale.spread
            self.out_of_fold_ = OutOfFold.of_numbers(selection.splits, selection.values)
            self._refit(selection, settings, task)

    def _strata(self, y: Any) -> IntArray:
        return np.zeros(len(y), dtype=np.intp)


def r2_of_numbers(
    held_out: HeldOutNumbers, X: Rows, y: FloatArray, sample_weight: FloatArray | None = None
) -> float:
    """Return the coefficient of determination, for numbers of any size."""
    unit = float(np.abs(y).max()) or 1.0
    predicted = held_out.predict(X)
    with np.errstate(over="ignore"):  # of predictions far away from all targets
        score = float(r2_score(y / unit, predicted / unit, sample_weight=sample_weight))
    return max(score, -sys.float_info.max)

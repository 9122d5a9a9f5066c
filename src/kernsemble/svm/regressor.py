"""Infinite ensembles for regression."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from kernsemble._arguments import check_not_negative
from kernsemble._jobs import within_n_jobs
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import ArrayLike, FloatArray
from kernsemble._validation import as_numbers, read_weights
from kernsemble.kernels import Kernel
from kernsemble.streaming import Blocks
from kernsemble.svm.backends.base import Candidate, Machines, TrainingRows
from kernsemble.svm.estimator import KernelMachine
from kernsemble.svm.problem import Problem, TargetScale
from kernsemble.svm.streams.fitting import fit_to_blocks
from kernsemble.svm.streams.sources import local_source

DEFAULT_EPSILON = 0.1  # in standard deviations of y


class EnsembleRegressor(RegressorMixin, KernelMachine):
    """Base class of both regressors: validation of targets, and prediction."""

    _task = "regression"

    def _read(
        self, X: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[TrainingRows, FloatArray]:
        """Return weighted rows and their numbers."""
        X, y = self._read_training_rows(X, y, y_numeric=True)
        weight = read_weights(sample_weight, X.shape[0])
        numbers = as_numbers(y)
        if np.isnan(numbers).any():  # None, which scikit-learn accepts among objects
            raise ValueError("y contains missing values: leave these rows out")
        rows, y = self._merged(X, weight, numbers)
        targets = TargetScale.from_targets(y, rows.weight).standardise(y)
        return replace(rows, targets=targets[:, np.newaxis]), y

    def _problem(
        self, y: FloatArray, weight: FloatArray, epsilon: float, scale: TargetScale
    ) -> Problem:
        return Problem.for_numbers(self._loss, y, weight, epsilon, scale)

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the predicted number of each row."""
        return self._values(X)[:, 0]


class InfiniteEnsembleRegressor(EnsembleRegressor):
    r"""A weighted sum of infinitely many hypotheses that fits numbers.

    .. math:: \min_{w, b}\; \tfrac12\|w\|^2
              + \textstyle\sum_i C_i \max(0, |y_i - f(x_i)| - \varepsilon),
              \qquad f(x) = \int w(a)\, r(a)\, h_a(x)\, da + b

    Parameters
    ----------
    kernel : str or Kernel, default="stump"
        The kernel, which defines the hypotheses of the ensemble: an unbound expression of kernels
        or a name. You can restrict parts of it to named columns of a DataFrame,
        ``Stump().on("age") + Category().on("city")``. On a table with categories, a kernel
        without columns applies to the numbers, and `Category` to the other columns.
    scaling : str or None, default="range"
        Scaling of the features, computed from the training rows: "range" to [−1, 1] as in the
        papers, "rank" to their distribution function, "distinct" to equal steps between
        neighbouring values. Learned from the targets, not for the additive solver: "learned" gives
        each feature a weight on ranks, "learned-range" and "learned-distinct" on other scales;
        "learned-directions" learns directions, for Euclidean distances; "effects" is the function
        of each column in an additive machine, for categories and missing values too, and
        "learned-effects" gives these weights; "learned-indicators" gives weights to ranks of
        numbers and to indicators of categories and missing values.
    max_iter : int or None, default=None
        Maximum number of iterations per machine.
    cache_size : float or None, default=None
        Memory for kernel matrices in megabytes, by default half of what is available. If a
        matrix does not fit, its rows are computed on demand, with a warning.
    warm_start : bool, default=False
        Whether `fit` continues from the coefficients of the last fit on as many rows. An
        interrupted fit keeps the coefficients it had reached.
    C : float or "scale", default="scale"
        Regularization parameter, the weight of errors relative to the norm of the weights, in
        units of y; "scale" is the standard deviation of y over the mean distance of training
        rows.
    epsilon : float or "scale", default="scale"
        Width of the tube within which errors are free, in units of y; "scale" is a tenth of the
        standard deviation of y.
    tol : float, default=1e-3
        Largest violation of the optimality (KKT) conditions at which to stop, in standard
        deviations of y; for the additive solver, the duality gap relative to the objective.
    loss : {"epsilon_insensitive", "squared", "auto"}, default="epsilon_insensitive"
        Loss function: that of support vector regression, or half the squared error, which has
        no epsilon, and whose C does not depend on the unit of y: kernel ridge regression. "auto"
        is the first if the exact solver is used, and the second if the additive one is.
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
        GPU that has the kernel.
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
    random_state : int, RandomState or None, default=None
        Random seed of directions and grids.
    n_jobs : int or None, default=None
        Number of threads of `fit` and of predictions; −1 is all cores, −2 all but one. None is
        all cores, or the number in the environment variable NUMBA_NUM_THREADS.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    C_, epsilon_ : floats
        Values of C and epsilon, also for "scale".
    solver_, loss_ : str
        The solver and the loss that were used.
    machines_ : Machines
        The fitted machines, as the solver returns them.
    tables_ : FittedTables
        The function of each column, direction or grid as a table of its levels or cells.
        Additive solver only.
    partitions_ : tuple of Partition
        The leaves of the training rows. Local solver only.
    pairs_ : tuple of pairs of int
        The columns of the pairs that have a function, by position. Additive solver only.
    sampling_error_ : float
        Root mean square error due to sampled hypotheses: of distances by directions, relative to
        them, or of the kernel by grids, relative to its weight. The larger of the two, 0 if
        nothing is sampled. Additive solver only.
    mixed_table_ : MixedTable or None
        The categories of each column of a table with categories; None for numbers.
    kernel_ : Kernel
        The kernel bound to the scaled training rows.
    scaling_ : FeatureScaling
        The scaling of the training rows.
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

    Notes
    -----
    With the defaults the unit of y does not matter: y in thousands gives the same predictions,
    in thousands.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.svm import InfiniteEnsembleRegressor
    >>> X = np.linspace(0, 6, 100)[:, np.newaxis]
    >>> y = np.sin(X.ravel())
    >>> InfiniteEnsembleRegressor(C=10.0).fit(X, y).score(X, y)
    0.992
    """

    def __init__(  # noqa: PLR0913, PLR0917 (settings, given by name)
        self,
        kernel: str | Kernel = "stump",
        C: float | Literal["scale"] = "scale",
        scaling: str | None = "range",
        epsilon: float | Literal["scale"] = "scale",
        tol: float = 1e-3,
        max_iter: int | None = None,
        cache_size: float | None = None,
        warm_start: bool = False,
        solver: str = "auto",
        loss: str = "epsilon_insensitive",
        max_levels: int = 256,
        n_slices: int | None = None,
        n_grids: int = 512,
        n_pairs: int | Literal["auto"] = 0,
        pairs: Sequence[tuple[Any, Any]] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.scaling = scaling
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.solver = solver
        self.loss = loss
        self.max_levels = max_levels
        self.n_slices = n_slices
        self.n_grids = n_grids
        self.n_pairs = n_pairs
        self.pairs = pairs
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    @within_n_jobs
    def fit(
        self,
        X: ArrayLike | Blocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the ensemble.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features), or Blocks
            Training rows; `kernsemble.streaming.Blocks` reads rows, targets and weights from
            files or an iterator, block by block, for the additive solver.
        y : array-like of shape (n,)
            Target numbers.
        sample_weight : array-like of shape (n,), optional
            Weights; a weight of 2 is the same as two equal rows, 0 as no row.

        Returns
        -------
        self
        """
        self._check_settings()
        with self._replace_last_fit() as last:
            if isinstance(X, Blocks):
                fit_to_blocks(self, local_source(X, y, sample_weight), last)
            else:
                self._fit(X, y, sample_weight, last)
        return self

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        last: Machines | None,
    ) -> None:
        rows, target = self._read(X, y, sample_weight)
        backend = self._choose_backend(rows)
        settings = self._solver_settings(backend)
        scale = TargetScale.from_targets(target, rows.weight)
        self.epsilon_ = self._width(scale.spread)
        problem = self._problem(target, rows.weight, self.epsilon_ / scale.spread, scale)
        with Task.of_fit(self, settings.n_parts(1), X, y, sample_weight) as task:
            candidate = Candidate(self._kernel_on_columns(self.kernel, self.scaling), self.scaling)
            prepared = backend.open(rows, settings).prepare(candidate)
            self.C_ = self._penalty(prepared, problem.penalty_unit)
            self._fit_machines(prepared, [problem], settings, last, task)

    def _width(self, spread: float) -> float:
        """Return epsilon as a number, for targets of the given spread."""
        if self.epsilon == "scale":
            return DEFAULT_EPSILON * spread
        check_not_negative("epsilon", self.epsilon)
        return float(self.epsilon)

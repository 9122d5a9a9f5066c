"""The support vector machine of Tsang and Kwok, which has no C to tune."""

import warnings
from typing import Any, ClassVar, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kernsemble._arguments import check_choice, check_count, check_positive
from kernsemble._jobs import within_n_jobs
from kernsemble._last_fit import restoring_last_fit
from kernsemble._memory import Budget
from kernsemble._model_cards import CardMixin
from kernsemble._progress import CallbackSupportMixin, Task, with_callbacks
from kernsemble._typing import ArrayLike, FloatArray, IntArray, Rows
from kernsemble._validation import read_weights, validated
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import FeatureScaling, ScalingKind
from kernsemble.solvers.equal_rows import distinct_rows
from kernsemble.solvers.multiplicative import UpdateStatus
from kernsemble.svm.backends.matrix import needs_unscaled_rows
from kernsemble.svm.backends.prepared_matrix import expansion_values
from kernsemble.svm.columns import Columns
from kernsemble.svm.multiclass import DecisionShape, Multiclass, MulticlassMixin, check_shape
from kernsemble.svm.partial_training.expansion import Expansion, interpolated, without_rounding
from kernsemble.svm.partial_training.products import CostModel, KernelProducts, kernel_products
from kernsemble.svm.partial_training.updates import Hypothesis, Trained, Updates

ACCEPTED = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}


class MultiplicativeSVC(
    CardMixin,
    CallbackSupportMixin,  # type: ignore[misc,valid-type]
    ClassifierMixin,
    MulticlassMixin,
    BaseEstimator,
):
    r"""A support vector machine without C: the average of partially trained machines.

    Each distribution :math:`\alpha` over the training rows is a machine
    :math:`f(x) = \sum_i \alpha_i y_i K(x_i, x)`, and the one that minimises
    :math:`\bar\rho = \sum_{ij} \alpha_i \alpha_j y_i y_j K(x_i, x_j)` is the hard-margin SVM
    without a bias (:math:`\rho`-SVM), whose margin :math:`\min_i y_i f(x_i)` is
    :math:`\rho^* = \bar\rho`. Multiplicative updates lead there from the uniform distribution,
    the Parzen window:

    .. math:: \alpha_{t+1,i} \propto \alpha_{t,i}\, e^{-\eta_t y_i f_t(x_i)}, \qquad
              \bar f = \textstyle\sum_t \eta_t f_t \big/ \sum_t \eta_t .

    As in AdaBoost, hypotheses :math:`f_t` are added one by one, each with a rate. Neither end is
    good: the window underfits and the hard margin overfits. Their average :math:`\bar f` is often
    as accurate as the SVM with the best C. It is one machine, that of the mean distribution, and
    predicts at the cost of one.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian-spread"
        Kernel, which must be definite; simplified kernels are refused, as there is no bias. The
        default is the paper's, :math:`\exp(-\|x - x'\|^2/\beta)` with :math:`\beta` the mean
        squared distance of training rows from their mean.
    hypothesis : {"ensemble", "last", "first"}, default="ensemble"
        The average of the machines, the last one (ρ-SVM) or the first one (Parzen window).
    rank : int or None, default=None
        Rank of a factor on random pivots that replaces the kernel matrix; predictions use the
        pivots only. None to use the matrix, or an exact representation of it.
    tol : float, default=0.005
        Stopping criterion. The updates require a relative decrease of the objective, which starts
        at 0.1 and is halved when it is not reached; they stop when it is below `tol`.
    scaling : {"range", "rank", "distinct"} or None, default=None
        Scaling of the features, see `InfiniteEnsembleClassifier`; the paper does not scale them.
    multiclass : {"one-vs-one", "one-vs-rest"}, default="one-vs-one"
        Reduction of more than two classes.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of `decision_function`: one value per class or one per pair of classes.
    max_iter : int or None, default=None
        Maximum number of updates per machine.
    sparsity : float or None, default=None
        Largest change of a decision value of a training row, relative to the largest of them, by
        which the expansion may be shortened, such as 0.05. None drops only rounding.
    cache_size : float or None, default=None
        Memory for the matrix or its factor in megabytes, by default half of the machine's
        memory.
    random_state : int, RandomState or None, default=None
        Random seed of the pivots.
    n_jobs : int or None, default=None
        Number of threads of `fit` and of predictions; −1 is all cores, −2 all but one. None is
        all cores, or the number in the environment variable NUMBA_NUM_THREADS.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    classes_ : array
        The classes.
    kernel_ : Kernel
        The kernel bound to the scaled training rows.
    scaling_ : FeatureScaling
        The scaling of the training rows.
    reduction_ : Reduction
        The classes on the two sides of each machine.
    support_, support_vectors_ : arrays
        The rows of the expansion: nearly all, the pivots, or those that `sparsity` leaves. Equal
        rows of a class are merged into the first of them.
    dual_coef_ : array of shape (n_machines, n_support)
        The coefficients :math:`\alpha_i y_i`; with a rank or `sparsity`, those of the same
        function on fewer rows. There is no intercept.
    objective_, margin_ : arrays of shape (n_machines,)
        The objective :math:`\bar\rho` of each machine, and its least :math:`y_i f(x_i)`,
        before it is shortened; with a rank, those of the approximate kernel.
    optimum_bounds_ : array of shape (n_machines, 2)
        Lower and upper bound of :math:`\rho^*`.
    sparsity_error_ : array of shape (n_machines,)
        The largest change of a training decision value due to `sparsity`, relative to the largest
        of them; 0 without it.
    rank_error_ : float
        The share of the kernel's trace that a factor leaves out; without `rank` at most 1e-7.
    n_iter_ : int
        The number of updates of the machine that took most.
    history_ : list of dicts
        The objective, epsilon, target, rate and acceptance of each update, per machine.
    ending_ : list of str
        The reason why the updates of each machine ended.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    A step costs a product of the kernel matrix with a vector, :math:`O(n^2)`, or
    :math:`O(nr)` with a factor of rank r that takes :math:`O(nr^2)` to find. Stumps, categories
    and their sums need no matrix: :math:`O(nD)` per step. Nor do kernels of which a factor of
    small rank leaves at most 1e-7 of the trace, such as Gaussian ones on few columns. A prediction
    compares a row with every support vector; `sparsity` takes :math:`O(ns^2)` to leave s of them.

    `sample_weight` is the distribution from which the updates start; a weight of two is the same
    as two rows. Updates amplify rounding: the order of rows can change decision values by a few
    per cent of the largest, though hardly a class. With the paper's stopping criterion they
    rarely reach the optimum, which the ensemble does not need; for "last", lower `tol`.

    References
    ----------
    I. W. Tsang and J. T. Kwok, "Ensembles of Partially Trained SVMs with Multiplicative
    Updates", IJCAI 2007.

    Examples
    --------
    >>> from kernsemble.datasets import make_threenorm
    >>> from kernsemble.svm import MultiplicativeSVC
    >>> X, y = make_threenorm(300, random_state=0)
    >>> X_test, y_test = make_threenorm(3000, random_state=1)
    >>> machine = MultiplicativeSVC().fit(X, y)
    >>> machine.score(X_test, y_test), machine.n_iter_
    (0.863, 31)

    A shorter expansion, and one on 50 pivots:

    >>> shorter = MultiplicativeSVC(sparsity=0.05).fit(X, y)
    >>> len(machine.support_), len(shorter.support_), shorter.score(X_test, y_test)
    (300, 218, 0.862)
    >>> MultiplicativeSVC(rank=50, random_state=0).fit(X, y).score(X_test, y_test)
    0.843
    """

    _costs: ClassVar[CostModel] = CostModel()

    def __init__(  # noqa: PLR0913, PLR0917 (settings, given by name)
        self,
        kernel: str | Kernel = "gaussian-spread",
        hypothesis: Hypothesis = "ensemble",
        rank: int | None = None,
        tol: float = 0.005,
        scaling: ScalingKind | None = None,
        multiclass: Multiclass = "one-vs-one",
        decision_function_shape: DecisionShape = "ovr",
        max_iter: int | None = None,
        sparsity: float | None = None,
        cache_size: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.hypothesis = hypothesis
        self.rank = rank
        self.tol = tol
        self.scaling = scaling
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.max_iter = max_iter
        self.sparsity = sparsity
        self.cache_size = cache_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @restoring_last_fit
    @with_callbacks
    @within_n_jobs
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            Training rows of numbers.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            Weights; a weight of 2 is the same as two equal rows, 0 as no row.

        Returns
        -------
        self
        """
        self._check_settings()
        rows, y = validated(self, X, y, **ACCEPTED)
        codes = self._read_labels(y)
        weight = read_weights(sample_weight, rows.shape[0])
        found = distinct_rows(weight, rows, codes[:, np.newaxis]).in_given_order()
        distinct, weight = found.rows, found.weight
        with Task.of_fit(self, self.reduction_.n_machines, X, y, sample_weight) as task:
            products = self._products(rows[distinct], weight)
            updates = Updates(self.hypothesis, self.tol, self.max_iter)
            found = updates.train(products, self._signs(codes[distinct]), weight, task)
            self._store(products, distinct, rows, found)
        return self

    def _check_settings(self) -> None:
        check_choice("hypothesis", self.hypothesis, get_args(Hypothesis))
        check_shape(self.decision_function_shape, self.multiclass)
        check_positive("tol", self.tol)
        for name in ("rank", "max_iter"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.sparsity is not None:
            check_positive("sparsity", self.sparsity)

    def _products(self, X: Rows, weight: FloatArray) -> KernelProducts:
        """Bind scaling and kernel to weighted rows, and prepare products with the kernel."""
        is_unscaled = isinstance(self.kernel, Kernel) and needs_unscaled_rows(self.kernel)
        self.scaling_ = FeatureScaling.from_rows(X, None if is_unscaled else self.scaling, weight)
        scaled = self.scaling_.transform(X)
        kernel = Columns.from_fitted(self).kernel(self.kernel)
        kernel = kernel.require_definite("a machine without a bias")
        self.kernel_ = kernel.bind(scaled, weight)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        n_machines, budget = self.reduction_.n_machines, Budget.from_megabytes(self.cache_size)
        return kernel_products(
            self.kernel_, scaled, weight, self.rank, budget, rng, n_machines, self._costs
        )

    def _store(
        self, products: KernelProducts, distinct: IntArray, X: Rows, found: list[Trained]
    ) -> None:
        """Store the machines, and warn if they stopped early."""
        expansion = self._expansion(products, np.array([each.signed for each in found]))
        self.support_ = distinct[expansion.rows]
        self.support_vectors_ = X[self.support_]
        self.dual_coef_ = expansion.coefficients
        self.sparsity_error_ = expansion.error
        self.rank_error_ = products.error
        self.objective_ = np.array([each.objective for each in found])
        self.margin_ = np.array([each.margin for each in found])
        self.optimum_bounds_ = np.array([each.bounds for each in found])
        self.n_iter_ = max(each.n_iter for each in found)
        self.history_ = [each.history for each in found]
        self.ending_ = [each.ending for each in found]
        statuses = {each.status for each in found}
        if UpdateStatus.INTERRUPTED in statuses:
            raise KeyboardInterrupt(UpdateStatus.INTERRUPTED.value)
        if UpdateStatus.STOPPED in statuses:
            warnings.warn(
                f"max_iter = {self.max_iter} was reached: {UpdateStatus.STOPPED.value}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _expansion(self, products: KernelProducts, signed: FloatArray) -> Expansion:
        """Return all machines as expansions on the same rows."""
        if self.sparsity is None:
            return without_rounding(*products.expansion(signed))
        on_all = products.among(np.arange(products.X.shape[0]))
        return interpolated(
            products.row,
            products.kernel.diagonal(products.X),
            np.array([on_all.times(each) for each in signed]),
            self.sparsity,
        )

    def _read_again(self, X: ArrayLike) -> Rows:
        """Return checked rows to predict."""
        check_is_fitted(self)
        return validated(self, X, reset=False, **ACCEPTED)

    @within_n_jobs
    def _values(self, X: ArrayLike) -> FloatArray:
        """Return the value of every machine (columns) at every row."""
        rows = self._read_again(X)
        known = self.kernel_, self.scaling_, self.support_vectors_
        return expansion_values(rows, *known, self.dual_coef_)

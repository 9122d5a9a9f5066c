"""The support vector machine of Tsang and Kwok that has nothing to tune."""

import warnings
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from kernsemble._arguments import check_choice, check_count, check_positive
from kernsemble._progress import CallbackSupportMixin, Task, with_callbacks
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble._validation import read_classes, read_weights, refuse_one_class
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import FeatureScaling, ScalingKind
from kernsemble.solvers.multiplicative import UpdateStatus
from kernsemble.svm.columns import Columns
from kernsemble.svm.comparison import is_learned
from kernsemble.svm.deciding import DecidesByMachines
from kernsemble.svm.distinct import distinct_rows
from kernsemble.svm.expansion import Expansion, expansion_values, interpolated, without_rounding
from kernsemble.svm.memory import Budget
from kernsemble.svm.multiclass import Multiclass, Shape, as_reduction, check_shape
from kernsemble.svm.partial_training import Hypothesis, Trained, Updates
from kernsemble.svm.sources import Source, source_of
from kernsemble.svm.spread import gaussian_of_spread

ACCEPTED = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}


class MultiplicativeSVC(
    CallbackSupportMixin,  # type: ignore[misc,valid-type]
    ClassifierMixin,
    DecidesByMachines,
    BaseEstimator,
):
    r"""A support vector machine with nothing to tune: the mean of partially trained ones.

    Of the distributions :math:`\alpha` over the training rows, each is a machine
    :math:`f(x) = \sum_i \alpha_i y_i K(x_i, x)`, and that which minimises
    :math:`\bar\rho = \sum_{ij} \alpha_i \alpha_j y_i y_j K(x_i, x_j)` is the hard-margin SVM
    without a bias (:math:`\rho`-SVM), whose margin :math:`\min_i y_i f(x_i)` is
    :math:`\rho^* = \bar\rho`. Updates lead there from the even distribution, the Parzen window:

    .. math:: \alpha_{t+1,i} \propto \alpha_{t,i}\, e^{-\eta_t y_i f_t(x_i)}, \qquad
              \bar f = \textstyle\sum_t \eta_t f_t \big/ \sum_t \eta_t .

    As in AdaBoost, hypotheses :math:`f_t` come one by one and each has a rate. Neither end is
    good, the window being too smooth and the hard margin too eager; their mean
    :math:`\bar f` often errs as little as the SVM of the best C. It is one machine, that of the
    mean distribution, and predicts at the cost of one.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        "gaussian" is the paper's, :math:`\exp(-\|x - x'\|^2/\beta)` with :math:`\beta` the mean
        squared distance of training rows from their mean. Any other definite kernel, or a name,
        is bound as everywhere; simplified ones are refused, for there is no bias.
    hypothesis : {"ensemble", "last", "first"}, default="ensemble"
        The mean of the machines, the last of them (ρ-SVM) or the first (Parzen window).
    rank : int or None, default=None
        Replace the kernel matrix by a factor of this rank on random pivots, and predict by the
        pivots alone; None: use the matrix, or what stands for it.
    tol : float, default=0.005
        The updates ask for the objective to fall by a share, which starts at 0.1 and is
        halved when it is too much; they end when it is below `tol`.
    scaling : {"range", "rank", "distinct"} or None, default=None
        The scale on which features are compared, see `InfiniteEnsembleClassifier`; the paper
        leaves them as they are.
    multiclass : {"one-vs-one", "one-vs-rest"}, default="one-vs-one"
        How more than two classes are decided.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` tells a number for every class or for every pair of them.
    max_iter : int or None, default=None
        At most so many steps a machine.
    sparsity : float or None, default=None
        Shorten the expansion until a decision value of a training row has changed by this
        share of the largest of them, such as 0.05. None: leave out only what rounding hides.
    cache_size : float or None, default=None
        The megabytes that the matrix or its factor may take, half of the machine's memory by
        default.
    random_state : int, RandomState or None, default=None
        What pivots are drawn with.

    Attributes
    ----------
    classes_ : array
        The classes.
    kernel_ : Kernel
        The kernel bound to the scaled training rows.
    scaling_ : FeatureScaling
        The scaling of the training rows.
    reduction_ : Reduction
        Which classes are on the sides of each machine.
    support_, support_vectors_ : arrays
        The rows that the expansion is on: nearly all, the pivots, or those that are left. Equal
        rows of a class are updated alike, and are one: the first of them.
    dual_coef_ : array of shape (n_machines, n_support)
        The coefficients :math:`\alpha_i y_i`; on pivots, and with `sparsity`, those of the same
        function there. There is no intercept.
    objective_, margin_ : arrays of shape (n_machines,)
        The objective :math:`\bar\rho` of each machine, and its least :math:`y_i f(x_i)`,
        before it is shortened; on pivots, those of the approximate kernel.
    optimum_bounds_ : array of shape (n_machines, 2)
        Between which :math:`\rho^*` is known to be.
    sparsity_error_ : array of shape (n_machines,)
        The largest change of a training decision value by `sparsity`, as a share of the largest
        of them; 0 without it.
    rank_error_ : float
        The share of the kernel's trace that a factor leaves; without `rank` 1e-7 at most.
    n_iter_ : int
        The steps of the machine that took most.
    history_ : list of dicts
        Of each machine, the objective, epsilon, target, rate and acceptance of each try.
    ending_ : list of str
        How each machine's updates ended.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    A step costs a product of the kernel matrix with a vector, :math:`O(n^2)`, or
    :math:`O(nr)` with a factor of rank r that takes :math:`O(nr^2)` to find. Stumps, categories
    and their sums need no matrix: :math:`O(nD)` a step. Nor do kernels of which a factor of small
    rank leaves at most 1e-7 of the trace, as Gaussian ones of few columns. A prediction compares
    a row with every support vector; `sparsity` takes :math:`O(ns^2)` to leave s of them.

    `sample_weight` is the distribution that updates start from, and there a weight of two is two
    rows. Updates amplify rounding: the order of rows can change decision values by some per cent
    of the largest, though hardly a class. As the paper ends them they rarely reach the optimum,
    which the ensemble does not need; for "last", lower `tol`.

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

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        hypothesis: Hypothesis = "ensemble",
        rank: int | None = None,
        tol: float = 0.005,
        scaling: ScalingKind | None = None,
        multiclass: Multiclass = "one-vs-one",
        decision_function_shape: Shape = "ovr",
        max_iter: int | None = None,
        sparsity: float | None = None,
        cache_size: float | None = None,
        random_state: Any = None,
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the machine.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            Rows of numbers.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts; zero is absence.

        Returns
        -------
        self
        """
        self._check_settings()
        rows, y = validate_data(self, X, y, **ACCEPTED)
        self.classes_, codes = read_classes(y)
        refuse_one_class(self.classes_)
        self.reduction_ = as_reduction(self.multiclass, len(self.classes_))
        distinct, weight = distinct_rows(rows, codes, read_weights(sample_weight, rows.shape[0]))
        with Task.of_fit(self, self.reduction_.n_machines, X, y, sample_weight) as task:
            source = self._source(rows[distinct], weight)
            machines = range(self.reduction_.n_machines)
            sides = [self.reduction_.signs(codes[distinct], machine) for machine in machines]
            updates = Updates(self.hypothesis, self.tol, self.max_iter)
            self._store(source, distinct, rows, updates.train(source, sides, weight, task))
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

    def _source(self, X: Rows, weight: FloatArray) -> Source:
        """Bind scaling and kernel to rows that count, and prepare products with the kernel."""
        is_unscaled = isinstance(self.kernel, Kernel) and is_learned(self.kernel)
        self.scaling_ = FeatureScaling.from_rows(X, None if is_unscaled else self.scaling, weight)
        scaled = self.scaling_.transform(X)
        self.kernel_ = self._unbound_kernel(scaled, weight).bind(scaled, weight)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        n_machines, budget = self.reduction_.n_machines, Budget.of(self.cache_size)
        return source_of(self.kernel_, scaled, weight, self.rank, budget, rng, n_machines)

    def _unbound_kernel(self, X: Rows, weight: FloatArray) -> Kernel:
        asked: Any = self.kernel
        if isinstance(asked, str) and asked.lower() == "gaussian":
            return gaussian_of_spread(X, weight)
        names = getattr(self, "feature_names_in_", None)
        columns = Columns(np.zeros(X.shape[1], dtype=bool), None if names is None else tuple(names))
        return columns.kernel(asked).require_definite("a machine without a bias")

    def _store(self, source: Source, distinct: IntArray, X: Rows, found: list[Trained]) -> None:
        """Keep what was found, and tell how it ended."""
        expansion = self._expansion(source, np.array([each.signed for each in found]))
        self.support_ = distinct[expansion.rows]
        self.support_vectors_ = X[self.support_]
        self.dual_coef_ = expansion.coefficients
        self.sparsity_error_ = expansion.error
        self.rank_error_ = source.error
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

    def _expansion(self, source: Source, signed: FloatArray) -> Expansion:
        """Return all machines as expansions on the same rows."""
        if self.sparsity is None:
            return without_rounding(*source.expansion(signed))
        products = source.among(np.arange(source.X.shape[0]))
        return interpolated(
            source.row,
            source.kernel.diagonal(source.X),
            np.array([products.times(each) for each in signed]),
            self.sparsity,
        )

    def _read_again(self, X: ArrayLike) -> Rows:
        """Return checked rows to tell the values of."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **ACCEPTED)

    def _values(self, X: ArrayLike) -> FloatArray:
        """Return the value of every machine at every row."""
        rows = self._read_again(X)
        known = self.kernel_, self.scaling_, self.support_vectors_
        return expansion_values(rows, *known, self.dual_coef_)

"""Algorithm 1 of Lin and Li: an SVM whose kernel embodies infinitely many hypotheses."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from kernsemble._arguments import check_not_negative
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble._validation import read_weights
from kernsemble.kernels import Kernel
from kernsemble.svm.comparison import compare
from kernsemble.svm.machine import Machine
from kernsemble.svm.memory import Budget
from kernsemble.svm.multiclass import Multiclass, Shape, as_reduction, check_shape
from kernsemble.svm.problem import Problem, TargetScale
from kernsemble.svm.progress import Task, with_callbacks
from kernsemble.svm.scaling import Kind

SHARE_OF_SPREAD = 0.1  # that errors may have for free


class InfiniteEnsembleClassifier(ClassifierMixin, Machine):
    r"""A weighted vote of infinitely many hypotheses, found by a support vector machine.

    .. math:: \min_{w, b}\; \tfrac12\|w\|^2
              + \textstyle\sum_i C_i \max(0, 1 - y_i f(x_i)),
              \qquad f(x) = \int w(a)\, r(a)\, h_a(x)\, da + b

    over the hypotheses :math:`h_a` that the kernel embodies: every decision stump by
    default. It is solved through its dual, to optimality. More than two classes are decided
    by several such machines, on one kernel matrix.

    Parameters
    ----------
    kernel : str or Kernel, default="stump"
        What the ensemble is made of, unbound: an expression of kernels or a name.
    C : float or "scale", default="scale"
        How much errors count against the size of the weights; "scale" is 1 over the mean
        distance :math:`\tfrac12(K_{ii} + K_{jj}) - K_{ij}` of training rows, inf is a hard
        margin.
    scaling : {"range", "rank", "distinct"} or None, default="range"
        The scale on which features are compared, from the training rows: [−1, 1] as in the
        papers, their distribution function, or equal steps between neighbouring values.
    multiclass : {"one-vs-one", "one-vs-rest"}, default="one-vs-one"
        How more than two classes are decided: by the vote of a machine for every pair of
        them, as in LIBSVM, or by the largest value of a machine for every class.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether `decision_function` tells a number for every class or, as it is for
        one-vs-one, for every pair of them. With two classes it tells one number in any case.
    class_weight : dict, "balanced" or None, default=None
        What multiplies C for each class.
    tol : float, default=1e-3
        The violation of the optimality conditions to stop at.
    max_iter : int or None, default=None
        At most so many steps a machine.
    cache_size : float or None, default=None
        The megabytes that kernel matrices may take, half of the machine's memory by default.
        Rows of a matrix that does not fit are computed when they are needed, and a warning
        says so.
    warm_start : bool, default=False
        Whether `fit` goes on from the coefficients of the last one on as many rows; an
        interrupted fit leaves those it had reached.

    Attributes
    ----------
    classes_ : array
        The classes.
    kernel_ : Kernel
        The kernel bound to the scaled training rows.
    C_ : float
        The number that C stands for.
    scaling_ : FeatureScaling
        The scaling of the training rows.
    support_, support_vectors_ : arrays
        The rows with a coefficient in some machine.
    reduction_ : Reduction
        Which classes are on the sides of each machine.
    dual_coef_ : array of shape (n_machines, n_support)
        The signed coefficients :math:`\beta`.
    intercept_, objective_, duality_gap_ : arrays of shape (n_machines,)
        The bias and the dual objective of each machine, and by how much the primal one may
        still be too large.
    n_iter_ : int
        The steps of the machine that took most.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from kernsemble.datasets import make_threenorm
    >>> from kernsemble.svm import InfiniteEnsembleClassifier
    >>> X, y = make_threenorm(300, random_state=0)
    >>> X_test, y_test = make_threenorm(3000, random_state=1)
    >>> InfiniteEnsembleClassifier("perceptron").fit(X, y).score(X_test, y_test)
    0.859
    """

    def __init__(
        self,
        kernel: str | Kernel = "stump",
        C: float | Literal["scale"] = "scale",
        scaling: Kind | None = "range",
        multiclass: Multiclass = "one-vs-one",
        decision_function_shape: Shape = "ovr",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        cache_size: float | None = None,
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.scaling = scaling
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the ensemble.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), optional
            How often each row counts; zero is absence.

        Returns
        -------
        self
        """
        self._check_settings()
        rows, codes, counts, weight = self._read(X, y, sample_weight)
        problems = self._problems(codes, weight)
        budget = Budget.of(self.cache_size)
        with Task.of_fit(self, len(problems), X, y, sample_weight) as task:
            comparison = compare(rows, counts, self.kernel, self.scaling, budget)
            self.C_ = self._penalty(comparison.K, counts)
            self._fit_machines(rows, comparison, problems, task)
        return self

    def _check_settings(self) -> None:
        super()._check_settings()
        check_shape(self.decision_function_shape, self.multiclass)

    def _read(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Rows, IntArray, FloatArray, FloatArray]:
        """Return rows, class codes, how often rows count, and what multiplies their C."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32))
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only, {self.classes_[:1].tolist()[0]!r}: give examples of two "
                "or more"
            )
        self.reduction_ = as_reduction(self.multiclass, len(self.classes_))
        counts = read_weights(sample_weight, X.shape[0])
        return X, codes, counts, counts * self._factors(y, codes, counts)

    def _factors(self, y: Any, codes: IntArray, counts: FloatArray) -> FloatArray:
        """Return what class weights multiply the penalty of each row by."""
        if self.class_weight != "balanced":
            factors = compute_sample_weight(self.class_weight, y)
            if not (np.isfinite(factors) & (factors >= 0.0)).all():
                raise ValueError(
                    f"class_weight = {self.class_weight!r}: give finite numbers, none negative"
                )
            return factors
        totals = np.bincount(codes, counts)
        n_present = np.count_nonzero(totals)
        return (counts.sum() / n_present / np.where(totals > 0.0, totals, np.inf))[codes]

    def _problems(self, codes: IntArray, weight: FloatArray) -> list[Problem]:
        machines = range(self.reduction_.n_machines)
        return [Problem.of_sides(self.reduction_.signs(codes, each), weight) for each in machines]

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the vote of the ensemble at each row; with several classes, one for each.

        With more than two classes and one-vs-one it is the number of pairs that a class
        wins, and less than a half for how clearly; or, if `decision_function_shape` is "ovo",
        the vote for each pair, in which positive numbers are for the first of the two.
        """
        values = self._values(X)
        if self.decision_function_shape == "ovo" and len(self.classes_) > 2:
            return values
        return self.reduction_.decisions(values)

    def predict(self, X: ArrayLike) -> Any:
        """Return the class of each row."""
        values = self._values(X)
        return self.classes_[self.reduction_.winners(values)]


class InfiniteEnsembleRegressor(RegressorMixin, Machine):
    r"""A weighted sum of infinitely many hypotheses that fits numbers.

    .. math:: \min_{w, b}\; \tfrac12\|w\|^2
              + \textstyle\sum_i C_i \max(0, |y_i - f(x_i)| - \varepsilon),
              \qquad f(x) = \int w(a)\, r(a)\, h_a(x)\, da + b

    Parameters
    ----------
    kernel, scaling, max_iter, cache_size, warm_start
        As for `InfiniteEnsembleClassifier`.
    C : float or "scale", default="scale"
        How much errors count against the size of the weights, in units of y; "scale" is the
        standard deviation of y over the mean distance of training rows.
    epsilon : float or "scale", default="scale"
        Errors up to this do not count, in units of y; "scale" is a tenth of the standard
        deviation of y.
    tol : float, default=1e-3
        The violation of the optimality conditions to stop at, in standard deviations of y.

    Attributes
    ----------
    C_, epsilon_ : floats
        The numbers that C and epsilon stand for.
    kernel_, scaling_, support_, support_vectors_, dual_coef_, intercept_, objective_
        As for `InfiniteEnsembleClassifier`.
    duality_gap_, n_iter_, n_features_in_, feature_names_in_
        As for `InfiniteEnsembleClassifier`.

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

    def __init__(
        self,
        kernel: str | Kernel = "stump",
        C: float | Literal["scale"] = "scale",
        scaling: Kind | None = "range",
        epsilon: float | Literal["scale"] = "scale",
        tol: float = 1e-3,
        max_iter: int | None = None,
        cache_size: float | None = None,
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.scaling = scaling
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.warm_start = warm_start

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the ensemble.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            Rows.
        y : array-like of shape (n,)
            The numbers to fit.
        sample_weight : array-like of shape (n,), optional
            How often each row counts; zero is absence.

        Returns
        -------
        self
        """
        self._check_settings()
        rows, target, weight = self._read(X, y, sample_weight)
        scale = TargetScale.of(target, weight)
        self.epsilon_ = self._width(scale.spread)
        problem = Problem.of_numbers(target, weight, self.epsilon_ / scale.spread, scale)
        budget = Budget.of(self.cache_size)
        with Task.of_fit(self, 1, X, y, sample_weight) as task:
            comparison = compare(rows, weight, self.kernel, self.scaling, budget)
            self.C_ = self._penalty(comparison.K, weight, scale.spread)
            self._fit_machines(rows, comparison, [problem], task)
        return self

    def _read(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Rows, FloatArray, FloatArray]:
        """Return rows, their numbers, and how often they count."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), y_numeric=True
        )
        return X, np.asarray(y, dtype=np.float64), read_weights(sample_weight, X.shape[0])

    def _width(self, spread: float) -> float:
        """Return the number that epsilon stands for, where the target has that spread."""
        if self.epsilon == "scale":
            return SHARE_OF_SPREAD * spread
        check_not_negative("epsilon", self.epsilon)
        return float(self.epsilon)

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the value of the ensemble at each row."""
        return self._values(X)[:, 0]

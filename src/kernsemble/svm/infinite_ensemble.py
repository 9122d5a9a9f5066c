"""Algorithm 1 of Lin and Li: an SVM whose kernel embodies infinitely many hypotheses."""

from itertools import combinations
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from kernsemble._arguments import check_not_negative
from kernsemble._threads import run
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.kernels import Kernel
from kernsemble.solvers import Solution
from kernsemble.svm.machine import Machine, read_weights
from kernsemble.svm.scaling import Kind


class InfiniteEnsembleClassifier(ClassifierMixin, Machine):
    r"""A weighted vote of infinitely many hypotheses, found by a support vector machine.

    .. math:: \min_{w, b}\; \tfrac12\|w\|^2
              + \textstyle\sum_i C_i \max(0, 1 - y_i f(x_i)),
              \qquad f(x) = \int w(a)\, r(a)\, h_a(x)\, da + b

    over the hypotheses :math:`h_a` that the kernel embodies: every decision stump by
    default. It is solved through its dual, to optimality. More than two classes are decided
    by a vote of machines for every pair of them.

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
    class_weight : dict, "balanced" or None, default=None
        What multiplies C for each class.
    tol : float, default=1e-3
        The violation of the optimality conditions to stop at.
    max_iter : int or None, default=None
        At most so many steps a machine.
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
    dual_coef_ : array of shape (n_machines, n_support)
        The signed coefficients :math:`\beta`.
    intercept_, objective_ : arrays of shape (n_machines,)
        The bias and the dual objective of each machine.
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
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.scaling = scaling
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

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
        X, codes, counts, weight = self._read(X, y, sample_weight)
        K = self._gram(X, counts, self.kernel, self.scaling)
        self.C_ = self._penalty(K, counts)
        self._fit_pairs(X, K, codes, weight)
        return self

    def _read(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Rows, IntArray, FloatArray, FloatArray]:
        """Return rows, class codes, how often rows count, and what multiplies their C."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32))
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only, {self.classes_[0]!r}: give examples of two or more"
            )
        counts = read_weights(sample_weight, X.shape[0])
        return X, codes, counts, counts * compute_sample_weight(self.class_weight, y)

    def _fit_pairs(self, X: Rows, K: FloatArray, codes: IntArray, weight: FloatArray) -> None:
        """Fit one machine for each pair of classes, each on its own rows."""
        pairs = list(combinations(range(len(self.classes_)), 2))
        before = self._before(len(pairs), X.shape[0])

        def work(machine: int) -> tuple[IntArray, Solution]:
            signs = pair_signs(codes, *pairs[machine])
            rows = np.flatnonzero(signs)
            bounds = weight[rows] * signs[rows]
            last = before[machine]
            return rows, self._solve(
                K if len(pairs) == 1 else K[np.ix_(rows, rows)],
                signs[rows],
                np.minimum(0.0, bounds),
                np.maximum(0.0, bounds),
                None if last is None else last[rows],
            )

        found = run(work, range(len(pairs)))
        beta = np.zeros((len(pairs), X.shape[0]))
        for coefficients, (rows, solution) in zip(beta, found, strict=True):
            coefficients[rows] = solution.beta
        self._store(X, beta, [solution for _, solution in found])

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the vote of the ensemble at each row; with several classes, one for each.

        With more than two classes it is the number of pairs that a class wins, and less
        than a half for how clearly.
        """
        return decide(self._values(X), len(self.classes_))

    def predict(self, X: ArrayLike) -> Any:
        """Return the class of each row."""
        decision = self.decision_function(X)
        return choose(self.classes_, decision)


class InfiniteEnsembleRegressor(RegressorMixin, Machine):
    r"""A weighted sum of infinitely many hypotheses that fits numbers.

    .. math:: \min_{w, b}\; \tfrac12\|w\|^2
              + \textstyle\sum_i C_i \max(0, |y_i - f(x_i)| - \varepsilon),
              \qquad f(x) = \int w(a)\, r(a)\, h_a(x)\, da + b

    Parameters
    ----------
    kernel, C, scaling, tol, max_iter, warm_start
        As for `InfiniteEnsembleClassifier`.
    epsilon : float, default=0.1
        Errors up to this do not count.

    Attributes
    ----------
    kernel_, C_, scaling_, support_, support_vectors_, dual_coef_, intercept_, objective_, n_iter_
        As for `InfiniteEnsembleClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.svm import InfiniteEnsembleRegressor
    >>> X = np.linspace(0, 6, 100)[:, np.newaxis]
    >>> InfiniteEnsembleRegressor(C=10.0).fit(X, np.sin(X.ravel())).score(X, np.sin(X.ravel()))
    0.98...
    """

    def __init__(
        self,
        kernel: str | Kernel = "stump",
        C: float | Literal["scale"] = "scale",
        scaling: Kind | None = "range",
        epsilon: float = 0.1,
        tol: float = 1e-3,
        max_iter: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.scaling = scaling
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start

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
        check_not_negative("epsilon", self.epsilon)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), y_numeric=True
        )
        target = np.asarray(y, dtype=np.float64)
        weight = read_weights(sample_weight, X.shape[0])
        K = self._gram(X, weight, self.kernel, self.scaling)
        self.C_ = self._penalty(K, weight)
        (before,) = self._before(1, X.shape[0])
        solution = self._solve(K, target, -weight, weight, before, float(self.epsilon))
        self._store(X, solution.beta[np.newaxis], [solution])
        return self

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the value of the ensemble at each row."""
        return self._values(X)[:, 0]


def pair_signs(codes: IntArray, negative: int, positive: int) -> FloatArray:
    """Return −1 and +1 for the rows of two classes, 0 for those of others."""
    return (codes == positive).astype(np.float64) - (codes == negative)


def choose(classes: Any, decision: FloatArray) -> Any:
    """Return the classes that decision values stand for."""
    return classes[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]


def decide(values: FloatArray, n_classes: int) -> FloatArray:
    """Return decision values from the values of the machines of all pairs of classes.

    For more than two classes: the pairs that each wins, and less than a half for how
    clearly.
    """
    if n_classes == 2:
        return values[:, 0]
    votes = np.zeros((len(values), n_classes))
    clarity = np.zeros_like(votes)
    for column, (negative, positive) in zip(
        values.T, combinations(range(n_classes), 2), strict=True
    ):
        votes[:, positive] += column > 0
        votes[:, negative] += column <= 0
        clarity[:, positive] += column
        clarity[:, negative] -= column
    return votes + clarity / (2.0 * (np.abs(clarity) + 1.0) + 1.0)

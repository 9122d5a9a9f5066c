"""Algorithm 1 of Lin and Li: an SVM whose kernel embodies infinitely many hypotheses."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.metaestimators import available_if

from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble._validation import read_classes, read_weights, refuse_one_class
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import ScalingKind
from kernsemble.svm.calibration import Calibration
from kernsemble.svm.deciding import DecidesByMachines
from kernsemble.svm.losses import LossOfClasses, Solver
from kernsemble.svm.machine import Machine
from kernsemble.svm.multiclass import Multiclass, Shape, as_reduction, check_shape
from kernsemble.svm.problem import Problem


def _has_logits(machine: "InfiniteEnsembleClassifier") -> bool:
    if machine.loss != "logistic":
        raise AttributeError(
            f"loss = {machine.loss!r} tells no probabilities: give loss='logistic', or calibrate "
            "by InfiniteEnsembleClassifierCV, and fit again"
        )
    return True


class InfiniteEnsembleClassifier(ClassifierMixin, DecidesByMachines, Machine):
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
        What the ensemble is made of, unbound: an expression of kernels or a name. Columns are
        chosen by name where X is a DataFrame, ``Stump().on("age") + Category().on("city")``.
        On a table with categories a kernel that says no columns is one of the numbers, and
        `Category` of the others is added.
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
        The violation of the optimality conditions to stop at; for the additive solver the
        duality gap, as a share of the objective.
    max_iter : int or None, default=None
        At most so many steps a machine.
    cache_size : float or None, default=None
        The megabytes that kernel matrices may take, half of the machine's memory by default.
        Rows of a matrix that does not fit are computed when they are needed, and a warning
        says so.
    warm_start : bool, default=False
        Whether `fit` goes on from the coefficients of the last one on as many rows; an
        interrupted fit leaves those it had reached.
    solver : {"auto", "exact", "additive"}, default="auto"
        How the ensemble is found: on the matrix between all rows, which any kernel has; or, for
        kernels that are sums over columns, directions or grids (stumps, categories, perceptrons,
        `Laplacian`, `DecisionTree` and sums of them), on tables of codes, whose cost grows as the
        number of rows. "auto" is exact while the matrix is cheap, and additive beyond, for losses
        other than the hinge, for missing values and, where the kernel is such a sum, for
        categories.
    loss : {"hinge", "logistic", "squared_hinge"}, default="hinge"
        What errors cost. All but the papers' hinge need the additive solver; the logistic loss
        has `predict_proba`.
    max_levels : int, default=256
        The additive solver rounds numbers to at most so many levels a column (up to 65,535);
        a column with fewer values is left as it is.
    n_slices : int or None, default=None
        In how many directions the additive solver looks for perceptrons; None: in 26 for each
        feature, but at least in 512 and at most in 2,048.
    n_grids : int, default=512
        Into the cells of how many random grids, which are leaves of trees, the additive solver puts
        rows for each `Laplacian` or `DecisionTree`.
    random_state : int, RandomState or None, default=None
        What directions and grids are drawn with.

    Attributes
    ----------
    classes_ : array
        The classes.
    solver_ : str
        The solver that was taken, "exact" or "additive".
    kernel_ : Kernel
        The kernel bound to the scaled training rows.
    C_ : float
        The number that C stands for.
    scaling_ : FeatureScaling
        The scaling of the training rows.
    reduction_ : Reduction
        Which classes are on the sides of each machine.
    support_, support_vectors_ : arrays
        The rows with a coefficient in some machine. Of the exact solver only.
    dual_coef_ : array of shape (n_machines, n_support)
        The signed coefficients :math:`\beta`. Of the exact solver only.
    tables_ : FittedTables
        The function of each column, direction or grid as a table of its levels or cells. Of the
        additive solver only.
    sampling_error_ : float
        What sampled hypotheses leave of error, root mean square: of distances by directions, as a
        share of them, or of the kernel by grids, as a share of its weight. The larger of the two,
        0 where nothing is sampled. Of the additive solver only.
    mixed_table_ : MixedTable or None
        The categories of the columns of a table that is not of numbers alone.
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

    A table of numbers and categories, with missing values, is fitted as it is:

    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [25, 40, None, 61], "city": ["Bern", "Rome", "Rome", None]})
    >>> machine = InfiniteEnsembleClassifier().fit(people, ["no", "yes", "yes", "no"])
    >>> machine.predict(people)
    array(['no', 'yes', 'yes', 'no'], dtype='<U3')
    >>> machine.solver_
    'additive'
    """

    def __init__(  # noqa: PLR0913, PLR0917 (settings, given by name)
        self,
        kernel: str | Kernel = "stump",
        C: float | Literal["scale"] = "scale",
        scaling: ScalingKind | None = "range",
        multiclass: Multiclass = "one-vs-one",
        decision_function_shape: Shape = "ovr",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        cache_size: float | None = None,
        warm_start: bool = False,
        solver: Solver = "auto",
        loss: LossOfClasses = "hinge",
        max_levels: int = 256,
        n_slices: int | None = None,
        n_grids: int = 512,
        random_state: Any = None,
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
        self.solver = solver
        self.loss = loss
        self.max_levels = max_levels
        self.n_slices = n_slices
        self.n_grids = n_grids
        self.random_state = random_state

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
        with Task.of_fit(self, len(problems), X, y, sample_weight) as task:
            comparison = self._compare_rows(rows, counts)
            self.C_ = self._penalty(comparison, counts)
            self._fit_machines(rows, comparison, problems, task)
        return self

    def _check_settings(self) -> None:
        super()._check_settings()
        check_shape(self.decision_function_shape, self.multiclass)

    def _read(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Rows, IntArray, FloatArray, FloatArray]:
        """Return rows, class codes, how often rows count, and what multiplies their C."""
        X, y = self._read_rows(X, y)
        self.classes_, codes = read_classes(y)
        refuse_one_class(self.classes_)
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

    @available_if(_has_logits)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each class at each row, with ``loss="logistic"``.

        The largest is that of the class which `predict` returns.
        """
        values = self._values(X)
        return Calibration.of_logits(self.reduction_).probabilities(values)

    @available_if(_has_logits)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the logarithm of the probability of each class at each row."""
        return np.log(self.predict_proba(X))

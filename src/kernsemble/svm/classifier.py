"""Algorithm 1 of Lin and Li: an SVM whose kernel embodies infinitely many hypotheses."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.base import ClassifierMixin

from kernsemble._calibration_curves import CurveKind
from kernsemble._conditional_methods import available_if
from kernsemble._folds import (
    calibration_folds,
    share_right,
)
from kernsemble._jobs import within_n_jobs
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble._validation import read_weights
from kernsemble.kernels import Kernel
from kernsemble.solvers.losses import LOSSES, loss_with_probabilities
from kernsemble.streaming import Blocks
from kernsemble.svm.backends.base import (
    Candidate,
    Machines,
    PreparedRows,
    SolverSettings,
    TrainingRows,
)
from kernsemble.svm.calibration import Calibration, MultinomialLink, check_calibration
from kernsemble.svm.estimator import KernelMachine
from kernsemble.svm.model_selection.cross_validation import (
    CrossValidation,
    held_out_predictions,
    warn_unless_converged,
)
from kernsemble.svm.multiclass import (
    DecisionShape,
    Multiclass,
    MulticlassMixin,
    check_shape,
    class_factors,
    one_versus_rest_signs,
)
from kernsemble.svm.problem import Problem
from kernsemble.svm.streams.fitting import fit_to_blocks
from kernsemble.svm.streams.sources import local_source

HeldOutValues: TypeAlias = tuple[FloatArray, IntArray, FloatArray]  # values, class codes, weights


def _models_probabilities(machine: "EnsembleClassifier") -> bool:
    """Return whether the loss models probabilities, that of the last fit if there was one."""
    loss = getattr(machine, "loss_", machine._loss_for(machine.solver))
    return loss in LOSSES and LOSSES[loss].has_probabilities


def _check_probabilities(machine: "EnsembleClassifier") -> None:
    """Raise an AttributeError unless the loss models probabilities, or they are calibrated."""
    if _models_probabilities(machine):
        return
    if machine.calibration is None:
        raise AttributeError(
            f"loss = {machine.loss!r} and calibration = None do not support predict_proba: use "
            f"calibration='sigmoid' or loss={loss_with_probabilities()!r}, or "
            "InfiniteEnsembleClassifierCV, which calibrates by default; then fit again"
        )
    if getattr(machine, "calibration_", ...) is None:
        raise AttributeError(
            f"predict_proba needs a fit with calibration={machine.calibration!r}, and the last one "
            "had calibration=None: fit again"
        )


class EnsembleClassifier(ClassifierMixin, MulticlassMixin, KernelMachine):
    """Base class of both classifiers: validation of classes and weights."""

    _task = "classification"
    calibration: CurveKind | None
    class_weight: Any
    calibration_: Calibration | MultinomialLink | None

    def _check_settings(self) -> None:
        super()._check_settings()
        check_shape(self.decision_function_shape, self.multiclass)
        check_calibration(self.calibration)

    def _read(
        self, X: ArrayLike, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[TrainingRows, IntArray, FloatArray]:
        """Return weighted rows, class codes, and the factor of C for each row."""
        X, y = self._read_training_rows(X, y)
        codes = self._read_labels(y)
        counts = read_weights(sample_weight, X.shape[0])
        factors = class_factors(self.class_weight, y, codes, counts)
        rows, codes, factors = self._merged(X, counts, codes, factors)
        rows = replace(rows, targets=one_versus_rest_signs(codes, len(self.classes_)))
        return rows, codes, rows.weight * factors

    def _problems(self, codes: IntArray, weight: FloatArray) -> list[Problem]:
        return [Problem.for_signs(self._loss, signs, weight) for signs in self._signs(codes)]

    def _calibrate(self, held_out: Callable[[], HeldOutValues]) -> Calibration | None:
        """Return the curves fitted to held-out rows, unless the loss models probabilities."""
        if self._loss.has_probabilities:
            return Calibration.from_loss(self.loss_, self.reduction_)
        if self.calibration is None:
            return None
        return Calibration.from_held_out(self.calibration, self.reduction_, *held_out())

    @available_if(_check_probabilities)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each class at each row.

        The class that `predict` returns has the largest one: if the calibrated curves
        contradict it, it shares the probability of the classes above it.
        """
        values = self._values(X)
        assert self.calibration_ is not None
        return self.calibration_.probabilities(values)

    @available_if(_check_probabilities)
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the logarithm of the probability of each class at each row."""
        return np.log(self.predict_proba(X))


class InfiniteEnsembleClassifier(EnsembleClassifier):
    r"""A weighted vote of infinitely many hypotheses, fitted by a support vector machine.

    .. math:: \min_{w, b}\; \tfrac12\|w\|^2
              + \textstyle\sum_i C_i \max(0, 1 - y_i f(x_i)),
              \qquad f(x) = \int w(a)\, r(a)\, h_a(x)\, da + b

    over the hypotheses :math:`h_a` that the kernel embodies: every decision stump by default. The
    dual problem is solved to optimality. More than two classes are predicted by several such
    machines, on one kernel matrix.

    Parameters
    ----------
    kernel : str or Kernel, default="stump"
        The kernel, which defines the hypotheses of the ensemble: an unbound expression of kernels
        or a name. You can restrict parts of it to named columns of a DataFrame,
        ``Stump().on("age") + Category().on("city")``. On a table with categories, a kernel
        without columns applies to the numbers, and `Category` to the other columns.
    C : float or "scale", default="scale"
        Regularization parameter, the weight of errors relative to the norm of the weights.
        "scale" is 1 over the mean distance :math:`\tfrac12(K_{ii} + K_{jj}) - K_{ij}` of training
        rows, inf is a hard margin.
    scaling : str or None, default="range"
        Scaling of the features, computed from the training rows: "range" to [−1, 1] as in the
        papers, "rank" to their distribution function, "distinct" to equal steps between
        neighbouring values. Learned from the targets, not for the additive solver: "learned" gives
        each feature a weight on ranks, "learned-range" and "learned-distinct" on other scales;
        "learned-directions" learns directions, for Euclidean distances; "effects" is the function
        of each column in an additive machine, for categories and missing values too, and
        "learned-effects" gives these weights; "learned-indicators" gives weights to ranks of
        numbers and to indicators of categories and missing values.
    multiclass : {"auto", "one-vs-one", "one-vs-rest"}, default="auto"
        Reduction of more than two classes: a vote of one machine per pair of classes, as in
        LIBSVM, or the largest value of one machine per class. "auto" is one-vs-one for up to 20
        classes, and one-vs-rest for more, since the number of pairs grows with the square.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of `decision_function`: one value per class or, for one-vs-one only, one value per
        pair of classes. Two classes have a single value in any case.
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class.
    tol : float, default=1e-3
        Largest violation of the optimality (KKT) conditions at which to stop; for the additive
        solver, the duality gap relative to the objective.
    max_iter : int or None, default=None
        Maximum number of iterations per machine.
    cache_size : float or None, default=None
        Memory for kernel matrices in megabytes, by default half of what is available. If a
        matrix does not fit, its rows are computed on demand, with a warning.
    warm_start : bool, default=False
        Whether `fit` continues from the coefficients of the last fit on as many rows. An
        interrupted fit keeps the coefficients it had reached.
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
    loss : {"hinge", "logistic", "squared_hinge", "squared", "auto"}, default="hinge"
        Loss function. The logistic loss and the squared hinge need the additive solver; the
        logistic loss supports `predict_proba`. "auto" is the hinge if the exact solver is used,
        and the logistic loss if the additive one is.
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
    calibration : {"sigmoid", "isotonic"} or None, default=None
        Calibration of probabilities for `predict_proba`, on the decision values of rows held out
        in five folds at the same C: Platt's sigmoid, or any non-decreasing curve, which needs
        many rows. It costs five more fits, which share the kernel matrix. None for no
        probabilities, unless the loss is logistic, which needs no calibration.
    n_jobs : int or None, default=None
        Number of threads of `fit` and of predictions; −1 is all cores, −2 all but one. None is
        all cores, or the number in the environment variable NUMBA_NUM_THREADS.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    classes_ : array
        The classes.
    solver_, loss_ : str
        The solver and the loss that were used.
    kernel_ : Kernel
        The kernel bound to the scaled training rows.
    C_ : float
        Value of C, also for "scale".
    scaling_ : FeatureScaling
        The scaling of the training rows.
    reduction_ : Reduction
        The classes on the two sides of each machine.
    machines_ : Machines
        The fitted machines, as the solver returns them.
    calibration_ : Calibration or None
        The calibration curve of each machine; None without probabilities.
    support_, support_vectors_ : arrays
        The rows with a nonzero coefficient in some machine. Exact solver only.
    dual_coef_ : array of shape (n_machines, n_support)
        The signed coefficients :math:`\beta`. Exact solver only.
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
    intercept_, objective_, duality_gap_ : arrays of shape (n_machines,)
        The bias and the dual objective of each machine, and a bound on the excess of the primal
        objective.
    n_iter_ : int
        The number of iterations of the machine that took most.
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

    Tables of numbers and categories, with missing values, need no encoding:

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
        scaling: str | None = "range",
        multiclass: Multiclass = "auto",
        decision_function_shape: DecisionShape = "ovr",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        cache_size: float | None = None,
        warm_start: bool = False,
        solver: str = "auto",
        loss: str = "hinge",
        max_levels: int = 256,
        n_slices: int | None = None,
        n_grids: int = 512,
        n_pairs: int | Literal["auto"] = 0,
        pairs: Sequence[tuple[Any, Any]] | None = None,
        random_state: Any = None,
        calibration: CurveKind | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
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
        self.n_pairs = n_pairs
        self.pairs = pairs
        self.random_state = random_state
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _merges_equal_rows(self) -> bool:
        return self.calibration is None  # its folds are of the rows as given

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
            Classes.
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
        rows, codes, weight = self._read(X, y, sample_weight)
        backend = self._choose_backend(rows)
        settings, problems = self._solver_settings(backend), self._problems(codes, weight)
        n_parts = settings.n_parts(len(problems)) + (self.calibration is not None)
        with Task.of_fit(self, n_parts, X, y, sample_weight) as task:
            candidate = Candidate(self._kernel_on_columns(self.kernel, self.scaling), self.scaling)
            prepared = backend.open(rows, settings).prepare(candidate)
            self.C_ = self._penalty(prepared)
            self.calibration_ = self._calibrate(
                lambda: self._held_out(rows, codes, prepared, problems, settings, task)
            )
            self._fit_machines(prepared, problems, settings, last, task)

    def _held_out(
        self,
        rows: TrainingRows,
        codes: IntArray,
        prepared: PreparedRows,
        problems: list[Problem],
        settings: SolverSettings,
        task: Task,
    ) -> HeldOutValues:
        """Return the decision values, class codes and weights of rows held out at the same C."""
        splits = calibration_folds(codes, rows.weight, self.classes_)
        predictions = held_out_predictions(self.classes_, self.reduction_, self.loss_)
        labels = self.classes_[codes]
        validation = CrossValidation(rows, labels, splits, share_right, predictions, settings)
        with task.part("calibration", len(problems), len(problems)) as part:
            trial = validation.run(prepared, problems, [self.C_], part)
        warn_unless_converged(trial.statuses, settings)
        return trial.values, codes[validation.tested], rows.weight[validation.tested]

"""Algorithm 1 of Lin and Li: an SVM whose kernel embodies infinitely many hypotheses."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.base import ClassifierMixin

from kernsemble._calibration_curves import CurveKind
from kernsemble._conditional_methods import available_if
from kernsemble._folds import (
    PAPERS_PENALTIES,
    FoldRows,
    calibration_folds,
    check_classes,
    read_splits,
    share_right,
)
from kernsemble._jobs import within_n_jobs
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble._validation import read_weights
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import ScalingKind
from kernsemble.solvers.losses import LOSSES, loss_with_probabilities
from kernsemble.svm.backends.base import (
    Candidate,
    Machines,
    PreparedRows,
    SolverSettings,
    TrainingRows,
)
from kernsemble.svm.calibration import Calibration, check_calibration
from kernsemble.svm.estimator import KernelMachine
from kernsemble.svm.model_selection.cross_validation import (
    CrossValidation,
    held_out_predictions,
    warn_unless_converged,
)
from kernsemble.svm.model_selection.grid import Selection, Variant
from kernsemble.svm.model_selection.out_of_fold import OutOfFold, cross_fitted_probabilities
from kernsemble.svm.model_selection.selecting_estimator import SelectsSettings
from kernsemble.svm.multiclass import (
    DecisionShape,
    Multiclass,
    MulticlassMixin,
    check_shape,
    class_factors,
)
from kernsemble.svm.problem import Problem

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
    calibration_: Calibration | None

    def _check_settings(self) -> None:
        super()._check_settings()
        check_shape(self.decision_function_shape, self.multiclass)
        check_calibration(self.calibration)

    def _read(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[TrainingRows, IntArray, FloatArray]:
        """Return rows, class codes, and the factor of C for each row."""
        X, y = self._read_training_rows(X, y)
        codes = self._read_labels(y)
        counts = read_weights(sample_weight, X.shape[0])
        factors = class_factors(self.class_weight, y, codes, counts)
        return TrainingRows(X, counts, self._columns.is_category), codes, counts * factors

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
    scaling : {"range", "rank", "distinct"} or None, default="range"
        Scaling of the features, computed from the training rows: to [−1, 1] as in the papers, to
        their distribution function, or to equal steps between neighbouring values.
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
        Memory for kernel matrices in megabytes, by default half of the machine's memory. If a
        matrix does not fit, its rows are computed on demand, with a warning.
    warm_start : bool, default=False
        Whether `fit` continues from the coefficients of the last fit on as many rows. An
        interrupted fit keeps the coefficients it had reached.
    solver : {"auto", "exact", "additive"}, default="auto"
        Backend: "exact" uses the kernel matrix between all rows, for any kernel; "additive" uses
        tables of codes, at a cost linear in the number of rows, for kernels that are sums over
        columns, directions or grids (stumps, categories, perceptrons, `Laplacian`,
        `DecisionTree` and sums of them). "auto" is exact while the matrix is cheap, and additive
        for more rows, losses other than the hinge, missing values, and categories if the kernel
        is such a sum.
    loss : {"hinge", "logistic", "squared_hinge", "auto"}, default="hinge"
        Loss function. All but the papers' hinge need the additive solver; the logistic loss
        supports `predict_proba`. "auto" is the hinge if the exact solver is used, and the logistic
        loss if the additive one is.
    max_levels : int, default=256
        Maximum number of levels per column to which the additive solver rounds numbers (at most
        65,535). Columns with fewer distinct values are not rounded.
    n_slices : int or None, default=None
        Number of directions in which the additive solver samples perceptrons; by default 26 per
        feature, at least 512 and at most 2,048.
    n_grids : int, default=512
        Number of random grids, whose cells are leaves of trees, that the additive solver samples
        for each `Laplacian` or `DecisionTree`.
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
        scaling: ScalingKind | None = "range",
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
        self.random_state = random_state
        self.calibration = calibration
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    @within_n_jobs
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            Training rows.
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
            self._fit(X, y, sample_weight, last)
        return self

    def _fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, last: Machines | None
    ) -> None:
        rows, codes, weight = self._read(X, y, sample_weight)
        backend = self._choose_backend(rows)
        settings, problems = self._solver_settings(backend), self._problems(codes, weight)
        n_parts = len(problems) + (self.calibration is not None)
        with Task.of_fit(self, n_parts, X, y, sample_weight) as task:
            candidate = Candidate(self._columns.kernel(self.kernel), self.scaling)
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


class InfiniteEnsembleClassifierCV(SelectsSettings, EnsembleClassifier):
    r"""An infinite ensemble whose C, kernel and scaling are selected by cross-validation.

    Every C and every fold is solved on the kernel matrix of the whole sample: nothing is copied,
    each C starts from the solution of the one before, and the folds share the cores. The
    constants of the kernel and of the scaling are computed from all training rows, as in the
    papers, which scale the data first. Of equal scores the smallest C wins, then the kernel that
    comes first.

    The decision values of held-out rows calibrate the probabilities, without another fit.

    Parameters
    ----------
    kernel : str, Kernel or list of those, default="auto"
        Kernel, an unbound expression or a name, or a list to select from. Radial kernels that
        differ in gamma only share their distances. With "auto", stumps, perceptrons, trees and
        polytopes race on all scales, many on few rows, few on many, and the three finalists are
        cross-validated on all rows; on tables with categories or missing values within `Mixed`.
        With ``solver="additive"`` or a loss other than the hinge, and by default on more than
        10,000 rows, "auto" is stumps on every scale.
    Cs : sequence of float, optional
        Values of C to select from. By default those of the papers, 2**-17, 2**-15, ..., 2**3; in
        a race multiples of ``C="scale"`` from a quarter to 64, and with the additive solver from
        a sixteenth to 65,536.
    cv : int, splitter or iterable, default=5
        Cross-validation folds, as everywhere in scikit-learn; `fit` takes the `groups` of
        splitters such as `GroupKFold`.
    scoring : str, callable or None, default=None
        Score to maximise, as everywhere in scikit-learn, of decision values or classes, or with
        ``loss="logistic"`` of probabilities; None is the accuracy.
    calibration : {"sigmoid", "isotonic"} or None, default="sigmoid"
        Calibration of probabilities: Platt's sigmoid, or any non-decreasing curve, which needs
        many rows. None for no probabilities. The logistic loss needs no calibration.
    scaling : {"range", "rank", "distinct"}, None, list of those or "auto", default="auto"
        Scaling of the features, or a list to select from; "auto" is "range", and all of them for
        ``kernel="auto"``.
    multiclass : {"one-vs-one", "one-vs-rest"}, default="one-vs-one"
        Reduction of more than two classes: a vote of one machine per pair of classes, as in
        LIBSVM, or the largest value of one machine per class.
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
        Memory for kernel matrices in megabytes, by default half of the machine's memory. If a
        matrix does not fit, its rows are computed on demand, with a warning.
    random_state : int, RandomState or None, default=None
        Random seed of the samples of a race, of directions and grids.
    solver : {"auto", "exact", "additive"}, default="auto"
        Backend: "exact" uses the kernel matrix between all rows, for any kernel; "additive" uses
        tables of codes, at a cost linear in the number of rows, for kernels that are sums over
        columns, directions or grids (stumps, categories, perceptrons, `Laplacian`,
        `DecisionTree` and sums of them). "auto" is exact while the matrix is cheap, and additive
        for more rows, losses other than the hinge, missing values, and categories if the kernel
        is such a sum.
    loss : {"auto", "hinge", "logistic", "squared_hinge"}, default="auto"
        Loss function. "auto" is the papers' hinge if the exact solver is used, and the logistic
        loss if the additive one is, where it is as accurate and faster, and needs no
        calibration. All but the hinge need the additive solver.
    max_levels : int, default=256
        Maximum number of levels per column to which the additive solver rounds numbers (at most
        65,535). Columns with fewer distinct values are not rounded.
    n_slices : int or None, default=None
        Number of directions in which the additive solver samples perceptrons; by default 26 per
        feature, at least 512 and at most 2,048.
    n_grids : int, default=512
        Number of random grids, whose cells are leaves of trees, that the additive solver samples
        for each `Laplacian` or `DecisionTree`.
    n_jobs : int or None, default=None
        Number of threads of `fit` and of predictions; −1 is all cores, −2 all but one. None is
        all cores, or the number in the environment variable NUMBA_NUM_THREADS.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    C_, kernel_, scaling_
        The selected settings, the last two bound to all training rows.
    best_score_ : float
        The mean cross-validated score of the selected settings. Optimistic: it is the best of
        several settings.
    best_params_, best_index_ : dict, int
        The selected settings, and their place in `cv_results_`.
    cv_results_ : dict
        All scores, in the form of scikit-learn's GridSearchCV; without times, since the problems
        of a path share theirs. After a race those of the finalists, on all rows and folds.
    race_results_ : dict
        The number of rows, best C, and mean and standard deviation of the scores of every
        candidate in every round, if kernels raced. Scores of different rounds are not comparable.
    search_summary_ : SearchSummary
        What was compared, what was left out and why; ``str`` of it is one line.
    calibration_ : Calibration
        The calibration curve of each machine; None if `calibration` is.
    out_of_fold_ : OutOfFold
        Predictions of the training rows by machines that were fitted without them: `rows`,
        `folds`, `predicted`, `values` and `probabilities`.
    solver_, loss_ : str
        The solver and the loss that were used.
    machines_ : Machines
        The fitted machines, as the solver returns them.
    tables_ : FittedTables
        The function of each column, direction or grid as a table of its levels or cells.
        Additive solver only.
    sampling_error_ : float
        Root mean square error due to sampled hypotheses: of distances by directions, relative to
        them, or of the kernel by grids, relative to its weight. The larger of the two, 0 if
        nothing is sampled. Additive solver only.
    mixed_table_ : MixedTable or None
        The categories of each column of a table with categories; None for numbers.
    classes_ : array
        The classes.
    reduction_ : Reduction
        The classes on the two sides of each machine.
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
    >>> from kernsemble.datasets import make_threenorm
    >>> from kernsemble.svm import InfiniteEnsembleClassifierCV
    >>> X, y = make_threenorm(300, random_state=0)
    >>> X_test, y_test = make_threenorm(3000, random_state=1)
    >>> machine = InfiniteEnsembleClassifierCV(["stump", "perceptron"]).fit(X, y)
    >>> machine.kernel_, machine.C_
    (Perceptron().bind(X), 0.5)
    >>> machine.score(X_test, y_test)
    0.860
    >>> machine.predict_proba(X_test[:2])
    array([[0.990, 0.010],
           [0.003, 0.997]])
    """

    default_grid = PAPERS_PENALTIES

    def __init__(  # noqa: PLR0913, PLR0917 (settings, given by name)
        self,
        kernel: str | Kernel | Sequence[str | Kernel] = "auto",
        Cs: Sequence[float] | None = None,
        cv: Any = 5,
        scoring: Any = None,
        calibration: CurveKind | None = "sigmoid",
        scaling: ScalingKind | Literal["auto"] | Sequence[ScalingKind | None] | None = "auto",
        multiclass: Multiclass = "auto",
        decision_function_shape: DecisionShape = "ovr",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
        cache_size: float | None = None,
        random_state: Any = None,
        solver: str = "auto",
        loss: str = "auto",
        max_levels: int = 256,
        n_slices: int | None = None,
        n_grids: int = 512,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.calibration = calibration
        self.scaling = scaling
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.random_state = random_state
        self.solver = solver
        self.loss = loss
        self.max_levels = max_levels
        self.n_slices = n_slices
        self.n_grids = n_grids
        self.n_jobs = n_jobs
        self.verbose = verbose

    @with_callbacks
    @within_n_jobs
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Select the settings by cross-validation, then fit the ensemble on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, n_features)
            Training rows.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            Weights in the machines, the scores and the calibration; a weight of 2 is the same as
            two equal rows, 0 as no row.
        groups : array-like of shape (n,), optional
            Group of each row, for a `cv` that keeps groups together, such as `GroupKFold`.

        Returns
        -------
        self
        """
        self._check_settings()
        with self._replace_last_fit():
            self._fit(X, y, sample_weight, groups)
        return self

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
    ) -> None:
        rows, codes, weight = self._read(X, y, sample_weight)
        labels = self.classes_[codes]
        splits = read_splits(self.cv, X, labels, rows.weight, is_classifier=True, groups=groups)
        check_classes(splits, codes, rows.weight, self.classes_)
        backend = self._choose_backend(rows)
        settings = self._solver_settings(backend)
        predictions = held_out_predictions(self.classes_, self.reduction_, self.loss_)
        validation = self._validation(rows, labels, splits, share_right, predictions, settings)
        variant = Variant({}, self._problems(codes, weight))
        with Task.of_fit(self, 2, X, y, sample_weight) as task:
            selection = self._select(validation, backend, [variant], task)
            tested = validation.tested
            held_out = codes[tested], rows.weight[tested]
            self.calibration_ = self._calibrate(lambda: (selection.values, *held_out))
            self.out_of_fold_ = self._out_of_fold(selection, splits, *held_out)
            self._refit(selection, settings, task)

    def _out_of_fold(
        self, selection: Selection, splits: list[FoldRows], codes: IntArray, weight: FloatArray
    ) -> OutOfFold:
        """Return the predictions of held-out rows, with probabilities if there are any."""
        values, probabilities = selection.values, None
        if self._loss.has_probabilities:
            assert self.calibration_ is not None
            probabilities = self.calibration_.probabilities(values)
        elif self.calibration is not None:
            probabilities = cross_fitted_probabilities(
                self.calibration, self.reduction_, splits, values, codes, weight
            )
        return OutOfFold.of_classes(splits, values, self.classes_, self.reduction_, probabilities)

    def _strata(self, y: Any) -> IntArray:
        return np.unique(y, return_inverse=True)[1]

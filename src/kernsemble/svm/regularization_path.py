"""The regularization path: the machines of every C from one run, and the selection of C."""

from collections.abc import Iterator
from copy import copy
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from kernsemble._arguments import check_count, check_penalty
from kernsemble._jobs import within_n_jobs
from kernsemble._last_fit import restoring_last_fit
from kernsemble._memory import Budget
from kernsemble._model_cards import CardMixin
from kernsemble._progress import CallbackSupportMixin, Task, with_callbacks
from kernsemble._threads import at_most, n_threads
from kernsemble._typing import ArrayLike, FloatArray, IntArray, Rows
from kernsemble._validation import accuracy, read_weights
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import ScalingKind
from kernsemble.solvers import Status
from kernsemble.solvers.equal_rows import distinct_rows
from kernsemble.solvers.interrupts import Watch
from kernsemble.solvers.regularization_path import (
    RegularizationPath,
    check_ends,
    solve_regularization_path,
)
from kernsemble.svm.backends.base import TrainingRows, solve_each
from kernsemble.svm.backends.matrix import MatrixWorkspace
from kernsemble.svm.backends.prepared_matrix import expansion_values
from kernsemble.svm.estimator import ReadsTables
from kernsemble.svm.multiclass import (
    DecisionShape,
    Multiclass,
    MulticlassMixin,
    check_shape,
    class_factors,
)

ROUNDING = 1e-12  # difference of error rates that counts as rounding
SHARE_OF_FACTOR = 0.4  # of the matrix, that the factor of an elbow takes
MOST_COMPARED = 100  # maximum number of breakpoints that are compared after an interrupt


class SVMPath(
    CardMixin,
    CallbackSupportMixin,  # type: ignore[misc,valid-type]
    ClassifierMixin,
    MulticlassMixin,
    ReadsTables,
):
    r"""The entire regularization path of the support vector machine.

    .. math:: \min_{w, b}\; \tfrac12\|w\|^2
              + C \textstyle\sum_i s_i \max(0, 1 - y_i f(x_i)),
              \qquad f(x) = \sum_i \beta_i K(x_i, x) + b

    for every C at once. Hastie, Rosset, Tibshirani and Zhu (2004): :math:`\beta/C` and
    :math:`b/C` are linear in 1/C between finitely many breakpoints, at which a row reaches or
    leaves the margin. Following the breakpoints gives the exact machine of any C. `fit` selects
    one of them by the leave-one-out bound of Evgeniou et al. (2004), without folds,

    .. math:: \frac1m \textstyle\sum_i [\, \lambda_i K_{ii} \ge y_i f(x_i) \,],
              \qquad \lambda_i = y_i \beta_i ,

    `score_path` returns the scores of all breakpoints, and `at` the machine of any C.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        Kernel, an unbound expression or a name. Simplified kernels give the same
        machines as full ones; as the bound depends on :math:`K_{ii}`, the full one is used.
    C : "loo" or float, default="loo"
        The C of the machine that predicts: "loo" for the breakpoint with the least bound, the
        smallest of several, or any C of the path. inf, a hard margin, is on it if the classes
        are separable.
    scaling : {"range", "rank", "distinct"} or None, default="range"
        Scaling of the features, computed from the training rows: to [−1, 1] as in the papers, to
        their distribution function, or to equal steps between neighbouring values.
    multiclass : {"one-vs-one", "one-vs-rest"}, default="one-vs-one"
        Reduction of more than two classes. Every machine has its own path, and all share one C,
        that with the least bound on average over the machines.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of `decision_function`: one value per class or, for one-vs-one only, one value per
        pair of classes. Two classes have a single value in any case.
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class.
    smallest_C : float or None, default=None
        Start of the path; by default its first breakpoint, below which :math:`\beta/C` is
        constant, so that the path includes every smaller C.
    largest_C : float or None, default=None
        End of the path; by default where no breakpoint is left, so that the path includes every
        larger C, or where rounding takes over.
    max_breakpoints : int or None, default=None
        Maximum number of breakpoints per machine.
    cache_size : float or None, default=None
        Memory for kernel matrices in megabytes, by default half of what is available. A path
        needs the whole matrix.
    n_jobs : int or None, default=None
        Number of threads of `fit` and of predictions; −1 is all cores, −2 all but one. None is
        all cores, or the number in the environment variable NUMBA_NUM_THREADS.
    verbose : int, default=0
        Verbosity: 1 prints the progress every few seconds, 2 every percent.

    Attributes
    ----------
    classes_ : array
        The classes.
    C_ : float
        The C of the machine that predicts.
    Cs_ : array of shape (n_breakpoints,)
        The breakpoints of all machines in increasing order, as far as all paths reach.
    leave_one_out_errors_ : array of shape (n_breakpoints,)
        The bound at each breakpoint, averaged over the machines. Errors are weighted like the
        rows; of equal rows one is left out.
    paths_ : tuple of RegularizationPath
        The path of each machine.
    ending_ : tuple of str
        The reason why each path ends: "complete" if there are no more breakpoints, "largest_C",
        "rounding", "max_breakpoints" or "interrupted".
    kernel_ : Kernel
        The kernel bound to the scaled training rows.
    scaling_ : FeatureScaling
        The scaling of the training rows.
    reduction_ : Reduction
        The classes on the two sides of each machine.
    X_fit_ : array
        The training rows; equal rows of a class are merged into one with the sum of their weights.
    support_, support_vectors_ : arrays
        The rows with a nonzero coefficient at `C_` in some machine, the first of equal rows.
    dual_coef_ : array of shape (n_machines, n_support)
        Their signed coefficients :math:`\beta`.
    intercept_ : array of shape (n_machines,)
        The bias of each machine.
    n_iter_ : int
        The number of breakpoints of the machine that has most.
    mixed_table_ : MixedTable or None
        The categories of each column of a table with categories; None for numbers.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    InfiniteEnsembleClassifier : The machine of one C, also if the matrix does not fit.
    InfiniteEnsembleClassifierCV : Selects C, kernel and scaling by cross-validation.

    Notes
    -----
    The matrix of m distinct rows takes 8m² bytes, of float32 rows as well. A breakpoint costs
    O(me + e²) with e rows on the margin; there are 0.2 to 3 times m of them. `at` costs
    O(m + n_breakpoints), a stage on n rows O(ne).

    The bound holds for a machine whose bias is fixed when a row is left out, and it grows with a
    constant added to the kernel: for kernels with large constants, such as "stump" on many
    columns, it is loose. There select C by `score_path` on held-out rows.

    For probabilities, wrap it in scikit-learn's ``CalibratedClassifierCV(SVMPath())``, or use
    `InfiniteEnsembleClassifierCV`.

    Examples
    --------
    >>> from kernsemble.datasets import make_threenorm
    >>> from kernsemble.svm import SVMPath
    >>> X, y = make_threenorm(200, random_state=0)
    >>> X_test, y_test = make_threenorm(3000, random_state=1)
    >>> path = SVMPath().fit(X, y)
    >>> path.C_, path.score(X_test, y_test)
    (0.167, 0.843)
    >>> Cs, scores = path.score_path(X_test, y_test)
    >>> path.at(Cs[scores.argmax()]).score(X_test, y_test)
    0.870
    """

    _places: IntArray  # indices of the rows of X_fit_ among the training rows
    _sides: tuple[IntArray, ...]  # indices of the rows of X_fit_ on the sides of each machine

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        C: float | Literal["loo"] = "loo",
        scaling: ScalingKind | None = "range",
        multiclass: Multiclass = "one-vs-one",
        decision_function_shape: DecisionShape = "ovr",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        smallest_C: float | None = None,
        largest_C: float | None = None,
        max_breakpoints: int | None = None,
        cache_size: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.scaling = scaling
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.class_weight = class_weight
        self.smallest_C = smallest_C
        self.largest_C = largest_C
        self.max_breakpoints = max_breakpoints
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.verbose = verbose

    @restoring_last_fit
    @with_callbacks
    @within_n_jobs
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Follow the path, and select C.

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

        Notes
        -----
        An interrupt keeps the paths as far as they have been followed; `Cs_` and the bounds are
        then those of at most 100 breakpoints.
        """
        self._check_settings()
        self._forget()
        rows, codes, counts, factors = self._read(X, y, sample_weight)
        self._check_classes_present(codes, counts * factors)
        distinct = distinct_rows(counts, rows, codes[:, np.newaxis]).in_given_order()
        self._places, counts = distinct.rows, distinct.weight
        rows, codes = _double(rows[self._places]), codes[self._places]
        weight = counts * factors[self._places]
        with Task.of_fit(self, self.reduction_.n_machines, X, y, sample_weight) as task:
            signs = self._signs(codes)
            self._sides = tuple(map(np.flatnonzero, signs))
            K, n_workers = self._matrix(rows, counts)
            with at_most(n_workers):
                is_interrupted = self._follow(K, signs, weight, task)
            self.X_fit_ = rows
            self._compare_machines(K, counts, MOST_COMPARED if is_interrupted else None)
            self._select(is_interrupted)
            if is_interrupted:
                raise KeyboardInterrupt(
                    "interrupted: paths_ contains the path so far; smallest_C=Cs_[-1] continues it"
                )
        return self

    def _check_settings(self) -> None:
        check_shape(self.decision_function_shape, self.multiclass)
        requested: Any = self.C
        is_word = isinstance(requested, str) and requested == "loo"
        if not is_word:
            check_penalty("C", requested, "loo")
        low, high = self.smallest_C, self.largest_C
        check_ends(low, high)
        if not is_word and not (low or 0.0) <= float(requested) <= (high or np.inf):
            raise ValueError(
                f"C = {requested!r} is not on the path from smallest_C = {low!r} to largest_C = "
                f"{high!r}: change these, or use C='loo'"
            )
        if self.max_breakpoints is not None:
            check_count("max_breakpoints", self.max_breakpoints)

    def _read(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Rows, IntArray, FloatArray, FloatArray]:
        """Return rows, class codes, counts of rows, and the factor of C for each row."""
        X, y = self._read_rows(X, y)
        X = self._columns.handle_missing(X, [self._columns.kernel(self.kernel)], "exact", False)
        codes = self._read_labels(y)
        counts = read_weights(sample_weight, X.shape[0])
        return X, codes, counts, class_factors(self.class_weight, y, codes, counts)

    def _check_classes_present(self, codes: IntArray, weight: FloatArray) -> None:
        totals = np.bincount(codes, weight)
        if not totals.all():
            absent = self.classes_[totals == 0.0].tolist()
            raise ValueError(
                f"class {absent[0]!r} has no row of positive weight, by sample_weight or "
                "class_weight: drop its rows, or give some a positive weight"
            )

    def _read_again(self, X: ArrayLike) -> Rows:
        rows = super()._read_again(X)
        rows = self._columns.handle_missing(rows, [self.kernel_], "exact", False)
        return _double(rows)

    @within_n_jobs
    def _values(self, X: ArrayLike) -> FloatArray:
        """Return the value of every machine (columns) at every row, at `C_`."""
        check_is_fitted(self, "paths_")
        known = self.kernel_, self.scaling_, self.support_vectors_
        return expansion_values(self._read_again(X), *known, self.dual_coef_) + self.intercept_

    def _matrix(self, X: Rows, counts: FloatArray) -> tuple[FloatArray, int]:
        """Bind the scaling and the kernel to distinct rows, and return their kernel matrix.

        Return also the number of threads for whose copies of it and factors there is memory.
        """
        budget, n = Budget.from_megabytes(self.cache_size), X.shape[0]
        largest = max(map(len, self._sides))
        copied = 0 if largest == n else 8 * largest**2
        copy = " with a copy for the rows of two of more classes" if copied else ""
        budget.check(
            8 * n * n + copied,
            f"a path needs the whole {n} x {n} kernel matrix, which{copy} takes",
            "fit fewer rows, or use InfiniteEnsembleClassifier for one C",
        )
        kernel = self._columns.kernel(self.kernel)
        kernel = kernel.full if kernel.is_conditional else kernel
        rows = TrainingRows(X, counts, self._columns.is_category)
        prepared = MatrixWorkspace(rows, budget).prepare_plain(kernel, self.scaling)
        self.scaling_, self.kernel_ = prepared.scaling, prepared.kernel
        assert isinstance(prepared.K, np.ndarray)
        spare = budget.n_bytes - prepared.K.nbytes
        each = copied + SHARE_OF_FACTOR * 8 * largest**2
        return prepared.K, int(np.clip(spare / each, 1, n_threads()))

    def _follow(
        self, K: FloatArray, signs: list[FloatArray], weight: FloatArray, task: Task
    ) -> bool:
        """Follow the path of every machine, and return whether that was interrupted."""

        def solve(machine: int, watch: Watch) -> RegularizationPath:
            side = self._sides[machine]
            return solve_regularization_path(
                _among(K, side),
                signs[machine][side],
                smallest_C=self.smallest_C,
                largest_C=self.largest_C,
                weight=weight[side],
                max_breakpoints=self.max_breakpoints,
                on_breakpoint=watch,
            )

        paths, is_interrupted = solve_each(solve, len(signs), task, in_turn=False)
        self.paths_ = tuple(paths)
        self.ending_ = tuple(map(self._ending, paths))
        self.n_iter_ = max(len(path.Cs) for path in paths)
        return is_interrupted

    def _ending(self, path: RegularizationPath) -> str:
        if path.status is Status.INTERRUPTED:
            return "interrupted"
        if path.status is Status.STOPPED:
            return "max_breakpoints"
        if path.is_complete:
            return "complete"
        return "rounding" if self.largest_C is None else "largest_C"

    def _compare_machines(self, K: FloatArray, counts: FloatArray, most: int | None) -> None:
        """Compute the bound at all breakpoints, or `most` of them, as far as all paths reach."""
        lows, highs = np.transpose([path.ends for path in self.paths_])
        Cs = np.unique(np.concatenate([path.Cs for path in self.paths_]))
        Cs = Cs[(Cs >= lows.max()) & (Cs <= highs.min())]
        if most is not None and len(Cs) > most:
            Cs = Cs[np.linspace(0, len(Cs) - 1, most).astype(np.intp)]
        self.Cs_ = Cs
        errors = [
            path.leave_one_out_errors_at(_among(K, side), self.Cs_, counts[side])
            for path, side in zip(self.paths_, self._sides, strict=True)
        ]
        self.leave_one_out_errors_ = np.mean(errors, axis=0)

    def _select(self, is_interrupted: bool) -> None:
        if isinstance(self.C, str):
            errors = self.leave_one_out_errors_
            self._go_to(float(self.Cs_[np.argmax(errors <= errors.min() + ROUNDING)]))  # the first
        elif is_interrupted and self.Cs_[-1] < self.C:
            self._go_to(float(self.Cs_[-1]))
        else:
            self._go_to(float(self.C))

    def _go_to(self, C: float) -> None:
        """Set the machines that predict to those of another C."""
        beta, bias = np.zeros((len(self.paths_), len(self._places))), np.zeros(len(self.paths_))
        for machine, (path, side) in enumerate(zip(self.paths_, self._sides, strict=True)):
            beta[machine, side], bias[machine] = path.at(C)
        used = np.flatnonzero(beta.any(axis=0))
        self.C_, self.intercept_ = C, bias
        self.support_ = self._places[used].astype(np.intp)
        self.support_vectors_, self.dual_coef_ = self.X_fit_[used], beta[:, used]

    def at(self, C: float) -> Self:
        """Return the fitted machine of another C on the path, which it shares with this one.

        C = inf, a hard margin, is on it if the classes are separable.
        """
        check_is_fitted(self, "paths_")
        check_penalty("C", C)
        other = copy(self)
        other.C = float(C)
        other._go_to(other.C)
        return other

    def staged_decision_function(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield `decision_function` at each of `Cs_`.

        The kernel between all rows of X and the training rows is computed at once.
        """
        for values in self._staged_values(X):
            yield self._decisions(values)

    def staged_predict(self, X: ArrayLike) -> Iterator[Any]:
        """Yield `predict` at each of `Cs_`."""
        for values in self._staged_values(X):
            yield self._winners(values)

    def score_path(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return `Cs_`, and the accuracy at each of them.

        On held-out rows it gives the best C, and the curve of accuracy against C.
        """
        scores = [accuracy(y, predicted, sample_weight) for predicted in self.staged_predict(X)]
        return self.Cs_, np.array(scores)

    def _staged_values(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the value of every machine at every row, at each of `Cs_`."""
        check_is_fitted(self, "paths_")
        rows, known = self._read_again(X), self.X_fit_
        Budget.from_megabytes(self.cache_size).check(
            8 * rows.shape[0] * known.shape[0],
            f"the kernel matrix between {rows.shape[0]} rows and the training rows takes",
            "pass fewer rows at a time",
        )
        K = self.kernel_(self.scaling_.transform(known), self.scaling_.transform(rows))
        stages = [
            path.decisions_at(K[side].T, self.Cs_)
            for path, side in zip(self.paths_, self._sides, strict=True)
        ]
        for values in zip(*stages, strict=True):
            yield np.column_stack(values)


def _double(X: Rows) -> Rows:
    """Return rows in double precision, which paths need."""
    return X.astype(np.float64, copy=False)


def _among(K: FloatArray, rows: IntArray) -> FloatArray:
    """Return the part of a matrix between some rows."""
    return K if len(rows) == len(K) else K[np.ix_(rows, rows)]

"""The machines of every C at once, and the choice among them."""

from collections.abc import Iterator
from copy import copy
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from kernsemble._arguments import check_count, check_penalty
from kernsemble._progress import Task, with_callbacks
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import ScalingKind
from kernsemble.solvers import Status
from kernsemble.solvers.interrupts import Watch
from kernsemble.solvers.regularization_path import (
    RegularizationPath,
    check_ends,
    solve_regularization_path,
)
from kernsemble.svm.comparison import compare
from kernsemble.svm.distinct import distinct_rows
from kernsemble.svm.infinite_ensemble import InfiniteEnsembleClassifier
from kernsemble.svm.memory import Budget
from kernsemble.svm.multiclass import Multiclass, Shape, check_shape
from kernsemble.svm.solving import solve_each

SAME = 1e-12  # of a share of rows: what differs by less differs by rounding


class SVMPath(InfiniteEnsembleClassifier):
    r"""The entire regularization path of the support vector machine.

    .. math:: \min_{w, b}\; \tfrac12\|w\|^2
              + C \textstyle\sum_i s_i \max(0, 1 - y_i f(x_i)),
              \qquad f(x) = \sum_i \beta_i K(x_i, x) + b

    for every C at once. Hastie, Rosset, Tibshirani and Zhu (2004): :math:`\beta/C` and
    :math:`b/C` are linear in 1/C between finitely many breakpoints, at which a row reaches or
    leaves the margin; so a run that goes from one to the next knows the exact machine of any C.
    Of these `fit` chooses one by the leave-one-out bound of Evgeniou et al. (2004), without folds,

    .. math:: \frac1m \textstyle\sum_i [\, \lambda_i K_{ii} \ge y_i f(x_i) \,],
              \qquad \lambda_i = y_i \beta_i ,

    `score_path` tells the scores of all of them, and `at` returns that of any C.

    Parameters
    ----------
    kernel : str or Kernel, default="gaussian"
        How rows are compared, unbound, as for `InfiniteEnsembleClassifier`. Simplified kernels
        are the same machines as full ones; as the bound depends on :math:`K_{ii}`, the full one
        is taken.
    C : "loo" or float, default="loo"
        The machine that predicts: that of the breakpoint with the least bound, of several the
        smallest C, or any C of the path. inf, a hard margin, is on it if the classes are
        separated.
    scaling : {"range", "rank", "distinct"} or None, default="range"
        The scale on which features are compared, as for `InfiniteEnsembleClassifier`.
    multiclass : {"one-vs-one", "one-vs-rest"}, default="one-vs-one"
        How more than two classes are decided. Every machine has its own path, and all have one
        C: that with the least bound on average over the machines.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        As for `InfiniteEnsembleClassifier`.
    class_weight : dict, "balanced" or None, default=None
        What multiplies C for each class.
    smallest_C : float or None, default=None
        Where the path starts; by default at its first breakpoint, below which
        :math:`\beta/C` is constant, so that every smaller C is known as well.
    largest_C : float or None, default=None
        Where it ends; by default where no breakpoint is left, beyond which every C is known as
        well, or where rounding takes over.
    max_breakpoints : int or None, default=None
        At most so many a machine.
    cache_size : float or None, default=None
        The megabytes that kernel matrices may take, half of the machine's memory by default. A
        path needs the whole matrix.

    Attributes
    ----------
    classes_ : array
        The classes.
    C_ : float
        The C of the machine that predicts.
    Cs_ : array of shape (n_breakpoints,)
        Where the path of some machine bends, in order, each once, as far as all of them go.
    leave_one_out_errors_ : array of shape (n_breakpoints,)
        The bound at each of them, on average over the machines. Errors count as rows do, by
        weight and class weight; of equal rows one is left out.
    paths_ : tuple of RegularizationPath
        The path of each machine.
    ending_ : tuple of str
        Why each path ends: "complete" if it goes on for ever as it is, "largest_C", "rounding",
        "max_breakpoints", "interrupted".
    kernel_ : Kernel
        The kernel bound to the scaled training rows.
    scaling_ : FeatureScaling
        The scaling of the training rows.
    reduction_ : Reduction
        Which classes are on the sides of each machine.
    X_fit_ : array
        The training rows; equal rows of a class are one that counts several times.
    support_, support_vectors_ : arrays
        The rows with a coefficient at `C_` in some machine. Equal rows share the first one's.
    dual_coef_ : array of shape (n_machines, n_support)
        Their signed coefficients :math:`\beta`.
    intercept_ : array of shape (n_machines,)
        The bias of each machine.
    n_iter_ : int
        The breakpoints of the machine that has most.
    mixed_table_ : MixedTable or None
        The categories of the columns of a table that is not of numbers alone.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    InfiniteEnsembleClassifier : The machine of one C, also where the matrix does not fit.
    InfiniteEnsembleClassifierCV : Chooses C, kernel and scaling by cross-validation.

    Notes
    -----
    The matrix of m distinct rows takes 8m² bytes, of float32 rows as well. A breakpoint costs
    O(me + e²) with e rows on the margin; there are as many as 0.2 to 3 times m. `at` costs
    O(m + n_breakpoints), a stage on n rows O(ne).

    The bound holds for a machine whose bias is held when a row is left out, and it grows with a
    constant added to the kernel: for kernels with large constants, such as "stump" on many
    columns, it says little. There choose by `score_path` on rows that were kept aside.

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

    solver = "exact"
    loss = "hinge"
    _places: IntArray  # of the rows of X_fit_ among the training's
    _sides: tuple[IntArray, ...]  # the rows of X_fit_ that each machine tells apart

    def __init__(
        self,
        kernel: str | Kernel = "gaussian",
        C: float | Literal["loo"] = "loo",
        scaling: ScalingKind | None = "range",
        multiclass: Multiclass = "one-vs-one",
        decision_function_shape: Shape = "ovr",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        smallest_C: float | None = None,
        largest_C: float | None = None,
        max_breakpoints: int | None = None,
        cache_size: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.C = C  # type: ignore[assignment]
        self.scaling = scaling
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.class_weight = class_weight
        self.smallest_C = smallest_C
        self.largest_C = largest_C
        self.max_breakpoints = max_breakpoints
        self.cache_size = cache_size

    @with_callbacks
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Follow the path, and choose C.

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

        Notes
        -----
        An interrupt leaves the paths as far as they have been followed, and is raised.
        """
        self._check_settings()
        rows, codes, counts, weight = self._read(X, y, sample_weight)
        self._refuse_absent_classes(codes, weight)
        self._places, counts, weight = distinct_rows(rows, codes, counts, weight)
        rows, codes = _double(rows[self._places]), codes[self._places]
        with Task.of_fit(self, self.reduction_.n_machines, X, y, sample_weight) as task:
            K = self._matrix(rows, counts)
            is_interrupted = self._follow(K, codes, weight, task)
            self.X_fit_ = rows
            self._compare_machines(K, counts)
            self._choose(is_interrupted)
            if is_interrupted:
                raise KeyboardInterrupt("paths_ holds what was reached; smallest_C=Cs_[-1] goes on")
        return self

    def _check_settings(self) -> None:
        check_shape(self.decision_function_shape, self.multiclass)
        asked: Any = self.C
        is_word = isinstance(asked, str) and asked == "loo"
        if not is_word:
            check_penalty("C", asked, "loo")
        low, high = self.smallest_C, self.largest_C
        check_ends(low, high)
        if not is_word and not (low or 0.0) <= float(asked) <= (high or np.inf):
            raise ValueError(
                f"C = {asked!r} is not on the path from smallest_C = {low!r} to largest_C = "
                f"{high!r}: move these, or give C='loo'"
            )
        if self.max_breakpoints is not None:
            check_count("max_breakpoints", self.max_breakpoints)

    def _refuse_absent_classes(self, codes: IntArray, weight: FloatArray) -> None:
        totals = np.bincount(codes, weight)
        if not totals.all():
            absent = self.classes_[totals == 0.0].tolist()
            raise ValueError(
                f"class {absent[0]!r} has no row of positive weight, by sample_weight or "
                "class_weight: leave its rows out, or let some count"
            )

    def _read_again(self, X: ArrayLike) -> Rows:
        return _double(super()._read_again(X))

    def _matrix(self, X: Rows, counts: FloatArray) -> FloatArray:
        """Bind the scaling and the kernel to distinct rows, and compare these."""
        self.solver_ = "exact"
        budget, n = Budget.of(self.cache_size), X.shape[0]
        budget.demand(
            8 * n * n,
            f"a path needs the whole {n} x {n} kernel matrix, which takes",
            "fit fewer rows, or one C by InfiniteEnsembleClassifier",
        )
        kernel, is_category = self._columns.kernel(self.kernel), self._columns.is_category
        kernel = kernel.full if kernel.is_conditional else kernel
        comparison = compare(X, counts, kernel, self.scaling, budget, is_category)
        self.scaling_, self.kernel_ = comparison.scaling, comparison.kernel
        assert isinstance(comparison.K, np.ndarray)
        return comparison.K

    def _follow(self, K: FloatArray, codes: IntArray, weight: FloatArray, task: Task) -> bool:
        """Follow the path of every machine; tell whether that was interrupted."""
        n_machines = self.reduction_.n_machines
        signs = [self.reduction_.signs(codes, machine) for machine in range(n_machines)]
        self._sides = tuple(map(np.flatnonzero, signs))

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

        paths, is_interrupted = solve_each(solve, n_machines, task, in_turn=False)
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

    def _compare_machines(self, K: FloatArray, counts: FloatArray) -> None:
        """Compute the bound wherever a path bends, as far as all paths go."""
        lows, highs = np.transpose([path.ends for path in self.paths_])
        Cs = np.unique(np.concatenate([path.Cs for path in self.paths_]))
        self.Cs_ = Cs[(Cs >= lows.max()) & (Cs <= highs.min())]
        errors = [
            path.leave_one_out_errors_at(_among(K, side), self.Cs_, counts[side])
            for path, side in zip(self.paths_, self._sides, strict=True)
        ]
        self.leave_one_out_errors_ = np.mean(errors, axis=0)

    def _choose(self, is_interrupted: bool) -> None:
        if isinstance(self.C, str):
            errors = self.leave_one_out_errors_
            self._go_to(float(self.Cs_[np.argmax(errors <= errors.min() + SAME)]))  # the first
        elif is_interrupted and self.Cs_[-1] < self.C:
            self._go_to(float(self.Cs_[-1]))
        else:
            self._go_to(float(self.C))

    def _go_to(self, C: float) -> None:
        """Predict by the machines of another C."""
        beta, bias = np.zeros((len(self.paths_), len(self._places))), np.zeros(len(self.paths_))
        for machine, (path, side) in enumerate(zip(self.paths_, self._sides, strict=True)):
            beta[machine, side], bias[machine] = path.at(C)
        used = np.flatnonzero(beta.any(axis=0))
        self.C_, self.intercept_ = C, bias
        self.support_ = self._places[used].astype(np.intp)
        self.support_vectors_, self.dual_coef_ = self.X_fit_[used], beta[:, used]

    def at(self, C: float) -> Self:
        """Return the machine of another C on the path, fitted; it shares the path with this one.

        C = inf, a hard margin, is on it if the classes are separated.
        """
        check_is_fitted(self, "paths_")
        check_penalty("C", C)
        other = copy(self)
        other.C = float(C)
        other._go_to(other.C)
        return other

    def staged_decision_function(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield what `decision_function` would return at each of `Cs_`.

        The kernel between all rows of X and those of the training is computed at once.
        """
        for values in self._staged_values(X):
            yield self._decisions(values)

    def staged_predict(self, X: ArrayLike) -> Iterator[Any]:
        """Yield what `predict` would return at each of `Cs_`."""
        for values in self._staged_values(X):
            yield self._winners(values)

    def score_path(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return `Cs_`, and the share of rows that are right at each of them.

        On rows that were kept aside it tells the best C, and is the curve of error against C.
        """
        scores = [
            float(accuracy_score(y, predicted, sample_weight=sample_weight))
            for predicted in self.staged_predict(X)
        ]
        return self.Cs_, np.array(scores)

    def _staged_values(self, X: ArrayLike) -> Iterator[FloatArray]:
        """Yield the value of every machine at every row, at each of `Cs_`."""
        check_is_fitted(self, "paths_")
        rows, known = self._read_again(X), self.X_fit_
        Budget.of(self.cache_size).demand(
            8 * rows.shape[0] * known.shape[0],
            f"the kernel matrix of {rows.shape[0]} rows and the training's takes",
            "give fewer rows at a time",
        )
        K = self.kernel_(self.scaling_.transform(known), self.scaling_.transform(rows))
        stages = [
            path.decisions_at(K[side].T, self.Cs_)
            for path, side in zip(self.paths_, self._sides, strict=True)
        ]
        for values in zip(*stages, strict=True):
            yield np.column_stack(values)

    @property
    def predict_proba(self) -> Any:
        """Not for this estimator: a margin is no probability."""
        raise AttributeError(
            "SVMPath tells no probabilities: calibrate it by scikit-learn's "
            "CalibratedClassifierCV(SVMPath()), or use InfiniteEnsembleClassifierCV"
        )

    predict_log_proba = predict_proba


def _double(X: Rows) -> Rows:
    """Return rows in double precision, which paths need."""
    return X.astype(np.float64, copy=False)


def _among(K: FloatArray, rows: IntArray) -> FloatArray:
    """Return the part of a matrix between some rows."""
    return K if len(rows) == len(K) else K[np.ix_(rows, rows)]

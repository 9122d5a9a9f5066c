"""Base classes of the infinite ensembles: validation, selection of a backend, attributes."""

import warnings
from abc import ABC
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kernsemble._arguments import (
    check_choice,
    check_count,
    check_flag,
    check_penalty,
    check_positive,
)
from kernsemble._jobs import within_n_jobs
from kernsemble._memory import Budget
from kernsemble._model_cards import CardMixin
from kernsemble._progress import CallbackSupportMixin, Task
from kernsemble._typing import Array, ArrayLike, FloatArray, Rows
from kernsemble._validation import as_table, checked_rows, checked_rows_and_targets, validated
from kernsemble.kernels import Kernel, as_kernel
from kernsemble.preprocessing import LearnedKind, ScalingKind
from kernsemble.preprocessing.supervised import accepts_categories, is_learned
from kernsemble.solvers import Status
from kernsemble.solvers.losses import LOSSES, LearningTask, Loss, default_loss, losses_for
from kernsemble.svm.backends import BACKENDS, cheapest_backend, check_solver
from kernsemble.svm.backends.base import (
    Backend,
    Machines,
    PreparedRows,
    SolverSettings,
    TrainingRows,
    Workload,
)
from kernsemble.svm.columns import Columns, MixedTable, has_missing, is_mixed, supports_missing
from kernsemble.svm.problem import Problem

ALLOW_NAN = {"ensure_all_finite": "allow-nan"}  # whether NaN is supported depends on the kernel
ACCEPTED = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), **ALLOW_NAN}


class ReadsTables(BaseEstimator):
    """An estimator that reads arrays, sparse matrices, and tables of numbers and categories."""

    mixed_table_: MixedTable | None
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # categories are accepted as columns of a DataFrame only, so `categorical` and `string` stay
        # False, as for scikit-learn's own estimators that read them from dtypes
        return tags

    @property
    def _columns(self) -> Columns:
        """The columns of the training rows."""
        return Columns.from_fitted(self)

    def _read_rows(self, X: ArrayLike, y: Any, **settings: Any) -> tuple[Rows, Any]:
        """Return checked rows and targets; categories become integer codes."""
        self.mixed_table_ = None
        if is_mixed(X):
            validated(self, X, skip_check_array=True)
            self.mixed_table_ = MixedTable.from_table(X)
            return checked_rows_and_targets(
                self.mixed_table_.transform(X), y, **ALLOW_NAN, **settings
            )
        return validated(self, X, y, **ACCEPTED, **settings)

    def _read_again(self, X: ArrayLike) -> Rows:
        """Return checked rows to predict."""
        if self.mixed_table_ is None:
            return validated(self, X, reset=False, **ACCEPTED)
        validated(self, X, reset=False, skip_check_array=True)
        if sparse.issparse(X):
            raise ValueError(
                "the model needs the table it was fitted to, and X is sparse: pass a DataFrame"
            )
        return checked_rows(self.mixed_table_.transform(as_table(X)), **ALLOW_NAN)

    def _forget(self) -> dict[str, Any]:
        """Remove the attributes of the last fit, and return them."""
        names = [name for name in vars(self) if name.endswith("_")]
        return {name: self.__dict__.pop(name) for name in names}


class KernelMachine(CardMixin, CallbackSupportMixin, ReadsTables, ABC):  # type: ignore[misc,valid-type]
    """A kernel machine, or several on the same rows."""

    _task: ClassVar[LearningTask]
    kernel: Any
    C: float | Literal["scale"]
    scaling: Any
    solver: str
    loss: str
    tol: float
    max_iter: int | None
    cache_size: float | None
    max_levels: int
    n_slices: int | None
    n_grids: int
    n_pairs: int | Literal["auto"]
    pairs: Sequence[tuple[Any, Any]] | None
    random_state: Any
    n_jobs: int | None
    verbose: int
    C_: float
    solver_: str
    loss_: str
    kernel_: Kernel
    machines_: Machines

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the attributes that `machines_` contains."""
        state = dict(super().__getstate__())
        machines = state.get("machines_")
        for name in () if machines is None else machines.attributes():
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "machines_" in state:
            self.__dict__.update(self.machines_.attributes())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._scales_categories or (
            self._allows_missing and all(map(supports_missing, self._requested_kernels()))
        )
        tags.input_tags.sparse = not any(map(is_learned, self._scalings()))
        return tags

    @contextmanager
    def _replace_last_fit(self) -> Iterator[Machines | None]:
        """Remove the attributes of the last fit, and restore them if no machine is fitted."""
        last = self._forget()
        try:
            yield last.get("machines_")
        except BaseException:
            if "machines_" not in vars(self):
                self._forget()
                self.__dict__.update(last)
            raise

    @property
    def _allows_missing(self) -> bool:
        """Whether the solver can treat missing values with the requested kernels."""
        if self.solver not in BACKENDS:
            return True
        try:
            kernels = list(map(as_kernel, self._requested_kernels()))
        except (TypeError, ValueError):  # nothing that can be fitted
            return False
        return BACKENDS[self.solver].supports_missing(kernels)

    def _check_settings(self) -> None:
        check_choice("loss", self.loss, ("auto", *losses_for(self._task)))
        check_solver(self.solver, LOSSES[self._loss_for(self.solver)])
        for each in self._scalings():
            if each is not None:
                check_choice("scaling", each, (*get_args(ScalingKind), *get_args(LearnedKind)))
        check_count("max_levels", self.max_levels, 2)
        if self.n_slices is not None:
            check_count("n_slices", self.n_slices)
        check_count("n_grids", self.n_grids)
        if self.n_pairs != "auto":
            check_count("n_pairs", self.n_pairs, 0)
        if self._wants_pairs and self.solver in BACKENDS:
            able = [each.name for each in BACKENDS.values() if each.supports_pairs]
            if self.solver not in able:
                raise ValueError(
                    f"solver = {self.solver!r} does not support pairs of columns: use n_pairs=0 "
                    f"and pairs=None, or solver={able[0]!r}"
                )
        check_positive("tol", self.tol)
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter)

    @property
    def _wants_pairs(self) -> bool:
        """Whether pairs of columns are to have a function of their own."""
        return self.n_pairs != 0 or bool(self.pairs)

    def _loss_for(self, solver: str) -> str:
        """Return the loss; "auto" is the smooth default, or another that the solver supports."""
        if self.loss != "auto":
            return self.loss
        bounded, smooth = (default_loss(self._task, is_bounded) for is_bounded in (True, False))
        backend = BACKENDS.get(solver)
        if backend is None or backend.supports_any_kernel:
            return bounded
        names = (smooth, bounded, *losses_for(self._task))
        return next((name for name in names if backend.supports(LOSSES[name])), bounded)

    @property
    def _loss(self) -> type[Loss]:
        """The loss of this fit."""
        return LOSSES[self.loss_]

    def _requested_kernels(self) -> list[str | Kernel]:
        """Return the kernels to fit, or to select from."""
        return as_list(self.kernel)

    def _scalings(self) -> list[Any]:
        """Return the scalings to fit, or to select from."""
        return as_list(self.scaling)

    @property
    def _scales_categories(self) -> bool:
        """Whether every scaling makes numbers of categories and missing values."""
        return all(map(accepts_categories, self._scalings()))

    def _unbound_kernels(self) -> list[Kernel]:
        """Return the kernels on the columns of the training rows."""
        scaling = self._scalings()[0] if self._scales_categories else None
        return [self._kernel_on_columns(each, scaling) for each in self._requested_kernels()]

    def _kernel_on_columns(self, kernel: str | Kernel, scaling: Any) -> Kernel:
        """Return a kernel on the columns of the training rows, on their scale."""
        columns = self._columns
        if accepts_categories(scaling):
            columns = replace(columns, is_category=np.zeros_like(columns.is_category))
        return columns.kernel(kernel)

    def _read_training_rows(self, X: ArrayLike, y: Any, **settings: Any) -> tuple[Rows, Any]:
        """Return checked rows, in which every missing value has a hypothesis, and targets."""
        rows, y = self._read_rows(X, y, **settings)
        if self._scales_categories:
            return rows, y
        kernels = self._unbound_kernels()
        return self._columns.handle_missing(rows, kernels, self.solver, self._allows_missing), y

    @property
    def _merges_equal_rows(self) -> bool:
        """Whether equal rows are merged; not where they may be in different folds."""
        return True

    def _merged(self, X: Rows, weight: FloatArray, labels: Array, *others: Array) -> Any:
        """Return weighted rows, their labels and other values of them.

        Equal rows of equal label become one, so that a weight and repetitions are the same problem.
        """
        rows = TrainingRows(X, weight, self._columns.is_category)
        if self._merges_equal_rows:
            rows = rows.distinct(labels)
        if rows.merged is None:
            return rows, labels, *others
        return rows, *(each[rows.places] for each in (labels, *others))

    def _choose_backend(self, rows: TrainingRows) -> Backend:
        """Return the backend of the solver, the cheapest one for "auto"; store it by name."""
        self.solver_ = self.solver
        if self.solver == "auto":
            self.solver_ = cheapest_backend(self._workload(rows)).name
        self.loss_ = self._loss_for(self.solver_)
        return BACKENDS[self.solver_]

    def _workload(self, rows: TrainingRows) -> Workload:
        return Workload(
            rows,
            self._unbound_kernels(),
            LOSSES[self._loss_for("auto")],
            has_missing=has_missing(rows.X) and not self._scales_categories,
            is_mixed=self.mixed_table_ is not None and not self._scales_categories,
            is_hard_margin=self._is_hard_margin,
            has_learned_scaling=any(map(is_learned, self._scalings())),
            has_pairs=self._wants_pairs,
        )

    @property
    def _is_hard_margin(self) -> bool:
        requested = getattr(self, "C", None)
        return isinstance(requested, (int, float)) and bool(np.isinf(requested))

    @property
    def _budget(self) -> Budget:
        return Budget.from_megabytes(self.cache_size)

    def _solver_settings(self, backend: Backend) -> SolverSettings:
        warm_start = getattr(self, "warm_start", False)
        check_flag("warm_start", warm_start)
        return SolverSettings(
            tol=self.tol,
            max_iter=backend.default_max_iter if self.max_iter is None else self.max_iter,
            budget=self._budget,
            warm_start=bool(warm_start),
            max_levels=self.max_levels,
            n_slices=self.n_slices,
            n_grids=self.n_grids,
            n_pairs=self.n_pairs,
            pairs=self._columns.pairs(self.pairs) if self.pairs else (),
            random_state=self.random_state,
        )

    def _penalty(self, prepared: PreparedRows, unit: float = 1.0) -> float:
        """Return C as a number, in the given unit for "scale"."""
        requested: Any = self.C
        if isinstance(requested, str) and requested == "scale":
            return unit * prepared.inverse_mean_distance()
        check_penalty("C", requested, "scale")
        return float(requested)

    def _fit_machines(
        self,
        prepared: PreparedRows,
        problems: Sequence[Problem],
        settings: SolverSettings,
        last: Machines | None,
        task: Task,
    ) -> None:
        """Solve all problems at `C_`, and store the machines.

        An interrupt stops all machines, and the point they have reached is stored.
        """
        self.scaling_, self.kernel_ = prepared.scaling, prepared.kernel
        solved = prepared.solve(problems, self.C_, settings, last, task)
        self.machines_ = solved.machines
        self.intercept_ = solved.intercept
        self.objective_ = solved.objective
        self.duality_gap_ = solved.duality_gap
        self.n_iter_ = solved.n_iter
        for name, value in solved.machines.attributes().items():
            setattr(self, name, value)
        if Status.STOPPED in solved.statuses:
            warnings.warn(
                f"max_iter = {settings.max_iter} was reached at {solved.shortfall}, "
                f"tol = {self.tol}: {Status.STOPPED.value}",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif Status.ROUNDED in solved.statuses:
            warnings.warn(
                f"{solved.shortfall} was reached, tol = {self.tol}: {Status.ROUNDED.value}",
                ConvergenceWarning,
                stacklevel=3,
            )
        if solved.is_interrupted:
            raise KeyboardInterrupt(Status.INTERRUPTED.value)

    @within_n_jobs
    def _values(self, X: ArrayLike) -> FloatArray:
        """Return the value of every machine (columns) at every row."""
        check_is_fitted(self, "machines_")
        return self.machines_.values(self._read_again(X), self._budget)

    def _read_again(self, X: ArrayLike) -> Rows:
        rows, is_supported = super()._read_again(X), self.machines_.supports_missing
        if sparse.issparse(rows) and any(map(is_learned, self._scalings())):
            raise ValueError(
                "a learned scaling needs dense rows, and X is sparse: pass X.toarray()"
            )
        if self.machines_.scales_categories:
            return rows
        return self._columns.handle_missing(rows, self._fitted_kernels, self.solver_, is_supported)

    @property
    def _fitted_kernels(self) -> list[Kernel]:
        """The bound kernels that rows to predict are compared by."""
        return [self.kernel_]


def as_list(values: Any) -> list[Any]:
    """Return the values of a setting as a list; a single value becomes a list of one."""
    return list(values) if isinstance(values, (list, tuple)) else [values]

"""What machines for classes and for numbers share: how they are solved, kept and asked."""

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_X_y
from sklearn.utils.validation import check_is_fitted, validate_data

from kernsemble._arguments import check_count, check_penalty, check_positive
from kernsemble._progress import CallbackSupportMixin, Task
from kernsemble._typing import FloatArray, Rows
from kernsemble._validation import as_table
from kernsemble.preprocessing import ScalingKind
from kernsemble.solvers import Solution, Status, solve_dual
from kernsemble.solvers.folds import bounds_at
from kernsemble.solvers.interrupts import Watch
from kernsemble.solvers.matrix import Matrix, RowsOnDemand, as_matrix
from kernsemble.svm.additive_machine import AdditiveMachine, dense_rows
from kernsemble.svm.comparison import Comparison, compare
from kernsemble.svm.expansion import expansion_values
from kernsemble.svm.losses import check_solver
from kernsemble.svm.memory import Budget
from kernsemble.svm.mixed import MixedTable, is_mixed
from kernsemble.svm.problem import Problem
from kernsemble.svm.solving import solve_each
from kernsemble.svm.tabulation import Tabulation

MISSING_TOO = {"ensure_all_finite": "allow-nan"}  # what may be missing is up to the kernel
ACCEPTED = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), **MISSING_TOO}

OF_MATRICES = ("support_", "support_vectors_", "dual_coef_", "_n_rows")  # what a fit leaves
OF_TABLES = ("tables_", "sampling_error_", "_last")


class Machine(CallbackSupportMixin, AdditiveMachine):  # type: ignore[misc,valid-type]
    """A support vector machine, or several on the same rows."""

    C: float | Literal["scale"]
    scaling: ScalingKind | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_missing
        return tags

    def _check_settings(self) -> None:
        check_solver(self.solver, self.loss, is_classifier(self))
        self._check_tables()
        check_positive("tol", self.tol)
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter)

    def _read_rows(self, X: ArrayLike, y: ArrayLike, **settings: Any) -> tuple[Rows, Any]:
        """Return checked rows and targets; a mixed table of numbers and categories as numbers."""
        self.mixed_table_ = None
        if is_mixed(X):
            validate_data(self, X, skip_check_array=True)
            self.mixed_table_ = MixedTable.of(X)
            rows, y = check_X_y(self.mixed_table_.transform(X), y, **MISSING_TOO, **settings)
        else:
            rows, y = validate_data(self, X, y, **ACCEPTED, **settings)
        return self._columns.with_missing(rows, self._unbound_kernels(), self.solver), y

    def _read_again(self, X: ArrayLike) -> Rows:
        """Return checked rows to tell the values of."""
        if self.mixed_table_ is None:
            rows = validate_data(self, X, reset=False, **ACCEPTED)
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
            rows = check_array(self.mixed_table_.transform(as_table(X)), **MISSING_TOO)
        return self._columns.with_missing(rows, [self.kernel_], self.solver_)

    def _compare_rows(self, X: Rows, counts: FloatArray) -> Comparison | Tabulation:
        """Compare rows as the solver that suits them needs it."""
        self.solver_ = self._choose_solver(X)
        kernel = self._columns.kernel(self.kernel)
        if self.solver_ == "additive":
            return Tabulation.of(self._sample(X, counts), kernel, self.scaling)
        budget, is_category = Budget.of(self.cache_size), self._columns.is_category
        return compare(X, counts, kernel, self.scaling, budget, is_category)

    def _penalty(
        self, comparison: Comparison | Tabulation, counts: FloatArray, unit: float = 1.0
    ) -> float:
        """Return the number that C stands for, where targets have that unit."""
        asked: Any = self.C
        if isinstance(asked, str) and asked == "scale":
            return unit * comparison.inverse_mean_distance(counts)
        check_penalty("C", asked, "scale")
        return float(asked)

    def _fit_machines(
        self,
        X: Rows,
        comparison: Comparison | Tabulation,
        problems: list[Problem],
        task: Task,
    ) -> None:
        """Solve all problems, from where the last fit ended if it is to go on, and keep it.

        An interrupt ends all machines where they are, and what they had reached is kept.
        """
        self.scaling_, self.kernel_ = comparison.scaling, comparison.kernel
        is_tabulated = isinstance(comparison, Tabulation)
        for name in OF_MATRICES if is_tabulated else OF_TABLES:  # of the last fit
            self.__dict__.pop(name, None)
        if isinstance(comparison, Tabulation):
            self._fit_tables(comparison, problems, task)
        else:
            self._fit_matrix(X, comparison, problems, task)

    def _fit_matrix(
        self, X: Rows, comparison: Comparison, problems: list[Problem], task: Task
    ) -> None:
        matrix, before = as_matrix(comparison.K), self._before(len(problems), X.shape[0])
        beta = np.zeros((len(problems), X.shape[0]))

        def solve(place: int, watch: Watch) -> Solution:
            rows = problems[place].rows
            part = matrix if len(rows) == len(beta.T) else matrix.among(rows)
            last = None if before is None else before[place, rows]
            solution = self._solve(part, problems[place].among(rows), last, watch)
            beta[place, rows] = solution.beta
            return solution

        in_turn = isinstance(matrix, RowsOnDemand)  # whose rows are computed by all threads
        solutions, is_interrupted = solve_each(solve, len(problems), task, in_turn)
        self._store(X, beta, solutions)
        if is_interrupted:
            raise KeyboardInterrupt(Status.INTERRUPTED.value)

    def _solve(
        self,
        matrix: Matrix,
        problem: Problem,
        before: FloatArray | None,
        watch: Watch,
    ) -> Solution:
        """Return the solution of a problem, from coefficients on if there are any."""
        C = self.C_ / problem.scale.spread
        lower, upper = bounds_at(C, problem.low), bounds_at(C, problem.high)
        start = None if before is None else before / problem.scale.spread
        found = solve_dual(
            matrix,
            problem.p,
            lower,
            upper,
            epsilon=problem.epsilon,
            tol=self.tol,
            max_iter=self.max_iter,
            start=None if start is None else _start(start, matrix, problem.p, lower, upper),
            watch=watch,
        )
        return problem.scale.solution(found)

    def _store(self, X: Rows, beta: FloatArray, solutions: list[Solution]) -> None:
        """Keep what the solutions say, a row of `beta` for each, and tell how they ended."""
        statuses = {each.status for each in solutions}
        if Status.UNBOUNDED in statuses:
            self.__dict__.pop("support_", None)  # no machine is left
            raise ValueError(f"C = {self.C_}: {Status.UNBOUNDED.value}")
        self.support_ = np.flatnonzero(beta.any(axis=0))
        self.support_vectors_ = X[self.support_]
        self.dual_coef_ = beta[:, self.support_]
        self.intercept_ = np.array([each.bias for each in solutions])
        self.n_iter_ = max(max(each.n_iter for each in solutions), 1)
        self.objective_ = np.array([each.objective for each in solutions])
        self.duality_gap_ = np.array([each.gap for each in solutions])
        self._n_rows = X.shape[0]
        if Status.STOPPED in statuses:
            violation = max(each.violation for each in solutions)
            warnings.warn(
                f"max_iter = {self.max_iter} was reached at violation {violation:.2g}, "
                f"tol = {self.tol}: {Status.STOPPED.value}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _values(self, X: ArrayLike) -> FloatArray:
        """Return the value of every machine at every row."""
        check_is_fitted(self, ["support_", "tables_"], all_or_any=any)
        rows = self._read_again(X)
        if self.solver_ == "additive":
            return self.tables_.values(dense_rows(rows, Budget.of(self.cache_size)))
        known = self.kernel_, self.scaling_, self.support_vectors_
        return expansion_values(rows, *known, self.dual_coef_) + self.intercept_

    def _before(self, n_machines: int, n_rows: int) -> FloatArray | None:
        """Return the coefficients of the last fit, None where this one starts anew."""
        if not self.warm_start or getattr(self, "_n_rows", None) != n_rows:
            return None
        if len(self.dual_coef_) != n_machines:
            return None
        beta = np.zeros((n_machines, n_rows))
        beta[:, self.support_] = self.dual_coef_
        return beta


def _start(
    beta: FloatArray, matrix: Matrix, p: FloatArray, lower: FloatArray, upper: FloatArray
) -> Solution | None:
    """Return coefficients as a start, unless the bounds or the sum no longer allow them."""
    within = np.clip(beta, lower, upper)
    slack = 1e-9 * max(float(np.abs(beta).sum()), 1.0)
    if np.abs(within - beta).max() > slack or abs(within.sum()) > slack:
        return None
    return Solution.to_start_from(within, p - matrix.times(np.flatnonzero(within), within))

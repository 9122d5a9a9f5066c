"""What machines for classes and for numbers share: how they are solved, kept and asked."""

import warnings
from numbers import Real
from threading import Event
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from kernsemble._arguments import check_count, check_positive
from kernsemble._threads import run
from kernsemble._typing import FloatArray, Rows
from kernsemble.kernels import Kernel
from kernsemble.solvers import Solution, Status, solve_dual
from kernsemble.solvers.folds import bounds_at
from kernsemble.solvers.matrix import Matrix, RowsOnDemand, as_matrix
from kernsemble.solvers.smo import Watch
from kernsemble.svm.comparison import Comparison
from kernsemble.svm.problem import Problem
from kernsemble.svm.progress import CallbackSupportMixin, Task
from kernsemble.svm.scaling import Kind

NUMBERS_AT_ONCE = 20_000_000  # of the matrix between rows that are asked of and those known


class Machine(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc,valid-type]
    """A support vector machine, or several on the same rows."""

    kernel: str | Kernel
    C: float | Literal["scale"]
    scaling: Kind | None
    tol: float
    max_iter: int | None
    cache_size: float | None
    warm_start: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_settings(self) -> None:
        check_positive("tol", self.tol)
        if self.max_iter is not None:
            check_count("max_iter", self.max_iter)

    def _penalty(self, K: FloatArray | Matrix, counts: FloatArray, spread: float = 1.0) -> float:
        """Return the number that C stands for, where targets have that spread."""
        asked: Any = self.C
        if isinstance(asked, str) and asked == "scale":
            return spread * inverse_mean_distance(as_matrix(K), counts)
        if not isinstance(asked, Real) or not float(asked) > 0.0:
            raise ValueError(f"C = {asked!r}: give a positive number, np.inf or 'scale'")
        return float(asked)

    def _fit_machines(
        self, X: Rows, comparison: Comparison, problems: list[Problem], task: Task
    ) -> None:
        """Solve all problems, from where the last fit ended if it is to go on, and keep it.

        An interrupt ends all machines where they are, and what they had reached is kept.
        """
        self.scaling_, self.kernel_ = comparison.scaling, comparison.kernel
        matrix, before = as_matrix(comparison.K), self._before(len(problems), X.shape[0])
        beta = np.zeros((len(problems), X.shape[0]))
        found: dict[int, Solution] = {}
        stop = Event()

        def watch(n_iter: int, violation: float) -> None:  # noqa: ARG001
            if stop.is_set():
                raise KeyboardInterrupt

        def solve(place: int) -> None:
            rows = problems[place].rows
            part = matrix if len(rows) == len(beta.T) else matrix.among(rows)
            last = None if before is None else before[place, rows]
            solution = self._solve(part, problems[place].among(rows), last, watch)
            beta[place, rows], found[place] = solution.beta, solution
            if solution.status is Status.INTERRUPTED:
                stop.set()

        def work(place: int) -> None:
            with task.part("machine", place):
                solve(place)

        places = range(len(problems))
        try:
            if isinstance(matrix, RowsOnDemand):  # computed by all threads
                for place in places:
                    work(place)
            else:
                run(work, places, on_error=stop.set, fewest=2)
        except KeyboardInterrupt:
            stop.set()
            for place in places:
                if place not in found:
                    solve(place)
        self._store(X, beta, [found[place] for place in places])
        if stop.is_set():
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
        check_is_fitted(self, "support_")
        rows = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False
        )
        if len(self.support_) == 0:
            return np.tile(self.intercept_, (rows.shape[0], 1))
        known = self.scaling_.transform(self.support_vectors_)
        height = max(NUMBERS_AT_ONCE // len(self.support_), 1)
        values = np.empty((rows.shape[0], len(self.intercept_)))
        for start in range(0, rows.shape[0], height):
            span = slice(start, start + height)
            K = self.kernel_(self.scaling_.transform(rows[span]), known)
            values[span] = K @ self.dual_coef_.T + self.intercept_
        return values

    def _before(self, n_machines: int, n_rows: int) -> FloatArray | None:
        """Return the coefficients of the last fit, None where this one starts anew."""
        if not self.warm_start or getattr(self, "_n_rows", None) != n_rows:
            return None
        if len(self.dual_coef_) != n_machines:
            return None
        beta = np.zeros((n_machines, n_rows))
        beta[:, self.support_] = self.dual_coef_
        return beta


def inverse_mean_distance(matrix: Matrix, weight: FloatArray) -> float:
    """Return 1 over the mean of (K_ii + K_jj)/2 − K_ij, rows counted by weight."""
    share = weight / weight.sum()
    values = matrix.times(np.arange(len(share)), share)
    distance = float(share @ (matrix.diagonal - values))
    return 1.0 / distance if distance > 0.0 else 1.0


def _start(
    beta: FloatArray, matrix: Matrix, p: FloatArray, lower: FloatArray, upper: FloatArray
) -> Solution | None:
    """Return coefficients as a start, unless the bounds or the sum no longer allow them."""
    within = np.clip(beta, lower, upper)
    slack = 1e-9 * max(float(np.abs(beta).sum()), 1.0)
    if np.abs(within - beta).max() > slack or abs(within.sum()) > slack:
        return None
    return Solution.to_start_from(within, p - matrix.times(np.flatnonzero(within), within))

"""A kernel matrix between the training rows, and the machines that are fitted on it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernsemble._memory import Budget
from kernsemble._progress import Task
from kernsemble._threads import blocks, n_threads
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.exceptions import GramTooLargeError
from kernsemble.kernels import Kernel
from kernsemble.kernels.columns import leaves
from kernsemble.kernels.gram import finite_values
from kernsemble.preprocessing import AnyScaling
from kernsemble.solvers import Fold, Solution, Status, solve_dual, solve_folds
from kernsemble.solvers.cholesky import HOST, LinearAlgebra
from kernsemble.solvers.folds import bounds_at
from kernsemble.solvers.interrupts import Watch
from kernsemble.solvers.kernel_matrix import Matrix, PartialMatrix, as_matrix
from kernsemble.solvers.losses import Kinked, Loss, Squared
from kernsemble.solvers.ridge import NotDefiniteError
from kernsemble.svm.backends.base import (
    Machines,
    PreparedRows,
    Solved,
    SolverSettings,
    TrainingRows,
    inverse_or_one,
    longest_run,
    solve_each,
)
from kernsemble.svm.backends.least_squares import (
    least_squares_folds,
    solve_least_squares,
    solve_least_squares_and_fold,
)
from kernsemble.svm.problem import Problem

MAX_KERNEL_ENTRIES = 20_000_000  # maximum number of kernel values computed at a time for new rows


@dataclass(frozen=True, eq=False, repr=False)
class SupportVectorMachines(Machines):
    r"""Machines :math:`f_k(x) = \sum_j \beta_{kj} K(x_j, x) + b_k` on common support vectors."""

    kernel: Kernel
    scaling: AnyScaling
    support: IntArray  # among the rows as given
    support_vectors: Rows
    coefficients: FloatArray  # (n_machines, n_support)
    intercept: FloatArray
    n_training_rows: int
    coordinates: Rows | None = None  # scaled support vectors, if not by `scaling`: cross-fitted

    @property
    def supports_missing(self) -> bool:
        return self.scaling.accepts_categories or accepts_missing(self.kernel)

    @property
    def scales_categories(self) -> bool:
        return self.scaling.accepts_categories

    @property
    def scaled_support(self) -> Rows:
        """The support vectors as the kernel sees them."""
        if self.coordinates is not None:
            return self.coordinates
        return self.scaling.transform(self.support_vectors)

    def values(self, X: Rows, budget: Budget) -> FloatArray:
        known = self.kernel, self.scaling, self.scaled_support
        most = min(MAX_KERNEL_ENTRIES, int(budget.n_bytes / 8))
        return values_at(X, *known, self.coefficients, most) + self.intercept

    def attributes(self) -> dict[str, Any]:
        return {
            "support_": self.support,
            "support_vectors_": self.support_vectors,
            "dual_coef_": self.coefficients,
        }

    def on_training_rows(self) -> FloatArray:
        """Return the coefficients of every machine (rows) on all training rows."""
        beta = np.zeros((len(self.coefficients), self.n_training_rows))
        beta[:, self.support] = self.coefficients
        return beta


@dataclass(frozen=True, eq=False)
class PreparedMatrix(PreparedRows):
    """A scaling and a kernel bound to the rows, and the kernel matrix between them."""

    scaling: AnyScaling
    kernel: Kernel
    rows: TrainingRows
    K: FloatArray | Matrix
    spare: float = np.inf  # bytes for copies and factors beside the matrix
    coordinates: Rows | None = None  # of the rows, if `scaling` does not return them

    @property
    def algebra(self) -> LinearAlgebra:
        """What factors the matrix, in whose memory it is."""
        return HOST

    def expansions(self, X: Rows, beta: FloatArray) -> FloatArray:
        """Return the kernel between scaled rows and the training rows, times `beta`."""
        assert self.coordinates is not None
        K = self.kernel(X, self.coordinates)
        return K @ beta.astype(K.dtype)

    def inverse_mean_distance(self) -> float:
        matrix, share = as_matrix(self.K), self.rows.weight / self.rows.weight.sum()
        values = matrix.times(np.arange(len(share)), share)
        return inverse_or_one(float(share @ (matrix.diagonal - values)))

    def solve(
        self,
        problems: Sequence[Problem],
        C: float,
        settings: SolverSettings,
        last: Machines | None,
        task: Task,
    ) -> Solved:
        if are_squared(problems):
            return self._solve_least_squares(problems, C, settings, task)
        matrix, n = as_matrix(self.K), self.rows.n_rows
        start = _coefficients_of(last, len(problems), self.rows) if settings.warm_start else None
        beta = np.zeros((len(problems), n))
        in_turn = isinstance(matrix, PartialMatrix)  # whose rows are computed by all threads
        share = self.spare / (1 if in_turn else max(min(n_threads(), len(problems)), 1))

        def solve(place: int, watch: Watch) -> Solution:
            rows, part, left = problems[place].rows, matrix, share
            if in_turn or len(rows) == n:
                part = part if len(rows) == n else part.among(rows)
            elif copied_bytes(self.K, rows) <= left:
                part, left = matrix.among(rows), left - copied_bytes(self.K, rows)
            else:
                rows = np.arange(n)  # the others are absent, since their bounds are zero
            first = None if start is None else start[place, rows]
            problem = problems[place].among(rows)
            solution = _solve(part, problem, C, settings, first, watch, left)
            beta[place, rows] = solution.beta
            return solution

        solutions, is_interrupted = solve_each(solve, len(problems), task, in_turn)
        if any(each.status is Status.UNBOUNDED for each in solutions):
            raise ValueError(f"C = {C}: {Status.UNBOUNDED.value}")
        return self._solved(beta, solutions, is_interrupted)

    def _solve_least_squares(
        self,
        problems: Sequence[Problem],
        C: float,
        settings: SolverSettings,  # noqa: ARG002
        task: Task,
    ) -> Solved:
        found = solve_least_squares(self._whole(), problems, C, self.algebra)
        return self._with_evidence(found, task)

    def _with_evidence(self, found: Sequence[tuple[IntArray, Solution]], task: Task) -> Solved:
        """Return the machines of least squares solutions on some rows each."""
        beta, solutions = np.zeros((len(found), self.rows.n_rows)), []
        for place, (rows, solution) in enumerate(found):
            beta[place, rows] = solution.beta
            solutions.append(solution)
            task.note("machine")
        return self._solved(beta, solutions, is_interrupted=False)

    def _whole(self) -> FloatArray:
        """Return the matrix, if it is in memory and a factor fits beside it."""
        if isinstance(self.K, np.ndarray) and self.K.nbytes <= self.spare:
            return self.K
        n = self.rows.n_rows
        raise GramTooLargeError(
            f"loss = 'squared' needs two {n:,} x {n:,} matrices in memory, which cache_size does "
            "not allow: raise cache_size, fit fewer rows, or use another loss"
        )

    def _solved(self, beta: FloatArray, solutions: list[Solution], is_interrupted: bool) -> Solved:
        intercept = np.array([each.bias for each in solutions])
        return Solved(
            self._machines(beta, intercept),
            intercept,
            objective=np.array([each.objective for each in solutions]),
            duality_gap=np.array([each.gap for each in solutions]),
            n_iter=longest_run(solutions),
            statuses=tuple(each.status for each in solutions),
            is_interrupted=is_interrupted,
            shortfall=f"violation {max(each.violation for each in solutions):.2g}",
        )

    def _machines(self, beta: FloatArray, intercept: FloatArray) -> SupportVectorMachines:
        """Return the machines of coefficients (rows) and biases."""
        support = np.flatnonzero(beta.any(axis=0))
        return SupportVectorMachines(
            self.kernel,
            self.scaling,
            self.rows.places[support],
            self.rows.X[support],
            beta[:, support],
            intercept,
            self.rows.n_given,
            None if self.coordinates is None else self.coordinates[support],
        )

    def solve_folds(
        self,
        problem: Problem,
        Cs: Sequence[float],
        held_out: Sequence[IntArray],
        settings: SolverSettings,
        on_solved: Callable[[], None],
    ) -> list[Fold]:
        if are_squared([problem]):
            (folds,) = self._least_squares_folds([problem], Cs, held_out, settings)
            for _ in range(len(Cs) * len(folds)):
                on_solved()
            return folds
        loss = _bounded(problem.loss)
        return solve_folds(
            self.K,
            loss.p,
            loss.lower,
            loss.upper,
            Cs,
            held_out,
            epsilon=loss.epsilon,
            tol=settings.tol,
            max_iter=settings.max_iter,
            on_solved=on_solved,
            spare=self.spare,
        )

    def solve_all_folds(
        self,
        problems: Sequence[Problem],
        Cs: Sequence[float],
        held_out: Sequence[IntArray],
        settings: SolverSettings,
        task: Task,
    ) -> list[list[Fold]]:
        if not are_squared(problems):
            return super().solve_all_folds(problems, Cs, held_out, settings, task)
        found = self._least_squares_folds(problems, Cs, held_out, settings)
        for _ in problems:
            task.note("machine")
        return found

    def _least_squares_folds(
        self,
        problems: Sequence[Problem],
        Cs: Sequence[float],
        held_out: Sequence[IntArray],
        settings: SolverSettings,  # noqa: ARG002
    ) -> list[list[Fold]]:
        return least_squares_folds(self._whole(), problems, Cs, held_out, self.algebra)

    def solve_with_fold(
        self, problems: Sequence[Problem], C: float, held_out: IntArray, task: Task
    ) -> tuple[Solved, list[Fold]] | None:
        if not are_squared(problems):
            return None
        try:
            found = solve_least_squares_and_fold(self._whole(), problems, C, held_out, self.algebra)
        except NotDefiniteError:  # where the matrix of fewer rows may be
            return None
        return None if found is None else (self._with_evidence(found[0], task), found[1])


def accepts_missing(kernel: Kernel) -> bool:
    """Return whether every part of a kernel compares rows with missing values."""
    return all(leaf.kernel.accepts_missing for leaf in leaves(kernel))


def copied_bytes(K: FloatArray | Matrix, rows: IntArray) -> float:
    """Return the bytes of a copy of the matrix between some rows."""
    return float(len(rows)) ** 2 * (K.itemsize if isinstance(K, np.ndarray) else 8)


def expansion_values(
    X: Rows,
    kernel: Kernel,
    scaling: AnyScaling,
    support_vectors: Rows,
    coefficients: FloatArray,
    max_entries: int = MAX_KERNEL_ENTRIES,
) -> FloatArray:
    """Return the value of each kernel expansion (columns) at each row, by blocks of rows."""
    known = scaling.transform(support_vectors)
    return values_at(X, kernel, scaling, known, coefficients, max_entries)


def values_at(
    X: Rows,
    kernel: Kernel,
    scaling: AnyScaling,
    known: Rows,
    coefficients: FloatArray,
    max_entries: int = MAX_KERNEL_ENTRIES,
) -> FloatArray:
    """Return the value of each expansion in scaled rows (columns) at each row, by blocks."""
    values = np.zeros((X.shape[0], len(coefficients)))
    if known.shape[0] == 0:
        return values
    for span in blocks(X.shape[0], max(max_entries // known.shape[0], 1)):
        values[span] = finite_values(
            lambda few: kernel(scaling.transform(few), known) @ coefficients.T,
            X[span],
            name="the decision function",
        )
    return values


def are_squared(problems: Sequence[Problem]) -> bool:
    """Return whether all problems have the squared loss."""
    return all(isinstance(problem.loss, Squared) for problem in problems)


def _bounded(loss: Loss) -> Kinked:
    assert isinstance(loss, Kinked)  # as `MatrixBackend.supports` demands
    return loss


def _coefficients_of(
    last: Machines | None, n_machines: int, rows: TrainingRows
) -> FloatArray | None:
    """Return the coefficients of the last fit on all rows, None if they do not suit this one."""
    if not isinstance(last, SupportVectorMachines) or last.n_training_rows != rows.n_given:
        return None
    if len(last.coefficients) != n_machines:
        return None
    return last.on_training_rows()[:, rows.places]


def _solve(
    matrix: Matrix,
    problem: Problem,
    C: float,
    settings: SolverSettings,
    first: FloatArray | None,
    watch: Watch,
    spare: float,
) -> Solution:
    """Return the solution of a problem, from given coefficients if there are any."""
    loss, strength = _bounded(problem.loss), C / problem.penalty_unit
    lower, upper = bounds_at(strength, loss.lower), bounds_at(strength, loss.upper)
    start = None if first is None else first / problem.scale.spread
    found = solve_dual(
        matrix,
        loss.p,
        lower,
        upper,
        epsilon=loss.epsilon,
        tol=settings.tol,
        max_iter=settings.max_iter,
        start=None if start is None else _start(start, matrix, loss.p, lower, upper),
        watch=watch,
        spare=spare,
    )
    return problem.scale.restore_solution(found)


def _start(
    beta: FloatArray, matrix: Matrix, p: FloatArray, lower: FloatArray, upper: FloatArray
) -> Solution | None:
    """Return coefficients as a start, unless they violate the bounds or their sum is not zero."""
    within = np.clip(beta, lower, upper)
    slack = 1e-9 * max(float(np.abs(beta).sum()), 1.0)
    if np.abs(within - beta).max() > slack or abs(within.sum()) > slack:
        return None
    return Solution.to_start_from(within, p - matrix.times(np.flatnonzero(within), within))

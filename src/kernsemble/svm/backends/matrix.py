r"""The exact backend: the kernel matrix between all rows, and support vectors.

The matrix takes :math:`O(n^2)` memory and :math:`O(n^2 D)` time; any kernel has one. If it does
not fit into the memory budget, its rows are computed on demand.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from kernsemble._memory import Budget
from kernsemble._progress import Task
from kernsemble._threads import blocks, n_threads
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.exceptions import GramTooLargeError, RowsOnDemandWarning, warn_caller
from kernsemble.kernels import Boosted, Kernel, Mixed
from kernsemble.kernels.columns import leaves
from kernsemble.kernels.radial import Radial
from kernsemble.preprocessing import FeatureScaling, ScalingKind
from kernsemble.solvers import Fold, Solution, Status, solve_dual, solve_folds
from kernsemble.solvers.folds import bounds_at
from kernsemble.solvers.interrupts import Watch
from kernsemble.solvers.kernel_matrix import PORTIONS, Matrix, RowsOnDemand, as_matrix
from kernsemble.solvers.losses import Kinked, Loss
from kernsemble.solvers.smo import DEFAULT_TUNING
from kernsemble.svm.backends.base import (
    Backend,
    Candidate,
    Machines,
    PreparedRows,
    Result,
    Solved,
    SolverSettings,
    TrainingRows,
    Workload,
    Workspace,
    inverse_or_one,
    longest_run,
    solve_each,
)
from kernsemble.svm.problem import Problem

MIN_CACHED_ROWS = 50  # of a matrix computed on demand; with fewer, a fit would hardly end
SPARE = 0.5  # matrices that must fit beside two for kernels to share their distances
COPIES = 0.25  # matrices for copies and factors beside one, for a search
WORKING_ROWS = DEFAULT_TUNING.working_rows
WORKING_MATRICES = 2  # number of matrices between working rows: a copy and a factor
MAX_KERNEL_ENTRIES = 20_000_000  # maximum number of kernel values computed at a time for new rows


@dataclass(frozen=True, eq=False, repr=False)
class SupportVectorMachines(Machines):
    r"""Machines :math:`f_k(x) = \sum_j \beta_{kj} K(x_j, x) + b_k` on common support vectors."""

    kernel: Kernel
    scaling: FeatureScaling
    support: IntArray
    support_vectors: Rows
    coefficients: FloatArray  # (n_machines, n_support)
    intercept: FloatArray
    n_training_rows: int

    @property
    def supports_missing(self) -> bool:
        return accepts_missing(self.kernel)

    def values(self, X: Rows, budget: Budget) -> FloatArray:
        known = self.kernel, self.scaling, self.support_vectors
        most = min(MAX_KERNEL_ENTRIES, int(budget.n_bytes / 8))
        return expansion_values(X, *known, self.coefficients, most) + self.intercept

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

    rows: TrainingRows
    K: FloatArray | Matrix
    spare: float = np.inf  # bytes for copies and factors beside the matrix

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
        matrix, n = as_matrix(self.K), self.rows.n_rows
        start = _coefficients_of(last, len(problems), n) if settings.warm_start else None
        beta = np.zeros((len(problems), n))
        in_turn = isinstance(matrix, RowsOnDemand)  # whose rows are computed by all threads
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

    def _solved(self, beta: FloatArray, solutions: list[Solution], is_interrupted: bool) -> Solved:
        intercept = np.array([each.bias for each in solutions])
        support = np.flatnonzero(beta.any(axis=0))
        machines = SupportVectorMachines(
            self.kernel,
            self.scaling,
            support,
            self.rows.X[support],
            beta[:, support],
            intercept,
            self.rows.n_rows,
        )
        return Solved(
            machines,
            intercept,
            objective=np.array([each.objective for each in solutions]),
            duality_gap=np.array([each.gap for each in solutions]),
            n_iter=longest_run(solutions),
            statuses=tuple(each.status for each in solutions),
            is_interrupted=is_interrupted,
            shortfall=f"violation {max(each.violation for each in solutions):.2g}",
        )

    def solve_folds(
        self,
        problem: Problem,
        Cs: Sequence[float],
        held_out: Sequence[IntArray],
        settings: SolverSettings,
        on_solved: Callable[[], None],
    ) -> list[Fold]:
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


@dataclass(eq=False)
class Memory:
    """The memory of one kernel matrix after another."""

    K: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class MatrixWorkspace(Workspace):
    """Training rows of which kernel matrices are computed."""

    rows: TrainingRows
    budget: Budget

    def prepare(self, candidate: Candidate) -> PreparedMatrix:
        scaling, scaled = self._scale(candidate.scaling)
        family = [(0, candidate.kernel)]
        ((_, prepared),) = self._prepare_family(family, scaling, scaled, Memory())
        return prepared

    def map(
        self, candidates: Sequence[Candidate], function: Callable[[int, PreparedRows], Result]
    ) -> list[Result]:
        """Return ``function(place, prepared)`` for every candidate.

        Kernels of the same distance share its matrix, and one matrix is computed in the memory
        of the one before.
        """
        results: dict[int, Result] = {}
        memory = Memory()
        for scaling in dict.fromkeys(each.scaling for each in candidates):
            common, scaled = self._scale(scaling)
            numbered = [
                (place, each.kernel)
                for place, each in enumerate(candidates)
                if each.scaling == scaling
            ]
            for _, family in groupby(sorted(numbered, key=_family), _family):
                for place, prepared in self._prepare_family(list(family), common, scaled, memory):
                    results[place] = function(place, prepared)
        return [results[place] for place in range(len(candidates))]

    def _scale(self, kind: ScalingKind | None) -> tuple[FeatureScaling, Rows]:
        scaling = FeatureScaling.from_rows(self.rows.X, kind, self.rows.weight)
        scaling = scaling.sparing(self.rows.is_category)
        return scaling, scaling.transform(self.rows.X)

    def _prepare_family(
        self,
        family: list[tuple[int, Kernel]],
        scaling: FeatureScaling,
        scaled: Rows,
        memory: "Memory",
    ) -> Iterator[tuple[int, PreparedMatrix]]:
        """Yield the matrices of kernels, from their distances if these are equal and fit."""
        if needs_unscaled_rows(family[0][1]):
            scaling, scaled = FeatureScaling(None), self.rows.X
        distances = None
        for place, unbound in family:
            kernel = unbound.bind(scaled, self.rows.weight)
            radial = _radial(kernel)
            shares = radial is not None and len(family) > 1
            if shares and self.budget.holds(scaled, n_matrices=2.0 + SPARE):
                assert radial is not None
                if distances is None:
                    rows = kernel.expanded(scaled) if isinstance(kernel, Mixed) else scaled
                    distances = radial.distances(rows)
                memory.K = radial.from_distances(distances, memory.K)
                spare = self.budget.spare(scaled, n_matrices=2)
                yield place, PreparedMatrix(scaling, kernel, self.rows, memory.K, spare)
            else:
                matrix = matrix_within(self.budget, kernel, scaled, memory.K)
                if isinstance(matrix, RowsOnDemand):
                    spare = working_bytes(matrix.n_kept)
                else:
                    memory.K, spare = matrix, self.budget.spare(scaled)
                yield place, PreparedMatrix(scaling, kernel, self.rows, matrix, spare)


@dataclass(frozen=True)
class MatrixBackend(Backend):
    """Backend on the kernel matrix between all rows; exact for every kernel."""

    name = "exact"
    supports_any_kernel = True

    def supports(self, loss: type[Loss]) -> bool:
        return issubclass(loss, Kinked)

    def supports_missing(self, kernels: Sequence[Kernel]) -> bool:
        return all(map(accepts_missing, kernels))

    def max_rows(self, X: Rows, budget: Budget) -> float:
        return float(np.sqrt(budget.n_bytes / ((1.0 + COPIES) * X.dtype.itemsize)))

    def cost(self, workload: Workload) -> float:
        return float(workload.rows.n_rows) ** 2

    def open(self, rows: TrainingRows, settings: SolverSettings) -> MatrixWorkspace:
        return MatrixWorkspace(rows, settings.budget)


def matrix_within(
    budget: Budget, kernel: Kernel, X: Rows, out: FloatArray | None = None
) -> FloatArray | RowsOnDemand:
    """Return the matrix between all rows: whole, or with rows on demand if it does not fit.

    A whole matrix is computed in the memory of `out`, if given.
    """
    if budget.holds(X):
        K: FloatArray = kernel(X, out=out)
        return K
    row_bytes, n = budget.row_bytes(X), X.shape[0]
    n_cached = _n_cached(budget.n_bytes, row_bytes)
    size = f"the {n} x {n} kernel matrix takes {n * row_bytes / 2**20:,.3g} MB"
    allowed = f"cache_size allows {budget.n_bytes / 2**20:,.3g}"
    minimum = min(MIN_CACHED_ROWS, n)
    if n_cached < minimum:
        needed = minimum * row_bytes * (1.0 + 1.0 / PORTIONS) + working_bytes(minimum)
        raise GramTooLargeError(
            f"{size}, and {allowed}, which is {n_cached} of its rows: raise cache_size to "
            f"{needed / 2**20:,.3g} or more, or fit fewer rows"
        )
    warn_caller(
        f"{size}, and {allowed}: its rows are computed on demand, {n_cached} are cached, and each "
        f"pass over the others computes {float(n - n_cached) * n:.2g} kernel values again, so that "
        "a fit may take ten times as long; raise cache_size to hold the whole matrix, pass float32 "
        "rows to halve it, or fit fewer rows",
        RowsOnDemandWarning,
    )
    return RowsOnDemand(lambda i, j: kernel(X[i], X[j]), kernel.diagonal(X), n_cached)


def _n_cached(n_bytes: float, row_bytes: int) -> int:
    r"""Return the number of rows whose cache, with a portion and working matrices, fits.

    It is the largest m with :math:`r m + 8 k \min(m, w)^2 \le B`.
    """
    r, each = row_bytes * (1.0 + 1.0 / PORTIONS), 8.0 * WORKING_MATRICES
    few = (np.sqrt(r * r + 4.0 * each * n_bytes) - r) / (2.0 * each)
    return int(few if few <= WORKING_ROWS else (n_bytes - each * WORKING_ROWS**2) / r)


def working_bytes(n_cached: int) -> float:
    """Return the bytes of the working matrices of a matrix with rows on demand."""
    return 8.0 * WORKING_MATRICES * float(min(n_cached, WORKING_ROWS)) ** 2


def copied_bytes(K: FloatArray | Matrix, rows: IntArray) -> float:
    """Return the bytes of a copy of the matrix between some rows."""
    return float(len(rows)) ** 2 * (K.itemsize if isinstance(K, np.ndarray) else 8)


def accepts_missing(kernel: Kernel) -> bool:
    """Return whether every part of a kernel compares rows with missing values."""
    return all(leaf.kernel.accepts_missing for leaf in leaves(kernel))


def needs_unscaled_rows(kernel: Kernel) -> bool:
    """Return whether a part of a kernel was learned from rows, which were not scaled."""
    return any(isinstance(leaf.kernel, Boosted) for leaf in leaves(kernel))


def expansion_values(
    X: Rows,
    kernel: Kernel,
    scaling: FeatureScaling,
    support_vectors: Rows,
    coefficients: FloatArray,
    max_entries: int = MAX_KERNEL_ENTRIES,
) -> FloatArray:
    """Return the value of each kernel expansion (columns) at each row, by blocks of rows."""
    values = np.zeros((X.shape[0], len(coefficients)))
    if support_vectors.shape[0] == 0:
        return values
    known = scaling.transform(support_vectors)
    for span in blocks(X.shape[0], max(max_entries // known.shape[0], 1)):
        values[span] = kernel(scaling.transform(X[span]), known) @ coefficients.T
    return values


def _radial(kernel: Kernel) -> Radial | None:
    """Return the radial kernel whose distances determine a kernel, None if there is none."""
    inner = kernel.kernel if isinstance(kernel, Mixed) else kernel
    return inner if isinstance(inner, Radial) else None


def _family(numbered: tuple[int, Kernel]) -> str:
    """Return a key that is equal for kernels of one distance, or for learned kernels."""
    _, kernel = numbered
    if needs_unscaled_rows(kernel):
        return "learned"
    radial = _radial(kernel)
    if radial is None:
        return ""
    columns = kernel.categories if isinstance(kernel, Mixed) else None
    return f"{type(radial).__module__}.{type(radial).__qualname__} {columns}"


def _bounded(loss: Loss) -> Kinked:
    assert isinstance(loss, Kinked)  # as `MatrixBackend.supports` demands
    return loss


def _coefficients_of(last: Machines | None, n_machines: int, n_rows: int) -> FloatArray | None:
    """Return the coefficients of the last fit on all rows, None if they do not suit this one."""
    if not isinstance(last, SupportVectorMachines) or last.n_training_rows != n_rows:
        return None
    return last.on_training_rows() if len(last.coefficients) == n_machines else None


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

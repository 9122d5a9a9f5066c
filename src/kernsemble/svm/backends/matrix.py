r"""The exact backend: the kernel matrix between all rows, and support vectors.

The matrix takes :math:`O(n^2)` memory and :math:`O(n^2 D)` time; any kernel has one. If it does
not fit into the memory budget, its rows are computed on demand.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from kernsemble._memory import Budget
from kernsemble._typing import FloatArray, Rows
from kernsemble.exceptions import GramTooLargeError, RowsOnDemandWarning, warn_caller
from kernsemble.kernels import Boosted, Kernel, Mixed
from kernsemble.kernels.columns import leaves
from kernsemble.preprocessing import FeatureScaling, LearnedKind, ScalingKind
from kernsemble.preprocessing.learned_measure import Norm
from kernsemble.preprocessing.supervised import TargetScaling, is_learned
from kernsemble.solvers.kernel_matrix import PORTIONS, RowsOnDemand
from kernsemble.solvers.losses import Kinked, Loss, Squared
from kernsemble.solvers.smo import DEFAULT_TUNING
from kernsemble.svm.backends.base import (
    Backend,
    Candidate,
    PreparedRows,
    Result,
    SolverSettings,
    TrainingRows,
    Workload,
    Workspace,
)
from kernsemble.svm.backends.cross_fitted import (
    CrossFittedMatrix,
    learner_among,
    norm_of,
)
from kernsemble.svm.backends.prepared_matrix import PreparedMatrix, accepts_missing
from kernsemble.svm.backends.radial_parts import radial_part

MIN_CACHED_ROWS = 50  # of a matrix computed on demand; with fewer, a fit would hardly end
SPARE = 0.5  # matrices that must fit beside two for kernels to share their distances
COPIES = 0.25  # matrices for copies and factors beside one, for a search
MAX_KEPT_NUMBERS = 2_000_000  # of scaled rows that are kept for several calls, 16 MB
WORKING_ROWS = DEFAULT_TUNING.working_rows
WORKING_MATRICES = 2  # number of matrices between working rows: a copy and a factor


@dataclass(eq=False)
class Memory:
    """The memory of one kernel matrix after another."""

    K: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class MatrixWorkspace(Workspace):
    """Training rows of which kernel matrices are computed."""

    rows: TrainingRows
    budget: Budget
    dtype: type[np.floating[Any]] | None = None  # of scaled rows and matrices; that of X by default
    learners: dict[tuple[LearnedKind, Norm, int], TargetScaling] = field(default_factory=dict)
    scaled: dict[ScalingKind | None, tuple[FeatureScaling, Rows]] = field(default_factory=dict)

    def prepare(self, candidate: Candidate) -> PreparedRows:
        if is_learned(candidate.scaling):
            norm = norm_of(candidate.kernel)
            learner = learner_among(self.learners, self.rows, candidate.scaling, norm)
            return self._cross_fitted(learner, candidate.kernel)
        return self.prepare_plain(candidate.kernel, candidate.scaling)

    def _cross_fitted(self, learner: TargetScaling, kernel: Kernel) -> CrossFittedMatrix:
        return CrossFittedMatrix(learner, self.rows, kernel, self.budget, self.dtype)

    def prepare_plain(self, kernel: Kernel, kind: ScalingKind | None) -> PreparedMatrix:
        """Return the rows prepared for a kernel and a scaling that is not learned."""
        scaling, scaled = self._scale(kind)
        ((_, prepared),) = self._prepare_family([(0, kernel)], scaling, scaled, Memory())
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
        for place, each in enumerate(candidates):
            if is_learned(each.scaling):
                results[place] = function(place, self.prepare(each))
        given = [each.scaling for each in candidates]
        for scaling in dict.fromkeys(kind for kind in given if not is_learned(kind)):
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
        """Return a scaling and the scaled rows, which are kept if they are small."""
        if kind in self.scaled:
            return self.scaled[kind]
        scaling = FeatureScaling.from_rows(self.rows.X, kind, self.rows.weight)
        scaling = scaling.sparing(self.rows.is_category)
        scaled = scaling.transform(self.rows.X)
        scaled = scaled if self.dtype is None else scaled.astype(self.dtype)
        if scaled.shape[0] * scaled.shape[1] <= MAX_KEPT_NUMBERS:
            self.scaled[kind] = scaling, scaled
        return scaling, scaled

    def _prepare_family(
        self,
        family: list[tuple[int, Kernel]],
        scaling: FeatureScaling,
        scaled: Rows,
        memory: Memory,
    ) -> Iterator[tuple[int, PreparedMatrix]]:
        """Yield the matrices of kernels of one distance, or of others one by one."""
        if needs_unscaled_rows(family[0][1]):
            scaling, scaled = FeatureScaling(None), self.rows.X
        return self._matrices(family, scaling, scaled, memory)

    def _matrices(
        self,
        family: list[tuple[int, Kernel]],
        scaling: FeatureScaling,
        scaled: Rows,
        memory: Memory,
    ) -> Iterator[tuple[int, PreparedMatrix]]:
        """Yield the matrices of kernels, from their distances if these are equal and fit."""
        distances = None
        for place, unbound in family:
            kernel = unbound.bind(scaled, self.rows.weight)
            radial = radial_part(kernel)
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
        return issubclass(loss, (Kinked, Squared))

    def supports_missing(self, kernels: Sequence[Kernel]) -> bool:
        return all(map(accepts_missing, kernels))

    def max_rows(self, X: Rows, budget: Budget) -> float:
        return float(np.sqrt(budget.n_bytes / ((1.0 + COPIES) * X.dtype.itemsize)))

    def cost(self, workload: Workload) -> float:
        return float(workload.rows.n_rows) ** 2

    def open(self, rows: TrainingRows, settings: SolverSettings) -> MatrixWorkspace:
        return MatrixWorkspace(rows, settings.budget, settings.dtype)


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


def needs_unscaled_rows(kernel: Kernel) -> bool:
    """Return whether a part of a kernel was learned from rows, which were not scaled."""
    return any(isinstance(leaf.kernel, Boosted) for leaf in leaves(kernel))


def _family(numbered: tuple[int, Kernel]) -> str:
    """Return a key that is equal for kernels of one distance, or for learned kernels."""
    _, kernel = numbered
    if needs_unscaled_rows(kernel):
        return "learned"
    radial = radial_part(kernel)
    if radial is None:
        return ""
    columns = kernel.categories if isinstance(kernel, Mixed) else None
    return f"{type(radial).__module__}.{type(radial).__qualname__} {columns}"

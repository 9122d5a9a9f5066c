r"""The local backend: kernel ridge regression on the leaves of partitions of the rows.

Rows are split at the median along random directions of the scaled features until a leaf has at
most `leaf_rows` rows, each leaf has exact machines of its own, and a few partitions are averaged.
The cost of a fit is linear in the number of rows: :math:`O(n m^2)` per partition with leaves of m
rows. A prediction compares a row with one leaf per partition.

Held-out rows are predicted by machines that are fitted without them. Scalings that are learned
from targets are learned again from the other rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import AnyKind, AnyScaling, FeatureScaling, LearnedKind
from kernsemble.preprocessing.learned_measure import Norm
from kernsemble.preprocessing.supervised import (
    MAX_KNOWN,
    TargetScaling,
    accepts_categories,
    is_learned,
)
from kernsemble.solvers import Fold, Status
from kernsemble.solvers.losses import Loss, Squared
from kernsemble.svm.backends.base import (
    Backend,
    Candidate,
    Machines,
    Solved,
    SolverSettings,
    TrainingRows,
    Workload,
    Workspace,
    inverse_or_one,
)
from kernsemble.svm.backends.cross_fitted import learner_among, norm_of
from kernsemble.svm.backends.fold_by_fold import PreparedFoldByFold
from kernsemble.svm.backends.local.leaves import Evidence, affordable_rows, fit_leaves
from kernsemble.svm.backends.local.machines import LocalMachines
from kernsemble.svm.backends.local.rows import Division, ScaledRows, dense
from kernsemble.svm.backends.matrix import needs_unscaled_rows
from kernsemble.svm.columns.missing_values import has_missing
from kernsemble.svm.problem import Problem

SEEDS = 10  # number of seeds that one measure draws from, at most
MATRICES_OF_A_MEASURE = 5.0  # in memory while it is learned, in single precision
FEWEST_MEASURE_ROWS = 100
ROWS_FOR_SCALE = 2_000  # maximum number of rows for the unit of C


@dataclass(frozen=True, eq=False)
class PreparedLeaves(PreparedFoldByFold):
    """Rows that are divided into leaves for one kernel and scaling.

    `scaled_among` returns some of the rows, all of them for None, on their scales: one, or a
    learned measure for each partition.
    """

    rows: TrainingRows
    unbound: Kernel
    scaled_among: Callable[[IntArray | None], tuple[ScaledRows, ...]]

    @cached_property
    def whole(self) -> tuple[ScaledRows, ...]:
        """All rows on their scales."""
        return self.scaled_among(None)

    @property
    def scaling(self) -> AnyScaling:  # type: ignore[override]
        return self.whole[0].scaling

    @cached_property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self._bound(self.whole[0])

    def _bound(self, scaled: ScaledRows) -> Kernel:
        return self.unbound.bind(scaled.coordinates, scaled.weight)

    def inverse_mean_distance(self) -> float:
        """Return 1 over the mean of (K_ii + K_jj)/2 − K_ij, over a sample of many rows."""
        rows = self.whole[0]
        X, share = rows.coordinates, rows.weight / rows.weight.sum()
        if len(X) > ROWS_FOR_SCALE:
            drawn = np.random.default_rng(0).choice(len(X), ROWS_FOR_SCALE, p=share)
            X, share = X[drawn], np.full(ROWS_FOR_SCALE, 1.0 / ROWS_FOR_SCALE)
        K = self.kernel(X)
        return inverse_or_one(float(share @ (K.diagonal() - K @ share)))

    def solve(
        self,
        problems: Sequence[Problem],
        C: float,
        settings: SolverSettings,
        last: Machines | None,  # noqa: ARG002
        task: Task,
    ) -> Solved:
        n_leaves = sum(each.n_leaves for rows in self.whole for each in rows.partitions)
        with task.part("machine", 0, n_parts=n_leaves) as part:
            found = self._fit(self.whole, problems, [C], settings, part)
        for place in range(1, len(problems)):
            task.note("machine", place)
        status = Status.INTERRUPTED if found.is_interrupted else Status.CONVERGED
        return Solved(
            found.machines,
            intercept=found.machines.mean_bias,
            objective=found.evidence.objective,
            duality_gap=found.evidence.gap,
            n_iter=1,
            statuses=(status,) * len(problems),
            is_interrupted=found.is_interrupted,
            shortfall=f"duality gap {found.evidence.gap.max():.2g}",
        )

    def _fit(
        self,
        scaled: tuple[ScaledRows, ...],
        problems: Sequence[Problem],
        Cs: Sequence[float],
        settings: SolverSettings,
        task: Task,
    ) -> "_Fitted":
        """Fit the machines on all scales; an interrupt keeps the partitions that are finished."""
        machines, evidence, is_interrupted = list[LocalMachines](), list[Evidence](), False
        for rows in scaled:
            kernel = self._bound(rows)
            try:
                found = fit_leaves(rows, kernel, problems, Cs, settings.budget, task)
            except KeyboardInterrupt:
                if not machines:
                    raise
                is_interrupted = True
                break
            known = rows.scaling, rows.coordinates, found.parts
            machines.append(LocalMachines.from_parts(kernel, *known))
            evidence.append(found.evidence)
            if found.is_interrupted:
                is_interrupted = True
                break
        together = replace(machines[0], siblings=tuple(machines[1:]))
        return _Fitted(together, Evidence.mean(evidence), is_interrupted)

    def _solve_fold(
        self,
        problems: Sequence[Problem],
        Cs: Sequence[float],
        held_out: IntArray,
        settings: SolverSettings,
    ) -> list[Fold]:
        kept = np.delete(np.arange(self.rows.n_rows), held_out)
        mine = [problem.among(kept) for problem in problems]
        found = self._fit(self.scaled_among(kept), mine, Cs, settings, Task.silent())
        if found.is_interrupted:
            raise KeyboardInterrupt
        values = found.machines.values(self.rows.X[held_out], settings.budget)
        values = values.reshape(len(held_out), len(Cs), len(problems))
        n_iter, statuses = np.ones(len(Cs), dtype=np.intp), (Status.CONVERGED,) * len(Cs)
        return [
            Fold(problem.scale.standardise(values[:, :, place].T), n_iter, statuses)
            for place, problem in enumerate(problems)
        ]


class _Fitted(NamedTuple):
    machines: LocalMachines
    evidence: Evidence
    is_interrupted: bool


@dataclass(frozen=True, eq=False)
class LocalWorkspace(Workspace):
    """Training rows that are divided into leaves on any scale.

    Attributes
    ----------
    rows : TrainingRows
        The rows.
    dtype : type
        Precision of kernels on scaled rows.
    division : Division
        The size of leaves, the number of partitions, and the overlap of leaves.
    seed : int
        Random seed of the partitions.
    measure_rows : int
        Number of rows above which a measure over features is learned from a sample of them.
    max_leaf_rows : int
        Number of rows of the largest leaf whose matrices fit into memory.
    """

    rows: TrainingRows
    dtype: type[np.floating[Any]]
    division: Division
    seed: int
    measure_rows: int
    max_leaf_rows: int
    learners: dict[tuple[LearnedKind, Norm, int], TargetScaling] = field(default_factory=dict)
    known: dict[tuple[Any, ...], ScaledRows] = field(default_factory=dict)  # the latest

    def divided(self, factor: float, n_partitions: int) -> Self:
        """Return a workspace with the same scalings, n partitions, and leaves times a factor.

        They are not larger than the memory allows.
        """
        leaf_rows = min(round(factor * self.division.leaf_rows), self.max_leaf_rows)
        division = self.division._replace(leaf_rows=leaf_rows, n_partitions=n_partitions)
        return replace(self, division=division)

    def prepare(self, candidate: Candidate) -> PreparedLeaves:
        kernel, kind = candidate.kernel, candidate.scaling
        kind = None if needs_unscaled_rows(kernel) else kind
        self._check(kind)
        norm = norm_of(kernel) if is_learned(kind) else None
        return PreparedLeaves(self.rows, kernel, partial(self._scaled, kind, norm))

    def _scaled(
        self, kind: AnyKind | None, norm: Norm | None, some: IntArray | None
    ) -> tuple[ScaledRows, ...]:
        """Return some rows on their scale, with their partitions.

        Measures that are learned from samples differ, so each partition has its own.
        """
        first = self._scaled_by(kind, norm, some, 0)
        n = self.division.n_partitions if is_learned(kind) and kind != "effects" else 1
        if n == 1 or first.n_distinct <= self.division.leaf_rows:
            return (first,)
        alone = self.division._replace(n_partitions=1)
        found = [first, *(self._scaled_by(kind, norm, some, k) for k in range(1, n))]
        return tuple(replace(each, division=alone) for each in found)

    def _scaled_by(
        self, kind: AnyKind | None, norm: Norm | None, some: IntArray | None, number: int
    ) -> ScaledRows:
        """Return some rows on their scale, or by one of several learned measures."""
        key = kind, norm, number, None if some is None else some.tobytes()
        if key not in self.known:
            if len(self.known) >= MAX_KNOWN:
                del self.known[next(iter(self.known))]
            scaling, coordinates = self._coordinates(kind, norm, some, number)
            if kind is not None:  # unscaled columns may need all digits
                coordinates = coordinates.astype(self.dtype, copy=False)
            weight = self.rows.weight if some is None else self.rows.weight[some]
            seed = self.seed + number
            self.known[key] = ScaledRows.from_rows(
                scaling, coordinates, weight, self.division, seed
            )
        found = self.known[key]
        return found if found.division == self.division else replace(found, division=self.division)

    def _coordinates(
        self, kind: AnyKind | None, norm: Norm | None, some: IntArray | None, number: int
    ) -> tuple[AnyScaling, FloatArray]:
        if not is_learned(kind):
            X = self.rows.X if some is None else self.rows.X[some]
            scaling = FeatureScaling.from_rows(self.rows.X, kind, self.rows.weight)
            return scaling, scaling.transform(X)
        assert norm is not None
        most = self.measure_rows
        learner = learner_among(self.learners, self.rows, kind, norm, most, SEEDS * number)
        found = learner.fit(some)
        learner.known.clear()  # in double precision
        return found

    def _check(self, kind: AnyKind | None) -> None:
        """Check that rows on a scale are numbers."""
        if not accepts_categories(kind):
            refuse_gaps(kind, bool(self.rows.is_category.any()), has_missing(self.rows.X))


def refuse_gaps(kind: AnyKind | None, has_categories: bool, has_gaps: bool) -> None:
    """Raise an error if there are categories or missing values."""
    if has_categories or has_gaps:
        found = "categories" if has_categories else "missing values"
        raise ValueError(
            f"scaling = {kind!r} with solver = 'local' needs columns of numbers without "
            f"missing values, and X has {found}: use scaling='learned-effects', or encode them"
        )


@dataclass(frozen=True)
class LocalBackend(Backend):
    """Backend of exact machines on leaves of rows; only on request, never by ``solver="auto"``.

    Attributes
    ----------
    leaf_rows : int
        Maximum number of rows of a leaf; fewer if the memory requires it.
    n_partitions : int
        Number of partitions whose machines are averaged; one if a leaf has all rows.
    overlap : float
        Share of the rows of a split, on either side, that both sides are fitted to and blended
        in. A larger one is more accurate and costs more.
    measure_rows : int
        Number of rows above which a measure over features is learned from a sample of them.
    """

    name = "local"
    leaf_rows: int = 1_000
    n_partitions: int = 3
    overlap: float = 0.1
    measure_rows: int = 4_000

    def supports(self, loss: type[Loss]) -> bool:
        return issubclass(loss, Squared)

    def cost(self, workload: Workload) -> float:  # noqa: ARG002
        return np.inf

    def open(self, rows: TrainingRows, settings: SolverSettings) -> LocalWorkspace:
        if sparse.issparse(rows.X):
            settings.budget.check(
                rows.X.shape[0] * rows.X.shape[1] * rows.X.dtype.itemsize,
                "X is sparse, and the dense array that solver = 'local' needs takes",
                "use solver='exact', drop columns",
            )
            rows = TrainingRows(
                dense(rows.X), rows.weight, rows.is_category, rows.targets, rows.parts
            )
        dtype = settings.dtype or self._precision(rows)
        most = max(int(affordable_rows(settings.budget)), 1)
        division = Division(min(self.leaf_rows, most), self.n_partitions, self.overlap)
        affordable = np.sqrt(settings.budget.n_bytes / (4.0 * MATRICES_OF_A_MEASURE))
        measure_rows = max(min(self.measure_rows, int(affordable)), FEWEST_MEASURE_ROWS)
        seed = settings.draw_seed()
        return LocalWorkspace(rows, dtype, division, seed, measure_rows, most)

    def _precision(self, rows: TrainingRows) -> type[np.floating[Any]]:
        """Return single precision for signs of classes on several leaves, else that of rows."""
        is_signs = rows.targets is not None and bool((np.abs(rows.targets) == 1.0).all())
        is_single = is_signs and rows.n_rows > self.leaf_rows
        return np.float32 if is_single else rows.X.dtype.type

"""Machines on leaves, fitted to rows in blocks.

Large nodes of a partition do not overlap, so its first splits divide the rows into regions of many
leaves, which are fitted independently. These splits are at the medians of a sample. Rows are
exchanged once, so that each region has all of its rows, and a region is fitted as rows in memory
are; then its partitions are grafted onto the first splits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from kernsemble._memory import Budget
from kernsemble._progress import Task
from kernsemble._typing import FloatArray
from kernsemble.kernels import Kernel
from kernsemble.preprocessing import AnyScaling
from kernsemble.solvers import Status
from kernsemble.solvers.partition import Partition
from kernsemble.svm.backends import BACKENDS
from kernsemble.svm.backends.base import (
    Candidate,
    Machines,
    PreparedRows,
    Solved,
    SolverSettings,
    TrainingRows,
)
from kernsemble.svm.backends.local.backend import LocalBackend, PreparedLeaves, refuse_gaps
from kernsemble.svm.backends.local.leaves import Evidence, FittedLeaves, fit_leaves
from kernsemble.svm.backends.local.machines import LeafMachines, LocalMachines
from kernsemble.svm.backends.local.rows import Division, ScaledRows
from kernsemble.svm.problem import Problem
from kernsemble.svm.streams.encoding import BlockContent, RowEncoding
from kernsemble.svm.streams.prepared import BlockProblem
from kernsemble.svm.streams.sources import RowGroups, RowSource, SurveySettings
from kernsemble.svm.streams.surveyed import SurveyedRows, check_settings

LOCAL = LocalBackend.name
REGION_LEAVES = 64  # number of leaves of a region, about
SAMPLED_ROWS = 20  # rows of the sample in a region, at least
TRUNK = 1  # second part of the seed of the first splits


@dataclass(frozen=True, eq=False)
class DivideRows:
    """The scaled rows of a block, with the region of each."""

    encoding: RowEncoding
    scaling: AnyScaling
    dtype: Any
    trunk: Partition

    def __call__(self, X: Any, y: Any, weight: FloatArray) -> RowGroups:
        kept = np.flatnonzero(weight > 0.0)
        if len(kept) == 0:
            n_columns = len(self.encoding.levels)
            nowhere, nothing = np.empty(0, dtype=np.intp), np.empty((0, n_columns), self.dtype)
            return RowGroups(nowhere, nothing, self.encoding.targets(y[:0]), np.empty(0))
        rows = self.scaling.transform(self.encoding.numbers(X)[kept]).astype(self.dtype, copy=False)
        regions = self.trunk.route(rows).leaves
        return RowGroups(regions, rows, self.encoding.targets(y)[kept], weight[kept])


class Region(NamedTuple):
    """The machines of a region, and the distinct rows that they are fitted to."""

    coordinates: FloatArray
    leaves: FittedLeaves


@dataclass(frozen=True, eq=False)
class FitRegion:
    """The fit of the machines of a region, which is one of rows in memory."""

    problems: Sequence[BlockProblem]
    C: float
    kernel: Kernel
    scaling: AnyScaling
    division: Division
    seed: int
    budget: Budget

    def __call__(self, region: int, X: FloatArray, y: Any, weight: FloatArray) -> Region:
        rows = ScaledRows.from_rows(self.scaling, X, weight, self.division, self.seed + region)
        content = BlockContent(y, weight)
        problems = [Problem(each.of(content), each.scale) for each in self.problems]
        found = fit_leaves(rows, self.kernel, problems, [self.C], self.budget, Task.silent())
        return Region(rows.coordinates, found)


@dataclass(frozen=True, eq=False)
class PreparedRegions(PreparedRows):
    """Rows in blocks that are divided into leaves; `on_sample` has the scaling and the kernel."""

    source: RowSource
    survey_settings: SurveySettings
    encoding: RowEncoding
    on_sample: PreparedLeaves
    n_rows: int
    division: Division
    dtype: Any
    seed: int

    @property
    def scaling(self) -> AnyScaling:  # type: ignore[override]
        return self.on_sample.scaling

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self.on_sample.kernel

    def inverse_mean_distance(self) -> float:
        return self.on_sample.inverse_mean_distance()

    def trunk(self) -> Partition:
        """Return the first splits, at medians of the sample; its leaves are the regions."""
        rows = self.on_sample.whole[0]
        share = REGION_LEAVES * self.division.leaf_rows / self.n_rows
        n_sampled = rows.n_distinct if share >= 1.0 else ceil(share * rows.n_distinct)
        rng = np.random.default_rng([self.seed, TRUNK])
        known = rows.coordinates, rows.weight, max(n_sampled, SAMPLED_ROWS)
        return Partition.from_rows(*known, rng)

    def solve(  # type: ignore[override]
        self,
        problems: Sequence[BlockProblem],
        C: float,
        settings: SolverSettings,
        last: Machines | None,  # noqa: ARG002
        task: Task,
    ) -> Solved:
        trunk = self.trunk()
        divide = DivideRows(self.encoding, self.scaling, self.dtype, trunk)
        fit = FitRegion(
            problems, C, self.kernel, self.scaling, self.division, self.seed, settings.budget
        )
        with task.part("machine", 0, n_parts=trunk.n_leaves) as part:
            regions = self.source.fit_groups(
                divide, fit, trunk.n_leaves, self.survey_settings, lambda: part.note("region")
            )
        for place in range(1, len(problems)):
            task.note("machine", place)
        evidence = Evidence.sum([each.leaves.evidence for each in regions])
        machines = joined(self.kernel, self.scaling, trunk, regions)
        return Solved(
            machines,
            intercept=machines.mean_bias,
            objective=evidence.objective,
            duality_gap=evidence.gap,
            n_iter=1,
            statuses=(Status.CONVERGED,) * len(problems),
            is_interrupted=False,
            shortfall=f"duality gap {evidence.gap.max():.2g}",
        )

    def solve_folds(self, *_: Any) -> Any:
        raise NotImplementedError("machines on leaves of blocks are not cross-validated")


def prepare_regions(estimator: Any, source: RowSource) -> tuple[PreparedRegions, SurveyedRows]:
    """Survey rows, store their columns and classes, and prepare them for a fit of regions."""
    check_settings(estimator)
    surveyed = SurveyedRows.read(estimator, source, LOCAL)
    encoding, survey = surveyed.encoding, surveyed.survey
    has_gaps = any(each.has_missing for each in survey.columns)
    refuse_gaps(estimator.scaling, bool(encoding.is_category.any()), has_gaps)
    backend = BACKENDS[LOCAL]
    assert isinstance(backend, LocalBackend)
    is_single = surveyed.how.is_classifier and survey.n_present > backend.leaf_rows
    dtype = np.float32 if is_single else np.float64
    X, weight = surveyed.sampled()
    rows = TrainingRows(X, weight, encoding.is_category)
    workspace = backend.open(rows, replace(surveyed.settings, dtype=dtype))
    workspace = replace(workspace, seed=surveyed.how.seed)
    kernel = estimator._kernel_on_columns(estimator.kernel, estimator.scaling)
    on_sample = workspace.prepare(Candidate(kernel, estimator.scaling))
    known = workspace.division, dtype, surveyed.how.seed
    prepared = PreparedRegions(source, surveyed.how, encoding, on_sample, survey.n_present, *known)
    return prepared, surveyed


def joined(
    kernel: Kernel, scaling: AnyScaling, trunk: Partition, regions: Sequence[Region]
) -> LocalMachines:
    """Return the machines of all regions as machines on the leaves of common partitions.

    A region that is a single leaf has one partition, which belongs to all of them.
    """
    parts = []
    for number in range(max(len(each.leaves.parts) for each in regions)):
        mine = [each.leaves.parts[number % len(each.leaves.parts)] for each in regions]
        partition = Partition.grafted(trunk, [each.partition for each in mine])
        coefficients = np.concatenate([each.coefficients for each in mine])
        parts.append(
            LeafMachines(partition, coefficients, np.concatenate([each.bias for each in mine]))
        )
    coordinates = np.concatenate([each.coordinates for each in regions])
    return LocalMachines.from_parts(kernel, scaling, coordinates, parts)

"""Kernel matrices of rows on a scale that was learned from their targets."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from kernsemble._memory import Budget
from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.kernels import Exponential, Gaussian, Kernel, Perceptron
from kernsemble.kernels.columns import leaves
from kernsemble.preprocessing import AnyScaling, LearnedKind
from kernsemble.preprocessing.learned_measure import MAX_ROWS, Norm
from kernsemble.preprocessing.supervised import TargetScaling, accepts_categories
from kernsemble.solvers import Fold
from kernsemble.svm.backends.base import (
    Machines,
    Solved,
    SolverSettings,
    TrainingRows,
)
from kernsemble.svm.backends.fold_by_fold import PreparedFoldByFold
from kernsemble.svm.backends.prepared_matrix import PreparedMatrix, SupportVectorMachines
from kernsemble.svm.problem import Problem


@dataclass(frozen=True, eq=False)
class CrossFittedMatrix(PreparedFoldByFold):
    """Rows on a scale that is learned from their targets.

    Left-out rows are predicted by machines on a scale that was learned without them. The scale of
    all rows is learned when it is first needed.
    """

    learner: TargetScaling
    rows: TrainingRows
    unbound: Kernel
    budget: Budget
    dtype: type[np.floating[Any]] | None = None

    def among(self, some: IntArray | None) -> PreparedMatrix:
        """Return the matrix between some rows, on the scale that is learned from them."""
        scaling, coordinates = self.learner.fit(some)
        return self._bound(scaling, coordinates, some)

    def _bound(
        self, scaling: AnyScaling, coordinates: FloatArray, some: IntArray | None
    ) -> PreparedMatrix:
        """Return the matrix between some rows with these coordinates."""
        coordinates = coordinates if self.dtype is None else coordinates.astype(self.dtype)
        rows = self.rows if some is None else self.rows.among(some)
        kernel = self.unbound.bind(coordinates, rows.weight)
        return self._prepared(scaling, kernel, rows, coordinates)

    def _prepared(
        self, scaling: AnyScaling, kernel: Kernel, rows: TrainingRows, coordinates: Rows
    ) -> PreparedMatrix:
        """Return the matrix between rows with these coordinates."""
        self.budget.check(
            float(len(coordinates)) ** 2 * coordinates.itemsize,
            f"the kernel matrix of {len(coordinates):,} rows on a learned scale takes",
            "fit fewer rows, or use scaling='rank'",
        )
        spare = self.budget.spare(coordinates)
        return PreparedMatrix(scaling, kernel, rows, kernel(coordinates), spare, coordinates)

    @cached_property
    def whole(self) -> PreparedMatrix:
        """The matrix between all rows."""
        return self.among(None)

    @property
    def scaling(self) -> AnyScaling:  # type: ignore[override]
        return self.whole.scaling

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        return self.whole.kernel

    def inverse_mean_distance(self) -> float:
        return self.whole.inverse_mean_distance()

    def solve(
        self,
        problems: Sequence[Problem],
        C: float,
        settings: SolverSettings,
        last: Machines | None,
        task: Task,
    ) -> Solved:
        return self.whole.solve(problems, C, settings, last, task)

    def solve_with_fold(
        self, problems: Sequence[Problem], C: float, held_out: IntArray, task: Task
    ) -> tuple[Solved, list[Fold]] | None:
        """Return the machines of all rows, and the fold, on the scale learned from its other rows.

        None where all rows would learn a better scale.
        """
        kept = np.setdiff1d(np.arange(self.rows.n_rows), held_out)
        if not self.learner.uses_sample_of(kept):
            return None
        scaling = self.learner.fit(kept).scaling
        prepared = self._bound(scaling, scaling.transform(self.rows.X), None)
        return prepared.solve_with_fold(problems, C, held_out, task)

    def _solve_fold(
        self,
        problems: Sequence[Problem],
        Cs: Sequence[float],
        held_out: IntArray,
        settings: SolverSettings,
    ) -> list[Fold]:
        kept = np.delete(np.arange(self.rows.n_rows), held_out)
        prepared = self.among(kept)
        known = prepared.coordinates
        assert known is not None
        tested = prepared.scaling.transform(self.rows.X[held_out]).astype(known.dtype)
        mine = [problem.among(kept) for problem in problems]
        solved = [prepared.solve(mine, C, settings, None, Task.silent()) for C in Cs]
        machines = [cast(SupportVectorMachines, each.machines) for each in solved]
        beta = np.vstack([each.on_training_rows() for each in machines]).T
        decisions = prepared.expansions(tested, beta).reshape(len(held_out), len(Cs), -1)
        decisions = decisions + np.array([each.intercept for each in machines])
        folds = []
        for place, problem in enumerate(problems):
            values = problem.scale.standardise(decisions[:, :, place].T)
            n_iter = np.array([each.n_iter for each in solved])
            statuses = tuple(each.statuses[place] for each in solved)
            folds.append(Fold(values, n_iter, statuses))
        return folds


def norm_of(kernel: Kernel) -> Norm:
    """Return the norm of the distances of which a kernel is a function."""
    euclidean = (Exponential, Gaussian, Perceptron)
    return "l2" if any(isinstance(leaf.kernel, euclidean) for leaf in leaves(kernel)) else "l1"


def learner_among(
    known: dict[tuple[LearnedKind, Norm, int], TargetScaling],
    rows: TrainingRows,
    kind: LearnedKind,
    norm: Norm,
    max_rows: int = MAX_ROWS,
    seed: int = 0,
) -> TargetScaling:
    """Return the rows and targets from which a scaling is learned, one for all kernels of a norm.

    A measure is learned from at most `max_rows` of them. Effects of all norms and seeds share their
    additive machines.
    """
    if (kind, norm, seed) not in known:
        others = tuple(known.values())  # to which other threads add
        alike = [each for each in others if accepts_categories(each.kind)]
        if alike and accepts_categories(kind):
            known[kind, norm, seed] = alike[0].sibling(kind, norm, seed)
        else:
            assert rows.targets is not None
            known[kind, norm, seed] = TargetScaling.from_rows(
                kind,
                rows.X,
                rows.weight,
                rows.is_category,
                rows.targets,
                norm,
                rows.parts,
                max_rows,
                seed,
            )
    return known[kind, norm, seed]

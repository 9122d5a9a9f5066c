"""Prepared rows whose folds are solved one after another, for all problems together."""

from abc import abstractmethod
from collections.abc import Callable, Sequence

from kernsemble._progress import Task
from kernsemble._typing import IntArray
from kernsemble.solvers import Fold
from kernsemble.svm.backends.base import PreparedRows, SolverSettings
from kernsemble.svm.problem import Problem


class PreparedFoldByFold(PreparedRows):
    """Rows that are prepared anew without each fold: for a scale, or leaves, of its own."""

    @abstractmethod
    def _solve_fold(
        self,
        problems: Sequence[Problem],
        Cs: Sequence[float],
        held_out: IntArray,
        settings: SolverSettings,
    ) -> list[Fold]:
        """Return the fold of every problem; an interrupt is passed on, as folds cannot resume."""

    def solve_folds(
        self,
        problem: Problem,
        Cs: Sequence[float],
        held_out: Sequence[IntArray],
        settings: SolverSettings,
        on_solved: Callable[[], None],
    ) -> list[Fold]:
        (folds,) = self.solve_all_folds([problem], Cs, held_out, settings, Task.silent())
        for _ in range(len(Cs) * len(folds)):
            on_solved()
        return folds

    def solve_all_folds(
        self,
        problems: Sequence[Problem],
        Cs: Sequence[float],
        held_out: Sequence[IntArray],
        settings: SolverSettings,
        task: Task,
    ) -> list[list[Fold]]:
        found = [self._solve_fold(problems, Cs, rows, settings) for rows in held_out]
        for _ in problems:
            task.note("machine")
        return [list(folds) for folds in zip(*found, strict=True)]

"""What held-out rows say of a setting: every C and every fold on one kernel matrix."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from kernsemble._model_selection import HeldOutClassifier, Split
from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray, Rows
from kernsemble.solvers import Fold, Status, solve_folds
from kernsemble.solvers.additive import solve_additive_folds
from kernsemble.svm.additive_machine import step_limit
from kernsemble.svm.calibration import Calibration
from kernsemble.svm.comparison import Comparison
from kernsemble.svm.losses import loss_of
from kernsemble.svm.multiclass import Reduction
from kernsemble.svm.problem import Problem
from kernsemble.svm.tabulation import Tabulation


class ForeseenClasses(HeldOutClassifier):
    """What machines said of the classes of held-out rows."""

    def __init__(self, classes: Any, reduction: Reduction, values: FloatArray) -> None:
        super().__init__(classes)
        self.reduction, self.values = reduction, values

    def decision_function(self, X: ArrayLike) -> FloatArray:  # noqa: ARG002
        return self.reduction.decisions(self.values)

    def winners(self) -> IntArray:
        return self.reduction.winners(self.values)


class ForeseenProbabilities(ForeseenClasses):
    """What machines said whose values are the logits of their sides."""

    def predict_proba(self, X: ArrayLike) -> FloatArray:  # noqa: ARG002
        return Calibration.of_logits(self.reduction).probabilities(self.values)


class ForeseenNumbers(RegressorMixin, BaseEstimator):
    """What a machine said of the numbers of held-out rows, in the form that scorers ask."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: ARG002
        return self

    def predict(self, X: ArrayLike) -> FloatArray:  # noqa: ARG002
        return self.values[:, 0]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Rows, their folds and a score; `foresee` makes values of machines what scorers ask."""

    X: Rows
    y: Any
    counts: FloatArray
    splits: Sequence[Split]
    Cs: Sequence[float]
    scorer: Callable[..., float]
    foresee: Callable[[FloatArray], BaseEstimator]
    tol: float
    max_iter: int | None
    loss: str
    endings: list[Status] = field(default_factory=list)  # of all machines, also of parts of it

    @property
    def tested(self) -> IntArray:
        """The tested rows of all folds, one fold after another."""
        return np.concatenate([split.tested for split in self.splits])

    @property
    def n_problems(self) -> int:
        """How many problems a machine has: every C on every fold."""
        return len(self.Cs) * len(self.splits)

    def solve(
        self, comparison: Comparison | Tabulation, problem: Problem, task: Task
    ) -> list[FloatArray]:
        """Return for each fold what a machine says of the tested rows (columns) at every C."""
        if isinstance(comparison, Tabulation):
            folds = self._solve_tables(comparison, problem, task)
        else:
            folds = self._solve_matrix(comparison, problem, task)
        self.endings.extend(status for fold in folds for status in fold.statuses)
        return [
            problem.scale.restored(fold.decisions[:, split.places])
            for fold, split in zip(folds, self.splits, strict=True)
        ]

    def _solve_matrix(self, comparison: Comparison, problem: Problem, task: Task) -> list[Fold]:
        numbers = count()
        return solve_folds(
            comparison.K,
            problem.p,
            problem.low,
            problem.high,
            self.Cs,
            [split.held_out for split in self.splits],
            epsilon=problem.epsilon,
            tol=self.tol,
            max_iter=self.max_iter,
            on_solved=lambda: task.note("problem", next(numbers)),
        )

    def _solve_tables(self, tabulation: Tabulation, problem: Problem, task: Task) -> list[Fold]:
        numbers = count()
        return solve_additive_folds(
            tabulation.tables,
            loss_of(self.loss, problem),
            self.Cs,
            [split.held_out for split in self.splits],
            tol=self.tol,
            max_iter=step_limit(self.max_iter),
            on_solved=lambda: task.note("problem", next(numbers)),
        )

    def tell_how_they_ended(self) -> None:
        """Warn if machines were stopped before they were done."""
        n_stopped = self.endings.count(Status.STOPPED)
        if n_stopped:
            warnings.warn(
                f"max_iter = {step_limit(self.max_iter)} was reached by {n_stopped} of "
                f"{len(self.endings)} machines of the cross-validation, tol = {self.tol}: "
                f"{Status.STOPPED.value}",
                ConvergenceWarning,
                stacklevel=2,
            )

    def scores(self, values: list[FloatArray]) -> FloatArray:
        """Return the score at every C (rows) on every fold (columns).

        `values` holds for each fold what all machines (last axis) say of its rows at every C.
        """
        scores = np.empty((len(self.Cs), len(self.splits)))
        for fold, (split, said) in enumerate(zip(self.splits, values, strict=True)):
            X, y = self.X[split.tested], self.y[split.tested]
            weight = {} if self._is_uniform else {"sample_weight": self.counts[split.tested]}
            for place, each in enumerate(said):
                scores[place, fold] = self._score(self.foresee(each), X, y, weight)
        return scores

    @cached_property
    def _is_uniform(self) -> bool:
        return bool((self.counts == self.counts[0]).all())

    def _score(self, foreseen: BaseEstimator, X: Rows, y: Any, weight: dict[str, Any]) -> float:
        try:
            return self.scorer(foreseen, X, y, **weight)
        except AttributeError as error:
            if "predict_proba" not in str(error):
                raise
            raise ValueError(
                f"scoring = {self.scorer} asks for probabilities, and they are calibrated only "
                "after the choice: give a score of classes or of values, or loss='logistic'"
            ) from error

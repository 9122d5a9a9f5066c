"""Cross-validation of one setting: every C and every fold on the same prepared rows."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from kernsemble._folds import FoldRows, HeldOutClassifier, comparable_means
from kernsemble._progress import Task
from kernsemble._typing import ArrayLike, FloatArray, IntArray, Rows
from kernsemble.solvers import Fold, Status
from kernsemble.solvers.losses import LOSSES, loss_with_probabilities
from kernsemble.svm.backends.base import PreparedRows, SolverSettings, TrainingRows
from kernsemble.svm.calibration import Calibration, MultinomialLink
from kernsemble.svm.multiclass import Reduction
from kernsemble.svm.problem import Problem


class HeldOutClasses(HeldOutClassifier):
    """The predictions of held-out rows by several machines, as scorers need them."""

    def __init__(self, classes: Any, reduction: Reduction, values: FloatArray) -> None:
        super().__init__(classes)
        self.reduction, self.values, self.needs_probabilities = reduction, values, False

    @property
    def predict_proba(self) -> Any:
        """Record that a scorer needs probabilities, which there are none of."""
        self.needs_probabilities = True
        raise AttributeError(f"{type(self).__name__} has no predict_proba")

    def decision_function(self, X: ArrayLike) -> FloatArray:  # noqa: ARG002
        return self.reduction.decisions(self.values)

    def winners(self) -> IntArray:
        return self.reduction.winners(self.values)


class HeldOutProbabilities(HeldOutClasses):
    """The predictions of machines whose loss models probabilities."""

    def __init__(self, classes: Any, reduction: Reduction, loss: str, values: FloatArray) -> None:
        super().__init__(classes, reduction, values)
        self.loss = loss

    def predict_proba(self, X: ArrayLike) -> FloatArray:  # noqa: ARG002
        return Calibration.from_loss(self.loss, self.reduction).probabilities(self.values)


class HeldOutVotes(HeldOutClasses):
    """The predictions of a vote, whose values are log-odds."""

    def predict_proba(self, X: ArrayLike) -> FloatArray:  # noqa: ARG002
        return MultinomialLink(self.reduction).probabilities(self.values)


class HeldOutNumbers(RegressorMixin, BaseEstimator):
    """The predictions of held-out rows by a regressor, as scorers need them."""

    def __init__(self, values: FloatArray) -> None:
        self.values = values

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: ARG002
        return self

    def predict(self, X: ArrayLike) -> FloatArray:  # noqa: ARG002
        return self.values[:, 0]


def held_out_predictions(
    classes: Any, reduction: Reduction, loss: str
) -> Callable[[FloatArray], BaseEstimator]:
    """Return the function that makes predictions of the values of machines for classes."""
    if LOSSES[loss].has_probabilities:
        return lambda values: HeldOutProbabilities(classes, reduction, loss, values)
    return lambda values: HeldOutClasses(classes, reduction, values)


@dataclass(frozen=True, eq=False)
class Trial:
    """The cross-validation of one setting.

    Attributes
    ----------
    Cs : sequence of float
        The values of C.
    scores : array of shape (n_Cs, n_folds)
        The score of each C on each fold.
    values : array of shape (n_tested, n_machines)
        The decision values of the tested rows at the best C, one fold after another.
    statuses : tuple of Status
        The status of every machine of every fold at every C.
    """

    Cs: Sequence[float]
    scores: FloatArray
    values: FloatArray
    statuses: tuple[Status, ...]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Rows, their targets and folds, and a scorer.

    `predictions` turns the decision values of machines into an estimator that scorers accept.
    """

    rows: TrainingRows
    y: Any
    splits: Sequence[FoldRows]
    scorer: Callable[..., float]
    predictions: Callable[[FloatArray], BaseEstimator]
    settings: SolverSettings

    def among(self, rows: IntArray, splits: Sequence[FoldRows], tol: float) -> "CrossValidation":
        """Return the cross-validation of some rows, with folds among them and another tol."""
        settings = replace(self.settings, tol=tol)
        some = self.rows.among(rows)
        return replace(self, rows=some, y=self.y[rows], splits=splits, settings=settings)

    @property
    def tested(self) -> IntArray:
        """The tested rows of all folds, one fold after another."""
        return np.concatenate([split.tested for split in self.splits])

    def run(
        self, prepared: PreparedRows, problems: Sequence[Problem], Cs: Sequence[float], task: Task
    ) -> Trial:
        """Solve every problem at every C on every fold, and score the held-out rows."""
        held_out = [split.held_out for split in self.splits]
        found = prepared.solve_all_folds(problems, Cs, held_out, self.settings, task)
        values = self.tested_values(problems, found)
        scores = self._scores(values, len(Cs))
        best = np.argmax(comparable_means(scores))
        statuses = [status for folds in found for fold in folds for status in fold.statuses]
        return Trial(Cs, scores, np.concatenate([fold[best] for fold in values]), tuple(statuses))

    def tested_values(
        self, problems: Sequence[Problem], found: Sequence[Sequence[Fold]]
    ) -> list[FloatArray]:
        """Return for each fold the values of the tested rows: (n_Cs, n_tested, n_machines)."""
        machines = [
            [
                problem.scale.restore(fold.decisions[:, split.places])
                for fold, split in zip(folds, self.splits, strict=True)
            ]
            for problem, folds in zip(problems, found, strict=True)
        ]
        return [np.stack(fold, axis=2) for fold in zip(*machines, strict=True)]

    def scores_of(self, values: FloatArray) -> FloatArray:
        """Return the score on every fold of values (n_tested, n_machines), a fold after another."""
        ends = np.cumsum([len(split.tested) for split in self.splits])[:-1]
        return self._scores([part[np.newaxis] for part in np.split(values, ends)], 1)[0]

    def _scores(self, values: list[FloatArray], n_penalties: int) -> FloatArray:
        """Return the score at every C (rows) on every fold (columns).

        `values` holds for each fold an array of shape (n_Cs, n_tested, n_machines).
        """
        scores = np.empty((n_penalties, len(self.splits)))
        for fold, (split, at_penalties) in enumerate(zip(self.splits, values, strict=True)):
            X, y = self.rows.X[split.tested], self.y[split.tested]
            weight = self.rows.weight[split.tested]
            weights = {} if self._is_uniform else {"sample_weight": weight}
            for place, each in enumerate(at_penalties):
                scores[place, fold] = self._score(self.predictions(each), X, y, weights)
        return scores

    @cached_property
    def _is_uniform(self) -> bool:
        return bool((self.rows.weight == self.rows.weight[0]).all())

    def _score(self, predictions: BaseEstimator, X: Rows, y: Any, weights: dict[str, Any]) -> float:
        try:
            return self.scorer(predictions, X, y, **weights)
        except AttributeError as error:
            if not getattr(predictions, "needs_probabilities", False):
                raise
            raise ValueError(
                f"scoring = {self.scorer} needs probabilities, which are calibrated only after "
                "model selection: use a score of classes or of decision values, or "
                f"loss={loss_with_probabilities()!r}"
            ) from error


def warn_unless_converged(statuses: Sequence[Status], settings: SolverSettings) -> None:
    """Warn if machines of a cross-validation stopped before they converged."""
    n_stopped = sum(status is Status.STOPPED for status in statuses)
    if n_stopped:
        warnings.warn(
            f"max_iter = {settings.max_iter} was reached by {n_stopped} of {len(statuses)} "
            f"machines of the cross-validation, tol = {settings.tol}: {Status.STOPPED.value}",
            ConvergenceWarning,
            stacklevel=2,
        )

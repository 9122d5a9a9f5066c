"""Grid search over C, kernels and scalings, on one preparation of the rows per kernel."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernsemble._folds import FoldRows, check_means, comparable_means, cross_validation_results
from kernsemble._progress import Task
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers import Status
from kernsemble.svm.backends.base import Candidate, PreparedRows, Workspace
from kernsemble.svm.model_selection.cross_validation import CrossValidation, Trial
from kernsemble.svm.problem import Problem


@dataclass(frozen=True)
class PenaltyGrid:
    """Values of C; if relative, multiples of ``C="scale"``, 1 over the mean distance of rows."""

    values: tuple[float, ...]
    is_relative: bool = False

    def at(self, prepared: PreparedRows, places: Sequence[int] | None = None) -> list[float]:
        """Return the values of C for prepared rows, all or those at some places of the grid."""
        unit = prepared.inverse_mean_distance() if self.is_relative else 1.0
        places = range(len(self.values)) if places is None else places
        return [unit * self.values[place] for place in places]

    def narrowed(self, places: Sequence[int]) -> Self:
        """Return the grid of the values at some places."""
        return replace(self, values=tuple(self.values[place] for place in places))


@dataclass(frozen=True, eq=False)
class Variant:
    """Settings besides kernel, scaling and C, and the problems of the machines under them."""

    settings: dict[str, Any]
    problems: list[Problem]

    def among(self, rows: IntArray) -> Self:
        """Return the variant on some rows."""
        return replace(self, problems=[problem.among(rows) for problem in self.problems])


@dataclass(frozen=True, eq=False)
class Selection:
    """The selected setting, its prepared rows, and the scores of all settings.

    Attributes
    ----------
    params : dict
        The selected setting, C included.
    index, score : int, float
        The place of the selected setting in `results`, and its mean score.
    results : dict
        All scores, in the form of `GridSearchCV.cv_results_`.
    problems : list of Problem
        The problems of the selected setting, on all rows.
    candidate, workspace
        The selected kernel and scaling, and the workspace of all rows.
    prepared : PreparedRows or None
        The rows prepared for it, if that was the only preparation.
    splits : sequence of FoldRows
        The folds, by indices of all rows.
    values : array of shape (n_tested, n_machines)
        The out-of-fold decision values of the selected setting.
    statuses : tuple of Status
        The status of every machine that was fitted.
    """

    params: dict[str, Any]
    index: int
    score: float
    results: dict[str, Any]
    problems: list[Problem]
    candidate: Candidate
    workspace: Workspace
    prepared: PreparedRows | None
    splits: Sequence[FoldRows]
    values: FloatArray
    statuses: tuple[Status, ...]

    @property
    def tested(self) -> IntArray:
        """The tested rows of all folds, one fold after another."""
        return np.concatenate([split.tested for split in self.splits])

    def prepare(self) -> PreparedRows:
        """Return all rows, prepared for the selected kernel and scaling."""
        return self.workspace.prepare(self.candidate) if self.prepared is None else self.prepared

    def on_all_rows(
        self,
        rows: IntArray,
        workspace: Workspace,
        variants: Sequence[Variant],
        tried: Sequence[Variant],
    ) -> Self:
        """Return the selection on some rows, by `tried` variants, as one on all rows."""
        (place,) = (k for k, each in enumerate(tried) if each.problems is self.problems)
        return replace(
            self,
            problems=variants[place].problems,
            workspace=workspace,
            prepared=None,
            splits=[FoldRows(rows[each.held_out], rows[each.tested]) for each in self.splits],
        )

    def after(self, earlier: Sequence[Status]) -> Self:
        """Return the selection with the statuses of machines that were fitted before."""
        return replace(self, statuses=(*earlier, *self.statuses))


@dataclass(frozen=True, eq=False)
class RankedTrials:
    """The trials of all settings, and which of them is the best at which C.

    Of equal scores the smallest C of the grid is the best, then the setting that comes first.
    """

    results: dict[str, Any]
    index: int
    place: int
    score: float

    @classmethod
    def from_trials(
        cls,
        settings: Sequence[dict[str, Any]],
        trials: Sequence[Trial],
        grids: Sequence[PenaltyGrid],
        scoring: Any,
    ) -> Self:
        """Rank the trials of settings, each with the values of C of its grid."""
        scores = np.concatenate([trial.scores for trial in trials])
        means = comparable_means(scores)
        check_means(means, scoring)
        penalties = np.concatenate([grid.values for grid in grids])
        owner = np.repeat(np.arange(len(trials)), [len(trial.Cs) for trial in trials])
        params = [{**settings[k], "C": C} for k, trial in enumerate(trials) for C in trial.Cs]
        index = int(np.lexsort((owner, penalties, -means))[0])
        return cls(
            results=cross_validation_results(params, scores),
            index=index,
            place=int(owner[index]),
            score=float(means[index]),
        )

    @property
    def params(self) -> dict[str, Any]:
        """The best setting, C included."""
        return self.results["params"][self.index]


def search_grid(
    validation: CrossValidation,
    workspace: Workspace,
    candidates: Sequence[Candidate],
    labels: Sequence[dict[str, Any]],
    variants: Sequence[Variant],
    grids: Sequence[PenaltyGrid],
    scoring: Any,
    task: Task,
) -> Selection:
    """Cross-validate every candidate with every variant and C, and return the best.

    Parameters
    ----------
    validation : CrossValidation
        Rows, folds and scorer.
    workspace : Workspace
        The backend's workspace for these rows.
    candidates, labels
        Kernels and scalings, and their names in the results.
    variants : sequence of Variant
        Other settings.
    grids : sequence of PenaltyGrid
        The values of C of each candidate.
    scoring : object
        The name of the score, for messages.
    task : Task
        Progress.
    """

    def evaluate(place: int, prepared: PreparedRows) -> list[Trial]:
        Cs = grids[place].at(prepared)
        return [validation.run(prepared, each.problems, Cs, task) for each in variants]

    only = workspace.prepare(candidates[0]) if len(candidates) == 1 else None
    found = workspace.map(candidates, evaluate) if only is None else [evaluate(0, only)]
    trials = [trial for trials in found for trial in trials]
    settings = [{**label, **variant.settings} for label in labels for variant in variants]
    each_grid = [grid for grid in grids for _ in variants]
    ranked = RankedTrials.from_trials(settings, trials, each_grid, scoring)
    candidate, variant = divmod(ranked.place, len(variants))
    return Selection(
        ranked.params,
        ranked.index,
        ranked.score,
        ranked.results,
        variants[variant].problems,
        candidates[candidate],
        workspace,
        only,
        validation.splits,
        trials[ranked.place].values,
        tuple(status for trial in trials for status in trial.statuses),
    )

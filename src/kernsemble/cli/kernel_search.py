"""Model selection of ``kernsemble fit``: the kernels to compare, and the leaderboard."""

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from kernsemble._folds import fold_scores
from kernsemble._model_cards import VOTE
from kernsemble.cli.console import CommandError
from kernsemble.cli.training_data import TrainingData
from kernsemble.cli.wording import in_options
from kernsemble.inspection.scores import Score, fold_score
from kernsemble.preprocessing import ScalingKind
from kernsemble.solvers.losses import LearningTask, losses_for
from kernsemble.svm.backends import solver_names

__all__ = [
    "LOSSES",
    "SCALINGS",
    "SOLVERS",
    "KernelSearch",
    "LeaderboardEntry",
    "leaderboard",
    "search_summary",
]

AUTO = "auto"
SCALINGS: tuple[str, ...] = get_args(ScalingKind)
SOLVERS: tuple[str, ...] = solver_names()
LOSSES: dict[str, tuple[str, ...]] = {task: losses_for(task) for task in get_args(LearningTask)}

MAX_FIVE_FOLDS = 20_000  # number of rows up to which the default is five folds; beyond, three


class KernelSearch(NamedTuple):
    """Settings of the model selection; "auto" is that of the estimators."""

    kernels: tuple[str, ...] = (AUTO,)
    scaling: str = AUTO
    solver: str = AUTO
    loss: str = AUTO
    folds: int | None = None
    scoring: str | None = None
    seed: int = 0
    memory: float | None = None  # megabytes for kernel matrices
    tol: float | None = None
    max_iter: int | None = None
    n_pairs: int | Literal["auto"] = 0

    def estimator(self, data: TrainingData) -> Any:
        """Return the unfitted estimator that selects kernel, scaling and C by cross-validation."""
        from sklearn.model_selection import KFold, StratifiedKFold

        from kernsemble.svm import InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV

        is_classifier, is_automatic = data.task == "classification", self.kernels == (AUTO,)
        folds = StratifiedKFold if is_classifier else KFold
        family = InfiniteEnsembleClassifierCV if is_classifier else InfiniteEnsembleRegressorCV
        every = AUTO if is_automatic else list(SCALINGS)
        scaling: Any = every if self.scaling == AUTO else self.scaling
        estimator = family(
            kernel=AUTO if is_automatic else list(self.kernels),
            scaling=scaling,
            cv=folds(self._n_folds(data), shuffle=True, random_state=self.seed),
            scoring=self.scoring,
            random_state=self.seed,
            solver=self.solver,
            loss=self.loss,
            cache_size=self.memory,
            max_iter=self.max_iter,
            n_pairs=self.n_pairs,
        )
        return estimator if self.tol is None else estimator.set_params(tol=self.tol)

    def streamed_estimator(self, task: LearningTask, n_folds: int, is_on_dask: bool) -> Any:
        """Return the unfitted estimator for rows in blocks, with `n_folds` folds by default."""
        if is_on_dask:
            from kernsemble import dask as family
        else:
            from kernsemble import svm as family  # type: ignore[no-redef]

        kind = "Classifier" if task == "classification" else "Regressor"
        make = getattr(family, f"{'Dask' * is_on_dask}InfiniteEnsemble{kind}CV")
        is_automatic = self.kernels == (AUTO,)
        every = AUTO if is_automatic else list(SCALINGS)
        estimator = make(
            kernel=AUTO if is_automatic else list(self.kernels),
            scaling=every if self.scaling == AUTO else self.scaling,
            cv=self.folds or n_folds,
            scoring=self.scoring,
            random_state=self.seed,
            solver=self.solver,
            loss=self.loss,
            cache_size=self.memory,
            max_iter=self.max_iter,
        )
        return estimator if self.tol is None else estimator.set_params(tol=self.tol)

    def metric(self, task: LearningTask) -> str:
        """Return the name of the score that models are compared by."""
        return self.scoring or ("accuracy" if task == "classification" else "r2")

    def _n_folds(self, data: TrainingData) -> int:
        """Return the number of folds; every class must have at least as many rows."""
        n_folds = self.folds or (5 if data.n_rows <= MAX_FIVE_FOLDS else 3)
        if data.task == "classification":
            classes, counts = np.unique(data.y, return_counts=True)
            if counts.min() < n_folds:
                rarest = classes[np.argmin(counts)]
                raise CommandError(
                    f"--target: class {rarest!s} has {counts.min()} rows, fewer than the {n_folds} "
                    f"folds: use --folds {max(2, counts.min())}, more rows of it, or merge it "
                    "with another class"
                )
        elif data.n_rows < n_folds:
            raise CommandError(
                f"there are {data.n_rows} rows, fewer than --folds {n_folds}: use more rows or "
                "fewer folds"
            )
        return n_folds


class LeaderboardEntry(NamedTuple):
    """A kernel with a scaling, its best C, and its score; a vote has no scaling and no C."""

    kernel: str
    scaling: str | None
    C: float | None
    score: Score


def leaderboard(model: Any, metric: str) -> list[LeaderboardEntry]:
    """Return the kernels and scalings that were cross-validated on all rows, the best first.

    Every score is a mean over the same folds, at the best C. A vote, which is the model if there
    is one, is first. Candidates that a race eliminated on samples of the rows are not listed, since
    their scores are not comparable.
    """
    results = model.cv_results_
    folds = fold_scores(results)
    best: dict[tuple[str, str], LeaderboardEntry] = {}
    order = np.argsort(results["rank_test_score"], kind="stable")
    for place in (int(model.best_index_), *order.tolist()):
        params = results["params"][place]
        key = str(params["kernel"]), str(params["scaling"])
        if key not in best:
            score = fold_score(metric, folds[place], most=1.0)
            is_vote = key[0] == VOTE
            best[key] = LeaderboardEntry(
                key[0],
                None if is_vote else key[1],
                None if is_vote else params["C"],
                score,
            )
    return list(best.values())


def search_summary(model: Any) -> str:
    """Return a line about the settings that were compared, and those left out."""
    return in_options(model.search_summary_)

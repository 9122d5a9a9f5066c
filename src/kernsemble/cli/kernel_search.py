"""Model selection of ``kernsemble fit``: the kernels to compare, and the leaderboard."""

from typing import Any, NamedTuple, get_args

import numpy as np

from kernsemble._folds import fold_scores
from kernsemble.cli.console import CommandError
from kernsemble.cli.training_data import TrainingData
from kernsemble.inspection.scores import Score, fold_score
from kernsemble.preprocessing import ScalingKind
from kernsemble.solvers.losses import LearningTask, losses_for
from kernsemble.svm.backends import solver_names

__all__ = ["LOSSES", "SCALINGS", "SOLVERS", "KernelSearch", "LeaderboardEntry", "leaderboard"]

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

    def estimator(self, data: TrainingData) -> Any:
        """Return the unfitted estimator that selects kernel, scaling and C by cross-validation."""
        from sklearn.model_selection import KFold, StratifiedKFold

        from kernsemble.svm import InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV

        is_classifier, is_automatic = data.task == "classification", self.kernels == (AUTO,)
        folds = StratifiedKFold if is_classifier else KFold
        family = InfiniteEnsembleClassifierCV if is_classifier else InfiniteEnsembleRegressorCV
        every = AUTO if is_automatic else list(SCALINGS)
        scaling: Any = every if self.scaling == AUTO else self.scaling
        return family(
            kernel=AUTO if is_automatic else list(self.kernels),
            scaling=scaling,
            cv=folds(self._n_folds(data), shuffle=True, random_state=self.seed),
            scoring=self.scoring,
            random_state=self.seed,
            solver=self.solver,
            loss=self.loss,
        )

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
    """A kernel with a scaling: its best C, its score, and the number of rows it was scored on."""

    kernel: str
    scaling: str
    C: float
    score: Score
    n_rows: int


def leaderboard(model: Any, metric: str, n_rows: int) -> list[LeaderboardEntry]:
    """Return the kernels and scalings that were compared, the best first.

    In a race, those eliminated on part of the rows follow those scored on more.
    """
    compared = _cross_validated(model, metric, n_rows)
    raced = getattr(model, "race_results_", None)
    if raced:
        known = {(_family(each.kernel), each.scaling) for each in compared}
        compared += [
            each
            for each in _raced(raced, metric)
            if (_family(each.kernel), each.scaling) not in known
        ]
    return compared


def _cross_validated(model: Any, metric: str, n_rows: int) -> list[LeaderboardEntry]:
    results = model.cv_results_
    folds = fold_scores(results)
    best: dict[tuple[str, str], LeaderboardEntry] = {}
    order = np.argsort(results["rank_test_score"], kind="stable")
    for place in (int(model.best_index_), *order.tolist()):
        params = results["params"][place]
        key = str(params["kernel"]), str(params["scaling"])
        if key not in best:
            score = fold_score(metric, folds[place], most=1.0)
            best[key] = LeaderboardEntry(*key, params["C"], score, n_rows)
    return list(best.values())


def _raced(results: dict[str, list[Any]], metric: str) -> list[LeaderboardEntry]:
    """Return the best kernel of each family and scaling, on the most rows it was scored on."""
    names = ("kernel", "scaling", "C", "mean_test_score", "n_rows")
    entries = [
        LeaderboardEntry(
            str(kernel), str(scaling), C, Score(metric, mean, np.nan, np.nan, "none"), n
        )
        for kernel, scaling, C, mean, n in zip(*(results[name] for name in names), strict=True)
    ]
    entries.sort(key=lambda each: (-each.n_rows, -np.nan_to_num(each.score.value, nan=-np.inf)))
    best: dict[tuple[str, str], LeaderboardEntry] = {}
    for each in entries:
        best.setdefault((_family(each.kernel), each.scaling), each)
    return list(best.values())


def _family(kernel: str) -> str:
    return kernel.partition("(")[0].lower()

"""Which kernels contend for a table, and who won: the leaderboard."""

from typing import Any, NamedTuple

import numpy as np

from kernsemble.cli.console import CommandError
from kernsemble.cli.samples import Sample
from kernsemble.inspection.scores import Score, fold_score

__all__ = ["Contender", "Contest", "leaderboard"]

RACE_ROWS = 5_000  # up to so many, kernels that need a matrix race
FEW_ROWS = 20_000  # up to so many, five folds; beyond, three
SCALINGS = ("range", "rank", "distinct")


class Contest(NamedTuple):
    """What is asked of the choice of a kernel; "auto" stands for what suits the table."""

    kernels: tuple[str, ...] = ("auto",)
    scaling: str = "auto"
    solver: str = "auto"
    loss: str = "auto"
    folds: int | None = None
    scoring: str | None = None
    seed: int = 0

    def is_race(self, sample: Sample) -> bool:
        """Whether kernels that need a matrix race: on few rows of numbers, all of them there."""
        return (
            self.kernels == ("auto",)
            and self.solver != "additive"
            and self.loss in ("auto", "hinge", "epsilon_insensitive")
            and sample.n_rows <= RACE_ROWS
            and not sample.has_categories
            and not sample.has_missing
        )

    def estimator(self, sample: Sample) -> Any:
        """Return the estimator that chooses, not fitted."""
        from sklearn.model_selection import KFold, StratifiedKFold

        from kernsemble.svm import InfiniteEnsembleClassifierCV, InfiniteEnsembleRegressorCV

        is_classifier, is_race = sample.task == "classification", self.is_race(sample)
        n_folds = self._n_folds(sample)
        folds = StratifiedKFold if is_classifier else KFold
        settings: dict[str, Any] = {
            "cv": folds(n_folds, shuffle=True, random_state=self.seed),
            "scoring": self.scoring,
            "random_state": self.seed,
            **self._solving(sample, is_race),
        }
        if is_race:
            settings |= {"kernel": "auto"}
            settings |= {} if self.scaling == "auto" else {"scaling": self.scaling}
        else:
            kernels = ["stump"] if self.kernels == ("auto",) else list(self.kernels)
            scalings = list(SCALINGS) if self.scaling == "auto" else [self.scaling]
            settings |= {"kernel": kernels, "scaling": scalings}
        family = InfiniteEnsembleClassifierCV if is_classifier else InfiniteEnsembleRegressorCV
        return family(**settings)

    def _solving(self, sample: Sample, is_race: bool) -> dict[str, str]:
        """Return solver and loss: on tables by default the smooth ones, which are quick there."""
        on_tables = self.solver == "additive" or (self.kernels == ("auto",) and not is_race)
        if self.loss != "auto":
            loss = {"loss": self.loss}
        elif on_tables and self.solver != "exact":
            loss = {"loss": "logistic" if sample.task == "classification" else "squared"}
        else:
            loss = {}
        return {"solver": self.solver, **loss}

    def _n_folds(self, sample: Sample) -> int:
        """Return how many folds; every class must have as many rows."""
        n_folds = self.folds or (5 if sample.n_rows <= FEW_ROWS else 3)
        if sample.task == "classification":
            classes, counts = np.unique(sample.y, return_counts=True)
            if counts.min() < n_folds:
                rarest = classes[np.argmin(counts)]
                raise CommandError(
                    f"--target: class {rarest!s} has {counts.min()} rows, and {n_folds} folds need "
                    f"as many: give --folds {max(2, counts.min())} if it has, or join it to another"
                )
        elif sample.n_rows < n_folds:
            raise CommandError(
                f"there are {sample.n_rows} rows, and --folds {n_folds} needs as many: give more"
            )
        return n_folds


class Contender(NamedTuple):
    """A kernel on a scale, its best C, its score, and the rows that it was tried on."""

    kernel: str
    scaling: str
    C: float
    score: Score
    n_rows: int


def leaderboard(model: Any, metric: str, n_rows: int) -> list[Contender]:
    """Return the kernels and scalings that were tried, the best first.

    In a race, those that fell behind on part of the rows follow those that were tried on more.
    """
    tried = _cross_validated(model, metric, n_rows)
    raced = getattr(model, "race_results_", None)
    if raced:
        known = {(_family(each.kernel), each.scaling) for each in tried}
        tried += [
            each
            for each in _raced(raced, metric)
            if (_family(each.kernel), each.scaling) not in known
        ]
    return tried


def _cross_validated(model: Any, metric: str, n_rows: int) -> list[Contender]:
    results = model.cv_results_
    n_folds = sum(name.startswith("split") for name in results)
    folds = np.column_stack([results[f"split{fold}_test_score"] for fold in range(n_folds)])
    best: dict[tuple[str, str], Contender] = {}
    order = np.argsort(results["rank_test_score"], kind="stable")
    for place in (int(model.best_index_), *order.tolist()):
        chosen = results["params"][place]
        key = str(chosen["kernel"]), str(chosen["scaling"])
        if key not in best:
            best[key] = Contender(
                *key, chosen["C"], fold_score(metric, folds[place], most=1.0), n_rows
            )
    return list(best.values())


def _raced(results: dict[str, list[Any]], metric: str) -> list[Contender]:
    """Return the best of each family on each scale, where it got farthest."""
    names = ("kernel", "scaling", "C", "mean_test_score", "n_rows")
    entries = [
        Contender(str(kernel), str(scaling), C, Score(metric, mean, np.nan, np.nan, "none"), n)
        for kernel, scaling, C, mean, n in zip(*(results[name] for name in names), strict=True)
    ]
    entries.sort(key=lambda each: (-each.n_rows, -np.nan_to_num(each.score.value, nan=-np.inf)))
    best: dict[tuple[str, str], Contender] = {}
    for each in entries:
        best.setdefault((_family(each.kernel), each.scaling), each)
    return list(best.values())


def _family(kernel: str) -> str:
    return kernel.partition("(")[0].lower()

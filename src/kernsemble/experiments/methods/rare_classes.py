"""Rankings of rows by how likely they are rare: LAGO, and what it is compared with (Zhu 2008)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernsemble.boosting import AdaBoostClassifier
from kernsemble.detection import LagoClassifier, average_precision, hit_curve
from kernsemble.detection.neighbours import KernelShape
from kernsemble.experiments.methods.measures import Method, Values, compile_by_fitting, timed
from kernsemble.experiments.problems import Problem
from kernsemble.svm import InfiniteEnsembleClassifierCV

SHAPES: tuple[KernelShape, KernelShape] = ("spherical", "elliptical")
MANY = 50_000  # rows: from so many on rivals get less of them
SVC_ROWS, FEW_TREES, TREES = 5_000, 50, 200
HITS_AT = np.arange(0.0, 3.01, 0.25)  # times the number of rare rows


def lago(X: Any, y: Any) -> Any:
    """Return LAGO as it comes, its alpha chosen by inner folds."""
    return LagoClassifier(rare=1).fit(X, y)


def chosen_lago(X: Any, y: Any) -> Any:
    """Return the best machine, three of each shape, by the average precision on inner folds."""
    machines = []
    for shape in SHAPES[:1] if len(y) >= MANY else SHAPES:
        machines += [
            make_pipeline(LagoClassifier(shape, scaling="range")),
            make_pipeline(LagoClassifier(shape, scaling="rank")),
            make_pipeline(StandardScaler(), LagoClassifier(shape, scaling=None)),
        ]
    return max((each.fit(X, y) for each in machines), key=lambda each: each[-1].best_score_[0])


def tuned_svc(X: Any, y: Any) -> Any:
    """Return the SVC with the best C and gamma, on some of the background if there is too much."""
    if len(y) >= MANY:
        background = np.random.default_rng(0).permutation(np.flatnonzero(y == 0))
        rows = np.append(np.flatnonzero(y == 1), background[: SVC_ROWS - y.sum()])
        X, y = X[rows], y[rows]
    grid = {
        "svc__C": [1.0, 10.0, 100.0],
        "svc__gamma": [factor / X.shape[1] for factor in (0.1, 1.0, 10.0)],
    }
    machine = make_pipeline(StandardScaler(), SVC(class_weight="balanced", cache_size=1000))
    return GridSearchCV(machine, grid, scoring="average_precision", cv=3).fit(X, y)


def forest(X: Any, y: Any) -> Any:
    """Return a forest in whose trees the classes weigh the same."""
    n_trees = FEW_TREES if len(y) >= MANY else TREES
    return RandomForestClassifier(n_trees, class_weight="balanced_subsample", random_state=0).fit(
        X, y
    )


def boosted_stumps(X: Any, y: Any) -> Any:
    """Return AdaBoost with a hundred stumps."""
    return AdaBoostClassifier(n_estimators=100).fit(X, y)


def boosted_trees(X: Any, y: Any) -> Any:
    """Return boosted trees to which the classes weigh the same."""
    return HistGradientBoostingClassifier(class_weight="balanced", random_state=0).fit(X, y)


def automatic_machine(X: Any, y: Any) -> Any:
    """Return the machine of a kernel that is chosen, its C for the accuracy, not the ranking."""
    return InfiniteEnsembleClassifierCV("auto", random_state=0).fit(X, y)


def scores_of(model: Any, X: Any) -> Any:
    """Return what a model ranks rows by."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1]


def ranked(fitted: Callable[[Any, Any], Any], problem: Problem, _: int) -> Values:
    """Return how much of the average precision is lost, in per cent, and hits among the first.

    "hits@r" is the share, in per cent, of the rare test rows among the first so many times as
    there are rare ones.
    """
    compile_by_fitting(fitted.__name__, fitted, problem)
    model, seconds = timed(lambda: fitted(problem.X, problem.y))
    scores, n_rare = scores_of(model, problem.X_test), problem.y_test.sum()
    hits = 100.0 * hit_curve(problem.y_test, scores).hits(HITS_AT * n_rare) / n_rare
    return {
        "lost": 100.0 * (1.0 - average_precision(problem.y_test, scores)),
        "fit": seconds,
        **{f"hits@{at:g}": each for at, each in zip(HITS_AT, hits, strict=True)},
    }


FITTED: dict[str, Callable[[Any, Any], Any]] = {
    "LAGO": lago,
    "LAGO, chosen": chosen_lago,
    "SVC balanced": tuned_svc,
    "random forest balanced": forest,
    "AdaBoost ranking": boosted_stumps,
    "HistGradientBoosting balanced": boosted_trees,
    "auto ranking": automatic_machine,
}
METHODS: dict[str, Method] = {name: partial(ranked, each) for name, each in FITTED.items()}

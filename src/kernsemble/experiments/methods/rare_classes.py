"""Rankings of rows for the detection of rare classes: LAGO and its rivals (Zhu 2008)."""

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
from kernsemble.experiments.paper_data import TrainTestData
from kernsemble.svm import InfiniteEnsembleClassifierCV

SHAPES: tuple[KernelShape, KernelShape] = ("spherical", "elliptical")
MANY = 50_000  # number of rows above which rivals get fewer rows or trees
SVC_ROWS, FEW_TREES, TREES = 5_000, 50, 200
HITS_AT = np.arange(0.0, 3.01, 0.25)  # lengths of the ranking, in numbers of rare rows


def lago(X: Any, y: Any) -> Any:
    """Return LAGO with default settings, its alpha selected by inner folds."""
    return LagoClassifier(rare=1).fit(X, y)


def tuned_lago(X: Any, y: Any) -> Any:
    """Return the best of three scalings per shape, by average precision on inner folds."""
    machines = []
    for shape in SHAPES[:1] if len(y) >= MANY else SHAPES:
        machines += [
            make_pipeline(LagoClassifier(shape, scaling="range")),
            make_pipeline(LagoClassifier(shape, scaling="rank")),
            make_pipeline(StandardScaler(), LagoClassifier(shape, scaling=None)),
        ]
    return max((each.fit(X, y) for each in machines), key=lambda each: each[-1].best_score_[0])


def tuned_svc(X: Any, y: Any) -> Any:
    """Return the SVC with the best C and gamma, on part of the background of many rows."""
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
    """Return a random forest with balanced classes."""
    n_trees = FEW_TREES if len(y) >= MANY else TREES
    return RandomForestClassifier(n_trees, class_weight="balanced_subsample", random_state=0).fit(
        X, y
    )


def boosted_stumps(X: Any, y: Any) -> Any:
    """Return AdaBoost with a hundred stumps."""
    return AdaBoostClassifier(n_estimators=100).fit(X, y)


def boosted_trees(X: Any, y: Any) -> Any:
    """Return boosted trees with balanced classes."""
    return HistGradientBoostingClassifier(class_weight="balanced", random_state=0).fit(X, y)


def automatic_machine(X: Any, y: Any) -> Any:
    """Return the machine with a selected kernel, its C tuned for accuracy, not for ranking."""
    return InfiniteEnsembleClassifierCV("auto", loss="hinge", random_state=0).fit(X, y)


def ranking_scores(model: Any, X: Any) -> Any:
    """Return the scores by which a model ranks rows."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1]


def ranked(fitted: Callable[[Any, Any], Any], data: TrainTestData, _: int) -> Values:
    """Return 100 minus the average precision in per cent, and the hits among the first rows.

    "hits@r" is the percentage of all rare test rows that are among the first r × n rows, n being
    the number of rare rows.
    """
    compile_by_fitting(fitted.__name__, fitted, data)
    model, seconds = timed(lambda: fitted(data.X, data.y))
    scores, n_rare = ranking_scores(model, data.X_test), data.y_test.sum()
    hits = 100.0 * hit_curve(data.y_test, scores).hits(HITS_AT * n_rare) / n_rare
    return {
        "lost": 100.0 * (1.0 - average_precision(data.y_test, scores)),
        "fit": seconds,
        **{f"hits@{at:g}": each for at, each in zip(HITS_AT, hits, strict=True)},
    }


FITTED: dict[str, Callable[[Any, Any], Any]] = {
    "LAGO": lago,
    "LAGO, chosen": tuned_lago,
    "SVC balanced": tuned_svc,
    "random forest balanced": forest,
    "AdaBoost ranking": boosted_stumps,
    "HistGradientBoosting balanced": boosted_trees,
    "auto ranking": automatic_machine,
}
METHODS: dict[str, Method] = {name: partial(ranked, each) for name, each in FITTED.items()}

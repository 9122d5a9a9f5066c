"""The scenes that fit estimators to hostile data, and predict with them."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from fuzz.data import Draw, n_rows
from fuzz.estimators import SUBJECTS, Subject
from fuzz.outcomes import BrokenStateError, Call, Scene, fingerprint
from sklearn.base import RegressorMixin, clone

from kernsemble.boosting import AdaBoostClassifier, KernelBoost, LPBoostClassifier
from kernsemble.datasets import make_mixed_table, make_twonorm
from kernsemble.detection import LagoClassifier
from kernsemble.kernels import (
    HistogramIntersection,
    Laplacian,
    Mixed,
    Perceptron,
    Polynomial,
    Stump,
    StumpRegion,
)
from kernsemble.learners import C45Tree, RCDPerceptron
from kernsemble.preprocessing import TableEncoder
from kernsemble.svm import (
    InfiniteEnsembleClassifier,
    InfiniteEnsembleRegressor,
    KernelPerceptron,
    MultiplicativeSVC,
    SVMPath,
)

METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "transform",
    "score_samples",
    "leave_one_out_scores",
    "staged_predict",
    "staged_decision_function",
)
SCORES = ("margins", "staged_score", "score_path")  # `score` is that of scikit-learn
CLASSES_OR_NUMBERS = ("ParallelEvolutionSelector", "KernelBoost")


def drawn_estimator(draw: Draw, subject: Subject) -> Any:
    """Return an unfitted estimator with some settings drawn."""
    estimator = clone(subject.estimator).set_params(**subject.fixed)
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=int(draw.rng.integers(10)))
    return estimator.set_params(**draw.settings(subject.options))


def fits(draw: Draw, subject: Subject) -> Scene:
    """Fit an estimator to hostile rows, predict others, and fit it again."""
    estimator = drawn_estimator(draw, subject)
    name = type(estimator).__name__
    n = draw.count()
    X = draw.rows(n, hostility=0.7)
    y = target_for(draw, estimator, n, 0.25)
    data = [X, y] if name != "TableEncoder" else [X]
    settings = {}
    if draw.chance(0.3) and name not in ("KernelPerceptron", "KernelBoost", "TableEncoder"):
        settings = {"sample_weight": draw.weights(n)}
    probe = draw.rows_like(X, hostility=0.0)
    repeats = draw.chance(0.3)
    fitted = yield Call(
        f"{name}.fit",
        lambda *data, **settings: clone(estimator).fit(*data, **settings),
        tuple(data),
        settings,
        repeats,
        essence=(lambda model: answers(model, probe)) if repeats else (lambda model: None),
    )
    if fitted is None:
        yield from fails(estimator, data, settings)
        return
    yield from predicts(draw, fitted, X, y)
    worse = [draw.rows(hostility=1.0), *data[1:]]
    yield from fails(fitted, worse, settings)


def fails(estimator: Any, data: list[Any], settings: Any) -> Scene:
    """Check that an estimator whose fit fails stays unfitted, or as it was."""
    name = type(estimator).__name__
    yield Call(f"{name}.fit again", state_after, (estimator, data, settings), repeats=False)


def state_after(estimator: Any, data: list[Any], settings: Any) -> None:
    """Fit an estimator; raise an error if that fails and has changed what it answers."""
    parameters = fingerprint(estimator.get_params(deep=False))
    probe = np.zeros((2, getattr(estimator, "n_features_in_", 2)))
    before = answers(estimator, probe)
    try:
        estimator.fit(*data, **settings)
    except Exception as error:
        after = answers(estimator, probe)
        is_unfitted = fingerprint(after) == fingerprint(dict.fromkeys(after, "NotFittedError"))
        if not is_unfitted and fingerprint(after) != fingerprint(before):
            raise BrokenStateError(f"after {error!r}: {before} -> {after}") from error
        if fingerprint(estimator.get_params(deep=False)) != parameters:
            raise BrokenStateError("parameters changed by fit") from error


def answers(model: Any, X: Any) -> dict[str, Any]:
    """Return what a model answers for rows, by method; an error as its name."""
    found: dict[str, Any] = {}
    methods = ("predict", "decision_function", "predict_proba", "transform")
    for method in (each for each in methods if hasattr(model, each)):
        try:
            found[method] = getattr(model, method)(X)
        except Exception as error:  # NotFittedError among them
            found[method] = type(error).__name__
    return found


def predicts(draw: Draw, model: Any, X: Any, y: Any, n_rounds: int = 3) -> Scene:
    """Call the methods of a fitted model on other rows."""
    name = type(model).__name__
    methods = [each for each in METHODS if hasattr(model, each)]
    scores = [each for each in SCORES if hasattr(model, each)]
    for _ in range(n_rounds):
        Z = draw.rows_like(X, hostility=0.8)
        for method in methods:
            if draw.chance(0.5):
                yield Call(
                    f"{name}.{method}",
                    lambda Z, method=method: materialised(getattr(model, method)(Z)),
                    (Z,),
                    is_finite=method != "predict_log_proba",
                )
        if scores and draw.chance(0.5):
            method = draw.one_of(scores)
            target = target_for(draw, model, n_rows(Z), 0.5)
            yield Call(
                f"{name}.{method}",
                lambda Z, y, method=method: materialised(getattr(model, method)(Z, y)),
                (Z, target),
            )


def materialised(answer: Any) -> Any:
    """Return an answer, or the list of those that an iterator yields."""
    return list(answer) if hasattr(answer, "__next__") else answer


def target_for(draw: Draw, estimator: Any, n: int, hostility: float) -> Any:
    """Return a target: numbers for regressors, classes for others."""
    name = type(estimator).__name__
    if isinstance(estimator, RegressorMixin) or (name in CLASSES_OR_NUMBERS and draw.chance(0.5)):
        return draw.numeric_target(n, hostility)
    return draw.classes(n, hostility)


def any_fit(draw: Draw) -> Scene:
    """Draw an estimator and fit it."""
    shares = np.array([subject.weight for subject in SUBJECTS])
    subject = SUBJECTS[draw.rng.choice(len(SUBJECTS), p=shares / shares.sum())]
    return fits(draw, subject)


# -- models that are fitted once per process, to good data


@cache
def numbers() -> tuple[Any, Any]:
    return make_twonorm(30, n_features=3, random_state=0)


@cache
def mixed() -> tuple[Any, Any]:
    X, y = make_mixed_table(60, random_state=0)
    return X, y


def _model(estimator: Any, data: Callable[[], tuple[Any, Any]], is_numeric: bool = False) -> Any:
    def fitted() -> Any:
        X, y = data()
        return clone(estimator).fit(X, X[:, 0] if is_numeric else y), X

    return cache(fitted)


TABLES = {"solver": "additive", "loss": "logistic"}
MODELS = [
    _model(InfiniteEnsembleClassifier(calibration="sigmoid"), numbers),
    _model(InfiniteEnsembleClassifier(calibration="isotonic", scaling="rank"), numbers),
    _model(InfiniteEnsembleClassifier("perceptron"), numbers),
    _model(InfiniteEnsembleClassifier("laplacian", scaling=None), numbers),
    _model(InfiniteEnsembleClassifier(Polynomial(3)), numbers),
    _model(InfiniteEnsembleClassifier(HistogramIntersection()), numbers),
    _model(InfiniteEnsembleClassifier(Stump() & Perceptron()), numbers),
    _model(InfiniteEnsembleClassifier(StumpRegion(3)), numbers),
    _model(InfiniteEnsembleClassifier("laplacian", solver="local", loss="squared"), numbers),
    _model(InfiniteEnsembleClassifier(Laplacian(), scaling="learned"), numbers),
    _model(InfiniteEnsembleClassifier(**TABLES), numbers),
    _model(InfiniteEnsembleClassifier("perceptron", n_slices=3, random_state=0, **TABLES), numbers),
    _model(InfiniteEnsembleClassifier("laplacian", n_grids=8, random_state=0, **TABLES), numbers),
    _model(InfiniteEnsembleClassifier(n_pairs=1, **TABLES), numbers),
    _model(InfiniteEnsembleClassifier(), mixed),
    _model(InfiniteEnsembleClassifier(**TABLES), mixed),
    _model(InfiniteEnsembleClassifier(Mixed(Laplacian()), solver="exact"), mixed),
    _model(InfiniteEnsembleClassifier(Laplacian(), scaling="effects"), mixed),
    _model(InfiniteEnsembleRegressor(), numbers, True),
    _model(InfiniteEnsembleRegressor("laplacian", loss="squared"), numbers, True),
    _model(SVMPath(), numbers),
    _model(MultiplicativeSVC(tol=0.1), numbers),
    _model(KernelPerceptron(variant="voted", n_epochs=2), numbers),
    _model(AdaBoostClassifier(n_estimators=5), numbers),
    _model(AdaBoostClassifier(C45Tree(), n_estimators=3), numbers),
    _model(LPBoostClassifier(C=1.0), numbers),
    _model(KernelBoost(n_rounds=2), numbers),
    _model(C45Tree(), numbers),
    _model(RCDPerceptron(n_epochs=3, random_state=0), numbers),
    _model(LagoClassifier(cv=2), numbers),
    _model(TableEncoder(), mixed),
]


def any_prediction(draw: Draw) -> Scene:
    """Predict hostile rows with a model of good data."""
    model, X = draw.one_of(MODELS)()
    yield from predicts(draw, model, X, None, n_rounds=5)

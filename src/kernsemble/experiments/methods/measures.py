"""Measurements of fitted models: test errors and times."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from kernsemble._typing import IntArray
from kernsemble.experiments.paper_data import TrainTestData

Values: TypeAlias = dict[str, float]
Method: TypeAlias = Callable[[TrainTestData, int], Values]
Result = TypeVar("Result")

N_WARMING = 30  # number of rows per class of a fit that compiles all code
_compiled: set[tuple[str, bool]] = set()  # names of fitted models, and whether rows were sparse


def fit_and_test(estimator: Any, data: TrainTestData, seed: int) -> Values:
    """Fit an estimator; return its test error in per cent and the seconds of the fit."""
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    seconds = fit_seconds(model, data)
    return {"error": error_percent(model, data), "fit": seconds}


def fit_seconds(model: Any, data: TrainTestData) -> float:
    """Fit a model to the training rows; return the processor time in seconds.

    The first fit in a process is preceded by a fit of a copy to a few rows, so that compilation
    is not timed.
    """
    compile_by_fitting(repr(model), clone(model).fit, data)
    return timed(lambda: model.fit(data.X, data.y))[1]


def compile_by_fitting(name: str, fit: Callable[[Any, Any], Any], data: TrainTestData) -> None:
    """Fit to a few rows of each class if no model of this name was fitted in this process."""
    key = name, issparse(data.X)
    if key not in _compiled:
        few = _few_of_each_class(data.y)
        fit(data.X[few], data.y[few])
        _compiled.add(key)


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """Return the result of work, and its processor time in seconds.

    A cell has one thread, so that this is the elapsed time on an idle computer.
    """
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def _few_of_each_class(y: Any) -> IntArray:
    return np.concatenate([np.flatnonzero(y == each)[:N_WARMING] for each in np.unique(y)])


def error_percent(model: Any, data: TrainTestData) -> float:
    """Return the error of a fitted model on the test rows, in per cent."""
    return 100.0 * float(np.mean(model.predict(data.X_test) != data.y_test))

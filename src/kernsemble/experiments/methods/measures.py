"""What is measured of a model that was fitted to a problem."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from kernsemble._typing import IntArray
from kernsemble.experiments.problems import Problem

Values: TypeAlias = dict[str, float]
Method: TypeAlias = Callable[[Problem, int], Values]
Result = TypeVar("Result")

N_WARMING = 30  # rows of a class that are enough to have everything compiled
_compiled: set[tuple[str, bool]] = set()  # models, and whether rows are sparse, fitted before


def tested(estimator: Any, problem: Problem, seed: int) -> Values:
    """Fit an estimator; return its test error in per cent and the seconds of the fit."""
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    seconds = seconds_of_fit(model, problem)
    return {"error": error_of(model, problem), "fit": seconds}


def seconds_of_fit(model: Any, problem: Problem) -> float:
    """Fit a model to the training rows; return the seconds of the processor that it took.

    The first time in a process a copy is fitted to a few rows before, so that what is compiled
    is not timed.
    """
    compile_by_fitting(repr(model), clone(model).fit, problem)
    return timed(lambda: model.fit(problem.X, problem.y))[1]


def compile_by_fitting(name: str, fit: Callable[[Any, Any], Any], problem: Problem) -> None:
    """Fit what has this name to a few rows of each class, the first time in a process."""
    key = name, issparse(problem.X)
    if key not in _compiled:
        few = _few_of_each_class(problem.y)
        fit(problem.X[few], problem.y[few])
        _compiled.add(key)


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """Return what work returns, and the seconds of the processor that it took.

    A cell has one thread, so that these are the seconds that pass where nothing else runs.
    """
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def _few_of_each_class(y: Any) -> IntArray:
    return np.concatenate([np.flatnonzero(y == each)[:N_WARMING] for each in np.unique(y)])


def error_of(model: Any, problem: Problem) -> float:
    """Return the error of a fitted model on the test rows, in per cent."""
    return 100.0 * float(np.mean(model.predict(problem.X_test) != problem.y_test))

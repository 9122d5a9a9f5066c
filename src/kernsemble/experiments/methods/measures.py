"""What is measured of a model that was fitted to a problem."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone

from kernsemble.experiments.problems import Problem

Values: TypeAlias = dict[str, float]
Method: TypeAlias = Callable[[Problem, int], Values]


def tested(estimator: Any, problem: Problem, seed: int) -> Values:
    """Fit an estimator; return its test error in per cent and the seconds of the fit."""
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    seconds = seconds_of_fit(model, problem)
    return {"error": error_of(model, problem), "fit": seconds}


def seconds_of_fit(model: Any, problem: Problem) -> float:
    """Fit a model to the training rows; return the seconds of the processor that it took.

    A cell has one thread, so that these are the seconds that pass where nothing else runs.
    """
    start = time.process_time()
    model.fit(problem.X, problem.y)
    return time.process_time() - start


def error_of(model: Any, problem: Problem) -> float:
    """Return the error of a fitted model on the test rows, in per cent."""
    return 100.0 * float(np.mean(model.predict(problem.X_test) != problem.y_test))

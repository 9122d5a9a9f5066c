"""Perceptrons with given and with learned kernels (Crammer et al. 2002)."""

from functools import partial
from typing import Any

import numpy as np

from kernsemble.boosting import KernelBoost
from kernsemble.experiments.methods.measures import Method, Values, error_percent
from kernsemble.experiments.paper_data import TrainTestData
from kernsemble.kernels import Boosted, Gaussian, Kernel, Linear, alignment
from kernsemble.svm import KernelPerceptron

N_EPOCHS = 10
STRETCH = 20  # number of visits whose mistakes are averaged
ROUNDS: dict[Any, int] = {"log": 30, "exp": 50}  # number of rounds by loss
ROUNDS_ON_TEST_ROWS = 100


def perceptron_on(kernel: Kernel, data: TrainTestData) -> Values:
    """Train a perceptron on the rows in order; return its mistakes, and its errors by epoch.

    "error@e" is the test error after e epochs, "online@v" that of the visits around the v-th of
    the first epoch, all in per cent. "mistakes" and "examples", the updates and the visits until
    the training rows are separated, are returned only if they are.
    """
    machine = KernelPerceptron(kernel, "last", n_epochs=N_EPOCHS, shuffle=False)
    machine.fit(data.X, data.y)
    n, steps = len(data.y), machine.mistake_steps_[0]
    online = np.bincount(steps[steps < n], minlength=n).astype(float)
    scores = list(machine.staged_score(data.X_test, data.y_test))
    K, y = machine.kernel_(data.X_test), np.asarray(data.y_test, dtype=float)
    values = {
        "error": 100.0 * (1.0 - scores[-1]),
        "online": 100.0 * online.mean(),
        "alignment": alignment(K, np.outer(y, y)),
        "not separated": 0.0 if np.isfinite(machine.separated_after_[0]) else 100.0,
        **{f"error@{e}": 100.0 * (1.0 - score) for e, score in enumerate(scores, start=1)},
        **{
            f"online@{start + STRETCH // 2}": 100.0 * online[start : start + STRETCH].mean()
            for start in range(0, n, STRETCH)
        },
    }
    if values["not separated"]:
        return values
    until = {"mistakes": len(machine.mistakes_[0]), "examples": machine.separated_after_[0]}
    return values | {name: float(number) for name, number in until.items()}


def _with_dot_product(data: TrainTestData, _: int) -> Values:
    return perceptron_on(Linear(), data)


def _with_learned_kernel(loss: Any, step: Any, scale: float, data: TrainTestData, _: int) -> Values:
    """Learn the kernel from the training rows, multiplied by `scale`."""
    data = data._replace(X=scale * data.X, X_test=scale * data.X_test)
    return perceptron_on(learn_kernel(Linear(), data, loss, step, False), data)


def learn_kernel(
    kernel: Kernel, data: TrainTestData, loss: Any, step: Any, on_test_rows: bool
) -> Boosted:
    """Learn a kernel whose templates are the training rows, or the unlabelled test rows."""
    templates = data.X_test if on_test_rows else None
    booster = KernelBoost(
        kernel, loss, ROUNDS_ON_TEST_ROWS if on_test_rows else ROUNDS[loss], step=step
    )
    return booster.fit(data.X, data.y, templates=templates).kernel_


def _kernels_of_digits(sigma: float, step: Any, data: TrainTestData, _: int) -> Values:
    """Return the errors of a Gaussian kernel and of two learned from it, and their order."""
    given = Gaussian(0.5 / sigma**2)
    learned = learn_kernel(given, data, "log", step, False)
    kernels = {
        "RBF": given,
        "learned": learned,
        "transductive": learn_kernel(given, data, "log", step, True),
    }
    errors = {}
    for name, kernel in kernels.items():
        machine = KernelPerceptron(kernel, n_epochs=N_EPOCHS, random_state=0)
        errors[name] = error_percent(machine.fit(data.X, data.y), data)
    return {
        **errors,
        "learned below": 100.0 * (errors["learned"] < errors["RBF"]),
        "learned not below": 100.0 * (errors["learned"] >= errors["RBF"]),
        "transductive not below": 100.0 * (errors["transductive"] >= errors["learned"]),
        "transductive above": 100.0 * (errors["transductive"] > errors["learned"]),
        "rounds": len(learned.coefficients),
    }


METHODS: dict[str, Method] = {
    "Perceptron": _with_dot_product,
    "Perceptron, learned": partial(_with_learned_kernel, "log", "bound", 1.0),
    "Perceptron, line search": partial(_with_learned_kernel, "log", "line-search", 1.0),
    "Perceptron, ExpLoss": partial(_with_learned_kernel, "exp", "line-search", 1.0),
    "Perceptron, rows times ten": partial(_with_learned_kernel, "log", "bound", 10.0),
    "digits": partial(_kernels_of_digits, 1.0, "bound"),
    "digits, wide": partial(_kernels_of_digits, 8.0, "line-search"),
}

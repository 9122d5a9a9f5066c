"""Perceptrons with kernels that are given and kernels that are learned (Crammer et al. 2002)."""

from functools import partial
from typing import Any

import numpy as np

from kernsemble.boosting import KernelBoost
from kernsemble.experiments.methods.measures import Method, Values, error_of
from kernsemble.experiments.problems import Problem
from kernsemble.kernels import Boosted, Gaussian, Kernel, Linear, alignment
from kernsemble.svm import KernelPerceptron

N_EPOCHS = 10
STRETCH = 20  # visits whose mistakes are told together
ROUNDS: dict[Any, int] = {"log": 30, "exp": 50}  # of each loss
ROUNDS_ON_TEST_ROWS = 100


def perceptron_on(kernel: Kernel, problem: Problem) -> Values:
    """Let a perceptron visit the rows as they come; tell its mistakes, and its errors by epochs.

    "error@e" is the test error after e epochs, "online@v" that of the visits around the v-th of
    the first epoch, all in per cent. "mistakes" and "examples", the updates and the visits until
    the training rows are separated, are told where they are.
    """
    machine = KernelPerceptron(kernel, "last", n_epochs=N_EPOCHS, shuffle=False)
    machine.fit(problem.X, problem.y)
    n, steps = len(problem.y), machine.mistake_steps_[0]
    online = np.bincount(steps[steps < n], minlength=n).astype(float)
    scores = list(machine.staged_score(problem.X_test, problem.y_test))
    K, y = machine.kernel_(problem.X_test), np.asarray(problem.y_test, dtype=float)
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


def _with_dot_product(problem: Problem, _: int) -> Values:
    return perceptron_on(Linear(), problem)


def _with_learned_kernel(loss: Any, step: Any, scale: float, problem: Problem, _: int) -> Values:
    """Learn the kernel from the training rows, multiplied by a number."""
    problem = problem._replace(X=scale * problem.X, X_test=scale * problem.X_test)
    return perceptron_on(learned_from(Linear(), problem, loss, step, False), problem)


def learned_from(
    kernel: Kernel, problem: Problem, loss: Any, step: Any, on_test_rows: bool
) -> Boosted:
    """Learn a kernel whose templates are the training rows, or the test rows without classes."""
    templates = problem.X_test if on_test_rows else None
    booster = KernelBoost(
        kernel, loss, ROUNDS_ON_TEST_ROWS if on_test_rows else ROUNDS[loss], step=step
    )
    return booster.fit(problem.X, problem.y, templates=templates).kernel_


def _kernels_of_digits(sigma: float, step: Any, problem: Problem, _: int) -> Values:
    """Return errors with a Gaussian kernel and two learned from it, and which are not below."""
    given = Gaussian(0.5 / sigma**2)
    learned = learned_from(given, problem, "log", step, False)
    kernels = {
        "RBF": given,
        "learned": learned,
        "transductive": learned_from(given, problem, "log", step, True),
    }
    errors = {}
    for name, kernel in kernels.items():
        machine = KernelPerceptron(kernel, n_epochs=N_EPOCHS, random_state=0)
        errors[name] = error_of(machine.fit(problem.X, problem.y), problem)
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

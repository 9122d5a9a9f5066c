"""The papers' methods: a name tells what is fitted to a problem, and which numbers come of it."""

from kernsemble.experiments.methods import (
    column_selection,
    kernel_boosting,
    libsvm,
    machines,
    nu_comparison,
    rare_classes,
    settings,
    spheres,
)
from kernsemble.experiments.methods.machines import ESTIMATORS
from kernsemble.experiments.methods.measures import Method, Values, tested
from kernsemble.experiments.problems import Problem

__all__ = ["ESTIMATORS", "METHODS", "Method", "Values", "values_of"]

METHODS: dict[str, Method] = {
    **machines.METHODS,
    **libsvm.METHODS,
    **nu_comparison.METHODS,
    **kernel_boosting.METHODS,
    **column_selection.METHODS,
    **rare_classes.METHODS,
    **settings.METHODS,
    **spheres.METHODS,
}


def values_of(method: str, problem: Problem, seed: int) -> Values:
    """Return the numbers that a method tells of a problem."""
    if method in ESTIMATORS:
        return tested(ESTIMATORS[method], problem, seed)
    if method in METHODS:
        return METHODS[method](problem, seed)
    known = ", ".join(sorted([*ESTIMATORS, *METHODS]))
    raise ValueError(f"method = {method!r}: give one of {known}")

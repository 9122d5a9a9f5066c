"""Methods of the papers by name: each fits models to data and returns named numbers."""

from kernsemble._suggestions import suggest
from kernsemble.exceptions import ArgumentError
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
from kernsemble.experiments.methods.measures import Method, Values, fit_and_test
from kernsemble.experiments.paper_data import TrainTestData

__all__ = ["ESTIMATORS", "METHODS", "Method", "Values", "run_method"]

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


def run_method(method: str, data: TrainTestData, seed: int) -> Values:
    """Return the numbers that a method computes from data."""
    if method in ESTIMATORS:
        return fit_and_test(ESTIMATORS[method], data, seed)
    if method in METHODS:
        return METHODS[method](data, seed)
    raise ArgumentError("method", method, suggest(method, sorted([*ESTIMATORS, *METHODS]), n=3))

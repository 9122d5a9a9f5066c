"""Kernels that are ensembles.

A support vector machine whose kernel is an inner product of votes is an ensemble of
the voters: of every decision stump, every perceptron, every tree.
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernsemble._versions import show_versions
    from kernsemble.persistence import load, save

try:
    __version__ = version("kernsemble")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "unknown"

__all__ = [
    "boosting",
    "dask",
    "datasets",
    "detection",
    "exceptions",
    "experiments",
    "export",
    "hypotheses",
    "inspection",
    "kernels",
    "learners",
    "load",
    "persistence",
    "report",
    "save",
    "selection",
    "serving",
    "show_versions",
    "solvers",
    "streaming",
    "svm",
]

FUNCTIONS = {"load": "persistence", "save": "persistence", "show_versions": "_versions"}


def __getattr__(name: str) -> Any:
    """Import a sub-package or a function on first access."""
    if name in FUNCTIONS:
        return getattr(import_module(f"{__name__}.{FUNCTIONS[name]}"), name)
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

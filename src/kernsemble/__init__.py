"""Kernels that are ensembles.

A support vector machine whose kernel is an inner product of votes is an ensemble of
the voters: of every decision stump, every perceptron, every tree.
"""

from importlib import import_module
from importlib.metadata import version
from types import ModuleType

__version__ = version("kernsemble")

__all__ = ["datasets", "exceptions", "hypotheses", "kernels"]


def __getattr__(name: str) -> ModuleType:
    """Import a sub-package when it is first asked for."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""The entire regularization path: the machine at every C, from one run."""

from kernsemble.solvers.path.follow import solve_path
from kernsemble.solvers.path.result import RegularizationPath, Side

__all__ = ["RegularizationPath", "Side", "solve_path"]

"""The entire regularization path: the machine at every C, from one run."""

from kernsemble.solvers.path.follow import check_ends, solve_path
from kernsemble.solvers.path.result import RegularizationPath, Side

__all__ = ["RegularizationPath", "Side", "check_ends", "solve_path"]

"""The regularization path: the support vector machine at every C, from one run."""

from kernsemble.solvers.regularization_path.follow import check_ends, solve_regularization_path
from kernsemble.solvers.regularization_path.result import RegularizationPath, Side

__all__ = ["RegularizationPath", "Side", "check_ends", "solve_regularization_path"]

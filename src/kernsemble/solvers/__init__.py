"""How a problem is solved: arrays in, a solution with its evidence out."""

from kernsemble.solvers.folds import Fold, solve_folds, solve_path
from kernsemble.solvers.result import Solution, Status
from kernsemble.solvers.smo import solve_dual

__all__ = ["Fold", "Solution", "Status", "solve_dual", "solve_folds", "solve_path"]

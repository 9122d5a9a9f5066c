"""Additive machines: a table a column, at the cost of a linear model."""

from kernsemble.solvers.additive.folds import solve_additive_folds, solve_additive_path
from kernsemble.solvers.additive.result import AdditiveSolution
from kernsemble.solvers.additive.solve import solve_additive
from kernsemble.solvers.additive.tables import Tables

__all__ = [
    "AdditiveSolution",
    "Tables",
    "solve_additive",
    "solve_additive_folds",
    "solve_additive_path",
]

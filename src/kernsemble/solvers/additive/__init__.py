"""Additive machines: one table per column, at the cost of a linear model.

Columns are quantised into levels (`quantise`, `levels`), rows are encoded and tables evaluated
(`look_up`), a problem is described by `tables` and `losses`, and solved by Newton's method
(`stages`, `newton`, `newton_system`) or dual coordinate descent (`descent`).
"""

from kernsemble.solvers.additive.folds import solve_additive_folds, solve_additive_path
from kernsemble.solvers.additive.levels import Levels
from kernsemble.solvers.additive.result import AdditiveSolution
from kernsemble.solvers.additive.solve import solve_additive
from kernsemble.solvers.additive.tables import Tables

__all__ = [
    "AdditiveSolution",
    "Levels",
    "Tables",
    "solve_additive",
    "solve_additive_folds",
    "solve_additive_path",
]

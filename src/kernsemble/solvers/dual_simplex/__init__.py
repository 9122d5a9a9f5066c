"""The dual simplex method for dense linear programs that grow by rows."""

from kernsemble.solvers.dual_simplex.program import DualSimplex

__all__ = ["DualSimplex"]

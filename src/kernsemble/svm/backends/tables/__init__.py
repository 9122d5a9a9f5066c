"""The additive backend: tables of the levels of columns, directions and grids."""

from kernsemble.svm.backends.tables.backend import TablesBackend

__all__ = ["TablesBackend"]

"""The columns of a table: numbers, categories, missing values, and the kernels on them."""

from kernsemble.svm.columns.kernels_on_columns import Columns
from kernsemble.svm.columns.missing_values import has_missing, supports_missing
from kernsemble.svm.columns.mixed_table import MixedTable, is_mixed

__all__ = ["Columns", "MixedTable", "has_missing", "is_mixed", "supports_missing"]

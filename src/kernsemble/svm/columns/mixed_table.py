"""Automatic encoding of tables of numbers and categories.

Numbers and booleans stay numbers, NaN if missing. A column of text, or of a categorical type,
becomes the integer codes of its categories; a missing entry is a category of its own, and a
category that is not among the training rows is −1.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble._validation import column_names
from kernsemble._value_object import Value

MISSING = ("nan", "<NA>", "NaT")  # the text of missing entries


def is_mixed(X: object) -> bool:
    """Return whether rows are a pandas or polars table with a column of categories."""
    if column_names(X) is None or not hasattr(X, "dtypes"):
        return False
    return any(_is_category(X, d) for d in range(X.shape[1]))  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class MixedTable(Value):
    """The encoding of a table of numbers and categories as an array of numbers.

    `categories` holds the categories of every column, None for columns of numbers.
    """

    categories: tuple[tuple[Any, ...] | None, ...]

    @classmethod
    def from_table(cls, X: Any) -> Self:
        """Return the encoding of a table."""
        return cls(
            tuple(
                _distinct(_column(X, d)) if _is_category(X, d) else None for d in range(X.shape[1])
            )
        )

    @property
    def is_category(self) -> BoolArray:
        """Mask of the columns of categories."""
        return np.array([known is not None for known in self.categories])

    def transform(self, X: Any) -> FloatArray:
        """Return the numbers and codes of a table with the same columns."""
        rows = np.empty((X.shape[0], len(self.categories)))
        for d, known in enumerate(self.categories):
            column = _column(X, d)
            rows[:, d] = _numbers(column, d) if known is None else _codes(column, known)
        return rows


def _column(X: Any, d: int) -> Any:
    return X.iloc[:, d] if hasattr(X, "iloc") else X[:, d]


def _is_category(X: Any, d: int) -> bool:
    column = _column(X, d)
    dtype = column.dtype
    if hasattr(dtype, "is_numeric"):  # polars
        is_temporal = dtype.is_temporal()
        is_number = dtype.is_numeric() or str(dtype) == "Boolean"
    else:
        kind = column.infer_objects().dtype.kind if str(dtype) == "object" else dtype.kind
        is_temporal, is_number = kind in "mM", kind in "iufb"
    if is_temporal:
        raise ValueError(
            f"column {column.name!r} of X contains dates or durations: convert them to numbers, "
            "such as days"
        )
    return not is_number


def _numbers(column: Any, d: int) -> FloatArray:
    try:
        if hasattr(column, "iloc"):
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
        items = column.to_numpy() if hasattr(column, "to_numpy") else column
        return np.asarray(items, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {getattr(column, 'name', d)!r} of X held numbers in training, and now "
            f"something else ({error}): pass numbers, or fit again"
        ) from error


def _distinct(column: Any) -> tuple[Any, ...]:
    _, items = _factors(column)
    return tuple(sorted(set(items), key=_order))


def _order(item: Any) -> tuple[bool, str, str]:
    """Return the sort key of categories of any types, the missing one last."""
    return item is None, str(item), type(item).__name__


def _codes(column: Any, known: Iterable[Any]) -> FloatArray:
    place = {item: float(code) for code, item in enumerate(known)}
    codes, items = _factors(column)
    return np.array([place.get(item, -1.0) for item in items])[codes]


def _factors(column: Any) -> tuple[IntArray, list[Any]]:
    """Return the code of each entry, and the distinct entries as plain objects, None if missing."""
    if hasattr(column, "factorize"):  # pandas
        codes, items = column.factorize()
        items = [_plain(item) for item in items.tolist()]
        return np.where(codes < 0, len(items), codes), [*items, None] if (
            codes < 0
        ).any() else items
    place: dict[Any, int] = {}
    entries = column.to_list() if hasattr(column, "to_list") else column.tolist()
    codes = [place.setdefault(_plain(entry), len(place)) for entry in entries]
    return np.array(codes, dtype=np.intp), list(place)


def _plain(item: Any) -> Any:
    if item is None or (str(item) in MISSING and not isinstance(item, str)):
        return None
    return item if isinstance(item, (str, bool, int, float)) else str(item)

"""What is accepted as rows, as columns and as numbers; the messages when it is not."""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_array

from kernsemble._typing import Array, FloatArray, IntArray, Rows

Column = int | str


def as_features(X: ArrayLike, n_features: int | None = None, name: str = "X") -> Rows:
    """Return rows of finite numbers: a C-ordered array or a canonical CSR matrix.

    Float32 stays float32, everything else becomes float64. With `n_features` the number
    of columns must be that.
    """
    try:
        rows = check_array(
            X, accept_sparse="csr", dtype=(np.float64, np.float32), order="C", input_name=name
        )
    except (TypeError, ValueError) as error:
        if "could not convert" in str(error) or "real number" in str(error):
            raise ValueError(
                f"{name} holds something that is not a number ({error}). Encode such columns "
                "first, or compare them with Category().on(columns)."
            ) from error
        raise
    if sparse.issparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    check_n_features(rows.shape[1], n_features, name)
    return rows


def column_minima(X: Rows) -> FloatArray:
    """Return the smallest value of every column, stored or not."""
    smallest = X.min(axis=0)
    return smallest.toarray().ravel() if sparse.issparse(smallest) else smallest


def as_categories(X: ArrayLike, n_features: int | None = None, name: str = "X") -> Array:
    """Return a table of categories: numbers or text, none of them missing."""
    table: Array = check_array(
        X, accept_sparse=False, dtype=None, ensure_all_finite="allow-nan", input_name=name
    )
    missing = np.argwhere(_is_missing(table))
    if len(missing):
        raise ValueError(
            f"{name} has a missing value in row {missing[0, 0]}, column {missing[0, 1]}. Give "
            "missing values a category of their own, for example X.fillna('missing')."
        )
    check_n_features(table.shape[1], n_features, name)
    return table


def _is_missing(table: Array) -> Array:
    if table.dtype.kind == "f":
        return np.isnan(table)
    if table.dtype.kind != "O":
        return np.zeros(table.shape, dtype=bool)
    return np.array(
        [
            [
                not isinstance(item, str) and str(item) in {"None", "nan", "<NA>", "NaT"}
                for item in row
            ]
            for row in table
        ]
    )


def check_n_features(seen: int, expected: int | None, name: str = "X") -> None:
    """Refuse a table that has another number of columns than the kernel was bound to."""
    if expected is not None and seen != expected:
        raise ValueError(
            f"{name} has {seen} features, but the kernel is bound to {expected}. "
            "Pass the same columns, or bind the kernel to this data."
        )


def as_table(X: Any, name: str = "X") -> Any:
    """Return a table whose columns can be taken: a DataFrame as it is, or an array."""
    if column_names(X) is not None:
        return X
    return check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False, input_name=name)


def as_columns(columns: Column | Iterable[Column]) -> tuple[Column, ...]:
    """Return the chosen columns: one or several indices or names, or a mask of all columns."""
    chosen = [columns] if isinstance(columns, (int, Integral, str)) else list(columns)
    if any(isinstance(column, (bool, np.bool_)) for column in chosen):
        chosen = np.flatnonzero(chosen).tolist()
    if not chosen:
        raise ValueError(f"on({columns!r}): choose at least one column.")
    return tuple(column if isinstance(column, str) else int(column) for column in chosen)


def column_names(X: object) -> list[str] | None:
    """Return the column names of a pandas or polars table, None for an array."""
    names = getattr(X, "columns", None)
    return None if names is None else list(names)


def locate_columns(X: Any, columns: Sequence[Column]) -> IntArray:
    """Return the positions in `X` of columns given by index or by name."""
    names = column_names(X)
    return np.array([_locate(column, names, X.shape[1]) for column in columns], dtype=np.intp)


def _locate(column: Column, names: list[str] | None, n_features: int) -> int:
    if isinstance(column, str):
        if names is None:
            raise ValueError(
                f"on({column!r}): columns can be chosen by name only in a DataFrame; "
                "this is an array, use the column's index."
            )
        if column not in names:
            raise ValueError(f"on({column!r}): no such column; there are {names}.")
        return names.index(column)
    if not -n_features <= column < n_features:
        raise ValueError(f"on({column}): the data has only {n_features} columns.")
    return column % n_features


def take_columns(X: Any, positions: IntArray) -> Any:
    """Return some columns of a table, which stays of its own kind."""
    names = column_names(X)
    if names is not None:
        return X[[names[position] for position in positions]]
    return X[:, positions]

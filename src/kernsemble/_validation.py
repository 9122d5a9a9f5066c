"""Checks of rows, classes, weights and columns."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.metrics import accuracy_score
from sklearn.utils import check_array, check_X_y, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from kernsemble._suggestions import suggest
from kernsemble._typing import Array, ArrayLike, FloatArray, IntArray, Rows

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Column: TypeAlias = int | str | bool

ANY_SHAPE: dict[str, Any] = {  # and any numbers, for callers that check them
    "ensure_all_finite": False,
    "ensure_2d": False,
    "allow_nd": True,
    "ensure_min_samples": 0,
    "ensure_min_features": 0,
}


def validated(estimator: Any, X: Any, *y: Any, **settings: Any) -> Any:
    """Return rows, and targets if given, as `validate_data` of scikit-learn does."""
    with _reading("X"):
        refuse_complex(X, "X")
        found = validate_data(estimator, X, *y, **settings)
        rows, *others = found if isinstance(found, tuple) else (found,)
        return (_canonical(rows, "X"), *others) if others else _canonical(rows, "X")


def checked_rows(X: Any, name: str = "X", **settings: Any) -> Any:
    """Return rows, as `check_array` of scikit-learn does."""
    with _reading(name):
        refuse_complex(X, name)
        return _canonical(check_array(X, input_name=name, **settings), name)


def checked_rows_and_targets(X: Any, y: Any, **settings: Any) -> tuple[Any, Any]:
    """Return rows and targets, as `check_X_y` of scikit-learn does."""
    with _reading("X"):
        refuse_complex(X, "X")
        rows, targets = check_X_y(X, y, **settings)
        return _canonical(rows, "X"), targets


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Silence NumPy, and report as a `ValueError` what scikit-learn's checks do not expect.

    Their sums of infinities warn; numbers beyond floats and empty lists raise other errors.
    """
    with np.errstate(all="ignore"):
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError) as error:
            raise ValueError(
                f"{name} cannot be read as rows of numbers ({error}): pass an array or a table "
                "with one row per sample"
            ) from error


def _canonical(rows: Rows, name: str) -> Rows:
    """Return rows without several stored values of one place, whose sums must be floats."""
    if not sparse.issparse(rows) or rows.has_canonical_format:
        return rows
    rows = rows.copy()
    rows.sum_duplicates()
    if np.isinf(rows.data).any():
        raise ValueError(f"{name} stores values of one place whose sum exceeds the range of floats")
    return rows


def as_features(X: ArrayLike, n_features: int | None = None, name: str = "X") -> Rows:
    """Return rows of finite numbers: a C-ordered array or a canonical CSR matrix.

    Float32 stays float32, everything else becomes float64. `n_features` is the required
    number of columns, None for any.
    """
    if _is_ready(X):
        check_n_features(X.shape[1], n_features, name)
        return X
    _refuse_dates(X, name)
    try:
        rows = checked_rows(X, name, accept_sparse="csr", dtype=(np.float64, np.float32), order="C")
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeError) or "could not convert" in str(error):
            raise ValueError(
                f"{name} contains values that are not numbers ({error}): encode such columns "
                "first, or compare them with Category().on(columns)"
            ) from error
        raise
    check_n_features(rows.shape[1], n_features, name)
    return rows


def _is_ready(X: ArrayLike) -> "TypeIs[FloatArray]":
    """Return whether rows are what `as_features` returns, as they mostly are between our modules.

    Without this, checks would take a tenth of the time of a fit to few rows.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0 or not X.flags.c_contiguous:
        return False
    with np.errstate(all="ignore"):
        return X.dtype in (np.float64, np.float32) and bool(np.isfinite(X.sum()))


def _refuse_dates(X: Any, name: str) -> None:
    if _kinds(X) & {"m", "M"}:
        raise ValueError(
            f"{name} contains dates or durations: convert them to numbers, such as days"
        )


def refuse_complex(X: Any, name: str) -> None:
    """Raise an error for rows of complex numbers."""
    if "c" in _kinds(X):
        raise ValueError(f"Complex data not supported: pass the real and imaginary parts of {name}")


def _kinds(X: Any) -> set[str | None]:
    """Return the kinds of NumPy's types of the columns of rows."""
    is_table = column_names(X) is not None and hasattr(X, "dtypes")
    dtypes = list(X.dtypes) if is_table else [getattr(X, "dtype", None)]
    return {getattr(dtype, "kind", None) for dtype in dtypes}


def as_categories(X: ArrayLike, n_features: int | None = None, name: str = "X") -> Array:
    """Return a table of categories: numbers or text, without missing values."""
    table: Array = checked_rows(
        X, name, accept_sparse=False, dtype=None, ensure_all_finite="allow-nan"
    )
    _refuse_containers(table, name)
    if table.dtype.kind == "f" and table.dtype.itemsize > 8:  # bytes beyond the number are any
        table = table.astype(np.float64)
    missing = np.argwhere(_is_missing(table))
    if len(missing):
        raise ValueError(
            f"{name} has a missing value in row {missing[0, 0]}, column {missing[0, 1]}: replace "
            "missing values by a category of their own, for example X.fillna('missing')"
        )
    check_n_features(table.shape[1], n_features, name)
    return table


def _refuse_containers(table: Array, name: str) -> None:
    """Raise an error if an entry is a list, a dict or an array, which is no category."""
    entries = table.ravel().tolist() if table.dtype.kind == "O" else []
    wrong = next((each for each in entries if not isinstance(each, Hashable)), None)
    if wrong is not None:
        raise ValueError(
            f"{name} contains {type(wrong).__name__} ({str(wrong)[:40]}): categories are text or "
            "numbers; convert such entries first"
        )


def _is_missing(table: Array) -> Array:
    if table.dtype.kind == "f":
        return np.isnan(table)
    if table.dtype.kind != "O":
        return np.zeros(table.shape, dtype=bool)
    missing = {"None", "nan", "<NA>", "NaT"}
    return np.array(
        [[not isinstance(item, str) and str(item) in missing for item in row] for row in table]
    )


def as_table(X: Any, name: str = "X") -> Any:
    """Return a table whose columns can be selected: a DataFrame as it is, or an array."""
    if column_names(X) is not None:
        return X
    return checked_rows(X, name, accept_sparse="csr", dtype=None, ensure_all_finite=False)


def target_kind(y: Any) -> str:
    """Return the kind of a target, as `type_of_target` of scikit-learn does."""
    with _reading("y"):
        return str(type_of_target(y))


def read_classes(y: Any) -> tuple[Array, IntArray]:
    """Return the sorted classes, and the index of each row's class."""
    with _reading("y"):
        check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes


def class_codes(y: ArrayLike, classes: Array, name: str = "y") -> IntArray:
    """Return the index of each label among the sorted classes of a model.

    Raises
    ------
    ValueError
        If a label is not one of the classes.
    """
    labels = column_or_1d(y)
    if labels.dtype.kind == "O":  # which may have no order
        known = set(classes.tolist())
        unknown = [
            each for each in labels.tolist() if not (isinstance(each, Hashable) and each in known)
        ]
    else:
        unknown = np.setdiff1d(labels, classes).tolist()
    if unknown:
        raise ValueError(
            f"{name} contains the class {unknown[0]!r}, and the model was fitted to the "
            f"classes {classes.tolist()}: leave such rows out, or fit the model again"
        )
    return np.searchsorted(classes, labels)


def accuracy(y: Any, predicted: Array, sample_weight: ArrayLike | None = None) -> float:
    """Return the weighted share of rows whose class is predicted."""
    with _reading("y"):
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))


def refuse_one_class(classes: Array) -> None:
    """Raise an error if there is only one class."""
    if len(classes) < 2:
        raise ValueError(
            f"y contains only one class, {classes.tolist()[0]!r}: pass rows of two or more"
        )


def as_numbers(values: Any, name: str = "y") -> FloatArray:
    """Return targets or weights as floats."""
    refuse_complex(values, name)
    try:
        with np.errstate(all="ignore"):
            return np.asarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(
            f"{name} contains values that are not numbers ({error}): pass numbers"
        ) from error


def read_weights(
    sample_weight: ArrayLike | None, n: int, name: str = "sample_weight"
) -> FloatArray:
    """Return the weights of `n` rows, 1 for each by default."""
    if sample_weight is None:
        return np.ones(n)
    weight = as_numbers(sample_weight, name)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(f"{name} has shape {weight.shape}: pass {n} numbers, one for each row")
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if len(wrong):
        raise ValueError(
            f"{name} is {weight[wrong[0]]} for row {wrong[0]}: pass finite numbers, 0 or above"
        )
    with np.errstate(over="ignore"):  # checked below
        total = weight.sum()
    if total == 0.0:
        raise ValueError(f"{name} is zero for every row: pass at least one positive weight")
    if not np.isfinite(total):
        raise ValueError(f"the sum of {name} overflows: divide the weights by the largest")
    return weight


def present_rows(
    X: Rows, sample_weight: ArrayLike | None, name: str = "sample_weight"
) -> tuple[Rows, FloatArray]:
    """Return the rows of positive weight, and their weights."""
    weight = read_weights(sample_weight, X.shape[0], name)
    present = weight > 0.0
    return (X, weight) if present.all() else (X[present], weight[present])


def check_place(out: object, shape: tuple[int, ...]) -> None:
    """Raise an error unless `out` can store a matrix of that shape."""
    if not isinstance(out, np.ndarray) or out.dtype.kind != "f" or not out.flags.writeable:
        raise ValueError(
            f"out is not a writable array of floating-point numbers: pass np.empty({shape})"
        )
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}: pass an array of shape {shape}")


def column_ends(X: Rows) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest value of every column, dense or sparse."""
    ends = X.min(axis=0), X.max(axis=0)
    if sparse.issparse(X):
        ends = tuple(each.toarray().ravel() for each in ends)
    return ends


def column_names(X: object) -> tuple[Any, ...] | None:
    """Return the column names of a pandas or polars table, None for an array."""
    if type(X).__name__ == "LazyFrame":
        raise ValueError("a LazyFrame has no rows yet: pass its collect()")
    names = getattr(X, "columns", None)
    return None if names is None else tuple(names)


def check_n_features(seen: int, expected: int | None, name: str = "X") -> None:
    """Raise an error unless a table has as many columns as the kernel was bound to."""
    if expected is not None and seen != expected:
        raise ValueError(
            f"{name} has {seen} features, but the kernel is bound to {expected}: "
            "pass the same columns, or bind the kernel to this data"
        )


def check_column_names(X: object, expected: tuple[Any, ...] | None, name: str = "X") -> None:
    """Raise an error unless a DataFrame has the column names that the kernel was bound to."""
    seen = column_names(X)
    if (
        expected is not None
        and seen is not None
        and seen != expected
        and len(seen) == len(expected)
    ):
        raise ValueError(
            f"{name} has the columns {list(seen)}, but the kernel is bound to {list(expected)}: "
            "pass the same columns in the same order"
        )


def as_columns(columns: Column | Iterable[Column]) -> tuple[Column, ...]:
    """Return selected columns as a tuple: of indices, of names, or a mask of all columns."""
    single = isinstance(columns, (int, Integral, str))
    selected = (columns,) if single else tuple(columns) if isinstance(columns, Iterable) else ()
    is_mask = [isinstance(column, (bool, np.bool_)) for column in selected]
    if not selected or (any(is_mask) and not (all(is_mask) and any(selected))):
        raise ValueError(
            f"on({columns!r}): select one or several columns by index, by name or by a mask"
        )
    return tuple(_as_column(column) for column in selected)


def _as_column(column: Any) -> Column:
    if isinstance(column, str):
        return str(column)
    if isinstance(column, (bool, np.bool_)):
        return bool(column)
    if not isinstance(column, Integral):
        raise ValueError(f"on({column!r}): select a column by its index or name")
    return int(column)


def locate_columns(
    columns: Sequence[Column], n_features: int, names: Sequence[Any] | None = None
) -> IntArray:
    """Return the positions in a table of columns given by index, by name or by a mask."""
    if isinstance(columns[0], bool):
        if len(columns) != n_features:
            raise ValueError(
                f"on(a mask of length {len(columns)}): the data has {n_features} columns: "
                "use a mask with one entry per column"
            )
        return np.flatnonzero(columns)
    return np.array([_locate(column, n_features, names) for column in columns], dtype=np.intp)


def _locate(column: Column, n_features: int, names: Sequence[Any] | None) -> int:
    if isinstance(column, str):
        return _locate_name(column, names)
    if not -n_features <= column < n_features:
        raise ValueError(
            f"on({column}): the data has only {n_features} columns: use an index from "
            f"{-n_features} to {n_features - 1}"
        )
    return column % n_features


def _locate_name(column: str, names: Sequence[Any] | None) -> int:
    if names is None:
        raise ValueError(
            f"on({column!r}): columns can be selected by name only in a DataFrame: pass one, or "
            "select the column by its position"
        )
    found = [place for place, name in enumerate(names) if name == column]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"on({column!r}): several columns of that name, at {found}: rename them, or select by "
            "position"
        )
    hint = suggest(column, names, otherwise=f"use one of {list(names)}")
    raise ValueError(f"on({column!r}): no such column; {hint}")


def take_columns(X: Any, positions: IntArray) -> Any:
    """Return some columns of a table, as the same kind of table."""
    if hasattr(X, "iloc"):
        return X.iloc[:, positions]
    return X[:, positions.tolist()]


def chosen_columns(
    X: Any, columns: Sequence[Column], positions: IntArray | None = None, name: str = "X"
) -> Any:
    """Return the selected columns of a table, by name in a DataFrame, else by position."""
    table = as_table(X, name)
    if positions is None or column_names(table) is not None:
        positions = locate_columns(columns, table.shape[1], column_names(table))
    return take_columns(table, positions)

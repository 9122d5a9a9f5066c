"""Encoding of tables as numbers without missing values, for estimators that need them."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernsemble._arguments import check_count
from kernsemble._last_fit import restoring_last_fit
from kernsemble._typing import Array, ArrayLike, FloatArray, IntArray
from kernsemble._validation import as_table, column_names, validated
from kernsemble._value_object import Value
from kernsemble.preprocessing.calendar import CalendarPart, calendar_part, days, varying_parts
from kernsemble.preprocessing.table_columns import (
    category_order,
    column_at,
    column_kind,
    factors,
    numbers,
)

__all__ = ["EncodedColumn", "TableEncoder"]


@dataclass(frozen=True, eq=False, repr=False)
class EncodedColumn(Value):
    """The encoding of one column of a table as one or several columns of numbers."""

    is_date: bool = False
    categories: tuple[Any, ...] | None = None  # with an indicator each; None for numbers
    fill: float = 0.0  # number in place of missing ones
    has_missing: bool = False  # whether an indicator of missing values follows
    parts: tuple[CalendarPart, ...] = ()

    @classmethod
    def from_column(cls, column: Any, max_categories: int, has_reference: bool) -> Self:
        """Return the encoding of a column."""
        kind = column_kind(column) if hasattr(column, "name") else "number"
        if kind == "category":
            codes, items = factors(column)
            counts = np.bincount(codes, minlength=len(items)).tolist()
            pairs = sorted(
                zip(counts, items, strict=True), key=lambda each: category_order(each[1])
            )
            pairs.sort(key=lambda each: -each[0])  # by frequency, and by name if it is equal
            known = tuple(item for _, item in pairs[:max_categories])
            return cls(categories=known[1:] if has_reference else known)
        is_date = kind == "date"
        values = days(column) if is_date else numbers(column)
        is_missing = np.isnan(values)
        fill = 0.0 if is_missing.all() else 2.0 * float(np.median(0.5 * values[~is_missing]))
        parts = varying_parts(column) if is_date else ()
        return cls(is_date, None, fill, bool(is_missing.any()), parts)

    def names(self, name: str) -> list[str]:
        """Return the names of the encoded columns, given that of the column."""
        if self.categories is not None:
            return [f"{name}={'missing' if each is None else each}" for each in self.categories]
        missing = [f"{name} is missing"] if self.has_missing else []
        return [name, *(f"{name}.{part}" for part in self.parts), *missing]

    def transform(self, column: Any) -> list[FloatArray]:
        """Return the encoded columns."""
        if self.categories is not None:
            codes, items = factors(column)
            return [
                np.array([float(item == each) for item in items])[codes] for each in self.categories
            ]
        values = days(column) if self.is_date else numbers(column)
        is_missing = np.isnan(values)
        encoded = [np.where(is_missing, self.fill, values)]
        for part in self.parts:
            found = calendar_part(column, part)
            encoded.append(np.where(np.isnan(found), 0.0, found))
        return [*encoded, is_missing.astype(np.float64)] if self.has_missing else encoded


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode numbers, categories, dates and missing values as numbers without missing values.

    A missing number becomes the median of the training rows, with one more column that is 1 where
    it is missing. A category becomes an indicator column, and a missing one is a category. A date
    becomes days since 1970-01-01, and month, weekday and hour if they differ between the training
    rows. The estimators of `kernsemble.svm` need no encoder: they read such tables themselves.

    Parameters
    ----------
    max_categories : int, default=20
        Maximum number of indicators per column, for its most frequent categories; all others, and
        categories that are not among the training rows, are zero in all of them.
    reference : bool, default=False
        Leave out the indicator of the most frequent category. Use it for linear models, in which
        all indicators and the intercept are linearly dependent.

    Attributes
    ----------
    columns_ : array of shape (n_encoded,)
        For each encoded column, the position of its column in the table.
    encodings_ : tuple of EncodedColumn
        The encoding of each column of the table.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from kernsemble.preprocessing import TableEncoder
    >>> table = pd.DataFrame({"age": [30.0, None, 50.0], "town": ["Cork", "Bath", "Cork"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age is missing', 'town=Cork', 'town=Bath']
    >>> encoder.transform(table)
    array([[30.,  0.,  1.,  0.],
           [40.,  1.,  0.,  1.],
           [50.,  0.,  1.,  0.]])
    """

    encodings_: tuple[EncodedColumn, ...]
    columns_: IntArray

    def __init__(self, max_categories: int = 20, reference: bool = False) -> None:
        self.max_categories = max_categories
        self.reference = reference

    @restoring_last_fit
    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the categories, medians and missing values of a table.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            The training rows.
        y : ignored
            For pipelines.

        Returns
        -------
        self
            The fitted encoder.
        """
        check_count("max_categories", self.max_categories)
        table = self._read(X, reset=True)
        self.encodings_ = tuple(
            EncodedColumn.from_column(column_at(table, d), self.max_categories, self.reference)
            for d in range(table.shape[1])
        )
        names = self._names(None)
        widths = [len(e.names(n)) for e, n in zip(self.encodings_, names, strict=True)]
        self.columns_ = np.repeat(np.arange(len(widths)), widths)
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the encoded rows.

        Parameters
        ----------
        X : DataFrame or array of shape (n, n_features)
            Rows with the columns of the training rows.

        Returns
        -------
        array of shape (n, n_encoded)
            Numbers, none of them missing.
        """
        check_is_fitted(self)
        table = self._read(X, reset=False)
        encoded: list[FloatArray] = []
        for d, encoding in enumerate(self.encodings_):
            encoded += encoding.transform(column_at(table, d))
        return np.column_stack(encoded) if encoded else np.empty((table.shape[0], 0))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : sequence of str or None, default=None
            Names of the columns of an array; those of a DataFrame are known.

        Returns
        -------
        array of str objects
            One name per encoded column.
        """
        check_is_fitted(self)
        names = self._names(input_features)
        pairs = zip(self.encodings_, names, strict=True)
        return np.array([each for encoding, name in pairs for each in encoding.names(name)], object)

    def _names(self, given: Any) -> list[str]:
        default = [f"x{d}" for d in range(self.n_features_in_)] if given is None else given
        return [str(each) for each in getattr(self, "feature_names_in_", default)]

    def _read(self, X: Any, reset: bool) -> Any:
        if column_names(X) is not None:
            validated(self, X, reset=reset, skip_check_array=True)
            return as_table(X)
        settings: Any = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        return validated(self, X, reset=reset, **settings)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

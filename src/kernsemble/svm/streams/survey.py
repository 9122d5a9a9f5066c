"""Summaries of blocks of rows that merge into a summary of all rows.

The distinct values of a column are exact up to `max_levels`, as are its ends, its categories, its
missing values and the classes. Quantiles are those of a random sample of at most 50,000 rows of
positive weight: the share of rows below a quantile has a standard error of at most 0.22 %. A
sample of fewer rows is all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Literal, Self

import numpy as np

from kernsemble._typing import BoolArray, FloatArray
from kernsemble._validation import as_numbers, column_names
from kernsemble.preprocessing.calendar import PARTS
from kernsemble.preprocessing.table_columns import (
    category_order,
    column_at,
    column_kind,
    numbers,
)
from kernsemble.solvers.additive.quantise import QUANTILE_ROWS
from kernsemble.svm.columns import MixedTable
from kernsemble.svm.streams.row_sample import RowSample
from kernsemble.svm.streams.target_survey import TargetSurvey

FIRST_ROWS = 4_096  # rows whose distinct values are looked at before those of a whole block

Kind = Literal["number", "category", "date"]


@dataclass(frozen=True, eq=False)
class ColumnSurvey:
    """A column of a block, or of all blocks so far.

    Attributes
    ----------
    kind : {"number", "category", "date"}
        Durations and times of day are numbers.
    labels : tuple
        The categories in their order, None for a missing one.
    distinct : array or None
        The distinct numbers, None if there are more than levels.
    has_missing : bool
        Whether a number is missing.
    low, high : float
        The ends of the numbers; infinities of the other sign if there are none.
    block : int
        The first block that determines the kind.
    """

    kind: Kind
    labels: tuple[Any, ...]
    distinct: FloatArray | None
    has_missing: bool
    low: float
    high: float
    block: int

    @property
    def is_empty(self) -> bool:
        """Whether every entry is missing, so that the kind is not determined."""
        if self.kind == "category":
            return set(self.labels) <= {None}
        return self.low > self.high

    def merged(self, other: Self, name: Any, max_levels: int) -> Self:
        """Return the survey of both blocks."""
        if self.is_empty and not other.is_empty:
            return other._with_missing(self)
        if other.is_empty and not self.is_empty:
            return self._with_missing(other)
        if self.kind != other.kind and not self.is_empty:
            raise ValueError(
                f"column {name!r} of X has {self._content} in block {self.block} and "
                f"{other._content} in block {other.block}: convert it to one type"
            )
        distinct = None
        if self.distinct is not None and other.distinct is not None:
            distinct = np.union1d(self.distinct, other.distinct)
        return replace(
            self,
            labels=tuple(sorted({*self.labels, *other.labels}, key=category_order)),
            distinct=distinct if distinct is not None and len(distinct) <= max_levels else None,
            has_missing=self.has_missing or other.has_missing,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
        )

    @property
    def _content(self) -> str:
        return {"number": "numbers", "category": "categories", "date": "dates"}[self.kind]

    def _with_missing(self, empty: Self) -> Self:
        """Return the survey with the missing entries of a block that has no others."""
        if not (empty.has_missing or empty.labels):
            return self
        if self.kind != "category":
            return replace(self, has_missing=True)
        return replace(self, labels=tuple(sorted({*self.labels, None}, key=category_order)))


@dataclass(frozen=True, eq=False)
class Survey:
    """The summary of a block of rows, or of all blocks.

    Attributes
    ----------
    names : tuple or None
        The names of the columns; None for arrays.
    columns : tuple of ColumnSurvey
        The columns; parts of the calendar follow those of dates.
    dates : tuple of int
        Positions of the columns of dates.
    sample : RowSample
        A random sample of rows.
    target : TargetSurvey
        The targets.
    n_rows, n_present : int
        The number of rows, and of those of positive weight.
    block : int
        The number of the first block.
    """

    names: tuple[Any, ...] | None
    columns: tuple[ColumnSurvey, ...]
    dates: tuple[int, ...]
    sample: RowSample
    target: TargetSurvey
    n_rows: int
    n_present: int
    block: int
    max_levels: int
    max_rows: int

    @classmethod
    def of_block(
        cls,
        X: Any,
        y: Any,
        weight: FloatArray,
        block: int,
        is_classifier: bool,
        max_levels: int,
        seed: int,
        max_rows: int = QUANTILE_ROWS,
    ) -> Self:
        """Return the summary of the rows of one block."""
        names = column_names(X)
        kinds = _kinds(X, names)
        table = _own_encoding(X, kinds)
        values = plain_numbers(X) if table is None else table.transform(X)
        labels = ((),) * values.shape[1] if table is None else table.categories
        names_of_all = names if table is None or names is None else table.encoded_names(names)
        check_numbers(values, names_of_all, block)
        kinds += ["number"] * (values.shape[1] - len(kinds))
        present = weight > 0.0
        columns = tuple(
            _column(kind, known or (), values[:, d], present, block, max_levels)
            for d, (kind, known) in enumerate(zip(kinds, labels, strict=True))
        )
        make = TargetSurvey.of_classes if is_classifier else TargetSurvey.of_numbers
        return cls(
            names,
            columns,
            tuple(d for d, kind in enumerate(kinds) if kind == "date"),
            RowSample.of_block(values, weight, block, seed, max_rows),
            make(y, weight),
            len(values),
            int(np.count_nonzero(present)),
            block,
            max_levels,
            max_rows,
        )

    def merged(self, other: Self) -> Self:
        """Return the summary of both blocks."""
        if other.n_rows == 0 or self.n_rows == 0:  # whose types may be anything
            return self if other.n_rows == 0 else other
        other = other._in_columns_of(self)
        mine, theirs = self._with_dates(other.dates), other._with_dates(self.dates)
        names = mine.column_names
        columns = tuple(
            a.merged(b, names[d], self.max_levels)
            for d, (a, b) in enumerate(zip(mine.columns, theirs.columns, strict=True))
        )
        samples = [each._sample_for(columns) for each in (mine, theirs)]
        return replace(
            mine,
            columns=columns,
            sample=samples[0].merged(samples[1], self.max_rows),
            target=self.target.merged(other.target),
            n_rows=self.n_rows + other.n_rows,
            n_present=self.n_present + other.n_present,
            block=min(self.block, other.block),
        )

    @staticmethod
    def merge(surveys: Sequence["Survey"]) -> "Survey":
        """Return the summary of several blocks, with the columns in the order of the first."""
        return reduce(Survey.merged, sorted(surveys, key=lambda each: each.block))

    @property
    def n_table_columns(self) -> int:
        """The number of columns of the table itself, without parts of the calendar."""
        return len(self.columns) - len(PARTS) * len(self.dates)

    @property
    def column_names(self) -> list[Any]:
        """The names of all columns, or their positions."""
        names = range(self.n_table_columns) if self.names is None else self.names
        return [*names, *(f"{names[d]}.{part}" for d in self.dates for part in PARTS)]

    def _in_columns_of(self, other: Self) -> Self:
        """Return the survey with its columns in the order of another one."""
        for table, array in ((other, self), (self, other)):
            if array.names is None and table.names is not None:
                raise ValueError(
                    f"X is a table in block {table.block} and an array in block {array.block}: "
                    "pass tables in all blocks, or arrays"
                )
        if self.names is None or other.names is None or self.names == other.names:
            if self.n_table_columns == other.n_table_columns:
                return self
            raise ValueError(
                f"X has {other.n_table_columns} columns in block {other.block} and "
                f"{self.n_table_columns} in block {self.block}: pass the same columns"
            )
        for have, lack in ((other, self), (self, other)):
            absent = [name for name in have.names or () if name not in (lack.names or ())]
            if absent:
                raise ValueError(
                    f"block {lack.block} has no column {absent[0]!r}, which block {have.block} "
                    "has: add it, with missing values (NaN) if nothing is known"
                )
        order = [self.names.index(name) for name in other.names]
        dates = tuple(d for d, place in enumerate(order) if place in self.dates)
        first = self.n_table_columns
        parts = [
            first + len(PARTS) * self.dates.index(order[d]) + k
            for d in dates
            for k in range(len(PARTS))
        ]
        places = [*order, *parts]
        return replace(
            self,
            names=other.names,
            columns=tuple(self.columns[place] for place in places),
            dates=dates,
            sample=replace(self.sample, X=self.sample.X[:, places]),
        )

    def _with_dates(self, dates: tuple[int, ...]) -> Self:
        """Return the survey with the parts of the calendar of columns without any entry."""
        every = tuple(sorted({*self.dates, *dates}))
        if every == self.dates:
            return self
        first, nothing = self.n_table_columns, np.full(len(self.sample.X), np.nan)
        columns, X = list(self.columns[:first]), list(self.sample.X.T[:first])
        for d in every:
            for k in range(len(PARTS)):
                if d in self.dates:
                    place = first + len(PARTS) * self.dates.index(d) + k
                    columns.append(self.columns[place])
                    X.append(self.sample.X[:, place])
                else:
                    empty = ColumnSurvey(
                        "number", (), np.empty(0), True, np.inf, -np.inf, self.block
                    )
                    columns.append(empty)
                    X.append(nothing)
        sample = replace(self.sample, X=np.column_stack(X))
        return replace(self, columns=tuple(columns), dates=every, sample=sample)

    def _sample_for(self, merged: Sequence[ColumnSurvey]) -> RowSample:
        """Return the sample with the codes of the labels of all blocks."""
        pairs = list(zip(self.columns, merged, strict=True))
        if all((a.kind, a.labels) == (b.kind, b.labels) for a, b in pairs):
            return self.sample
        X = self.sample.X.copy()
        for d, (mine, both) in enumerate(pairs):
            if both.kind != "category":
                X[:, d] = np.nan if mine.kind == "category" else X[:, d]
                continue
            place = {label: code for code, label in enumerate(both.labels)}
            if mine.kind == "category":
                codes = np.array([place[label] for label in mine.labels] or [0], dtype=np.float64)
                X[:, d] = codes[X[:, d].astype(np.intp)]
            else:  # nothing but missing values
                X[:, d] = place.get(None, 0)
        return replace(self.sample, X=X)


def plain_numbers(X: Any) -> FloatArray:
    """Return an array or a table of numbers as an array, of a table with contiguous columns."""
    if column_names(X) is None:
        return as_numbers(X, "X")
    columns = np.empty((X.shape[1], X.shape[0]))
    for d, column in enumerate(columns):
        column[:] = numbers(column_at(X, d))
    return columns.T


def check_numbers(X: FloatArray, names: Sequence[Any] | None, block: int) -> None:
    """Raise an error that names the column of an infinite number."""
    is_infinite = np.isinf(X).any(axis=0)
    if is_infinite.any():
        d = int(np.argmax(is_infinite))
        raise ValueError(
            f"column {d if names is None else names[d]!r} of X contains infinite values in block "
            f"{block}: replace them by NaN or finite numbers"
        )


def _kinds(X: Any, names: tuple[Any, ...] | None) -> list[Kind]:
    if names is None:
        return ["number"] * np.shape(X)[1]
    found = [column_kind(column_at(X, d)) for d in range(len(names))]
    return [each if each in {"category", "date"} else "number" for each in found]


def _own_encoding(X: Any, kinds: Sequence[Kind]) -> MixedTable | None:
    """Return the encoding of a block by its own categories, with all parts of the calendar."""
    if set(kinds) <= {"number"}:
        return None
    table = MixedTable.from_table(X)
    known = table.categories[: len(kinds)]
    parts = tuple((d, part) for d in table.dates for part in PARTS)
    return MixedTable((*known, *[None] * len(parts)), table.dates, parts)


def _column(
    kind: Kind,
    labels: tuple[Any, ...],
    values: FloatArray,
    present: BoolArray,
    block: int,
    max_levels: int,
) -> ColumnSurvey:
    if kind == "category":
        return ColumnSurvey(kind, labels, None, False, np.inf, -np.inf, block)
    values = values if present.all() else values[present]
    is_missing = np.isnan(values)
    has_missing = bool(is_missing.any())
    known = values[~is_missing] if has_missing else values
    distinct: FloatArray = np.unique(known[:FIRST_ROWS])
    if len(known) > FIRST_ROWS and len(distinct) <= max_levels:
        places = np.minimum(np.searchsorted(distinct, known), len(distinct) - 1)
        others = known[distinct[places] != known]
        distinct = np.union1d(distinct, others)
    return ColumnSurvey(
        kind,
        (),
        distinct if len(distinct) <= max_levels else None,
        has_missing,
        float(known.min(initial=np.inf)),
        float(known.max(initial=-np.inf)),
        block,
    )

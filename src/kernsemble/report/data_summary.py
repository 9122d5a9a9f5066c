"""Summary of the training data."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from kernsemble._counts import readable
from kernsemble._typing import FloatArray
from kernsemble.inspection.fitted_models import column_categories, column_dates
from kernsemble.report.association import Association, association
from kernsemble.report.readable_axis import date_text
from kernsemble.report.row_samples import RowSample

SHOWN_CATEGORIES = 3  # number of frequent categories that are listed
N_BARS = 12  # number of bars of the histogram of a column


class ColumnSummary(NamedTuple):
    """Summary of a column: kind, missing values, distinct values, range, histogram, association."""

    name: str
    kind: str  # "number", "category" or "date"
    n_missing: int
    n_distinct: int
    values: str  # minimum, median and maximum; or the most frequent categories
    histogram: tuple[int, ...] = ()  # counts in bins of equal width, or of frequent categories
    association: Association | None = None  # with the target


@dataclass(frozen=True, eq=False)
class DataSummary:
    """Summary of the training data.

    Attributes
    ----------
    n_rows, n_columns : int
        Numbers of rows and columns.
    n_described : int
        Number of rows that the summaries of columns are computed from.
    columns : list of ColumnSummary
        Summary of each column, in their order.
    targets : dict
        Number of rows of each class, or the quartiles of a numeric target.
    """

    n_rows: int
    n_columns: int
    n_described: int
    columns: list[ColumnSummary]
    targets: dict[str, float]

    @property
    def n_missing(self) -> int:
        """Number of missing entries in the described rows."""
        return sum(column.n_missing for column in self.columns)

    @property
    def has_dates(self) -> bool:
        """Whether there are columns of dates."""
        return any(column.kind == "date" for column in self.columns)

    @property
    def n_categories(self) -> int:
        """Number of columns of categories."""
        return sum(column.kind == "category" for column in self.columns)


def data_summary(
    model: Any, y: Any, sample: RowSample, rows: FloatArray, names: list[str]
) -> DataSummary:
    """Return the summary of training rows, from a sample of them as the model encodes it."""
    is_classes = is_classifier(model)
    dates, columns = column_dates(model), []
    for d, known in enumerate(column_categories(model)):
        values = rows[:, d]
        found = association(values, known is not None, sample.y, is_classes)
        summary = column_summary(names[d], values, known, d in dates)
        columns.append(summary._replace(association=found))
    return DataSummary(sample.n_rows, len(names), len(rows), columns, _targets(model, y))


def column_summary(
    name: str,
    values: FloatArray,
    known: tuple[Any, ...] | None = None,
    is_date: bool = False,
) -> ColumnSummary:
    """Return the summary of numbers, of days since 1970, or of codes of the categories `known`."""
    present = values[~np.isnan(values)]
    distinct, counts = np.unique(present, return_counts=True)
    if known is None:
        n_missing = len(values) - len(present)
        ends = np.quantile(present, [0.0, 0.5, 1.0]) if len(present) else present
        text = " · ".join(date_text(each) if is_date else readable(each) for each in ends)
        kind = "date" if is_date else "number"
        return ColumnSummary(name, kind, n_missing, len(distinct), text, _bars(present))
    named = {category_name(known, code): int(n) for code, n in zip(distinct, counts, strict=True)}
    n_missing = named.pop("missing", 0) if None in known else 0
    frequent = sorted(named, key=lambda each: -named[each])
    text = ", ".join(frequent[:SHOWN_CATEGORIES]) + (", …" if len(frequent) > 3 else "")
    bars = tuple(named[each] for each in frequent[:N_BARS])
    return ColumnSummary(name, "category", n_missing, len(named), text, bars)


def _bars(present: FloatArray) -> tuple[int, ...]:
    """Return the counts of numbers in bins of equal width."""
    finite = present[np.isfinite(present)]
    if len(finite) == 0:
        return ()
    return tuple(np.histogram(finite, N_BARS)[0].tolist())


def category_name(known: tuple[Any, ...], code: float) -> str:
    """Return the name of a category, "unknown" if it was not in the training rows."""
    if not 0 <= code < len(known):
        return "unknown"
    return "missing" if known[int(code)] is None else str(known[int(code)])


def _targets(model: Any, y: Any) -> dict[str, float]:
    if is_classifier(model):
        classes, counts = np.unique(y, return_counts=True)
        return {str(name): int(n) for name, n in zip(classes, counts, strict=True)}
    levels = {"minimum": 0.0, "lower quartile": 0.25, "median": 0.5}
    levels |= {"upper quartile": 0.75, "maximum": 1.0}
    quantiles = np.quantile(np.asarray(y, dtype=np.float64), list(levels.values()))
    return dict(zip(levels, quantiles.tolist(), strict=True))

"""What the rows are that a model learned from."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from kernsemble._typing import FloatArray
from kernsemble.report.row_samples import RowSample

SHOWN_CATEGORIES = 3


class ColumnSummary(NamedTuple):
    """A column: what it holds, how much of it is missing, and where its values lie."""

    name: str
    kind: str  # "number" or "category"
    n_missing: int
    n_distinct: int
    values: str  # smallest, median and largest number; or the most frequent categories


@dataclass(frozen=True, eq=False)
class DataSummary:
    """The training rows.

    Attributes
    ----------
    n_rows, n_columns : int
        How many there are.
    n_looked_at : int
        Of how many rows the columns are told.
    columns : list of ColumnSummary
        The columns, in their order.
    targets : dict
        Of classes how many rows each has, of numbers their quartiles.
    """

    n_rows: int
    n_columns: int
    n_looked_at: int
    columns: list[ColumnSummary]
    targets: dict[str, float]

    @property
    def n_missing(self) -> int:
        """How many entries are missing among the rows that were looked at."""
        return sum(column.n_missing for column in self.columns)

    @property
    def n_categories(self) -> int:
        """How many columns hold categories."""
        return sum(column.kind == "category" for column in self.columns)


def categories_of(model: Any) -> tuple[tuple[Any, ...] | None, ...]:
    """Return the categories of each column, None for columns of numbers."""
    table = getattr(model, "mixed_table_", None)
    return (None,) * model.n_features_in_ if table is None else table.categories


def data_summary(
    model: Any, y: Any, sample: RowSample, rows: FloatArray, names: list[str]
) -> DataSummary:
    """Return what training rows are, from a sample of them as the model reads it."""
    columns = [
        column_summary(name, values, known)
        for name, values, known in zip(names, rows.T, categories_of(model), strict=True)
    ]
    return DataSummary(sample.n_rows, len(names), len(rows), columns, _targets(model, y))


def column_summary(
    name: str, values: FloatArray, known: tuple[Any, ...] | None = None
) -> ColumnSummary:
    """Return what a column holds: numbers, or places of the categories that are known."""
    present = values[~np.isnan(values)]
    distinct, counts = np.unique(present, return_counts=True)
    if known is None:
        n_missing = len(values) - len(present)
        ends = np.quantile(present, [0.0, 0.5, 1.0]) if len(present) else present
        text = " · ".join(f"{each:.4g}" for each in ends)
        return ColumnSummary(name, "number", n_missing, len(distinct), text)
    named = {category_name(known, place): int(n) for place, n in zip(distinct, counts, strict=True)}
    n_missing = named.pop("missing", 0) if None in known else 0
    frequent = sorted(named, key=lambda each: -named[each])
    text = ", ".join(frequent[:SHOWN_CATEGORIES]) + (", …" if len(frequent) > 3 else "")
    return ColumnSummary(name, "category", n_missing, len(named), text)


def category_name(known: tuple[Any, ...], place: float) -> str:
    """Return what a category is called, of those that training rows held."""
    if not 0 <= place < len(known):
        return "unknown"
    return "missing" if known[int(place)] is None else str(known[int(place)])


def _targets(model: Any, y: Any) -> dict[str, float]:
    if is_classifier(model):
        classes, counts = np.unique(y, return_counts=True)
        return {str(name): int(n) for name, n in zip(classes, counts, strict=True)}
    places = {"smallest": 0.0, "lower quartile": 0.25, "median": 0.5}
    places |= {"upper quartile": 0.75, "largest": 1.0}
    ends = np.quantile(np.asarray(y, dtype=np.float64), list(places.values()))
    return dict(zip(places, ends.tolist(), strict=True))

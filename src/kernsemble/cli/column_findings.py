"""Columns that hardly help a model: identifiers, constants, and copies of the target.

Identifiers and columns with a single value are left out; columns that predict the target almost
perfectly are named, since they are often unknown when predictions are needed (leakage).
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from kernsemble._typing import Array, FloatArray
from kernsemble.cli.column_types import ColumnKind, import_polars
from kernsemble.cli.console import note

if TYPE_CHECKING:
    import polars as pl

__all__ = ["note_leaks", "useless_columns"]

ID_WORDS = {"id", "ids", "index", "idx", "key", "uuid", "guid", "rownum", "rowid", "rownumber"}
MIN_ROWS = 10  # fewer rows are too few to call a column an identifier
MIN_LEAK_ROWS, MAX_LEAK_ROWS = 20, 20_000  # a random sample of more rows shows leaks as well
ALMOST_PERFECT = 0.999


def useless_columns(features: "pl.DataFrame", kinds: Mapping[str, ColumnKind]) -> dict[str, str]:
    """Return the columns to leave out, and the reason for each."""
    found = {}
    for name, kind in kinds.items():
        reason = _reason(features[name], kind)
        if reason:
            found[name] = reason
    return found


def _reason(column: "pl.Series", kind: ColumnKind) -> str:
    known = column.drop_nulls()
    if column.dtype.is_float():
        known = known.drop_nans()
    if not len(known):
        return "has only missing values"
    n_distinct = known.n_unique()
    if n_distinct == 1 and len(known) == len(column) and len(column) > 1:
        return f"has the same value, {known.to_list()[0]}, in all rows"
    if len(column) < MIN_ROWS or n_distinct < len(column):
        return ""
    if kind == "category":
        return "has different text in every row, such as an identifier"
    return _reason_of_numbers(known) if kind == "number" and _is_whole(known) else ""


def _reason_of_numbers(known: "pl.Series") -> str:
    """Return why different whole numbers identify rows, "" if they may not."""
    if _is_named_id(known.name):
        return "is an identifier by its name, with a different number in every row"
    first, last = known.to_numpy().min(), known.to_numpy().max()
    if first in {0, 1} and last - first == len(known) - 1:
        return f"numbers the rows from {first:.0f} to {last:.0f}"
    return ""


def _is_whole(known: "pl.Series") -> bool:
    return known.dtype.is_integer() or (
        known.dtype.is_float() and bool((known == known.floor()).all())
    )


def _is_named_id(name: str) -> bool:
    """Return whether a word of a name, such as customer_id or CustomerID, is one for keys."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return any(word.lower() in ID_WORDS for word in words)


def note_leaks(features: "pl.DataFrame", y: Array, target: str, is_regression: bool) -> list[str]:
    """Write a note for each column that alone predicts the target, and return these columns."""
    if len(y) < MIN_LEAK_ROWS:
        return []
    if len(y) > MAX_LEAK_ROWS:
        places = np.random.default_rng(0).choice(len(y), MAX_LEAK_ROWS, replace=False)
        features, y = features[places], y[places]
    found = []
    for column in features:
        evidence = _correlation(column, y) if is_regression else _accuracy(column, y)
        if evidence:
            found.append(column.name)
            note(
                f"column {column.name!r} alone predicts {target!r} ({evidence}); if it is not "
                f"known before {target!r} is, leave it out with --drop {column.name!r}"
            )
    return found


def _numbers(column: "pl.Series") -> FloatArray:
    pl = import_polars()
    if column.dtype.is_temporal():
        column = column.cast(pl.Int64)
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _correlation(column: "pl.Series", y: Array) -> str:
    """Return the rank correlation with a target of numbers if it is almost one."""
    if not (column.dtype.is_numeric() or column.dtype.is_temporal()):
        return ""
    values = _numbers(column)
    is_known = np.isfinite(values)
    if is_known.sum() < MIN_LEAK_ROWS or len(np.unique(values[is_known])) < 3:
        return ""
    from scipy.stats import spearmanr

    r = float(spearmanr(values[is_known], y[is_known]).statistic)
    return f"rank correlation {r:.4f}" if abs(r) > ALMOST_PERFECT else ""


def _accuracy(column: "pl.Series", y: Array) -> str:
    """Return the accuracy of classes by the values of a column, or by one threshold, if perfect."""
    _, codes = np.unique(y, return_inverse=True)
    majority = np.bincount(codes).max() / len(codes)
    best = _accuracy_by_value(column, codes)
    if column.dtype.is_numeric() or column.dtype.is_temporal():
        best = max(best, _accuracy_by_threshold(_numbers(column), codes))
    is_leak = best >= ALMOST_PERFECT and majority < 1.0 - 2.0 * (1.0 - ALMOST_PERFECT)
    return f"accuracy {best:.3f}" if is_leak else ""


def _accuracy_by_value(column: "pl.Series", codes: Array) -> float:
    """Return the share of rows in the most frequent class of their value."""
    n_values = column.n_unique()
    if n_values > len(codes) // 4:  # nearly one row for each value
        return 0.0
    values = column.rank("dense").fill_null(0).to_numpy().astype(np.intp)
    counts = np.zeros((n_values + 1, int(codes.max()) + 1))
    np.add.at(counts, (values, codes), 1.0)
    return float(counts.max(axis=1).sum() / len(codes))


def _accuracy_by_threshold(values: FloatArray, codes: Array) -> float:
    """Return the accuracy of the best threshold for two classes, 0 for more of them."""
    if codes.max() != 1 or np.isnan(values).any():
        return 0.0
    order = np.argsort(values, kind="stable")
    values, signs = values[order], 2.0 * codes[order] - 1.0
    gain = np.cumsum(signs)[:-1]  # of predicting class 1 up to a threshold
    is_split = values[1:] > values[:-1]
    if not is_split.any():
        return 0.0
    agreement = 2.0 * gain[is_split] - signs.sum()
    return float(0.5 + 0.5 * np.abs(agreement).max() / len(codes))

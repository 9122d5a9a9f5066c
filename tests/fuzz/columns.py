"""Columns of pandas and polars tables of any type, from a source of hostile data."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

WORDS = ["red", "green", "blue", "", " ", "nan", "NaN", "None", "-1", "1e5", "é", "x" * 300, "\0"]
PLAIN_WORDS = ["red", "green", "blue", "cyan"]


def objects(values: Sequence[Any]) -> Any:
    """Return a column of objects, which pandas does not convert."""
    column = np.empty(len(values), dtype=object)
    column[:] = list(values)
    return column


def _numbers(draw: Any, n: int) -> Any:
    return draw.numbers(n, 1)[:, 0]


def _words(draw: Any, n: int) -> list[str]:
    return [draw.one_of(WORDS) for _ in range(n)]


def _with_gaps(draw: Any, values: Sequence[Any], gap: Any) -> list[Any]:
    return [gap if draw.chance(0.3) else value for value in values]


def _dates(draw: Any, n: int) -> Any:
    return pd.Timestamp("2020-02-29") + pd.to_timedelta(draw.rng.integers(0, 10**6, n), unit="h")


def _levels(draw: Any, n: int) -> Any:
    levels = [f"level {k}" for k in range(10_000)]
    return pd.Categorical.from_codes(draw.rng.integers(-1, 10_000, n), levels)


PANDAS_COLUMNS: list[Callable[[Any, int], Any]] = [
    _numbers,
    _numbers,
    lambda draw, n: draw.rng.integers(0, 3, n),
    lambda draw, n: draw.rng.integers(-(2**63), 2**63 - 1, n),
    lambda draw, n: draw.rng.random(n) < 0.5,
    lambda draw, n: [draw.one_of(PLAIN_WORDS) for _ in range(n)],
    lambda draw, n: [draw.one_of(PLAIN_WORDS) for _ in range(n)],
    _words,
    lambda draw, n: _with_gaps(draw, _words(draw, n), None),
    lambda draw, n: pd.array(_with_gaps(draw, _words(draw, n), pd.NA), dtype="string"),
    lambda draw, n: pd.Categorical(_words(draw, n)),
    lambda draw, n: pd.Categorical(_with_gaps(draw, draw.rng.integers(0, 4, n).tolist(), None)),
    lambda draw, n: pd.Categorical(draw.rng.random(n).round(1), ordered=True),
    lambda draw, n: pd.Categorical([None] * n, categories=[]),
    _levels,
    lambda draw, n: pd.array(_with_gaps(draw, [1, 2, 3] * n, pd.NA)[:n], dtype="Int64"),
    lambda draw, n: pd.array([2**62 + k for k in range(n)], dtype="UInt64"),
    lambda draw, n: pd.array(_with_gaps(draw, [0.5, 1e300] * n, pd.NA)[:n], dtype="Float64"),
    lambda draw, n: pd.array(_with_gaps(draw, [True, False] * n, pd.NA)[:n], dtype="boolean"),
    lambda draw, n: pd.array([pd.NA] * n, dtype="Int64"),
    lambda draw, n: _dates(draw, n),
    lambda draw, n: pd.Series(_dates(draw, n)).where(draw.rng.random(n) < 0.7),
    lambda draw, n: _dates(draw, n).tz_localize("UTC").tz_convert("Asia/Tokyo"),
    lambda draw, n: pd.Series([pd.NaT] * n, dtype="datetime64[ns]"),
    lambda draw, n: np.array(["0001-01-01", "9999-12-31"] * n, dtype="datetime64[s]")[:n],
    lambda draw, n: pd.to_timedelta(draw.rng.integers(-(10**9), 10**9, n), unit="s"),
    lambda draw, n: pd.period_range("2020-01", periods=n, freq="M"),
    lambda draw, n: pd.IntervalIndex.from_breaks(range(n + 1)),
    lambda draw, n: objects([d.date() for d in _dates(draw, n)]),
    lambda draw, n: objects([d.time() for d in _dates(draw, n)]),
    lambda draw, n: objects([draw.one_of([1, "1", 1.0, None, True]) for _ in range(n)]),
    lambda draw, n: objects([draw.one_of([2**70, -(2**70), 1]) for _ in range(n)]),
    lambda draw, n: objects([None] * n),
    lambda draw, n: [draw.one_of([[1], [2, 3]]) for _ in range(n)],
    lambda draw, n: [{"a": 1}] * n,
    lambda draw, n: [b"bytes"] * n,
    lambda draw, n: draw.rng.normal(size=n) + 1j,
    lambda draw, n: pd.arrays.SparseArray(draw.rng.integers(0, 2, n).astype(float)),
    lambda draw, n: pd.array(_words(draw, n), dtype="string[pyarrow]"),
]


def _polars(values: Callable[[Any, int], Any], dtype: Any = None) -> Callable[[Any, int], Any]:
    """Return a generator of polars columns of a type, out of one of values."""
    return lambda draw, n: pl.Series(values(draw, n), dtype=dtype)


def _gaps(values: Callable[[Any, int], Any]) -> Callable[[Any, int], Any]:
    return lambda draw, n: _with_gaps(draw, list(values(draw, n)), None)


def _moments(draw: Any, n: int) -> list[Any]:
    return _dates(draw, n).to_pydatetime().tolist()


POLARS_COLUMNS: list[Callable[[Any, int], Any]] = [
    _polars(_numbers),
    _polars(_gaps(lambda draw, n: draw.rng.normal(size=n).tolist()), pl.Float64),
    _polars(_gaps(lambda draw, n: draw.rng.integers(0, 9, n).tolist()), pl.Int32),
    _polars(lambda draw, n: [2**64 - 1 - k for k in range(n)], pl.UInt64),
    _polars(_gaps(lambda draw, n: ([True, False] * n)[:n]), pl.Boolean),
    _polars(_gaps(_words), pl.String),
    _polars(_words, pl.Categorical),
    _polars(lambda draw, n: ["a"] * n, pl.Enum(["b", "a"])),
    _polars(_gaps(_moments), pl.Datetime),
    _polars(lambda draw, n: [each.date() for each in _moments(draw, n)], pl.Date),
    _polars(lambda draw, n: [each.time() for each in _moments(draw, n)], pl.Time),
    _polars(lambda draw, n: [each - datetime(2021, 1, 1) for each in _moments(draw, n)]),
    _polars(lambda draw, n: [None] * n, pl.Null),
    _polars(lambda draw, n: [None] * n, pl.Float64),
    _polars(lambda draw, n: [[1, 2]] * n),
    _polars(lambda draw, n: [{"a": 1}] * n),
    _polars(lambda draw, n: [b"x"] * n),
    _polars(lambda draw, n: [1] * n, pl.Decimal(10, 2)),
]

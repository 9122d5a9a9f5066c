"""Targets and weights, from a source of hostile data."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from fuzz.columns import PLAIN_WORDS, objects
from scipy import sparse


def cast(X: Any, dtype: Any) -> Any:
    """Return an array of another type, without warnings."""
    with np.errstate(all="ignore"):
        return X.astype(dtype)


def _singleton_classes(draw: Any, codes: Any) -> Any:
    return np.where(np.arange(len(codes)) == 0, 7, 0)


CLASS_TARGETS: list[Callable[[Any, Any], Any]] = [
    lambda draw, y: np.array(PLAIN_WORDS)[y],
    lambda draw, y: np.array(PLAIN_WORDS, dtype=object)[y],
    lambda draw, y: np.array(["", " ", "nan", "\0"])[y],
    lambda draw, y: y == 0,
    lambda draw, y: y.astype(float),
    lambda draw, y: y.astype(np.uint8),
    lambda draw, y: 2**60 + y,
    lambda draw, y: -y,
    lambda draw, y: y.tolist(),
    lambda draw, y: pd.Series(y, index=range(5, 5 + len(y))),
    lambda draw, y: pd.Series(np.array(PLAIN_WORDS)[y], dtype="category"),
    lambda draw, y: pd.Series(y, dtype="Int64"),
    lambda draw, y: pd.Series(y == 0, dtype="boolean"),
    lambda draw, y: pd.Series(np.where(y == 0, None, "a"), dtype="string"),
    lambda draw, y: pl.Series(y),
    lambda draw, y: pl.Series(np.array(PLAIN_WORDS)[y]),
    lambda draw, y: np.zeros_like(y),
    lambda draw, y: np.arange(len(y)),
    _singleton_classes,
    lambda draw, y: y[:, np.newaxis],
    lambda draw, y: np.stack([y, y], axis=1),
    lambda draw, y: y + 0.5,
    lambda draw, y: draw.rng.normal(size=len(y)),
    lambda draw, y: np.where(y == 0, np.nan, y),
    lambda draw, y: np.where(y == 0, np.inf, y),
    lambda draw, y: np.array([None, "a", 1, 2.0], dtype=object)[y],
    lambda draw, y: objects([("a", 1) if k else ("b", 2) for k in y]),
    lambda draw, y: np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")[y % 2],
    lambda draw, y: y[:-1],
    lambda draw, y: np.concatenate([y, y]),
    lambda draw, y: None,
    lambda draw, y: "classes",
    lambda draw, y: [],
    lambda draw, y: y[::-1],
    lambda draw, y: sparse.csr_matrix(y),
    lambda draw, y: np.zeros_like(y, dtype=object),
]
NUMBER_TARGETS: list[Callable[[Any, Any], Any]] = [
    lambda draw, y: np.zeros_like(y),
    lambda draw, y: np.full_like(y, 1e300),
    lambda draw, y: np.round(y),
    lambda draw, y: y * 1e300,
    lambda draw, y: y * 1e-300,
    lambda draw, y: y * 5e-324,
    lambda draw, y: np.sign(y) * 1.7e308,
    lambda draw, y: y * 10.0 ** draw.rng.integers(-300, 300, len(y)),
    lambda draw, y: 1e16 + y,
    lambda draw, y: 1e9 + y,
    lambda draw, y: y * 1e160,
    lambda draw, y: np.where(np.arange(len(y)) == 0, 1e12, y),
    lambda draw, y: np.where(np.arange(len(y)) == 0, np.nan, y),
    lambda draw, y: np.where(np.arange(len(y)) == 0, np.inf, y),
    lambda draw, y: y.astype(np.float32),
    lambda draw, y: cast(y, np.float16),
    lambda draw, y: y > 0,
    lambda draw, y: y.astype(object),
    lambda draw, y: y.astype(str),
    lambda draw, y: y.astype(complex),
    lambda draw, y: draw.rng.integers(-(2**63), 2**63 - 1, len(y)),
    lambda draw, y: [2**70] * len(y),
    lambda draw, y: y.tolist(),
    lambda draw, y: pd.Series(y),
    lambda draw, y: pd.Series(y, dtype="Float64"),
    lambda draw, y: pl.Series(y),
    lambda draw, y: np.array(["a"] * len(y)),
    lambda draw, y: np.array([None] * len(y)),
    lambda draw, y: np.array(["2020-01-01"] * len(y), dtype="datetime64[D]"),
    lambda draw, y: y[:, np.newaxis],
    lambda draw, y: np.stack([y, y], axis=1),
    lambda draw, y: y[:-1],
    lambda draw, y: np.repeat(y, 2)[::2],
    lambda draw, y: None,
    lambda draw, y: 1.0,
    lambda draw, y: [],
]
WEIGHTS: list[Callable[[Any, Any], Any]] = [
    lambda draw, w: np.ones_like(w),
    lambda draw, w: np.zeros_like(w),
    lambda draw, w: np.where(np.arange(len(w)) % 2 == 0, 0.0, w),
    lambda draw, w: np.where(np.arange(len(w)) == 0, w, 0.0),
    lambda draw, w: draw.rng.integers(0, 3, len(w)),
    lambda draw, w: w * 1e300,
    lambda draw, w: w * 1e-300,
    lambda draw, w: w * 5e-324,
    lambda draw, w: np.full_like(w, 1.7e308),
    lambda draw, w: w * 10.0 ** draw.rng.integers(-150, 150, len(w)),
    lambda draw, w: -w,
    lambda draw, w: np.where(np.arange(len(w)) == 0, np.nan, w),
    lambda draw, w: np.where(np.arange(len(w)) == 0, np.inf, w),
    lambda draw, w: w.tolist(),
    lambda draw, w: w.astype(np.float32),
    lambda draw, w: w > 0.5,
    lambda draw, w: pd.Series(w, index=range(5, 5 + len(w))),
    lambda draw, w: pl.Series(w),
    lambda draw, w: w[:-1],
    lambda draw, w: w[:, np.newaxis],
    lambda draw, w: 2.0,
    lambda draw, w: "balanced",
    lambda draw, w: [None] * len(w),
    lambda draw, w: w.astype(object),
]

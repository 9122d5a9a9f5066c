"""Tables as DataFrames, for those who have pandas."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def as_frame(columns: Mapping[str, Any], index: Any = None) -> Any:
    """Return columns as a DataFrame of pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "DataFrames need pandas: install it, or take the arrays, which need nothing"
        ) from error
    return pd.DataFrame(dict(columns), index=index)


def stacked(tables: list[tuple[str, dict[str, Any]]], keys: tuple[str, ...]) -> Any:
    """Return tables of features below each other, with the columns that occur."""
    present = [key for key in keys if any(key in table for _, table in tables)]
    lengths = [len(next(iter(table.values()))) for _, table in tables]
    columns: dict[str, Any] = {
        "feature": [name for (name, _), n in zip(tables, lengths, strict=True) for _ in range(n)]
    }
    for key in present:
        nothing = None if key == "category" else np.nan
        columns[key] = [
            item
            for (_, table), n in zip(tables, lengths, strict=True)
            for item in table.get(key, [nothing] * n)
        ]
    return as_frame(columns)

"""Results as pandas DataFrames; pandas is imported on demand."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def as_frame(columns: Mapping[str, Any], index: Any = None) -> Any:
    """Return columns as a pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "DataFrames need pandas, which is not installed: pip install pandas, or use the arrays"
        ) from error
    return pd.DataFrame(dict(columns), index=index)


def concatenated(tables: list[tuple[str, dict[str, Any]]], keys: tuple[str, ...]) -> Any:
    """Return one DataFrame of the tables of several features, with the keys that occur."""
    present = [key for key in keys if any(key in table for _, table in tables)]
    lengths = [len(next(iter(table.values()))) for _, table in tables]
    columns: dict[str, Any] = {
        "feature": [name for (name, _), n in zip(tables, lengths, strict=True) for _ in range(n)]
    }
    for key in present:
        absent = None if key == "category" else np.nan
        columns[key] = [
            item
            for (_, table), n in zip(tables, lengths, strict=True)
            for item in table.get(key, [absent] * n)
        ]
    return as_frame(columns)

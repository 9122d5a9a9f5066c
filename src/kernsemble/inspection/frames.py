"""Tables as DataFrames, for those who have pandas."""

from collections.abc import Mapping
from typing import Any


def as_frame(columns: Mapping[str, Any], index: Any = None) -> Any:
    """Return columns as a DataFrame of pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "DataFrames need pandas: install it, or take the arrays, which need nothing"
        ) from error
    return pd.DataFrame(dict(columns), index=index)

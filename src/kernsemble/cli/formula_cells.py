"""Cells of text that spreadsheets run as formulas when they open a CSV file."""

import re
from typing import TYPE_CHECKING

from kernsemble.cli.column_types import import_polars

if TYPE_CHECKING:
    import polars as pl

__all__ = ["n_formulas", "without_formulas"]

FORMULA = r"(?s)^[=+\-@\t\r]."
ESCAPE = "'"


def n_formulas(frame: "pl.DataFrame") -> int:
    """Return the number of cells that begin as a formula does.

    Examples
    --------
    >>> import polars as pl
    >>> from kernsemble.cli.formula_cells import n_formulas, without_formulas
    >>> frame = pl.DataFrame({"id": ["=1+1", "-5.2", "a"], "@name": ["+x", None, "-"]})
    >>> n_formulas(frame)
    2
    >>> without_formulas(frame).rows(), without_formulas(frame).columns
    ([("'=1+1", "'+x"), ('-5.2', None), ('a', '-')], ['id', "'@name"])
    """
    return sum(int(_is_formula(column).sum()) for column in frame if _is_text(column))


def without_formulas(frame: "pl.DataFrame") -> "pl.DataFrame":
    """Return a table with an apostrophe before cells and names that begin as a formula does."""
    pl = import_polars()
    columns = []
    for column in frame:
        text = column.cast(pl.String) if _is_text(column) else None
        if text is not None:
            escaped = pl.Series(column.name, [ESCAPE], dtype=pl.String) + text
            column = escaped.zip_with(_is_formula(column), text)
        columns.append(column)
    return pl.DataFrame(columns).rename(_new_names(frame))


def _is_text(column: "pl.Series") -> bool:
    pl = import_polars()
    return isinstance(column.dtype, (pl.String, pl.Categorical, pl.Enum))


def _is_formula(column: "pl.Series") -> "pl.Series":
    """Return which entries begin as a formula and are no number."""
    pl = import_polars()
    text = column.cast(pl.String)
    numbers = text.str.strip_chars().cast(pl.Float64, strict=False)
    return (text.str.contains(FORMULA) & numbers.is_null()).fill_null(False)


def _new_names(frame: "pl.DataFrame") -> dict[str, str]:
    return {name: ESCAPE + name if re.match(FORMULA, name) else name for name in frame.columns}

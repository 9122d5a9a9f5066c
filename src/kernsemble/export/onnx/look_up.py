"""Look-ups in piecewise tables, by a binary search of all columns together."""

from collections.abc import Sequence

import numpy as np

from kernsemble.export.onnx.graph import Tensor
from kernsemble.export.piecewise_tables import PiecewiseTable


def look_up(rows: Tensor, tables: Sequence[PiecewiseTable]) -> Tensor:
    """Return the functions of every column at rows, of shape (n, n_columns, n_machines).

    The cuts of all columns are one array, with an infinite one after those of each column. A step
    of the search compares every entry with one cut, so it takes one more step for columns of
    twice as many cuts, and no memory beyond a few arrays of the shape of the rows.
    """
    sizes = np.array([len(each.cuts) for each in tables])
    first = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]])
    cuts = np.concatenate([np.append(each.cuts, np.inf) for each in tables])
    place, flat = rows.graph.tensor(first), rows.graph.tensor(cuts)
    half = (1 << int(sizes.max()).bit_length()) >> 1
    while half > 0:
        tested = (place + (half - 1)).to("Min", first + sizes)
        place = place + (flat.at(tested) < rows).where(half, 0)
        half >>= 1
    if not sizes.any():
        place = place + rows.to("IsNaN").where(0, 0)
    origin, start, slope = (
        np.concatenate([getattr(each, name) for each in tables])
        for name in ("origin", "start", "slope")
    )
    found = rows.graph.tensor(start).at(place)
    if slope.any():
        along = rows - rows.graph.tensor(origin).at(place)
        found = found + rows.graph.tensor(slope).at(place) * along.wider(2)
    missing = np.array([each.missing for each in tables])
    return rows.to("IsNaN").wider(2).where(missing, found)


def looked_up_columns(rows: Tensor, tables: Sequence[PiecewiseTable]) -> Tensor:
    """Return the functions at rows as columns: those of the first column first."""
    n_values = sum(len(each.missing) for each in tables)
    return look_up(rows, tables).shaped(-1, n_values)

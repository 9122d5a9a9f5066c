"""Curves of records: values that are named "curve@x", over the draws."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.experiments.cells import Record

NORMAL = 1.96  # standard errors of a bar that holds 95 per cent


class Curve(NamedTuple):
    """Means over the draws at places, and bars of 95 per cent (zero if there is one draw)."""

    x: FloatArray
    mean: FloatArray
    bar: FloatArray


def curves_of(records: Sequence[Record]) -> dict[str, Curve]:
    """Return the curves of records by name, in the order in which the first record tells them."""
    names = dict.fromkeys(
        key.rpartition("@")[0] for key in (records[0].values if records else ()) if "@" in key
    )
    return {name: curve_of(records, name) for name in names}


def curve_of(records: Sequence[Record], name: str) -> Curve:
    """Return one curve of records that tell the same places."""
    start = f"{name}@"
    places = [key for key in records[0].values if key.startswith(start)]
    numbers = np.array([[record.values[place] for place in places] for record in records])
    spread = np.std(numbers, axis=0, ddof=1) if len(records) > 1 else np.zeros(len(places))
    x = np.array([float(place.removeprefix(start)) for place in places])
    return Curve(x, numbers.mean(axis=0), NORMAL * spread / np.sqrt(len(records)))


def of_method(records: Iterable[Record], method: str, data: str | None = None) -> list[Record]:
    """Return the records of a method, on one data set if it is named."""
    return [
        record
        for record in records
        if record.cell.method == method and data in (None, record.cell.data)
    ]

"""Curves of records: mean values over the draws of quantities named "curve@x"."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.experiments.records import Record

NORMAL_95 = 1.96  # half the width of a 95 per cent interval, in standard errors


class MeanCurve(NamedTuple):
    """Means over the draws, and half-widths of 95 per cent intervals (zero for one draw)."""

    x: FloatArray
    mean: FloatArray
    bar: FloatArray


def mean_curves(records: Sequence[Record]) -> dict[str, MeanCurve]:
    """Return the curves of records by name, in the order of the first record."""
    names = dict.fromkeys(
        key.rpartition("@")[0] for key in (records[0].values if records else ()) if "@" in key
    )
    return {name: mean_curve(records, name) for name in names}


def mean_curve(records: Sequence[Record], name: str) -> MeanCurve:
    """Return one curve of records that have values at the same x."""
    start = f"{name}@"
    places = [key for key in records[0].values if key.startswith(start)]
    numbers = np.array([[record.values[place] for place in places] for record in records])
    spread = np.std(numbers, axis=0, ddof=1) if len(records) > 1 else np.zeros(len(places))
    x = np.array([float(place.removeprefix(start)) for place in places])
    return MeanCurve(x, numbers.mean(axis=0), NORMAL_95 * spread / np.sqrt(len(records)))


def records_of_method(
    records: Iterable[Record], method: str, data: str | None = None
) -> list[Record]:
    """Return the records of a method, optionally on one data set only."""
    return [
        record
        for record in records
        if record.cell.method == method and data in (None, record.cell.data)
    ]

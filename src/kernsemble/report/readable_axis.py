"""The axis on which the values of a feature are readable: linear, logarithmic or by quantiles."""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.stats import skew

from kernsemble._typing import FloatArray

AxisKind: TypeAlias = Literal["linear", "log", "quantile", "date"]

MAX_SKEWNESS = 2.0  # largest absolute skewness on a linear axis
FEW_VALUES = 10  # number of distinct values up to which an axis is linear
N_QUANTILES = 100  # maximum number of points of a quantile axis
N_DATES = 5  # number of labelled dates
TICKS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.98)  # quantiles that are labelled


class ReadableAxis(NamedTuple):
    """An axis: its kind, and for quantiles the values at positions between 0 and 1.

    Dates are days since 1970, and `values` are the first and the last.
    """

    kind: AxisKind
    values: list[float]
    positions: list[float]

    def place(self, x: FloatArray) -> FloatArray:
        """Return the positions of values on the axis."""
        if self.kind != "quantile":
            return np.asarray(x, dtype=np.float64)
        return np.interp(x, self.values, self.positions)

    @property
    def ticks(self) -> tuple[list[float], list[str]]:
        """Positions and labels of the ticks of an axis of quantiles or dates."""
        if self.kind == "date":
            first, last = self.values
            days = np.unique(np.linspace(first, last, N_DATES).round())
            return days.tolist(), [date_text(each) for each in days]
        found: dict[str, float] = {}
        for level in TICKS:
            value = float(np.interp(level, self.positions, self.values))
            nearest = self.values[int(np.argmin(np.abs(np.array(self.values) - value)))]
            text = f"{nearest:,.0f}" if abs(nearest) >= 1000.0 else f"{nearest:.3g}"
            found.setdefault(text, float(self.place(np.array(nearest))))
        return list(found.values()), list(found)

    @property
    def note(self) -> str:
        """Note for the title of the axis, "" for a linear one."""
        return f"{self.kind} axis" if self.kind in ("log", "quantile") else ""


LINEAR = ReadableAxis("linear", [], [])


def date_text(days: float) -> str:
    """Return the date of a number of days since 1970."""
    return str(np.datetime64(int(np.floor(days)), "D"))


def readable_axis(present: FloatArray, is_date: bool = False) -> ReadableAxis:
    """Return the axis for the values of a feature.

    It is linear unless the skewness exceeds 2 in absolute value; then logarithmic if all values
    are positive and their logarithms are not skewed, else the empirical distribution function.
    """
    values, counts = np.unique(present, return_counts=True)
    if is_date and len(values) > 0:
        return ReadableAxis("date", [float(values[0]), float(values[-1])], [])
    if len(values) <= FEW_VALUES or _skewness(present) <= MAX_SKEWNESS:
        return LINEAR
    if values[0] > 0.0 and _skewness(np.log(present)) <= MAX_SKEWNESS:
        return ReadableAxis("log", [], [])
    positions = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
    kept = np.unique(np.searchsorted(positions, np.linspace(0.0, positions[-1], N_QUANTILES)))
    return ReadableAxis("quantile", values[kept].tolist(), positions[kept].tolist())


def _skewness(values: FloatArray) -> float:
    """Return the absolute skewness, at any scale of the values."""
    return float(abs(skew(values / (np.abs(values).max() or 1.0))))

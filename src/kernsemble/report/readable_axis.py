"""The axis on which the values of a feature are readable: linear, logarithmic or by quantiles."""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.stats import skew

from kernsemble._typing import FloatArray

AxisKind: TypeAlias = Literal["linear", "log", "quantile"]

MAX_SKEWNESS = 2.0  # largest absolute skewness on a linear axis
FEW_VALUES = 10  # number of distinct values up to which an axis is linear
N_QUANTILES = 100  # maximum number of points of a quantile axis
TICKS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.98)  # quantiles that are labelled


class ReadableAxis(NamedTuple):
    """An axis: its kind, and for quantiles the values at positions between 0 and 1."""

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
        """Positions and labels of the ticks of a quantile axis, at different values."""
        found: dict[str, float] = {}
        for level in TICKS:
            value = float(np.interp(level, self.positions, self.values))
            nearest = self.values[int(np.argmin(np.abs(np.array(self.values) - value)))]
            found.setdefault(f"{nearest:.3g}", float(self.place(np.array(nearest))))
        return list(found.values()), list(found)

    @property
    def note(self) -> str:
        """Note for the title of the axis, "" for a linear one."""
        return "" if self.kind == "linear" else f"{self.kind} axis"


LINEAR = ReadableAxis("linear", [], [])


def readable_axis(present: FloatArray) -> ReadableAxis:
    """Return the axis for the values of a feature.

    It is linear unless the skewness exceeds 2 in absolute value; then logarithmic if all values
    are positive and their logarithms are not skewed, else the empirical distribution function.
    """
    values, counts = np.unique(present, return_counts=True)
    if len(values) <= FEW_VALUES or abs(skew(present)) <= MAX_SKEWNESS:
        return LINEAR
    if values[0] > 0.0 and abs(skew(np.log(present))) <= MAX_SKEWNESS:
        return ReadableAxis("log", [], [])
    positions = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
    kept = np.unique(np.searchsorted(positions, np.linspace(0.0, positions[-1], N_QUANTILES)))
    return ReadableAxis("quantile", values[kept].tolist(), positions[kept].tolist())

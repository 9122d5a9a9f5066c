"""Margins of rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble._value_object import Value
from kernsemble.inspection.dataframes import as_frame


@dataclass(frozen=True, eq=False, repr=False)
class Margins(Value):
    r"""The margins :math:`y_i f(x_i)` of rows, negative for errors.

    Attributes
    ----------
    margins : array of shape (n,)
        Margins of the rows whose class is one of the machine's, in their order.
    norm : float
        Norm of the ensemble: :math:`\|w\|` of a support vector machine, whose `normalised` margins
        are distances from the boundary, or :math:`\sum_t |w_t|` of a boosted ensemble, whose
        normalised margins are shares of the vote between −1 and 1.
    norm_name : str
        Symbol of the norm.
    """

    margins: FloatArray
    norm: float
    norm_name: str

    @property
    def normalised(self) -> FloatArray:
        """Margins divided by the norm."""
        return self.margins / (self.norm or 1.0)

    def distribution(self, normalised: bool = True) -> tuple[FloatArray, FloatArray]:
        """Return the sorted margins, and the share of rows with at most each of them."""
        ordered = np.sort(self.normalised if normalised else self.margins)
        return ordered, np.arange(1, len(ordered) + 1) / len(ordered)

    def to_frame(self) -> Any:
        """Return a DataFrame with the margins of each row."""
        return as_frame({"margin": self.margins, "normalised": self.normalised})

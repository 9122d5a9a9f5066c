"""Kernels as formulas: what a kernel computes on a tile, recorded from symbols instead of numbers.

`Kernel._tile` of symbolic rows returns an `Expression`: the tile function itself is run, so that
a formula stands in one place, and compilers for other machines read it from there.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

Measure: TypeAlias = Literal["l1", "squared l2", "dot"]

OPERATIONS = ("add", "subtract", "multiply", "negative", "exp", "expm1", "sqrt", "power")


@dataclass(frozen=True, eq=False)
class Expression(NDArrayOperatorsMixin):
    """A number per pair of rows, as an operation on others; NumPy's functions return such.

    Attributes
    ----------
    operation : str
        Name of a function of NumPy, one of `OPERATIONS`; "constant"; or "distance".
    operands : tuple
        Expressions; a float for a constant; source and measure for a distance.
    """

    operation: str
    operands: tuple[Any, ...]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **_: Any) -> Any:
        if method != "__call__" or ufunc.__name__ not in OPERATIONS:
            return NotImplemented  # NumPy raises TypeError
        return Expression(ufunc.__name__, tuple(map(as_expression, inputs)))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers before they are computed."""
        return np.dtype(np.float64)

    def copy(self) -> "Expression":
        """Return the expression itself: it does not change."""
        return self


@dataclass(frozen=True)
class SymbolicRows:
    """Embedded rows without numbers, which `distances` compares symbolically.

    Attributes
    ----------
    source : int
        Number of the embedded matrix.
    """

    source: int
    shape = (1, 1)

    def compared_with(self, other: object, measure: Measure) -> Any:
        """Return the distance, or the inner product, of two rows of one matrix, an Expression."""
        if self != other:
            raise TypeError("rows of different matrices are not compared")
        return Expression("distance", (self.source, measure))


def as_expression(value: Any) -> Expression:
    """Return an expression as it is, and a number as a constant."""
    if isinstance(value, Expression):
        return value
    return Expression("constant", (np.asarray(value, dtype=np.float64).item(),))

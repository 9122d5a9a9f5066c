r"""Kernels as functions of a few distances, which devices compute pair by pair.

.. math:: K(x, x') = \varphi\bigl(d_0(x, x'), d_1(x, x'), \dots\bigr)

where :math:`d_i` is the L1 distance, the squared Euclidean distance or the inner product of
embedded rows: those rows, or their positions among thresholds, or some of their columns.
:math:`\varphi` is recorded from the tile function of the kernel, and read in two ways: by NumPy,
and as an expression of C. Distances that several parts share are computed once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse

from kernsemble._typing import ArrayLike, FloatArray
from kernsemble.devices.base import NotOnDeviceError
from kernsemble.exceptions import UnboundKernelError
from kernsemble.kernels import Constant, Kernel, Mixed, Perceptron
from kernsemble.kernels.algebra import Combination, OnColumns, Wrapper
from kernsemble.kernels.distances import dot_tile, l1_tile, squared_l2_tile
from kernsemble.kernels.dot import DotProductKernel
from kernsemble.kernels.gram import Embedded
from kernsemble.kernels.radial import Radial
from kernsemble.kernels.regions import DecisionTree, StumpRegion
from kernsemble.kernels.symbols import Expression, Measure, SymbolicRows, as_expression

Path: TypeAlias = tuple[int, ...]  # indices into nested tuples of embedded rows

TILES = {"l1": l1_tile, "squared l2": squared_l2_tile, "dot": dot_tile}
IN_C = {
    "add": "({} + {})",
    "subtract": "({} - {})",
    "multiply": "({} * {})",
    "negative": "(-{})",
    "exp": "exp_of({})",
    "expm1": "expm1_of({})",
    "sqrt": "sqrt_of({})",
}


@dataclass(frozen=True, eq=False)
class Formula:
    r"""A bound kernel as a function of distances.

    Attributes
    ----------
    kernel : Kernel
        The bound kernel.
    sources : tuple of paths
        Where the matrices that are compared stand among the embedded rows of the kernel.
    distances : tuple of (int, str)
        For each distance :math:`d_i`, the number of its matrix and its measure; distances of one
        matrix follow each other.
    expression : Expression
        The function :math:`\varphi`.
    """

    kernel: Kernel
    sources: tuple[Path, ...]
    distances: tuple[tuple[int, Measure], ...]
    expression: Expression

    @classmethod
    def from_kernel(cls, kernel: Kernel) -> Self:
        """Return the formula of a bound kernel.

        Raises
        ------
        NotOnDeviceError
            If a part of the kernel is no function of distances; the error names it.
        """
        if kernel.n_features is None and not isinstance(kernel, Constant):
            raise UnboundKernelError.of(kernel)
        sources = _Sources()
        expression = _traced(kernel, sources.rows_of(kernel))
        distances = sorted(set(_distances(expression)))
        used = sorted({source for source, _ in distances})
        number = {source: place for place, source in enumerate(used)}
        return cls(
            kernel,
            tuple(sources.paths[source] for source in used),
            tuple((number[source], measure) for source, measure in distances),
            _renumbered(expression, number),
        )

    def prepare(
        self, X: ArrayLike, dtype: np.dtype[Any]
    ) -> tuple[tuple[FloatArray, ...], FloatArray]:
        """Return the matrices that are compared, dense, and the values K(x, x) of all rows.

        Raises
        ------
        ValueError
            If a value, a sum of squares or a value K(x, x) is outside the range of `dtype`. As no
            value of a definite kernel exceeds the largest K(x, x), its matrix is then finite.
        """
        embedded = self.kernel._embed(X, "X")
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            diagonal = np.asarray(self.kernel._diagonal(embedded)).astype(dtype)
            matrices = tuple(_dense(_at(embedded, path), dtype) for path in self.sources)
            sizes = [
                4.0 * matrix.shape[1] * np.square(np.abs(matrix).max(initial=0.0))
                for matrix, power in zip(matrices, self._powers(), strict=True)
                if power == 2
            ]
            found = [*matrices, diagonal, np.array(sizes, dtype=dtype)]
            if not all(np.isfinite(each.sum(dtype=np.float64)) for each in found):
                raise ValueError(
                    f"the kernel matrix has values outside the range of {dtype}: scale the "
                    "columns, or pass float64"
                )
        return matrices, diagonal

    def _powers(self) -> list[int]:
        """Return for each matrix 2 if it is compared by squares or products, else 1."""
        squared = {source for source, measure in self.distances if measure != "l1"}
        return [2 if source in squared else 1 for source in range(len(self.sources))]

    def tile(self, A: Sequence[FloatArray], B: Sequence[FloatArray]) -> FloatArray:
        """Return the kernel between a few rows, from the matrices that are compared."""
        found = {
            (source, measure): TILES[measure](A[source], B[source])
            for source, measure in self.distances
        }
        return np.asarray(_evaluated(self.expression, found))

    @property
    def constants(self) -> tuple[float, ...]:
        """The constants c0, c1, … of the text."""
        return self._printed()[1]

    @property
    def text(self) -> str:
        """The function as an expression of C in the distances d0, d1, … and the constants."""
        return self._printed()[0]

    def _printed(self) -> tuple[str, tuple[float, ...]]:
        printer = _Printer(self.distances)
        text = printer.text(self.expression)
        return text, tuple(printer.constants)


class _Sources:
    """The matrices among embedded rows, numbered; equal ones have one number."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.paths: list[Path] = []

    def rows_of(self, kernel: Kernel, path: Path = (), columns: tuple[Any, ...] = ()) -> Embedded:
        """Return symbols in the structure of `Kernel._embed`."""
        if isinstance(kernel, Combination):
            parts = enumerate(kernel.parts)
            return tuple(self.rows_of(part, (*path, place), columns) for place, part in parts)
        if isinstance(kernel, OnColumns):
            assert kernel.positions is not None
            return self.rows_of(kernel.kernel, path, (*columns, tuple(kernel.positions)))
        if isinstance(kernel, Mixed):
            return self.rows_of(kernel.kernel, path, (*columns, kernel.bound))
        if isinstance(kernel, Wrapper):
            return self.rows_of(kernel.kernel, path, columns)
        key = columns, _embedding(kernel)
        if key not in self.numbers:
            self.numbers[key] = len(self.paths)
            self.paths.append(path)
        return SymbolicRows(self.numbers[key])


def _embedding(kernel: Kernel) -> Kernel | None:
    """Return what determines the embedded rows of a kernel besides the rows, None if nothing."""
    if isinstance(kernel, (StumpRegion, DecisionTree)):
        return kernel.stump
    return None if isinstance(kernel, (Radial, DotProductKernel, Perceptron)) else kernel


def _traced(kernel: Kernel, rows: Embedded) -> Expression:
    """Return the expression of a kernel; an error names the smallest part that has none."""
    try:
        return as_expression(kernel._tile(rows, rows))
    except (AttributeError, TypeError, ValueError) as error:
        if isinstance(kernel, Combination):
            for part, its_rows in zip(kernel.parts, rows, strict=True):
                _traced(part, its_rows)
        if isinstance(kernel, Wrapper):
            _traced(kernel.kernel, rows)
        raise NotOnDeviceError.of(kernel) from error


def _distances(expression: Expression) -> list[tuple[int, Measure]]:
    if expression.operation == "constant":
        return []
    if expression.operation == "distance":
        return [(expression.operands[0], expression.operands[1])]
    return [each for operand in expression.operands for each in _distances(operand)]


def _renumbered(expression: Expression, number: dict[int, int]) -> Expression:
    """Return an expression whose distances are of renumbered matrices."""
    operation, operands = expression.operation, expression.operands
    if operation == "constant":
        return expression
    if operation == "distance":
        return Expression(operation, (number[operands[0]], operands[1]))
    return Expression(operation, tuple(_renumbered(each, number) for each in operands))


def _evaluated(expression: Expression, distances: dict[tuple[int, Measure], FloatArray]) -> Any:
    """Return the values of an expression, by NumPy's functions of the same names."""
    operation, operands = expression.operation, expression.operands
    if operation == "constant":
        return operands[0]
    if operation == "distance":
        return distances[operands]
    return getattr(np, operation)(*(_evaluated(each, distances) for each in operands))


class _Printer:
    """Prints an expression in C, which needs no literals: constants are named."""

    def __init__(self, distances: Sequence[tuple[int, Measure]]) -> None:
        self.names = {distance: f"d{number}" for number, distance in enumerate(distances)}
        self.constants: list[float] = []

    def text(self, expression: Expression) -> str:
        """Return an expression as text."""
        operation, operands = expression.operation, expression.operands
        if operation == "constant":
            return self._constant(operands[0])
        if operation == "distance":
            return self.names[operands]
        if operation == "power":
            return f"power_of({self.text(operands[0])}, {int(operands[1].operands[0])})"
        if operation == "exp" and operands[0].operation == "multiply":
            return self._power_of_two(*operands[0].operands)
        return IN_C[operation].format(*map(self.text, operands))

    def _power_of_two(self, left: Expression, right: Expression) -> str:
        """Return exp(left · right), where a constant takes the logarithm of the base."""
        if left.operation == "constant":
            left, right = right, left
        if right.operation != "constant":
            return f"exp_of({self.text(left)} * {self.text(right)})"
        scale = self._constant(right.operands[0] * 1.0 / log(2.0))
        return f"exp2_of({self.text(left)} * {scale})"

    def _constant(self, value: float) -> str:
        if value not in self.constants:
            self.constants.append(value)
        return f"c{self.constants.index(value)}"


def _at(embedded: Embedded, path: Path) -> Any:
    for place in path:
        embedded = embedded[place]
    return embedded


def _dense(rows: Any, dtype: np.dtype[Any]) -> FloatArray:
    dense = rows.toarray() if sparse.issparse(rows) else rows
    return np.ascontiguousarray(dense, dtype=dtype)

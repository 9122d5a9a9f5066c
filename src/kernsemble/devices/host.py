"""The processor as a device: NumPy computes what a GPU would, for tests and small problems."""

import platform
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernsemble._memory import available_memory, physical_memory
from kernsemble._threads import blocks
from kernsemble._typing import Array, ArrayLike, FloatArray, IntArray
from kernsemble.devices.base import (
    Device,
    DeviceKernel,
    DeviceRows,
    Matrix,
    Precision,
    as_columns_of,
    as_precision,
)
from kernsemble.devices.formulas import Formula
from kernsemble.kernels import Kernel
from kernsemble.kernels.gram import Embedded, fill_gram
from kernsemble.solvers.cholesky import factor_in_place, invert_in_place, solve_with_factor

ROWS_OF_BLOCK = 1_024  # number of rows of the kernel that a product holds at a time


@dataclass(frozen=True, eq=False)
class HostRows(DeviceRows):
    """The matrices that a formula compares, and the values of the kernel at each row."""

    matrices: tuple[FloatArray, ...]
    diagonal: FloatArray

    def __len__(self) -> int:
        return len(self.diagonal)

    def __getitem__(self, rows: slice | IntArray) -> Self:
        some = tuple(np.array(matrix[rows]) for matrix in self.matrices)
        return type(self)(some, self.diagonal[rows])

    @property
    def embedded(self) -> Embedded:
        """All arrays, which tiles take rows of; the diagonal stands for a constant kernel."""
        return (*self.matrices, self.diagonal)


class HostKernel(DeviceKernel):
    """The formula of a bound kernel, which NumPy computes tile by tile."""

    def __init__(self, formula: Formula, dtype: np.dtype[Any]) -> None:
        self.formula, self.dtype = formula, dtype

    def prepare(self, X: ArrayLike) -> HostRows:
        return HostRows(*self.formula.prepare(X, self.dtype))

    def gram(self, A: DeviceRows, B: DeviceRows | None = None, out: Matrix | None = None) -> Matrix:
        assert isinstance(A, HostRows)
        assert B is None or isinstance(B, HostRows)
        others = None if B is None or B is A else B.embedded
        return fill_gram(self._tile, A.embedded, others, out)

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        values = self.formula.tile(A, B)
        return values if values.ndim else np.full((len(A[-1]), len(B[-1])), values)

    def product(
        self, A: DeviceRows, B: DeviceRows | None, V: Matrix, out: Matrix | None = None
    ) -> Matrix:
        B = A if B is None else B
        columns = as_columns_of(V, len(B))
        if out is None:
            out = np.empty((len(A), *V.shape[1:]), dtype=self.dtype)
        place = out if out.ndim == 2 else out[:, np.newaxis]
        for rows in blocks(len(A), ROWS_OF_BLOCK):
            place[rows] = self.gram(A[rows], B) @ columns
        return out

    def diagonal(self, A: DeviceRows) -> Matrix:
        assert isinstance(A, HostRows)
        return A.diagonal


class HostDevice(Device):
    """The processor, with NumPy's arrays."""

    name = "host"
    xp = np

    def free_memory(self) -> int:
        return int(available_memory())

    def total_memory(self) -> int:
        return int(min(physical_memory(), 2.0**62))

    def describe(self) -> str:
        return f"{platform.machine()} processor, NumPy {np.__version__}"

    def to_device(self, array: ArrayLike, dtype: Precision | None = None) -> Matrix:
        return np.array(array, dtype=None if dtype is None else as_precision(dtype))

    def to_host(self, array: Matrix) -> Array:
        return np.asarray(array)

    def synchronize(self) -> None:
        """Return at once: NumPy computes when it is called."""

    def factor_in_place(self, A: Matrix) -> int:
        return factor_in_place(A)

    def solve_with_factor(self, factor: Matrix, B: Matrix) -> Matrix:
        columns = as_columns_of(B, len(factor))
        return solve_with_factor(factor, columns).astype(factor.dtype).reshape(B.shape)

    def invert_in_place(self, factor: Matrix) -> Matrix:
        return invert_in_place(factor)

    def kernel(self, kernel: Kernel, dtype: Precision = "float32") -> HostKernel:
        return HostKernel(Formula.from_kernel(kernel), as_precision(dtype))

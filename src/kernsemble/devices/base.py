"""Devices: where matrices and products of kernels are computed.

==================  =======================================================================
`Device`            memory, copies, Cholesky factors, and the kernels that it can compute
`DeviceKernel`      one bound kernel there: Gram blocks, and products without a matrix
`DeviceRows`        rows that were prepared once, as the kernel compares them
==================  =======================================================================

Code that uses a device computes with its arrays through `xp`, NumPy's interface.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from kernsemble._typing import Array, ArrayLike, IntArray
from kernsemble.kernels import Kernel

Matrix: TypeAlias = Any  # an array of the device: of NumPy or of CuPy
Precision: TypeAlias = Literal["float32", "float64"] | type[np.floating[Any]] | np.dtype[Any]


class NotOnDeviceError(ValueError):
    """Error for a kernel, or a part of one, that a device cannot compute."""

    @classmethod
    def of(cls, part: Kernel) -> Self:
        """Return the error for a part of a kernel."""
        return cls(
            f"{part} has no device code: use a kernel of L1 or Euclidean distances or of inner "
            "products, or solver='exact'"
        )


class DeviceNotFoundError(RuntimeError):
    """Error for a device that this machine does not have."""


class DeviceRows(ABC):
    """Rows on the device, prepared for one kernel. They are not changed by its methods."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def __getitem__(self, rows: slice | IntArray) -> Self:
        """Return some of the rows, by a slice or an array of positions on the host, copied."""


class DeviceKernel(ABC):
    """A bound kernel that a device computes, in one precision.

    Attributes
    ----------
    dtype : dtype
        Type of all results: float32 or float64.
    """

    dtype: np.dtype[Any]

    @abstractmethod
    def prepare(self, X: ArrayLike) -> DeviceRows:
        """Return rows of the host, checked as the kernel does, as the device compares them."""

    @abstractmethod
    def gram(self, A: DeviceRows, B: DeviceRows | None = None, out: Matrix | None = None) -> Matrix:
        """Return the kernel matrix between all rows of `A` and all rows of `B`.

        Parameters
        ----------
        A, B : DeviceRows
            Rows. Without `B`, the rows of `A` are compared with each other, and the result is
            exactly symmetric.
        out : array of the device, of shape (n, m) and type `dtype`, optional
            Array for the result, whose rows are contiguous; it may be a block of a larger one.
        """

    @abstractmethod
    def product(
        self, A: DeviceRows, B: DeviceRows | None, V: Matrix, out: Matrix | None = None
    ) -> Matrix:
        """Return K(A, B) V, without the matrix.

        Parameters
        ----------
        A, B : DeviceRows
            Rows; for `B` None is the same as `A`.
        V : array of the device, of shape (m, k) or (m,)
            Columns to multiply by. More than some dozens are taken in blocks.
        out : array of the device, of shape (n, k) or (n,) and type `dtype`, optional
            Array for the result.

        Notes
        -----
        Results are the same in every run. A GPU adds up at most some thousand numbers in float32,
        and these sums in float64, so that errors do not grow with the number of rows.
        """

    @abstractmethod
    def diagonal(self, A: DeviceRows) -> Matrix:
        """Return K(x, x) for every row."""


class Device(ABC):
    """Where kernels are computed: a GPU, or the processor for tests.

    Attributes
    ----------
    name : str
        Name in the registry.
    xp : module
        NumPy, or CuPy with the same interface, for the arrays of this device.
    """

    name: ClassVar[str]
    xp: Any

    @abstractmethod
    def free_memory(self) -> int:
        """Return the bytes that can still be allocated."""

    @abstractmethod
    def total_memory(self) -> int:
        """Return the bytes of memory, used or not."""

    @abstractmethod
    def describe(self) -> str:
        """Return the name of the hardware and the versions of what computes on it, in one line."""

    @abstractmethod
    def to_device(self, array: ArrayLike, dtype: Precision | None = None) -> Matrix:
        """Return an array of the host as one of the device."""

    @abstractmethod
    def to_host(self, array: Matrix) -> Array:
        """Return an array of the device as one of NumPy."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until everything that was started has been computed."""

    @abstractmethod
    def factor_in_place(self, A: Matrix) -> int:
        r"""Replace the upper triangle of a symmetric matrix by U with :math:`A = U^\top U`.

        The lower triangle is not valid afterwards. Return 0, or the order of the first leading
        minor that is not positive.
        """

    @abstractmethod
    def solve_with_factor(self, factor: Matrix, B: Matrix) -> Matrix:
        """Return the solution of the factored equations for every column of `B`, a new array."""

    @abstractmethod
    def invert_in_place(self, factor: Matrix) -> Matrix:
        """Replace a factor by the upper triangle of the inverse of its matrix, and return it."""

    @abstractmethod
    def kernel(self, kernel: Kernel, dtype: Precision = "float32") -> DeviceKernel:
        """Return a bound kernel as this device computes it.

        Raises
        ------
        NotOnDeviceError
            If a part of the kernel has no device code; the error names it.
        """


DeviceFactory: TypeAlias = Callable[[], Device]


def as_precision(dtype: Precision) -> np.dtype[Any]:
    """Return float32 or float64 as a NumPy dtype."""
    found = np.dtype(dtype)
    if found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype = {dtype!r}: use 'float32' or 'float64'")
    return found


def as_columns_of(V: Matrix, n_rows: int) -> Matrix:
    """Return right-hand sides of shape (n_rows, k), checked; a vector is one column."""
    if V.ndim not in (1, 2) or V.shape[0] != n_rows:
        raise ValueError(
            f"V has shape {V.shape}: pass one number, or k numbers, for each of {n_rows} rows"
        )
    return V.reshape(n_rows, -1)

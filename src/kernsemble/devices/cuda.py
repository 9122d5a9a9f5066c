"""GPUs of NVIDIA, through CuPy: kernels of CUDA for pairs of rows, cuSOLVER for factors."""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Self

import numpy as np

from kernsemble._threads import blocks
from kernsemble._typing import Array, ArrayLike, IntArray
from kernsemble.devices.base import (
    Device,
    DeviceKernel,
    DeviceNotFoundError,
    DeviceRows,
    Matrix,
    Precision,
    as_columns_of,
    as_precision,
)
from kernsemble.devices.cuda_source import SYMMETRIC, CudaSource
from kernsemble.devices.factors import invert_factor
from kernsemble.devices.formulas import Formula
from kernsemble.kernels import Kernel


class _OnDemand:
    """A module that is imported when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # looked up by tools that inspect this module
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)


cp: Any = _OnDemand("cupy")

THREADS = (256, 1, 1)
BYTES_OF_PARTIAL_SUMS = 2**28  # memory for the sums of a product over parts of the columns
TILES_PER_SUM = 128  # number of tiles that are added up in the precision of the kernel
BLOCKS_WORTH_STARTING = 1_056  # number of blocks that keeps 132 multiprocessors busy
TILES_WORTH_SYMMETRY = 400  # number of tiles of rows from which every pair is computed once
COLUMNS_WORTH_SYMMETRY = 3  # largest number of columns that are multiplied one by one for that
COLUMNS_OF_PRODUCT = (1, 16, 32)  # numbers of columns that programs of products are made for


@dataclass(frozen=True, eq=False)
class CudaRows(DeviceRows):
    """Rows by features, and the values of the kernel at each row.

    Attributes
    ----------
    features : array of shape (n_features, n + padding)
        The matrices that the kernel compares, side by side, transposed; zeros behind the last row.
    stops : tuple of int
        The number of the first feature after each matrix.
    diagonal : array of shape (n,)
        The values K(x, x).
    """

    features: Matrix
    stops: tuple[int, ...]
    diagonal: Matrix

    def __len__(self) -> int:
        return int(self.diagonal.shape[0])

    def __getitem__(self, rows: slice | IntArray) -> Self:
        if not isinstance(rows, slice):
            rows = cp.asarray(rows)
        diagonal = self.diagonal[rows].copy()
        found = _padded(len(self.features), len(diagonal), self.features.dtype)
        found[:, : len(diagonal)] = self.features[:, : len(self)][:, rows]
        return type(self)(found, self.stops, diagonal)


class CudaKernel(DeviceKernel):
    """A bound kernel as programs for the GPU, which are compiled when they are first used."""

    def __init__(
        self,
        formula: Formula,
        dtype: np.dtype[Any],
        tiles_worth_symmetry: int = TILES_WORTH_SYMMETRY,
    ) -> None:
        self.formula, self.dtype = formula, dtype
        self.tiles_worth_symmetry = tiles_worth_symmetry
        self.source = CudaSource(formula, dtype)
        self.constants = tuple(_constant(value, dtype) for value in formula.constants)
        self.programs: dict[int, Any] = {}

    def prepare(self, X: ArrayLike) -> CudaRows:
        matrices, diagonal = self.formula.prepare(X, self.dtype)
        ends = np.cumsum([matrix.shape[1] for matrix in matrices], dtype=int)
        found = _padded(max(int(ends[-1]), 1) if len(ends) else 1, len(diagonal), self.dtype)
        for matrix, end in zip(matrices, ends.tolist(), strict=True):
            found[end - matrix.shape[1] : end, : len(diagonal)] = cp.asarray(matrix).T
        return CudaRows(found, tuple(ends.tolist()), cp.asarray(diagonal))

    def gram(self, A: DeviceRows, B: DeviceRows | None = None, out: Matrix | None = None) -> Matrix:
        A, B = _as_rows(A), _as_rows(A if B is None else B)
        if out is None:
            out = cp.empty((len(A), len(B)), dtype=self.dtype)
        _check_place(out, (len(A), len(B)), self.dtype)
        height, width = self.source.tile
        grid = (-(-len(B) // width), -(-len(A) // height), 1)
        leading = np.int64(out.strides[0] // out.itemsize)
        memory = self.source.bytes_of_memory(len(A.features), 0)
        arguments = (*self._sides(A, B, 0), out, leading, *self.constants)
        self._program(0)(grid, THREADS, arguments, shared_mem=memory)
        return out

    def product(
        self, A: DeviceRows, B: DeviceRows | None, V: Matrix, out: Matrix | None = None
    ) -> Matrix:
        A, B = _as_rows(A), _as_rows(A if B is None else B)
        columns = as_columns_of(V, len(B)).astype(self.dtype, copy=False)
        if out is None:
            out = cp.empty((len(A), *V.shape[1:]), dtype=self.dtype)
        place = out if out.ndim == 2 else out[:, np.newaxis]
        if self.computes_pairs_once(A, B, columns.shape[1]):
            for column in range(columns.shape[1]):
                place[:, column] = self._symmetric_product(A, columns[:, column])
            return out
        for some in blocks(columns.shape[1], COLUMNS_OF_PRODUCT[-1]):
            place[:, some] = self._product(A, B, columns[:, some])
        return out

    def diagonal(self, A: DeviceRows) -> Matrix:
        return _as_rows(A).diagonal

    def computes_pairs_once(self, A: DeviceRows, B: DeviceRows, n_columns: int) -> bool:
        """Return whether a product of the same rows computes every pair for both of its rows.

        That takes half of the time per column, but columns do not share it.
        """
        many = len(A) >= self.tiles_worth_symmetry * self.source.tile[0]
        return A is B and many and n_columns <= COLUMNS_WORTH_SYMMETRY

    def _product(self, A: CudaRows, B: CudaRows, V: Matrix) -> Matrix:
        """Return the product with at most 32 columns: sums of parts, which float64 adds up."""
        k = V.shape[1]
        columns = next(most for most in COLUMNS_OF_PRODUCT if k <= most)
        height, width = self.source.tile
        n_row_tiles, n_tiles = -(-len(A) // height), -(-len(B) // width)
        fewest = max(-(-n_tiles // TILES_PER_SUM), -(-BLOCKS_WORTH_STARTING // n_row_tiles))
        per_split = -(-n_tiles // min(fewest, n_tiles))
        n_splits = -(-n_tiles // per_split)
        at_once = max(BYTES_OF_PARTIAL_SUMS // (len(A) * k * self.dtype.itemsize), 1)
        memory = self.source.bytes_of_memory(len(A.features), columns)
        program, total = self._program(columns), cp.zeros((len(A), k))
        padded = cp.zeros((n_tiles * width, columns), dtype=self.dtype)
        padded[: len(B), :k] = V
        for splits in blocks(n_splits, at_once):
            n = splits.stop - splits.start
            partial = cp.empty((n, len(A), k), dtype=self.dtype)
            parts = map(np.int32, (splits.start * per_split, per_split, n_tiles))
            sides = self._sides(A, B, columns)
            arguments = (*sides, *parts, padded, np.int32(k), partial, *self.constants)
            program((n_row_tiles, n, 1), THREADS, arguments, shared_mem=memory)
            total += partial.sum(axis=0, dtype=np.float64)
        return total

    def _symmetric_product(self, A: CudaRows, v: Matrix) -> Matrix:
        """Return K v for rows that are compared with each other, from each pair once.

        A pair counts for its row and for its column. Both sums are of parts, which float64 adds
        up: over ranges of columns, and over groups of rows.
        """
        n, (height, width), group = len(A), self.source.tile, self.source.group
        n_groups, n_tiles = -(-n // (height * group)), -(-n // width)
        per_range = min(max(n_groups * n_tiles // (16 * BLOCKS_WORTH_STARTING), 8), TILES_PER_SUM)
        n_ranges = -(-n_tiles // per_range)
        padded = cp.zeros(n_groups * group * height, dtype=self.dtype)
        padded[:n] = v
        at_once = max(BYTES_OF_PARTIAL_SUMS // padded.nbytes, 1)
        memory = self.source.bytes_of_memory(len(A.features), SYMMETRIC)
        program, total = self._program(SYMMETRIC), cp.zeros(len(padded))
        sides = self._sides(A, A, SYMMETRIC)
        for groups in blocks(n_groups, at_once):
            rows = slice(groups.start * group * height, groups.stop * group * height)
            n_rows, n_here = rows.stop - rows.start, groups.stop - groups.start
            of_rows = cp.zeros((n_ranges, n_rows), dtype=self.dtype)
            of_columns = cp.zeros((n_here, len(padded)), dtype=self.dtype)
            parts = map(np.int32, (groups.start, per_range, n_tiles))
            sums = (of_rows, np.int64(n_rows), of_columns, np.int64(len(padded)))
            arguments = (*sides, *parts, padded, *sums, *self.constants)
            program((n_ranges, n_here, 1), THREADS, arguments, shared_mem=memory)
            total[rows] += of_rows.sum(axis=0, dtype=np.float64)
            total += of_columns.sum(axis=0, dtype=np.float64)
        return total[:n]

    def _sides(self, A: CudaRows, B: CudaRows, columns: int) -> tuple[Any, ...]:
        """Return the arguments of a program that describe the rows of both sides."""
        n_features = len(A.features)
        numbers = (n_features, self.source.width(n_features, columns), *A.stops)
        left = (A.features, np.int64(A.features.shape[1]), np.int32(len(A)))
        right = (B.features, np.int64(B.features.shape[1]), np.int32(len(B)))
        return (*left, *right, *map(np.int32, numbers))

    def _program(self, columns: int) -> Any:
        """Return the program for some number of columns, compiled; see `CudaSource.program`."""
        if columns not in self.programs:
            source = self.source
            program = cp.RawKernel(source.program(columns), "pairs", options=CudaSource.options)
            most = source.bytes_of_memory(source.largest_width(columns), columns)
            program.max_dynamic_shared_size_bytes = most
            self.programs[columns] = program
        return self.programs[columns]


class CudaDevice(Device):
    """The current GPU of NVIDIA, with CuPy's arrays."""

    name = "cuda"

    def __init__(self) -> None:
        try:
            self.xp = import_module("cupy")
        except ImportError as error:
            raise DeviceNotFoundError(
                f"a GPU is used through CuPy, which cannot be imported ({error}): "
                "pip install 'kernsemble[cuda]', or use solver='exact'"
            ) from error
        try:
            cp.cuda.Device().use()
        except cp.cuda.runtime.CUDARuntimeError as error:
            raise DeviceNotFoundError(
                f"CuPy {self.xp.__version__} found no GPU of NVIDIA ({error}): use solver='exact'"
            ) from error

    def free_memory(self) -> int:
        return int(cp.cuda.runtime.memGetInfo()[0] + cp.get_default_memory_pool().free_bytes())

    def total_memory(self) -> int:
        return int(cp.cuda.runtime.memGetInfo()[1])

    def describe(self) -> str:
        name = cp.cuda.runtime.getDeviceProperties(cp.cuda.Device().id)["name"].decode()
        driver = _version(cp.cuda.runtime.driverGetVersion())
        runtime = _version(cp.cuda.runtime.runtimeGetVersion())
        return f"{name}, driver for CUDA {driver}, CUDA {runtime}, CuPy {self.xp.__version__}"

    def to_device(self, array: ArrayLike, dtype: Precision | None = None) -> Matrix:
        return cp.array(array, dtype=None if dtype is None else as_precision(dtype))

    def to_host(self, array: Matrix) -> Array:
        found: Array = cp.asnumpy(array)
        return found

    def synchronize(self) -> None:
        cp.cuda.get_current_stream().synchronize()

    def factor_in_place(self, A: Matrix) -> int:
        solver = _Cholesky(A)
        info, size = cp.zeros(1, dtype=np.int32), solver.workspace_size
        workspace = cp.empty(size, dtype=A.dtype)
        solver.potrf(*solver.matrix, workspace.data.ptr, size, info.data.ptr)
        return int(info[0])

    def solve_with_factor(self, factor: Matrix, B: Matrix) -> Matrix:
        solver, columns = _Cholesky(factor), as_columns_of(B, len(factor))
        found, info = cp.array(columns, dtype=factor.dtype, order="F"), cp.zeros(1, dtype=np.int32)
        handle, side, n, address, leading = solver.matrix
        solver.potrs(
            handle, side, n, found.shape[1], address, leading, found.data.ptr, n, info.data.ptr
        )
        return cp.ascontiguousarray(found).reshape(B.shape)

    def invert_in_place(self, factor: Matrix) -> Matrix:
        return invert_factor(factor, _inverse_of_triangle)

    def kernel(self, kernel: Kernel, dtype: Precision = "float32") -> CudaKernel:
        return CudaKernel(Formula.from_kernel(kernel), as_precision(dtype))


class _Cholesky:
    """The routines of cuSOLVER for a matrix, which it reads by columns."""

    def __init__(self, A: Matrix) -> None:
        cusolver = import_module("cupy_backends.cuda.libs.cusolver")
        cublas = import_module("cupy_backends.cuda.libs.cublas")
        kind = {"float32": "s", "float64": "d"}[as_precision(A.dtype).name]
        _check_place(A, (len(A), len(A)), A.dtype)
        self.potrf, self.potrs = (getattr(cusolver, f"{kind}{name}") for name in ("potrf", "potrs"))
        self.size_of_workspace = getattr(cusolver, f"{kind}potrf_bufferSize")
        handle, n = cp.cuda.device.get_cusolver_handle(), len(A)
        leading = max(A.strides[0] // A.itemsize, 1)
        self.matrix = (handle, cublas.CUBLAS_FILL_MODE_LOWER, n, A.data.ptr, leading)

    @cached_property
    def workspace_size(self) -> int:
        """The number of numbers that the factor needs besides the matrix."""
        return int(self.size_of_workspace(*self.matrix))


def _inverse_of_triangle(U: Matrix) -> Matrix:
    linalg = import_module("cupyx.scipy.linalg")
    return cp.triu(linalg.solve_triangular(U, cp.eye(len(U), dtype=U.dtype), lower=False))


def _padded(n_features: int, n: int, dtype: np.dtype[Any]) -> Matrix:
    """Return zeros for n rows, by features, with room up to a multiple of four rows."""
    return cp.zeros((n_features, max(-(-n // 4), 1) * 4), dtype=dtype)


def _as_rows(rows: DeviceRows) -> CudaRows:
    assert isinstance(rows, CudaRows)
    return rows


def _check_place(out: Matrix, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    contiguous = out.ndim == 2 and out.strides[1] == out.itemsize
    if out.shape != shape or out.dtype != dtype or not contiguous:
        raise ValueError(
            f"out has shape {out.shape} and type {out.dtype}: pass an array of shape {shape} and "
            f"type {np.dtype(dtype)} with contiguous rows"
        )


def _constant(value: float, dtype: np.dtype[Any]) -> Any:
    """Return a constant in a precision; one beyond its range is its largest number."""
    largest = float(np.finfo(dtype).max)
    return dtype.type(min(max(value, -largest), largest))


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"

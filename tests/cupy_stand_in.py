"""A stand-in for CuPy on machines without a GPU: NumPy, and programs that are read, not compiled.

It computes what a program of `pairs.cu` promises to write for its arguments, with the formula and
the steps in the text of the program, so that everything but the CUDA code itself is tested.
"""

import re
import types

import numpy as np
import scipy.linalg

FUNCTIONS = {
    "exp_of": np.exp,
    "exp2_of": np.exp2,
    "expm1_of": np.expm1,
    "sqrt_of": np.sqrt,
    "size_of": np.abs,
    "power_of": np.power,
}


class RawKernel:
    """A program, as NumPy computes it."""

    def __init__(self, code, name, options):
        assert name == "pairs"
        assert "--std=c++17" in options
        number = {key: int(value) for key, value in re.findall(r"#define (\w+) (\d+)\n", code)}
        self.entry = re.match(r"#define (GRAM|PRODUCT|SYMMETRIC)", code).group(1)
        self.rows, self.columns = 16 * number["THREAD_ROWS"], 16 * number["THREAD_COLUMNS"]
        self.n_sources, self.group = number["N_SOURCES"], number.get("GROUP")
        self.most = number.get("PRODUCT")
        self.steps = [
            (int(source), re.findall(r"d\[(\d+)\] \+= (.*?);", body))
            for source, body in re.findall(r"step<(\d)>\(real.*?\) \{(.*)\}", code)
        ]
        self.value = re.search(r"kernel_value\(const.*?return (.*?);", code, re.DOTALL).group(1)
        self.max_dynamic_shared_size_bytes = 0
        self.sides, self.K = (None, None), None  # of the latest call

    def __call__(self, grid, block, arguments, shared_mem):
        assert block == (256, 1, 1)
        assert shared_mem <= self.max_dynamic_shared_size_bytes <= 227 * 1024
        A, lda, n, B, ldb, m, n_features, width = arguments[:8]
        assert A.shape == (n_features, lda)
        assert B.shape == (n_features, ldb)
        assert lda % 4 == ldb % 4 == 0
        assert 1 <= width <= n_features
        stops, rest = arguments[8 : 8 + self.n_sources], arguments[8 + self.n_sources :]
        n_arguments = {"GRAM": 2, "PRODUCT": 6, "SYMMETRIC": 8}[self.entry]
        if self.sides[0] is not A or self.sides[1] is not B:
            self.K = self.kernel(A[:, :n], B[:, :m], stops, rest[n_arguments:])
            self.sides = (A, B)
        getattr(self, self.entry.lower())(grid, self.K, *rest[:n_arguments])

    def kernel(self, A, B, stops, constants):
        distances = {}
        for source, parts in self.steps:
            begin = stops[source - 1] if source else 0
            a, b = A[begin : stops[source], :, np.newaxis], B[begin : stops[source], np.newaxis]
            for place, expression in parts:
                each = eval(expression, {"a": a, "b": b, **FUNCTIONS})
                distances[f"d{place}"] = each.sum(axis=0)
        names = {f"c{i}": value for i, value in enumerate(constants)}
        with np.errstate(over="ignore"):
            found = eval(self.value, FUNCTIONS, {**distances, **names})
        return np.broadcast_to(found, (A.shape[1], B.shape[1]))

    def gram(self, grid, K, out, leading):
        assert grid == (-(-K.shape[1] // self.columns), -(-len(K) // self.rows), 1)
        assert leading == out.strides[0] // out.itemsize
        out[:] = K

    def product(self, grid, K, first_tile, per_split, n_tiles, V, k, partial):
        assert grid == (-(-len(K) // self.rows), len(partial), 1)
        assert n_tiles == -(-K.shape[1] // self.columns)
        assert k <= self.most
        assert V.shape == (n_tiles * self.columns, self.most)
        assert not V[K.shape[1] :].any()
        V = V[: K.shape[1], :k]
        for split in range(grid[1]):
            begin = first_tile + split * per_split
            end = min(begin + per_split, n_tiles)
            assert begin < end
            some = slice(begin * self.columns, end * self.columns)
            partial[split] = K[:, some] @ V[some]

    def symmetric(self, grid, K, first_group, per_range, n_tiles, v, of_rows, leading_of_rows,
                  of_columns, leading):  # fmt: skip
        assert of_rows.shape == (grid[0], leading_of_rows)
        assert of_columns.shape == (grid[1], leading) == (grid[1], len(v))
        assert n_tiles == -(-len(K) // self.columns)
        height = self.group * self.rows
        padded = np.zeros((len(v), len(v)))
        padded[: len(K), : len(K)] = K
        row_tile = np.arange(len(v)) // self.rows
        column_tile = np.arange(len(v)) // self.columns * self.columns // self.rows
        padded *= column_tile >= row_tile[:, np.newaxis]
        above = padded * (column_tile > row_tile[:, np.newaxis])
        for x in range(grid[0]):
            columns = slice(x * per_range * self.columns, (x + 1) * per_range * self.columns)
            for y in range(grid[1]):
                first = (first_group + y) * height
                rows = slice(first, first + height)
                of_rows[x, y * height : (y + 1) * height] = padded[rows, columns] @ v[columns]
                of_columns[y, columns] = v[rows] @ above[rows, columns]


class _Pointer(types.SimpleNamespace):
    """Attributes, and functions that do nothing."""


def stand_in():
    """Return modules by name that stand in for those of CuPy."""
    cupy = types.ModuleType("cupy")
    cupy.__version__ = "0"
    cupy.__getattr__ = lambda name: getattr(np, name)
    cupy.RawKernel = RawKernel
    cupy.asnumpy = np.asarray
    cupy.get_default_memory_pool = lambda: _Pointer(free_bytes=lambda: 1_000)
    runtime = _Pointer(
        memGetInfo=lambda: (10_000, 20_000),
        getDeviceProperties=lambda _: {"name": b"stand-in"},
        driverGetVersion=lambda: 13_000,
        runtimeGetVersion=lambda: 12_090,
        CUDARuntimeError=OSError,
    )
    cupy.cuda = _Pointer(
        runtime=runtime,
        Device=lambda: _Pointer(id=0, use=lambda: None),
        get_current_stream=lambda: _Pointer(synchronize=lambda: None),
    )
    return {"cupy": cupy, "cupyx.scipy.linalg": scipy.linalg}

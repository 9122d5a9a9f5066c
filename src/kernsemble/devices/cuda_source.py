"""The CUDA program of a kernel: what depends on its formula, between two files of CUDA."""

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, ClassVar

import numpy as np

from kernsemble.devices.formulas import Formula

SYMMETRIC = -1  # in place of a number of columns: a product of rows with themselves
BYTES_OF_CHUNK = 80  # of one row, at most; with several columns four fifths of that
STEPS = {"l1": "size_of(a - b)", "squared l2": "(a - b) * (a - b)", "dot": "a * b"}


@dataclass(frozen=True, eq=False)
class CudaSource:
    """The program of a formula in one precision.

    Attributes
    ----------
    formula : Formula
        The kernel as a function of distances.
    dtype : dtype
        Float32 or float64.
    """

    formula: Formula
    dtype: np.dtype[Any]

    options: ClassVar[tuple[str, ...]] = ("--std=c++17", "--ftz=true", "--fmad=true")

    @property
    def thread_rows(self) -> int:
        """The number of rows of the pairs of one thread: 8 or 4."""
        return 8 if self._registers_per_pair <= 2 else 4

    @property
    def thread_columns(self) -> int:
        """The number of columns of the pairs of one thread: 8 or 4."""
        return 8 if self._registers_per_pair <= 1 else 4

    @property
    def tile(self) -> tuple[int, int]:
        """The numbers of rows and columns of a tile."""
        return 16 * self.thread_rows, 16 * self.thread_columns

    @property
    def _registers_per_pair(self) -> int:
        return self.n_distances * self.dtype.itemsize // 4

    @property
    def n_distances(self) -> int:
        """The number of distances, at least one."""
        return max(len(self.formula.distances), 1)

    @property
    def group(self) -> int:
        """The number of tiles of rows of a block of a symmetric product."""
        return 32 // self.dtype.itemsize

    def largest_width(self, columns: int) -> int:
        """Return the number of features that a chunk may have in a program."""
        most = BYTES_OF_CHUNK // self.dtype.itemsize
        return most if columns <= 1 else most * 4 // 5

    def width(self, n_features: int, columns: int) -> int:
        """Return the number of features of a chunk: chunks are of similar sizes."""
        n_chunks = -(-n_features // self.largest_width(columns))
        return -(-n_features // n_chunks)

    def bytes_of_memory(self, n_features: int, columns: int) -> int:
        """Return the shared memory of a program: two chunks, and sums or a tile of the kernel.

        Parameters
        ----------
        n_features : int
            Number of features of the rows.
        columns : int
            Number of columns of a product; 0 for Gram blocks, `SYMMETRIC` for one column.
        """
        rows, others = self.tile
        held = 2 * self.width(n_features, columns) * (rows + others)
        if columns == SYMMETRIC:
            held += self.group * 16 * rows + 4 * others
        elif columns > 1:
            held += others * (rows + columns)
        return max(held, 17 * rows) * self.dtype.itemsize

    def program(self, columns: int) -> str:
        """Return the program of products with up to 1, 16 or 32 columns.

        For 0 it is the one that writes Gram blocks, for `SYMMETRIC` that of products with one
        column of rows that are compared with each other.
        """
        kind = {0: "#define GRAM", SYMMETRIC: f"#define SYMMETRIC\n#define GROUP {self.group}"}
        return f"{kind.get(columns, f'#define PRODUCT {columns}')}\n{self._program}"

    @cached_property
    def _program(self) -> str:
        formula = self.formula
        constants = range(len(formula.constants))
        sources = range(len(formula.sources))
        distances = range(len(formula.distances))
        lines = [
            "#define SINGLE" if self.dtype == np.float32 else "#define DOUBLE",
            _file("functions.cu"),
            f"#define N_SOURCES {len(formula.sources)}",
            f"#define N_DISTANCES {self.n_distances}",
            f"#define THREAD_ROWS {self.thread_rows}",
            f"#define THREAD_COLUMNS {self.thread_columns}",
            f"#define CONSTANTS {''.join(f', real c{i}' for i in constants)}",
            f"#define STOPS {''.join(f', int stop{i}' for i in sources)}",
            f"#define STOPS_LIST {''.join(f'stop{i}, ' for i in sources)}",
            "template <int SOURCE>",
            "__device__ void step(real a, real b, real (&d)[N_DISTANCES]);",
            *map(self._step, sources),
            f"#define KERNEL_VALUE(d) kernel_value(d{''.join(f', c{i}' for i in constants)})",
            "__device__ real kernel_value(const real (&d)[N_DISTANCES] CONSTANTS) {",
            *(f"    const real d{i} = d[{i}];" for i in distances),
            f"    return {formula.text};",
            "}",
            _file("pairs.cu"),
        ]
        return "\n".join(lines)

    def _step(self, source: int) -> str:
        """Return the function that adds one feature of a source to its distances."""
        added = "".join(
            f" d[{place}] += {STEPS[measure]};"
            for place, (number, measure) in enumerate(self.formula.distances)
            if number == source
        )
        head = f"template <> __device__ void step<{source}>"
        return f"{head}(real a, real b, real (&d)[N_DISTANCES]) {{{added} }}"


def _file(name: str) -> str:
    return files("kernsemble.devices").joinpath(name).read_text(encoding="utf-8")

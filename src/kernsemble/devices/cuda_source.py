"""The CUDA program of a kernel: what depends on its formula, between two files of CUDA."""

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, ClassVar

import numpy as np

from kernsemble.devices.formulas import Formula

LARGEST_WIDTH = {4: 16, 8: 8}  # number of features of a chunk, by the size of a number
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

    def width(self, n_features: int) -> int:
        """Return the number of features of a chunk: chunks are of similar sizes."""
        n_chunks = -(-n_features // LARGEST_WIDTH[self.dtype.itemsize])
        return -(-n_features // n_chunks)

    def bytes_of_memory(self, n_features: int, columns: int) -> int:
        """Return the shared memory of a product with some number of columns, 0 for Gram blocks.

        It holds two chunks, and a tile of the kernel and the factors of its columns, or the sums
        of a single column.
        """
        rows, others = self.tile
        chunks = 2 * self.width(n_features) * (rows + others)
        held = chunks + others * (rows + columns) if columns > 1 else max(chunks, 17 * rows)
        return held * self.dtype.itemsize

    def gram(self) -> str:
        """Return the program that writes Gram blocks."""
        return f"#define GRAM\n{self._program}"

    def product(self, columns: int) -> str:
        """Return the program of products with up to 1, 16 or 32 columns."""
        return f"#define PRODUCT {columns}\n{self._program}"

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

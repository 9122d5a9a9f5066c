r"""Machines that are sums over random grids: :math:`\sum_p g_p[\mathrm{cell}_p(x)]`.

Each cell of a grid is a box, the leaf of a tree, and its height the vote of all trees that have
it. To the solver cells are categories, with the weight w/P. A row in a cell without training rows
has no category, and its grid contributes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from kernsemble._jit import jit
from kernsemble._memory import Budget
from kernsemble._typing import FloatArray, IntArray
from kernsemble.kernels import Kernel
from kernsemble.kernels.binning import Grids, bin_rows
from kernsemble.preprocessing import FeatureScaling
from kernsemble.svm.backends.tables.blocks import Block, FittedBlock

MAX_CELLS = 4_000_000  # maximum number of cells of new rows computed at a time
BYTES_PER_CELL = 8  # bytes of both copies of a cell: as computed, and as read by solvers


@dataclass(frozen=True, eq=False, repr=False)
class CellTables(FittedBlock):
    """The grids of fitted machines: a height for each cell and machine.

    Attributes
    ----------
    scaling : FeatureScaling
        The scale of the rows that the grids cut.
    grids : Grids
        The grids and their cells.
    heights : array of shape (n_machines, n_cells)
        The heights of the cells of all grids, in the order of `grids.known`.
    """

    scaling: FeatureScaling
    grids: Grids
    heights: FloatArray

    def add_to(self, values: FloatArray, X: FloatArray) -> None:
        height = max(MAX_CELLS // self.grids.n_grids, 1)
        for start in range(0, len(X), height):
            span = slice(start, start + height)
            cells = self.grids.cells(self.scaling.transform(X[span]))
            _add_heights(cells, self.grids.first, self.heights, values[:, span])


@dataclass(frozen=True, eq=False)
class Cells(Block):
    """Random grids and the cells of the rows: one table per grid, rooted at the unknown cell."""

    scaling: FeatureScaling
    grids: Grids

    @classmethod
    def from_rows(
        cls,
        kernel: Kernel,
        X: FloatArray,
        scaling: FeatureScaling,
        n_grids: int,
        rng: np.random.Generator,
        budget: Budget,
    ) -> Self:
        """Find the cells of scaled rows in random grids for a bound kernel; see `bin_rows`."""
        budget.check(
            BYTES_PER_CELL * len(X) * n_grids,
            f"the cells of {len(X):,} rows in n_grids = {n_grids:,} grids take",
            "reduce n_grids, fit fewer rows",
        )
        grids, cells = bin_rows(kernel, X, n_grids=n_grids, random_state=rng)
        codes = cells.T.astype(np.min_scalar_type(int(grids.n_cells.max())))
        codes += 1
        return cls(codes, scaling, grids)

    @property
    def error(self) -> float:
        return self.grids.error

    @property
    def roots(self) -> list[int]:
        return [0] * self.grids.n_grids

    def measures(self) -> tuple[list[FloatArray], list[FloatArray]]:
        weight = self.grids.weight / self.grids.n_grids
        weights = [np.full(n_cells, weight) for n_cells in self.grids.n_cells]
        return [np.empty(0)] * len(weights), weights

    def fitted(self, heights: Sequence[FloatArray]) -> CellTables:
        known = np.concatenate([each[:, 1:] for each in heights], axis=1)
        return CellTables(self.scaling, self.grids, known)


@jit
def _add_heights(cells: IntArray, first: IntArray, heights: FloatArray, values: FloatArray) -> None:
    for i in range(cells.shape[0]):
        for p in range(cells.shape[1]):
            if cells[i, p] >= 0:
                for machine in range(len(heights)):
                    values[machine, i] += heights[machine, first[p] + cells[i, p]]

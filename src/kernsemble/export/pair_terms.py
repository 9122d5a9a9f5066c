"""Functions of pairs of columns: heights in the cells of the levels of two columns."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.export.piecewise_tables import PiecewiseTable
from kernsemble.inspection.additive_model import FunctionData


class PairTable(NamedTuple):
    """The functions of two columns, given by their places, one per machine."""

    columns: tuple[int, int]
    heights: FloatArray  # (n_levels of the first, n_levels of the second, n_machines)


class PairTerms(NamedTuple):
    """All functions of pairs, and the level of every number of their columns.

    Attributes
    ----------
    columns : tuple of int
        The columns of pairs.
    levels : tuple of PiecewiseTable
        The level of a number, or of a category by its code, for each of these columns.
    tables : tuple of PairTable
        The functions.
    """

    columns: tuple[int, ...]
    levels: tuple[PiecewiseTable, ...]
    tables: tuple[PairTable, ...]

    @classmethod
    def of_additive(cls, plain: Mapping[str, Any]) -> Self | None:
        """Return the functions of pairs of an additive model; None if it has none."""
        machines = plain["machines"]
        pairs = [
            (tuple(pair["columns"]), k, np.array(pair["heights"], dtype=np.float64))
            for k, machine in enumerate(machines)
            for pair in machine.get("pairs", ())
        ]
        found: dict[tuple[int, int], FloatArray] = {}
        for columns, k, heights in pairs:
            empty = np.zeros((*heights.shape, len(machines)))
            found.setdefault(columns, empty)[..., k] += heights
        if not found:
            return None
        columns = tuple(sorted({each for pair in found for each in pair}))
        levels = tuple(_levels(plain["columns"][d]["levels"]) for d in columns)
        return cls(columns, levels, tuple(PairTable(*each) for each in found.items()))

    @property
    def shares(self) -> list[tuple[int, int]]:
        """The places of the columns of each function, among those of pairs."""
        place = {d: k for k, d in enumerate(self.columns)}
        return [(place[each.columns[0]], place[each.columns[1]]) for each in self.tables]

    def halves(self, n_columns: int) -> FloatArray:
        """Return the share of each column (rows) in each function (columns): a half of two."""
        found = np.zeros((n_columns, len(self.tables)))
        for k, table in enumerate(self.tables):
            found[list(table.columns), k] = 0.5
        return found

    def values(self, rows: FloatArray) -> FloatArray:
        """Return the functions at encoded rows, of shape (n, n_pairs, n_machines)."""
        levels = [
            table.values(rows[:, d])[:, 0].astype(np.intp)
            for d, table in zip(self.columns, self.levels, strict=True)
        ]
        return np.stack(
            [
                table.heights[levels[first], levels[second]]
                for table, (first, second) in zip(self.tables, self.shares, strict=True)
            ],
            axis=1,
        )


def _levels(given: Mapping[str, Any]) -> PiecewiseTable:
    missing = np.array([float(given["missing"])])
    if "cuts" in given:
        return PiecewiseTable.counting(np.array(given["cuts"]))._replace(missing=missing)
    return PiecewiseTable.of_codes(np.array(given["categories"], dtype=float)[:, None], missing)


def levels_of_categories(given: Mapping[str, Any], known: Sequence[Any]) -> FunctionData:
    """Return the level of each category of a column as a function of the column."""
    levels, other = [float(each) for each in given["categories"]], float(given["missing"])
    missing = levels[known.index(None)] if None in known else other
    return {"heights": levels, "other": other, "missing": missing}

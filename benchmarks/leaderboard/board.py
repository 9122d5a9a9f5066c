"""The results of some methods on the sets that all of them were run on."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernsemble.experiments import Record
from leaderboard.cells import store_of
from leaderboard.measures import MEASURES, Measure
from leaderboard.problems import SOURCES

Records = Mapping[str, Mapping[str, Mapping[int, Record]]]  # by method, set and split


@dataclass(frozen=True, eq=False)
class Board:
    """Mean results over splits.

    Parameters
    ----------
    methods, sets : sequence of str
        Columns and rows of the matrices.
    values : mapping of str to ndarray of shape (n_sets, n_methods)
        Means over the splits that all methods have, by name; NaN where a set has no such value.
    failed : ndarray of shape (n_sets, n_methods)
        Mask of the methods that failed on a split of a set.
    """

    methods: Sequence[str]
    sets: Sequence[str]
    values: Mapping[str, np.ndarray]
    failed: np.ndarray

    def rows_of(self, measure: Measure) -> np.ndarray:
        """Return the mask of the sets that have a measure."""
        return ~np.isnan(self.values[measure.name]).any(axis=1)

    def loss(self, measure: Measure) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Return losses, failures and sources of the sets that have a measure."""
        rows = self.rows_of(measure)
        sources = [SOURCES.get(name, name) for name in np.array(self.sets)[rows]]
        return self.values[measure.name][rows], self.failed[rows], sources

    def only(self, names: Collection[str]) -> "Board":
        """Return the board of some of the sets."""
        rows = np.array([name in names for name in self.sets], dtype=bool)
        values = {key: matrix[rows] for key, matrix in self.values.items()}
        sets = [name for name in self.sets if name in names]
        return Board(self.methods, sets, values, self.failed[rows])

    @property
    def measures(self) -> list[Measure]:
        """Measures that some set has."""
        return [measure for measure in MEASURES if self.rows_of(measure).any()]


def stored_methods(folder: Path) -> list[str]:
    """Return the methods of which a folder has records."""
    return sorted(path.stem for path in folder.glob("*.jsonl"))


def read_board(folder: Path, methods: Sequence[str], sets: Collection[str], n_splits: int) -> Board:
    """Return the results of some methods; only splits that all of them have are used."""
    records: dict[str, dict[str, dict[int, Record]]] = {}
    for method in methods:
        by_set = records.setdefault(method, {})
        for cell, record in store_of(folder, method).records.items():
            if cell.data in sets and cell.seed < n_splits:
                by_set.setdefault(cell.data, {})[cell.seed] = record
    return board_of(records, methods)


def board_of(records: Records, methods: Sequence[str]) -> Board:
    """Return the board of records."""
    shared = {
        name: set.intersection(*(set(records[method].get(name, ())) for method in methods))
        for name in sorted({name for method in methods for name in records[method]})
    }
    sets = [name for name, splits in shared.items() if splits]
    cells = [
        [[records[method][name][split] for split in sorted(shared[name])] for method in methods]
        for name in sets
    ]
    names = [*(measure.name for measure in MEASURES), "fit_seconds", "predict_seconds"]
    shape = (len(sets), len(methods))
    values = {
        name: np.array([[_mean(cell, name) for cell in row] for row in cells]).reshape(shape)
        for name in names
    }
    failed = [[any(each.failure for each in cell) for cell in row] for row in cells]
    return Board(methods, sets, values, np.array(failed, dtype=bool).reshape(shape))


def _mean(cell: Sequence[Record], name: str) -> float:
    """Return the mean of a value over splits; times of failures are those until they failed."""
    if name == "fit_seconds":
        return float(np.mean([each.values.get(name, each.seconds) for each in cell]))
    return float(np.mean([each.values.get(name, np.nan) for each in cell]))

"""Generators of hostile data: rows, targets, weights and settings, drawn from a seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from fuzz.columns import PANDAS_COLUMNS, POLARS_COLUMNS
from fuzz.targets import CLASS_TARGETS, NUMBER_TARGETS, WEIGHTS, cast
from scipy import sparse

SPARSE_KINDS = [
    *(
        sparse.csr_matrix,
        sparse.csc_matrix,
        sparse.coo_matrix,
        sparse.lil_matrix,
        sparse.dok_matrix,
    ),
    *(sparse.bsr_matrix, sparse.dia_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array),
    *(sparse.lil_array, sparse.dok_array, sparse.bsr_array, sparse.dia_array),
]


def n_rows(X: Any) -> int:
    """Return the number of rows, 3 for what has none."""
    shape = getattr(X, "shape", None) or (len(X) if hasattr(X, "__len__") else 3,)
    return max(int(shape[0]), 1) if isinstance(shape[0], int) else 3


@dataclass(frozen=True)
class Draw:
    """A source of hostile data."""

    rng: np.random.Generator

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def one_of(self, values: Sequence[Any]) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def count(self, most: int = 40) -> int:
        """Return a number of rows, small ones often."""
        return int(self.one_of([1, 2, 3, 5, 8, 12, 20, most]))

    def width(self) -> int:
        return int(self.one_of([1, 1, 2, 3, 4, 8]))

    # -- rows

    def rows(self, n: int | None = None, d: int | None = None, hostility: float = 0.5) -> Any:
        """Return rows: numbers of any scale in any container, or a table, or nonsense."""
        n, d = n or self.count(), d or self.width()
        if self.chance(0.06 * hostility):
            return self.nonsense(n, d)
        if self.chance(0.3 * hostility):
            return self.table(n, d)
        return self.container(self.numbers(n, d, hostility))

    def numbers(self, n: int, d: int, hostility: float = 0.5) -> Any:
        """Return a matrix of numbers."""
        X = self.rng.normal(size=(n, d))
        if not self.chance(hostility):
            return X
        X = self.one_of(MATRICES)(self, X)
        if d > 1 and self.chance(0.2):
            X[:, 0] = X[0, 0]
        if d > 1 and self.chance(0.2):
            X[:, -1] = X[:, 0]
        if self.chance(0.15):
            X[self.rng.integers(n), self.rng.integers(d)] = self.one_of(SPECIAL_NUMBERS)
        return X

    def container(self, X: Any) -> Any:
        """Return a matrix of numbers in another container, memory layout or type."""
        if self.chance(0.5):
            return X
        return self.one_of(CONTAINERS)(self, X)

    def table(self, n: int, d: int) -> Any:
        """Return a pandas or polars table of columns of any type."""
        if self.chance(0.3):
            columns = {f"c{k}": self.one_of(POLARS_COLUMNS)(self, n) for k in range(d)}
            return pl.DataFrame(columns, strict=False)
        columns = [pd.Series(self.one_of(PANDAS_COLUMNS)(self, n)) for _ in range(d)]
        table = pd.concat(columns, axis=1)
        table.columns = [f"c{k}" for k in range(d)]
        if self.chance(0.1):
            table.columns = self.one_of(
                [
                    range(d),
                    ["c0"] * d,
                    [0, *map(str, range(1, d))],
                    pd.Index([(k, k) for k in range(d)]),
                ]
            )
        if self.chance(0.1):
            table.index = pd.Index(["same"] * n)
        return table

    def nonsense(self, n: int, d: int) -> Any:
        return self.one_of(NONSENSE)(self, n, d)

    def rows_like(self, X: Any, hostility: float = 0.5) -> Any:
        """Return other rows, mostly of the same columns."""
        if self.chance(0.1) or not hasattr(X, "shape") or len(X.shape) != 2 or 0 in X.shape:
            return self.rows(hostility=hostility)
        n, d = self.count(12), X.shape[1]
        if isinstance(X, pd.DataFrame) and self.chance(0.8):
            return self._table_like(X, n)
        if isinstance(X, pl.DataFrame) and self.chance(0.8):
            return X.sample(n, with_replacement=True, seed=int(self.rng.integers(99)))
        return self.rows(n, d, hostility)

    def _table_like(self, X: pd.DataFrame, n: int) -> pd.DataFrame:
        table = X.iloc[self.rng.integers(len(X), size=n)].reset_index(drop=True)
        if self.chance(0.5):
            place = int(self.rng.integers(X.shape[1]))
            fresh = pd.Series(self.one_of(PANDAS_COLUMNS)(self, n))
            parts = [fresh if k == place else table.iloc[:, k] for k in range(X.shape[1])]
            names, table = table.columns, pd.concat(parts, axis=1)
            table.columns = names
        if self.chance(0.1):
            table = table.iloc[:, ::-1]
        return table

    # -- targets and weights

    def classes(self, n: int, hostility: float = 0.5) -> Any:
        """Return a target of classes."""
        k = int(self.one_of([2, 2, 2, 3, 4]))
        codes = self.rng.integers(k, size=n)
        codes[: min(k, n)] = np.arange(min(k, n))
        self.rng.shuffle(codes)
        return self.one_of(CLASS_TARGETS)(self, codes) if self.chance(hostility) else codes

    def numeric_target(self, n: int, hostility: float = 0.5) -> Any:
        y = self.rng.normal(size=n)
        return self.one_of(NUMBER_TARGETS)(self, y) if self.chance(hostility) else y

    def weights(self, n: int, hostility: float = 0.5) -> Any:
        """Return sample weights, mostly None."""
        if self.chance(0.6):
            return None
        w = self.rng.random(n)
        return self.one_of(WEIGHTS)(self, w) if self.chance(hostility) else w

    def settings(self, options: dict[str, Sequence[Any]], wrong: float = 0.03) -> dict[str, Any]:
        """Return some settings out of their options, and now and then a wrong one."""
        drawn = {name: self.one_of(options[name]) for name in options if self.chance(0.35)}
        if options and self.chance(wrong):
            drawn[self.one_of(list(options))] = self.one_of(WRONG_SETTINGS)
        return drawn


SPECIAL_NUMBERS = [
    np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 5e-324, -0.0, 1e308, -1e308, 2.0**53 + 1, 1e16
]  # fmt: skip
HUGE_COUNT = 10**30
WRONG_SETTINGS = [
    -1, 0, 0.0, -0.5, 1.5, np.nan, np.inf, "nonsense", "", None, [], [1.0], {}, (1, 2), object(),
    True, HUGE_COUNT, 1e-320, b"stump", np.array([1.0, 2.0]),
]  # fmt: skip


def _integers_beyond_floats(draw: Draw, X: Any) -> Any:
    return draw.rng.integers(2**53, 2**53 + 5, size=X.shape).astype(np.float64)


MATRICES: list[Callable[[Draw, Any], Any]] = [
    lambda draw, X: np.round(X),  # ties
    lambda draw, X: np.zeros_like(X),
    lambda draw, X: np.full_like(X, draw.rng.normal()),
    lambda draw, X: np.repeat(X[:1], len(X), axis=0),
    lambda draw, X: X * 1e300,
    lambda draw, X: X * 1e-300,
    lambda draw, X: X * 5e-324,
    lambda draw, X: X * 1e-310,
    lambda draw, X: np.sign(X) * 1.7e308,
    lambda draw, X: X * 10.0 ** draw.rng.integers(-300, 300, size=X.shape[1]),
    lambda draw, X: X * 10.0 ** draw.rng.integers(-300, 300, size=X.shape),
    lambda draw, X: X * 1e150,
    lambda draw, X: X * 1e154,
    lambda draw, X: 1e9 + X,
    lambda draw, X: 1e16 + np.round(X),
    lambda draw, X: X + 1e300,
    lambda draw, X: np.where(X > 0, 1.0, 1.0 + np.finfo(float).eps),
    lambda draw, X: np.where(draw.rng.random(X.shape) < 0.3, np.nan, X),
    lambda draw, X: np.where(np.arange(X.shape[1]) == 0, np.nan, X),
    lambda draw, X: np.full_like(X, np.nan),
    lambda draw, X: np.where(draw.rng.random(X.shape) < 0.1, np.inf, X),
    lambda draw, X: np.where(draw.rng.random(X.shape) < 0.1, -np.inf, X),
    _integers_beyond_floats,
    lambda draw, X: np.abs(X),
    lambda draw, X: -0.0 * X,
    lambda draw, X: np.where(draw.rng.random(X.shape) < 0.8, 0.0, X),
]


def _unsorted_duplicates(draw: Draw, X: Any) -> Any:
    n, d = X.shape
    data = np.concatenate([X.ravel(), X.ravel()])
    columns = np.tile(np.concatenate([np.arange(d), np.arange(d)[::-1]]), n)
    return sparse.csr_matrix((data, columns, np.arange(0, 2 * n * d + 1, 2 * d)), shape=(n, d))


def _read_only(draw: Draw, X: Any) -> Any:
    X = X.copy()
    X.flags.writeable = False
    return X


def _mixed_objects(draw: Draw, X: Any) -> Any:
    X = X.astype(object)
    for _ in range(2):
        i, j = draw.rng.integers(X.shape[0]), draw.rng.integers(X.shape[1])
        X[i, j] = draw.one_of(
            ["red", "", None, pd.NA, pd.NaT, 2**70, True, b"x", object(), [1], {}, 1j, "1.5"]
        )
    return X


def _whole_numbers(draw: Draw, X: Any, dtype: Any) -> Any:
    return draw.rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, X.shape, dtype, True)


CONTAINERS: list[Callable[[Draw, Any], Any]] = [
    lambda draw, X: np.asfortranarray(X),
    lambda draw, X: np.repeat(X, 2, axis=0)[::2],
    lambda draw, X: np.repeat(X, 2, axis=1)[:, ::2],
    lambda draw, X: X[::-1],
    lambda draw, X: X[:, ::-1],
    _read_only,
    lambda draw, X: X.tolist(),
    lambda draw, X: tuple(map(tuple, X.tolist())),
    lambda draw, X: draw.one_of(SPARSE_KINDS)(X),
    lambda draw, X: draw.one_of(SPARSE_KINDS)(X),
    _unsorted_duplicates,
    lambda draw, X: cast(X, np.float32),
    lambda draw, X: cast(X, np.float16),
    lambda draw, X: cast(X, np.longdouble),
    lambda draw, X: cast(X, ">f8"),
    lambda draw, X: cast(X, complex),
    lambda draw, X: cast(X, object),
    lambda draw, X: cast(X, str),
    lambda draw, X: X > 0,
    lambda draw, X: _whole_numbers(draw, X, np.int64),
    lambda draw, X: _whole_numbers(draw, X, np.uint64),
    lambda draw, X: _whole_numbers(draw, X, np.int8),
    _mixed_objects,
    lambda draw, X: np.ma.masked_invalid(X),
    lambda draw, X: pd.DataFrame(X),
    lambda draw, X: pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])]),
    lambda draw, X: pl.DataFrame(X),
    lambda draw, X: X.view(np.recarray),
]


NONSENSE: list[Callable[[Draw, int, int], Any]] = [
    lambda draw, n, d: None,
    lambda draw, n, d: 3.0,
    lambda draw, n, d: "rows",
    lambda draw, n, d: {},
    lambda draw, n, d: [],
    lambda draw, n, d: [[]],
    lambda draw, n, d: [[1.0], [1.0, 2.0]],
    lambda draw, n, d: np.empty((0, d)),
    lambda draw, n, d: np.empty((n, 0)),
    lambda draw, n, d: np.zeros(n),
    lambda draw, n, d: np.zeros((n, d, 2)),
    lambda draw, n, d: np.zeros((n, d), dtype=[("a", float), ("b", int)]),
    lambda draw, n, d: pd.DataFrame(),
    lambda draw, n, d: pd.DataFrame(index=range(n)),
    lambda draw, n, d: pd.DataFrame({"a": []}),
    lambda draw, n, d: pl.DataFrame(),
    lambda draw, n, d: pl.DataFrame({"a": [1.0, 2.0]}).lazy(),
    lambda draw, n, d: pd.Series(np.zeros(n)),
    lambda draw, n, d: sparse.csr_matrix((0, d)),
    lambda draw, n, d: sparse.csr_matrix((n, d)),
    lambda draw, n, d: sparse.csr_matrix(([np.nan], ([0], [0])), shape=(n, d)),
    lambda draw, n, d: sparse.csr_matrix((n, d), dtype=complex),
    lambda draw, n, d: np.array([["a"] * d] * n),
    lambda draw, n, d: np.full((n, d), ""),
    lambda draw, n, d: np.array([["2020-01-01"] * d] * n, dtype="datetime64[D]"),
    lambda draw, n, d: np.array([[1] * d] * n, dtype="timedelta64[D]"),
    lambda draw, n, d: (row for row in np.zeros((n, d))),
    lambda draw, n, d: object(),
    lambda draw, n, d: np.array([[object()] * d] * n),
    lambda draw, n, d: [[10**400] * d] * n,
]

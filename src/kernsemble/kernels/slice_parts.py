"""The parts of a sliced kernel: coordinates, projections and categories."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from kernsemble._threads import run
from kernsemble._typing import ArrayLike, FloatArray, IntArray, Rows
from kernsemble._validation import as_table, check_n_features, chosen_columns
from kernsemble._value_object import Value
from kernsemble.hypotheses.perceptrons import mean_absolute_cosine
from kernsemble.kernels.algebra import OnColumns
from kernsemble.kernels.base import Kernel, PointKernel
from kernsemble.kernels.columns import unwrapped


@dataclass(frozen=True, eq=False, repr=False)
class Part(Value, ABC):
    """The slices of a simple kernel, times a factor."""

    kernel: Kernel  # the simple kernel, possibly on columns
    factor: float = field(default=1.0, kw_only=True)

    def scaled(self, factor: float) -> Self:
        """Return the slices of a multiple."""
        return replace(self, factor=factor * self.factor)

    def on(self, columns: OnColumns) -> Self:
        """Return the slices on some columns."""
        return replace(self, kernel=replace(columns, kernel=self.kernel))

    @property
    def simple(self) -> Any:
        """The simple kernel."""
        return unwrapped(self.kernel)[1]

    @property
    @abstractmethod
    def n_slices(self) -> int:
        """The number of slices."""

    @property
    def columns(self) -> IntArray:
        """The column of each slice."""
        return seen_columns(self.kernel)


@dataclass(frozen=True, eq=False, repr=False)
class OrderedPart(Part):
    """Slices of numbers."""

    error: float = field(default=0.0, kw_only=True)  # relative error of distances

    @abstractmethod
    def views(self, X: ArrayLike) -> FloatArray:
        """Return the number of each row in each slice."""

    @abstractmethod
    def position(self, k: int, values: FloatArray) -> FloatArray:
        """Return the positions of values of slice k."""

    @abstractmethod
    def positions(self, X: ArrayLike) -> FloatArray:
        """Return the positions in all slices."""


class Coordinates(OrderedPart):
    r"""One slice per column: :math:`u_d = x_d` and the measure of thresholds below it."""

    @property
    def n_slices(self) -> int:
        return int(self.simple.hypotheses.n_features)

    def views(self, X: ArrayLike) -> FloatArray:
        rows = checked_rows(self.kernel, X)
        return rows.toarray() if sparse.issparse(rows) else rows

    def position(self, k: int, values: FloatArray) -> FloatArray:
        position = self.factor * self.simple.hypotheses._position(k, values)
        return np.where(np.isnan(values), np.nan, position)

    def positions(self, X: ArrayLike) -> FloatArray:
        views = self.views(X)
        positions = np.empty_like(views)

        def work(k: int) -> None:
            positions[:, k] = self.position(k, views[:, k])

        run(work, range(self.n_slices))
        return positions


@dataclass(frozen=True, eq=False, repr=False)
class Directions(OrderedPart):
    r"""One slice per direction: :math:`u_p = \theta_p^\top (x - c)`, :math:`p = u_p / P c_D`."""

    directions: FloatArray  # unit vectors of shape (P, D)

    @property
    def n_slices(self) -> int:
        return len(self.directions)

    @property
    def columns(self) -> IntArray:
        if self.directions.shape[1] == 1:
            return super().columns
        return np.full(self.n_slices, -1)

    def views(self, X: ArrayLike) -> FloatArray:
        return self._projected(X, 1.0)

    def position(self, k: int, values: FloatArray) -> FloatArray:  # noqa: ARG002
        return self._scale * values

    def positions(self, X: ArrayLike) -> FloatArray:
        return self._projected(X, self._scale)

    @property
    def _scale(self) -> float:
        n, n_features = self.directions.shape
        return self.factor / (n * mean_absolute_cosine(n_features))

    def _projected(self, X: ArrayLike, scale: float) -> FloatArray:
        rows = checked_rows(self.kernel, X)
        towards = (scale * self.directions.T).astype(rows.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            projected: FloatArray = rows @ towards
        if np.isnan(projected).any():  # differences of infinities
            projected = _far_products(rows, towards)
        projected -= (self.simple.hypotheses.centre @ towards).astype(rows.dtype)
        return projected


class Categories(Part):
    """One slice per column of categories."""

    @property
    def n_slices(self) -> int:
        return int(self.simple.hypotheses.n_features)

    def codes(self, X: ArrayLike) -> IntArray:
        """Return the index of each category in its column, −1 if unknown."""
        hypotheses = self.simple.hypotheses
        member = hypotheses.indicators(checked_rows(self.kernel, X)).tocoo()
        first = np.cumsum([0, *map(len, hypotheses.categories)])
        column = np.searchsorted(first, member.col, side="right") - 1
        codes = np.full((member.shape[0], self.n_slices), -1)
        codes[member.row, column] = member.col - first[column]
        return codes


def _far_products(rows: Rows, towards: FloatArray) -> FloatArray:
    """Return products of rows whose terms exceed the range of floats, infinite where they do."""
    size = np.finfo(towards.dtype).max
    with np.errstate(over="ignore"):
        found: FloatArray = (rows / size) @ towards * size
    return found


def checked_rows(kernel: Kernel, X: ArrayLike, name: str = "X") -> Rows:
    """Return checked rows with the columns of the simple kernel, not yet embedded."""
    if isinstance(kernel, OnColumns):
        table = as_table(X, name)
        check_n_features(table.shape[1], kernel.n_features, name)
        chosen = chosen_columns(table, kernel.columns, kernel.positions, name)
        return checked_rows(kernel.kernel, chosen, name)
    assert isinstance(kernel, PointKernel)
    return PointKernel._embed(kernel, X, name)


def seen_columns(kernel: Kernel) -> IntArray:
    """Return the positions in the data of the columns of the simple kernel."""
    if isinstance(kernel, OnColumns):
        assert kernel.positions is not None
        return kernel.positions[seen_columns(kernel.kernel)]
    assert kernel.n_features is not None
    return np.arange(kernel.n_features)

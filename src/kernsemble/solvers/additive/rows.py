r"""The rows of an additive problem, of which Newton's method needs sums only.

Newton's method keeps tables and a bias; the rows keep their decision values f, forces
:math:`\beta` and curvatures, and answer with numbers and arrays whose size does not depend on
the number of rows: the loss, sums over all rows and over the rows of each level. Sums over blocks
of rows add up to those of all rows, so that the blocks may be in memory (`MemoryRows`, a
single one), in a file or on other machines (`kernsemble.solvers.additive.row_blocks`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.hessian import hessian
from kernsemble.solvers.additive.tables import Tables, inner
from kernsemble.solvers.losses import FLAT, Kinked, Smooth, Smoothed

LARGEST_SHARE = 0.7  # largest share of the rows whose codes are copied


class Totals(NamedTuple):
    """Sums at the current decision values: loss, forces, their absolute values, curvatures."""

    loss: float
    force: float
    effort: float
    bend: float


class Presence(NamedTuple):
    """Rows of positive strength: their number, and the sums of strengths and squared norms."""

    n_rows: float
    strength: float
    squared_norm: float


class Report(NamedTuple):
    """Everything that is asked after a move, in one answer.

    The inner products of forces and direction before and after it, totals, the number of rows with
    a curvature, the kinked loss and its conjugate, and the forces of each level if these are
    likely to be needed.
    """

    first: float
    along: float
    totals: Totals
    n_curved: int
    kinked: tuple[float, float]
    forces: FloatArray | None


class Curved(ABC):
    """The rows with a curvature, the weights W of a Newton system."""

    @abstractmethod
    def masses(self) -> tuple[FloatArray, float]:
        """Return the sums of the weights, of each level and of all rows."""

    @abstractmethod
    def product(self, g: FloatArray) -> tuple[FloatArray, float]:
        """Return the sums of the weights times values of tables, of each level and of all rows."""

    @abstractmethod
    def hessian(self) -> FloatArray:
        r"""Return :math:`(\Phi, 1)^\top W (\Phi, 1)`, its lower half in blocks of tables."""


@dataclass(frozen=True, eq=False)
class WeightedRows(Curved):
    """Rows in memory, with the weights of a Newton system.

    Attributes
    ----------
    tables : Tables
        Tables of the problem.
    codes : array of shape (D, k)
        Codes of the rows with a curvature.
    weight : array of shape (k,)
        Their curvatures.
    """

    tables: Tables
    codes: IntArray
    weight: FloatArray

    def masses(self) -> tuple[FloatArray, float]:
        return self.tables.sums(self.weight, self.codes), float(self.weight.sum())

    def product(self, g: FloatArray) -> tuple[FloatArray, float]:
        change = self.weight * self.tables.at_rows(g, self.codes)
        return self.tables.sums(change, self.codes), float(change.sum())

    def hessian(self) -> FloatArray:
        return hessian(self.tables, self.codes, self.weight)


class Rows(ABC):
    """The rows of a problem, and their state in a run of Newton's method.

    Attributes
    ----------
    tables : Tables
        The tables of the problem; their codes are those of the rows only if these are in memory.
    is_kinked, has_corners : bool
        Whether the loss is `Kinked`, and whether the slope of a smooth one has corners.
    curvature : array of shape (n,)
        The curvatures, of rows in memory.
    """

    tables: Tables
    is_kinked: bool
    has_corners: bool
    curvature: FloatArray

    @abstractmethod
    def presence(self) -> Presence:
        """Return the number, strengths and norms of the rows that are present."""

    @abstractmethod
    def target_sums(self, centre: float) -> tuple[float, float]:
        """Return the sums of a kinked loss's targets less a centre, and of their squares."""

    @abstractmethod
    def restart(self, beta: FloatArray) -> None:
        """Centre a kinked loss at coefficients; at the best of the last run if there are none."""

    @abstractmethod
    def set_stage(self, value: float) -> None:
        """Multiply the strengths of a smooth loss by a factor; smooth a kinked one over a width."""

    @abstractmethod
    def place(self, g: FloatArray, bias: float) -> Totals:
        """Move to the values of tables and a bias."""

    @abstractmethod
    def totals(self) -> Totals:
        """Return the sums at the current decision values."""

    @abstractmethod
    def shift(self, by: float) -> Totals:
        """Add a number to the decision values."""

    @abstractmethod
    def aim(self, g: FloatArray, bias: float) -> float:
        """Store a direction in which to move; return the inner product with the forces."""

    @abstractmethod
    def move(self, t: float) -> float:
        """Move by multiples of the direction; return the inner product with the forces."""

    @abstractmethod
    def forces(self) -> FloatArray:
        """Return the sums of the forces of each level."""

    @abstractmethod
    def n_curved(self) -> int:
        """Return the number of rows with a curvature."""

    @abstractmethod
    def curved(self) -> Curved:
        """Return the rows with a curvature."""

    def curved_places(self) -> IntArray | None:
        """Return the places of the rows with a curvature, and None if rows are not in memory."""
        return None

    @abstractmethod
    def recenter(self) -> None:
        """Centre a smoothed loss at the current forces."""

    @abstractmethod
    def keep(self) -> None:
        """Keep the current forces as the best ones."""

    @abstractmethod
    def kinked_values(self) -> tuple[float, float]:
        """Return the kinked loss of the decision values, and its conjugate at the forces."""

    @abstractmethod
    def finish(self, g: FloatArray, bias: float) -> tuple[float, float]:
        """Return the best bias of a kinked loss given the tables, and the loss there."""

    @property
    def decisions(self) -> FloatArray:
        """The decision values; none if rows are not in memory."""
        return np.empty(0)

    @property
    def coefficients(self) -> FloatArray:
        """The forces, for a kinked loss the best ones; none if rows are not in memory."""
        return np.empty(0)


class MemoryRows(Rows):
    """Rows in memory."""

    def __init__(self, tables: Tables, loss: Smooth | Kinked) -> None:
        self.tables, self.given, self.loss = tables, loss, loss
        self.is_kinked = isinstance(loss, Kinked)
        self.has_corners = isinstance(loss, Smooth) and loss.has_corners
        self.smooth: Smooth | Smoothed
        self.f: FloatArray = np.empty(0)
        self.df: FloatArray = np.empty(0)
        self.beta: FloatArray = np.empty(tables.n_rows)
        self.curvature: FloatArray = np.empty(tables.n_rows)
        self.center: FloatArray = np.zeros(tables.n_rows if self.is_kinked else 0)
        self.best: FloatArray = self.center
        self.t = 0.0
        self._places: IntArray | None = None
        self._curved: WeightedRows | None = None

    def presence(self) -> Presence:
        C = self.loss.strengths
        is_present = C > 0.0
        norms = self.tables.squared_norms()[is_present]
        return Presence(float(len(norms)), float(C[is_present].sum()), float(norms.sum()))

    def target_sums(self, centre: float) -> tuple[float, float]:
        assert isinstance(self.loss, Kinked)
        away = self.loss.p[self.loss.strengths > 0.0] - centre
        return float(away.sum()), float(inner(away, away))

    def restart(self, beta: FloatArray) -> None:
        assert isinstance(self.loss, Kinked)
        beta = beta if len(beta) > 0 else self.best
        self.center = np.asarray(np.clip(beta, self.loss.lower, self.loss.upper))

    def set_stage(self, value: float) -> None:
        if isinstance(self.loss, Kinked):
            self.smooth = Smoothed(self.loss, value, self.center)
        else:
            self.smooth = self.loss if value == 1.0 else self.loss.times(value)

    def place(self, g: FloatArray, bias: float) -> Totals:
        self.f = self.tables.at_rows(g) + bias
        self._evaluate()
        return self.totals()

    def totals(self) -> Totals:
        beta = self.beta
        return Totals(
            self.value, float(beta.sum()), float(np.abs(beta).sum()), float(self.curvature.sum())
        )

    def shift(self, by: float) -> Totals:
        self.f += by
        self._evaluate()
        return self.totals()

    def aim(self, g: FloatArray, bias: float) -> float:
        self.df, self.t = self.tables.at_rows(g) + bias, 0.0
        return float(inner(self.beta, self.df))

    def move(self, t: float) -> float:
        self.f += (t - self.t) * self.df
        self.t = t
        self._evaluate()
        return float(inner(self.beta, self.df))

    def _evaluate(self) -> None:
        self.value = self.smooth.evaluate(self.f, self.beta, self.curvature)
        self._places = self._curved = None

    def forces(self) -> FloatArray:
        return self.tables.sums(self.beta)

    def n_curved(self) -> int:
        return len(self.curved_places())

    def curved_places(self) -> IntArray:
        if self._places is None:
            self._places = np.flatnonzero(self.curvature)
        return self._places

    def curved(self) -> WeightedRows:
        if self._curved is None:
            codes, weight = self.tables.codes, self.curvature
            rows = self.curved_places()
            if len(rows) <= LARGEST_SHARE * len(weight):
                codes, weight = self.tables.codes_of(rows), weight[rows]
            self._curved = WeightedRows(self.tables, codes, weight)
        return self._curved

    def recenter(self) -> None:
        self.center = self.beta.copy()

    def keep(self) -> None:
        self.best = self.beta.copy()

    def kinked_values(self) -> tuple[float, float]:
        assert isinstance(self.loss, Kinked)
        return self.loss.value(self.f), self.loss.conjugate(self.beta)

    def finish(self, g: FloatArray, bias: float) -> tuple[float, float]:
        assert isinstance(self.loss, Kinked)
        self.f = self.tables.at_rows(g)
        if self.n_free() == 0:
            bias = self.loss.best_bias(self.f)
        self.f += bias
        return bias, self.loss.value(self.f)

    # -- requests of blocks, see `BlockRows`

    def reported(self, method: str, arguments: tuple[Any, ...]) -> Report:
        """Move by one of the methods, after `aim` by the whole direction, and return a report."""
        answer, first = getattr(self, method)(*arguments), 0.0
        if method == "aim":
            first, answer = answer, self.move(1.0)
        along = answer if method in {"aim", "move"} else 0.0
        kinked = self.kinked_values() if self.is_kinked else (0.0, 0.0)
        forces = self.forces() if method == "shift" else None
        return Report(first, along, self.totals(), self.n_curved(), kinked, forces)

    def set_strength(self, C: float) -> None:
        """Multiply the strengths of the given loss by C."""
        self.loss = self.given.times(C)

    def n_free(self) -> int:
        """Return the number of best coefficients strictly within their bounds."""
        assert isinstance(self.loss, Kinked)
        return self.loss.n_free(self.best)

    def kinks(self) -> tuple[float, float, float]:
        """Return number, sum and sum of squares of the shifts at which the slope jumps."""
        assert isinstance(self.loss, Kinked)
        kinks, _ = self.loss.kinks(self.f)
        return float(len(kinks)), float(kinks.sum()), float(inner(kinks, kinks))

    def flatness(self) -> float:
        """Return the slope that counts as rounding."""
        return FLAT * float(self.loss.strengths.sum())

    def slopes_beyond(self, shifts: FloatArray) -> FloatArray:
        """Return the slope of a kinked loss just beyond increasing shifts."""
        assert isinstance(self.loss, Kinked)
        return self.loss.slopes_beyond(self.f, shifts)

    def parted_forces(self) -> tuple[FloatArray, FloatArray]:
        """Return the sums of each level of the best coefficients at a bound, and of the others."""
        assert isinstance(self.loss, Kinked)
        bounded, free = self.loss.parted(self.best)
        return self.tables.sums(bounded), self.tables.sums(free)

    def stretch(self, ratio: float, factor: float) -> None:
        """Multiply the best coefficients at a bound by a ratio, the others by a factor."""
        assert isinstance(self.loss, Kinked)
        bounded, free = self.loss.parted(self.best)
        self.best = ratio * bounded + factor * free

    @property
    def decisions(self) -> FloatArray:
        return self.f

    @property
    def coefficients(self) -> FloatArray:
        return self.best if self.is_kinked else self.beta

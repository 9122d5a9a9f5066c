r"""Newton's method in stages: from an easy problem to the actual one.

Newton's method takes few steps if curvatures change slowly. If they jump and the strengths C are
large, it moves slowly from one active set of rows to the next unless it starts near the solution.
So the squared hinge starts with small strengths, which grow, and kinked losses are smoothed over a
width that decreases. Their coefficients are regularised towards those of the previous stage (the
method of multipliers), so that a moderate width gives the exact optimum.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.solvers.additive.newton import Point
from kernsemble.solvers.additive.newton_system import NewtonSystem
from kernsemble.solvers.additive.result import AdditiveSolution
from kernsemble.solvers.additive.rows import Rows
from kernsemble.solvers.additive.tables import inner
from kernsemble.solvers.interrupts import Watch
from kernsemble.solvers.result import Status

EASY_STRENGTH = 2.0  # C times the mean squared norm of a row in the first stage
GROWTH = 2.0  # factor of strengths, or of 1/width, between stages
LOOSE = 1e-2  # relative gap at which a stage ends
TIGHTNESS = 0.1  # share of the duality gap that a smoothed problem may contribute
SMALLEST_WIDTH = 1e-8  # smallest width, relative to the spread of the targets
STEPS_PER_STAGE = 40  # number of steps after which the width is increased again
MAX_IDLE_STAGES = 50  # stages in a row without a step after which only rounding is left
STARTING_WIDTH = 1.0  # width from a solution for the same strengths, relative to the spread


class NewtonRun(ABC):
    """Newton's method on a problem in progress."""

    def __init__(
        self,
        rows: Rows,
        tol: float,
        max_iter: int,
        start: AdditiveSolution | None,
        watch: Watch | None,
    ) -> None:
        self.rows, self.tables = rows, rows.tables
        self.tol, self.max_iter, self.watch = tol, max_iter, watch
        self.system, self.status = NewtonSystem(rows), Status.STOPPED
        self.start, self.presence = start, rows.presence()
        self.z = np.zeros(self.tables.n_levels) if start is None else start.z
        self.bias = 0.0 if start is None else start.bias
        self.n_iter, self.n_before, self.method = 0, 0, "newton"
        self.strength = self.presence.strength / max(self.presence.n_rows, 1.0)
        self.growth = 1.0 if start is None else self.strength / max(start.strength, 1e-300)

    def finish(self) -> AdditiveSolution:
        """Go through the stages, and return the solution reached."""
        try:
            self.advance()
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED
        return self.solution()

    @abstractmethod
    def advance(self) -> None:
        """Go through the stages."""

    @abstractmethod
    def solution(self) -> AdditiveSolution:
        """Return the current solution with its evidence."""

    def took_step(self, point: Point, gap: float) -> bool:
        """Take a step and report the gap before it; return False if no step is left."""
        if self.n_iter >= self.max_iter:
            return False
        if self.watch is not None:
            self.watch(self.n_before + self.n_iter, gap)
        point.step(self.system)
        self.z, self.bias = point.z, point.bias
        self.n_iter += 1
        return True

    @property
    def easiness(self) -> float:
        """The factor of 1/strength, or of width, for an easy problem."""
        norm = self.presence.squared_norm / max(self.presence.n_rows, 1.0)
        return max(norm * self.strength / EASY_STRENGTH, 1.0)

    def summary(self, z: FloatArray, bias: float, primal: float, dual: float) -> AdditiveSolution:
        """Return the solution with the statistics of the run."""
        return AdditiveSolution(
            tables=self.tables.split(self.tables.levels_of(z)),
            bias=bias,
            decisions=self.rows.decisions,
            beta=self.rows.coefficients,
            primal=primal,
            dual=dual,
            gap=relative(primal - dual, primal),
            n_iter=self.n_before + self.n_iter,
            n_products=self.system.n_products,
            n_factors=self.system.n_factors,
            method=self.method,
            status=self.status,
            z=z,
            strength=self.strength,
        )


class SmoothRun(NewtonRun):
    """A smooth loss, with growing strengths if it has corners."""

    def advance(self) -> None:
        if not np.isfinite(self.presence.strength * self.presence.strength):
            raise ValueError(
                "the square of C times the weights exceeds the range of floats: use a smaller C, "
                "or divide the weights"
            )
        easier = 1.0 / self.easiness if self.rows.has_corners else 1.0
        if self.start is not None:
            easier = max(easier, GROWTH / max(self.growth, GROWTH))
        while True:
            point = self.point(easier)
            tol = self.tol if easier == 1.0 else max(self.tol, LOOSE)
            while (gap := relative(point.gap, point.objective)) > tol:
                if not self.took_step(point, gap):
                    return
            if easier == 1.0:
                self.status = Status.CONVERGED
                return
            easier = min(GROWTH * easier, 1.0)

    def point(self, easier: float) -> Point:
        """Return the current point at a share of the strengths."""
        self.rows.set_stage(easier)
        return Point(self.rows, self.z, self.bias)

    def solution(self) -> AdditiveSolution:
        point = self.point(1.0)
        return self.summary(point.z, point.bias, point.objective, point.objective - point.gap)


class KinkedRun(NewtonRun):
    """A kinked loss, smoothed over a decreasing width."""

    def __init__(self, rows: Rows, *arguments: Any) -> None:
        super().__init__(rows, *arguments)
        self.spread = self._spread_of_targets() or 1.0
        self.width = self.spread * self.easiness
        if self.start is not None:
            rows.restart(self.start.beta)
            again = STARTING_WIDTH * max(self.growth, 1.0) * self.spread
            self.width = min(self.width, again)
        self.primal, self.dual, self.gap = np.inf, -np.inf, np.inf
        self.best_z, self.best_bias = self.z, self.bias

    def _spread_of_targets(self) -> float:
        """Return the standard deviation of the targets of the rows that are present."""
        n = max(self.presence.n_rows, 1.0)
        mean = self.rows.target_sums(0.0)[0] / n
        return float(np.sqrt(self.rows.target_sums(mean)[1] / n))

    def advance(self) -> None:
        n_idle = 0  # stages in a row that took no step
        while n_idle < MAX_IDLE_STAGES:
            point, n_before = self.point(), self.n_iter
            while not self.has_ended(point):
                if point.gap <= TIGHTNESS * self.gap:
                    self.rows.recenter()
                    self.width = max(self.width / GROWTH, SMALLEST_WIDTH * self.spread)
                    break
                if self.n_iter - n_before >= STEPS_PER_STAGE:
                    self.width *= GROWTH
                    break
                if not self.took_step(point, relative(self.primal - self.dual, self.primal)):
                    return
            else:
                break
            n_idle = n_idle + 1 if self.n_iter == n_before else 0
        self.status = Status.CONVERGED  # or as near as rounding allows

    def point(self) -> Point:
        """Return the current point with the width of this stage."""
        self.rows.set_stage(self.width)
        return Point(self.rows, self.z, self.bias)

    def has_ended(self, point: Point) -> bool:
        """Return whether the best primal and dual objectives agree within tol."""
        loss, conjugate = self.rows.kinked_values()
        primal = 0.5 * inner(point.z, point.z) + loss
        dual = -conjugate - 0.5 * inner(point.force, point.force)
        self.gap = primal - dual
        if primal < self.primal:
            self.primal, self.best_z, self.best_bias = primal, point.z, point.bias
        if dual > self.dual:
            self.dual = dual
            self.rows.keep()
        return relative(self.primal - self.dual, self.primal) <= self.tol

    def solution(self) -> AdditiveSolution:
        g = self.tables.levels_of(self.best_z)
        bias, loss = self.rows.finish(g, self.best_bias)
        primal = 0.5 * inner(self.best_z, self.best_z) + loss
        return self.summary(self.best_z, bias, primal, self.dual)


def relative(gap: float, primal: float) -> float:
    """Return a duality gap as a share of the primal objective."""
    if np.isinf(gap):
        return np.inf
    return max(gap, 0.0) / primal if primal > 0.0 else 0.0

r"""Dual coordinate descent with tables, for kinked losses.

.. math:: \max_\beta\; p^\top\beta - \varepsilon\|\beta\|_1 - \tfrac12\|\Phi^\top\beta\|^2
          \quad\text{s.t.}\quad \textstyle\sum_i \beta_i = 0,\; l_i \le \beta_i \le u_i

One coefficient after the other is set to its best value, in random order. That needs the
decision value of its row, D look-ups; a change is added to the tables, O(levels) contiguous
numbers. The sum is kept at zero by the method of multipliers: :math:`\rho` times its square is
added, and the bias absorbs its gradient after each pass. Rows that stay at a bound are left out
until the others have converged.
"""

import numpy as np

from kernsemble._jit import jit
from kernsemble._typing import FloatArray, IntArray
from kernsemble.solvers.additive.result import AdditiveSolution
from kernsemble.solvers.additive.rows import MemoryRows
from kernsemble.solvers.additive.stages import KinkedRun, relative
from kernsemble.solvers.additive.tables import Tables, inner
from kernsemble.solvers.interrupts import Watch
from kernsemble.solvers.losses import Kinked
from kernsemble.solvers.result import Status

PASSES_PER_CHECK = 3
MAX_PASSES = 45  # maximum number of passes before Newton's method takes over
ROWS_PER_CALL = 16_384  # rows visited by compiled code between two checks for interrupts
HANDED_WIDTH = 10.0  # first width of Newton's method, over the relative gap times the spread


class Descent:
    """Coordinate descent on a kinked problem in progress."""

    def __init__(
        self,
        tables: Tables,
        loss: Kinked,
        tol: float,
        max_iter: int,
        start: AdditiveSolution | None,
        watch: Watch | None,
        rng: np.random.Generator,
        max_passes: int = MAX_PASSES,
    ) -> None:
        self.max_passes = max_passes
        self.tables, self.loss, self.tol, self.max_iter = tables, loss, tol, max_iter
        self.watch, self.rng, self.status = watch, rng, Status.STOPPED
        self.rows = np.flatnonzero(loss.strengths)
        self.active, self.n_iter = self.rows, 0
        self.beta: FloatArray = np.zeros(tables.n_rows)
        self.total, self.slack = 0.0, np.inf
        self.bias, self.gap = 0.0, np.inf
        if start is not None:
            self.beta = np.clip(start.beta, loss.lower, loss.upper)
            self.bias = start.bias
        self.norms = tables.squared_norms()
        self.codes_by_row = np.ascontiguousarray(tables.codes.T)
        self.lengths = tables.level_norms()
        self.rho = float(self.norms[self.rows].mean()) if len(self.rows) > 0 else 1.0
        self.rho = self.rho or 1.0
        self.check()

    def finish(self) -> AdditiveSolution:
        """Take passes until the gap is small enough, then hand over to Newton's method."""
        try:
            n_passes = min(self.max_iter, self.max_passes)
            while self.status is Status.STOPPED and self.n_iter < n_passes:
                self.advance()
        except KeyboardInterrupt:
            self.check()
            self.status = Status.INTERRUPTED
        if self.status is not Status.STOPPED or self.n_iter >= self.max_iter:
            return self.solution()
        return self.hand_over()

    def advance(self) -> None:
        """Take a few passes over the rows that may still move, and check."""
        for _ in range(min(PASSES_PER_CHECK, self.max_iter - self.n_iter)):
            if self.watch is not None:
                self.watch(self.n_iter, self.gap)
            self.take_pass()
        self.check()

    def take_pass(self) -> None:
        order = self.rng.permutation(self.active)
        stays = np.empty(len(order), dtype=bool)
        tables, loss = self.tables, self.loss
        largest = 0.0
        for first in range(0, len(order), ROWS_PER_CALL):
            part = slice(first, first + ROWS_PER_CALL)
            self.total, violation = _descend(
                order[part], self.codes_by_row, tables.offsets, tables.n_ordered, tables.root,
                self.lengths, self.norms, self.rho, loss.p, loss.lower, loss.upper, loss.epsilon,
                self.bias, self.total, self.slack, self.beta, self.g, stays[part],
            )  # fmt: skip
            largest = max(largest, violation)
        self.bias += self.rho * self.total
        self.slack, self.active = largest, order[stays]
        self.n_iter += 1

    def check(self) -> None:
        """Make the coefficients feasible, recompute the tables, and measure the gap."""
        self.beta = balanced(self.beta)
        self.z = self.tables.edges_of(self.tables.sums(self.beta))
        self.g, self.total = self.tables.levels_of(self.z), float(self.beta.sum())
        f = self.tables.at_rows(self.g)
        best = self.loss.best_bias(f)
        self.decisions, norm = f + best, inner(self.z, self.z)
        self.primal = 0.5 * norm + self.loss.value(self.decisions)
        self.dual = -self.loss.conjugate(self.beta) - 0.5 * norm
        self.gap = relative(self.primal - self.dual, self.primal)
        if self.gap <= self.tol:
            self.bias, self.status = best, Status.CONVERGED
        self.best = best
        self.active, self.slack = self.rows, np.inf  # all rows take part again

    def solution(self) -> AdditiveSolution:
        """Return the current solution with its evidence."""
        return AdditiveSolution(
            tables=self.tables.split(self.g),
            bias=self.best,
            decisions=self.decisions,
            beta=self.beta,
            primal=self.primal,
            dual=self.dual,
            gap=self.gap,
            n_iter=self.n_iter,
            n_products=0,
            n_factors=0,
            method="descent",
            status=self.status,
            z=self.z,
            strength=self.loss.mean_strength,
        )

    def hand_over(self) -> AdditiveSolution:
        """Continue with Newton's method."""
        left = self.max_iter - self.n_iter
        rows = MemoryRows(self.tables, self.loss)
        run = KinkedRun(rows, self.tol, left, self.solution(), self.watch)
        run.width = min(run.width, HANDED_WIDTH * self.gap * run.spread)
        run.n_before, run.method = self.n_iter, "descent, newton"
        return run.finish()


def balanced(beta: FloatArray) -> FloatArray:
    """Return coefficients that sum to zero, by shrinking those of the larger sum."""
    above, below = float(np.maximum(beta, 0.0).sum()), float(-np.minimum(beta, 0.0).sum())
    total = min(above, below)
    shares = (total / above if above > 0.0 else 0.0, total / below if below > 0.0 else 0.0)
    return np.where(beta > 0.0, shares[0] * beta, shares[1] * beta)


@jit
def _descend(  # noqa: PLR0913, PLR0917
    order: IntArray,
    codes: IntArray,
    offsets: IntArray,
    n_ordered: IntArray,
    root: IntArray,
    lengths: FloatArray,
    norms: FloatArray,
    rho: float,
    p: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    epsilon: float,
    bias: float,
    total: float,
    slack: float,
    beta: FloatArray,
    g: FloatArray,
    stays: IntArray,
) -> tuple[float, float]:
    """Set one coefficient after the other to its best; return their sum and the largest change.

    A row that is pushed against its bound by more than `slack` is marked not to stay.
    """
    largest = 0.0
    for t in range(len(order)):
        i = order[t]
        r, bend, old = p[i] - bias - rho * total, norms[i] + rho, beta[i]
        for d in range(len(root)):
            r -= g[offsets[d] + codes[i, d]]
        pull = bend * old + r
        pull = max(pull - epsilon, 0.0) + min(pull + epsilon, 0.0)
        new = min(max(pull / bend, lower[i]), upper[i])
        change = new - old
        is_pushed = new == old and (new == lower[i] or new == upper[i])
        stays[t] = not (is_pushed and abs(pull - bend * new) > slack)
        if change != 0.0:
            largest = max(largest, abs(change) * bend)
            beta[i] = new
            total += change
            for d in range(len(root)):
                _add_change(
                    change, codes[i, d], n_ordered[d], root[d],
                    lengths[offsets[d] : offsets[d + 1]], g[offsets[d] : offsets[d + 1]],
                )  # fmt: skip
    return total, largest


@jit
def _add_change(
    change: float, code: int, n_ordered: int, root: int, lengths: FloatArray, g: FloatArray
) -> None:
    """Add the effect of a change of a coefficient at a level to a table."""
    length = lengths[code]
    if code >= n_ordered:
        g[code] += change * length
    elif code > root:
        for k in range(root + 1, code):
            g[k] += change * lengths[k]
        for k in range(code, n_ordered):
            g[k] += change * length
    elif code < root:
        for k in range(code + 1):
            g[k] += change * length
        for k in range(code + 1, root):
            g[k] += change * lengths[k]

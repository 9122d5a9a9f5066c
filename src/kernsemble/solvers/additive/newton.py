r"""Newton's method on tables, for losses with a continuous slope.

.. math:: \min_{z, b}\; \tfrac12\|z\|^2 + \sum_i C_i\,\ell(y_i, b + (\Phi z)_i)

The bias is the best for the tables after every step, so that the forces
:math:`\beta_i = -C_i \ell'` sum to zero: they are feasible for the dual problem, and the duality
gap is :math:`\tfrac12\|z - \Phi^\top\beta\|^2`, half the squared gradient, whatever the loss.
"""

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.solvers.additive.newton_system import NewtonSystem
from kernsemble.solvers.additive.rows import Rows
from kernsemble.solvers.additive.tables import inner

FLATNESS = 0.3  # slope at which a line search ends, relative to the first
BALANCE = 1e-11  # largest sum of the forces, relative to the sum of their absolute values
MAX_TRIALS = 60  # maximum number of trials of a line search


class Point:
    r"""The current point of Newton's method: tables, bias, and sums over the rows there.

    Attributes
    ----------
    rows : Rows
        The rows, at the stage of the loss that is minimised, and their decision values.
    z, bias
        The tables as rises over edges, and the bias.
    totals : Totals
        Total of the loss, of the forces and of the curvatures.
    force
        :math:`\Phi^\top\beta`; the gradient is ``z - force``.
    """

    def __init__(self, rows: Rows, z: FloatArray, bias: float) -> None:
        self.rows, self.tables, self.z, self.bias = rows, rows.tables, z, bias
        self.totals = rows.place(self.tables.levels_of(z), bias)
        self.settle()

    @property
    def gap(self) -> float:
        """The duality gap: half the squared gradient."""
        gradient = self.z - self.force
        return 0.5 * inner(gradient, gradient)

    @property
    def objective(self) -> float:
        """The objective that is minimised."""
        return 0.5 * inner(self.z, self.z) + self.totals.loss

    def settle(self) -> None:
        """Find the best bias and the forces there."""
        low, high, step = -np.inf, np.inf, 1.0
        for trial in range(MAX_TRIALS):
            _, total, effort, bend = self.totals
            if abs(total) <= BALANCE * effort:
                break
            low, high = (0.0, high) if total > 0.0 else (low, 0.0)
            shift = total / bend if bend > 0.0 else np.copysign(step, total)
            step *= 2.0
            if not low < shift < high or (trial > 8 and np.isfinite(high - low)):
                shift = 0.5 * (low + high)
            self.totals, self.bias = self.rows.shift(shift), self.bias + shift
            low, high = low - shift, high - shift
        self.force = self.tables.edges_of(self.rows.forces())

    def step(self, system: NewtonSystem) -> None:
        """Minimise the objective along the Newton direction, and settle the bias."""
        gradient = self.z - self.force
        dz, db = system.solve(-gradient, self.totals.force)
        slope, bend = inner(self.z, dz), inner(dz, dz)
        first = slope - self.rows.aim(self.tables.levels_of(dz), db)
        low, high, t, at_low, at_high = 0.0, np.inf, 1.0, first, np.inf
        for _ in range(MAX_TRIALS):
            here = slope + t * bend - self.rows.move(t)
            if abs(here) <= FLATNESS * abs(first) or (high < np.inf and high - low <= 1e-12 * high):
                break
            low, at_low, high, at_high = (
                (t, here, high, at_high) if here < 0.0 else (low, at_low, t, here)
            )
            if np.isinf(high):
                t *= 2.0
                continue
            share = at_low / (at_low - at_high) if at_low < at_high else 0.5  # rounding
            t = low + min(max(share, 0.1), 0.9) * (high - low)
        self.z, self.bias = self.z + t * dz, self.bias + t * db
        self.totals = self.rows.totals()
        self.settle()

"""The additive problem, solved by the method expected to be fastest."""

from typing import Literal, TypeAlias, get_args

import numpy as np

from kernsemble._arguments import check_choice
from kernsemble.solvers.additive.descent import MAX_PASSES, Descent
from kernsemble.solvers.additive.result import AdditiveSolution
from kernsemble.solvers.additive.rows import MemoryRows, Rows
from kernsemble.solvers.additive.stages import KinkedRun, SmoothRun
from kernsemble.solvers.additive.tables import Tables
from kernsemble.solvers.interrupts import Watch
from kernsemble.solvers.losses import Kinked, Loss, Smooth

PASSES = 10.0  # passes of descent at small strengths, measured
PASSES_PER_STRENGTH = 40.0  # additional passes for each unit of C |x|^2 / 2
TIME_PER_READ, TIME_PER_WRITE = 3.0, 0.1  # of descent, per code and per ordered level
PRODUCTS = 50.0  # cost of Newton's method in products
TIME_PER_CODE, TIME_PER_LOOSE_LEVEL = 0.65, 6.0  # of a product
TIME_PER_CALL = 50_000.0  # fixed time of a product

Method: TypeAlias = Literal["auto", "newton", "descent"]


def solve_additive(
    tables: Tables,
    loss: Loss,
    *,
    tol: float = 1e-4,
    max_iter: int = 500,
    method: Method = "auto",
    start: AdditiveSolution | None = None,
    watch: Watch | None = None,
    seed: int = 0,
    max_passes: int = MAX_PASSES,
) -> AdditiveSolution:
    r"""Minimise :math:`\tfrac12\|w\|^2 + \sum_i C_i\,\ell(y_i, f_i)`, f the sum of tables and bias.

    Parameters
    ----------
    tables : Tables
        Codes of the rows, and the norm of the tables.
    loss : Loss
        Loss of all rows. Rows of strength zero are absent; no strength may be infinite.
    tol : float
        Relative duality gap to stop at.
    max_iter : int
        Maximum number of Newton steps, or passes of coordinate descent.
    method : {"auto", "newton", "descent"}
        Newton's method on the tables, or dual coordinate descent, which supports kinked losses
        without tables of pairs only, and hands over to Newton's method after `max_passes`; "auto"
        uses the one that `descent_pays` expects to be faster.
    start : AdditiveSolution, optional
        Solution to start from: that of a stopped run, or for another C.
    watch : callable, optional
        Called as ``watch(n_iter, gap)`` before every step or pass; an exception ends the run, a
        KeyboardInterrupt with the solution reached so far.
    seed : int
        Random seed for the order in which coordinate descent visits the rows.
    max_passes : int
        Maximum number of passes of coordinate descent before Newton's method takes over.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.solvers.additive import Tables, solve_additive
    >>> from kernsemble.solvers.additive.quantise import quantise
    >>> from kernsemble.solvers.losses import Hinge
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> (levels,), codes = quantise(X)
    >>> tables = Tables.from_measures(
    ...     codes, [np.diff(levels.values)], [np.empty(0)], [levels.middle]
    ... )
    >>> solution = solve_additive(tables, Hinge.from_targets(y, np.full(4, 10.0)))
    >>> solution.decisions.round(2)
    array([-1., -1.,  1.,  1.])
    """
    check_choice("method", method, get_args(Method))
    if not np.isfinite(loss.strengths).all():
        raise ValueError("a strength C is not finite: use the exact solver for a hard margin")
    if isinstance(loss, Smooth):
        if method == "descent":
            raise ValueError(
                f'method = "descent" does not support the {type(loss).__name__} loss: '
                'use "newton" or "auto"'
            )
        return solve_on_rows(MemoryRows(tables, loss), tol, max_iter, start, watch)
    assert isinstance(loss, Kinked)
    if method == "descent" and tables.pairs:
        raise ValueError('method = "descent" does not support pairs of columns: use "newton"')
    if method == "descent" or (method == "auto" and descent_pays(tables, loss)):
        rng = np.random.default_rng(seed)
        return Descent(tables, loss, tol, max_iter, start, watch, rng, max_passes).finish()
    return solve_on_rows(MemoryRows(tables, loss), tol, max_iter, start, watch)


def solve_on_rows(
    rows: Rows,
    tol: float = 1e-4,
    max_iter: int = 500,
    start: AdditiveSolution | None = None,
    watch: Watch | None = None,
) -> AdditiveSolution:
    """Solve by Newton's method, with the rows in memory or in blocks; see `solve_additive`."""
    method = KinkedRun if rows.is_kinked else SmoothRun
    return method(rows, tol, max_iter, start, watch).finish()


def descent_pays(tables: Tables, loss: Kinked) -> bool:
    r"""Return whether coordinate descent is expected to be faster than Newton's method.

    Descent takes more passes the larger :math:`C\|x\|^2`, and a pass writes to all ordered
    levels but to only one loose level per row; Newton's method takes a number of products that
    hardly depends on the problem, and each of them only reads the rows. So descent pays for small
    strengths, with few rows or many loose levels. Times are in nanoseconds,
    measured on one core.
    """
    is_present = loss.strengths > 0.0
    n, D = int(is_present.sum()), tables.n_tables
    if n == 0 or tables.pairs:
        return False
    strength = 0.5 * loss.mean_strength * float(tables.squared_norms()[is_present].mean())
    passes = PASSES + PASSES_PER_STRENGTH * strength
    writes = np.maximum(TIME_PER_WRITE * tables.n_ordered, TIME_PER_READ)
    descent = passes * n * (TIME_PER_READ * D + writes.sum())
    n_loose = tables.n_levels - int(tables.n_ordered.sum())
    product = TIME_PER_CODE * n * D + TIME_PER_LOOSE_LEVEL * n_loose + TIME_PER_CALL
    newton = PRODUCTS * product
    return bool(strength <= 1.0 and descent < newton)

"""The additive problem, by the method that suits it."""

from typing import Literal, TypeAlias, get_args

import numpy as np

from kernsemble._arguments import check_choice
from kernsemble.solvers.additive.descent import Descent
from kernsemble.solvers.additive.losses import AnyLoss, Kinked, mean_strength
from kernsemble.solvers.additive.result import AdditiveSolution
from kernsemble.solvers.additive.stages import KinkedRun, SmoothRun, Watch
from kernsemble.solvers.additive.tables import Tables

PASSES = 10.0  # of descent at small strengths, measured
PASSES_FOR_STRENGTH = 40.0  # more, for each unit of C |x|^2 / 2
TIME_OF_A_READ, TIME_OF_A_WRITE = 3.0, 0.1  # of descent: an entry, and a level of its order
PRODUCTS = 50.0  # of Newton's method, everything it does counted as such
TIME_OF_A_PRODUCT, TIME_OF_A_LOOSE_LEVEL = 2.5, 30.0  # an entry; there may be many levels
TIME_OF_A_CALL = 150_000.0  # what is there without any

Method: TypeAlias = Literal["auto", "newton", "descent"]


def solve_additive(
    tables: Tables,
    loss: AnyLoss,
    *,
    tol: float = 1e-4,
    max_iter: int = 500,
    method: Method = "auto",
    start: AdditiveSolution | None = None,
    watch: Watch | None = None,
    seed: int = 0,
) -> AdditiveSolution:
    r"""Minimise :math:`\tfrac12\|w\|^2 + \sum_i C_i\,\ell(y_i, f_i)`, f the sum of tables and bias.

    Parameters
    ----------
    tables : Tables
        The codes of the rows, and what rises of the tables cost.
    loss : Logistic, SquaredHinge, Squared or Kinked
        The loss of every row; `Kinked.hinge` and `Kinked.tube` make the losses of the SVM. Rows
        with a strength of zero are absent; no strength is infinite.
    tol : float
        The relative duality gap to stop at.
    max_iter : int
        At most so many Newton steps, or passes of coordinate descent.
    method : {"auto", "newton", "descent"}
        Newton's method on the tables, or dual coordinate descent, which knows kinked losses
        only and hands over to Newton's method where it crawls; "auto" takes the one that
        `descent_pays` expects to cost less.
    start : AdditiveSolution, optional
        Where to start from: a run that was stopped, or the solution for another C.
    watch : callable, optional
        Called as ``watch(n_iter, gap)`` before every step or pass; what it raises ends the run. A
        KeyboardInterrupt ends it with what has been reached.
    seed : int
        Of the order in which coordinate descent visits the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kernsemble.solvers.additive import Kinked, Tables, solve_additive
    >>> from kernsemble.solvers.additive.quantise import quantise
    >>> X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> (levels,), codes = quantise(X)
    >>> tables = Tables.from_measures(
    ...     codes, [np.diff(levels.values)], [np.empty(0)], [levels.middle]
    ... )
    >>> solution = solve_additive(tables, Kinked.hinge(y, np.full(4, 10.0)))
    >>> solution.decisions.round(2)
    array([-1., -1.,  1.,  1.])
    """
    check_choice("method", method, get_args(Method))
    if not np.isfinite(loss.C).all():
        raise ValueError("a strength C is not finite: a hard margin needs the exact solver")
    if not isinstance(loss, Kinked):
        if method == "descent":
            raise ValueError(
                f'method = "descent" knows no {type(loss).__name__} loss: use "newton" or "auto"'
            )
        return SmoothRun(tables, loss, tol, max_iter, start, watch).finish()
    if method == "descent" or (method == "auto" and descent_pays(tables, loss)):
        rng = np.random.default_rng(seed)
        return Descent(tables, loss, tol, max_iter, start, watch, rng).finish()
    return KinkedRun(tables, loss, tol, max_iter, start, watch).finish()


def descent_pays(tables: Tables, loss: Kinked) -> bool:
    r"""Tell whether coordinate descent is expected to take less time than Newton's method.

    Descent takes more passes the larger :math:`C\|x\|^2`, and a pass writes to all ordered
    levels, of loose ones to that of the row alone; Newton's method takes a number of products that
    hardly depends on the problem, and each of them only reads the rows. So descent pays for small
    strengths, with small problems of few levels or with loose levels. Times are in nanoseconds,
    measured on one core.
    """
    is_present = loss.C > 0.0
    n, D = int(is_present.sum()), tables.n_tables
    if n == 0:
        return False
    strength = 0.5 * mean_strength(loss) * float(tables.squared_norms()[is_present].mean())
    passes = PASSES + PASSES_FOR_STRENGTH * strength
    writes = np.maximum(TIME_OF_A_WRITE * tables.n_ordered, TIME_OF_A_READ)
    descent = passes * n * (TIME_OF_A_READ * D + writes.sum())
    n_loose = tables.n_levels - int(tables.n_ordered.sum())
    product = TIME_OF_A_PRODUCT * n * D + TIME_OF_A_LOOSE_LEVEL * n_loose + TIME_OF_A_CALL
    newton = PRODUCTS * product
    return bool(strength <= 1.0 and descent < newton)

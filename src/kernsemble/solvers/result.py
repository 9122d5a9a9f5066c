"""What a solver returns: coefficients, with the evidence that they are right."""

from dataclasses import dataclass
from enum import Enum
from typing import Self

import numpy as np

from kernsemble._typing import FloatArray


class Status(Enum):
    """How a run ended; the value is what a user is told."""

    CONVERGED = "the optimality conditions hold within tol"
    STOPPED = "stopped early: raise max_iter, loosen tol, scale the features or lower C"
    INTERRUPTED = "interrupted: fit again with warm_start=True to go on from here"
    UNBOUNDED = (
        "within rounding nothing that this kernel holds separates the classes, or keeps all errors "
        "within epsilon, as C = inf demands: use a finite C or a kernel with more hypotheses"
    )


@dataclass(frozen=True, eq=False)
class Solution:
    r"""The signed coefficients :math:`\beta` of a dual problem, and what is known of them.

    Attributes
    ----------
    beta : array of shape (n,)
        The coefficients.
    bias : float
        The bias b of :math:`f(x) = \sum_i \beta_i K(x_i, x) + b`.
    residual : array of shape (n,)
        :math:`p - K\beta`, so that :math:`f(x_i) = p_i - r_i + b`.
    objective : float
        :math:`\tfrac12 \beta^\top K\beta - p^\top\beta + \varepsilon\|\beta\|_1`.
    gap : float
        How much the primal objective at these coefficients is above the dual one: at least
        the distance of either to the optimum.
    violation : float
        How much the best rise gains more than the cheapest fall loses.
    n_iter : int
        Pair steps and Newton steps together.
    status : Status
        How the run ended.
    """

    beta: FloatArray
    bias: float
    residual: FloatArray
    objective: float
    gap: float
    violation: float
    n_iter: int
    status: Status

    @classmethod
    def to_start_from(cls, beta: FloatArray, residual: FloatArray) -> Self:
        """Return coefficients of which nothing is known but their residual."""
        return cls(beta, 0.0, residual, np.nan, np.inf, np.inf, 0, Status.STOPPED)

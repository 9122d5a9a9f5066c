"""The solution of a dual problem, with the evidence of its accuracy."""

from dataclasses import dataclass
from enum import Enum
from typing import Self

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble._value_object import short_repr


class Status(Enum):
    """Reason why a run ended; the value is the message for users."""

    CONVERGED = "the optimality conditions hold within tol"
    STOPPED = "stopped early: raise max_iter, loosen tol, scale the features or lower C"
    ROUNDED = "the precision of the rows allows no less: raise tol, lower C, or pass float64 rows"
    INTERRUPTED = "interrupted: fit again with warm_start=True to continue from here"
    UNBOUNDED = (
        "the classes are not separable with this kernel, or some errors exceed epsilon: use "
        "a finite C or a kernel with more hypotheses"
    )


@dataclass(frozen=True, eq=False)
class Solution:
    r"""The signed coefficients :math:`\beta` of a dual problem, and the evidence for them.

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
        Duality gap: the distance between the primal and the dual objective at these
        coefficients, at least the distance of either to the optimum.
    violation : float
        Largest violation of the optimality (KKT) conditions.
    n_iter : int
        Number of steps of pairs and Newton steps.
    status : Status
        Reason why the run ended.
    """

    beta: FloatArray
    bias: float
    residual: FloatArray
    objective: float
    gap: float
    violation: float
    n_iter: int
    status: Status

    def __repr__(self) -> str:
        return short_repr(self)

    @classmethod
    def to_start_from(cls, beta: FloatArray, residual: FloatArray) -> Self:
        """Return coefficients to start from, given with their residual."""
        return cls(beta, 0.0, residual, np.nan, np.inf, np.inf, 0, Status.STOPPED)

"""What the additive solvers return: tables, with the evidence that they are right."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from kernsemble._typing import FloatArray
from kernsemble.solvers.result import Status


@dataclass(frozen=True, eq=False)
class AdditiveSolution:
    r"""Tables and bias of :math:`f(x_i) = b + \sum_d g_d[\mathrm{code}_{id}]`.

    Attributes
    ----------
    tables : list of arrays
        The table of each column, zero at its root.
    bias : float
        The bias b.
    decisions : array of shape (n,)
        :math:`f(x_i)` of all rows, those without weight too.
    beta : array of shape (n,)
        The signed coefficients of the dual problem; they sum to zero.
    primal, dual : float
        :math:`\tfrac12\|w\|^2 + \sum_i C_i \ell(y_i, f_i)`, and the value of the dual problem
        at `beta`: the optimum is between them.
    gap : float
        The difference of the two, as a share of the first.
    n_iter : int
        Newton steps, or passes of coordinate descent, or both together.
    n_products, n_factors : int
        What the Newton steps took.
    method : str
        "newton", "descent", or "descent, newton" where the first handed over.
    status : Status
        How the run ended.
    z : array of shape (n_levels,)
        The tables as scaled rises over edges, to start another run from.
    strength : float
        The mean C of the rows that were present.
    """

    tables: list[FloatArray]
    bias: float
    decisions: FloatArray
    beta: FloatArray
    primal: float
    dual: float
    gap: float
    n_iter: int
    n_products: int
    n_factors: int
    method: str
    status: Status
    z: FloatArray
    strength: float

    @classmethod
    def to_start_from(cls, z: FloatArray, bias: float, beta: FloatArray, strength: float) -> Self:
        """Return tables and coefficients of which nothing is known but where they are."""
        nothing = np.empty(0)
        return cls(
            [], float(bias), nothing, beta, np.inf, -np.inf, np.inf, 0, 0, 0, "", Status.STOPPED,
            z, float(strength),
        )  # fmt: skip

    @property
    def squared_norm(self) -> float:
        r""":math:`\|w\|^2`."""
        return float(np.vdot(self.z, self.z))

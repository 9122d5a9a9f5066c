"""The solution of an additive problem, with the evidence of its accuracy."""

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
        Table of each column, zero at its root.
    bias : float
        Bias b.
    decisions : array of shape (n,)
        Decision values :math:`f(x_i)` of all rows, also those of weight zero.
    beta : array of shape (n,)
        Signed coefficients of the dual problem; they sum to zero.
    primal, dual : float
        :math:`\tfrac12\|w\|^2 + \sum_i C_i \ell(y_i, f_i)`, and the value of the dual problem
        at `beta`: the optimum is between them.
    gap : float
        Duality gap: the difference of the two, relative to the first.
    n_iter : int
        Number of Newton steps and passes of coordinate descent.
    n_products, n_factors : int
        Number of products and of factorisations in the Newton steps.
    method : str
        "newton", "descent", or "descent, newton" if the first handed over.
    status : Status
        Reason why the run ended.
    z : array of shape (n_levels,)
        Tables as scaled rises over edges, to start another run from.
    strength : float
        Mean C of the rows that were present.
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

    def __post_init__(self) -> None:
        if not (np.isfinite(self.bias) and np.isfinite(self.z).all()):
            raise ValueError(
                "the coefficients exceed the range of floats: scale the features or the targets, "
                "or use a smaller C"
            )

    @classmethod
    def to_start_from(cls, z: FloatArray, bias: float, beta: FloatArray, strength: float) -> Self:
        """Return tables and coefficients to start from."""
        nothing = np.empty(0)
        return cls(
            [], float(bias), nothing, beta, np.inf, -np.inf, np.inf, 0, 0, 0, "", Status.STOPPED,
            z, float(strength),
        )  # fmt: skip

    @property
    def squared_norm(self) -> float:
        r""":math:`\|w\|^2`."""
        return float(np.vdot(self.z, self.z))

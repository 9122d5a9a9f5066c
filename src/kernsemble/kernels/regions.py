r"""Kernels that embody logical combinations of any number of stumps."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from scipy.special import gammaln, xlogy

from kernsemble._arguments import check_count, check_positive
from kernsemble._typing import ArrayLike, FloatArray
from kernsemble.hypotheses import Regions
from kernsemble.kernels.base import Kernel
from kernsemble.kernels.ensemble import Stump
from kernsemble.kernels.gram import Embedded, n_rows


@dataclass(frozen=True, eq=False, repr=False)
class _OverStumps(Kernel):
    """A function of the stump kernel."""

    stump: Stump = field(default=Stump(), kw_only=True)

    def bind(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        return replace(self, stump=self.stump.bind(X, sample_weight))

    @property
    def n_features(self) -> int | None:
        return self.stump.n_features

    @property
    def _double_delta(self) -> float:
        return 2.0 * self.stump.delta

    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        return self.stump._embed(X, name)

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        stump = self.stump._tile(A, B)
        stump += self.stump.delta
        return self._from_agreement(stump)

    def _diagonal(self, A: Embedded) -> FloatArray:
        return self._from_agreement(np.full(n_rows(A), self._double_delta))

    def _from_agreement(self, agreement: FloatArray) -> FloatArray:
        r"""Return the kernel from :math:`K_S + \Delta_S`, which may be overwritten."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class StumpRegion(_OverStumps):
    r"""The kernel that embodies the AND/OR combinations of up to L stumps.

    .. math:: K_1 &= K_S + \Delta_S, \quad \Delta_1 = 2\Delta_S \\
              K_{L+1} &= (K_L + \Delta_L)(K_S + \Delta_S), \quad
              \Delta_{L+1} = 2\Delta_L\Delta_S

    This is Definition 17 as printed, in closed form
    :math:`(2\Delta_S)^L \sum_{l=1}^L u^l` with :math:`u = (K_S + \Delta_S) / 2\Delta_S`. Its
    hypotheses are boxes: conjunctions of l ≤ L stumps, each power of u one length. The chain
    ``(Stump() + Constant(Δ_S)) & Stump() & …`` carries the constant of Theorem 16,
    :math:`4\Delta_L\Delta_S`, instead; the two agree up to L = 2 and weight the lengths
    differently from L = 3 on.

    Parameters
    ----------
    level : int, default=2
        Maximum number L of stumps in a combination.
    stump : Stump, default=Stump()
        Kernel of the stumps to combine.

    Examples
    --------
    >>> from kernsemble.kernels import StumpRegion
    >>> StumpRegion(level=2).bind([[0.0], [1.0]])([[0.0], [1.0]])
    array([[2.42, 0.12],
           [0.12, 2.42]])
    """

    level: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("level", self.level)

    @property
    def level_constant(self) -> float:
        r"""The constant of Definition 17: :math:`\Delta_L = (2\Delta_S)^L`."""
        with np.errstate(over="ignore"):
            constant = float(np.power(self._double_delta, float(self.level)))
        if constant == np.inf:
            raise ValueError(
                f"the measure of regions of level {self.level} exceeds the range of floats: use a "
                "smaller level, or scale the columns"
            )
        return constant

    @property
    def hypotheses(self) -> Regions:
        weights = np.full(self.level + 1, self.level_constant)
        weights[0] = 0.0
        return Regions(self.stump.hypotheses, weights)

    def _from_agreement(self, agreement: FloatArray) -> FloatArray:
        kernel = agreement.copy()
        for level in range(1, self.level):
            kernel += np.power(self._double_delta, float(level))
            kernel *= agreement
        return kernel


@dataclass(frozen=True, eq=False, repr=False)
class DecisionTree(_OverStumps):
    r"""The kernel that embodies decision trees of every depth.

    .. math:: K(x, x') = \exp(\gamma (K_S(x, x') + \Delta_S)) - 1,
              \qquad 0 < \gamma < 1 / \Delta_S

    It is a positive combination of the stump region kernels of every level (Theorem 18),
    and :math:`\kappa_1 \exp(-\gamma \|x - x'\|_1) + \kappa_3`: the same SVM as
    `Laplacian`, with another C, for rows within the range of the sample.

    Parameters
    ----------
    gamma : float
        Weight of depth; checked against :math:`1/\Delta_S` when bound.
    stump : Stump, default=Stump()
        Kernel of the stumps in the trees.

    Examples
    --------
    >>> from kernsemble.kernels import DecisionTree
    >>> DecisionTree(gamma=0.5).bind([[0.0], [1.0]])([[0.0], [1.0]]).round(2)
    array([[0.73, 0.05],
           [0.05, 0.73]])
    """

    gamma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("gamma", self.gamma)

    def bind(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        bound = super().bind(X, sample_weight)
        if self.gamma * bound.stump.delta >= 1.0:
            raise ValueError(
                f"gamma = {self.gamma!r}: use a value below 1/Δ_S = {1.0 / bound.stump.delta:.4g}, "
                "or some trees would have negative weight on this data (Theorem 18); for any "
                f"gamma, Laplacian(gamma={self.gamma!r}) gives the same SVM"
            )
        return bound

    @property
    def hypotheses(self) -> Regions:
        weights = exponential_series(self.gamma * self._double_delta)
        weights[0] = 0.0
        return Regions(self.stump.hypotheses, weights)

    def _from_agreement(self, agreement: FloatArray) -> FloatArray:
        return np.expm1(np.multiply(agreement, self.gamma, out=agreement), out=agreement)


def exponential_series(x: float, shift: float = 0.0) -> FloatArray:
    r"""Return the terms :math:`e^{-s} x^l / l!` of :math:`\exp(x - s)`.

    The series ends where terms are negligible after multiplication by :math:`2^l`, as in
    `Regions`.
    """
    power = np.arange(int(2.0 * x + 12.0 * np.sqrt(2.0 * x)) + 30)
    return np.exp(xlogy(power, x) - gammaln(power + 1) - shift)

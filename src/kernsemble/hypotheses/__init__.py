r"""Sets of hypotheses: the members of ensembles.

A set of hypotheses :math:`\{h_a\}` with a measure :math:`r(a)^2 da` on it defines the
kernel :math:`K(x, x') = \int r(a)^2 h_a(x) h_a(x')\, da` (Lin and Li, Definition 1). Sets
have a total measure, state whether their votes cancel, and draw members at random;
finite sets and samples vote.
"""

from kernsemble.hypotheses.base import FiniteSet, Hypotheses, HypothesisSet
from kernsemble.hypotheses.categories import CategorySet, Memberships
from kernsemble.hypotheses.combinations import (
    And,
    ConstantSet,
    OnColumns,
    Regions,
    Reweighted,
    Union,
    Xor,
)
from kernsemble.hypotheses.perceptrons import Perceptrons, PerceptronSet
from kernsemble.hypotheses.thresholds import MiddleStumpSet, StumpCells, Stumps, StumpSet

__all__ = [
    "And",
    "CategorySet",
    "ConstantSet",
    "FiniteSet",
    "Hypotheses",
    "HypothesisSet",
    "Memberships",
    "MiddleStumpSet",
    "OnColumns",
    "PerceptronSet",
    "Perceptrons",
    "Regions",
    "Reweighted",
    "StumpCells",
    "StumpSet",
    "Stumps",
    "Union",
    "Xor",
]

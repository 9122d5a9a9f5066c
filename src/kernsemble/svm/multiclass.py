r"""Multiclass classification by binary machines.

A reduction defines which classes are on the two sides of each machine, and combines the values
of the machines into decision values and probabilities of classes. Two classes need one machine,
whose positive side is the second class, whatever the reduction.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from sklearn.utils import compute_sample_weight

from kernsemble._arguments import check_choice
from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble._validation import read_classes, refuse_one_class
from kernsemble._value_object import Value
from kernsemble.exceptions import ArgumentError

Multiclass: TypeAlias = Literal["auto", "one-vs-one", "one-vs-rest"]
DecisionShape: TypeAlias = Literal["ovr", "ovo"]

MAX_PAIRED_CLASSES = 20  # number of classes up to which "auto" is one-vs-one
MOST_CONFIDENT = 1e300  # largest absolute value that is added up
SMALLEST_SHARE = 1e-7  # smallest probability of a class in a pair, so that none is zero
MAX_ENTRIES = 2_000_000  # maximum number of entries of linear systems solved together


class Reduction(Value, ABC):
    """Reduction of multiclass classification to binary machines."""

    n_classes: int

    @property
    @abstractmethod
    def n_machines(self) -> int:
        """The number of machines."""

    @abstractmethod
    def signs(self, codes: IntArray, machine: int) -> FloatArray:
        """Return +1 and −1 for rows on the sides of a machine, 0 for rows on neither side."""

    @abstractmethod
    def decisions(self, values: FloatArray) -> FloatArray:
        """Return the decision value of every class (columns); one number for two classes."""

    @abstractmethod
    def combine(self, shares: FloatArray) -> FloatArray:
        """Return class probabilities, given those of the positive sides of the machines."""

    def winners(self, values: FloatArray) -> IntArray:
        """Return the codes of the predicted classes."""
        decisions = self.decisions(values)
        return decisions.argmax(axis=1) if decisions.ndim == 2 else (decisions > 0.0).astype(int)


@dataclass(frozen=True, eq=False, repr=False)
class OneVersusOne(Reduction):
    """A machine for each pair of classes, on the rows of these two."""

    n_classes: int

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The positive and the negative class of each machine, in LIBSVM's order."""
        return [(1, 0)] if self.n_classes == 2 else list(combinations(range(self.n_classes), 2))

    @property
    def n_machines(self) -> int:
        return self.n_classes * (self.n_classes - 1) // 2

    def signs(self, codes: IntArray, machine: int) -> FloatArray:
        positive, negative = self.pairs[machine]
        return (codes == positive).astype(np.float64) - (codes == negative)

    def decisions(self, values: FloatArray) -> FloatArray:
        """Return the number of pairs that each class wins, plus less than ½ for the confidence."""
        if self.n_classes == 2:
            return values[:, 0]
        votes = np.zeros((len(values), self.n_classes))
        confidence = np.zeros_like(votes)
        for column, (positive, negative) in zip(values.T, self.pairs, strict=True):
            confident = np.clip(column, -MOST_CONFIDENT, MOST_CONFIDENT)
            votes[:, positive] += column > 0.0
            votes[:, negative] += column <= 0.0
            confidence[:, positive] += confident
            confidence[:, negative] -= confident
        return votes + 0.5 * (confidence / (np.abs(confidence) + 1.5))

    def combine(self, shares: FloatArray, max_entries: int = MAX_ENTRIES) -> FloatArray:
        if self.n_classes == 2:
            return np.column_stack([1.0 - shares[:, 0], shares[:, 0]])
        positive, negative = np.transpose(self.pairs)
        shares = np.clip(shares, SMALLEST_SHARE, 1.0 - SMALLEST_SHARE)
        together = np.empty((len(shares), self.n_classes))
        height = max(max_entries // (self.n_classes + 1) ** 2, 1)
        for start in range(0, len(shares), height):
            block = slice(start, start + height)
            against = np.zeros((len(shares[block]), self.n_classes, self.n_classes))
            against[:, positive, negative] = shares[block]
            against[:, negative, positive] = 1.0 - shares[block]
            together[block] = _coupled(against)
        return together


@dataclass(frozen=True, eq=False, repr=False)
class OneVersusRest(Reduction):
    """A machine for each class, on all rows: its own are positive."""

    n_classes: int

    @property
    def n_machines(self) -> int:
        return self.n_classes

    def signs(self, codes: IntArray, machine: int) -> FloatArray:
        return np.where(codes == machine, 1.0, -1.0)

    def decisions(self, values: FloatArray) -> FloatArray:
        return values

    def combine(self, shares: FloatArray) -> FloatArray:
        return shares / shares.sum(axis=1, keepdims=True)


def one_versus_rest_signs(codes: IntArray, n_classes: int) -> FloatArray:
    """Return +1 for the rows of each class (columns), −1 for others; one column for two classes."""
    reduction: Reduction = OneVersusRest(n_classes) if n_classes > 2 else OneVersusOne(n_classes)
    return np.column_stack([reduction.signs(codes, k) for k in range(reduction.n_machines)])


def as_reduction(multiclass: Multiclass, n_classes: int, shape: DecisionShape = "ovr") -> Reduction:
    """Return the reduction with a name.

    "auto" is one-vs-one for few classes, and if decision values of pairs are needed.
    """
    check_choice("multiclass", multiclass, get_args(Multiclass))
    if multiclass == "auto":
        is_paired = n_classes <= MAX_PAIRED_CLASSES or shape == "ovo"
        multiclass = "one-vs-one" if is_paired else "one-vs-rest"
    if multiclass == "one-vs-rest" and n_classes > 2:
        return OneVersusRest(n_classes)
    return OneVersusOne(n_classes)


def check_shape(shape: DecisionShape, multiclass: Multiclass) -> None:
    """Check that the machines can return decision values of this shape."""
    check_choice("decision_function_shape", shape, get_args(DecisionShape))
    if shape == "ovo" and multiclass == "one-vs-rest":
        raise ValueError(
            "decision_function_shape = 'ovo' needs a machine for every pair of classes, and "
            "multiclass = 'one-vs-rest' fits none: use 'ovr', or multiclass='one-vs-one'"
        )


class MulticlassMixin:
    """Mixin of classifiers that combine binary machines by a reduction."""

    classes_: Any
    reduction_: Reduction
    multiclass: Multiclass
    decision_function_shape: DecisionShape
    _values: Callable[[ArrayLike], FloatArray]  # of every machine (columns) at every row

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the decision value of each row; with several classes, one per class.

        With more than two classes and one-vs-one it is the number of pairs that a class wins,
        plus less than a half that ranks ties; or, if `decision_function_shape` is "ovo", the
        value of each pair, positive for its first class.
        """
        return self._decisions(self._values(X))

    def predict(self, X: ArrayLike) -> Any:
        """Return the predicted class of each row."""
        return self._winners(self._values(X))

    def _read_labels(self, y: Any) -> IntArray:
        """Store the classes and the reduction, and return the code of each row's class."""
        self.classes_, codes = read_classes(y)
        refuse_one_class(self.classes_)
        self.reduction_ = as_reduction(
            self.multiclass, len(self.classes_), self.decision_function_shape
        )
        return codes

    def _signs(self, codes: IntArray) -> list[FloatArray]:
        """Return the signs of all rows for each machine; 0 for rows on neither side."""
        machines = range(self.reduction_.n_machines)
        return [self.reduction_.signs(codes, machine) for machine in machines]

    def _decisions(self, values: FloatArray) -> FloatArray:
        if self.decision_function_shape == "ovo" and len(self.classes_) > 2:
            return values
        return self.reduction_.decisions(values)

    def _winners(self, values: FloatArray) -> Any:
        return self.classes_[self.reduction_.winners(values)]


def class_factors(class_weight: Any, y: Any, codes: IntArray, counts: FloatArray) -> FloatArray:
    """Return the factor of C for each row; "balanced" gives every class the same total."""
    if not isinstance(class_weight, dict | str | None):
        raise ArgumentError("class_weight", class_weight, "use None, 'balanced' or a dict")
    if class_weight != "balanced":
        factors = compute_sample_weight(class_weight, y)
        if not (np.isfinite(factors) & (factors >= 0.0)).all():
            raise ValueError(f"class_weight = {class_weight!r}: use finite numbers, none negative")
        return factors
    totals = np.bincount(codes, counts)
    n_present = np.count_nonzero(totals)
    return (counts.sum() / n_present / np.where(totals > 0.0, totals, np.inf))[codes]


def _coupled(against: FloatArray) -> FloatArray:
    r"""Return the probabilities of classes that agree best with those of pairs.

    With :math:`r_{ij}` the probability of class i among i and j,

    .. math:: \min_p \textstyle\sum_i \sum_{j \ne i} (r_{ji} p_i - r_{ij} p_j)^2
              \quad\text{s.t.}\quad \textstyle\sum_i p_i = 1 ,

    the second method of Wu, Lin and Weng (2004), whose solution is never negative.
    `against` holds :math:`r_{ij}`, a matrix for each row, with a diagonal of zero.
    """
    n, k = against.shape[:2]
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k] = -against * against.transpose(0, 2, 1)
    system[:, range(k), range(k)] = (against**2).sum(axis=1)
    system[:, k, :k] = system[:, :k, k] = 1.0
    right = np.zeros((k + 1, 1))
    right[k] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], np.finfo(np.float64).eps)
    return p / p.sum(axis=1, keepdims=True)

"""Kernels made of kernels: the results of the operators."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import iadd, imul
from typing import Self

import numpy as np

from kernsemble import hypotheses
from kernsemble._arguments import check_positive
from kernsemble._typing import ArrayLike, FloatArray, IntArray
from kernsemble._validation import (
    Column,
    as_table,
    check_n_features,
    chosen_columns,
    column_names,
    locate_columns,
    take_columns,
)
from kernsemble.exceptions import NotNeutralError
from kernsemble.hypotheses import HypothesisSet
from kernsemble.kernels.base import Kernel
from kernsemble.kernels.gram import Embedded


@dataclass(frozen=True, eq=False, repr=False)
class Combination(Kernel):
    """A kernel made of kernels of the same rows."""

    parts: tuple[Kernel, ...]

    @classmethod
    def _flattened(cls, *kernels: Kernel) -> tuple[Kernel, ...]:
        nested = (kernel.parts if isinstance(kernel, cls) else (kernel,) for kernel in kernels)
        return tuple(part for parts in nested for part in parts)

    def bind(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        return replace(self, parts=tuple(part.bind(X, sample_weight) for part in self.parts))

    @property
    def n_features(self) -> int | None:
        counts = [part.n_features for part in self.parts]
        return None if None in counts else counts[0]

    @property
    def is_conditional(self) -> bool:
        return any(part.is_conditional for part in self.parts)

    @property
    def is_neutral(self) -> bool:
        return all(part.is_neutral for part in self.parts)

    @property
    def hypotheses(self) -> HypothesisSet | None:
        sets = [part.hypotheses for part in self.parts]
        known = tuple(each for each in sets if each is not None)
        return self._combine(known) if len(known) == len(sets) else None

    @abstractmethod
    def _combine(self, sets: tuple[HypothesisSet, ...]) -> HypothesisSet:
        """Return the hypotheses of the combination from those of the parts."""

    @property
    def _operand(self) -> str:
        return f"({self._expression})"

    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        return tuple(part._embed(X, name) for part in self.parts)

    def _tiles(self, A: Embedded, B: Embedded) -> list[FloatArray]:
        return [part._tile(a, b) for part, a, b in zip(self.parts, A, B, strict=True)]

    def _diagonals(self, A: Embedded) -> list[FloatArray]:
        return [part._diagonal(a) for part, a in zip(self.parts, A, strict=True)]


class Sum(Combination):
    r"""The kernel of the union: :math:`K = K_1 + K_2 + \dots` (Theorem 13)."""

    @classmethod
    def from_kernels(cls, left: Kernel, right: Kernel) -> Kernel:
        """Return the sum of two kernels; sums of sums are one sum."""
        return cls(cls._flattened(left, right))

    def _combine(self, sets: tuple[HypothesisSet, ...]) -> HypothesisSet:
        return hypotheses.Union(sets)

    @property
    def simplified(self) -> Kernel:
        return Sum(tuple(part.simplified for part in self.parts))

    @property
    def full(self) -> Kernel:
        return Sum(tuple(part.full for part in self.parts))

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return reduce(iadd, self._tiles(A, B))

    def _diagonal(self, A: Embedded) -> FloatArray:
        return reduce(iadd, self._diagonals(A))

    @property
    def _expression(self) -> str:
        tight = (Product, Scaled)  # of higher precedence than a sum
        return " + ".join(
            part._expression if isinstance(part, tight) else part._operand for part in self.parts
        )


class Product(Combination):
    r"""The kernel of XORs, :math:`\pm h_1 h_2 \cdots`: :math:`K = K_1 K_2 \cdots` (Theorem 14)."""

    @classmethod
    def from_kernels(cls, left: Kernel, right: Kernel) -> Kernel:
        """Return the product of two definite kernels, with their factors in front."""
        for side in (left, right):
            side.require_definite("a product of kernels")
        (c, left), (d, right) = (
            (side.factor, side.kernel) if isinstance(side, Scaled) else (1.0, side)
            for side in (left, right)
        )
        return Scaled.from_kernel(c * d, cls(cls._flattened(left, right)))

    def _combine(self, sets: tuple[HypothesisSet, ...]) -> HypothesisSet:
        return reduce(hypotheses.Xor, sets)

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return reduce(imul, self._tiles(A, B))

    def _diagonal(self, A: Embedded) -> FloatArray:
        return reduce(imul, self._diagonals(A))

    @property
    def _expression(self) -> str:
        return " * ".join(part._operand for part in self.parts)


class And(Combination):
    r"""The kernel of ANDs and ORs: :math:`K = (K_1 + \Delta_1)(K_2 + \Delta_2)` (Theorem 16).

    Its own constant is :math:`\Delta = 4\Delta_1\Delta_2 = K(x, x)`, so that chains are
    literal: ``(k1 & k2) & k3`` contains the ANDs of an AND with a third hypothesis. (Definition
    17 prints :math:`2\Delta_L\Delta_S` for it; see `StumpRegion`.)
    """

    @classmethod
    def from_kernels(cls, left: Kernel, right: Kernel) -> Kernel:
        """Return the AND of two kernels with neutral hypotheses."""
        return cls((_neutral(left), _neutral(right)))

    def _combine(self, sets: tuple[HypothesisSet, ...]) -> HypothesisSet:
        return hypotheses.And(*sets)

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        left, right = self._tiles(A, B)
        return self._conjunction(left, right)

    def _diagonal(self, A: Embedded) -> FloatArray:
        left, right = self._diagonals(A)
        return self._conjunction(left, right)

    def _conjunction(self, left: FloatArray, right: FloatArray) -> FloatArray:
        left += self.parts[0].delta
        right += self.parts[1].delta
        left *= right
        return left

    @property
    def _expression(self) -> str:
        return " & ".join(part._operand for part in self.parts)


@dataclass(frozen=True, eq=False, repr=False)
class Wrapper(Kernel):
    """A kernel derived from one other kernel."""

    kernel: Kernel

    def bind(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        return replace(self, kernel=self.kernel.bind(X, sample_weight))

    @property
    def n_features(self) -> int | None:
        return self.kernel.n_features

    @property
    def is_neutral(self) -> bool:
        return self.kernel.is_neutral

    @property
    def is_conditional(self) -> bool:
        return self.kernel.is_conditional

    @property
    def simplified(self) -> Kernel:
        return replace(self, kernel=self.kernel.simplified)

    @property
    def full(self) -> Kernel:
        return replace(self, kernel=self.kernel.full)

    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        return self.kernel._embed(X, name)

    def _tile(self, A: Embedded, B: Embedded) -> FloatArray:
        return self._transformed(self.kernel._tile(A, B))

    def _diagonal(self, A: Embedded) -> FloatArray:
        return self._transformed(self.kernel._diagonal(A))

    def _transformed(self, values: FloatArray) -> FloatArray:
        """Return this kernel's values from those of the other, which may be overwritten."""
        return values


@dataclass(frozen=True, eq=False, repr=False)
class Scaled(Wrapper):
    r"""The kernel :math:`c K`, which multiplies the measure of hypotheses by :math:`c > 0`."""

    factor: float

    @classmethod
    def from_kernel(cls, factor: float, kernel: Kernel) -> Kernel:
        """Return a multiple of a kernel; multiples of multiples are one multiple."""
        check_positive("the factor of a kernel", factor)
        if isinstance(kernel, Scaled):
            factor, kernel = factor * kernel.factor, kernel.kernel
        return kernel if factor == 1.0 else cls(kernel, float(factor))

    @property
    def hypotheses(self) -> HypothesisSet | None:
        inner = self.kernel.hypotheses
        return None if inner is None else hypotheses.Reweighted(inner, self.factor)

    def _transformed(self, values: FloatArray) -> FloatArray:
        values *= self.factor
        return values

    @property
    def _expression(self) -> str:
        return f"{self.factor!r} * {self.kernel._operand}"

    @property
    def _operand(self) -> str:
        return f"({self._expression})"


class Logic(Wrapper):
    r"""The kernel :math:`\tfrac14 K + \tfrac14 \Delta` of the 0/1 rules (1 + h)/2."""

    @classmethod
    def from_kernel(cls, kernel: Kernel) -> Kernel:
        """Return the logic kernel of one with neutral hypotheses."""
        return cls(_neutral(kernel))

    @property
    def hypotheses(self) -> HypothesisSet | None:
        inner = self.kernel.hypotheses
        weights = np.array([0.0, 0.5 * self.kernel.delta])
        return None if inner is None else hypotheses.Regions(inner, weights)

    @property
    def is_neutral(self) -> bool:
        return False

    @property
    def simplified(self) -> Kernel:
        raise AttributeError(f"{self} has no simplified form: use the kernel itself")

    def _transformed(self, values: FloatArray) -> FloatArray:
        values += self.kernel.delta
        values *= 0.25
        return values

    @property
    def _expression(self) -> str:
        return f"{self.kernel._operand}.logic"


@dataclass(frozen=True, eq=False, repr=False)
class OnColumns(Wrapper):
    """A kernel of some columns; its hypotheses depend on nothing else."""

    columns: tuple[Column, ...]
    positions: IntArray | None = None  # positions of the columns, once bound
    n_features: int | None = None

    def bind(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        table = as_table(X)
        positions = locate_columns(self.columns, table.shape[1], column_names(table))
        return replace(
            self,
            kernel=self.kernel.bind(take_columns(table, positions), sample_weight),
            positions=positions,
            n_features=table.shape[1],
        )

    @property
    def hypotheses(self) -> HypothesisSet | None:
        inner = self.kernel.hypotheses
        if inner is None or self.positions is None:
            return None
        return hypotheses.OnColumns(inner, self.columns, self.positions)

    def _embed(self, X: ArrayLike, name: str) -> Embedded:
        table = as_table(X, name)
        check_n_features(table.shape[1], self.n_features, name)
        return self.kernel._embed(chosen_columns(table, self.columns, self.positions, name), name)

    @property
    def _expression(self) -> str:
        return f"{self.kernel._operand}.on({list(self.columns)!r})"


def terms(kernel: Kernel) -> tuple[Kernel, ...]:
    """Return the terms of a sum of kernels, or the kernel itself if it is not a sum.

    Multiples of sums, and sums on some columns, are expanded.
    """
    if isinstance(kernel, Sum):
        return tuple(chain.from_iterable(map(terms, kernel.parts)))
    if isinstance(kernel, (Scaled, OnColumns)):
        return tuple(replace(kernel, kernel=term) for term in terms(kernel.kernel))
    return (kernel,)


def _neutral(kernel: Kernel) -> Kernel:
    if not kernel.require_definite("AND").is_neutral:
        raise NotNeutralError.of(kernel)
    return kernel

"""Which columns the parts of a kernel see."""

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from kernsemble._typing import IntArray
from kernsemble._validation import Column, locate_columns
from kernsemble.kernels.algebra import Combination, OnColumns, Wrapper
from kernsemble.kernels.base import Kernel
from kernsemble.kernels.ensemble import Constant


@singledispatch
def located(kernel: Kernel, n_features: int, names: Sequence[str] | None) -> Kernel:  # noqa: ARG001
    """Return a kernel whose columns are chosen by position, in tables with these names.

    Examples
    --------
    >>> from kernsemble.kernels import Category, Stump
    >>> located(Stump().on("age") + Category().on("city"), 2, ["city", "age"])
    Stump().on([1]) + Category().on([0])
    """
    return kernel


@located.register
def _located_parts(kernel: Combination, n_features: int, names: Sequence[str] | None) -> Kernel:
    return replace(kernel, parts=tuple(located(part, n_features, names) for part in kernel.parts))


@located.register
def _located_inside(kernel: Wrapper, n_features: int, names: Sequence[str] | None) -> Kernel:
    return replace(kernel, kernel=located(kernel.kernel, n_features, names))


@located.register
def _located_columns(kernel: OnColumns, n_features: int, names: Sequence[str] | None) -> Kernel:
    columns = locate_columns(kernel.columns, n_features, names).tolist()
    inner = None if names is None else [names[column] for column in columns]
    return replace(
        kernel, kernel=located(kernel.kernel, len(columns), inner), columns=tuple(columns)
    )


class Leaf(NamedTuple):
    """A part that is not made of others; each choice is among the columns of the one before."""

    kernel: Kernel
    choices: tuple[tuple[Column, ...], ...]

    def columns(self, n_features: int) -> IntArray:
        """Return the columns of a table that the part sees, whose choices are not by name."""
        seen = np.arange(n_features)
        for choice in self.choices:
            seen = seen[locate_columns(choice, len(seen))]
        return seen


@singledispatch
def leaves(kernel: Kernel) -> list[Leaf]:
    """Return the parts of a kernel that look at rows; a constant does not.

    Examples
    --------
    >>> from kernsemble.kernels import Category, Stump
    >>> [leaf.columns(3).tolist() for leaf in leaves(Stump() + 0.5 * Category().on([0, 2]))]
    [[0, 1, 2], [0, 2]]
    """
    return [Leaf(kernel, ())]


@leaves.register
def _leaves_of_constant(kernel: Constant) -> list[Leaf]:  # noqa: ARG001
    return []


@leaves.register
def _leaves_of_parts(kernel: Combination) -> list[Leaf]:
    return [leaf for part in kernel.parts for leaf in leaves(part)]


@leaves.register
def _leaves_of_inside(kernel: Wrapper) -> list[Leaf]:
    return leaves(kernel.kernel)


@leaves.register
def _leaves_of_columns(kernel: OnColumns) -> list[Leaf]:
    return [
        leaf._replace(choices=(kernel.columns, *leaf.choices)) for leaf in leaves(kernel.kernel)
    ]

"""The parts of a kernel expression, and the columns that they use."""

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from kernsemble._typing import IntArray
from kernsemble._validation import Column, locate_columns
from kernsemble.kernels.algebra import Combination, OnColumns, Scaled, Wrapper
from kernsemble.kernels.base import Kernel
from kernsemble.kernels.ensemble import Constant
from kernsemble.kernels.mixed import Mixed


@singledispatch
def located(kernel: Kernel, n_features: int, names: Sequence[str] | None) -> Kernel:  # noqa: ARG001
    """Return the kernel with columns given by position, in tables with these column names.

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
def _located_mixed(kernel: Mixed, n_features: int, names: Sequence[str] | None) -> Kernel:  # noqa: ARG001
    return kernel  # its parts use the columns of expanded rows


@located.register
def _located_columns(kernel: OnColumns, n_features: int, names: Sequence[str] | None) -> Kernel:
    columns = locate_columns(kernel.columns, n_features, names).tolist()
    inner = None if names is None else [names[column] for column in columns]
    return replace(
        kernel, kernel=located(kernel.kernel, len(columns), inner), columns=tuple(columns)
    )


def unwrapped(kernel: Kernel) -> tuple[float, Kernel]:
    """Return the factor of a kernel, and the kernel without its factor and columns.

    Examples
    --------
    >>> from kernsemble.kernels import Stump
    >>> unwrapped(0.5 * (2.0 * Stump()).on([0, 1]))
    (1.0, Stump())
    """
    factor = 1.0
    while isinstance(kernel, (Scaled, OnColumns)):
        factor *= kernel.factor if isinstance(kernel, Scaled) else 1.0
        kernel = kernel.kernel
    return factor, kernel


class Leaf(NamedTuple):
    """A part that is not made of other kernels, and the columns it is restricted to.

    Each selection of columns is a selection from the previous one.
    """

    kernel: Kernel
    choices: tuple[tuple[Column, ...], ...]

    def columns(self, n_features: int) -> IntArray:
        """Return the columns of a table that the part uses; selections must be by position."""
        seen = np.arange(n_features)
        for choice in self.choices:
            seen = seen[locate_columns(choice, len(seen))]
        return seen


@singledispatch
def leaves(kernel: Kernel) -> list[Leaf]:
    """Return the parts of a kernel that depend on rows, which a constant does not.

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
def _leaves_of_mixed(kernel: Mixed) -> list[Leaf]:
    return [Leaf(kernel, ())]


@leaves.register
def _leaves_of_columns(kernel: OnColumns) -> list[Leaf]:
    return [
        leaf._replace(choices=(kernel.columns, *leaf.choices)) for leaf in leaves(kernel.kernel)
    ]

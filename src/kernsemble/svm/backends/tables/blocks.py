r"""Blocks of tables, the parts of an additive machine, before and after they are fitted.

.. math:: f(x) = b + \sum_{\text{blocks}} \sum_k g_k[\mathrm{code}_k(x)]

A block holds the codes of the training rows and the costs of differences between levels; solvers
see the tables of all blocks one after another. A fitted block computes the codes of other rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from kernsemble._typing import FloatArray, IntArray
from kernsemble._value_object import Value
from kernsemble.solvers.additive import Tables
from kernsemble.solvers.additive.pair_tables import PairTable


class FittedBlock(Value, ABC):
    """The tables of a block, for one or several machines."""

    @property
    def column_pairs(self) -> list[tuple[int, int]]:
        """The columns of each table if the tables are of pairs of columns."""
        return []

    @abstractmethod
    def add_to(self, values: FloatArray, X: FloatArray) -> None:
        """Add the values of the tables at rows (columns) to those of machines (rows)."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedTables(Value):
    """Fitted machines: the tables of all blocks, and the bias of each machine."""

    blocks: tuple[FittedBlock, ...]
    intercept: FloatArray

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The columns of the pairs that have a table, by position."""
        return tuple(pair for block in self.blocks for pair in block.column_pairs)

    def values(self, X: FloatArray) -> FloatArray:
        """Return the value of every machine (columns) at every row."""
        values = np.repeat(self.intercept[:, np.newaxis], len(X), axis=1)
        for block in self.blocks:
            block.add_to(values, X)
        return values.T


@dataclass(frozen=True, eq=False)
class Block(ABC):
    """Tables of one kind on the rows of a sample, with their codes of shape (n_tables, n)."""

    codes: IntArray

    @property
    @abstractmethod
    def error(self) -> float:
        """The relative error that sampled hypotheses leave; 0 if none are sampled."""

    @property
    @abstractmethod
    def roots(self) -> list[int]:
        """The root of each table."""

    @abstractmethod
    def measures(self) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return the measures between the ordered levels of each table, and weights of others."""

    @property
    def pairs(self) -> Sequence[PairTable]:
        """The tables if they are of pairs of columns, which have neither roots nor measures."""
        return ()

    def coder(self) -> Callable[[IntArray], IntArray]:
        """Return the function, without any rows, from codes of columns to those of the tables."""
        raise ValueError(
            "only tables of single columns, such as those of stumps and categories, can be fitted "
            "to rows in blocks: use a kernel on columns, or fit rows in memory"
        )

    @abstractmethod
    def fitted(self, heights: Sequence[FloatArray]) -> FittedBlock:
        """Return the block with tables of shape (n_machines, n_levels)."""


def stack(blocks: Sequence[Block]) -> Tables:
    """Return the tables of all blocks, those of pairs last, with codes as wide as the widest."""
    plain = [block for block in blocks if not block.pairs]
    measures, weights = zip(*(block.measures() for block in plain), strict=True)
    codes = [block.codes for block in plain]
    tables = Tables.from_measures(
        codes[0] if len(codes) == 1 else np.concatenate(codes),
        list(chain(*measures)),
        list(chain(*weights)),
        list(chain(*(block.roots for block in plain))),
    )
    for block in blocks[len(plain) :]:
        tables = tables.with_pairs(block.codes, block.pairs)
    return tables

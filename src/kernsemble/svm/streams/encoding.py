"""The encoding of rows as codes of levels, the same for all blocks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from kernsemble._typing import BoolArray, FloatArray, IntArray
from kernsemble._validation import as_numbers, column_names
from kernsemble.preprocessing.calendar import PARTS
from kernsemble.solvers.additive.levels import Levels, code_type
from kernsemble.solvers.additive.quantise import (
    category_levels,
    encode_and_tally,
    finished,
    number_levels,
)
from kernsemble.solvers.additive.row_blocks import RowBlock
from kernsemble.svm.columns import MixedTable
from kernsemble.svm.streams.row_sample import RowSample
from kernsemble.svm.streams.survey import ColumnSurvey, Survey, plain_numbers

Coder: TypeAlias = Callable[[IntArray], IntArray]  # codes of columns -> codes of tables
Allocate: TypeAlias = Callable[[tuple[int, ...], Any], Any]  # shape and type -> array

FEWEST_MEMBERS = 2  # distinct values of a level that stands for an interval


@dataclass(frozen=True)
class Dealing:
    """The random folds of a cross-validation, dealt out within each block and class."""

    n_folds: int
    seed: int

    def folds(self, strata: IntArray, block: int) -> IntArray:
        """Return the fold of each row of a block; each stratum is spread over all folds."""
        rng = np.random.default_rng([self.seed, block])
        order = rng.permutation(len(strata))
        order = order[np.argsort(strata[order], kind="stable")]
        folds = np.empty(len(strata), dtype=np.uint8)
        folds[order] = (np.arange(len(strata)) + rng.integers(self.n_folds)) % self.n_folds
        return folds


@dataclass(eq=False)
class BlockContent:
    """The targets of a block: codes of classes or numbers, weights (None if 1) and folds.

    `tally` are the sums and weights of the members of its levels, where these are added up later.
    """

    y: Any
    weight: FloatArray | None
    fold: IntArray | None = None
    tally: FloatArray | None = None

    def weights(self) -> FloatArray:
        """Return the weights; a view of a single 1 if they are equal."""
        return np.broadcast_to(1.0, len(self.y)) if self.weight is None else self.weight


@dataclass(frozen=True, eq=False)
class RowEncoding:
    """The columns of all blocks, and the levels that their entries are rounded to.

    Attributes
    ----------
    names : tuple or None
        The names of the columns of the table; None for arrays.
    table : MixedTable or None
        The categories, dates and parts of the calendar; None for numbers.
    is_category : array of shape (D,)
        Mask of the columns of categories.
    levels : list of Levels
        The levels of all columns, without members until these are counted.
    classes : array or None
        The classes; None for regression.
    dealing : Dealing or None
        The folds of a cross-validation.
    coder : callable or None
        The codes of tables for those of columns, in which blocks are stored; None for those of
        columns.
    """

    names: tuple[Any, ...] | None
    table: MixedTable | None
    is_category: BoolArray
    levels: list[Levels]
    classes: Any = None
    dealing: Dealing | None = None
    coder: Coder | None = None

    @classmethod
    def from_survey(cls, survey: Survey, max_levels: int) -> tuple[Self, RowSample]:
        """Return the encoding of surveyed rows, and a sample of them in its columns."""
        if survey.n_present == 0:
            raise ValueError("there is no row of positive weight: pass blocks with rows")
        first = survey.n_table_columns
        dates = [d for d in survey.dates if survey.columns[d].kind == "date"]
        parts = [
            (place, d, part)
            for place, (d, part) in enumerate(
                ((d, part) for d in survey.dates for part in PARTS), start=first
            )
            if d in dates and survey.columns[place].low < survey.columns[place].high
        ]
        kept = [*range(first), *(place for place, _, _ in parts)]
        columns = [survey.columns[place] for place in kept]
        is_category = np.array([each.kind == "category" for each in columns])
        table = None
        if is_category.any() or dates:
            labels = tuple(each.labels if each.kind == "category" else None for each in columns)
            table = MixedTable(labels, tuple(dates), tuple((d, part) for _, d, part in parts))
        sample = survey.sample.in_order()
        sample = replace(sample, X=sample.X[:, kept])
        levels = [
            _levels(each, sample.X[:, d], sample.weight, max_levels)
            for d, each in enumerate(columns)
        ]
        return cls(survey.names, table, is_category, levels, survey.target.classes), sample

    @property
    def bytes_per_row(self) -> int:
        """The size of the codes of a row, as blocks store them."""
        codes = np.empty((len(self.levels), 0), code_type(self.levels))
        codes = codes if self.coder is None else self.coder(codes)
        return len(codes) * codes.itemsize

    def numbers(self, X: Any) -> FloatArray:
        """Return the rows of a block as numbers and codes of categories."""
        names = column_names(X)
        if self.names is not None and names != self.names and set(self.names) <= set(names or ()):
            X = X[list(self.names)]  # in another order
        if column_names(X) != self.names or X.shape[1] != self.n_columns:
            raise ValueError(
                "X has other columns in a block than when it was read first: pass a function that "
                "returns the same rows every time"
            )
        return plain_numbers(X) if self.table is None else self.table.transform(X)

    @property
    def n_columns(self) -> int:
        """The number of columns of the rows themselves, without parts of the calendar."""
        return len(self.levels) - (0 if self.table is None else len(self.table.parts))

    def encode(
        self, X: Any, y: Any, weight: FloatArray, block: int, allocate: Allocate | None = None
    ) -> tuple[RowBlock, FloatArray]:
        """Return a block of codes, and the tally of the members of levels.

        The codes are in new memory, or in that which `allocate` returns.
        """
        shape = len(self.levels), len(y)
        codes = np.empty(shape, code_type(self.levels))
        if len(y) == 0:
            content = BlockContent(self.targets(y), None, np.empty(0, dtype=np.uint8))
            n_levels = sum(each.n_levels for each in self.levels)
            return RowBlock(self._kept(codes, allocate), content), np.zeros((2, n_levels))
        tally, _ = encode_and_tally(self.numbers(X), weight, self.levels, codes)
        codes, targets = self._kept(codes, allocate), self.targets(y)
        folds = None
        if self.dealing is not None:
            strata = np.zeros(len(y), dtype=int) if self.classes is None else targets
            folds = self.dealing.folds(strata, block)
        is_uniform = bool((weight == 1.0).all())
        return RowBlock(codes, BlockContent(targets, None if is_uniform else weight, folds)), tally

    def _kept(self, codes: IntArray, allocate: Allocate | None) -> IntArray:
        """Return the codes as they are kept, in the memory that `allocate` returns."""
        codes = codes if self.coder is None else self.coder(codes)
        if allocate is None:
            return codes
        kept: IntArray = allocate(codes.shape, codes.dtype)
        kept[...] = codes
        return kept

    def with_members(self, tally: FloatArray) -> Self:
        """Return the encoding with the values and weights of the members of all levels."""
        return replace(self, levels=finished(self.levels, tally))

    def targets(self, y: Any) -> Any:
        """Return the targets of a block: codes of classes, or numbers."""
        if self.classes is None:
            return as_numbers(y)
        kind = np.uint8 if len(self.classes) <= 256 else np.int32
        return np.searchsorted(self.classes, y).astype(kind)


def _levels(
    column: ColumnSurvey, sample: FloatArray, weight: FloatArray, max_levels: int
) -> Levels:
    """Return the levels of a column: its distinct values, or quantiles of a sample."""
    if column.kind == "category":
        codes = np.arange(len(column.labels), dtype=np.float64)
        return category_levels(codes, np.ones(len(codes)))
    missing = np.full(int(column.has_missing), np.nan)
    distinct = column.distinct
    if distinct is not None and len(distinct) + len(missing) <= max_levels:
        values = np.concatenate([distinct, missing])
        return number_levels(values, np.ones(len(values)), max_levels)
    values = np.concatenate([sample, missing])
    weights = np.concatenate([weight, weight[: len(missing)]])  # that of NaN does not matter
    levels = number_levels(values, weights, max_levels)
    if levels.is_exact:  # in the sample, but not in all rows
        return replace(levels, distinct=np.full_like(levels.distinct, FEWEST_MEMBERS))
    return levels

"""Sources of rows in blocks: their survey, and an engine that holds their codes."""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from kernsemble._memory import Budget
from kernsemble._typing import FloatArray, IntArray
from kernsemble._validation import column_names, read_weights
from kernsemble.solvers.additive.quantise import QUANTILE_ROWS
from kernsemble.solvers.additive.row_blocks import Engine, LocalEngine, RowBlock
from kernsemble.streaming import Block, Blocks
from kernsemble.svm.streams.encoding import Allocate, RowEncoding
from kernsemble.svm.streams.survey import Survey


@dataclass(frozen=True)
class SurveySettings:
    """What the survey of a block depends on besides its rows."""

    is_classifier: bool
    max_levels: int
    seed: int
    max_quantile_rows: int = QUANTILE_ROWS

    def survey(self, block: Block, number: int) -> Survey:
        """Return the summary of a block."""
        X, y, weight = checked_block(block, number, self.is_classifier)
        return Survey.of_block(
            X,
            y,
            weight,
            number,
            self.is_classifier,
            self.max_levels,
            self.seed,
            self.max_quantile_rows,
        )


class RowGroups(NamedTuple):
    """Rows of positive weight, and the group that each belongs to."""

    group: IntArray
    X: FloatArray
    y: Any
    weight: FloatArray

    def by_group(self) -> list[tuple[int, FloatArray, Any, FloatArray]]:
        """Return each group with its rows, in their order."""
        if len(self.group) == 0:
            return []
        order = np.argsort(self.group, kind="stable")
        groups, starts = np.unique(self.group[order], return_index=True)
        rows = np.split(order, starts[1:])
        return [
            (group, self.X[mine], self.y[mine], self.weight[mine])
            for group, mine in zip(groups.tolist(), rows, strict=True)
        ]


Divide: TypeAlias = Callable[[Any, Any, FloatArray], RowGroups]  # X, y and weights of a block
FitGroup: TypeAlias = Callable[[int, FloatArray, Any, FloatArray], Any]


class RowSource(ABC):
    """Rows in blocks, wherever these are.

    Attributes
    ----------
    is_parallel : bool
        Whether several machines are solved at the same time.
    """

    is_parallel: ClassVar[bool] = False

    @abstractmethod
    def survey(self, settings: SurveySettings) -> Survey:
        """Return the summary of all blocks."""

    @abstractmethod
    def encode(
        self, encoding: RowEncoding, settings: SurveySettings, n_rows: int, budget: Budget
    ) -> tuple[Engine, FloatArray]:
        """Encode all blocks; return the engine that holds them, and the tally of all levels."""

    @abstractmethod
    def fit_groups(
        self,
        divide: Divide,
        fit: FitGroup,
        n_groups: int,
        settings: SurveySettings,
        on_fitted: Callable[[], None],
    ) -> list[Any]:
        """Exchange the rows once, and return ``fit(group, X, y, weight)`` for all groups."""


class LocalSource(RowSource):
    """Blocks that this process reads; codes beyond the budget are in a memory-mapped file."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks

    def survey(self, settings: SurveySettings) -> Survey:
        total: Survey | None = None
        for number, block in enumerate(self.blocks):
            mine = settings.survey(block, number)
            total = mine if total is None else total.merged(mine)
        if total is None:
            raise ValueError("there are no blocks: yield at least one pair (X, y)")
        return total

    def encode(
        self, encoding: RowEncoding, settings: SurveySettings, n_rows: int, budget: Budget
    ) -> tuple[LocalEngine, FloatArray]:
        found: list[RowBlock] = []
        total: Any = 0.0
        with MappedFile() as file:
            is_mapped = n_rows * encoding.bytes_per_row > budget.n_bytes
            allocate: Allocate | None = file.allocate if is_mapped else None
            for number, block in enumerate(self.blocks):
                X, y, weight = checked_block(block, number, settings.is_classifier)
                encoded, tally = encoding.encode(X, y, weight, number, allocate)
                found.append(encoded)
                total = total + tally
        n_found = sum(each.n_rows for each in found)
        if n_found != n_rows:
            raise ValueError(
                f"the blocks had {n_rows:,} rows when they were read first, and {n_found:,} when "
                "they were read again: pass a function that returns the same rows every time"
            )
        return LocalEngine(found), total

    def fit_groups(
        self,
        divide: Divide,
        fit: FitGroup,
        n_groups: int,  # noqa: ARG002
        settings: SurveySettings,
        on_fitted: Callable[[], None],
    ) -> list[Any]:
        parts = [
            divide(*checked_block(block, number, settings.is_classifier))
            for number, block in enumerate(self.blocks)
        ]
        together = RowGroups(*(np.concatenate(each) for each in zip(*parts, strict=True)))
        found = []
        for group in together.by_group():
            found.append(fit(*group))
            on_fitted()
        return found


def local_source(blocks: Blocks, y: Any, *others: Any) -> LocalSource:
    """Return blocks as a source; their targets, weights and groups are their own."""
    if y is not None or any(each is not None for each in others):
        raise ValueError(
            "X is Blocks, which contain targets and weights: pass fit(X) only, and weights as the "
            "third of (X, y, sample_weight)"
        )
    return LocalSource(blocks)


class MappedFile:
    """Arrays in a temporary file, which is deleted with the last of them.

    It is a context manager, within which arrays can be allocated.
    """

    def __init__(self) -> None:
        self.file, self.end = tempfile.TemporaryFile(), 0  # noqa: SIM115 (closed on exit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def allocate(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an array in the file."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if size == 0:
            return np.empty(shape, dtype)
        array = np.memmap(self.file, dtype, "w+" if self.end == 0 else "r+", self.end, shape)
        self.end += size
        return array


def checked_block(block: Block, number: int, is_classifier: bool) -> tuple[Any, Any, FloatArray]:
    """Return the features of a block, its labels or numbers, and its weights."""
    X, y = block.X, np.asarray(block.y)
    if column_names(X) is None:
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"block {number} has X of shape {X.shape}: pass rows and columns")
    n = X.shape[0]
    if y.shape != (n,):
        raise ValueError(
            f"block {number} has {n} rows and targets of shape {y.shape}: pass one number or "
            "class for each row"
        )
    weight = np.ones(n) if n == 0 else _weights(block.sample_weight, n, number)
    if is_classifier:
        if y.dtype.kind == "O" and n > 0:
            y = _labels(y, number)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError(f"y of block {number} contains NaN or infinity: leave such rows out")
        return X, y, weight
    try:
        if y.dtype.kind == "c":
            raise TypeError("they are complex")
        y = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y of block {number} contains no numbers ({error})") from error
    if not np.isfinite(y).all():
        raise ValueError(f"y of block {number} contains NaN or infinity: leave such rows out")
    return X, y, weight


def _weights(sample_weight: Any, n: int, number: int) -> FloatArray:
    """Return the weights of a block, which may be zero everywhere."""
    name = f"sample_weight of block {number}"
    if sample_weight is not None and not np.any(sample_weight):
        return np.zeros(n)
    return read_weights(sample_weight, n, name)


def _labels(y: Any, number: int) -> Any:
    """Return objects as an array of text or numbers."""
    items = y.tolist()
    labels = np.array(items)
    is_text = labels.dtype.kind == "U"
    if labels.dtype.kind == "O" or (is_text and not all(isinstance(e, str) for e in items)):
        raise ValueError(
            f"y of block {number} contains missing or mixed labels: leave such rows out, and use "
            "labels of one type"
        )
    return labels
